"""kill -9 under concurrent writes: every answered write is there afterwards, exactly once.

Usage: python tests/faults/kill_loop.py [--rounds 100]

Each round several writers send single points, batches, params and tags to a live server which is killed at a
random moment. After its restart everything that was answered must be there, and nothing may be there twice.
Writes that were under way when the server died may be there or not; they are sent again, as clients do.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WRITERS = 6
BATCH_POINTS = 50


@dataclass
class Ledger:
    """What one writer was told is stored, and the one write whose answer it never saw."""

    run_id: str
    points: list[tuple[str, int, float]] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    unanswered: tuple[str, dict[str, Any]] | None = None
    sent: int = 0


class Server:
    """A server process on one folder and port."""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start and wait for the ready line."""
        command = [
            sys.executable,
            "-m",
            "contrail",
            "server",
            "--port",
            str(self.port),
            "--data-dir",
            str(self.folder),
        ]
        with (self.folder.parent / "server.log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http://" in line, f"no ready line: {(self.folder.parent / 'server.log').read_text()[-2000:]}"
        self.port = int(line.split("http://127.0.0.1:")[1].split()[0])

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def call(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
    """One request; raises OSError or HTTPException when the server dies under it."""
    data = None if body is None else json.dumps(body)
    connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, f"{method} {path}: {answer.status} {content[:300]!r}"
    return json.loads(content)


def next_write(ledger: Ledger, generator: random.Random) -> tuple[str, dict[str, Any]]:
    """A write that no other write of this ledger repeats."""
    ledger.sent += 1
    number = ledger.sent
    point = {
        "key": f"m{number % 7}",
        "value": generator.random(),
        "timestamp": 1_700_000_000_000 + number,
        "step": number,
    }
    kind = generator.choice(["point", "point", "batch", "param", "tag"])
    if kind == "point":
        return "runs/log-metric", {"run_id": ledger.run_id, **point}
    if kind == "param":
        return "runs/log-parameter", {
            "run_id": ledger.run_id,
            "key": f"p{number}",
            "value": str(generator.random()),
        }
    if kind == "tag":
        return "runs/set-tag", {"run_id": ledger.run_id, "key": f"t{number % 20}", "value": str(number)}
    points = [{**point, "key": f"b{i % 5}", "step": number * BATCH_POINTS + i} for i in range(BATCH_POINTS)]
    params = [{"key": f"bp{number}", "value": "x"}]
    return "runs/log-batch", {"run_id": ledger.run_id, "metrics": points, "params": params}


def book(ledger: Ledger, path: str, body: dict[str, Any]) -> None:
    """Note an answered write."""
    if path == "runs/log-metric":
        ledger.points.append((body["key"], body["step"], body["value"]))
    elif path == "runs/log-parameter":
        ledger.params[body["key"]] = body["value"]
    elif path == "runs/set-tag":
        ledger.tags[body["key"]] = body["value"]
    else:
        ledger.points.extend((m["key"], m["step"], m["value"]) for m in body["metrics"])
        ledger.params.update({p["key"]: p["value"] for p in body["params"]})


def write_until_dead(port: int, ledger: Ledger, seed: int, dead: threading.Event) -> None:
    """Send writes until the server dies; first send again what was never answered."""
    generator = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        while True:
            path, body = ledger.unanswered or next_write(ledger, generator)
            ledger.unanswered = (path, body)
            call(connection, "POST", f"/api/2.0/mlflow/{path}", body)
            book(ledger, path, body)
            ledger.unanswered = None
    except (OSError, http.client.HTTPException):
        assert dead.wait(30), "the connection broke although nobody killed the server"
    finally:
        connection.close()


def verify(port: int, ledger: Ledger) -> int:
    """Compare what is stored with the ledger; returns how many points were checked."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    run = call(connection, "GET", f"/api/2.0/mlflow/runs/get?run_id={ledger.run_id}")["run"]
    data = run["data"]
    stored_params = {p["key"]: p["value"] for p in data.get("params", [])}
    stored_tags = {t["key"]: t["value"] for t in data.get("tags", [])}
    missing = {k: v for k, v in ledger.params.items() if stored_params.get(k) != v}
    assert not missing, f"answered params are gone: {missing}"
    maybe_tag = (ledger.unanswered or ("", {}))[1].get("key")
    lost = {k: v for k, v in ledger.tags.items() if stored_tags.get(k) != v and k != maybe_tag}
    assert not lost, f"answered tags are gone: {lost}"
    expected = Counter(ledger.points)
    stored: Counter[tuple[str, int, float]] = Counter()
    for key in {key for key, _, _ in expected}:
        history = call(
            connection, "GET", f"/api/2.0/mlflow/metrics/get-history?run_id={ledger.run_id}&metric_key={key}"
        )
        stored.update((m["key"], m["step"], m["value"]) for m in history.get("metrics", []))
    connection.close()
    assert not expected - stored, f"answered points are gone: {list((expected - stored).items())[:5]}"
    doubled = [point for point, count in stored.items() if count > 1]
    assert not doubled, f"points are there twice: {doubled[:5]}"
    return sum(expected.values())


def main() -> None:
    """Run the rounds; exits non-zero at the first lost or doubled write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20_26)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="contrail-kill-") as folder:
        checked = run_rounds(Path(folder), options.rounds, options.seed)
    print(f"{options.rounds} rounds of kill -9: {checked} answered points, none lost, none doubled")


def run_rounds(folder: Path, rounds: int, seed: int) -> int:
    """Kill and restart one server `rounds` times; returns how many answered points were verified."""
    generator = random.Random(seed)
    server = Server(folder / "data")
    server.start()
    ledgers = make_runs(server.port)
    for number in range(rounds):
        dead = threading.Event()
        threads = [
            threading.Thread(
                target=write_until_dead, args=(server.port, ledger, generator.randrange(2**32), dead)
            )
            for ledger in ledgers
        ]
        for thread in threads:
            thread.start()
        time.sleep(generator.uniform(0.05, 0.4))  # the moment of death is what is random here
        dead.set()
        server.kill()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "a writer hangs"
        server.start()
        # Everything at the end, and a fresh run's worth in between: history grows, so full checks are spread out.
        for ledger in ledgers if number % 10 == 9 or number == rounds - 1 else ledgers[:1]:
            verify(server.port, ledger)
    total = sum(verify(server.port, ledger) for ledger in ledgers)
    server.kill()
    return total


def make_runs(port: int) -> list[Ledger]:
    """One run per writer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    runs = [
        call(connection, "POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"})
        for _ in range(WRITERS)
    ]
    connection.close()
    return [Ledger(run["run"]["info"]["run_id"]) for run in runs]


if __name__ == "__main__":
    main()
