"""Chunks: many points of one series, compressed.

    u8 version (1) | u8 bytes per value (4 or 8) | u16 0 | u32 count | zstd frame

In the frame: steps, timestamps, values. An integer column is its first value, then the differences: one number
where they are all equal, else the low bytes that are needed. Values are 32-bit floats where nothing is lost by it.
Bytes of equal weight stand together (byte shuffle), because the high ones hardly change and then cost nothing.
All little-endian. NaN payloads are not kept.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import zstandard

from contrail.series.numpy_later import np
from contrail.series.points import Points

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1
POINTS_MAX = 2**28  # above any chunk that is ever written; a damaged header must not allocate gigabytes
_HEADER = struct.Struct("<BBHI")
_COLUMN = struct.Struct("<Bq")
_LEVEL = 3


class UnreadableChunk(ValueError):
    """A chunk is damaged, or written by a newer version."""


def encode(points: Points) -> bytes:
    """Pack points, in their order."""
    values, width = _narrowed(points.values)
    body = b"".join((_integers(points.steps), _integers(points.timestamps_ms), _shuffled(values)))
    head = _HEADER.pack(VERSION, width, 0, len(points))
    return head + zstandard.ZstdCompressor(level=_LEVEL).compress(body)


def decode(data: bytes) -> Points:
    """The points of a chunk. Raises UnreadableChunk."""
    if len(data) < _HEADER.size:
        raise UnreadableChunk("A chunk of metric points is cut off")
    version, width, _, count = _HEADER.unpack_from(data)
    if version != VERSION or width not in (4, 8) or count > POINTS_MAX:
        raise UnreadableChunk(f"A chunk of metric points has version {version}, which is unknown here")
    try:
        body = memoryview(zstandard.ZstdDecompressor().decompress(memoryview(data)[_HEADER.size :]))
        steps, at = _read_integers(body, 0, count)
        timestamps_ms, at = _read_integers(body, at, count)
        values = _unshuffled(body, at, count, width).view(f"<f{width}").astype(np.float64, copy=False)
    except (zstandard.ZstdError, struct.error, ValueError) as error:
        raise UnreadableChunk(f"A chunk of metric points is damaged: {error}") from error
    return Points(steps, timestamps_ms, values)


def _narrowed(values: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    nan = np.isnan(values)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = values.astype("<f4")
    if bool(((narrow == values) | nan).all()):
        return np.where(nan, np.float32(np.nan), narrow).astype("<f4"), 4
    return np.where(nan, np.nan, values).astype("<f8"), 8


def _integers(column: NDArray[np.int64]) -> bytes:
    """Differences wrap around like the processor's, so that every int64 survives."""
    if len(column) == 0:
        return _COLUMN.pack(0, 0)
    unsigned = column.astype("<i8").view("<u8")
    differences = unsigned[1:] - unsigned[:-1]
    head_value = int(column[0])
    if len(differences) == 0 or bool((differences == differences[0]).all()):
        difference = int(differences[:1].view("<i8")[0]) if len(differences) else 0
        return _COLUMN.pack(0, head_value) + struct.pack("<q", difference)
    width = _width(int(differences.max()))
    return _COLUMN.pack(width, head_value) + _shuffled(differences.astype(f"<u{width}"))


def _read_integers(body: memoryview, at: int, count: int) -> tuple[NDArray[np.int64], int]:
    width, first = _COLUMN.unpack_from(body, at)
    at += _COLUMN.size
    if count == 0:
        return np.empty(0, np.int64), at
    column = np.empty(count, "<u8")
    column[0] = np.int64(first).view(np.uint64)
    if width == 0:
        (difference,) = struct.unpack_from("<q", body, at)
        column[1:] = np.int64(difference).view(np.uint64)
        at += 8
    elif width in (1, 2, 4, 8):
        column[1:] = _unshuffled(body, at, count - 1, width).view(f"<u{width}")
        at += width * (count - 1)
    else:
        raise UnreadableChunk(f"A chunk of metric points has a column of {width} bytes")
    return np.cumsum(column, dtype=np.uint64).view(np.int64), at


def _width(largest: int) -> int:
    return next(width for width in (1, 2, 4, 8) if largest < 1 << (8 * width))


def _shuffled(column: NDArray[Any]) -> bytes:
    return column.view(np.uint8).reshape(len(column), column.itemsize).T.tobytes()


def _unshuffled(body: memoryview, at: int, count: int, width: int) -> NDArray[np.uint8]:
    planes = np.frombuffer(body, np.uint8, count * width, at).reshape(width, count)
    return np.ascontiguousarray(planes.T).reshape(-1)
