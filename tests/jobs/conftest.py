"""Jobs on a real database with an engine whose agents are played by the test."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contrail.blobs.store import BlobStore
from contrail.engines.base import Capacity, Condition, Gpu, Handle, NodeState, Placement
from contrail.jobs import Jobs
from contrail.logs import Logs
from contrail.model.jobs import AgentSpec, Cause, NodeExit
from contrail.model.settings import Settings
from contrail.store.database import Database
from contrail.tracking import Tracking
from contrail.wire.jobs import Heartbeat, HeartbeatAnswer, JobRunDetail, RelayAnswer, RelayItem, Submit

Key = tuple[int, int]


@dataclass
class Clock:
    """A clock that moves when told to; both as wall clock and as one that only runs on."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class ScriptedEngine:
    """An engine whose agents exist in a dict; it outlives the server like real agents do."""

    name: str = "local"
    nodes: int = 64
    gpus: tuple[Gpu, ...] = ()
    specs: dict[Key, AgentSpec] = field(default_factory=dict)
    states: dict[Key, NodeState] = field(default_factory=dict)
    stops: list[tuple[int, tuple[int, ...] | None, bool]] = field(default_factory=list)
    refuse: Exception | None = None
    can_revive: bool = False
    revived: list[Key] = field(default_factory=list)

    def capacity(self) -> Capacity:
        return Capacity(self.nodes, self.gpus)

    def handle(self, attempt_id: int, num_nodes: int) -> Handle:
        return {"attempt_id": attempt_id, "num_nodes": num_nodes}

    def place(self, placement: Placement) -> None:
        if self.refuse is not None:
            raise self.refuse
        for spec in placement.specs:
            key = (spec.attempt_id, spec.node)
            if key not in self.states:
                self.specs[key] = replace(spec, master_addr="127.0.0.1", master_port=1)
                self.states[key] = NodeState(spec.node, Condition.RUNNING)

    def observe(self, handles: Sequence[Handle]) -> list[list[NodeState]]:
        return [[self.state(handle, node) for node in range(handle["num_nodes"])] for handle in handles]

    def state(self, handle: Handle, node: int) -> NodeState:
        return self.states.get((handle["attempt_id"], node), NodeState(node, Condition.NOT_STARTED))

    def revive(self, handle: Handle, node: int) -> bool:
        self.revived.append((handle["attempt_id"], node))
        return self.can_revive

    def stop(self, handle: Handle, *, nodes: Sequence[int] | None = None, kill: bool) -> None:
        attempt_id = handle["attempt_id"]
        self.stops.append((attempt_id, None if nodes is None else tuple(nodes), kill))
        for node in range(handle["num_nodes"]) if nodes is None else nodes:
            if kill and self.state(handle, node).condition is Condition.RUNNING:
                self.states[attempt_id, node] = NodeState(node, Condition.LOST)

    def forget(self, handle: Handle) -> None:
        pass

    def vanish(self, attempt_id: int, node: int, end: NodeExit | None = None) -> None:
        """The agent is gone, with or without an exit record."""
        self.states[attempt_id, node] = NodeState(node, Condition.EXITED if end else Condition.LOST, end)


class Workplace:
    """One data folder with an engine; `jobs` can be thrown away and opened again like a server."""

    def __init__(self, folder: Path, **settings: Any):
        folder.mkdir(parents=True, exist_ok=True)
        given = {"data_dir": str(folder), "durability": "process", "retry_delay_s": 5, **settings}
        self.settings = Settings(given, environ={})
        self.clock = Clock()
        self.engine = ScriptedEngine()
        self._seqs: dict[Key, int] = {}
        self.open()

    def open(self) -> None:
        self.database = Database.open(self.settings.store_address, durability="process")
        blobs = BlobStore(self.settings)
        self.tracking = Tracking(self.database, self.settings, self.clock)
        self.logs = Logs(self.database, blobs, self.settings, self.clock)
        self.jobs = Jobs(
            self.database,
            self.tracking,
            self.logs,
            blobs,
            self.settings,
            engines={"local": self.engine},
            server_address=lambda: "http://127.0.0.1:1",
            clock=self.clock,
            monotonic=self.clock,
        )

    def restart(self) -> None:
        """A new server process on the same folder."""
        self.close()
        self.open()

    def close(self) -> None:
        self.database.close()

    # ------------------------------------------------ the server's side

    def submit(self, text: str | None = None, **fields: Any) -> int:
        return self.jobs.submit(Submit(text or workload(), **fields)).job_run_id

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.jobs.supervisor.step()

    def job(self, job_run_id: int) -> JobRunDetail:
        return self.jobs.get(job_run_id)

    def run_status(self, run_id: str) -> str:
        return self.tracking.runs.get(run_id).info.status.name

    # ------------------------------------------------ the agents' side

    def says(self, attempt_id: int, node: int = 0, state: str = "RUNNING", **fields: Any) -> HeartbeatAnswer:
        return self.jobs.agents.heartbeat(attempt_id, node, Heartbeat(state, **fields))

    def relays(self, attempt_id: int, node: int, *items: tuple[str, str, Any]) -> RelayAnswer:
        """Send (kind, path, body) as the next items of the node's spool."""
        first = self._seqs.get((attempt_id, node), 0) + 1
        self._seqs[attempt_id, node] = first + len(items) - 1
        return self.jobs.agents.relay(
            attempt_id,
            node,
            [
                RelayItem(first + index, kind, path, msgspec.Raw(msgspec.json.encode(body)))
                for index, (kind, path, body) in enumerate(items)
            ],
        )

    def exits(self, attempt_id: int, node: int = 0, code: int = 0, cause: Cause = Cause.EXIT_CODE) -> None:
        """The command of a node ends and its agent delivers that and leaves."""
        end = NodeExit(code, cause, ended_ms=int(self.clock() * 1000))
        self.relays(attempt_id, node, ("exit", "", end))
        self.engine.vanish(attempt_id, node, end)


def workload(nodes: int = 1, retries: int = 0, accelerator: str = "CPU", more: str = "") -> str:
    """The YAML of a small workload."""
    return (
        f"experiment_name: small\ncompute: {{accelerator_type: {accelerator}, num_accelerators: {nodes}}}\n"
        f"command: train\nmax_retries: {retries}\n{more}"
    )


@pytest.fixture(name="workload")
def _workload() -> Callable[..., str]:
    """Makes the YAML of a small workload."""
    return workload


@pytest.fixture
def make_workplace(tmp_path: Path) -> Iterator[Callable[..., Workplace]]:
    """Workplaces with chosen settings."""
    made: list[Workplace] = []

    def make(**settings: Any) -> Workplace:
        made.append(Workplace(tmp_path / f"data-{len(made)}", **settings))
        return made[-1]

    yield make
    for place in made:
        place.close()


@pytest.fixture
def place(make_workplace: Callable[..., Workplace]) -> Workplace:
    """A workplace."""
    return make_workplace()


class Api:
    """The jobs API of a live server."""

    def __init__(self, server: Any):
        self.server = server

    def call(self, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
        """Status and decoded JSON of one request; `body` is sent as it is when it is bytes."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.server.url}/api/contrail/v1/{path}", data=data, method=method
        )
        request.add_header("Content-Type", "application/json")
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, _json(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _json(error.read())

    def submit(self, text: str, **fields: Any) -> int:
        status, answer = self.call("POST", "job-runs", {"workload": text, **fields})
        assert status == 200, answer
        return answer["job_run_id"]

    def job(self, job_run_id: int) -> dict[str, Any]:
        return self.call("GET", f"job-runs/{job_run_id}")[1]

    def wait(
        self, job_run_id: int, what: Callable[[dict[str, Any]], Any], timeout_s: float = 40
    ) -> dict[str, Any]:
        """The job run as soon as `what` is true of it."""
        return wait_for(
            lambda: (job := self.job(job_run_id)) and what(job) and job,
            timeout_s,
            lambda: self.job(job_run_id),
        )

    def end(self, job_run_id: int, timeout_s: float = 40) -> dict[str, Any]:
        """The job run once it is over."""
        return self.wait(job_run_id, lambda job: job["state"] in {"TERMINATED", "INTERNAL_ERROR"}, timeout_s)

    def text(self, job_run_id: int, attempt: int = 0, node: int = 0) -> str:
        """The raw log of one node."""
        path = f"/api/contrail/v1/job-runs/{job_run_id}/logs/download?raw=1&attempt={attempt}&node={node}"
        return self.server.get(path).decode()

    def wait_text(self, job_run_id: int, wanted: str, attempt: int = 0, node: int = 0) -> str:
        """The raw log of one node once `wanted` is in it."""
        return wait_for(
            lambda: (text := self._text_or_none(job_run_id, attempt, node)) and wanted in text and text
        )

    def _text_or_none(self, job_run_id: int, attempt: int, node: int) -> str | None:
        try:
            return self.text(job_run_id, attempt, node)
        except urllib.error.HTTPError:
            return None


def wait_for(
    condition: Callable[[], Any], timeout_s: float = 40, shown: Callable[[], Any] = lambda: ""
) -> Any:
    """The first true value of `condition`."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited for {timeout_s} s; {shown()}"
        time.sleep(0.05)
    return value


def _json(body: bytes) -> Any:
    return json.loads(body) if body else None


@pytest.fixture(name="wait_for")
def _wait_for() -> Callable[..., Any]:
    """Waits for a condition."""
    return wait_for


@pytest.fixture
def api(server: Any) -> Api:
    """The jobs API of a server of this test's own."""
    return Api(server)


@pytest.fixture
def shared_api(shared_server: Any) -> Api:
    """The jobs API of the shared server."""
    return Api(shared_server)


@pytest.fixture
def make_api(make_server: Callable[..., Any]) -> Callable[..., Api]:
    """The jobs API of a server with chosen settings."""
    return lambda **environ: Api(make_server(**environ))


@pytest.fixture
def workplace_class() -> type[Workplace]:
    """For tests that make many workplaces."""
    return Workplace
