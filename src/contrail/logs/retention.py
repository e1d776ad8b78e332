"""Removing logs that are older than the server keeps them."""

from __future__ import annotations

import logging
from collections.abc import Callable

from contrail.blobs.area import Area
from contrail.store import logs as stored
from contrail.store.database import Database

log = logging.getLogger(__name__)

_DAY_MS = 24 * 3600 * 1000
_BATCH = 100


def remove_expired(
    database: Database, blobs: Area, days: int, now_ms: int, forget: Callable[[int], None]
) -> int:
    """Remove the logs of job runs that ended more than `days` ago; a running job's log never expires.

    A log is hidden first, then its bytes go, then its rows: a crash in between is made good by the next call.
    """
    removed = 0
    while True:
        with database.read() as connection:
            due = stored.expired(connection, now_ms - days * _DAY_MS, _BATCH)
        for job_run_id in due:
            _remove(database, blobs, job_run_id, now_ms, forget)
        removed += len(due)
        if len(due) < _BATCH:
            return removed


def _remove(
    database: Database, blobs: Area, job_run_id: int, now_ms: int, forget: Callable[[int], None]
) -> None:
    for attempt_id in database.writer.run(lambda c: stored.mark_removed(c, job_run_id, now_ms)):
        blobs.delete(f"logs/{attempt_id}")
        database.writer.run(lambda c, attempt_id=attempt_id: stored.remove(c, attempt_id))  # type: ignore[misc]
        forget(attempt_id)
    log.info("removed the logs of job run %d", job_run_id)
