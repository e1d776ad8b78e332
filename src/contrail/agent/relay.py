"""The tracking server that the workload sees: writes are spooled and answered at once, the rest is passed on.

A write that this node can judge is checked with the server's own checks, appended to the spool and answered.
A read first waits until the writes before it have reached the server, so a client reads what it wrote. While
the server is away, reads are answered from what this node knows, or with 503 within two seconds.
"""

from __future__ import annotations

import hmac
import http.client
import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec

from contrail.agent.edge import Head, Memory, Reply, Sink, error_reply, json_reply
from contrail.agent.items import encode_item
from contrail.agent.knowledge import RUN_NAME_TAG, Knowledge
from contrail.agent.link import Health, Link, ServerAway
from contrail.agent.spool import Spool, SpoolFull
from contrail.agent.uploads import Uploads, UploadSink
from contrail.model.errors import ContrailError, InvalidParameterValue
from contrail.model.jobs import AgentSpec
from contrail.model.tracking import Lifecycle, Metric, RunInfo, RunStatus, Tag
from contrail.wire import tracking as wire
from contrail.wire import validation
from contrail.wire.protojson import number

log = logging.getLogger(__name__)

DRAIN_AWAY_S = 1.5  # how long a read waits for a server that is away
DRAIN_MAX_S = 20.0  # how long a read waits for writes before it, while they are being sent
PASS_ON_S = 1.5  # how long a request passed on waits before the server's health is asked
WHOLE_ANSWER_MAX_BYTES = 1024 * 1024
STREAM_BYTES = 256 * 1024
MLFLOW_PREFIXES = ("/api/2.0/mlflow/", "/ajax-api/2.0/mlflow/")
ARTIFACT_PREFIXES = ("/api/2.0/mlflow-artifacts/artifacts/", "/ajax-api/2.0/mlflow-artifacts/artifacts/")
OPEN_PATHS = frozenset({"/health", "/version"})
STATELESS_PATHS = OPEN_PATHS | {"/api/3.0/mlflow/server-info"}
NOT_PASSED_ON = frozenset(
    {
        "host",
        "authorization",
        "connection",
        "keep-alive",
        "content-length",
        "transfer-encoding",
        "expect",
        "te",
    }
)
NOT_PASSED_BACK = frozenset({"connection", "keep-alive", "transfer-encoding", "date", "server"})
RETRY_SOON = {"Retry-After": "1"}


@dataclass(frozen=True, slots=True)
class _Write:
    """A write as it was received: path below `mlflow/`, the decoded message, the JSON to send on."""

    path: str
    message: Any
    body: bytes

    @property
    def run_id(self) -> str:
        """The run it is about."""
        return wire.run_id_of(self.message) if isinstance(self.message, wire.OfRun) else self.message.run_id


class Relay:
    """Serves the workload's tracking clients (an `edge.Handler`).

    `urge` makes the sender send at once. `lost` is told what could not be kept.
    """

    def __init__(
        self,
        spec: AgentSpec,
        *,
        knowledge: Knowledge,
        items: Spool,
        uploads: Uploads,
        health: Health,
        new_link: Callable[[], Link],
        urge: Callable[[], None],
        lost: Callable[[str], None],
        server_url: Callable[[], str],
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ):
        self._spec = spec
        self._knowledge = knowledge
        self._items = items
        self._uploads = uploads
        self._health = health
        self._new_link = new_link
        self._urge = urge
        self._lost = lost
        self._server_url = server_url
        self._clock_ms = clock_ms
        self._local = threading.local()
        self._writing = threading.Lock()  # what was judged and what is spooled have the same order
        self._takers: dict[str, Callable[[_Write], Reply]] = {
            "runs/create": self._take_create,
            "runs/update": self._take_update,
            "runs/log-metric": self._take_metric,
            "runs/log-parameter": self._take_param,
            "runs/set-tag": self._take_tag,
            "runs/delete-tag": self._take_delete_tag,
            "runs/log-batch": self._take_batch,
            "runs/log-inputs": self._take_inputs,
        }

    # ------------------------------------------------------------ edge.Handler

    def sink(self, head: Head) -> Sink:
        """Uploads go to a file (or, too large for the spool, straight to the server), the rest to memory."""
        if head.method != "PUT" or not _artifact_path(head.path) or not self._authorized(head):
            return Memory()
        size = head.headers.get("content-length", "0")
        try:
            if self._health.up and size.isdecimal() and not self._uploads.has_room(int(size)):
                return DirectUpload(self._new_link(), head)
            return self._uploads.sink()
        except OSError as error:
            log.warning("no file for an upload: %s", error)
            return Memory()

    def handle(self, head: Head, sink: Sink) -> Reply:
        """Answer one request."""
        try:
            return self._handle(head, sink)
        except ContrailError as error:
            sink.discard()
            return error_reply(error.http_status, error.code, error.message)

    def _handle(self, head: Head, sink: Sink) -> Reply:
        if head.path not in OPEN_PATHS and not self._authorized(head):
            sink.discard()
            if head.path == "/" and head.method == "GET":  # a browser that followed a client's link
                return Reply(302, headers={"location": self._server_url() + head.target})
            return error_reply(401, "UNAUTHENTICATED", "Send the token in MLFLOW_TRACKING_TOKEN")
        if isinstance(sink, UploadSink):
            return self._take_upload(head, sink)
        if isinstance(sink, DirectUpload):
            return sink.finish()
        if not isinstance(sink, Memory) or sink.too_large:
            return error_reply(413, "INVALID_PARAMETER_VALUE", "The request body is too large")
        path = _mlflow_path(head.path)
        if head.method == "POST" and path in self._takers and _is_json(head):
            return self._take(path, head, sink.content)
        return self._pass_on(head, sink.content)

    def _authorized(self, head: Head) -> bool:
        given = head.headers.get("authorization", "")
        return hmac.compare_digest(given.encode("latin-1"), f"Bearer {self._spec.token}".encode())

    # ------------------------------------------------------------ writes

    def _take(self, path: str, head: Head, body: bytes) -> Reply:
        write = _decode(path, body)
        if path == "runs/create":
            own = write.message.experiment_id == self._spec.experiment_id
            return self._locked(write) if own else self._pass_on(head, body)
        if self._knowledge.knows(write.run_id) or not self._health.up:
            return self._locked(write)
        reply = self._pass_on(head, body)
        if reply.status == 200:
            self._knowledge.see(write.run_id)
        # The server went away over it: these writes may be repeated, so the spool can have it.
        return self._locked(write) if reply.status == 503 else reply

    def _locked(self, write: _Write) -> Reply:
        with self._writing:
            return self._takers[write.path](write)

    def _append(self, path: str, body: bytes) -> None:
        try:
            self._items.append(*encode_item(path, body))
        except SpoolFull as error:
            self._lost(f"a tracking write ({path}): {error}")

    def _take_metric(self, write: _Write) -> Reply:
        metric = write.message
        validation.check_run_id(write.run_id)
        validation.check_metric(metric)
        point = Metric(metric.key, metric.value, metric.timestamp_ms, metric.step)
        self._knowledge.log_metrics(write.run_id, (point,))
        return self._accept(write)

    def _take_param(self, write: _Write) -> Reply:
        validation.check_run_id(write.run_id)
        value = validation.fit_param(write.message, "", truncate=True)
        self._knowledge.log_params(write.run_id, [(write.message.key, value)])
        return self._accept(write)

    def _take_tag(self, write: _Write) -> Reply:
        validation.check_run_id(write.run_id)
        value = validation.fit_tag(write.message, "", truncate=True)
        self._knowledge.set_tags(write.run_id, [(write.message.key, value)])
        return self._accept(write)

    def _take_delete_tag(self, write: _Write) -> Reply:
        validation.check_run_id(write.run_id)
        self._knowledge.delete_tag(write.run_id, write.message.key)
        return self._accept(write)

    def _take_batch(self, write: _Write) -> Reply:
        batch: wire.LogBatch = write.message
        validation.check_batch(batch)
        params = [
            (param.key, validation.fit_param(param, f"params[{index}].", truncate=True))
            for index, param in enumerate(batch.params)
        ]
        tags = [
            (tag.key, validation.fit_tag(tag, f"tags[{index}].", truncate=True))
            for index, tag in enumerate(batch.tags)
        ]
        self._knowledge.log_params(batch.run_id, params)
        self._knowledge.set_tags(batch.run_id, tags)
        self._knowledge.log_metrics(batch.run_id, wire.metrics_of(batch.metrics))
        return self._accept(write)

    def _take_inputs(self, write: _Write) -> Reply:
        validation.check_run_id(write.run_id)
        validation.check_inputs(write.message.datasets)
        return self._accept(write)

    def _accept(self, write: _Write) -> Reply:
        self._append(write.path, write.body)
        return json_reply(200, {})

    def _take_update(self, write: _Write) -> Reply:
        """The own run's status belongs to the attempt: leaving `start_run` does not end it."""
        update: wire.UpdateRun = write.message
        status = None if update.status is None else wire.run_status(update.status)
        run_id = write.run_id
        self._knowledge.update(run_id, status, update.end_time, update.run_name)
        if run_id != self._spec.run_id:
            self._append(write.path, write.body)
        elif update.run_name:
            self._append(write.path, msgspec.json.encode({"run_id": run_id, "run_name": update.run_name}))
        info = self._knowledge.info(run_id) or _guessed_info(run_id, status, update)
        return json_reply(200, wire.RunUpdated(wire.run_info_answer(info)))

    def _take_create(self, write: _Write) -> Reply:
        """A run in the attempt's experiment gets its id here, so that it can be made while the server is away."""
        request: wire.CreateRun = write.message
        tags = {tag.key: tag for tag in wire.tags_of(request.tags)}
        name = _name_of_new_run(request.run_name, tags)
        tags[RUN_NAME_TAG] = Tag(RUN_NAME_TAG, name)
        run_id = uuid.uuid4().hex
        info = RunInfo(
            run_id=run_id,
            experiment_id=self._knowledge.experiment.experiment_id,
            name=name,
            user_id=request.user_id,
            status=RunStatus.RUNNING,
            start_ms=self._clock_ms() if request.start_time is None else request.start_time,
            end_ms=None,
            artifact_uri=f"{self._knowledge.experiment.artifact_location}/{run_id}/artifacts",
            lifecycle=Lifecycle.ACTIVE,
        )
        self._knowledge.add(info, tags.values())
        self._append(write.path, msgspec.json.encode(_creation(info, tags.values())))
        run = self._knowledge.run(run_id)
        assert run is not None  # noqa: S101 - added above
        return json_reply(200, wire.RunFound(wire.run_answer(run)))

    def _take_upload(self, head: Head, sink: UploadSink) -> Reply:
        problem = _path_problem(_artifact_path(head.path))
        if problem:
            sink.discard()
            raise InvalidParameterValue(f"Invalid path: {problem}")
        name = unquote(_artifact_path(head.path))
        if sink.full:
            self._lost(f"the artifact '{name}': the spool of this node is full")
            return json_reply(200, {})
        try:
            self._uploads.add(sink, head.target, self._items.end, head.headers.get("content-type", ""))
        except SpoolFull as error:
            self._lost(f"the artifact '{name}': {error}")
        return json_reply(200, {})

    # ------------------------------------------------------------ passing on

    def _pass_on(self, head: Head, body: bytes) -> Reply:
        if head.path not in STATELESS_PATHS and not self._drained(head.path):
            return self._without_server(head)
        link = self._link()
        try:
            return self._relayed(link, head, body)
        except ServerAway as error:
            log.info("%s %s: %s", head.method, head.path, error)
            link.close()
            return self._without_server(head)

    def _drained(self, path: str) -> bool:
        """Wait, within bounds, until the server has what was written before."""
        items_end, uploads_end = self._items.end, self._uploads.spool.end
        if "artifact" not in path:
            uploads_end = 0
        self._urge()
        started = time.monotonic()
        while not (self._items.acked >= items_end and self._uploads.spool.acked >= uploads_end):
            waited = time.monotonic() - started
            if waited > DRAIN_MAX_S or (waited > DRAIN_AWAY_S and not self._health.up):
                return False
            if not self._health.up and self._health.away_s() > DRAIN_AWAY_S:
                return False
            behind = self._items if self._items.acked < items_end else self._uploads.spool
            behind.wait_acked(items_end if behind is self._items else uploads_end, 0.1)
        return self._health.up

    def _relayed(self, link: Link, head: Head, body: bytes) -> Reply:
        headers = {name: value for name, value in head.headers.items() if name not in NOT_PASSED_ON}
        response = link.open(
            head.method, head.target, body or None, headers, answer_s=PASS_ON_S, patient=True
        )
        back = {n.lower(): v for n, v in response.getheaders() if n.lower() not in NOT_PASSED_BACK}
        if response.status == 200 and _mlflow_path(head.path) in {"runs/delete", "runs/restore"}:
            self._forget_run(body)
        if response.length is not None and response.length <= WHOLE_ANSWER_MAX_BYTES:
            try:
                content = response.read()
            except OSError as error:
                raise ServerAway(str(error)) from error
            if response.status == 200 and _mlflow_path(head.path) == "runs/get":
                self._knowledge.learn(content)
            if head.method == "HEAD":
                return Reply(response.status, b"", back)
            back.pop("content-length", None)
            return Reply(response.status, content, back)
        return Reply(response.status, headers=back, stream=_pieces(link, response))

    def _forget_run(self, body: bytes) -> None:
        """Something was done to a run that this node may know: the server knows better from now on."""
        try:
            fields = msgspec.json.decode(body, type=dict[str, Any])
        except msgspec.MsgspecError:
            return
        self._knowledge.forget(str(fields.get("run_id") or fields.get("run_uuid")))

    def _link(self) -> Link:
        link: Link | None = getattr(self._local, "link", None)
        if link is None:
            link = self._local.link = self._new_link()
        return link

    # ------------------------------------------------------------ while the server is away

    def _without_server(self, head: Head) -> Reply:
        query = parse_qs(head.query)
        path = _mlflow_path(head.path)
        if head.method == "GET":
            if path == "runs/get":
                run = self._knowledge.run((query.get("run_id") or query.get("run_uuid") or [""])[0])
                if run is not None:
                    return json_reply(200, wire.RunFound(wire.run_answer(run)))
            if self._asks_own_experiment(path, query):
                return json_reply(
                    200, wire.ExperimentFound(wire.experiment_answer(self._knowledge.experiment))
                )
            if head.path == "/api/3.0/mlflow/server-info":  # clients take its absence as "nothing special"
                return error_reply(404, "ENDPOINT_NOT_FOUND", "The server is away")
        message = "The tracking server is away; writes are kept on this node, but this needs the server"
        return error_reply(503, "TEMPORARILY_UNAVAILABLE", message, RETRY_SOON)

    def _asks_own_experiment(self, path: str, query: Mapping[str, list[str]]) -> bool:
        experiment = self._knowledge.experiment
        if path == "experiments/get":
            return query.get("experiment_id") == [str(experiment.experiment_id)]
        return path == "experiments/get-by-name" and query.get("experiment_name") == [experiment.name]


class DirectUpload:
    """A sink for an artifact that is too large for the spool: it goes to the server as it comes."""

    def __init__(self, link: Link, head: Head):
        self._link = link
        headers = {"content-type": head.headers.get("content-type", "application/octet-stream")}
        headers["content-length"] = head.headers["content-length"]
        self._connection: http.client.HTTPConnection | None = None
        try:
            self._connection = link.begin("PUT", head.target, headers)
        except ServerAway as error:
            log.warning("%s: %s", head.path, error)

    def write(self, data: bytes) -> None:
        """Send the next piece; after a failure the rest is swallowed, and `finish` tells."""
        if self._connection is not None:
            try:
                self._connection.send(data)
            except OSError as error:
                log.warning("an upload broke off: %s", error)
                self.discard()

    def discard(self) -> None:
        """Break it off: the server keeps nothing of it."""
        self._connection = None
        self._link.close()

    def finish(self) -> Reply:
        """The server's own answer; 503 when it went away, so that the client sends it again."""
        if self._connection is not None:
            try:
                response = self._connection.getresponse()
                kind = {"content-type": response.getheader("content-type") or "application/json"}
                return Reply(response.status, response.read(), kind)
            except (OSError, http.client.HTTPException) as error:
                log.warning("an upload was not answered: %s", error)
            finally:
                self.discard()
        return error_reply(503, "TEMPORARILY_UNAVAILABLE", "The tracking server went away", RETRY_SOON)


# ---------------------------------------------------------------- paths and bodies


def _mlflow_path(path: str) -> str:
    for prefix in MLFLOW_PREFIXES:
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return ""


def _artifact_path(path: str) -> str:
    for prefix in ARTIFACT_PREFIXES:
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return ""


def _path_problem(path: str) -> str:
    """Why the server would refuse this artifact path, or an empty text."""
    for _ in range(10):  # nobody gets through by encoding twice
        decoded = unquote(path)
        if decoded == path:
            break
        path = decoded
    if not path or path.startswith("/") or "\\" in path or "#" in path or "\0" in path:
        return "it is empty, absolute, or holds a character that paths may not have"
    if any(part in {"", ".", ".."} for part in path.removesuffix("/").split("/")):
        return "it has empty or dotted parts"
    if len(path) > 4096 or any(len(part.encode()) > 255 for part in path.split("/")):
        return "it is too long"
    return ""


def _is_json(head: Head) -> bool:
    return head.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


_STRICT = {path: msgspec.json.Decoder(message.kind) for path, message in wire.WRITES.items()}


def _decode(path: str, body: bytes) -> _Write:
    """Raises `InvalidParameterValue` as the server would. A body that is not plain JSON is written anew."""
    try:
        return _Write(path, _STRICT[path].decode(body), body)
    except (msgspec.MsgspecError, RecursionError):
        message = wire.WRITES[path].decode(body)
        return _Write(path, message, msgspec.json.encode(_plain(msgspec.to_builtins(message))))


def _plain(value: Any) -> Any:
    """JSON values, with NaN and infinities as the texts that the wire knows."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None and item != ""}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _pieces(link: Link, response: Any) -> Iterator[bytes]:
    complete = False
    try:
        while piece := response.read(STREAM_BYTES):
            yield piece
        complete = True
    finally:
        if not complete:
            link.close()


# ---------------------------------------------------------------- new runs

_ADJECTIVES = (
    "able",
    "bold",
    "calm",
    "deft",
    "eager",
    "fair",
    "glad",
    "keen",
    "merry",
    "proud",
    "rare",
    "wise",
)
_NOUNS = (
    "bass",
    "crow",
    "deer",
    "elk",
    "finch",
    "hare",
    "koi",
    "lark",
    "mink",
    "newt",
    "owl",
    "perch",
    "seal",
)


def _name_of_new_run(given: str, tags: Mapping[str, Tag]) -> str:
    tagged = tags[RUN_NAME_TAG].value if RUN_NAME_TAG in tags else ""
    if given and tagged and given != tagged:
        raise InvalidParameterValue(
            "Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different values "
            f"(run_name='{given}', mlflow.runName='{tagged}')."
        )
    if given or tagged:
        return given or tagged
    return f"{random.choice(_ADJECTIVES)}-{random.choice(_NOUNS)}-{random.randrange(1000)}"  # noqa: S311


def _creation(info: RunInfo, tags: Any) -> dict[str, Any]:
    return {
        "run_id": info.run_id,
        "experiment_id": str(info.experiment_id),
        "user_id": info.user_id,
        "run_name": info.name,
        "start_time": info.start_ms,
        "tags": [{"key": tag.key, "value": tag.value} for tag in tags],
    }


def _guessed_info(run_id: str, status: RunStatus | None, update: wire.UpdateRun) -> RunInfo:
    """For a run of another job that is updated while the server is away."""
    return RunInfo(
        run_id=run_id,
        experiment_id=0,
        name=update.run_name,
        user_id="",
        status=status or RunStatus.RUNNING,
        start_ms=None,
        end_ms=update.end_time,
        artifact_uri="",
        lifecycle=Lifecycle.ACTIVE,
    )
