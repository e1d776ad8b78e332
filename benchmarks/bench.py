"""`make bench`: one server on a fresh folder under load; prints a table and writes out/bench.json.

Loopback only, durable writes (`durability=full`). Figures of one machine are comparable with one another only
within one run: quote ratios, medians of three.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUT = Path(os.environ.get("CONTRAIL_OUT", HERE.parent / "out"))


def main() -> None:
    """Run the load generator against our own server."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default="single,batch,runs,search,history,artifact", help="benches, comma-separated"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, one repetition: does it work at all?"
    )
    parser.add_argument("--duration", default="4", help="seconds per repetition")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    result = OUT / "bench.json"
    with tempfile.TemporaryDirectory(prefix="contrail-bench-") as folder:
        _load(folder, result, options)
    _print(json.loads(result.read_text())["results"])
    print(f"\nall figures: {result}")


def _load(folder: str, result: Path, options: argparse.Namespace) -> None:
    port = _free_port()
    server = f"{sys.executable} -m contrail server --port {port} --data-dir {folder}/data"
    command = [
        *(
            sys.executable,
            str(HERE / "loadgen.py"),
            "--url",
            f"http://127.0.0.1:{port}",
            "--label",
            "contrail",
        ),
        *("--start", server, "--startups", "3", "--data-path", f"{folder}/data/contrail.db"),
        *(
            "--log",
            f"{folder}/server.log",
            "--out",
            str(result),
            "--only",
            options.only,
            "--duration",
            options.duration,
        ),
    ]
    subprocess.run([*command, *(["--quick"] if options.quick else [])], check=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _print(results: dict[str, Any]) -> None:
    for name, value in results.items():
        print(f"{name:<44} {_figure(value)}")


def _figure(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(
            f"{key}={_figure(part)}" for key, part in value.items() if not isinstance(part, dict | list)
        )
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
