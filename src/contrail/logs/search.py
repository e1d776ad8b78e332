"""Scanning logs: lines in order of time, over chunks, nodes merged, with a deadline.

Pure reading over `View`s; nothing here knows a database or a clock but what is passed in.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from contrail.logs.query import Cursor, LogFilter
from contrail.logs.segments import Lines
from contrail.logs.streams import View
from contrail.model.logs import Level


class Step(NamedTuple):
    """One step of a scan: a matching line, or (without `lines`) the news that all up to here was looked at."""

    time_ns: int
    node: int
    position: (
        int  # number of the line; without a line, of the first one not looked at yet (backward: the last + 1)
    )
    lines: Lines | None = None
    number: int = 0  # of the line within `lines`

    @property
    def level(self) -> Level:
        """The line's level."""
        assert self.lines is not None  # noqa: S101 - a step with a line
        return Level(int(self.lines.index.levels[self.number]))

    def text(self, limit: int | None = None) -> bytes:
        """The line's visible text, at most `limit` bytes."""
        assert self.lines is not None  # noqa: S101 - a step with a line
        return self.lines.text(self.number, limit)


def forward(view: View, start: int, wanted: LogFilter, batch: int) -> Iterator[Step]:
    """Matching lines of one node from line `start` on. `batch` hits are looked for at a time."""
    for segment in view.segments:
        if segment.end_line <= start or segment.end_line == segment.first_line:
            continue
        if wanted.may_match(segment):
            lines = segment.lines(view.read)
            first, count = max(start - segment.first_line, 0), len(lines)
            while first < count:
                hits = wanted.hits(lines, first, count, batch)
                yield from (_step(view, lines, hit) for hit in hits)
                if len(hits) < batch:
                    break
                first = hits[-1] + 1
        yield Step(segment.last_time_ns, view.node, segment.end_line)


def backward(view: View, end: int, wanted: LogFilter) -> Iterator[Step]:
    """Matching lines of one node before line `end`, last first."""
    for segment in reversed(view.segments):
        if segment.first_line >= end or segment.end_line == segment.first_line:
            continue
        if wanted.may_match(segment):
            lines = segment.lines(view.read)
            for hit in reversed(wanted.hits(lines, 0, min(end - segment.first_line, len(lines)))):
                yield _step(view, lines, hit)
        yield Step(segment.first_time_ns, view.node, segment.first_line)


def _step(view: View, lines: Lines, index: int) -> Step:
    return Step(int(lines.index.times[index]), view.node, lines.first_line + index, lines, index)


@dataclass(frozen=True, slots=True)
class Found:
    """What a scan found, in order of time. `cursor` is where it stopped.

    `complete`: it reached the end of what is stored. `scanned_to_ns`: how far it got when the deadline stopped it.
    """

    steps: list[Step]
    cursor: Cursor
    complete: bool
    scanned_to_ns: int | None = None


class Scan:
    """Lines of several nodes merged by (time, node, line), forward or backward."""

    def __init__(
        self,
        views: Sequence[View],
        start: Cursor,
        wanted: LogFilter,
        *,
        back: bool = False,
        batch: int = 1000,
    ):
        self._positions = {view.node: min(start.of(view.node), view.end_line) for view in views}
        self._sign = -1 if back else 1
        self._heap: list[tuple[int, int, int, Step, Iterator[Step]]] = []
        for view in views:
            position = self._positions[view.node]
            self._push(backward(view, position, wanted) if back else forward(view, position, wanted, batch))

    def _push(self, steps: Iterator[Step]) -> None:
        step = next(steps, None)
        if step is not None:
            sign = self._sign
            # A message "looked at up to here" comes behind the lines of its own time (sorts by line number).
            heapq.heappush(
                self._heap, (sign * step.time_ns, sign * step.node, sign * step.position, step, steps)
            )

    def __iter__(self) -> Iterator[Step]:
        """All steps in order. `cursor` follows: it counts a step as done once the next one is asked for."""
        while self._heap:
            *_, step, steps = heapq.heappop(self._heap)
            yield step
            done = step.position if step.lines is None or self._sign < 0 else step.position + 1
            self._positions[step.node] = done
            self._push(steps)

    @property
    def cursor(self) -> Cursor:
        """The place behind what is done. What lies between it and a waiting hit was looked at in vain."""
        positions = dict(self._positions)
        for *_, step, _steps in self._heap:
            waiting = step.position + 1 if self._sign < 0 and step.lines is not None else step.position
            positions[step.node] = waiting
        return Cursor(positions)

    def take(self, limit: int, bytes_max: int, expired: Callable[[], bool]) -> Found:
        """The next lines, at most `limit`, about `bytes_max` bytes of text, until `expired()`."""
        steps: list[Step] = []
        size = 0
        for step in self:
            if step.lines is None:
                if not expired():
                    continue
                self._positions[step.node] = step.position
                return Found(steps, self.cursor, False, step.time_ns)
            steps.append(step)
            size += int(step.lines.index.ends[step.number] - step.lines.index.starts[step.number])
            if len(steps) >= limit or size >= bytes_max:
                self._positions[step.node] = step.position + (self._sign > 0)
                return Found(steps, self.cursor, False)
        return Found(steps, self.cursor, True)
