"""Engines place node agents, say how they are, and stop them. Everything else is the agents' own work."""
