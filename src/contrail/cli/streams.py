"""Log lines of one attempt: pages of what is stored, and a reader that follows what comes."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from contrail.client.http import API, Client, Query, ServerUnreachable
from contrail.model.errors import ContrailError, InternalError

log = logging.getLogger(__name__)

PAGE_LINES = 10_000
AWAY_MAX_S = 300.0  # a server that stays away longer than this ends the command
_PAUSE_FIRST_S, _PAUSE_MAX_S = 0.2, 3.0


def logs_path(job_run_id: int) -> str:
    """Where the logs of a job run are."""
    return f"{API}/job-runs/{job_run_id}/logs"


def stored_pages(
    client: Client, job_run_id: int, query: Query, tail: int | None = None
) -> Iterator[dict[str, Any]]:
    """Pages (`LogPage`) of what is stored right now, in order of time; with `tail` the last lines only."""
    path = logs_path(job_run_id)
    if tail is not None:
        yield from _last_pages(client, path, query, tail)
        return
    page = client.get(path, {"limit": PAGE_LINES, **query})
    yield page
    while not page["eof"] and page["next"]:
        page = client.get(path, {"limit": PAGE_LINES, **query, "after": page["next"]})
        yield page


def _last_pages(client: Client, path: str, query: Query, tail: int) -> list[dict[str, Any]]:
    """The pages that hold the last `tail` lines. A page may be shorter than asked for: it has a limit in bytes."""
    pages = [client.get(path, {**query, "tail": min(tail, PAGE_LINES)})]
    missing = tail - len(pages[0]["lines"])
    while missing > 0 and pages[-1]["prev"] and pages[-1]["lines"]:
        pages.append(
            client.get(path, {**query, "limit": min(missing, PAGE_LINES), "before": pages[-1]["prev"]})
        )
        missing -= len(pages[-1]["lines"])
    # only the newest page says where to go on
    return [*reversed(pages[1:]), pages[0]]


@dataclass
class LineFilter:
    """Lets each line through once, when it is whole.

    A last line without a line end may still change, so it is held back until the attempt has ended.
    """

    _next: dict[int, int] = field(default_factory=dict)
    _open: dict[int, dict[str, Any]] = field(default_factory=dict)

    def whole(self, page: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The lines of a page that were not given before and will not change."""
        for line in page["lines"]:
            node, number = line["node"], line["seq"]
            if number < self._next.get(node, 0):
                continue
            if line.get("open"):
                self._open[node] = line
                continue
            self._open.pop(node, None)
            self._next[node] = number + 1
            yield line

    def rest(self) -> Iterator[dict[str, Any]]:
        """The unfinished last lines, when nothing more comes."""
        for node in sorted(self._open):
            yield self._open[node]
        self._open.clear()


class LogReader(threading.Thread):
    """Follows the log of one attempt in a thread; survives a server that goes away for a while.

    `items` gets pages, then None at the end, or the error that ended it.
    """

    def __init__(
        self,
        client: Client,
        job_run_id: int,
        query: Query,
        *,
        after: str | None = None,
        away: Callable[[], None] = lambda: None,
    ):
        super().__init__(name=f"log reader {job_run_id}", daemon=True)
        self.items: queue.SimpleQueue[dict[str, Any] | ContrailError | None] = queue.SimpleQueue()
        self._client, self._query, self._away = client, query, away
        self._path = f"{logs_path(job_run_id)}/follow"
        self._cursor = after
        self._answered_s = time.monotonic()
        self._stopped = False

    def stop(self) -> None:
        """Nobody listens any more: whatever goes wrong from now on is of no interest."""
        self._stopped = True

    def run(self) -> None:
        """Read until the attempt has ended, reconnecting from the last line that came."""
        try:
            self._follow()
        except Exception as error:  # the thread's outermost edge: the client may have been closed under it
            if not self._stopped:
                log.exception("reading the log failed")
                self.items.put(InternalError(f"reading the log failed: {error}"))

    def _follow(self) -> None:
        pause_s = _PAUSE_FIRST_S
        while not self._stopped:
            answered_before = self._answered_s
            try:
                if self._read():
                    self.items.put(None)
                    return
            except ServerUnreachable as error:
                if time.monotonic() - self._answered_s > AWAY_MAX_S:
                    self.items.put(error)
                    return
                self._away()
            except ContrailError as error:
                self.items.put(error)
                return
            pause_s = _PAUSE_FIRST_S if self._answered_s > answered_before else min(pause_s * 2, _PAUSE_MAX_S)
            time.sleep(pause_s)

    def _read(self) -> bool:
        """Read one connection to its end; True when the attempt has ended."""
        for event in self._client.events(self._path, self._query, self._cursor):
            self._answered_s = time.monotonic()
            self._cursor = event.id or self._cursor
            if event.name == "lines":
                self.items.put(json.loads(event.data))
            elif event.name == "end":
                return True
        return False
