"""Words, times and tables for people."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from contrail.cli.output import AMBER, GREEN, RED

CELL_MAX = 36
_FAILURES = frozenset({"FAILED", "TIMEDOUT", "CANCELED", "INTERNAL_ERROR"})


def status_colour(status: str) -> str:
    """Green for success, red for a bad end, amber for everything that goes on."""
    if status == "SUCCESS":
        return GREEN
    return RED if status in _FAILURES or status.startswith("UPSTREAM_") else AMBER


def iso_time(time_ms: int | None) -> str | None:
    """A time as ISO 8601 with offset."""
    return (
        None if time_ms is None else datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")
    )


def minute(time_ms: int | None) -> str:
    """A time to the minute, in UTC."""
    if time_ms is None:
        return "-"
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def duration_s(started_ms: int | None, ended_ms: int | None, now_ms: int) -> int | None:
    """Whole seconds from start to end, or to now while there is no end."""
    if started_ms is None:
        return None
    return max(0, round(((now_ms if ended_ms is None else ended_ms) - started_ms) / 1000))


def duration(seconds: int | None) -> str:
    """`1h 02m 03s`."""
    if seconds is None:
        return "-"
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h {minutes:02}m {rest:02}s"
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


def byte_count(count: int) -> str:
    """`1.5 MB`."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{count} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def counted(count: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def accelerators(kind: str, total: int) -> str:
    """`8x H100`, or `2x CPU`."""
    return f"{total}x {kind.rpartition('x')[2] if kind.startswith('GPU_') else kind}"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Lines of a table; long cells are cut, missing ones are `-`."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(width(line[i]) for line in [list(columns), *cells]) for i in range(len(columns))]
    return [
        "  ".join(cell + " " * (widths[i] - width(cell)) for i, cell in enumerate(line)).rstrip()
        for line in [list(columns), *cells]
    ]


def box(title: str, lines: Sequence[str]) -> list[str]:
    """Lines in a frame with a title."""
    inner = max([width(line) for line in lines] + [width(title) + 2])
    top = f"╭─ {title} " + "─" * (inner - width(title) - 1) + "╮"
    body = [f"│ {line}{' ' * (inner - width(line))} │" for line in lines]
    return [top, *body, "╰" + "─" * (inner + 2) + "╯"]


def width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(
        0 if unicodedata.combining(mark) else 2 if unicodedata.east_asian_width(mark) in "WF" else 1
        for mark in text
    )


def _cell(value: Any) -> str:
    text = "-" if value is None or value == "" else " ".join(str(value).split())
    return text if len(text) <= CELL_MAX else text[: CELL_MAX - 1] + "…"
