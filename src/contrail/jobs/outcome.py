"""How an attempt ended, what that means for its job run, and how both are said in words. Pure functions."""

from __future__ import annotations

import signal as signals
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contrail.jobs.states import Event
from contrail.model.jobs import Cause, NodeExit

RETRY_DELAY_FACTOR_MAX = 10

# What the command of a node did by itself; everything else was done to it from outside.
_OF_ITSELF = frozenset({Cause.EXIT_CODE, Cause.SIGNAL, Cause.OUT_OF_MEMORY, Cause.TIMED_OUT})
_STOPPED = frozenset({Cause.CANCELLED, Cause.PEER_FAILED})
_NO_EXIT_CODE = frozenset({Cause.NODE_LOST, Cause.COULD_NOT_START})


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an attempt: the event for the table, and what the record shows."""

    event: Event
    cause: Cause
    message: str
    exit_code: int | None = None
    signal: int | None = None
    failed_node: int | None = None


def of_attempt(
    exits: Mapping[int, NodeExit], *, stop_cause: Cause | None, cancelled_by: str | None
) -> Outcome:
    """The outcome of an attempt whose nodes ended with `exits`.

    A cancel wins unless every command had already ended by itself. Otherwise the first node that failed
    decides (by end time, then by number); nodes that were stopped because of it do not count.
    """
    if cancelled_by is not None and any(end.cause not in _OF_ITSELF for end in exits.values()):
        return Outcome(Event.CANCELLED, Cause.CANCELLED, f"cancelled by {cancelled_by}")
    node = _first_failure(exits)
    if node is None:
        return Outcome(Event.SUCCEED, Cause.EXIT_CODE, "exit code 0", exit_code=0)
    end = exits[node]
    timed_out = end.cause is Cause.TIMED_OUT or stop_cause is Cause.TIMED_OUT
    words = describe(end) if len(exits) == 1 else f"node {node}: {describe(end)}"
    return Outcome(
        Event.TIME_OUT if timed_out else Event.FAIL,
        Cause.TIMED_OUT if timed_out else end.cause,
        words,
        exit_code=None if end.cause in _NO_EXIT_CODE else end.exit_code,
        signal=end.signal,
        failed_node=node,
    )


def could_not_start(reason: str) -> Outcome:
    """The outcome of an attempt of which no agent was started."""
    return Outcome(Event.FAIL, Cause.COULD_NOT_START, f"could not start: {reason}")


def _first_failure(exits: Mapping[int, NodeExit]) -> int | None:
    failed = [node for node, end in exits.items() if is_failure(end)]
    own = [node for node in failed if exits[node].cause not in _STOPPED]
    return min(own or failed, key=lambda node: (exits[node].ended_ms, node), default=None)


def is_failure(end: NodeExit) -> bool:
    """Whether a node that ended like this takes its attempt with it. A node may end early with exit code 0."""
    return end.cause is not Cause.EXIT_CODE or end.exit_code != 0


def shown_exit_code(end: NodeExit | None) -> int | None:
    """The exit code of a node as people see it: a lost node has none."""
    return None if end is None or end.cause in _NO_EXIT_CODE else end.exit_code


def describe(end: NodeExit) -> str:
    """One end in a few words: `exit code 17`, `killed by SIGKILL (signal 9)`."""
    words = _WORDS[end.cause](end)
    return f"{words} ({end.message})" if end.message and end.message not in words else words


def _signal_words(end: NodeExit) -> str:
    number = end.signal if end.signal is not None else end.exit_code - 128
    try:
        return f"killed by {signals.Signals(number).name} (signal {number})"
    except ValueError:
        return f"killed by signal {number}"


_WORDS: dict[Cause, Callable[[NodeExit], str]] = {
    Cause.EXIT_CODE: lambda end: f"exit code {end.exit_code}",
    Cause.SIGNAL: _signal_words,
    Cause.OUT_OF_MEMORY: lambda end: f"out of memory, exit code {end.exit_code}",
    Cause.TIMED_OUT: lambda end: end.message or "ran longer than its timeout",
    Cause.CANCELLED: lambda _end: "stopped",
    Cause.NODE_LOST: lambda end: f"node lost: {end.message}" if end.message else "node lost",
    Cause.COULD_NOT_START: lambda end: (
        f"could not start: {end.message}" if end.message else "could not start"
    ),
    Cause.PEER_FAILED: lambda _end: "stopped because another node failed",
}


def may_retry(outcome: Outcome, *, number: int, max_retries: int, cancelled: bool) -> bool:
    """Whether another attempt follows attempt `number` (from 0). A cancelled job run never goes on."""
    return outcome.event in {Event.FAIL, Event.TIME_OUT} and number < max_retries and not cancelled


def retry_delay_s(number: int, base_s: float) -> float:
    """Pause after failed attempt `number`: doubles each time, up to ten times the first."""
    return float(min(base_s * 2 ** min(number, RETRY_DELAY_FACTOR_MAX), base_s * RETRY_DELAY_FACTOR_MAX))


def retry_message(outcome: Outcome, number: int, delay_s: float) -> str:
    """`attempt 1 failed: exit code 17; next in 5 s`."""
    verb = "timed out" if outcome.event is Event.TIME_OUT else "failed"
    return f"attempt {number + 1} {verb}: {outcome.message}; next in {delay_s:g} s"


def end_message(outcome: Outcome, number: int, max_retries: int, cancelled_by: str | None) -> str:
    """How the job run ended, in words."""
    words = outcome.message
    if outcome.event is not Event.CANCELLED and cancelled_by is not None:
        words = f"{words} (it had ended before the cancel of {cancelled_by} reached it)"
    if outcome.event in {Event.FAIL, Event.TIME_OUT} and max_retries > 0:
        return f"attempt {number + 1} of {max_retries + 1} failed: {words}"
    return words
