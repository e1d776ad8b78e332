"""The command line as a user runs it: a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contrail.cli.main import main


@dataclass(frozen=True)
class Answer:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def documents(self) -> list[Any]:
        """Standard output as JSON, one document a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def data(self) -> dict[str, Any]:
        """`data` of the last envelope."""
        data: dict[str, Any] = self.documents[-1]["data"]
        return data

    @property
    def error(self) -> dict[str, Any]:
        """`error` of the last envelope."""
        error: dict[str, Any] = self.documents[-1]["error"]
        return error


class Contrail:
    """Runs `contrail …` in a folder of its own, with chosen environment variables."""

    def __init__(self, folder: Path, **environ: str):
        self.folder = folder
        self.environ = {**os.environ, "NO_COLOR": "1", "CONTRAIL_USER": "tester", **environ}

    def __call__(self, *arguments: str | Path, timeout_s: float = 120) -> Answer:
        process = self.start(*arguments)
        try:
            out, err = process.communicate(timeout=timeout_s)
        finally:
            process.kill()
        assert "Traceback" not in err, err
        return Answer(process.returncode, out, err)

    def inside(self, *arguments: str | Path) -> Answer:
        """Run a command inside this process: quicker, for commands that end at once."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.folder)
            for name, value in self.environ.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as end:
                main([str(argument) for argument in arguments])
        assert "Traceback" not in err.getvalue(), err.getvalue()
        assert isinstance(end.value.code, int)
        return Answer(end.value.code, out.getvalue(), err.getvalue())

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start a command and let it run."""
        return subprocess.Popen(
            [sys.executable, "-m", "contrail", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environ,
        )

    def write(self, name: str, text: str) -> Path:
        """A file in the command's folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def workload(
        self, command: str, *, name: str = "work.yaml", nodes: int = 1, retries: int = 0, more: str = ""
    ) -> Path:
        """A workload file that runs `command` on CPU nodes."""
        indented = "\n".join(f"  {line}" for line in command.strip().splitlines())
        return self.write(
            name,
            f"experiment_name: {name.removesuffix('.yaml')}\n"
            f"compute: {{accelerator_type: CPU, num_accelerators: {nodes}}}\n"
            f"command: |\n{indented}\nmax_retries: {retries}\n{more}",
        )


@pytest.fixture
def contrail(tmp_path: Path) -> Contrail:
    """The command line with no server anywhere."""
    folder = tmp_path / "work"
    folder.mkdir()
    return Contrail(folder, CONTRAIL_DATA_DIR=str(tmp_path / "data"))


@pytest.fixture
def connected(tmp_path: Path) -> Callable[[str], Contrail]:
    """The command line with a server: `connected(server.url)`."""

    def connect(url: str) -> Contrail:
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        return Contrail(folder, CONTRAIL_DATA_DIR=str(tmp_path / "no-data"), CONTRAIL_SERVER=url)

    return connect
