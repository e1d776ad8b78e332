"""Logs over HTTP: pages, following, totals, download. The same for a job run and for the run of an attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from contrail.logs import Cursor, LogFilter
from contrail.model.errors import InvalidParameterValue
from contrail.model.logs import ALL_LEVELS, Level, LogSource
from contrail.server.errors import JSON
from contrail.server.routes.headers import attachment

if TYPE_CHECKING:
    from contrail.server.services import Services

API = "/api/contrail/v1"
HEARTBEAT_S = 15.0  # silence after which a comment keeps proxies from closing the stream
PAUSE_S = 0.2  # between two events of a stream, so that a chatty log does not cost a page per line
RECHECK_S = 2.0  # how often a stream looks without a wake-up: other server processes cannot wake it
FOLLOW_LINES = 1000

_NS_PER_MS = 1_000_000
_DIGITS_MAX = 18
_TIME_MS_MAX = 2**62 // _NS_PER_MS
_KNOWN = frozenset(
    {
        "attempt",
        "node",
        "q",
        "case",
        "regex",
        "level",
        "levels",
        "from_ms",
        "to_ms",
        "after",
        "before",
        "around",
    }
    | {"at_ms", "tail", "limit", "raw", "buckets"}
)


def routes(services: Services) -> list[Route]:
    """The log routes below a job run and below a tracking run."""
    handlers = _Handlers(services)
    found = []
    for base in (f"{API}/job-runs/{{job_run_id}}/logs", f"{API}/runs/{{run_id}}/logs"):
        found += [
            Route(base, handlers.page),
            Route(f"{base}/follow", handlers.follow),
            Route(f"{base}/stats", handlers.stats),
            Route(f"{base}/download", handlers.download),
        ]
    return found


class _Handlers:
    def __init__(self, services: Services):
        self._logs = services.logs

    async def page(self, request: Request) -> Response:
        asked = _Asked(request)

        def read() -> bytes:
            page = self._logs.page(
                self._source(request, asked),
                asked.filter,
                after=asked.after,
                before=asked.before,
                tail=asked.tail,
                at_ns=asked.at_ns,
                around=asked.around,
                limit=asked.limit,
            )
            return msgspec.json.encode(page)

        return Response(await run_in_threadpool(read), media_type=JSON)

    async def stats(self, request: Request) -> Response:
        asked = _Asked(request)

        def read() -> bytes:
            source = self._source(request, asked)
            return msgspec.json.encode(self._logs.stats(source, asked.filter, asked.buckets))

        return Response(await run_in_threadpool(read), media_type=JSON)

    async def download(self, request: Request) -> Response:
        asked = _Asked(request)
        source = await run_in_threadpool(self._source, request, asked)
        wanted = asked.filter
        name = f"job-{source.job_run_id}-attempt-{source.number + 1}"
        if wanted.node is not None:
            name += f"-node-{wanted.node}"
        if asked.raw:
            if wanted.node is None and source.num_nodes > 1:
                raise InvalidParameterValue("`raw` gives one node's bytes: say which by `node`")
            parts = await run_in_threadpool(self._logs.download_raw, source, wanted.node or 0)
        else:
            parts = await run_in_threadpool(self._logs.download, source, wanted)
        headers = {"content-disposition": attachment(f"{name}.log"), "x-content-type-options": "nosniff"}
        return StreamingResponse(parts, media_type="text/plain; charset=utf-8", headers=headers)

    async def follow(self, request: Request) -> Response:
        asked = _Asked(request)
        wanted = asked.filter
        resumed = request.headers.get("last-event-id")
        start = Cursor.parse(resumed) if resumed else asked.after
        source = await run_in_threadpool(self._source, request, asked)
        first = asked.tail if start is None else None
        events = self._events(source, wanted, start, first)
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    async def _events(
        self, source: LogSource, wanted: LogFilter, start: Cursor | None, tail: int | None
    ) -> AsyncIterator[bytes]:
        """Pages as they come. A line that has not ended yet comes again whenever it has changed."""
        woken, clock = asyncio.Event(), asyncio.get_running_loop().time
        sent_open: list[tuple[int, int, str]] = []
        cursor, spoke_s = start, clock()
        yield b"retry: 1000\n\n"
        with self._logs.watch(source.attempt_id, _waker(woken)):
            while True:
                woken.clear()
                page = await run_in_threadpool(
                    self._logs.page, source.attempt_id, wanted, after=cursor, tail=tail, limit=FOLLOW_LINES
                )
                opened = [(line.node, line.seq, line.text) for line in page.lines if line.open]
                if len(opened) < len(page.lines) or opened != sent_open or cursor is None:
                    yield _event("lines", msgspec.json.encode(page), page.next)
                    spoke_s = clock()
                sent_open, tail = opened, None
                cursor = Cursor.parse(page.next) if page.next else cursor
                if self._logs.closing:
                    return  # without `end`: the client comes back and goes on
                if page.eof and page.ended:
                    yield _event("end", b"{}", page.next)
                    return
                if page.eof:
                    if clock() - spoke_s >= HEARTBEAT_S:
                        yield b": still here\n\n"
                        spoke_s = clock()
                    await _until(woken, RECHECK_S)
                    await asyncio.sleep(PAUSE_S)

    def _source(self, request: Request, asked: _Asked) -> LogSource:
        """The log that the path means, with the asked nodes checked."""
        source = self._find(request, asked)
        self._logs.check_node(source, asked.filter.node)
        self._logs.check_node(source, asked.around[0] if asked.around else None)
        return source

    def _find(self, request: Request, asked: _Asked) -> LogSource:
        if "run_id" in request.path_params:
            return self._logs.of_run(request.path_params["run_id"])
        job_run_id = request.path_params["job_run_id"]
        if not _is_whole(job_run_id):
            raise InvalidParameterValue(f"'{job_run_id[:100]}' is not the id of a job run")
        return self._logs.of_job_run(int(job_run_id), asked.attempt)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX


def _waker(event: asyncio.Event) -> Callable[[], None]:
    """Sets the event of this loop from any thread."""
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed: the server is going down
            loop.call_soon_threadsafe(event.set)

    return wake


async def _until(event: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return


def _event(kind: str, data: bytes, cursor: str | None) -> bytes:
    head = f"event: {kind}\n" + (f"id: {cursor}\n" if cursor else "")
    return head.encode() + b"data: " + data + b"\n\n"


class _Asked:
    """The query string of a log request; raises `InvalidParameterValue` naming the parameter."""

    def __init__(self, request: Request):
        self._query = request.query_params
        unknown = set(self._query) - _KNOWN
        if unknown:
            raise InvalidParameterValue(f"There is no parameter '{sorted(unknown)[0][:100]}' here")
        self.attempt = self._whole("attempt")
        self.after, self.before = self._cursor("after"), self._cursor("before")
        self.around, self.at_ns = self._line("around"), self._time_ns("at_ms")
        self.tail = self._whole("tail")
        self.limit: int = self._whole("limit", 1000) or 1
        self.buckets: int = self._whole("buckets", 200) or 1
        self.raw = self._flag("raw")
        self.filter = self._filter()

    def _whole(self, name: str, default: int | None = None) -> int | None:
        """A whole number that is not negative."""
        text = self._query.get(name, "")
        if not text:
            return default
        if not _is_whole(text):
            raise InvalidParameterValue(f"{name}: '{text[:100]}' is not a whole number")
        return int(text)

    def _flag(self, name: str) -> bool:
        """`1`/`true` or `0`/`false`."""
        text = self._query.get(name, "").lower()
        if text not in {"", "0", "1", "true", "false"}:
            raise InvalidParameterValue(f"{name}: '{text[:100]}' is neither 1 nor 0")
        return text in {"1", "true"}

    def _cursor(self, name: str) -> Cursor | None:
        """A cursor that an earlier page gave."""
        text = self._query.get(name, "")
        return Cursor.parse(text) if text else None

    def _line(self, name: str) -> tuple[int, int] | None:
        """`<node>:<line>`."""
        text = self._query.get(name, "")
        if not text:
            return None
        node, _, line = text.partition(":")
        if not _is_whole(node) or not _is_whole(line):
            raise InvalidParameterValue(f"{name}: '{text[:100]}' is not <node>:<line>")
        return int(node), int(line)

    def _time_ns(self, name: str, *, end: bool = False) -> int | None:
        """A time in Unix milliseconds; `end` means the end of that millisecond."""
        value = self._whole(name)
        if value is None:
            return None
        if value > _TIME_MS_MAX:
            raise InvalidParameterValue(f"{name}: {value} is not a time in Unix milliseconds")
        return value * _NS_PER_MS + (_NS_PER_MS - 1 if end else 0)

    def _filter(self) -> LogFilter:
        """The filter that all log routes share."""
        return LogFilter(
            node=self._whole("node"),
            text=self._query.get("q", ""),
            regex=self._flag("regex"),
            case=self._flag("case"),
            levels=self._levels(),
            from_ns=self._time_ns("from_ms"),
            to_ns=self._time_ns("to_ms", end=True),
        )

    def _levels(self) -> frozenset[Level]:
        at_least = self._query.get("level", "")
        words = [word for text in self._query.getlist("levels") for word in text.split(",") if word]
        if words:
            return frozenset(_level("levels", word) for word in words)
        if at_least:
            lowest = _level("level", at_least)
            return frozenset(level for level in Level if level >= lowest)
        return ALL_LEVELS


def _level(name: str, word: str) -> Level:
    try:
        return Level[word.upper()]
    except KeyError:
        raise InvalidParameterValue(f"{name}: '{word[:100]}' is not info, warning or error") from None
