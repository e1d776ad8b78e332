"""The one table of allowed moves. Nobody sets the state of an attempt or of a job run outside it.

A job run follows its newest attempt: each event of the attempt is an event of the job run, except that an
attempt's end may be a `RETRY` for the job run. `RETRY` and `REQUEUE` therefore happen to job runs only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from contrail.model.errors import ResourceConflict
from contrail.model.jobs import TERMINAL_STATES, JobResult, JobState


class Event(StrEnum):
    """What can happen to an attempt or to a job run."""

    PLACE = "place"  # capacity is leased, agents are being started
    START = "start"  # the command runs on every node
    STOP = "stop"  # Contrail stops it: a node failed, or the time is over
    CANCEL = "cancel"  # a person stops it
    SUCCEED = "succeed"  # every node ended with exit code 0
    FAIL = "fail"  # a node failed, or nothing could be started
    TIME_OUT = "time_out"  # it ran longer than it may
    CANCELLED = "cancelled"  # everything is gone after a cancel
    BREAK = "break"  # Contrail itself failed
    RETRY = "retry"  # an attempt failed and another one may follow
    REQUEUE = "requeue"  # the pause before the next attempt is over


@dataclass(frozen=True, slots=True)
class Move:
    """Where an event leads; `result` is set by the moves that end something."""

    state: JobState
    result: JobResult | None = None


_SUCCESS = Move(JobState.TERMINATED, JobResult.SUCCESS)
_FAILED = Move(JobState.TERMINATED, JobResult.FAILED)
_TIMEDOUT = Move(JobState.TERMINATED, JobResult.TIMEDOUT)
_CANCELED = Move(JobState.TERMINATED, JobResult.CANCELED)
_BROKEN = Move(JobState.INTERNAL_ERROR, JobResult.FAILED)
_TERMINATING = Move(JobState.TERMINATING)
_WAITING = Move(JobState.WAITING_FOR_RETRY)

_ENDS = {
    Event.SUCCEED: _SUCCESS,
    Event.FAIL: _FAILED,
    Event.TIME_OUT: _TIMEDOUT,
    Event.CANCELLED: _CANCELED,
    Event.BREAK: _BROKEN,
    Event.RETRY: _WAITING,
}

MOVES: dict[JobState, dict[Event, Move]] = {
    JobState.QUEUED: {
        Event.PLACE: Move(JobState.PENDING),
        Event.CANCEL: _CANCELED,  # nothing was started, so it is gone at once
        Event.FAIL: _FAILED,
        Event.BREAK: _BROKEN,
        Event.RETRY: _WAITING,
    },
    JobState.PENDING: {
        Event.START: Move(JobState.RUNNING),
        Event.STOP: _TERMINATING,
        Event.CANCEL: _TERMINATING,
        **_ENDS,
    },
    JobState.RUNNING: {
        Event.STOP: _TERMINATING,
        Event.CANCEL: _TERMINATING,
        **_ENDS,
    },
    JobState.TERMINATING: {
        Event.CANCEL: _TERMINATING,  # a person may cancel what is being stopped for another reason
        **_ENDS,
    },
    JobState.WAITING_FOR_RETRY: {
        Event.REQUEUE: Move(JobState.QUEUED),
        Event.CANCEL: _CANCELED,
        Event.BREAK: _BROKEN,
    },
    JobState.TERMINATED: {},
    JobState.INTERNAL_ERROR: {},
}


def move(state: JobState, event: Event) -> Move:
    """Where `event` leads from `state`. Raises `ResourceConflict` when the table has no such move."""
    found = MOVES[state].get(event)
    if found is None:
        raise ResourceConflict(f"'{event}' is not possible in state {state}")
    return found


def is_over(state: JobState) -> bool:
    """Whether nothing more can happen."""
    return state in TERMINAL_STATES
