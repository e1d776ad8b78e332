"""Raw bytes in, lines out: where each line's visible text lies, when it came, its level.

A line ends at a newline. A carriage return starts its text anew (progress bars), so the visible text is the last part
between carriage returns that is not empty. The result does not depend on how the bytes were cut into pieces, except
that a line's time is the arrival of its first byte. Nothing is copied or changed: the index points into the raw bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import re2

from contrail.logs.levels import HEAD_BYTES, SUSPICIOUS, LevelParser
from contrail.model.logs import Level, LogPiece
from contrail.series.numpy_later import np

if TYPE_CHECKING:
    import numpy.typing as npt

Ints: TypeAlias = "npt.NDArray[np.int64]"
Bytes: TypeAlias = "npt.NDArray[np.uint8]"

JOINED = 1  # flag: belongs to the line before (traceback)
UNTERMINATED = 2  # flag: no newline follows: the end of the log, or a line of more than LINE_SPLIT_BYTES

LINE_SPLIT_BYTES = 8 * 1024 * 1024  # a longer text goes on as another line
_WINDOW = 1024 * 1024  # bytes that are looked at together; must not be larger than LINE_SPLIT_BYTES
_CR, _LF = 13, 10


@dataclass(frozen=True, slots=True)
class Index:
    """Finished lines, as columns. `starts` and `ends` are absolute offsets of the visible text."""

    starts: Ints
    ends: Ints
    times: Ints
    levels: Bytes
    flags: Bytes

    def __len__(self) -> int:
        return len(self.starts)

    @staticmethod
    def join(parts: Sequence[Index]) -> Index:
        """One index of several in a row."""
        if not parts:
            none = np.empty(0, np.int64)
            return Index(none, none, none, np.empty(0, np.uint8), np.empty(0, np.uint8))
        if len(parts) == 1:
            return parts[0]
        return Index(
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.ends for part in parts]),
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.levels for part in parts]),
            np.concatenate([part.flags for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class OpenLine:
    """A line that has begun but not ended. Its visible text may still change, its time does not."""

    start: int
    end: int
    time_ns: int
    level: Level


class Indexer:
    """Feed it pieces in order, then `take` the lines that ended. `state` lets another one go on later."""

    def __init__(self, state: Mapping[str, Any] | None = None):
        state = state or {}
        self.offset: int = state.get("offset", 0)  # bytes seen
        self._last_time: int = state.get("time", 0)
        self._line_time: int = state.get("line_time", 0)  # of the line that ended last
        self._levels = LevelParser(state.get("blocks"))
        line = state.get("open")
        self._open = line is not None
        self._open_time: int = line[0] if line else 0  # arrival of its first byte
        self._segment_start: int = line[1] if line else 0  # behind the last carriage return
        shown, head = line[2:] if line else (None, "")
        self._head = head.encode("latin-1")  # first bytes of the present segment
        # The last segment that was not empty and that a carriage return ended: (start, end, head).
        self._shown: tuple[int, int, bytes] | None = (
            (shown[0], shown[1], shown[2].encode("latin-1")) if shown else None
        )
        self._parts: list[Index] = []
        self._records: tuple[list[int], list[int]] = ([0], [0])  # start offset and time of each piece

    def state(self) -> dict[str, Any]:
        """Where it stands, as JSON."""
        state: dict[str, Any] = {"offset": self.offset, "time": self._last_time, "line_time": self._line_time}
        if blocks := self._levels.state():
            state["blocks"] = blocks
        if self._open:
            shown = [*self._shown[:2], self._shown[2].decode("latin-1")] if self._shown else None
            state["open"] = [self._open_time, self._segment_start, shown, self._head.decode("latin-1")]
        return state

    def feed(self, pieces: Iterable[LogPiece]) -> None:
        """Read on. Times that go back count as the time before, so that lines are in order of time."""
        starts, times, parts, offset = [], [], [], self.offset
        for piece in pieces:
            self._last_time = max(self._last_time, piece.time_ns)
            starts.append(offset)
            times.append(self._last_time)
            parts.append(piece.data)
            offset += len(piece.data)
        data = b"".join(parts)
        self._records = (starts, times)
        for position in range(0, len(data), _WINDOW):
            self._window(data[position : position + _WINDOW])

    def finish(self) -> None:
        """The log is over: what is open becomes the last line."""
        if self._open:
            self._close(self.offset, UNTERMINATED)

    def take(self) -> Index:
        """The lines that ended since the last call."""
        parts, self._parts = self._parts, []
        return Index.join(parts)

    @property
    def open_line(self) -> OpenLine | None:
        """The line that has not ended yet, None when the last byte was a newline."""
        if not self._open:
            return None
        start, end, head = self._text(self.offset)
        level, _ = LevelParser(self._levels.state()).line(head)
        return OpenLine(start, end, self._open_time, level)

    # ------------------------------------------------------------ one window

    def _window(self, data: bytes) -> None:
        array = np.frombuffer(data, np.uint8)
        newlines = np.flatnonzero(array == _LF)
        base = self.offset
        if not len(newlines):
            self._grow_line(data, base)
            self.offset = base + len(data)
            return
        first = 0
        if self._open:
            end = int(newlines[0])
            self._grow_line(data[:end], base)
            self._close(base + end, 0)
            first, newlines = end + 1, newlines[1:]
        if len(newlines):
            self._whole_lines(data, array, first, newlines)
            first = int(newlines[-1]) + 1
        self._grow_line(data[first:], base + first)
        self.offset = base + len(data)

    def _whole_lines(self, data: bytes, array: Bytes, first: int, newlines: Ints) -> None:
        """Lines that begin and end inside one window: all columns at once."""
        base = self.offset
        line_starts = np.empty_like(newlines)
        line_starts[0], line_starts[1:] = first, newlines[:-1] + 1
        starts, ends = line_starts, newlines
        if data.find(b"\r", first, int(newlines[-1])) >= 0:
            starts, ends = _fold(data, array, line_starts, newlines)
        times = self._times_at(line_starts + base)
        levels, flags = np.zeros(len(starts), np.uint8), np.zeros(len(starts), np.uint8)
        self._set_levels(data, line_starts, newlines, (starts, ends), (times, levels, flags))
        self._line_time = int(times[-1])
        self._parts.append(Index(starts + base, ends + base, times, levels, flags))

    def _set_levels(
        self,
        data: bytes,
        line_starts: Ints,
        line_ends: Ints,
        text: tuple[Ints, Ints],
        out: tuple[Ints, Bytes, Bytes],
    ) -> None:
        times, levels, flags = out
        begins, stop = line_starts.tolist(), int(line_ends[-1])
        number, count = 0, len(begins)
        while number < count:
            if not self._levels.active:
                found = _SUSPICIOUS.search(data, begins[number], stop)
                if found is None:
                    return
                number = bisect_right(begins, found.start()) - 1
            start = int(text[0][number])
            level, joined = self._levels.line(data[start : min(int(text[1][number]), start + HEAD_BYTES)])
            levels[number] = level
            if joined:
                flags[number] = JOINED
                times[number] = times[number - 1] if number else self._line_time
            number += 1

    def _times_at(self, offsets: Ints) -> Ints:
        starts, times = self._records
        if len(starts) == 1:
            return np.full(len(offsets), times[0], np.int64)
        where = np.searchsorted(np.asarray(starts, np.int64), offsets, "right") - 1
        return np.asarray(times, np.int64)[where]

    def _time_at(self, offset: int) -> int:
        starts, times = self._records
        return times[bisect_right(starts, offset) - 1]

    # ------------------------------------------------------------ the open line

    def _grow_line(self, data: bytes, offset: int) -> None:
        """Add bytes without a newline to the open line."""
        if not data:
            return
        last = data.rfind(b"\r")
        if last >= 0:
            self._begin(offset)
            body = data[:last].rstrip(b"\r")
            previous = body.rfind(b"\r")
            if previous >= 0:  # whole segments lie inside: only the last one counts
                self._grow_segment(body[: body.find(b"\r")], offset)
                start = offset + previous + 1
                self._shown = (start, offset + len(body), body[previous + 1 :][:HEAD_BYTES])
            else:
                self._grow_segment(body, offset)
                self._end_segment(offset + len(body))
            self._segment_start, self._head = offset + last + 1, b""
            data, offset = data[last + 1 :], offset + last + 1
        self._grow_segment(data, offset)

    def _begin(self, offset: int) -> None:
        if not self._open:
            self._open, self._open_time = True, self._time_at(offset)
            self._segment_start, self._head, self._shown = offset, b"", None

    def _grow_segment(self, data: bytes, offset: int) -> None:
        while data:
            self._begin(offset)
            room = LINE_SPLIT_BYTES - (offset - self._segment_start)
            part = data[:room]
            if len(self._head) < HEAD_BYTES:
                self._head += part[: HEAD_BYTES - len(self._head)]
            data, offset = data[room:], offset + len(part)
            if data:
                self._close(offset, UNTERMINATED)

    def _end_segment(self, end: int) -> None:
        if end > self._segment_start:
            self._shown = (self._segment_start, end, self._head)

    def _text(self, end: int) -> tuple[int, int, bytes]:
        if end > self._segment_start:
            return self._segment_start, end, self._head
        return self._shown or (end, end, b"")

    def _close(self, line_end: int, flag: int) -> None:
        start, end, head = self._text(line_end)
        level, joined = self._levels.line(head)
        time_ns = self._line_time if joined else self._open_time
        self._line_time, self._open = time_ns, False
        self._parts.append(
            Index(
                np.array([start], np.int64),
                np.array([end], np.int64),
                np.array([time_ns], np.int64),
                np.array([level], np.uint8),
                np.array([flag | (JOINED if joined else 0)], np.uint8),
            )
        )


def _options() -> Any:
    options = re2.Options()
    options.never_capture, options.log_errors = True, False
    options.encoding = re2.Options.Encoding.LATIN1  # bytes that are not UTF-8 must not stop the scan
    return options


_SUSPICIOUS = re2.compile(SUSPICIOUS, _options())


def _fold(data: bytes, array: Bytes, line_starts: Ints, line_ends: Ints) -> tuple[Ints, Ints]:
    """Visible text of each line where some hold carriage returns."""
    starts, ends = line_starts.copy(), line_ends.copy()
    first = int(line_starts[0])
    returns = np.flatnonzero(array[first : int(line_ends[-1])] == _CR) + first
    for number in np.unique(np.searchsorted(line_ends, returns)).tolist():
        start, end = int(line_starts[number]), int(line_ends[number])
        text = data[start:end].rstrip(b"\r")
        starts[number] = start + text.rfind(b"\r") + 1 if text else end
        ends[number] = start + len(text) if text else end
    return starts, ends
