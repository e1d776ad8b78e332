"""What lines are, in the plainest Python: the measure for the real parser."""

from __future__ import annotations


def visible_lines(data: bytes, *, split_bytes: int, ended: bool) -> tuple[list[bytes], bytes | None]:
    """Finished lines and the open one (None if the last byte ended a line), one byte at a time."""
    lines: list[bytes] = []
    segment, shown, is_open = b"", b"", False
    for byte in data:
        one = bytes([byte])
        if one == b"\n":
            lines.append(segment or shown)
            segment, shown, is_open = b"", b"", False
        elif one == b"\r":
            is_open = True
            shown, segment = segment or shown, b""
        else:
            if len(segment) == split_bytes:
                lines.append(segment)
                segment, shown = b"", b""
            is_open = True
            segment += one
    if not is_open:
        return lines, None
    if ended:
        return [*lines, segment or shown], None
    return lines, segment or shown
