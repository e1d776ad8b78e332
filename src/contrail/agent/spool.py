"""An append-only queue on disk that survives `kill -9` of its owner.

A spool is a folder of segment files, each named after the position of its first record. A record is
`<u32 length><u32 crc32><payload>`, written by one call, so that only the last one can be torn; opening the
spool cuts a torn tail off. Positions grow by each record's weight (1 for items, bytes for output) and are
never used twice. Acknowledged segments are deleted; the newest stays, because its name carries the position.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

HEADER = struct.Struct("<II")  # length and CRC-32 of the payload
RECORD_MAX_BYTES = 64 * 1024 * 1024
SEGMENT_BYTES = 8 * 1024 * 1024
_SUFFIX = ".spool"

Bytes: TypeAlias = bytes | bytearray | memoryview


class SpoolFull(Exception):
    """There is no room for this record: the spool's limit is reached, or the disk is full."""


class Budget:
    """Bytes on disk that several spools share. Thread-safe."""

    def __init__(self, limit_bytes: int):
        self.limit_bytes = limit_bytes
        self._used = 0
        self._lock = threading.Lock()

    @property
    def used_bytes(self) -> int:
        """Bytes taken and not given back."""
        return self._used

    def take(self, count: int, *, spare: float = 0.0) -> bool:
        """Reserve `count` bytes, leaving the share `spare` of the limit to others; False when there is no room."""
        with self._lock:
            if self._used + count > self.limit_bytes * (1.0 - spare):
                return False
            self._used += count
            return True

    def force(self, count: int) -> None:
        """Count bytes that are on disk already."""
        with self._lock:
            self._used += count

    def give(self, count: int) -> None:
        """Return `count` bytes."""
        with self._lock:
            self._used -= count


@dataclass(frozen=True, slots=True)
class Record:
    """One record: `start` and `end` are its positions."""

    start: int
    end: int
    payload: bytes


@dataclass(slots=True)
class _Segment:
    start: int
    end: int
    size: int
    path: Path


@dataclass(slots=True)
class _Cursor:
    """Where the reader is, so that reading on costs no search."""

    segment: int
    offset: int
    position: int


class Spool:
    """One writer's order, one reader's progress. Thread-safe; `append` is atomic and keeps order.

    `weigh` gives the weight of a payload of so many bytes. `spare` is the share of the budget that this
    spool leaves to others.
    """

    def __init__(
        self,
        folder: Path,
        *,
        weigh: Callable[[int], int],
        budget: Budget,
        spare: float = 0.0,
        segment_bytes: int = SEGMENT_BYTES,
    ):
        self._folder = folder
        self._weigh = weigh
        self._budget = budget
        self._spare = spare
        self._segment_bytes = segment_bytes
        self._changed = threading.Condition()
        self._closed = False
        folder.mkdir(parents=True, exist_ok=True)
        self.torn_bytes = 0
        self._segments = self._recover()
        self.reopened = bool(self._segments)
        if not self._segments:
            self._segments = [_Segment(0, 0, 0, self._path(0))]
        self._acked = self._segments[0].start
        self._cursor = _Cursor(self._segments[0].start, 0, self._segments[0].start)
        self._fd = self._open_last()
        budget.force(sum(segment.size for segment in self._segments))

    # ------------------------------------------------------------ positions

    @property
    def acked(self) -> int:
        """Everything before this position was acknowledged."""
        return self._acked

    @property
    def end(self) -> int:
        """Position after the last record."""
        return self._segments[-1].end

    @property
    def pending_bytes(self) -> int:
        """Bytes on disk, at most one segment more than what is not acknowledged."""
        return sum(segment.size for segment in self._segments)

    # ------------------------------------------------------------ writing

    def append(self, *parts: Bytes) -> int:
        """Add one record made of `parts`; returns the position after it. Raises `SpoolFull`, storing nothing."""
        length = sum(map(len, parts))
        crc = 0
        for part in parts:
            crc = zlib.crc32(part, crc)
        size = HEADER.size + length
        with self._changed:
            if self._closed:
                raise SpoolFull("the spool is closed")
            if length > RECORD_MAX_BYTES or not self._budget.take(size, spare=self._spare):
                raise SpoolFull(f"{self._budget.limit_bytes} bytes are spooled already")
            if self._segments[-1].size >= self._segment_bytes:
                self._roll(self.end)
            last = self._segments[-1]
            self._write(last, size, [HEADER.pack(length, crc), *parts])
            last.size += size
            last.end += self._weigh(length)
            self._changed.notify_all()
            return last.end

    def skip_to(self, position: int) -> None:
        """Continue at `position`, so that positions given out before a crash are never used again."""
        with self._changed:
            if position > self.end:
                self._roll(position)

    def _write(self, last: _Segment, size: int, pieces: list[Bytes]) -> None:
        try:
            written = os.writev(self._fd, pieces)
        except OSError as error:
            written, reason = -1, str(error)
        else:
            reason = "the disk is full"
        if written != size:
            os.ftruncate(self._fd, last.size)
            self._budget.give(size)
            raise SpoolFull(reason)

    def sync(self) -> None:
        """Bring what was appended to the disk itself, for the case of a power cut."""
        with self._changed:
            if self._closed:
                return
            fd = os.dup(self._fd)
        try:
            os.fdatasync(fd)
        finally:
            os.close(fd)

    def _roll(self, start: int) -> None:
        os.close(self._fd)
        self._segments.append(_Segment(start, start, 0, self._path(start)))
        self._fd = self._open_last()
        self._drop_acknowledged()

    def _open_last(self) -> int:
        return os.open(self._segments[-1].path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _path(self, start: int) -> Path:
        return self._folder / f"{start:020d}{_SUFFIX}"

    # ------------------------------------------------------------ reading

    def read(self, position: int, *, bytes_max: int, records_max: int = 1 << 30) -> list[Record]:
        """The records from `position` on (the first may start before it), at least one if there is any."""
        found: list[Record] = []
        total = 0
        for record in self._records(position):
            if found and total + len(record.payload) > bytes_max:
                break
            found.append(record)
            total += len(record.payload)
            if len(found) >= records_max or total >= bytes_max:
                break
        return found

    def _records(self, position: int) -> Iterator[Record]:
        with self._changed:
            segments = [
                _Segment(s.start, s.end, s.size, s.path)
                for s in self._segments
                if s.end > position and s.size
            ]
            cursor = self._cursor
        for segment in segments:
            offset, at = 0, segment.start
            if cursor.segment == segment.start and cursor.position <= position:
                offset, at = cursor.offset, cursor.position
            with segment.path.open("rb", buffering=256 * 1024) as file:
                file.seek(offset)
                while offset < segment.size:
                    length, _crc = HEADER.unpack(file.read(HEADER.size))
                    end = at + self._weigh(length)
                    following = offset + HEADER.size + length
                    if end <= position:
                        file.seek(following)
                    else:
                        yield Record(at, end, file.read(length))
                        self._cursor = _Cursor(segment.start, offset, at)
                    offset, at = following, end

    def wait(self, position: int, timeout_s: float) -> bool:
        """Wait until there is a record behind `position`; False after `timeout_s` or when closed."""
        with self._changed:
            return self._changed.wait_for(lambda: self.end > position or self._closed, timeout_s) and (
                self.end > position
            )

    # ------------------------------------------------------------ acknowledging

    def ack(self, position: int) -> None:
        """Everything before `position` is safe elsewhere. Idempotent; never goes back."""
        with self._changed:
            if position <= self._acked:
                return
            self._acked = min(position, self.end)
            self._drop_acknowledged()
            self._changed.notify_all()

    def wait_acked(self, position: int, timeout_s: float) -> bool:
        """Wait until everything before `position` is acknowledged; False after `timeout_s`."""
        with self._changed:
            return self._changed.wait_for(lambda: self._acked >= position, timeout_s)

    def _drop_acknowledged(self) -> None:
        while len(self._segments) > 1 and self._segments[0].end <= self._acked:
            segment = self._segments.pop(0)
            self._budget.give(segment.size)
            segment.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Take no more records and wake whoever waits for one."""
        with self._changed:
            if not self._closed:
                self._closed = True
                os.close(self._fd)
                self._changed.notify_all()

    # ------------------------------------------------------------ recovery

    def _recover(self) -> list[_Segment]:
        """The segments on disk, up to the first record that is not whole."""
        segments: list[_Segment] = []
        paths = sorted(self._folder.glob(f"*{_SUFFIX}"))
        for index, path in enumerate(paths):
            segment = self._scan(path)
            segments.append(segment)
            torn = path.stat().st_size - segment.size
            if torn:
                self.torn_bytes += torn
                os.truncate(path, segment.size)
                for later in paths[index + 1 :]:
                    self.torn_bytes += later.stat().st_size
                    later.unlink()
                break
        return segments

    def _scan(self, path: Path) -> _Segment:
        start = int(path.name.removesuffix(_SUFFIX))
        segment = _Segment(start, start, 0, path)
        with path.open("rb") as file:
            while len(header := file.read(HEADER.size)) == HEADER.size:
                length, crc = HEADER.unpack(header)
                if length > RECORD_MAX_BYTES:
                    break
                payload = file.read(length)
                if len(payload) < length or zlib.crc32(payload) != crc:
                    break
                segment.size += HEADER.size + length
                segment.end += self._weigh(length)
        return segment
