"""What node agents say and send: heartbeats, log bytes, relayed tracking writes, exits."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import msgspec

from contrail.access import tokens
from contrail.jobs.parts import Parts
from contrail.jobs.states import Event, is_over
from contrail.jobs.transitions import happen
from contrail.model.errors import (
    ContrailError,
    InvalidParameterValue,
    PermissionDenied,
    RequestLimitExceeded,
    ResourceConflict,
    ResourceDoesNotExist,
    Unauthenticated,
)
from contrail.model.jobs import Attempt, AttemptNode, JobState, NodeExit
from contrail.store import jobs as store
from contrail.store.writer import Connection
from contrail.wire.jobs import (
    Heartbeat,
    HeartbeatAnswer,
    LogAppendAnswer,
    RelayAnswer,
    RelayItem,
    RelayRefusal,
)

HEARTBEAT_WRITTEN_S = 10.0  # a heartbeat that changes nothing reaches the database this often
UPDATE_RUN = "runs/update"
_AGENT_STATES = (JobState.PENDING, JobState.RUNNING)
_RUN_ID_FIELDS = ("run_id", "runId", "run_uuid", "runUuid")
_STATUS_FIELDS = ("status", "end_time", "endTime")
_exit_decoder = msgspec.json.Decoder(NodeExit)
_NodeKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Heard:
    """When a node was last heard of: by a clock that only runs on, and as a time."""

    monotonic: float
    time_ms: int
    written: float


class LogGap(ResourceConflict):
    """Log bytes are missing before these. `next_offset` is where to go on."""

    def __init__(self, message: str, next_offset: int):
        super().__init__(message)
        self.next_offset = next_offset


class Agents:
    """The desk that node agents talk to. Thread-safe."""

    def __init__(self, parts: Parts, monotonic: Callable[[], float] = time.monotonic):
        self._parts = parts
        self._monotonic = monotonic
        self._opened = monotonic()
        self._heard: dict[_NodeKey, Heard] = {}
        self._turns: defaultdict[_NodeKey, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()

    def authorize(self, attempt_id: int, token: str | None) -> None:
        """Raise unless `token` was made for this attempt."""
        if token is None:
            raise Unauthenticated("An agent must send its attempt token: Authorization: Bearer …")
        with self._parts.database.read() as connection:
            attempt = store.get_attempt(connection, attempt_id)
        if not tokens.matches(token, attempt.token_sha256):
            raise PermissionDenied(f"This token does not belong to attempt {attempt_id}")

    def heartbeat(self, attempt_id: int, node: int, said: Heartbeat) -> HeartbeatAnswer:
        """Note that a node is alive and answer what it must do. Raises `ResourceDoesNotExist` after the end."""
        if said.state not in _AGENT_STATES:
            raise InvalidParameterValue(f"state: '{said.state}' is not one of {', '.join(_AGENT_STATES)}")
        attempt, known = self._living(attempt_id, node)
        now = self._monotonic()
        last = self._heard.get((attempt_id, node))
        changed = known.exit is None and _differs(known, said)
        due = last is None or now - last.written >= HEARTBEAT_WRITTEN_S
        if changed or due:
            self._parts.database.writer.run(lambda connection: self._note(connection, attempt_id, node, said))
        self._heard[attempt_id, node] = Heard(
            now, self._parts.now_ms(), now if changed or due or last is None else last.written
        )
        stopping = attempt.state is JobState.TERMINATING and attempt.cause is not None
        return HeartbeatAnswer(str(attempt.cause) if stopping else None, self._parts.settings.cancel_grace_s)

    def append_logs(self, attempt_id: int, node: int, offset: int, records: bytes) -> LogAppendAnswer:
        """Store log records that begin at raw byte `offset`; durable before the answer. Idempotent."""
        if offset < 0:
            raise InvalidParameterValue(f"offset: must not be negative, is {offset}")
        self._living(attempt_id, node)
        self._listen(attempt_id, node)
        try:
            return LogAppendAnswer(self._parts.logs.append(attempt_id, node, offset, records))
        except ResourceConflict as conflict:
            with self._parts.database.read() as connection:
                known = store.get_node(connection, attempt_id, node)
            raise LogGap(conflict.message, known.log_bytes) from None

    def relay(self, attempt_id: int, node: int, items: Sequence[RelayItem]) -> RelayAnswer:
        """Apply spooled writes in order. Items with a known `seq` are skipped, so a batch may be sent again.

        A write that can never succeed is refused and counts as applied; at one that may succeed later the
        batch stops.
        """
        _check_order(items)
        with self._turn(attempt_id, node):
            with self._parts.database.read() as connection:
                attempt = store.get_attempt(connection, attempt_id)
                known = store.get_node(connection, attempt_id, node)
            fresh = [item for item in items if item.seq > known.relay_seq]
            if not fresh:
                return RelayAnswer(known.relay_seq)
            _check_living(attempt)
            self._listen(attempt_id, node)
            return self._apply(attempt, known, fresh)

    def silent_s(self, attempt_id: int, node: int) -> float:
        """Seconds since this node was last heard of, or since this server started."""
        last = self._heard.get((attempt_id, node))
        return self._monotonic() - (last.monotonic if last else self._opened)

    def heard_ms(self, attempt_id: int, node: int) -> int | None:
        """Time of the last sign of life that this server got itself."""
        last = self._heard.get((attempt_id, node))
        return last.time_ms if last else None

    def forget(self, attempt_id: int) -> None:
        """The attempt is over."""
        with self._guard:
            for key in [key for key in self._heard if key[0] == attempt_id]:
                self._heard.pop(key, None)
            for key in [key for key in self._turns if key[0] == attempt_id]:
                self._turns.pop(key, None)

    # ------------------------------------------------------------ inside

    def _living(self, attempt_id: int, node: int) -> tuple[Attempt, AttemptNode]:
        with self._parts.database.read() as connection:
            attempt = store.get_attempt(connection, attempt_id)
            known = store.get_node(connection, attempt_id, node)
        _check_living(attempt)
        return attempt, known

    def _listen(self, attempt_id: int, node: int) -> None:
        last = self._heard.get((attempt_id, node))
        written = last.written if last else -HEARTBEAT_WRITTEN_S
        self._heard[attempt_id, node] = Heard(self._monotonic(), self._parts.now_ms(), written)

    def _turn(self, attempt_id: int, node: int) -> threading.Lock:
        with self._guard:
            return self._turns[attempt_id, node]

    def _note(self, connection: Connection, attempt_id: int, node: int, said: Heartbeat) -> None:
        """Store what a heartbeat says; when this makes the last node run, the attempt runs."""
        attempt = store.get_attempt(connection, attempt_id)
        known = store.get_node(connection, attempt_id, node)
        now_ms = self._parts.now_ms()
        store.set_node(connection, attempt_id, node, heartbeat_ms=now_ms, host=said.host or known.host)
        if known.exit is not None or is_over(attempt.state):
            return
        store.set_node(
            connection,
            attempt_id,
            node,
            status_message=said.status_message,
            started_ms=said.started_ms or known.started_ms,
        )
        store.set_node(connection, attempt_id, node, state=JobState(said.state))
        if attempt.state is JobState.PENDING:
            self._start_if_all_run(connection, attempt, now_ms)

    def _start_if_all_run(self, connection: Connection, attempt: Attempt, now_ms: int) -> None:
        nodes = store.nodes_of(connection, [attempt.attempt_id])[attempt.attempt_id]
        if any(node.state not in {JobState.RUNNING, JobState.TERMINATED} for node in nodes):
            words = next((node.status_message for node in nodes if node.status_message), "")
            store.set_attempt(connection, attempt.attempt_id, message=words)
            store.set_job_run(connection, attempt.job_run_id, message=words)
            return
        started = min((node.started_ms for node in nodes if node.started_ms is not None), default=now_ms)
        job = store.get_job_run(connection, attempt.job_run_id)
        happen(
            connection,
            attempt,
            Event.START,
            now_ms,
            attempt_values={"started_ms": started, "message": ""},
            job_values={"started_ms": job.started_ms or started, "message": ""},
        )

    def _apply(self, attempt: Attempt, known: AttemptNode, items: Sequence[RelayItem]) -> RelayAnswer:
        outcomes = [(item, self._submit(attempt, item)) for item in items if item.kind != "exit"]
        applied, refused, trouble = known.relay_seq, [], None
        for item, outcome in outcomes:
            error = outcome.exception() if isinstance(outcome, Future) else outcome
            if error is not None and _may_succeed_later(error):
                trouble = error
                break
            if error is not None:
                refused.append(_refusal(item.seq, error))
            applied = item.seq
        end = _exit_of(items[-1]) if trouble is None and items[-1].kind == "exit" else None
        applied = items[-1].seq if end is not None else applied
        if applied == known.relay_seq and trouble is not None:
            raise trouble
        self._parts.database.writer.run(
            lambda connection: _record(connection, attempt.attempt_id, known.node, applied, end)
        )
        if end is not None:
            self._parts.wake.set()
        return RelayAnswer(applied, refused)

    def _submit(self, attempt: Attempt, item: RelayItem) -> Future[Any] | Exception | None:
        """Hand one write to tracking; an error when it is refused on the spot, None when there is nothing to do."""
        if item.kind == "artifact":
            return None  # its bytes came by their own request
        if item.kind != "rpc":
            return InvalidParameterValue(f"kind: '{item.kind}' is not one of rpc, artifact, exit")
        body: bytes | None = bytes(item.body)
        if item.path == UPDATE_RUN:
            body = _without_end(bytes(item.body), attempt.run_id)
        if body is None:
            return None
        try:
            return self._parts.tracking.rpc_write(item.path, body)
        except ContrailError as error:
            return error


def _check_living(attempt: Attempt) -> None:
    if is_over(attempt.state):
        raise ResourceDoesNotExist(f"Attempt {attempt.attempt_id} is over")


def _check_order(items: Sequence[RelayItem]) -> None:
    for index, item in enumerate(items):
        if index and item.seq <= items[index - 1].seq:
            raise InvalidParameterValue(
                f"items[{index}].seq: {item.seq} does not come after {items[index - 1].seq}"
            )
        if item.kind == "exit" and index != len(items) - 1:
            raise InvalidParameterValue(f"items[{index}].kind: nothing may follow an exit")


def _differs(known: AttemptNode, said: Heartbeat) -> bool:
    return (
        known.state != said.state
        or known.status_message != said.status_message
        or (said.host is not None and known.host != said.host)
        or (said.started_ms is not None and known.started_ms != said.started_ms)
    )


def _record(connection: Connection, attempt_id: int, node: int, applied: int, end: NodeExit | None) -> None:
    store.set_node(connection, attempt_id, node, relay_seq=applied)
    if end is not None:
        store.end_node(connection, attempt_id, node, end)


def _exit_of(item: RelayItem) -> NodeExit:
    try:
        return _exit_decoder.decode(item.body)
    except msgspec.MsgspecError as error:
        raise InvalidParameterValue(f"The body of the exit item is not an exit record: {error}") from None


def _may_succeed_later(error: BaseException) -> bool:
    if isinstance(error, RequestLimitExceeded):
        return True
    return isinstance(error, ContrailError) and error.http_status >= 500 and error.http_status != 501


def _refusal(seq: int, error: BaseException) -> RelayRefusal:
    if isinstance(error, ContrailError):
        return RelayRefusal(seq, error.code, error.message)
    return RelayRefusal(seq, "INTERNAL_ERROR", f"The server failed on this write: {error}")


def _without_end(body: bytes, run_id: str | None) -> bytes | None:
    """An update of the attempt's own run without its status and end: those are the attempt's to set.

    A script that leaves `with mlflow.start_run()` says FINISHED while its process goes on and may fail yet.
    None when nothing else is left to update.
    """
    try:
        content = msgspec.json.decode(body)
    except msgspec.MsgspecError:
        return body  # tracking says what is wrong with it
    if not isinstance(content, dict) or not any(content.get(name) == run_id for name in _RUN_ID_FIELDS):
        return body
    kept = {name: value for name, value in content.items() if name not in _STATUS_FIELDS}
    return msgspec.json.encode(kept) if set(kept) - set(_RUN_ID_FIELDS) else None
