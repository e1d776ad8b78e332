"""What the server knows about each node's log, kept in memory and brought up to date from the database.

Several server processes may share a database, so the memory is only ever a copy: every look asks for what is new.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from contrail.logs import segments as parts
from contrail.logs.indexer import Index, Indexer, OpenLine
from contrail.logs.segments import Segment
from contrail.model.logs import LogChunk, LogPiece, LogSource, LogStream
from contrail.series.numpy_later import np
from contrail.store import logs as stored
from contrail.store.database import Database

_STREAMS_MAX = 1024
_TAIL_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class View:
    """One node's log at one moment."""

    node: int
    segments: tuple[Segment, ...]
    open_line: OpenLine | None

    @property
    def end_line(self) -> int:
        """Number behind the last finished line."""
        return self.segments[-1].end_line if self.segments else 0

    @property
    def end(self) -> int:
        """Number of raw bytes."""
        return self.segments[-1].end if self.segments else 0

    def line_at(self, time_ns: int) -> int:
        """Number of the first finished line at or after a time."""
        for segment in self.segments:
            if segment.end_line > segment.first_line and segment.last_time_ns >= time_ns:
                return segment.first_line + int(
                    np.searchsorted(segment.content().index.times, time_ns, "left")
                )
        return self.end_line

    def time_of(self, line: int) -> int | None:
        """When a finished line came; None for a number behind the last."""
        for segment in self.segments:
            if segment.first_line <= line < segment.end_line:
                return int(segment.content().index.times[line - segment.first_line])
        return None

    def read(self, start: int, end: int) -> bytes:
        """Raw bytes by absolute offsets."""
        return b"".join(self.parts(start, end))

    def parts(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Raw bytes by absolute offsets, segment by segment."""
        end = self.end if end is None else end
        for segment in self.segments:
            if segment.end > start and segment.offset < end:
                raw = segment.content().raw()
                yield raw[max(start - segment.offset, 0) : end - segment.offset]


class _Stream:
    """The memory of one node's log: its chunks, and the tail with its lines."""

    def __init__(self, attempt_id: int, node: int, read_blob: Callable[[str], bytes]):
        self.lock = threading.Lock()
        self._attempt_id, self._node, self._read_blob = attempt_id, node, read_blob
        self._sealed: list[Segment] = []
        self._last: LogChunk | None = None
        self._view: View | None = None
        self._begin_tail()

    def _begin_tail(self) -> None:
        last = self._last
        self._base, self._first_line = (last.end, last.end_line) if last else (0, 0)
        self._indexer = Indexer(last.state if last else None)
        self._data: list[bytes] = []
        self._index: list[Index] = []

    @property
    def tail_bytes(self) -> int:
        """Bytes held in memory."""
        return self._indexer.offset - self._base

    def is_fresh(self, raw_bytes: int, *, ended: bool) -> bool:
        """Whether all of the node's bytes are known here, and its last line closed if the attempt has ended.

        That some of them were sealed meanwhile does not matter: they are the same bytes.
        """
        return self._indexer.offset == raw_bytes and not (ended and self._data)

    def refresh(self, database: Database) -> None:
        """Read what is new."""
        pieces = None
        while pieces is None:  # a database without snapshots may seal between the two questions
            with database.read() as connection:
                fresh = stored.chunks(connection, self._attempt_id, self._node, self._base)
                if fresh:
                    self._sealed += [parts.sealed(chunk, self._read_blob) for chunk in fresh]
                    self._last = fresh[-1]
                    self._begin_tail()
                pieces = stored.tail(connection, self._attempt_id, self._node, self._indexer.offset)
        if pieces:
            self._indexer.feed(pieces)
            self._data.append(b"".join([piece.data for piece in pieces]))
            self._index.append(self._indexer.take())
        self._view = None

    def view(self) -> View:
        """What is known now; never changes afterwards."""
        if self._view is None:
            self._view = self._make_view()
        return self._view

    def _make_view(self) -> View:
        if len(self._data) > 1:
            self._data, self._index = [b"".join(self._data)], [Index.join(self._index)]
        tail = (
            [parts.unsealed(self._base, self._data[0], self._first_line, self._index[0])]
            if self._data
            else []
        )
        return View(self._node, (*self._sealed, *tail), self._indexer.open_line)


class Streams:
    """The logs' memory of one server process; the least used are forgotten first."""

    def __init__(self, database: Database, read_blob: Callable[[str], bytes]):
        self._database = database
        self._read_blob = read_blob
        self._lock = threading.Lock()
        self._streams: OrderedDict[tuple[int, int], _Stream] = OrderedDict()

    def view(self, source: LogSource, node: LogStream) -> View:
        """One node's log as it is now; asks the database only when the source says that there is more."""
        stream = self._stream(source.attempt_id, node.node)
        with stream.lock:
            if not stream.is_fresh(node.raw_bytes, ended=source.ended):
                stream.refresh(self._database)
            view = stream.view()
        self._forget_some()
        return view

    def forget(self, attempt_id: int) -> None:
        """Drop an attempt's log from memory (it was removed)."""
        with self._lock:
            for key in [key for key in self._streams if key[0] == attempt_id]:
                del self._streams[key]

    def _stream(self, attempt_id: int, node: int) -> _Stream:
        with self._lock:
            key = (attempt_id, node)
            stream = self._streams.get(key)
            if stream is None:
                stream = self._streams[key] = _Stream(attempt_id, node, self._read_blob)
            self._streams.move_to_end(key)
            return stream

    def _forget_some(self) -> None:
        with self._lock:
            held = sum(stream.tail_bytes for stream in self._streams.values())
            while len(self._streams) > 1 and (len(self._streams) > _STREAMS_MAX or held > _TAIL_BYTES_MAX):
                _, stream = self._streams.popitem(last=False)
                held -= stream.tail_bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """The next chunk of a node (its blob not named yet) with its bytes and lines."""

    chunk: LogChunk
    raw: bytes
    index: Index


def next_chunk(
    node: int, last: LogChunk | None, pieces: list[LogPiece], chunk_bytes: int, *, final: bool
) -> Cut | None:
    """Cut the next chunk off the tail's pieces; None when there is too little.

    The cut depends on the bytes alone: behind the last newline of the first `chunk_bytes`, or right there when they
    hold none. `final` takes what is left and ends the open line. A chunk's blob name says where it begins and
    how long it is, so writing it again after a crash writes the same bytes.
    """
    raw = b"".join([piece.data for piece in pieces])
    if not raw or (len(raw) < chunk_bytes and not final):
        return None
    cut = len(raw)
    if cut > chunk_bytes or not final:
        cut = raw.rfind(b"\n", 0, chunk_bytes) + 1 or chunk_bytes
    ends = final and cut == len(raw)
    raw = raw[:cut]
    indexer = Indexer(last.state if last else None)
    offset = indexer.offset
    indexer.feed(_up_to(pieces, cut))
    if ends:
        indexer.finish()
    index, state = indexer.take(), indexer.state()
    infos, warnings, errors = (int((index.levels == level).sum()) for level in range(3))
    some = len(index) > 0
    chunk = LogChunk(
        node=node,
        offset=offset,
        raw_bytes=cut,
        first_line=last.end_line if last else 0,
        lines=len(index),
        first_time_ns=int(index.times[0]) if some else state["line_time"],
        last_time_ns=int(index.times[-1]) if some else state["line_time"],
        infos=infos,
        warnings=warnings,
        errors=errors,
        blob="",
        state=state,
    )
    return Cut(chunk, raw, index)


def _up_to(pieces: list[LogPiece], count: int) -> Iterator[LogPiece]:
    for piece in pieces:
        if count <= 0:
            return
        yield piece if len(piece.data) <= count else LogPiece(piece.time_ns, piece.data[:count])
        count -= len(piece.data)
