"""This machine as an engine: one detached agent process per node, found again after a server restart.

An agent is known by its number, its start time and the boot id, which it writes to `agent.json` in its work
folder; between its start and that record the engine's own `launch.json` stands in, and between the start and
`launch.json` a file lock that the agent inherits. So a server that is killed at any moment never starts a
second agent for a node.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from contrail.engines import gpus, processes
from contrail.engines.base import Capacity, Condition, Handle, NodeState, Placement
from contrail.engines.processes import Process
from contrail.model.errors import InternalError
from contrail.model.jobs import AgentSpec, Cause, NodeExit
from contrail.model.settings import Settings

log = logging.getLogger(__name__)

MASTER_ADDR = "127.0.0.1"
MARK = "CONTRAIL_WORK_DIR"  # the agent hands it to all that it starts, so that leftovers can be told apart
CAPACITY_KEPT_S = 10.0  # how long an answer of the GPU driver is used again
KILL_ROUNDS = 50  # a tree that forks while it is killed is killed again
KILL_PAUSE_S = 0.02
LAST_WORDS_BYTES = 4096
_PRIVATE = (
    "CONTRAIL_",
    "MLFLOW_",
    "DATABRICKS_",
)  # the server's own settings are not the workload's business


class LocalEngine:
    """Agents as processes of this machine; several nodes are simulated side by side."""

    name = "local"

    def __init__(
        self,
        settings: Settings,
        monotonic: Callable[[], float] = time.monotonic,
        agent: Sequence[str] = (sys.executable, "-m", "contrail.agent"),
    ):
        self._settings = settings
        self._root = settings.data_path / "attempts"
        self._monotonic = monotonic
        self._agent = agent  # the work folder is added
        self._declared = gpus.declared(settings.local_gpus) if settings.local_gpus else None
        self._capacity: tuple[float, Capacity] | None = None
        self._children: dict[Path, subprocess.Popen[bytes]] = {}  # only to reap them

    def capacity(self) -> Capacity:
        """The node slots of the settings and the GPUs of this machine."""
        now = self._monotonic()
        if self._capacity is None or now - self._capacity[0] > CAPACITY_KEPT_S:
            found = gpus.installed() if self._declared is None else self._declared
            self._capacity = (now, Capacity(self._settings.local_nodes_max, found))
        return self._capacity[1]

    def handle(self, attempt_id: int, num_nodes: int) -> Handle:
        """The work folders of the nodes."""
        return {"folders": [str(self._root / str(attempt_id) / f"node_{node}") for node in range(num_nodes)]}

    def place(self, placement: Placement) -> None:
        """Write every spec, then start every agent that was not started yet."""
        folders = _folders(self.handle(placement.attempt_id, len(placement.specs)))
        if not any(_was_started(folder) for folder in folders):
            port = _free_port()
            for folder, spec in zip(folders, placement.specs, strict=True):
                _write_spec(
                    folder, replace(spec, work_dir=str(folder), master_addr=MASTER_ADDR, master_port=port)
                )
        for folder in folders:
            if not _was_started(folder):
                self._start(folder)

    def observe(self, handles: Sequence[Handle]) -> list[list[NodeState]]:
        """Look at the process and the exit record of each node."""
        for child in list(self._children.values()):
            child.poll()
        return [
            [self._state(node, folder) for node, folder in enumerate(_folders(handle))] for handle in handles
        ]

    def revive(self, handle: Handle, node: int) -> bool:
        """Start the agent again in its old folder, where it only delivers what it had kept."""
        folder = _folders(handle)[node]
        if not (folder / "spec.json").exists() or _is_alive(folder):
            return False
        self._start(folder)
        return True

    def stop(self, handle: Handle, *, nodes: Sequence[int] | None = None, kill: bool) -> None:
        """SIGTERM the agents, which take their trees down; or SIGKILL agents, trees and whatever escaped."""
        for node, folder in enumerate(_folders(handle)):
            if nodes is not None and node not in nodes:
                continue
            if kill:
                self._kill(folder)
            elif (agent := _agent(folder)) is not None:
                processes.send(agent, signal.SIGTERM)

    def forget(self, handle: Handle) -> None:
        """Reap agents that have ended."""
        for folder in _folders(handle):
            child = self._children.get(folder)
            if child is not None and child.poll() is not None:
                del self._children[folder]

    def _state(self, node: int, folder: Path) -> NodeState:
        if _is_alive(folder):
            return NodeState(node, Condition.RUNNING)
        end = _read_exit(folder)
        if end is not None:
            return NodeState(node, Condition.EXITED, end)
        if _was_started(folder):
            return NodeState(node, Condition.LOST, detail=_last_words(folder))
        return NodeState(node, Condition.NOT_STARTED)

    def _start(self, folder: Path) -> None:
        with (folder / "launch.lock").open("w") as lock, (folder / "agent.log").open("ab") as output:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in {errno.EAGAIN, errno.EACCES}:
                    return  # an agent holds it: it was started just before the last server died
                raise
            child = subprocess.Popen(
                [*self._agent, str(folder)],
                cwd=folder,
                env=_environment(os.environ, folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=(lock.fileno(),),
            )
        self._children[folder] = child
        _record_launch(folder, child.pid)

    def _kill(self, folder: Path) -> None:
        """Agent first, so that it starts nothing more; then its tree; then what carries its mark."""
        for _ in range(KILL_ROUNDS):
            agent = _agent(folder)
            victims = [] if agent is None else [agent, *processes.descendants(agent.pid)]
            victims += [process for process in processes.marked(MARK, str(folder)) if process not in victims]
            if not processes.kill(victims):
                break
            time.sleep(KILL_PAUSE_S)
        else:
            log.warning("processes of %s do not die", folder)
        if (child := self._children.get(folder)) is not None:
            child.poll()


def _folders(handle: Handle) -> list[Path]:
    return [Path(folder) for folder in handle["folders"]]


def _environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if not name.startswith(_PRIVATE)}
    return {**kept, MARK: str(folder)}


def _write_spec(folder: Path, spec: AgentSpec) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write(folder / "spec.json", json.dumps(asdict(spec), ensure_ascii=False))


def _write(path: Path, text: str) -> None:
    """Whole or not at all, readable by the owner only."""
    partial = path.with_name(path.name + ".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _record_launch(folder: Path, pid: int) -> None:
    process = processes.find(pid)
    if process is None:  # it ended at once; what it left tells the rest
        process = Process(pid, 0, processes.boot_id())
    _write(folder / "launch.json", json.dumps(asdict(process)))


def _agent(folder: Path) -> Process | None:
    """The agent's process as recorded, alive or not. A launch that is newer than the agent's record counts."""
    return _alive_record(folder / "agent.json") or _alive_record(folder / "launch.json")


def _alive_record(path: Path) -> Process | None:
    try:
        record = json.loads(path.read_text())
        process = Process(int(record["pid"]), int(record["start_time"]), str(record["boot_id"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return process if processes.is_alive(process) else None


def _is_alive(folder: Path) -> bool:
    return _agent(folder) is not None or (not _has_record(folder) and _lock_is_held(folder))


def _has_record(folder: Path) -> bool:
    return (folder / "agent.json").exists() or (folder / "launch.json").exists()


def _was_started(folder: Path) -> bool:
    return _has_record(folder) or (folder / "exit.json").exists() or _lock_is_held(folder)


def _lock_is_held(folder: Path) -> bool:
    try:
        with (folder / "launch.lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _read_exit(folder: Path) -> NodeExit | None:
    with contextlib.suppress(FileNotFoundError):
        text = (folder / "exit.json").read_text()
        try:
            record = json.loads(text)
            return NodeExit(**{**record, "cause": Cause(record["cause"])})
        except (ValueError, KeyError, TypeError) as error:
            log.warning("%s/exit.json cannot be read: %s", folder, error)
    return None


def _last_words(folder: Path) -> str:
    """The last line that the agent itself wrote; says why when it could not even start."""
    with contextlib.suppress(OSError), (folder / "agent.log").open("rb") as output:
        output.seek(max(0, output.seek(0, os.SEEK_END) - LAST_WORDS_BYTES))
        lines = output.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


def _free_port() -> int:
    """A port that nothing listens on right now, for the rendezvous of the attempt."""
    with socket.socket() as probe:
        probe.bind((MASTER_ADDR, 0))
        port = probe.getsockname()[1]
    if not isinstance(port, int):
        raise InternalError(f"The system gave no port but {port!r}")
    return port
