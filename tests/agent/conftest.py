"""A small server that speaks the agent protocol, and agents as real processes against it."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from contrail.model.jobs import AgentSpec, NodeExit

WAIT_S = 60.0
TOKEN = "cta_test"
EXPERIMENT_ID = "7"


def wait_for(condition: Callable[[], Any], what: str, timeout_s: float = WAIT_S) -> Any:
    """The first true value of `condition`."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {timeout_s:g} s for {what}")


@dataclass
class NodeRecord:
    """What the stand-in has of one node."""

    log: bytearray = field(default_factory=bytearray)
    times_ns: list[int] = field(default_factory=list)
    relay_seq: int = 0
    items: list[dict[str, Any]] = field(default_factory=list)
    exit: dict[str, Any] | None = None
    log_bytes_at_exit: int = -1
    heartbeats: list[dict[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.log.decode(errors="replace")


class StandIn:
    """The server's side of the agent protocol, in memory. It can be away, slow, or refuse."""

    def __init__(self, server_file: Path):
        self.server_file = server_file
        self.lock = threading.RLock()
        self.nodes: dict[tuple[int, int], NodeRecord] = {}
        self.code: dict[str, bytes] = {}
        self.artifacts: dict[str, bytes] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.stop_cause: str | None = None
        self.grace_s = 1.0
        self.unknown_attempt = False
        self.delay_s = 0.0
        self.answer_lost_every = 0  # every n-th relay request is applied, but its answer gets lost
        self.refuse: Callable[[dict[str, Any]], str | None] = lambda _item: None
        self.requests: list[tuple[str, str]] = []
        self.posts = 0
        self._server: ThreadingHTTPServer | None = None
        self.back()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}"

    def back(self) -> None:
        """Listen (again, on another port) and announce the address."""
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        fresh = self.server_file.with_suffix(".new")
        fresh.write_text(json.dumps({"address": self.url, "pid": os.getpid()}))
        fresh.replace(self.server_file)

    def away(self) -> None:
        """Break all connections and refuse new ones."""
        assert self._server is not None
        self._server.shutdown()
        self._server.break_all()
        self._server.server_close()

    def node(self, attempt_id: int = 1, node: int = 0) -> NodeRecord:
        with self.lock:
            return self.nodes.setdefault((attempt_id, node), NodeRecord())

    def run(self, run_id: str) -> dict[str, Any]:
        with self.lock:
            return self.runs.setdefault(
                run_id,
                {"points": [], "params": {}, "tags": {}, "status": "RUNNING", "name": "", "refused": 0},
            )

    def points(self, run_id: str, key: str) -> list[tuple[int, float, int]]:
        """(step, value, timestamp) as they came."""
        with self.lock:
            return [
                (p["step"], p["value"], p["timestamp"]) for p in self.run(run_id)["points"] if p["key"] == key
            ]

    # ------------------------------------------------------------ applying

    def apply(self, path: str, body: dict[str, Any]) -> None:
        run = self.run(body.get("run_id") or body.get("run_uuid") or "")
        if path == "runs/log-metric":
            run["points"].append({"step": 0, **body})
        elif path == "runs/log-batch":
            run["points"] += [{"step": 0, **point} for point in body.get("metrics", [])]
            run["params"] |= {p["key"]: p["value"] for p in body.get("params", [])}
            run["tags"] |= {t["key"]: t["value"] for t in body.get("tags", [])}
        elif path == "runs/log-parameter":
            run["params"][body["key"]] = body["value"]
        elif path == "runs/set-tag":
            run["tags"][body["key"]] = body["value"]
        elif path == "runs/update":
            run["status"] = body.get("status", run["status"])
            run["name"] = body.get("run_name") or run["name"]
        elif path == "runs/create":
            run["name"] = body["run_name"]
            run["tags"] |= {t["key"]: t["value"] for t in body.get("tags", [])}

    def run_json(self, run_id: str) -> dict[str, Any]:
        run = self.run(run_id)
        latest = {p["key"]: p for p in sorted(run["points"], key=lambda p: (p["step"], p["timestamp"]))}
        return {
            "run": {
                "info": {
                    "run_id": run_id,
                    "run_uuid": run_id,
                    "experiment_id": EXPERIMENT_ID,
                    "run_name": run["name"],
                    "status": run["status"],
                    "user_id": "u",
                    "start_time": 1,
                    "artifact_uri": f"mlflow-artifacts:/{EXPERIMENT_ID}/{run_id}/artifacts",
                    "lifecycle_stage": "active",
                },
                "data": {
                    "metrics": [
                        {"key": k, "value": p["value"], "timestamp": p["timestamp"], "step": p["step"]}
                        for k, p in latest.items()
                    ],
                    "params": [{"key": k, "value": v} for k, v in run["params"].items()],
                    "tags": [{"key": k, "value": v} for k, v in run["tags"].items()],
                },
                "inputs": {},
            }
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *args: Any):
        self.open: set[Any] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def break_all(self) -> None:
        for request in list(self.open):
            with suppress(OSError):
                request.shutdown(2)
            request.close()

    def handle_error(self, *_: Any) -> None:
        pass


_AGENT = re.compile(r"/api/contrail/v1/agent/attempts/(\d+)/nodes/(\d+)/(\w+)")
_ARTIFACT = "/api/2.0/mlflow-artifacts/artifacts/"


def _handler(stand_in: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = self._body()
            url = urlsplit(self.path)
            found = _AGENT.fullmatch(url.path)
            time.sleep(stand_in.delay_s)
            with stand_in.lock:
                stand_in.requests.append(("POST", url.path))
                if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    return self._json(401, {"error_code": "UNAUTHENTICATED", "message": "no"})
                if found is None:
                    return self._mlflow_post(url.path, body)
                if stand_in.unknown_attempt:
                    error = {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no such attempt"}
                    return self._json(404, error)
                record = stand_in.node(int(found[1]), int(found[2]))
                return getattr(self, f"_{found[3]}")(record, body, parse_qs(url.query))

        def do_PUT(self) -> None:
            body = self._body()
            with stand_in.lock:
                stand_in.requests.append(("PUT", self.path))
                stand_in.artifacts[self.path.removeprefix(_ARTIFACT)] = body
            self._json(200, {})

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            with stand_in.lock:
                stand_in.requests.append(("GET", url.path))
                if url.path.startswith("/api/contrail/v1/code/"):
                    return self._bytes(200, stand_in.code[url.path.rpartition("/")[2]])
                if url.path.endswith("/runs/get"):
                    return self._json(200, stand_in.run_json(query["run_id"][0]))
                if url.path.endswith("/experiments/get"):
                    found = {
                        "experiment_id": EXPERIMENT_ID,
                        "name": "my-training",
                        "lifecycle_stage": "active",
                    }
                    return self._json(200, {"experiment": found})
                if url.path + "/" == _ARTIFACT:
                    return self._json(200, {"files": self._files(query["path"][0])})
                if url.path.startswith(_ARTIFACT):
                    return self._bytes(200, stand_in.artifacts[url.path.removeprefix(_ARTIFACT)])
                if url.path.endswith("/metrics/get-history"):
                    run = stand_in.run(query["run_id"][0])
                    points = [p for p in run["points"] if p["key"] == query["metric_key"][0]]
                    kept = [{k: p[k] for k in ("key", "value", "timestamp", "step")} for p in points]
                    return self._json(200, {"metrics": kept})
            return self._json(404, {"error_code": "ENDPOINT_NOT_FOUND", "message": url.path})

        def _files(self, folder: str) -> list[dict[str, Any]]:
            found = [name for name in stand_in.artifacts if name.rpartition("/")[0] == folder]
            return [
                {"path": name.rpartition("/")[2], "is_dir": False, "file_size": len(stand_in.artifacts[name])}
                for name in found
            ]

        def _mlflow_post(self, path: str, body: bytes) -> None:
            if path.endswith("/runs/search"):
                return self._json(200, {})
            stand_in.apply(path.partition("/mlflow/")[2], json.loads(body))
            return self._json(200, {})

        def _heartbeat(self, record: NodeRecord, body: bytes, _query: Any) -> None:
            record.heartbeats.append(json.loads(body))
            self._json(200, {"stop_cause": stand_in.stop_cause, "grace_s": stand_in.grace_s})

        def _logs(self, record: NodeRecord, body: bytes, query: dict[str, list[str]]) -> None:
            offset = int(query["offset"][0])
            if offset > len(record.log):
                error = {"error_code": "RESOURCE_CONFLICT", "message": "gap", "next_offset": len(record.log)}
                return self._json(409, error)
            at = 0
            while at < len(body):
                time_ns, length = struct.unpack_from("<qI", body, at)
                data = body[at + 12 : at + 12 + length]
                at += 12 + length
                fresh = data[max(0, len(record.log) - offset) :]
                offset += length
                if fresh:
                    record.log += fresh
                    record.times_ns.append(time_ns)
            return self._json(200, {"next_offset": len(record.log)})

        def _relay(self, record: NodeRecord, body: bytes, _query: Any) -> None:
            refused = []
            for item in json.loads(body)["items"]:
                if item["seq"] <= record.relay_seq:
                    continue
                record.relay_seq = item["seq"]
                reason = stand_in.refuse(item)
                if reason:
                    refused.append(
                        {"seq": item["seq"], "error_code": "INVALID_PARAMETER_VALUE", "message": reason}
                    )
                elif item["kind"] == "exit":
                    record.exit = item["body"]
                    record.log_bytes_at_exit = len(record.log)
                else:
                    record.items.append(item)
                    stand_in.apply(item["path"], item["body"])
            stand_in.posts += 1
            if stand_in.answer_lost_every and stand_in.posts % stand_in.answer_lost_every == 0:
                self.close_connection = True
                return None
            return self._json(200, {"applied_seq": record.relay_seq, "refused": refused})

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _json(self, status: int, content: Any) -> None:
            self._bytes(status, json.dumps(content).encode(), "application/json")

        def _bytes(self, status: int, content: bytes, kind: str = "application/octet-stream") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


class AgentProcess:
    """`python -m contrail.agent` on one work folder."""

    def __init__(self, spec: AgentSpec, environ: dict[str, str]):
        self.spec = spec
        self.work_dir = Path(spec.work_dir)
        self.environ = environ
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> AgentProcess:
        self.work_dir.mkdir(parents=True, exist_ok=True)
        spec_file = self.work_dir / "spec.json"
        spec_file.write_text(json.dumps(asdict(self.spec), ensure_ascii=False))  # as the engine does
        spec_file.chmod(0o600)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "contrail.agent", str(self.work_dir)],
            env=self.environ,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )
        return self

    def wait(self, timeout_s: float = WAIT_S) -> NodeExit:
        """Wait until the agent has left; its exit record."""
        assert self.process is not None
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the agent did not leave:\n{self.log}") from None
        assert self.process.returncode == 0, self.log
        return self.exit()

    def exit(self) -> NodeExit:
        return msgspec.json.decode((self.work_dir / "exit.json").read_bytes(), type=NodeExit)

    @property
    def log(self) -> str:
        path = self.work_dir / "agent.log"
        return path.read_text() if path.exists() else ""

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    """A server that speaks the agent protocol."""
    found = StandIn(tmp_path / "server.json")
    yield found
    with suppress(OSError):
        found.away()


@pytest.fixture
def agent(stand_in: StandIn, tmp_path: Path) -> Iterator[Callable[..., AgentProcess]]:
    """Makes agents: `agent(command, **spec fields)`; they are started, and ended with the test."""
    made: list[AgentProcess] = []
    run_id = uuid.uuid4().hex

    def make(
        command: str, *, start: bool = True, environ: dict[str, str] | None = None, **fields: Any
    ) -> AgentProcess:
        node = fields.get("node", 0)
        attempt_id = fields.get("attempt_id", 1)
        values: dict[str, Any] = {
            "attempt_id": attempt_id,
            "job_run_id": 11,
            "attempt_number": 0,
            "node": node,
            "num_nodes": 1,
            "local_world_size": 1,
            "master_addr": "127.0.0.1",
            "master_port": 29511,
            "server_address": stand_in.url,
            "server_file": str(stand_in.server_file),
            "token": TOKEN,
            "run_id": run_id,
            "run_name": "baseline",
            "experiment_id": EXPERIMENT_ID,
            "experiment_name": "my-training",
            "artifact_uri": f"mlflow-artifacts:/{EXPERIMENT_ID}/{run_id}/artifacts",
            "user": "kim",
            "command": command,
            "work_dir": str(tmp_path / f"attempt_{attempt_id}" / f"node_{node}"),
            "environments_dir": str(tmp_path / "environments"),
            "heartbeat_interval_s": 0.2,
            "metrics_interval_s": 10.0,
            "grace_s": 1.0,
            **fields,
        }
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("CONTRAIL_", "MLFLOW_"))}
        process = AgentProcess(AgentSpec(**values), inherited | (environ or {}))
        made.append(process)
        return process.start() if start else process

    yield make
    for process in made:
        if process.process is not None and process.process.poll() is None:
            os.killpg(process.process.pid, signal.SIGKILL)
            process.process.wait()


def same_float(a: Any, b: float) -> bool:
    """Whether a value on the wire is `b`."""
    return float(a) == b or (math.isnan(float(a)) and math.isnan(b))
