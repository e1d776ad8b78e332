"""Everything a server is made of, put together in one place."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from contrail.blobs.store import BlobStore
from contrail.engines.local import LocalEngine
from contrail.jobs import Jobs
from contrail.logs import Logs
from contrail.model.settings import Settings
from contrail.store.database import Database
from contrail.store.metrics import Compactor
from contrail.tracking import Tracking


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of one server. `open` makes them, `start` begins background work, `close` ends both."""

    settings: Settings
    database: Database
    blobs: BlobStore
    tracking: Tracking
    logs: Logs
    jobs: Jobs
    compactor: Compactor

    @classmethod
    def open(
        cls, settings: Settings, server_address: Callable[[], str], clock: Callable[[], float] = time.time
    ) -> Services:
        """Open the database and build every part; nothing runs in the background yet."""
        database = Database.open(
            settings.store_address,
            durability=settings.durability,
            readers=settings.reader_threads,
            group_max=settings.write_group_max,
            queue_max=settings.write_queue_max,
        )
        blobs = BlobStore(settings)
        tracking = Tracking(database, settings)
        logs = Logs(database, blobs, settings, clock)
        jobs = Jobs(
            database,
            tracking,
            logs,
            blobs,
            settings,
            engines={"local": LocalEngine(settings)},
            server_address=server_address,
            clock=clock,
        )
        return cls(settings, database, blobs, tracking, logs, jobs, Compactor(database, settings))

    def start(self) -> None:
        """Begin supervising jobs and compacting metrics."""
        self.compactor.start()
        self.jobs.start()

    def close(self) -> None:
        """Stop background work, finish queued writes, close the database. Agents go on by themselves."""
        self.jobs.stop()
        self.compactor.stop()
        self.database.close()
