"""How the command line and the SDK find the server, and start one on this machine where there is none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from contrail.client.http import ServerUnreachable
from contrail.model.errors import InvalidParameterValue
from contrail.model.settings import Settings

START_MAX_S = 30.0
HEALTH_MAX_S = 3.0
_POLL_S = 0.05
_LOG_TAIL_LINES = 3


@dataclass(frozen=True, slots=True)
class Found:
    """A server's address, and how it was found: `given`, `environment`, `running` or `started`."""

    address: str
    how: str


def find(
    settings: Settings,
    *,
    given: str | None = None,
    environ: Mapping[str, str] | None = None,
    start: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Found:
    """The server to talk to: the given one, CONTRAIL_SERVER, MLFLOW_TRACKING_URI, else the local one.

    The local one is the server of the data folder. With `start`, one is started there when none runs.
    Raises `ServerUnreachable` when there is none, `InvalidParameterValue` for an address that is none.
    """
    environ = os.environ if environ is None else environ
    if given or settings.server:
        return Found(_checked(given or settings.server), "given")
    tracking = environ.get("MLFLOW_TRACKING_URI", "")
    if tracking.startswith(("http://", "https://")):
        return Found(_checked(tracking), "environment")
    running = running_address(settings.data_path)
    if running:
        return Found(running, "running")
    if not start:
        raise ServerUnreachable(
            f"No Contrail server runs for {settings.data_path}. "
            "Start one with `contrail server`, or name one with --server or CONTRAIL_SERVER."
        )
    return Found(start_server(settings, say), "started")


def running_address(data_dir: Path) -> str | None:
    """Address of the server that runs on a data folder and answers, else None."""
    try:
        address = str(json.loads((data_dir / "server.json").read_bytes())["address"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return address if healthy(address) else None


def healthy(address: str) -> bool:
    """Whether a server answers there."""
    from urllib.request import ProxyHandler, build_opener  # slow to load, and a server itself asks nobody

    no_proxy = build_opener(ProxyHandler({}))  # these addresses are on this machine
    try:
        with no_proxy.open(f"{address}/health", timeout=HEALTH_MAX_S) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):  # also urllib's own errors, which are OSErrors
        return False


def start_server(settings: Settings, say: Callable[[str], None]) -> str:
    """Start a server of its own session on the data folder, wait until it answers, give its address."""
    folder = settings.data_path
    folder.mkdir(parents=True, exist_ok=True)
    log_file = folder / "server.log"
    say(f"Starting a Contrail server on this machine (data in {folder}, log in {log_file})")
    with log_file.open("ab") as log:
        process = _spawn(settings, log)
    address = _wait(process, folder, log_file)
    say(f"Contrail is ready at {address}; stop it with `kill {_pid(folder) or process.pid}`")
    return address


def _spawn(settings: Settings, log: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "CONTRAIL_DATA_DIR": str(settings.data_path)}
    if not _port_is_free(settings.host, settings.port):
        environment["CONTRAIL_PORT"] = "0"
    return subprocess.Popen(
        # -P: modules of the current folder must not get into the server
        [sys.executable, "-P", "-m", "contrail", "server"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C here must not end the server
        env=environment,
    )


def _port_is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _wait(process: subprocess.Popen[bytes], folder: Path, log_file: Path) -> str:
    until = time.monotonic() + START_MAX_S
    while time.monotonic() < until:
        address = running_address(folder)
        if address:
            return address
        if process.poll() is not None:
            time.sleep(_POLL_S)  # another server may hold the folder and be just about to answer
            address = _settled(folder)
            if address:
                return address
            raise ServerUnreachable(f"The server could not be started: {_tail(log_file)} (see {log_file})")
        time.sleep(_POLL_S)
    raise ServerUnreachable(f"The server did not answer within {START_MAX_S:.0f} seconds; see {log_file}")


def _settled(folder: Path) -> str | None:
    until = time.monotonic() + HEALTH_MAX_S
    while time.monotonic() < until:
        address = running_address(folder)
        if address:
            return address
        time.sleep(_POLL_S)
    return None


def _tail(log_file: Path) -> str:
    lines = log_file.read_text("utf-8", "replace").strip().splitlines()
    return " / ".join(lines[-_LOG_TAIL_LINES:])


def _pid(folder: Path) -> int | None:
    try:
        return int(json.loads((folder / "server.json").read_bytes())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _checked(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidParameterValue(f"'{address}' is not a server address; it looks like http://host:5050")
    return address.rstrip("/")
