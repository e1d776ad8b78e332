"""Writing out all lines that match a filter, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator

from contrail.logs.query import Cursor, LogFilter
from contrail.logs.search import Scan
from contrail.logs.streams import View

_PART_BYTES = 256 * 1024


def lines(views: list[View], wanted: LogFilter, *, several: bool) -> Iterator[bytes]:
    """The matching lines' visible bytes, each with a newline; `several` puts `[node n] ` before each."""
    part, size = [], 0
    for text in _texts(views, wanted, several=several and wanted.node is None):
        part += [text, b"\n"]
        size += len(text) + 1
        if size >= _PART_BYTES:
            yield b"".join(part)
            part, size = [], 0
    if part:
        yield b"".join(part)


def _texts(views: list[View], wanted: LogFilter, *, several: bool) -> Iterator[bytes]:
    for step in Scan(views, Cursor({}), wanted, batch=1000):
        if step.lines is not None:
            yield b"[node %d] %b" % (step.node, step.text()) if several else step.text()
    for view in views:  # lines that have not ended yet
        line = view.open_line
        if line is not None and line.end > line.start:
            text = view.read(line.start, line.end)
            if wanted.matches(text, line.time_ns, line.level):
                yield b"[node %d] %b" % (view.node, text) if several else text
