"""Follows a job run to its end: log lines of every attempt, what it waits for, retries, the outcome."""

from __future__ import annotations

import queue
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from contrail.cli.get import status_line
from contrail.cli.output import Output
from contrail.cli.session import job_run, job_url, run_url
from contrail.cli.streams import AWAY_MAX_S, LineFilter, LogReader
from contrail.client.http import Client, ServerUnreachable
from contrail.model.errors import ContrailError

POLL_S = 1.0
LINE_WAIT_S = 0.2
# An attempt that is over but whose stream neither says so nor brings lines is left after this long.
STREAM_GRACE_S = 60.0
TERMINAL = frozenset({"TERMINATED", "INTERNAL_ERROR", "SKIPPED"})
RULE = "─" * 60

# What usually kills a training; such lines also come as ALERT events.
_ALERT = re.compile(
    r"CUDA out of memory|OutOfMemoryError|oom[-_ ]?kill|Out of memory: Kill|^Killed$"
    r"|\bSIG(KILL|TERM|SEGV|ABRT)\b|[Ss]ignal (9|15|11)\b|Segmentation fault"
    r"|NCCL (WARN|ERROR)|ncclInternalError|ncclSystemError|Watchdog caught collective|NCCL.*(timeout|timed out)"
    r"|CUDA error|illegal memory access|cudaError"
    r"|torch\.distributed\.(DistBackendError|elastic)|TCPStore.*(timeout|timed out)"
    r"|NVRM: Xid.*: (48|63|64|79|94|95)\b|command not found"
)


@dataclass(frozen=True, slots=True)
class What:
    """Which lines to show. `node` None is all nodes. `tail` and `from_ms` limit what is printed at the start."""

    node: int | None = None
    attempt: int | None = None
    after: str | None = None


@dataclass
class Reporter:
    """Prints what happens, as text or as JSON lines."""

    output: Output
    node: int | None = None
    alerts: bool = False  # the events of `run --watch`
    _said: set[str] = field(default_factory=set)
    _status: str | None = None
    lines: int = 0

    def line(self, line: dict[str, Any], num_nodes: int) -> None:
        """One log line."""
        self.lines += 1
        if not self.output.as_json:
            prefix = f"[node {line['node']}] " if num_nodes > 1 and self.node is None else ""
            self.output.text(prefix + line["text"], flush=False)
            return
        shown = {"ts": _line_time(line["time_ns"]), "node": line["node"], "line": line["text"]}
        if self.alerts and _ALERT.search(line["text"]):
            self.output.event("ALERT", **shown)
        self.output.event("LOG", **shown)

    def state(self, detail: dict[str, Any]) -> None:
        """The job run as it is now: a changed status, and once each, what it waits for."""
        status = detail["status"]
        if status != self._status:
            if self.output.as_json and self.alerts:
                previous = {"previous_status": self._status} if self._status else {}
                self.output.event("STATUS", status=status, **previous)
            self._status = status
        if detail["state"] in ("QUEUED", "PENDING") and detail["message"]:
            self.once(detail["message"])

    def retry(self, detail: dict[str, Any], attempt: dict[str, Any]) -> None:
        """An attempt failed and another one follows."""
        number = attempt["number"]
        if detail["state"] == "WAITING_FOR_RETRY" and detail["message"]:
            message = detail["message"]
        else:
            message = f"attempt {number + 1} failed: {attempt['message'] or 'not known why'}"
        if self.output.as_json:
            self.output.event(
                "RETRY",
                attempt_number=number + 1,
                max_retries=detail["max_retries"],
                failed_attempt=number,
                exit_code=attempt["exit_code"],
                message=message,
            )
        else:
            self.output.say(f"{message} (retry {number + 1} of {detail['max_retries']})")

    def once(self, message: str) -> None:
        """A remark that is made one time only."""
        if message not in self._said:
            self._said.add(message)
            self.output.say(message)


class Watch:
    """Follows one job run. `run` gives the job run as it ended, or as the followed attempt left it."""

    def __init__(self, client: Client, job_run_id: int, what: What, reporter: Reporter):
        self._client, self._job_run_id, self._what, self._reporter = client, job_run_id, what, reporter
        self._attempt = what.attempt or 0
        self._reader: LogReader | None = None
        self._filter = LineFilter()
        self._answered_s = self._polled_s = time.monotonic()
        self._over_since: float | None = None

    def run(self) -> dict[str, Any]:
        """Follow until the job run has ended."""
        try:
            return self._run()
        finally:
            if self._reader is not None:
                self._reader.stop()

    def _run(self) -> dict[str, Any]:
        detail = self._poll(None)
        while True:
            if self._reader is None:
                if not self._more(detail):
                    if detail["state"] in TERMINAL:
                        return detail
                    time.sleep(LINE_WAIT_S)
                else:
                    self._reader = self._follow()
            elif self._drain(self._reader, detail):
                detail = self._ended(self._poll(detail))
            if time.monotonic() - self._polled_s >= POLL_S:
                detail = self._poll(detail)

    def _more(self, detail: dict[str, Any]) -> bool:
        return any(attempt["number"] >= self._attempt for attempt in detail["attempts"])

    def _follow(self) -> LogReader:
        query = {"attempt": self._attempt, "node": self._what.node}
        after = self._what.after if self._attempt == (self._what.attempt or 0) else None
        self._filter, self._over_since = LineFilter(), None
        reader = LogReader(self._client, self._job_run_id, query, after=after, away=self._say_away)
        reader.start()
        return reader

    def _drain(self, reader: LogReader, detail: dict[str, Any]) -> bool:
        """Print what has come; True when the attempt's log is complete."""
        try:
            item = reader.items.get(timeout=LINE_WAIT_S)
        except queue.Empty:
            return self._is_left_over(detail)
        self._over_since = None
        while True:
            if isinstance(item, ContrailError):
                raise item
            if item is None:
                return True
            for line in self._filter.whole(item):
                self._reporter.line(line, item["num_nodes"])
            self._reporter.output.flush()
            try:
                item = reader.items.get_nowait()
            except queue.Empty:
                return False

    def _is_left_over(self, detail: dict[str, Any]) -> bool:
        attempt = _attempt(detail, self._attempt)
        if attempt is None or attempt["state"] not in TERMINAL:
            return False
        self._over_since = self._over_since or time.monotonic()
        return time.monotonic() - self._over_since > STREAM_GRACE_S

    def _ended(self, detail: dict[str, Any]) -> dict[str, Any]:
        """The log of an attempt is complete: say how it goes on, and step to the next attempt."""
        for line in self._filter.rest():
            attempt = _attempt(detail, self._attempt)
            self._reporter.line(line, attempt["num_nodes"] if attempt else 1)
        self._reporter.output.flush()
        self._reader = None
        until = time.monotonic() + STREAM_GRACE_S
        attempt = _attempt(detail, self._attempt)
        while (attempt is None or attempt["state"] not in TERMINAL) and time.monotonic() < until:
            time.sleep(LINE_WAIT_S)
            detail = self._poll(detail)
            attempt = _attempt(detail, self._attempt)
        goes_on = detail["state"] == "WAITING_FOR_RETRY" or detail["attempts"][-1]["number"] > self._attempt
        if attempt and goes_on:
            self._reporter.retry(detail, attempt)
        self._attempt += 1
        return detail

    def _poll(self, known: dict[str, Any] | None) -> dict[str, Any]:
        self._polled_s = time.monotonic()
        try:
            detail = job_run(self._client, self._job_run_id)
        except ServerUnreachable:
            if known is None or time.monotonic() - self._answered_s > AWAY_MAX_S:
                raise
            self._say_away()
            return known
        self._answered_s = self._polled_s = time.monotonic()
        self._reporter.state(detail)
        return detail

    def _say_away(self) -> None:
        self._reporter.once("The server does not answer; the workload is not affected. Still trying.")


def report_end(output: Output, client: Client, detail: dict[str, Any]) -> int:
    """Links and outcome of a job run that has ended; the exit code that goes with it."""
    output.text()
    output.text(f"Job run: {job_url(client, detail['job_run_id'])}")
    output.text(f"Run:     {run_url(client, detail['run_id']) or 'none was made'}")
    output.text(status_line(detail))
    return 0 if detail["status"] == "SUCCESS" else 1


def stop_watching_on_interrupt(output: Output, job_run_id: int, follow: Callable[[], int]) -> int:
    """Run `follow`; the first Ctrl-C ends only the watching and says how to go on, a second one ends at once."""
    try:
        return follow()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        output.say(
            "\nStopped watching; the workload goes on.\n"
            f"  contrail get {job_run_id}     how it is\n"
            f"  contrail logs {job_run_id}    follow its log again\n"
            f"  contrail cancel {job_run_id}  stop it"
        )
        return 1


def _attempt(detail: dict[str, Any], number: int) -> dict[str, Any] | None:
    return next((attempt for attempt in detail["attempts"] if attempt["number"] == number), None)


def _line_time(time_ns: int) -> str:
    return (
        datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
