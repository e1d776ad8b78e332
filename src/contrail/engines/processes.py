"""Processes as /proc shows them: identities that survive number reuse, and whole trees."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process for good: a number alone may be given to another process later."""

    pid: int
    start_time: int  # clock ticks since boot
    boot_id: str


@cache
def boot_id() -> str:
    """Changes with every start of the machine."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def find(pid: int) -> Process | None:
    """The running process with this number; one that has only not been waited for does not count."""
    stat = _stat(pid)
    return None if stat is None or stat.state in "ZX" else Process(pid, stat.start_time, boot_id())


def is_alive(process: Process) -> bool:
    """Whether this very process still runs."""
    return find(process.pid) == process


def send(process: Process, number: signal.Signals) -> bool:
    """Signal this very process, never one that reuses its number; says whether it was there."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if not is_alive(process):
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


def descendants(pid: int) -> list[Process]:
    """All processes below `pid`, without itself."""
    children: dict[int, list[Process]] = defaultdict(list)
    for process, stat in _all():
        children[stat.parent].append(process)
    found, open_ends = [], [pid]
    while open_ends:
        below = children.pop(open_ends.pop(), [])
        found += below
        open_ends += [process.pid for process in below]
    return found


def marked(variable: str, value: str) -> list[Process]:
    """All processes that were started with `variable=value` in their environment, wherever they have gone since."""
    wanted = f"{variable}={value}".encode()
    return [process for process, _ in _all() if wanted in _environment(process.pid)]


def kill(processes: Iterable[Process]) -> int:
    """SIGKILL; returns how many were still there."""
    return sum(send(process, signal.SIGKILL) for process in processes)


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    parent: int
    start_time: int


def _stat(pid: int) -> _Stat | None:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before it may hold spaces and brackets
    return _Stat(fields[0], int(fields[1]), int(fields[19]))


def _all() -> list[tuple[Process, _Stat]]:
    pids = [int(entry) for entry in os.listdir(PROC) if entry.isdecimal()]
    stats = [(pid, stat) for pid in pids if (stat := _stat(pid)) is not None and stat.state not in "ZX"]
    return [(Process(pid, stat.start_time, boot_id()), stat) for pid, stat in stats]


def _environment(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return []
