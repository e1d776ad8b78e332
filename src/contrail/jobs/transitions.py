"""Events happen to an attempt and to its job run together, in one transaction, along the one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contrail.jobs.states import Event, is_over, move
from contrail.model.errors import ResourceConflict
from contrail.model.jobs import Attempt, JobRun
from contrail.store import jobs as store
from contrail.store.writer import Connection

Values = Mapping[str, Any]
_NOTHING: Values = {}


def happen(
    connection: Connection,
    attempt: Attempt,
    event: Event,
    now_ms: int,
    *,
    job_event: Event | None = None,
    attempt_values: Values = _NOTHING,
    job_values: Values = _NOTHING,
) -> None:
    """Apply `event` to `attempt` and to its job run (there as `job_event` if given). Atomic.

    Raises `ResourceConflict` when the table does not allow it, or when somebody else was faster.
    """
    job = store.get_job_run(connection, attempt.job_run_id)
    target = move(attempt.state, event)
    values = {**_end_values(target.state, now_ms), **attempt_values}
    if not store.move_attempt(
        connection,
        attempt.attempt_id,
        expected=attempt.state,
        state=target.state,
        result=target.result,
        **values,
    ):
        raise ResourceConflict(f"Attempt {attempt.attempt_id} is not {attempt.state} any more")
    happen_to_job_run(connection, job, job_event or event, now_ms, job_values)


def happen_to_job_run(
    connection: Connection, job: JobRun, event: Event, now_ms: int, values: Values = _NOTHING
) -> None:
    """Apply `event` to a job run alone: while it waits for a retry it has no living attempt."""
    target = move(job.state, event)
    values = {**_end_values(target.state, now_ms), **values}
    if not store.move_job_run(
        connection, job.job_run_id, expected=job.state, state=target.state, result=target.result, **values
    ):
        raise ResourceConflict(f"Job run {job.job_run_id} is not {job.state} any more")


def _end_values(state: Any, now_ms: int) -> Values:
    return {"ended_ms": now_ms} if is_over(state) else _NOTHING
