"""Counting lines per node, level and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from contrail.logs.query import LogFilter
from contrail.logs.segments import Segment
from contrail.logs.streams import View
from contrail.model.logs import ALL_LEVELS, Level, LogSource
from contrail.series.numpy_later import np
from contrail.wire.logs import LogStats, NodeStats

if TYPE_CHECKING:
    import numpy.typing as npt

BUCKETS_MAX = 2000


class _Spread:
    """Counts per equal part of a time range and level."""

    def __init__(self, first_ns: int, last_ns: int, buckets: int):
        self._first = first_ns
        self._width = max((last_ns - first_ns) // buckets + 1, 1)
        self.counts: npt.NDArray[np.int64] = np.zeros((buckets, len(Level)), np.int64)

    def bucket(self, time_ns: int) -> int:
        return min(max((time_ns - self._first) // self._width, 0), len(self.counts) - 1)

    def add(self, times: npt.NDArray[np.int64], levels: npt.NDArray[np.uint8]) -> None:
        where = np.clip((times - self._first) // self._width, 0, len(self.counts) - 1)
        np.add.at(self.counts, (where, levels), 1)


def collect(
    source: LogSource, views: list[View], wanted: LogFilter, buckets: int, expired: Callable[[], bool]
) -> LogStats:
    """Exact counts of the lines that match; without a text search whole chunks are counted by their totals."""
    buckets = max(1, min(buckets, BUCKETS_MAX))
    first, last = _range(views)
    spread = _Spread(first or 0, last or 0, buckets)
    nodes, scanned_to = [], None
    for view in views:
        totals = np.zeros(len(Level), np.int64)
        for segment in view.segments:
            if segment.end_line > segment.first_line and wanted.may_match(segment):
                if wanted.text and expired():
                    scanned_to = min(scanned_to or segment.first_time_ns, segment.first_time_ns)
                    break
                totals += _count(view, segment, wanted, spread)
        nodes.append(NodeStats(view.node, int(totals.sum()), view.end, *(int(count) for count in totals)))
    return LogStats(
        attempt=source.number,
        lines=sum(node.lines for node in nodes),
        raw_bytes=sum(node.raw_bytes for node in nodes),
        nodes=nodes,
        first_time_ns=first,
        last_time_ns=last,
        buckets=[(int(infos), int(warnings), int(errors)) for infos, warnings, errors in spread.counts],
        scanned_to_ns=scanned_to,
    )


def _range(views: list[View]) -> tuple[int | None, int | None]:
    segments = [s for view in views for s in view.segments if s.end_line > s.first_line]
    if not segments:
        return None, None
    return min(s.first_time_ns for s in segments), max(s.last_time_ns for s in segments)


def _count(view: View, segment: Segment, wanted: LogFilter, spread: _Spread) -> npt.NDArray[np.int64]:
    """Count one segment's matching lines; its own totals are enough when it lies in one bucket and wholly inside."""
    inside = (wanted.from_ns is None or segment.first_time_ns >= wanted.from_ns) and (
        wanted.to_ns is None or segment.last_time_ns <= wanted.to_ns
    )
    bucket = spread.bucket(segment.first_time_ns)
    if not wanted.text and inside and bucket == spread.bucket(segment.last_time_ns):
        counts = np.array(
            [segment.count(level) if level in wanted.levels else 0 for level in Level], np.int64
        )
        spread.counts[bucket] += counts
        return counts
    if wanted.text:
        lines = segment.lines(view.read)
        index, hits = lines.index, np.array(wanted.hits(lines, 0, len(lines)), np.int64)
        times, levels = index.times[hits], index.levels[hits]
    else:
        index = segment.content().index
        kept = np.ones(len(index), bool)
        if wanted.levels != ALL_LEVELS:
            kept &= np.isin(index.levels, [int(level) for level in wanted.levels])
        if wanted.from_ns is not None:
            kept &= index.times >= wanted.from_ns
        if wanted.to_ns is not None:
            kept &= index.times <= wanted.to_ns
        times, levels = index.times[kept], index.levels[kept]
    spread.add(times, levels)
    return np.bincount(levels, minlength=len(Level)).astype(np.int64)
