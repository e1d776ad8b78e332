"""Reads the workload's output from its pipe, byte for byte, as fast as it comes."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from contextlib import suppress

from contrail.agent.output import Output

log = logging.getLogger(__name__)

PIPE_BYTES = READ_BYTES = 1024 * 1024


class Capture:
    """A pipe whose writing end goes to the workload, and a thread that empties it into `output`."""

    def __init__(self, output: Output):
        self._output = output
        self._read_fd, self.write_fd = os.pipe2(os.O_CLOEXEC)
        with suppress(OSError):  # beyond the user's share of pipe memory: the default size works too
            fcntl.fcntl(self._read_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._thread = threading.Thread(target=self._run, name="capture", daemon=True)

    def start(self) -> None:
        """Begin to read. The caller closes its copy of the writing end by `close_write`."""
        self._thread.start()

    def close_write(self) -> None:
        """The workload has its copy."""
        os.close(self.write_fd)

    def join(self, timeout_s: float) -> bool:
        """Wait until every writer is gone and all is read; False after `timeout_s`."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        buffer = bytearray(READ_BYTES)
        view = memoryview(buffer)
        try:
            while count := os.readv(self._read_fd, [buffer]):
                self._output.write(view[:count])
        except Exception:  # the thread's outermost edge
            log.exception("capturing output failed")
            self._drain(buffer)
        finally:
            os.close(self._read_fd)

    def _drain(self, buffer: bytearray) -> None:
        """The workload must not block, even if its output cannot be kept."""
        with suppress(OSError):
            while os.readv(self._read_fd, [buffer]):
                pass
