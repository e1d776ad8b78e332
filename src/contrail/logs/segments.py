"""Parts of a node's log that can be searched: sealed chunks and the tail in memory.

A sealed chunk is one blob: a header, the compressed line index, the compressed raw bytes. The index comes first, so
that a search by level or time need not decompress the text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import zstandard

from contrail.logs.indexer import Index, Ints
from contrail.logs.levels import ANSI
from contrail.model.errors import InternalError
from contrail.model.logs import Level, LogChunk
from contrail.series.numpy_later import np

_MAGIC, _VERSION = b"CTLG", 1
_HEADER = struct.Struct("<4sHHIII")  # magic, version, reserved, lines, bytes of the index, bytes of the text
_RATIO_MAX_BYTES = 1 << 31

# Reads raw bytes of the same node by absolute offsets: (start, end) -> bytes.
ReadRaw: TypeAlias = Callable[[int, int], bytes]


def encode(raw: bytes, offset: int, index: Index) -> bytes:
    """The blob of a chunk whose first byte is at `offset`."""
    places = np.column_stack((index.starts, index.ends)).ravel()
    gaps = np.diff(places, prepend=offset)[::2]  # between the end of one text and the start of the next
    numbers = (gaps, index.ends - index.starts, np.diff(index.times, prepend=0))
    packed = b"".join(
        [*(n.astype("<i8").tobytes() for n in numbers), index.levels.tobytes(), index.flags.tobytes()]
    )
    compress = zstandard.ZstdCompressor(level=3, write_content_size=True).compress
    lines, text = compress(packed), compress(raw)
    return _HEADER.pack(_MAGIC, _VERSION, 0, len(index), len(lines), len(text)) + lines + text


def _decompress(data: bytes | memoryview) -> bytes:
    # Decompressors must not be shared between threads, so each call makes one.
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=_RATIO_MAX_BYTES)


def decode_index(blob: bytes, offset: int) -> Index:
    """The line index of a chunk's blob."""
    magic, version, _, count, size, _ = _HEADER.unpack_from(blob)
    if magic != _MAGIC or version != _VERSION:
        raise InternalError("A log chunk has an unknown format")
    packed = _decompress(memoryview(blob)[_HEADER.size : _HEADER.size + size])
    gaps, lengths, times = (np.frombuffer(packed, np.int64, count, 8 * count * column) for column in range(3))
    levels, flags = (np.frombuffer(packed, np.uint8, count, (24 + column) * count) for column in range(2))
    ends = np.cumsum(gaps + lengths) + offset
    return Index(ends - lengths, ends, np.cumsum(times), levels, flags)


def decode_raw(blob: bytes) -> bytes:
    """The raw bytes of a chunk's blob."""
    size = _HEADER.unpack_from(blob)[4]
    return _decompress(memoryview(blob)[_HEADER.size + size :])


class Lines:
    """Some lines of a node with their text. `base` is the absolute offset of the first raw byte."""

    def __init__(self, index: Index, first_line: int, base: int, raw: Callable[[], bytes], before: ReadRaw):
        self.index = index
        self.first_line = first_line
        self._base = base
        self._load = raw
        self._before = before

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def raw(self) -> bytes:
        """The raw bytes, decompressed when first asked for."""
        return self._load()

    def text(self, number: int, limit: int | None = None) -> bytes:
        """The visible text of a line, or its first `limit` bytes."""
        start, end = int(self.index.starts[number]), int(self.index.ends[number])
        if limit is not None:
            end = min(end, start + limit)
        if start >= self._base:
            return self.raw[start - self._base : end - self._base]
        early = self._before(start, min(end, self._base))
        return early if end <= self._base else early + self.raw[: end - self._base]

    @cached_property
    def searchable(self) -> tuple[bytes, Ints, int]:
        """All visible text without colours, one line after the other: bytes, start of each line, end."""
        index, raw = self.index, self.raw
        if not len(index):
            return b"", np.zeros(0, np.int64), 0
        plain = b"\x1b" not in raw and b"\r" not in raw and int(index.starts[0]) >= self._base
        if plain:
            return raw, index.starts - self._base, int(index.ends[-1]) - self._base
        text = b"\n".join([self.text(number) for number in range(len(index))])
        if b"\x1b" in text:
            text = ANSI.sub(b"", text)
        newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
        return text, np.concatenate(([0], newlines + 1)), len(text)


def clean(text: bytes) -> bytes:
    """A line's text without colours and other terminal sequences."""
    return ANSI.sub(b"", text) if b"\x1b" in text else text


@dataclass(frozen=True, slots=True)
class Content:
    """What a segment holds. The text is only decompressed when it is asked for."""

    index: Index
    raw: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a node's log with what is known about it without reading it.

    `offset`…`end` are raw bytes, `first_line`…`end_line` the lines that end in it; `counts` are lines per level.
    """

    offset: int
    end: int
    first_line: int
    end_line: int
    first_time_ns: int
    last_time_ns: int
    counts: tuple[int, int, int]
    sealed: bool
    content: Callable[[], Content]

    def count(self, level: Level) -> int:
        """Lines of one level."""
        return self.counts[level]

    def lines(self, before: ReadRaw) -> Lines:
        """The lines with their text; `before` reads the beginning of a line that began in an earlier segment."""
        content = self.content()
        return Lines(content.index, self.first_line, self.offset, content.raw, before)


def sealed(chunk: LogChunk, read_blob: Callable[[str], bytes]) -> Segment:
    """The segment of a chunk in the blob store."""

    def content() -> Content:
        blob = read_blob(chunk.blob)
        return Content(decode_index(blob, chunk.offset), lambda: decode_raw(blob))

    return Segment(
        offset=chunk.offset,
        end=chunk.end,
        first_line=chunk.first_line,
        end_line=chunk.end_line,
        first_time_ns=chunk.first_time_ns,
        last_time_ns=chunk.last_time_ns,
        counts=(chunk.infos, chunk.warnings, chunk.errors),
        sealed=True,
        content=content,
    )


def unsealed(offset: int, data: bytes, first_line: int, index: Index) -> Segment:
    """The segment of a tail in memory."""
    infos, warnings, errors = np.bincount(index.levels, minlength=len(Level)).tolist()
    return Segment(
        offset=offset,
        end=offset + len(data),
        first_line=first_line,
        end_line=first_line + len(index),
        first_time_ns=int(index.times[0]) if len(index) else 0,
        last_time_ns=int(index.times[-1]) if len(index) else 0,
        counts=(infos, warnings, errors),
        sealed=False,
        content=lambda: Content(index, lambda: data),
    )
