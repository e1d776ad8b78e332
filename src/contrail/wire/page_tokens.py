"""Page tokens: opaque to clients, and worthless to anyone who makes one up.

A token holds where the next page starts (for searches the sort keys of the last row, so pages stay cheap
however deep) and the name of the listing it belongs to.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import TypeAlias

from contrail.model.errors import InvalidParameterValue

Position: TypeAlias = str | int | float | bool | None


def encode(listing: str, position: Sequence[Position]) -> str:
    """A token that continues `listing` after `position`. NaN and ±Infinity survive."""
    text = json.dumps([listing, *position], separators=(",", ":"), ensure_ascii=True)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(listing: str, token: str) -> list[Position]:
    """The position in `token`. Raises `InvalidParameterValue` unless `encode` made it for this `listing`.

    The caller checks that the position has the length and the types it needs; `invalid` is the error for that.
    """
    try:
        padded = token + "=" * (-len(token) % 4)
        found = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise invalid() from None
    if not isinstance(found, list) or not found or found[0] != listing:
        raise invalid()
    position = found[1:]
    if not all(value is None or isinstance(value, str | int | float) for value in position):
        raise invalid()
    return position


def invalid() -> InvalidParameterValue:
    """The error for a token that this listing did not give out."""
    return InvalidParameterValue(
        "Invalid page token: it was not given out by this request; start again without page_token"
    )
