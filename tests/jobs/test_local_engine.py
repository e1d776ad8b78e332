"""This machine as an engine, with a tiny agent that does what its spec says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contrail.engines import processes
from contrail.engines.base import Condition, Placement
from contrail.engines.local import LocalEngine
from contrail.model.jobs import AgentSpec, Cause
from contrail.model.settings import Settings

# Writes who it is, then runs its spec's command; on SIGTERM it leaves an exit record.
AGENT = """
import json, os, pathlib, signal, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])
spec = json.loads((folder / "spec.json").read_text())
with (folder / "lives").open("a") as lives:
    lives.write(f"{os.getpid()}\\n")
if spec["command"] == "crash":
    sys.exit("no luck today")
stat = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
record = {"pid": os.getpid(), "start_time": int(stat[19]), "boot_id": boot_id}
def leave(code):
    (folder / "exit.json").write_text(json.dumps({"exit_code": code, "cause": "exit_code", "ended_ms": 1}))
    os._exit(0)
signal.signal(signal.SIGTERM, lambda *_: leave(143))
if spec["command"] == "family":
    sleep = "import time; time.sleep(1000)"
    start = f"subprocess.Popen([sys.executable, '-c', '{sleep}'], start_new_session=True)"
    subprocess.Popen([sys.executable, "-c", f"import subprocess, sys; {start}; {sleep}"])
(folder / "environ").write_text("\\n".join(os.environ))
(folder / "agent.json").write_text(json.dumps(record))
if spec["command"] == "end":
    leave(7)
while True:
    time.sleep(0.02)
"""


@pytest.fixture
def make_engine(tmp_path: Path) -> Iterator[Callable[[], LocalEngine]]:
    """Engines on one data folder, like those of a server that is started again."""
    (tmp_path / "agent.py").write_text(AGENT)
    settings = Settings({"data_dir": str(tmp_path / "data"), "local_gpus": "2xA10"}, environ={})
    engines: list[LocalEngine] = []

    def make() -> LocalEngine:
        engines.append(LocalEngine(settings, agent=(sys.executable, str(tmp_path / "agent.py"))))
        return engines[-1]

    yield make
    for engine in engines:
        for attempt in range(1, 4):
            engine.stop(engine.handle(attempt, 2), kill=True)


@pytest.fixture
def engine(make_engine: Callable[[], LocalEngine]) -> LocalEngine:
    """An engine."""
    return make_engine()


def _placement(command: str = "run", attempt: int = 1, nodes: int = 2) -> Placement:
    def spec(node: int) -> AgentSpec:
        return AgentSpec(
            attempt_id=attempt,
            job_run_id=1,
            attempt_number=0,
            node=node,
            num_nodes=nodes,
            local_world_size=1,
            master_addr="",
            master_port=0,
            server_address="http://127.0.0.1:1",
            token="secret",
            run_id="r",
            run_name="r",
            experiment_id="0",
            experiment_name="e",
            artifact_uri="a",
            user="u",
            command=command,
            work_dir="",
            environments_dir="",
            heartbeat_interval_s=1,
            metrics_interval_s=1,
            grace_s=1,
        )

    return Placement(attempt, tuple(spec(node) for node in range(nodes)))


def _conditions(engine: LocalEngine, attempt: int = 1) -> list[Condition]:
    return [state.condition for state in engine.observe([engine.handle(attempt, 2)])[0]]


def _folder(engine: LocalEngine, node: int = 0, attempt: int = 1) -> Path:
    return Path(engine.handle(attempt, 2)["folders"][node])


def _started(engine: LocalEngine) -> bool:
    return all((_folder(engine, node) / "agent.json").exists() for node in range(2))


def test_one_agent_per_node_with_its_spec(engine: LocalEngine, wait_for: Callable) -> None:
    """Specs are private, share one rendezvous, and agents outlive whoever started them."""
    assert _conditions(engine) == [Condition.NOT_STARTED] * 2
    engine.place(_placement())
    wait_for(lambda: _started(engine))
    assert _conditions(engine) == [Condition.RUNNING] * 2
    specs = [json.loads((_folder(engine, node) / "spec.json").read_text()) for node in range(2)]
    assert {spec["master_addr"] for spec in specs} == {"127.0.0.1"}
    assert len({spec["master_port"] for spec in specs}) == 1
    assert [spec["work_dir"] for spec in specs] == [str(_folder(engine, node)) for node in range(2)]
    assert (_folder(engine) / "spec.json").stat().st_mode & 0o777 == 0o600
    pid = json.loads((_folder(engine) / "agent.json").read_text())["pid"]
    assert os.getsid(pid) == pid


def test_the_servers_own_settings_stay_with_the_server(
    engine: LocalEngine, wait_for: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database address may hold a password."""
    monkeypatch.setenv("CONTRAIL_STORE_URL", "postgresql://user:password@host/db")
    engine.place(_placement())
    wait_for(lambda: _started(engine))
    names = (_folder(engine) / "environ").read_text().split("\n")
    assert "CONTRAIL_STORE_URL" not in names
    assert "PATH" in names


def test_placing_again_starts_nothing_twice(
    engine: LocalEngine, make_engine: Callable[[], LocalEngine], wait_for: Callable
) -> None:
    """Idempotent, also for the next server, and also before the agent has said who it is."""
    engine.place(_placement())
    (_folder(engine) / "launch.json").unlink()  # as if the server had been killed right after the start
    for again in (engine, make_engine()):
        again.place(_placement())
    wait_for(lambda: _started(engine))
    make_engine().place(_placement())
    assert [len((_folder(engine, node) / "lives").read_text().split()) for node in range(2)] == [1, 1]


def test_another_engine_finds_the_agents_again(
    engine: LocalEngine, make_engine: Callable[[], LocalEngine], wait_for: Callable
) -> None:
    """By number, start time and boot: what only reuses the number is somebody else."""
    engine.place(_placement())
    wait_for(lambda: _started(engine))
    later = make_engine()
    assert _conditions(later) == [Condition.RUNNING] * 2
    for name in ("agent.json", "launch.json"):
        record = _folder(engine, 1) / name
        record.write_text(json.dumps({**json.loads(record.read_text()), "start_time": 5}))
    assert _conditions(later) == [Condition.RUNNING, Condition.LOST]


def test_an_agent_that_ended_left_its_record(engine: LocalEngine, wait_for: Callable) -> None:
    """The exit record is read when the agent is gone."""
    engine.place(_placement("end"))
    wait_for(lambda: _conditions(engine) == [Condition.EXITED] * 2)
    (state, _) = engine.observe([engine.handle(1, 2)])[0]
    assert state.exit is not None
    assert (state.exit.exit_code, state.exit.cause) == (7, Cause.EXIT_CODE)


def test_an_agent_that_could_not_start_says_why(engine: LocalEngine, wait_for: Callable) -> None:
    """Its last words come along."""
    engine.place(_placement("crash"))
    wait_for(lambda: _conditions(engine) == [Condition.LOST] * 2)
    assert engine.observe([engine.handle(1, 2)])[0][0].detail == "no luck today"


def test_a_record_that_is_torn_is_no_record(engine: LocalEngine, wait_for: Callable) -> None:
    """Half a file after a power cut: the node is lost, nothing breaks."""
    engine.place(_placement("end"))
    wait_for(lambda: _conditions(engine) == [Condition.EXITED] * 2)
    (_folder(engine) / "exit.json").write_text('{"exit_code": 0, "cau')
    assert _conditions(engine) == [Condition.LOST, Condition.EXITED]


def test_stopping_asks_and_killing_does_not(engine: LocalEngine, wait_for: Callable) -> None:
    """SIGTERM lets the agent finish; with `kill` it and whatever it started is gone, other sessions included."""
    engine.place(_placement("family"))
    wait_for(lambda: _started(engine))
    engine.stop(engine.handle(1, 2), nodes=[0], kill=False)
    wait_for(lambda: _conditions(engine) == [Condition.EXITED, Condition.RUNNING])
    agent = json.loads((_folder(engine, 1) / "agent.json").read_text())["pid"]
    family = wait_for(lambda: len(found := processes.descendants(agent)) == 2 and found)
    engine.stop(engine.handle(1, 2), kill=True)
    assert not any(processes.is_alive(process) for process in family)
    assert _conditions(engine) == [Condition.EXITED, Condition.LOST]
    engine.stop(engine.handle(1, 2), kill=True)


def test_what_a_killed_agent_left_is_found_by_its_mark(engine: LocalEngine, wait_for: Callable) -> None:
    """Orphans in sessions of their own are killed; a neighbour is not."""
    engine.place(_placement("family"))
    engine.place(_placement("family", attempt=2))
    wait_for(lambda: _started(engine))
    family = {}
    for attempt in (1, 2):
        record = _folder(engine, 0, attempt) / "agent.json"
        agent = json.loads(wait_for(lambda record=record: record.exists() and record.read_text()))["pid"]
        family[attempt] = wait_for(
            lambda agent=agent: len(found := processes.descendants(agent)) == 2 and found
        )
    os.kill(json.loads((_folder(engine) / "agent.json").read_text())["pid"], signal.SIGKILL)
    wait_for(lambda: _conditions(engine)[0] is Condition.LOST)
    assert any(processes.is_alive(process) for process in family[1])
    engine.stop(engine.handle(1, 2), nodes=[0], kill=True)
    assert not any(processes.is_alive(process) for process in family[1])
    assert all(processes.is_alive(process) for process in family[2])


def test_an_agent_can_be_started_again_to_deliver(engine: LocalEngine, wait_for: Callable) -> None:
    """Only when it is gone."""
    engine.place(_placement())
    wait_for(lambda: _started(engine))
    handle = engine.handle(1, 2)
    assert not engine.revive(handle, 0)
    engine.stop(handle, nodes=[0], kill=True)
    assert engine.revive(handle, 0)
    wait_for(lambda: len((_folder(engine) / "lives").read_text().split()) == 2)


def test_a_process_is_not_its_number(tmp_path: Path) -> None:
    """A signal for a process that is gone reaches nobody."""
    child = subprocess.Popen(["sleep", "1000"])
    process = processes.find(child.pid)
    assert process is not None
    stranger = processes.Process(child.pid, process.start_time - 1, process.boot_id)
    assert not processes.send(stranger, signal.SIGKILL)
    assert processes.is_alive(process)
    assert processes.send(process, signal.SIGKILL)
    child.wait()
    assert not processes.send(process, signal.SIGKILL)
    assert processes.find(child.pid) is None


def test_declared_gpus_are_the_capacity(engine: LocalEngine) -> None:
    """`local_gpus` stands in for a driver."""
    assert [gpu.name for gpu in engine.capacity().gpus] == ["A10", "A10"]
