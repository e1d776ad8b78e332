"""Stop the server of a data folder: python tools/stop.py FOLDER."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from contrail.server.lifecycle import read_state

WAIT_S = 30


def main() -> None:
    """Ask the server to stop and wait until it is gone."""
    folder = Path(sys.argv[1])
    state = read_state(folder)
    if state is None:
        print(f"No server is running on {folder}.")
        return
    pid = int(state["pid"])
    deadline = time.monotonic() + WAIT_S
    try:
        os.kill(pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.05)
    except ProcessLookupError:
        (folder / "server.json").unlink(missing_ok=True)
        print(f"Stopped the server at {state['address']}. Its data stays in {folder}.")
        return
    sys.exit(f"The server (process {pid}) did not stop within {WAIT_S} s.")


if __name__ == "__main__":
    main()
