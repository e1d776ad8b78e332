"""What brings the spools to the server: one thread each for output, tracking writes, artifacts and heartbeats.

Each lane sends in order, repeats what was not answered, and waits 0.1 to 5 s between tries. The server skips
what it knows already, so nothing is lost and nothing doubled.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import msgspec

from contrail.agent.items import outgoing
from contrail.agent.link import Answer, Health, Link, ServerAway, agent_path
from contrail.agent.output import Output, log_request_body
from contrail.agent.spool import Spool
from contrail.agent.uploads import Upload, Uploads
from contrail.model.jobs import AgentSpec
from contrail.wire.jobs import (
    Heartbeat,
    HeartbeatAnswer,
    LogAppendAnswer,
    RelayAnswer,
    RelayBatch,
    RelayRefusal,
)

log = logging.getLogger(__name__)

BACK_OFF_FIRST_S, BACK_OFF_MAX_S = 0.1, 5.0
LOG_REQUEST_BYTES = 2 * 1024 * 1024
RELAY_REQUEST_BYTES, RELAY_REQUEST_ITEMS = 1024 * 1024, 5_000
LINGER_S = 0.1  # what is written within this time travels together
IDLE_S = 5.0
HEARTBEAT_ANSWER_S = 5.0
UPLOAD_ANSWER_S = 600.0
SYNC_AWAY_S = 1.0  # what waits for an absent server is brought to the disk itself
GONE_CODES = frozenset({"RESOURCE_DOES_NOT_EXIST", "NOT_FOUND"})


class Lane(ABC):
    """A thread that repeats `step` and waits when the server is away."""

    def __init__(self, name: str, link: Link, health: Health, gone: Callable[[], None]):
        self._link = link
        self._health = health
        self._gone = gone
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the step at hand."""
        self._stopping.set()

    @abstractmethod
    def step(self) -> None:
        """Send one thing, or wait a moment for one. Raises `ServerAway`."""

    def _run(self) -> None:
        delay_s = BACK_OFF_FIRST_S
        while not self._stopping.is_set():
            try:
                self.step()
                delay_s = BACK_OFF_FIRST_S
            except ServerAway:
                self._health.wait_recovered(delay_s)
                delay_s = min(delay_s * 2, BACK_OFF_MAX_S)
            except Exception:  # the thread's outermost edge: go on, or all later telemetry would be lost
                log.exception("%s failed", self._thread.name)
                self._stopping.wait(BACK_OFF_MAX_S)

    def _check_gone(self, answer: Answer) -> None:
        """The server says that there is no such attempt: whatever is here belongs to nobody any more."""
        if answer.status == 410 or (answer.status == 404 and answer.error_code in GONE_CODES):
            self._gone()
            self._stopping.set()
            raise ServerAway(answer.message)


class LogLane(Lane):
    """Sends output by offset."""

    def __init__(self, spec: AgentSpec, output: Output, link: Link, health: Health, gone: Callable[[], None]):
        super().__init__("send-logs", link, health, gone)
        self._spool = output.spool
        self._target = agent_path(spec, "logs")
        self._shift = 0  # spool position minus the server's offset; not 0 only after bytes were lost there

    def step(self) -> None:
        """Send the next piece of output."""
        position = self._spool.acked
        if not self._spool.wait(position, IDLE_S):
            self._stopping.wait(0.05)
            return
        end, body = log_request_body(self._spool, position, LOG_REQUEST_BYTES)
        answer = self._link.request("POST", f"{self._target}?offset={position - self._shift}", body)
        self._check_gone(answer)
        if answer.status == 200:
            known = msgspec.json.decode(answer.body, type=LogAppendAnswer).next_offset + self._shift
            if known <= position:
                raise ServerAway(f"{end - position} bytes of output were not taken")
            self._spool.ack(known)
        elif answer.status == 409:
            self._resume(answer)
        else:
            raise ServerAway(f"logs were answered {answer.status}: {answer.message}")
        self._linger()

    def _resume(self, answer: Answer) -> None:
        """The server misses bytes before this piece (it was set back): number from where it stands."""
        offset = _next_offset(answer)
        if offset is None:
            raise ServerAway(f"logs were answered 409: {answer.message}")
        log.warning("the server has output up to %d only, not %d", offset, self._spool.acked - self._shift)
        self._shift = self._spool.acked - offset

    def _linger(self) -> None:
        """Small pieces travel together, large ones without a pause."""
        if self._spool.pending_bytes < LOG_REQUEST_BYTES:
            self._stopping.wait(LINGER_S)


def _next_offset(answer: Answer) -> int | None:
    try:
        return msgspec.json.decode(answer.body, type=LogAppendAnswer).next_offset
    except msgspec.MsgspecError:
        return None


class RelayLane(Lane):
    """Sends tracking writes, neighbours merged, each exactly once."""

    def __init__(
        self,
        spec: AgentSpec,
        items: Spool,
        link: Link,
        health: Health,
        gone: Callable[[], None],
        refused: Callable[[RelayRefusal, int, str], None],
    ):
        super().__init__("send-items", link, health, gone)
        self._spool = items
        self._target = agent_path(spec, "relay")
        self._refused = refused
        self._urged = threading.Event()
        self._records_max = RELAY_REQUEST_ITEMS
        # The request at hand: repeated as it is, so that merged writes are known again by their number.
        self._batch: list[tuple[int, int, str]] = []
        self._body = b""

    def urge(self) -> None:
        """Someone waits for what is spooled: do not linger."""
        self._urged.set()

    def step(self) -> None:
        """Send the next writes."""
        position = self._spool.acked
        if not self._body:
            if not self._spool.wait(position, IDLE_S):
                self._stopping.wait(0.05)
                return
            self._urged.wait(LINGER_S)
            self._urged.clear()
            if not self._collect(position):
                return
        try:
            answer = self._link.request(
                "POST", self._target, self._body, {"content-type": "application/json"}
            )
        except ServerAway:
            self._spool.sync()
            raise
        self._check_gone(answer)
        if answer.status == 200:
            self._accept(msgspec.json.decode(answer.body, type=RelayAnswer))
        elif answer.status in {401, 403}:
            raise ServerAway(f"writes were answered {answer.status}: {answer.message}")
        else:
            self._reject(answer)

    def _collect(self, position: int) -> bool:
        """Make the request at hand; False when there are only numbers that were left out."""
        end = self._spool.end
        records = self._spool.read(position, bytes_max=RELAY_REQUEST_BYTES, records_max=self._records_max)
        if not records:
            self._spool.ack(end)
            return False
        sent = list(outgoing(records))
        self._batch = [(out.item.seq, out.writes, out.item.path) for out in sent]
        self._body = msgspec.json.encode(RelayBatch([out.item for out in sent]))
        return True

    def _accept(self, answer: RelayAnswer) -> None:
        by_seq = {seq: (writes, path) for seq, writes, path in self._batch}
        for refusal in answer.refused:
            writes, path = by_seq.get(refusal.seq, (1, ""))
            self._refused(refusal, writes, path)
        # A number beyond this batch speaks of writes of an earlier life of this spool.
        self._spool.ack(min(answer.applied_seq, self._batch[-1][0]))
        self._records_max = RELAY_REQUEST_ITEMS
        self._body = b""

    def _reject(self, answer: Answer) -> None:
        """The request as a whole was refused: find the write that it is about, and give that one up."""
        self._body = b""
        if len(self._batch) > 1:
            self._records_max = 1
            return
        seq, writes, path = self._batch[0]
        self._refused(
            RelayRefusal(seq, answer.error_code or str(answer.status), answer.message), writes, path
        )
        self._spool.ack(seq)


class UploadLane(Lane):
    """Sends artifacts, each after the tracking writes before it."""

    def __init__(
        self,
        uploads: Uploads,
        items: Spool,
        link: Link,
        health: Health,
        gone: Callable[[], None],
        lost: Callable[[str], None],
    ):
        super().__init__("send-artifacts", link, health, gone)
        self._uploads = uploads
        self._items = items
        self._lost = lost

    def step(self) -> None:
        """Send the next artifact."""
        found = self._uploads.next()
        if found is None:
            if not self._uploads.spool.wait(self._uploads.spool.acked, IDLE_S):
                self._stopping.wait(0.05)
            return
        position, upload = found
        if not self._items.wait_acked(upload.after_seq, IDLE_S):
            return
        path = self._uploads.path(upload)
        if path.exists():  # else it was sent in an earlier life of this spool
            self._send(path, upload)
        self._uploads.done(position, upload)

    def _send(self, path: Path, upload: Upload) -> None:
        headers = {"content-type": upload.content_type or "application/octet-stream"}
        headers["content-length"] = str(upload.size)
        with path.open("rb") as file:
            answer = self._link.request("PUT", upload.target, file, headers, answer_s=UPLOAD_ANSWER_S)
        if answer.status in {401, 403}:
            raise ServerAway(f"an artifact was answered {answer.status}: {answer.message}")
        if answer.status >= 300:
            self._lost(f"the artifact {upload.target}: {answer.error_code} {answer.message}")


class HeartbeatLane(Lane):
    """Tells the server that this node lives, and hears when it must stop."""

    def __init__(
        self,
        spec: AgentSpec,
        link: Link,
        health: Health,
        gone: Callable[[], None],
        status: Callable[[], Heartbeat],
        ordered: Callable[[HeartbeatAnswer], None],
    ):
        super().__init__("heartbeat", link, health, gone)
        self._target = agent_path(spec, "heartbeat")
        self._interval_s = spec.heartbeat_interval_s
        self._status = status
        self._ordered = ordered
        self._now = threading.Event()

    def hurry(self) -> None:
        """The state has changed: tell it now."""
        self._now.set()

    def step(self) -> None:
        """One heartbeat, then the pause."""
        self._now.clear()
        body = msgspec.json.encode(self._status())
        answer = self._link.request(
            "POST", self._target, body, {"content-type": "application/json"}, answer_s=HEARTBEAT_ANSWER_S
        )
        self._check_gone(answer)
        if answer.status == 200:
            order = msgspec.json.decode(answer.body, type=HeartbeatAnswer)
            if order.stop_cause is not None:
                self._ordered(order)
        else:
            log.warning("a heartbeat was answered %d: %s", answer.status, answer.message)
        self._now.wait(self._interval_s)
