"""The table of allowed moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrail.jobs.states import MOVES, Event, is_over, move
from contrail.model.errors import ResourceConflict
from contrail.model.jobs import TERMINAL_STATES, JobResult, JobState

ENDS = [Event.SUCCEED, Event.FAIL, Event.TIME_OUT, Event.CANCELLED, Event.BREAK]


def test_the_table_speaks_about_every_state() -> None:
    """A new state is put into the table on purpose."""
    assert set(MOVES) == set(JobState)


def test_every_state_can_be_reached_from_the_queue() -> None:
    """No state is dead."""
    reached, open_ends = {JobState.QUEUED}, [JobState.QUEUED]
    while open_ends:
        for target in MOVES[open_ends.pop()].values():
            if target.state not in reached:
                reached.add(target.state)
                open_ends.append(target.state)
    assert reached == set(JobState)


@pytest.mark.parametrize("state", sorted(TERMINAL_STATES))
@pytest.mark.parametrize("event", list(Event))
def test_what_is_over_stays_over(state: JobState, event: Event) -> None:
    """Nothing happens to something that has ended."""
    with pytest.raises(ResourceConflict):
        move(state, event)


@pytest.mark.parametrize("state", [state for state in JobState if not is_over(state)])
def test_whatever_goes_on_can_be_cancelled(state: JobState) -> None:
    """A cancel ends it as CANCELED at once, or leads to TERMINATING, from where CANCELLED does."""
    target = move(state, Event.CANCEL)
    if target.state is JobState.TERMINATING:
        target = move(target.state, Event.CANCELLED)
    assert (target.state, target.result) == (JobState.TERMINATED, JobResult.CANCELED)


@given(st.lists(st.sampled_from(Event), max_size=30))
def test_a_result_comes_with_the_end_and_only_then(events: list[Event]) -> None:
    """On every path: a result exactly in the states that are over."""
    state = JobState.QUEUED
    for event in events:
        if event not in MOVES[state]:
            continue
        target = move(state, event)
        assert (target.result is not None) == is_over(target.state)
        state = target.state


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.RUNNING, JobState.TERMINATING])
@pytest.mark.parametrize("event", ENDS)
def test_what_was_started_can_end_in_every_way(state: JobState, event: Event) -> None:
    """A fast command may end before anyone has seen it run."""
    assert is_over(move(state, event).state)
