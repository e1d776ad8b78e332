"""Ending an attempt: its run gets the final status, its job run ends or waits for the next attempt."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from contrail.jobs import outcome as outcomes
from contrail.jobs.outcome import Outcome
from contrail.jobs.parts import Parts
from contrail.jobs.states import Event, is_over
from contrail.jobs.transitions import happen
from contrail.model.errors import ContrailError, TemporarilyUnavailable
from contrail.model.jobs import Attempt, JobRun
from contrail.model.tracking import RunStatus
from contrail.store import jobs as store
from contrail.store.writer import Connection

log = logging.getLogger(__name__)

_RUN_STATUS = {
    Event.SUCCEED: RunStatus.FINISHED,
    Event.FAIL: RunStatus.FAILED,
    Event.TIME_OUT: RunStatus.FAILED,
    Event.CANCELLED: RunStatus.KILLED,
    Event.BREAK: RunStatus.FAILED,
}


@dataclass(frozen=True, slots=True)
class Ended:
    """What is known when all nodes of an attempt have ended."""

    job: JobRun
    attempt: Attempt
    outcome: Outcome
    end_ms: int


def end_of(
    connection: Connection, attempt_id: int, now_ms: int, given: Outcome | None = None
) -> Ended | None:
    """How the attempt ended, if every node has; None while it goes on or when it is over already.

    With `given`, that is its outcome whatever the nodes say.
    """
    attempt = store.get_attempt(connection, attempt_id)
    if is_over(attempt.state):
        return None
    job = store.get_job_run(connection, attempt.job_run_id)
    exits = {node.node: node.exit for node in store.nodes_of(connection, [attempt_id])[attempt_id]}
    known = {node: end for node, end in exits.items() if end is not None}
    if given is None and len(known) < len(exits):
        return None
    outcome = given or outcomes.of_attempt(
        known, stop_cause=attempt.cause, cancelled_by=job.cancel_requested_by
    )
    end_ms = max((end.ended_ms for end in known.values()), default=0) or now_ms
    return Ended(job, attempt, outcome, end_ms)


def end(parts: Parts, attempt_id: int, given: Outcome | None = None) -> bool:
    """End the attempt if it is time; says whether it did.

    The run is finished before the attempt is, so a server killed in between does both again, and whoever
    sees the end of the attempt sees the end of its run.
    """
    with parts.database.read() as connection:
        ended = end_of(connection, attempt_id, parts.now_ms(), given)
    if ended is None:
        return False
    finish_run(parts, ended.attempt, _RUN_STATUS[ended.outcome.event], ended.end_ms)
    done = parts.database.writer.run(lambda connection: _record(connection, parts, ended, given))
    if done:
        parts.logs.seal(attempt_id)
    return done


def finish_run(parts: Parts, attempt: Attempt, status: RunStatus, end_ms: int) -> None:
    """Write the final status of the attempt's run over whatever the script wrote. Idempotent."""
    if attempt.run_id is None:
        return
    try:
        parts.tracking.runs.finish(attempt.run_id, status, end_ms)
    except TemporarilyUnavailable:
        raise
    except ContrailError as error:  # somebody deleted the run: that must not keep the attempt from ending
        log.warning("run %s of attempt %d was not finished: %s", attempt.run_id, attempt.attempt_id, error)


def _record(connection: Connection, parts: Parts, ended: Ended, given: Outcome | None) -> bool:
    """Store the end, unless something changed since it was read (then the next look decides)."""
    again = end_of(connection, ended.attempt.attempt_id, parts.now_ms(), given)
    if again is None or again.outcome != ended.outcome:
        return False
    job, attempt, outcome = again.job, again.attempt, again.outcome
    now_ms = parts.now_ms()
    retry = outcomes.may_retry(
        outcome,
        number=attempt.number,
        max_retries=job.max_retries,
        cancelled=job.cancel_requested_by is not None,
    )
    happen(
        connection,
        attempt,
        outcome.event,
        now_ms,
        job_event=Event.RETRY if retry else None,
        attempt_values=_attempt_values(outcome, again.end_ms),
        job_values=_retry_values(parts, again, now_ms) if retry else _job_values(again),
    )
    return True


def _attempt_values(outcome: Outcome, end_ms: int) -> dict[str, Any]:
    return {
        "cause": outcome.cause,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "failed_node": outcome.failed_node,
        "message": outcome.message,
        "ended_ms": end_ms,
    }


def _job_values(ended: Ended) -> dict[str, Any]:
    job = ended.job
    return {
        "message": outcomes.end_message(
            ended.outcome, ended.attempt.number, job.max_retries, job.cancel_requested_by
        ),
        "ended_ms": ended.end_ms,
        "retry_at_ms": None,
    }


def _retry_values(parts: Parts, ended: Ended, now_ms: int) -> dict[str, Any]:
    delay_s = outcomes.retry_delay_s(ended.attempt.number, parts.settings.retry_delay_s)
    return {
        "message": outcomes.retry_message(ended.outcome, ended.attempt.number, delay_s),
        "retry_at_ms": now_ms + int(delay_s * 1000),
    }
