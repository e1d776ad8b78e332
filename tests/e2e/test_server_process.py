"""The server as a process: starting, announcing itself, refusing, ending."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

MEMORY_IDLE_MAX_KIB = 150 * 1024


def _refused(*options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "contrail", "server", *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_one_line_says_where_it_is(server: Any) -> None:
    """The ready line holds the address and the folder; the folder holds the address for others."""
    assert server.ready_line == f"Contrail is ready at {server.url} (data in {server.data_dir})"
    assert server.get("/health") == b"OK"
    assert (server.data_dir / "server.json").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(server: Any, number: signal.Signals) -> None:
    """SIGTERM and Ctrl-C end the server with status 0 and take the announcement away; followers do not hold it up."""
    follower = threading.Thread(target=_follow, args=(server.url,), daemon=True)
    follower.start()
    assert server._end(number) == 0
    assert not (server.data_dir / "server.json").exists()
    assert "Traceback" not in server.log


def _follow(url: str) -> None:
    try:
        with urllib.request.urlopen(f"{url}/api/contrail/v1/job-runs/1/logs/follow", timeout=30) as stream:
            stream.read()
    except OSError:
        pass


def test_idle_memory_is_small(server: Any) -> None:
    """An idle server stays below 150 MiB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert resident < MEMORY_IDLE_MAX_KIB


def test_a_second_server_on_the_folder_names_the_first(server: Any) -> None:
    """One server per folder; the refusal says which process has it and where."""
    error = _refused("--port", "0", "--data-dir", str(server.data_dir))
    assert server.url in error
    assert str(server.process.pid) in error


def test_a_taken_port_is_one_sentence(server: Any, tmp_path: Path) -> None:
    """A port in use is named, with the way out."""
    error = _refused("--port", str(server.port), "--data-dir", str(tmp_path / "other"))
    assert str(server.port) in error
    assert "--port" in error


def test_an_open_address_is_refused_without_sign_in(tmp_path: Path) -> None:
    """Whoever listens for others needs users first."""
    assert "sign-in" in _refused("--host", "0.0.0.0", "--port", "0", "--data-dir", str(tmp_path / "open"))


def test_data_is_there_after_an_orderly_restart(server: Any) -> None:
    """What one server stored, the next one has."""
    client = MlflowClient(server.url)
    run_id = client.create_run("0").info.run_id
    client.log_metric(run_id, "loss", 0.5, step=3)
    server.restart()
    assert client.get_run(run_id).data.metrics == {"loss": 0.5}


@pytest.mark.parametrize(
    "store", ["foo://x", "notaurl", "sqlite:////nonexistent/x.db", "sqlite:////etc/passwd"]
)
def test_an_unusable_store_is_one_sentence(tmp_path: Path, store: str) -> None:
    """A database that cannot be opened is named, with the form that --store takes."""
    error = _refused("--port", "0", "--data-dir", str(tmp_path / "data"), "--store", store)
    assert "cannot be opened" in error
    assert "--store" in error
