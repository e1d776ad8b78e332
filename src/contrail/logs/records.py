"""The body of a log append: records of `<i64 time_ns><u32 length><bytes>`, little-endian."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from contrail.model.errors import InvalidParameterValue
from contrail.model.logs import LogPiece

_RECORD = struct.Struct("<qI")


def decode(body: bytes) -> list[LogPiece]:
    """The pieces in a body; raises `InvalidParameterValue` when it is cut off."""
    pieces, position = [], 0
    while position < len(body):
        if position + _RECORD.size > len(body):
            raise InvalidParameterValue(f"The log record at byte {position} of the body is cut off")
        time_ns, length = _RECORD.unpack_from(body, position)
        position += _RECORD.size
        if position + length > len(body):
            raise InvalidParameterValue(
                f"The log record at byte {position - _RECORD.size} of the body is cut off"
            )
        pieces.append(LogPiece(time_ns, body[position : position + length]))
        position += length
    return pieces


def encode(pieces: Iterable[LogPiece]) -> bytes:
    """The body that holds the pieces."""
    parts = []
    for piece in pieces:
        parts += [_RECORD.pack(piece.time_ns, len(piece.data)), piece.data]
    return b"".join(parts)
