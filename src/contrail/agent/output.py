"""The node's log on its way to the server: the workload's bytes exactly, and few lines of the agent's own.

A spool record is `<i64 time_ns><bytes>`; its positions count raw bytes, which are the offsets that the
server knows. Lines of the agent start with `[contrail] ` and never cut a line of the workload in two.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

from contrail.agent.spool import Budget, Bytes, Spool, SpoolFull

SHARE_LEFT_TO_OTHERS = 0.1  # output may not crowd out metrics and the exit record
PREFIX = "[contrail] "
_TIME = struct.Struct("<q")
_RECORD_HEAD = struct.Struct("<qI")


def _weigh(length: int) -> int:
    return length - _TIME.size


class Output:
    """Appends output to its spool. Thread-safe. Nothing here raises: what finds no room is counted."""

    def __init__(
        self,
        folder: Path,
        budget: Budget,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        segment_bytes: int = 8 * 1024 * 1024,
    ):
        self.spool = Spool(
            folder, weigh=_weigh, budget=budget, spare=SHARE_LEFT_TO_OTHERS, segment_bytes=segment_bytes
        )
        self._budget = budget
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._last_ns = 0
        self._at_line_start = not self.spool.reopened
        self._waiting: list[bytes] = []
        self._dropped_bytes = 0

    def write(self, data: Bytes) -> None:
        """Add bytes of the workload as they are, received now."""
        with self._lock:
            if self._waiting:
                data = self._interleave(data)
            self._append(data)

    def say(self, text: str) -> None:
        """Add a line of the agent's own at the next start of a line."""
        line = f"{PREFIX}{text}\n".encode()
        with self._lock:
            if self._at_line_start:
                self._append(line)
            else:
                self._waiting.append(line)

    def finish(self) -> None:
        """The workload writes no more: bring out lines that wait."""
        with self._lock:
            if self._waiting:
                if not self._at_line_start:
                    self._append(b"\n")
                self._flush_waiting()

    def _interleave(self, data: Bytes) -> Bytes:
        """Write up to the first end of a line, then the lines that wait; returns the rest of `data`."""
        view = memoryview(data)
        end = bytes(view).find(b"\n") + 1
        if end == 0:
            return data
        self._append(view[:end])
        self._flush_waiting()
        return view[end:]

    def _flush_waiting(self) -> None:
        lines, self._waiting = self._waiting, []
        for line in lines:
            self._append(line)

    def _append(self, data: Bytes) -> None:
        if not len(data):
            return
        # Times of one node never go back, so that lines sorted by time keep their order.
        self._last_ns = max(self._last_ns, self._clock_ns())
        stamp = _TIME.pack(self._last_ns)
        try:
            if self._dropped_bytes:
                self._tell_dropped(stamp)
            self.spool.append(stamp, data)
        except SpoolFull:
            self._dropped_bytes += len(data)
            return
        self._at_line_start = data[-1] == 0x0A

    def _tell_dropped(self, stamp: bytes) -> None:
        limit_mb = self._budget.limit_bytes / 1e6
        text = (
            f"{self._dropped_bytes} bytes of output are missing here: "
            f"the spool of this node reached its limit of {limit_mb:.0f} MB (spool_max_bytes) or its disk is full"
        )
        start = "" if self._at_line_start else "\n"
        self.spool.append(stamp, f"{start}{PREFIX}{text}\n".encode())
        self._dropped_bytes = 0


def log_request_body(spool: Spool, position: int, bytes_max: int) -> tuple[int, bytes]:
    """Output from `position` on as the server takes it; returns the position after it and the body."""
    pieces: list[Bytes] = []
    end = position
    for record in spool.read(position, bytes_max=bytes_max):
        (time_ns,) = _TIME.unpack_from(record.payload)
        data = memoryview(record.payload)[_TIME.size + max(0, position - record.start) :]
        pieces += (_RECORD_HEAD.pack(time_ns, len(data)), data)
        end = record.end
    return end, b"".join(pieces)
