"""The agent's work folder: the one place that knows its file names, and how small files are written."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from contrail.model.jobs import AgentSpec

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkDir:
    """Paths below the work folder of one node of one attempt."""

    path: Path

    @property
    def spec(self) -> Path:
        """What to do: an `AgentSpec` as JSON, written by the engine."""
        return self.path / "spec.json"

    @property
    def agent(self) -> Path:
        """Who works here: pid, start time, boot id, port of the relay."""
        return self.path / "agent.json"

    @property
    def launched(self) -> Path:
        """Exists from just before the command starts: it must never start a second time."""
        return self.path / "launched.json"

    @property
    def exit(self) -> Path:
        """How the command ended: a `NodeExit` as JSON."""
        return self.path / "exit.json"

    @property
    def lock(self) -> Path:
        """Held by the agent that works here."""
        return self.path / "agent.lock"

    @property
    def log(self) -> Path:
        """The agent's own log."""
        return self.path / "agent.log"

    @property
    def code(self) -> Path:
        """Where code is extracted."""
        return self.path / "code"

    @property
    def spool(self) -> Path:
        """What the server does not have yet."""
        return self.path / "spool"

    @property
    def command(self) -> Path:
        """The workload's command as a script."""
        return self.path / "command.sh"

    @property
    def hyperparameters(self) -> Path:
        """The workload's parameters."""
        return self.path / "hyperparameters.yaml"

    def read_spec(self) -> AgentSpec:
        """The spec. Raises `OSError`, `ValueError` or `msgspec.ValidationError`: without it there is nothing to do."""
        # not msgspec's reader: parameters may hold NaN, infinities and integers of any size
        return msgspec.convert(json.loads(self.spec.read_bytes()), AgentSpec)

    def clean(self) -> None:
        """Remove what nobody needs once everything is delivered; `exit.json` stays."""
        for folder in (self.code, self.spool):
            shutil.rmtree(folder, ignore_errors=True)
        for file in (self.command, self.hyperparameters):
            with suppress(OSError):
                file.unlink()


def write_atomically(path: Path, content: Any) -> None:
    """Replace `path` with `content` as JSON; after a crash it holds the old or the new text, never half."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("wb") as file:
        file.write(msgspec.json.encode(content))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def read_json(path: Path, kind: type[T]) -> T | None:
    """The content of `path`, or None where there is none that makes sense."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None
