"""The use cases on logs: append, seal, page, stats, download, retention."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from contrail.blobs.store import BlobStore
from contrail.logs import download, records, retention, stats
from contrail.logs.query import Cursor, LogFilter
from contrail.logs.search import Found, Scan, Step
from contrail.logs.segments import encode
from contrail.logs.streams import Streams, View, next_chunk
from contrail.logs.wakeups import Wakeups
from contrail.model.errors import ContrailError, InvalidParameterValue
from contrail.model.logs import Level, LogSource
from contrail.model.settings import Settings
from contrail.store import logs as stored
from contrail.store.database import Database
from contrail.wire.logs import LogLine, LogPage, LogStats

log = logging.getLogger(__name__)

LINES_MAX = 10_000  # lines of one page
_SEALING_LOCKS = 64
PAGE_BYTES = 8 * 1024 * 1024  # text of one page, about


class Logs:
    """All logs of one server. `clock` gives Unix seconds."""

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        settings: Settings,
        clock: Callable[[], float] = time.time,
    ):
        self._database = database
        self._blobs = blobs.internal
        self._settings = settings
        self._clock = clock
        self._streams = Streams(database, self._blobs.get)
        self._wakeups = Wakeups()
        self.closing = False  # followers end when they see it
        self._sealing = [threading.Lock() for _ in range(_SEALING_LOCKS)]  # one of them per (attempt, node)

    # ------------------------------------------------------------ writing

    def append(self, attempt_id: int, node: int, offset: int, body: bytes) -> int:
        """Store the records of `body`, whose first byte is at `offset`, and return where the log now ends.

        Durable when it returns. Idempotent: bytes that are known are skipped. Raises `ResourceConflict` when bytes
        before `offset` are missing, `InvalidParameterValue` for a body that is cut off.
        """
        if offset < 0:
            raise InvalidParameterValue("offset must not be negative")
        pieces = records.decode(body)
        end = self._database.writer.run(lambda c: stored.append(c, attempt_id, node, offset, pieces))
        self._wakeups.notify(attempt_id)
        try:
            self._seal_node(attempt_id, node, final=False)
        except (OSError, ContrailError):
            log.exception("the log of attempt %d, node %d stays unsealed for now", attempt_id, node)
        return end

    def seal(self, attempt_id: int) -> None:
        """The attempt is over: seal what is left and wake all followers. Idempotent."""
        with self._database.read() as connection:
            source = stored.source(connection, attempt_id)
        self._seal_all(source)
        self._wakeups.notify(attempt_id)

    def _seal_all(self, source: LogSource) -> None:
        if source.removed_ms is None:
            for stream in source.streams:
                self._seal_node(source.attempt_id, stream.node, final=True)

    def _seal_node(self, attempt_id: int, node: int, *, final: bool) -> None:
        """Move full chunks of the tail into blobs. A crash in between leaves a blob that is written again."""
        size = self._settings.log_chunk_bytes
        with self._sealing[hash((attempt_id, node)) % _SEALING_LOCKS]:
            while True:
                with self._database.read() as connection:
                    if stored.unsealed_bytes(connection, attempt_id, node) < (1 if final else size):
                        return
                    last = stored.last_chunk(connection, attempt_id, node)
                    pieces = stored.tail(connection, attempt_id, node, last.end if last else 0)
                cut = next_chunk(node, last, pieces or [], size, final=final)
                if cut is None:
                    return
                chunk = replace(cut.chunk, blob=f"logs/{attempt_id}/{node}/{cut.chunk.offset}-{len(cut.raw)}")
                self._blobs.put(chunk.blob, encode(cut.raw, chunk.offset, cut.index))
                self._database.writer.run(partial(stored.seal, attempt_id=attempt_id, chunk=chunk))

    # ------------------------------------------------------------ reading

    def of_attempt(self, attempt_id: int) -> LogSource:
        """The log of an attempt; raises `ResourceDoesNotExist`."""
        with self._database.read() as connection:
            return stored.source(connection, attempt_id)

    def of_job_run(self, job_run_id: int, number: int | None = None) -> LogSource:
        """The log of one attempt of a job run, by default the newest; raises `ResourceDoesNotExist`."""
        with self._database.read() as connection:
            return stored.source_of_job_run(connection, job_run_id, number)

    def of_run(self, run_id: str) -> LogSource:
        """The log of the attempt behind a tracking run; raises `ResourceDoesNotExist`."""
        with self._database.read() as connection:
            return stored.source_of_run(connection, run_id)

    def watch(self, attempt_id: int, callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `callback` from some thread whenever the attempt's log grows or ends, while the context is open."""
        return self._wakeups.watch(attempt_id, callback)

    def close(self) -> None:
        """The server is going down: let all followers end."""
        self.closing = True
        self._wakeups.notify_all()

    def page(
        self,
        source: LogSource | int,
        wanted: LogFilter | None = None,
        *,
        after: Cursor | None = None,
        before: Cursor | None = None,
        tail: int | None = None,
        at_ns: int | None = None,
        around: tuple[int, int] | None = None,
        limit: int = 1000,
    ) -> LogPage:
        """A page of matching lines in order of time.

        `after` / `before` go on from a cursor; `tail` gives the last lines; `at_ns` begins at that time; `around`
        has that (node, line) in its middle; without any of them the page begins at the start. A line that has not
        ended is shown with `open` and comes again after `next`, under the same number.
        """
        if isinstance(source, int):
            source = self.of_attempt(source)
        wanted = wanted or LogFilter()
        limit = max(1, min(limit if tail is None else tail, LINES_MAX))
        views = self._views(source, wanted.node)
        if around is not None:
            page = self._page_around(source, views, wanted, around, limit)
        elif before is not None or tail is not None:
            page = self._page_back(source, views, wanted, before, limit)
        else:
            start = after or (_at_time(views, at_ns) if at_ns is not None else Cursor({}))
            page = self._page_forward(source, views, wanted, start, limit)
        return _explained(page, source, views, wanted, self._settings.log_retention_days)

    def _page_forward(
        self, source: LogSource, views: list[View], wanted: LogFilter, start: Cursor, limit: int
    ) -> LogPage:
        found = Scan(views, start, wanted, batch=limit).take(limit, PAGE_BYTES, self._deadline())
        lines = [self._line(step) for step in found.steps]
        if found.complete and len(lines) < limit:
            lines += self._open_lines(views, wanted)
            lines.sort(key=lambda line: (line.time_ns, line.node, line.seq))
        has_before = any(start.of(view.node) for view in views)
        return _page(source, lines, found, prev=str(start) if has_before else None, next_=str(found.cursor))

    def _page_back(
        self, source: LogSource, views: list[View], wanted: LogFilter, before: Cursor | None, limit: int
    ) -> LogPage:
        end = Cursor({view.node: view.end_line for view in views})
        opened = self._open_lines(views, wanted)[:limit] if before is None else []
        room = limit - len(opened)
        if room:
            found = Scan(views, before or end, wanted, back=True).take(room, PAGE_BYTES, self._deadline())
        else:
            found = Found([], end, False)
        lines = [self._line(step) for step in reversed(found.steps)] + opened
        lines.sort(key=lambda line: (line.time_ns, line.node, line.seq))
        page = _page(
            source,
            lines,
            found,
            prev=None if found.complete else str(found.cursor),
            next_=str(before or end),
        )
        page.eof = all((before or end).of(view.node) >= view.end_line for view in views)
        return page

    def _page_around(
        self, source: LogSource, views: list[View], wanted: LogFilter, line: tuple[int, int], limit: int
    ) -> LogPage:
        node, number = line
        view = self._views(source, node)
        middle = _at_line(views, view[0], number) if view else Cursor({})
        back = self._page_back(source, views, wanted, middle, max(limit // 2, 1))
        page = self._page_forward(source, views, wanted, middle, max(limit - len(back.lines), 1))
        page.lines, page.prev = back.lines + page.lines, back.prev
        return page

    def check_node(self, source: LogSource, node: int | None) -> None:
        """Raise `InvalidParameterValue` when the attempt has no such node."""
        if node is not None:
            _check_node(source, node)

    def _views(self, source: LogSource, node: int | None) -> list[View]:
        if node is not None:
            _check_node(source, node)
        if source.removed_ms is not None:
            return []
        streams = [stream for stream in source.streams if node is None or stream.node == node]
        views = [self._streams.view(source, stream) for stream in streams]
        if source.ended and any(view.segments and not view.segments[-1].sealed for view in views):
            self._seal_all(source)  # the server was stopped between the end and the sealing
            views = [self._streams.view(source, stream) for stream in streams]
        return views

    def _deadline(self) -> Callable[[], bool]:
        end = time.monotonic() + self._settings.log_search_max_s
        return lambda: time.monotonic() > end

    def _line(self, step: Step) -> LogLine:
        assert step.lines is not None  # noqa: S101 - a step with a line
        index = step.lines.index
        size = int(index.ends[step.number] - index.starts[step.number])
        most = self._settings.log_line_max_bytes
        return _line(step.node, step.position, step.time_ns, step.level, step.text, size, most)

    def _open_lines(self, views: list[View], wanted: LogFilter) -> list[LogLine]:
        lines = []
        for view in views:
            line = view.open_line
            if line is None or not line.end > line.start:
                continue
            text = view.read(line.start, line.end)
            if wanted.matches(text, line.time_ns, line.level):
                shown = _line(
                    view.node,
                    view.end_line,
                    line.time_ns,
                    line.level,
                    lambda limit, text=text: text[:limit],  # type: ignore[misc]
                    len(text),
                    self._settings.log_line_max_bytes,
                )
                shown.open = True
                lines.append(shown)
        return lines

    def stats(self, source: LogSource, wanted: LogFilter | None = None, buckets: int = 200) -> LogStats:
        """Totals per node and level of the lines that match, and their spread over time."""
        wanted = wanted or LogFilter()
        return stats.collect(source, self._views(source, wanted.node), wanted, buckets, self._deadline())

    def download(self, source: LogSource, wanted: LogFilter | None = None) -> Iterator[bytes]:
        """All matching lines, merged by time, in parts; with several nodes each line says its node."""
        wanted = wanted or LogFilter()
        return download.lines(self._views(source, wanted.node), wanted, several=source.num_nodes > 1)

    def download_raw(self, source: LogSource, node: int) -> Iterator[bytes]:
        """One node's bytes exactly as they were written, in parts."""
        return (part for view in self._views(source, node) for part in view.parts())

    # ------------------------------------------------------------ retention

    def remove_expired(self, *, now_ms: int | None = None) -> int:
        """Remove the logs of job runs that ended too long ago; returns how many job runs lost theirs."""
        now_ms = int(self._clock() * 1000) if now_ms is None else now_ms
        return retention.remove_expired(
            self._database, self._blobs, self._settings.log_retention_days, now_ms, self._streams.forget
        )


def _check_node(source: LogSource, node: int) -> None:
    if not 0 <= node < source.num_nodes:
        raise InvalidParameterValue(
            f"There is no node {node}: attempt {source.number + 1} has nodes 0 to {source.num_nodes - 1}"
        )


def _line(
    node: int, seq: int, time_ns: int, level: Level, text: Callable[[int], bytes], size: int, limit: int
) -> LogLine:
    shown = text(limit)
    if size > limit:
        shown = _without_broken_end(shown)
    return LogLine(
        node=node,
        seq=seq,
        time_ns=time_ns,
        level=level.word,
        text=shown.decode("utf-8", "replace"),
        truncated=size if size > limit else None,
    )


def _without_broken_end(text: bytes) -> bytes:
    """Cut text without the beginning of a character that lies across the cut."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = (
            1
            if byte < 0x80
            else 2
            if byte >> 5 == 6
            else 3
            if byte >> 4 == 14
            else 4
            if byte >> 3 == 30
            else 1
        )
        return text[:-back] if length > back else text
    return text


def _page(source: LogSource, lines: list[LogLine], found: Found, *, prev: str | None, next_: str) -> LogPage:
    return LogPage(
        lines=lines,
        next=next_,
        prev=prev,
        eof=found.complete,
        ended=source.ended,
        attempt=source.number,
        num_nodes=source.num_nodes,
        scanned_to_ns=found.scanned_to_ns,
    )


def _at_time(views: list[View], time_ns: int) -> Cursor:
    """The place before the first lines at or after a time."""
    return Cursor({view.node: view.line_at(time_ns) for view in views})


def _at_line(views: list[View], home: View, number: int) -> Cursor:
    """The place before one line, in the order of time, node and line."""
    number = min(number, home.end_line)
    time_ns = home.time_of(number)
    if time_ns is None:  # the line that has not ended yet, or beyond
        return Cursor({view.node: view.end_line for view in views})
    before = {view.node: view.line_at(time_ns + (view.node < home.node)) for view in views}
    return Cursor({**before, home.node: number} if home.node in before else before)


def _explained(page: LogPage, source: LogSource, views: list[View], wanted: LogFilter, days: int) -> LogPage:
    """Say why a page is empty, where the whole log would be."""
    if source.removed_ms is not None:
        day = time.strftime("%Y-%m-%d", time.gmtime(source.removed_ms / 1000))
        page.empty_reason, page.message = (
            "expired",
            f"Logs are kept for {days} days; these were removed on {day}.",
        )
    elif page.lines:
        return page
    elif not any(view.end for view in views):
        page.empty_reason = "no_output" if source.started or source.ended else "not_started"
        page.message = (
            "There is no output."
            if source.ended
            else "There is no output yet."
            if source.started
            else "The attempt has not started yet."
        )
    elif wanted.narrows and page.eof and page.prev is None:
        page.empty_reason, page.message = "no_match", "No line matches the filter."
    return page
