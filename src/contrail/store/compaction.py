"""Turning blocks into chunks in the background."""

from __future__ import annotations

from contrail.model.settings import Settings
from contrail.store.database import Database


def compact(database: Database, run_pk: int) -> int:
    """Turn the blocks of one run into chunks; returns how many blocks went. Atomic: a crash leaves all as it was."""
    raise NotImplementedError


class Compactor:
    """A thread that compacts runs with many blocks at once, and all others when they have gone quiet."""

    def __init__(self, database: Database, settings: Settings):
        raise NotImplementedError

    def start(self) -> None:
        """Start the thread."""
        raise NotImplementedError

    def stop(self) -> None:
        """Let a compaction under way finish, then end the thread."""
        raise NotImplementedError
