"""Messages of the log API (`/api/contrail/v1/job-runs/{id}/logs…`)."""

from __future__ import annotations

import msgspec


class LogLine(msgspec.Struct):
    """One line. `seq` counts lines of (attempt, node) from 0 and is its address in links.

    `text` may hold ANSI colour sequences; progress bars are folded to their last state. `level` is
    `info`, `warning` or `error`. `open` marks a last line that has no line end yet: it may still change.
    `truncated` is the full length in bytes when the view cut the line.
    """

    node: int
    seq: int
    time_ns: int
    level: str
    text: str
    open: bool = False
    truncated: int | None = None


class LogPage(msgspec.Struct):
    """A page of lines in order of time.

    Where a page starts: `after=`/`before=` (cursors), `tail=N`, or `around=<node>:<seq>` (the page has that line in its
    middle; how links to a line open) or `at_ms=` (starts at the first line of that time; how the minimap jumps).
    The last two move the page and never filter.
    `next` / `prev` are opaque cursors for `after=` / `before=`. `eof`: nothing more is stored right now.
    `ended`: the attempt is over, so nothing more will come. `scanned_to_ns`: how far a search got before its
    time limit (null when it is complete). `empty_reason`: why there are no lines at all, as a code:
    `not_started`, `no_output`, `no_match`, `expired`; `message` says it in words.
    """

    lines: list[LogLine]
    next: str | None
    prev: str | None
    eof: bool
    ended: bool
    attempt: int
    num_nodes: int
    scanned_to_ns: int | None = None
    empty_reason: str | None = None
    message: str | None = None


class LogStats(msgspec.Struct):
    """`GET …/logs/stats`: totals of one attempt, per node and level, for filters and the minimap.

    Takes the same filters as the page; with filters, `lines` and the counts are those of the matching lines (the hit
    count of a search), `scanned_to_ns` tells how far the count got before its time limit (null when complete).
    `buckets` cover `first_time_ns`…`last_time_ns` in equal parts: [infos, warnings, errors] each.
    """

    attempt: int
    lines: int
    raw_bytes: int
    nodes: list[NodeStats]
    first_time_ns: int | None
    last_time_ns: int | None
    buckets: list[tuple[int, int, int]]
    scanned_to_ns: int | None = None


class NodeStats(msgspec.Struct):
    """Totals of one node."""

    node: int
    lines: int
    raw_bytes: int
    infos: int
    warnings: int
    errors: int
