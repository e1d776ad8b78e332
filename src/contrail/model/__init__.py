"""Frozen data, states, ids, errors and settings. Standard library only."""
