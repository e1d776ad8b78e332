"""Fixtures that all tests share: a clean environment and live servers."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

START_S = 30
DEMO_EPOCHS = 12
DIGITS = Path(__file__).resolve().parents[1] / "examples" / "digits" / "train.yaml"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No setting of the developer's shell reaches a test, and no test reaches the developer's data folder."""
    for name in list(os.environ):
        if name.startswith(("CONTRAIL_", "MLFLOW_", "DATABRICKS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CONTRAIL_DATA_DIR", str(tmp_path_factory.getbasetemp() / "unused-data-dir"))


class LiveServer:
    """A `contrail server` process on its own data folder."""

    def __init__(self, data_dir: Path, environ: dict[str, str] | None = None):
        self.data_dir = data_dir
        self.environ = {**_server_environment(), **(environ or {})}
        self.process: subprocess.Popen[str] | None = None
        self.port = 0
        self.ready_line = ""
        self._lines: queue.Queue[str] = queue.Queue()

    @property
    def url(self) -> str:
        """Address without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What the server wrote to its standard error so far."""
        return self._log_path.read_text(errors="replace")

    @property
    def _log_path(self) -> Path:
        return self.data_dir.with_name(self.data_dir.name + ".log")

    def start(self) -> LiveServer:
        """Start (again) on the same port; returns when the server has said that it is ready."""
        command = [
            sys.executable,
            "-m",
            "contrail",
            "server",
            "--port",
            str(self.port),
            "--data-dir",
            str(self.data_dir),
        ]
        with self._log_path.open("a") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self.environ,
                start_new_session=True,
            )
        self._lines = queue.Queue()
        threading.Thread(target=self._pump, args=(self.process, self._lines), daemon=True).start()
        try:
            self.ready_line = self._lines.get(timeout=START_S)
        except queue.Empty:
            self.kill()
            raise AssertionError(f"the server did not get ready:\n{self.log}") from None
        assert self.ready_line, f"the server ended at once:\n{self.log}"
        self.port = int(self.ready_line.split("http://127.0.0.1:")[1].split()[0])
        return self

    @staticmethod
    def _pump(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line.rstrip("\n"))
        lines.put("")

    def stop(self) -> int:
        """Ask the server to stop, wait, return its exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """kill -9."""
        return self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(timeout=30)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status

    def restart(self) -> LiveServer:
        """Stop and start on the same port."""
        self.stop()
        return self.start()

    def get(self, path: str) -> bytes:
        """Body of a GET on this server; raises for a status that is not 2xx."""
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            body: bytes = answer.read()
            return body

    def close(self) -> None:
        """End the server and every agent of its data folder."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        _end_agents(self.data_dir)


def _end_agents(data_dir: Path) -> None:
    """Agents outlive their server to deliver what they hold; a test's agents have nobody to deliver to."""
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or [""]
        if "contrail.agent" in command and command[-1].startswith(f"{data_dir}/"):
            process.terminate()


@pytest.fixture
def stop_started() -> Callable[[Path], None]:
    """Ends the server that a command started on a data folder, and its agents."""

    def stop(data_dir: Path) -> None:
        server = psutil.Process(int(json.loads((data_dir / "server.json").read_text())["pid"]))
        server.terminate()
        server.wait(timeout=30)  # until then it may start another agent
        _end_agents(data_dir)

    return stop


def _server_environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CONTRAIL_", "MLFLOW_", "DATABRICKS_"))}
    return {
        **kept,
        "CONTRAIL_SYSTEM_METRICS_INTERVAL_S": "1",
        "CONTRAIL_RETRY_DELAY_S": "0.2",
        "CONTRAIL_HEARTBEAT_INTERVAL_S": "0.5",
    }


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., LiveServer]]:
    """Start servers with chosen settings: `make_server(CONTRAIL_CANCEL_GRACE_S="1")`."""
    servers: list[LiveServer] = []

    def make(**environ: str) -> LiveServer:
        server = LiveServer(tmp_path / f"server-{len(servers)}", environ)
        servers.append(server)
        return server.start()

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def server(make_server: Callable[..., LiveServer]) -> LiveServer:
    """A fresh server of this test's own."""
    return make_server()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One server for all tests that only add things under names of their own."""
    server = LiveServer(tmp_path_factory.mktemp("shared") / "data").start()
    yield server
    server.close()


@dataclass(frozen=True)
class Answer:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """`data` of the JSON envelope."""
        data: dict[str, Any] = json.loads(self.out)["data"]
        return data

    @property
    def events(self) -> list[dict[str, Any]]:
        """JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class Cli:
    """Runs `contrail …` against one server."""

    def __init__(self, server_url: str, cwd: Path):
        self.environ = {**os.environ, "CONTRAIL_SERVER": server_url, "NO_COLOR": "1"}
        self.cwd = cwd

    def __call__(self, *arguments: str, timeout_s: float = 150, check: bool = True) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "contrail", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=self.cwd,
            env=self.environ,
            check=False,
        )
        answer = Answer(done.returncode, done.stdout, done.stderr)
        if check:
            assert answer.code == 0, (
                f"contrail {' '.join(arguments)}: {answer.code}\n{answer.out}\n{answer.err}"
            )
        return answer

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command and let it run."""
        return subprocess.Popen(
            [sys.executable, "-m", "contrail", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.cwd,
            env=self.environ,
        )


@pytest.fixture(scope="session")
def make_cli(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Cli]:
    """`make_cli(server_url)`."""
    return lambda url: Cli(url, tmp_path_factory.mktemp("cli"))


@dataclass(frozen=True)
class Demo:
    """The finished demo workload: where it ran, what `--watch -o json` said, and its job run."""

    server: LiveServer
    cli: Cli
    events: list[dict[str, Any]]
    job_run_id: str
    job: dict[str, Any]
    run_id: str
    epochs: int = DEMO_EPOCHS


@pytest.fixture(scope="session")
def demo(shared_server: LiveServer, make_cli: Callable[[str], Cli]) -> Demo:
    """The digits example, really trained once for all tests that look at it."""
    cli = make_cli(shared_server.url)
    override = f"parameters.epochs={DEMO_EPOCHS}"
    done = cli("run", "-f", str(DIGITS), "--override", override, "--watch", "-o", "json", timeout_s=280)
    job_run_id = done.events[-1]["data"]["run_id"]
    job = json.loads(shared_server.get(f"/api/contrail/v1/job-runs/{job_run_id}"))
    return Demo(shared_server, cli, done.events, job_run_id, job, job["attempts"][-1]["run_id"])
