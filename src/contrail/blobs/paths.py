"""Names from outside: what may be a path inside an area, and what is refused."""

from __future__ import annotations

import re
from urllib.parse import unquote

from contrail.model.errors import InvalidParameterValue

PATH_BYTES_MAX = 1024
SEGMENT_BYTES_MAX = 255
RESERVED = ".contrail"  # first part of names that only the server itself uses

_DRIVE = re.compile(r"[A-Za-z]:(?:/|$)")
_DECODINGS = 10


def clean(path: str) -> str:
    """A relative path without doubt: no `..`, nothing absolute, no backslash, however often it was encoded.

    The name itself is kept as it is. Raises `InvalidParameterValue`.
    """
    seen, decoded = "", path
    for _ in range(_DECODINGS):
        _refuse_escapes(decoded)
        seen, decoded = decoded, unquote(decoded)
        if seen == decoded:
            break
    else:
        raise InvalidParameterValue("Invalid path: it is encoded too many times")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    _refuse_long(parts)
    if parts and parts[0].startswith(RESERVED):
        raise InvalidParameterValue(f"Invalid path: names beginning with '{RESERVED}' are reserved")
    return "/".join(parts)


def _refuse_escapes(path: str) -> None:
    if "\x00" in path or any(ord(character) < 32 or ord(character) == 127 for character in path):
        raise InvalidParameterValue("Invalid path: it holds a control character")
    if "\\" in path:
        raise InvalidParameterValue("Invalid path: it holds a backslash; parts are separated by '/'")
    if "#" in path:
        raise InvalidParameterValue("Invalid path: it holds a '#'")
    if path.startswith("/") or _DRIVE.match(path) or path.lower().startswith("file:"):
        raise InvalidParameterValue("Invalid path: it must be relative")
    if ".." in path.split("/"):
        raise InvalidParameterValue("Invalid path: '..' is not allowed")


def _refuse_long(parts: list[str]) -> None:
    try:
        lengths = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise InvalidParameterValue("Invalid path: it is not valid UTF-8") from None
    if sum(lengths) + len(lengths) > PATH_BYTES_MAX or any(length > SEGMENT_BYTES_MAX for length in lengths):
        raise InvalidParameterValue(
            f"Invalid path: it is too long ({SEGMENT_BYTES_MAX} bytes per part, {PATH_BYTES_MAX} in all)"
        )
