"""How the ends of nodes make the end of an attempt, and the words for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrail.jobs import outcome
from contrail.jobs.outcome import Outcome, of_attempt
from contrail.jobs.states import Event
from contrail.model.jobs import Cause, NodeExit

OK = NodeExit(0, Cause.EXIT_CODE, ended_ms=5)

ends = st.builds(
    NodeExit,
    exit_code=st.sampled_from([0, 1, 17, 137, 143]),
    cause=st.sampled_from(Cause),
    ended_ms=st.integers(0, 9),
)


def _of(*exits: NodeExit, stop_cause: Cause | None = None, cancelled_by: str | None = None) -> Outcome:
    return of_attempt(dict(enumerate(exits)), stop_cause=stop_cause, cancelled_by=cancelled_by)


def test_success_is_every_node_with_exit_code_0() -> None:
    """One number for all."""
    assert (_of(OK, OK).event, _of(OK, OK).exit_code) == (Event.SUCCEED, 0)


def test_the_first_failure_decides() -> None:
    """By time, whatever the number of the node."""
    late, early = NodeExit(1, Cause.EXIT_CODE, ended_ms=9), NodeExit(2, Cause.EXIT_CODE, ended_ms=3)
    assert (_of(late, early, OK).failed_node, _of(late, early, OK).exit_code) == (1, 2)


def test_what_was_stopped_for_a_failure_does_not_decide() -> None:
    """A peer that happened to be gone first is not the cause."""
    peer, cause = NodeExit(143, Cause.PEER_FAILED, ended_ms=1), NodeExit(7, Cause.EXIT_CODE, ended_ms=2)
    assert _of(peer, cause).message == "node 1: exit code 7"


def test_a_node_lost_by_a_cancel_is_cancelled() -> None:
    """What the server had to kill for a cancel counts as cancelled."""
    lost = NodeExit(137, Cause.NODE_LOST, ended_ms=1)
    assert _of(lost, cancelled_by="ada") == Outcome(Event.CANCELLED, Cause.CANCELLED, "cancelled by ada")


@given(st.lists(ends, min_size=1, max_size=4), st.sampled_from([None, *Cause]))
def test_every_combination_has_an_end(exits: list[NodeExit], stop_cause: Cause | None) -> None:
    """Success only if all succeeded; a cancel wins unless everything had ended by itself."""
    found = _of(*exits, stop_cause=stop_cause)
    good = all(end.cause is Cause.EXIT_CODE and end.exit_code == 0 for end in exits)
    assert (found.event is Event.SUCCEED) == good
    assert found.message
    cancelled = _of(*exits, stop_cause=stop_cause, cancelled_by="ada")
    itself = {Cause.EXIT_CODE, Cause.SIGNAL, Cause.OUT_OF_MEMORY, Cause.TIMED_OUT}
    assert (cancelled.event is Event.CANCELLED) == any(end.cause not in itself for end in exits)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (NodeExit(17, Cause.EXIT_CODE), "exit code 17"),
        (NodeExit(137, Cause.SIGNAL, 9), "killed by SIGKILL (signal 9)"),
        (NodeExit(137, Cause.SIGNAL), "killed by SIGKILL (signal 9)"),
        (NodeExit(255, Cause.SIGNAL, 99), "killed by signal 99"),
        (
            NodeExit(137, Cause.OUT_OF_MEMORY, 9, "peak memory 3 GB"),
            "out of memory, exit code 137 (peak memory 3 GB)",
        ),
        (NodeExit(127, Cause.COULD_NOT_START, None, "no bash"), "could not start: no bash"),
        (
            NodeExit(143, Cause.TIMED_OUT, 15, "ran longer than its timeout of 60 s"),
            "ran longer than its timeout of 60 s",
        ),
    ],
)
def test_ends_are_said_in_words(end: NodeExit, words: str) -> None:
    """Short, with the number that matters."""
    assert outcome.describe(end) == words


def test_retries_are_counted_from_the_first_attempt() -> None:
    """n retries are n + 1 attempts; nothing is retried after a cancel or a success."""
    failed = _of(NodeExit(1, Cause.EXIT_CODE))
    assert outcome.may_retry(failed, number=1, max_retries=2, cancelled=False)
    assert not outcome.may_retry(failed, number=2, max_retries=2, cancelled=False)
    assert not outcome.may_retry(failed, number=0, max_retries=2, cancelled=True)
    assert not outcome.may_retry(_of(OK), number=0, max_retries=2, cancelled=False)


def test_the_pause_doubles_up_to_ten_times() -> None:
    """5, 10, 20, 40, 50, 50 … seconds, however many attempts there were."""
    assert [outcome.retry_delay_s(number, 5.0) for number in (0, 1, 2, 3, 4, 5000)] == [5, 10, 20, 40, 50, 50]
