"""One server per data folder: the lock, and the file that tells others where the server is."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from contrail.model.errors import InvalidParameterValue, ResourceConflict

LOCK_NAME, STATE_NAME = "server.lock", "server.json"


class DataFolder:
    """Holds the data folder for one server process.

    Raises `ResourceConflict` when another one has it, `InvalidParameterValue` when it cannot be written.
    """

    def __init__(self, path: Path):
        self.path = path
        self._lock: int | None = None

    def __enter__(self) -> DataFolder:
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(self.path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InvalidParameterValue(
                f"The data folder {self.path} cannot be used: {error.strerror}. "
                "Choose another folder with --data-dir."
            ) from None
        try:
            # The kernel drops the lock when the process ends, however it ends.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise ResourceConflict(self._taken()) from None
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        (self.path / STATE_NAME).unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)

    def announce(self, address: str) -> None:
        """Tell clients and agents of this folder where the server is."""
        state = self.path / STATE_NAME
        fresh = state.with_suffix(".new")
        fresh.write_text(json.dumps({"address": address, "pid": os.getpid()}))
        fresh.replace(state)

    def _taken(self) -> str:
        state = read_state(self.path)
        who = f"process {state['pid']} at {state['address']}" if state else "another process"
        return (
            f"The data folder {self.path} is in use by a Contrail server ({who}). "
            "Use that server, stop it first, or choose another folder with --data-dir."
        )


def read_state(data_path: Path) -> dict[str, Any] | None:
    """The announcement in a data folder, or None when there is no readable one."""
    try:
        state = json.loads((data_path / STATE_NAME).read_text())
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) and "address" in state and "pid" in state else None
