"""How a command ended, from what is left of it: exit code, signal, the kernel's out-of-memory killer."""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from contrail.agent.cgroup import Cgroup
from contrail.model.jobs import Cause, NodeExit

VMSTAT = Path("/proc/vmstat")


@dataclass(frozen=True, slots=True)
class OomCounters:
    """How often the kernel has killed for memory so far: in our control group, and on the machine."""

    group: int
    machine: int

    @classmethod
    def read(cls, cgroup: Cgroup, vmstat: Path = VMSTAT) -> OomCounters:
        """The counters now."""
        machine = 0
        with suppress(OSError, ValueError, IndexError):
            line = next(
                (x for x in vmstat.read_text().splitlines() if x.startswith("oom_kill ")), "oom_kill 0"
            )
            machine = int(line.split()[1])
        return cls(cgroup.oom_kills(), machine)


def ending(
    wait_status: int,
    *,
    stop_cause: Cause | None,
    stop_message: str,
    oom_before: OomCounters,
    oom_after: OomCounters,
    peak_memory_bytes: int,
) -> NodeExit:
    """The `NodeExit` for a command whose wait status is `wait_status`.

    A shell reports a child that signal n ended as exit code 128+n, so that counts as a signal too.
    """
    code = os.waitstatus_to_exitcode(wait_status)
    exit_code = 128 - code if code < 0 else code
    number = _signal_of(exit_code)
    cause, message = Cause.EXIT_CODE, ""
    if number is not None:
        cause, message = Cause.SIGNAL, ""
    if number == signal.SIGKILL:
        cause, message = _killed(oom_before, oom_after, peak_memory_bytes)
    if stop_cause is not None:
        cause, message = stop_cause, stop_message
    return NodeExit(
        exit_code=exit_code,
        cause=cause,
        signal=number,
        message=message,
        ended_ms=time.time_ns() // 1_000_000,
        peak_memory_bytes=peak_memory_bytes or None,
    )


def _killed(before: OomCounters, after: OomCounters, peak_memory_bytes: int) -> tuple[Cause, str]:
    peak = f"peak memory {peak_memory_bytes / 1e6:.0f} MB"
    if after.group > before.group:
        return Cause.OUT_OF_MEMORY, f"the kernel killed it for exceeding the memory of its group; {peak}"
    if after.machine > before.machine:
        return Cause.OUT_OF_MEMORY, f"the kernel killed it because the machine ran out of memory; {peak}"
    return Cause.SIGNAL, f"nothing says that memory ran out; {peak}"


def _signal_of(exit_code: int) -> int | None:
    number = exit_code - 128
    return number if number in set(signal.Signals) else None


def children_peak_bytes() -> int:
    """Largest resident size of any process that has ended so far below this one."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
