"""Blocks: the points of one run in one commit, packed as columns.

    u8 version (1) | u8 kind | u16 0 | u32 count | u32 key ids | i64 steps | i64 timestamps | f64 values

All little-endian. Kind 0 has one key id for all points, kind 1 one per point. Encoding needs no numpy, so
that logging a single metric stays cheap; decoding loads it.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contrail.series.points import Points

VERSION = 1
ONE_KEY, KEY_PER_POINT = 0, 1
_HEADER = struct.Struct("<BBHI")
_KEY = struct.Struct("<I")
_SINGLE = struct.Struct("<BBHIIqqd")
_POINT_BYTES = 24


class UnreadableBlock(ValueError):
    """A block is damaged, or written by a newer version."""


def encode_one(key_id: int, step: int, timestamp_ms: int, value: float) -> bytes:
    """A block of a single point."""
    return _SINGLE.pack(VERSION, ONE_KEY, 0, 1, key_id, step, timestamp_ms, value)


def encode(key_ids: array[int], steps: array[int], timestamps_ms: array[int], values: array[float]) -> bytes:
    """A block of the columns: arrays of type `I`, `q`, `q`, `d`, equally long."""
    count = len(steps)
    one_key = count > 0 and key_ids.count(key_ids[0]) == count
    if one_key:
        head = _HEADER.pack(VERSION, ONE_KEY, 0, count) + _KEY.pack(key_ids[0])
    else:
        head = _HEADER.pack(VERSION, KEY_PER_POINT, 0, count) + _little(key_ids)
    return b"".join((head, _little(steps), _little(timestamps_ms), _little(values)))


def decode(blocks: Sequence[bytes]) -> tuple[NDArray[np.uint32], Points]:
    """All points of the blocks, one block after the other: key ids and columns. Raises UnreadableBlock."""
    import numpy as np

    from contrail.series.points import Points, concatenate

    singles = [block for block in blocks if len(block) == _SINGLE.size and block[0] == VERSION]
    keys: list[NDArray[np.uint32]] = []
    parts: list[Points] = []
    if len(singles) < len(blocks):
        singles = []
    if singles:
        columns = np.frombuffer(b"".join(singles), dtype=_single_type())
        if not bool(((columns["kind"] == ONE_KEY) & (columns["count"] == 1)).all()):
            raise UnreadableBlock("A block of metric points has a wrong header")
        keys.append(columns["key"])
        parts.append(Points(columns["step"], columns["timestamp"], columns["value"]))
    else:
        for block in blocks:
            key_ids, points = _decode_one(block)
            keys.append(key_ids)
            parts.append(points)
    if not keys:
        return np.empty(0, np.uint32), concatenate([])
    return np.concatenate(keys), concatenate(parts)


def _decode_one(block: bytes) -> tuple[NDArray[np.uint32], Points]:
    import numpy as np

    from contrail.series.points import Points

    if len(block) < _HEADER.size:
        raise UnreadableBlock("A block of metric points is cut off")
    version, kind, _, count = _HEADER.unpack_from(block)
    if version != VERSION or kind not in (ONE_KEY, KEY_PER_POINT):
        raise UnreadableBlock(
            f"A block of metric points has version {version}, kind {kind}, which is unknown here"
        )
    key_count = 1 if kind == ONE_KEY else count
    at = _HEADER.size + _KEY.size * key_count
    if len(block) != at + _POINT_BYTES * count:
        raise UnreadableBlock("A block of metric points has a wrong length")
    key_ids = np.frombuffer(block, "<u4", key_count, _HEADER.size)
    points = Points(
        np.frombuffer(block, "<i8", count, at),
        np.frombuffer(block, "<i8", count, at + 8 * count),
        np.frombuffer(block, "<f8", count, at + 16 * count),
    )
    return (np.repeat(key_ids, count) if kind == ONE_KEY else key_ids), points


def _single_type() -> np.dtype[np.void]:
    import numpy as np

    names = ("version", "kind", "zero", "count", "key", "step", "timestamp", "value")
    return np.dtype(list(zip(names, ("u1", "u1", "<u2", "<u4", "<u4", "<i8", "<i8", "<f8"), strict=True)))


def _little(column: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()
