"""Headers for files that users stored: names of any script, types by extension, nothing a browser would run."""

from __future__ import annotations

import mimetypes
from email.utils import formatdate
from urllib.parse import quote

BINARY = "application/octet-stream"
_TEXT_ENDINGS = (
    ".log",
    ".yaml",
    ".yml",
    ".toml",
    ".ini",
    ".cfg",
    ".jsonl",
    ".md",
    ".tsv",
    ".txt",
    ".py",
    ".sh",
)


def attachment(name: str) -> str:
    """`Content-Disposition` that saves under `name`, whatever characters it has (RFC 5987)."""
    return _disposition("attachment", name)


def inline(name: str) -> str:
    """`Content-Disposition` that shows, and saves under `name`."""
    return _disposition("inline", name)


def _disposition(kind: str, name: str) -> str:
    plain = "".join(c if " " <= c <= "~" and c not in '"\\%;' else "_" for c in name)
    if plain == name:
        return f'{kind}; filename="{name}"'
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def media_type(name: str) -> str:
    """The type by the name's ending; text types say their charset."""
    if name.lower().endswith(_TEXT_ENDINGS):
        return "text/plain; charset=utf-8"
    kind, encoding = mimetypes.guess_type(name, strict=False)
    if kind is None or encoding is not None:
        return BINARY
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def http_date(milliseconds: int) -> str:
    """A time for `Last-Modified`."""
    return formatdate(milliseconds / 1000, usegmt=True)
