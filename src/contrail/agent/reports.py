"""The few lines that the agent itself adds to the log: server away, caught up, something lost or refused."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from contrail.agent.link import Health, ServerAddress
from contrail.agent.output import Output
from contrail.wire.jobs import RelayRefusal

log = logging.getLogger(__name__)

AWAY_TOLD_S = 3.0  # a restart of the server is not worth a line
POLL_S = 0.25


class Reports:
    """Each thing is said once and then counted. Thread-safe.

    `backlog` gives the tracking writes and the bytes of output that the server does not have.
    """

    def __init__(
        self,
        output: Output,
        health: Health,
        address: ServerAddress,
        backlog: Callable[[], tuple[int, int]],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._output = output
        self._health = health
        self._address = address
        self._backlog = backlog
        self._clock = clock
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._away_since: float | None = None  # set while an absence is told and not over
        self._refused = 0
        self._lost = 0

    def start(self) -> None:
        """Watch the server from now on."""
        threading.Thread(target=self._run, name="reports", daemon=True).start()

    def refused(self, refusal: RelayRefusal, writes: int, path: str) -> None:
        """The server will never take these writes."""
        with self._lock:
            first = self._refused == 0
            self._refused += writes
        log.warning("refused: %d of %s: %s %s", writes, path, refusal.error_code, refusal.message)
        if first:
            what = path or "a write"
            self._output.say(f"the server refused {what}: {refusal.message} (further ones are only counted)")

    def lost(self, what: str) -> None:
        """Something could not be kept."""
        with self._lock:
            first = self._lost == 0
            self._lost += 1
        log.error("lost: %s", what)
        if first or "artifact" in what:
            self._output.say(f"not kept: {what}")

    def ending(self) -> None:
        """The command has ended: say how much there was of what was said only once."""
        self.look()
        with self._lock:
            refused, lost = self._refused, self._lost
        if refused > 1:
            self._output.say(f"the server refused {refused} tracking writes in all")
        if lost > 1:
            self._output.say(f"{lost} writes could not be kept in all")

    def _run(self) -> None:
        while True:
            time.sleep(POLL_S)
            try:
                self.look()
            except Exception:  # the thread's outermost edge
                log.exception("reports failed")
                return

    def look(self) -> None:
        """Say what has changed since the last look."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        if self._away_since is None:
            away_s = self._health.away_s()
            if away_s >= AWAY_TOLD_S:
                self._away_since = self._clock() - away_s
                self._output.say(
                    f"the server at {self._address.url} does not answer; metrics, artifacts and output "
                    "are kept on this node and sent when it is back"
                )
        elif self._health.up and self._backlog()[0] == 0:
            seconds = self._clock() - self._away_since
            self._away_since = None
            self._output.say(f"the server is back after {seconds:.0f} s; what was kept is sent")
