"""Contrail: a self-hosted AI runtime with experiment tracking."""

__version__ = "0.1.0"
