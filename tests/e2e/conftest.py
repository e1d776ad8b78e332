"""The command line as a user runs it, against a live server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


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
