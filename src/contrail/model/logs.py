"""Log lines, levels and sealed chunks, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Level(IntEnum):
    """How bad a log line is; debug counts as info, critical as error."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """The level as the API says it."""
        return self.name.lower()


ALL_LEVELS = frozenset(Level)


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A sealed part of one node's output. Offsets count raw bytes, lines count from 0.

    A line belongs to the chunk in which it ends, so a chunk in the middle of a long line has none.
    `state` is what the parser of the next chunk goes on with.
    """

    node: int
    offset: int
    raw_bytes: int
    first_line: int
    lines: int
    first_time_ns: int
    last_time_ns: int
    infos: int
    warnings: int
    errors: int
    blob: str
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """Offset behind the last byte."""
        return self.offset + self.raw_bytes

    @property
    def end_line(self) -> int:
        """Number behind the last line."""
        return self.first_line + self.lines

    def count(self, level: Level) -> int:
        """Lines of one level."""
        return (self.infos, self.warnings, self.errors)[level]


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Raw bytes that arrived together; `time_ns` is when."""

    time_ns: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LogStream:
    """The output of one node: how many raw bytes the server has."""

    node: int
    raw_bytes: int


@dataclass(frozen=True, slots=True)
class LogSource:
    """An attempt as its log sees it."""

    attempt_id: int
    job_run_id: int
    number: int
    num_nodes: int
    started: bool
    ended: bool
    removed_ms: int | None
    streams: tuple[LogStream, ...] = ()
