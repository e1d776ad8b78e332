"""Text that is a number: params and tags that compare and sort as numbers."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FIRST = frozenset("0123456789.+-")  # most texts are none, and the first character shows it
_LENGTH_MAX = 64  # longer digits are an identifier rather than a quantity


def parse(text: str) -> float | None:
    """The finite number that `text` spells in plain decimal or exponent notation, else None."""
    if text[:1] not in _FIRST or len(text) > _LENGTH_MAX or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None
