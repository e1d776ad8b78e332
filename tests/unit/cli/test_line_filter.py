"""Lines are shown once, and whole."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contrail.cli.streams import LineFilter


def line(number: int, text: str, *, node: int = 0, is_open: bool = False) -> dict[str, Any]:
    return {"node": node, "seq": number, "text": text, "open": is_open}


def test_unfinished_line_waits_until_it_is_whole() -> None:
    """A line that may still change is not shown; when it is finished it is shown once."""
    lines = LineFilter()
    assert list(lines.whole({"lines": [line(0, "a"), line(1, "b", is_open=True)]})) == [line(0, "a")]
    assert list(lines.whole({"lines": [line(1, "bc")]})) == [line(1, "bc")]
    assert list(lines.whole({"lines": [line(1, "bc")]})) == []
    assert list(lines.rest()) == []


def test_unfinished_line_is_shown_at_the_end() -> None:
    """What never got a line end is shown when nothing more comes, per node."""
    lines = LineFilter()
    list(lines.whole({"lines": [line(0, "x", node=1, is_open=True), line(0, "y", is_open=True)]}))
    list(lines.whole({"lines": [line(0, "xx", node=1, is_open=True)]}))
    assert [found["text"] for found in lines.rest()] == ["y", "xx"]
    assert list(lines.rest()) == []


@given(st.lists(st.integers(0, 19), max_size=30), st.integers(1, 20))
def test_every_line_once_whatever_is_sent_again(starts: list[int], total: int) -> None:
    """However often a stream resumes at an earlier place, each line is shown once and in order."""
    lines = LineFilter()
    shown: list[int] = []
    for start in [*starts, 0]:
        page = {"lines": [line(number, str(number)) for number in range(min(start, len(shown)), total)]}
        shown += [found["seq"] for found in lines.whole(page)]
    assert shown == list(range(total))
