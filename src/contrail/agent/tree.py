"""All processes of the workload, whatever sessions and groups they fled to, and how they are ended.

The agent is the subreaper of everything it starts: a process whose parent ends becomes the agent's child, so
the workload is exactly what descends from the agent.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
KILL_ROUNDS_MAX = 30  # a process in the kernel's uninterruptible sleep may outlast SIGKILL
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc shows it. pid and start time together name it for good."""

    pid: int
    parent: int
    start_ticks: int
    cpu_ticks: int  # with the children it has waited for
    resident_bytes: int
    state: str


def become_subreaper() -> None:
    """Adopt orphaned descendants instead of losing them to init."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """In a new child: be killed when the parent's thread that started it is gone."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(127)  # it was gone before


_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    with suppress(AttributeError):  # not on Linux
        _libc.prctl(option, value, 0, 0, 0)


def read_process(pid: int) -> Process | None:
    """The process, or None when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        start_ticks=int(fields[19]),
        cpu_ticks=sum(int(field) for field in fields[11:15]),
        resident_bytes=int(fields[21]) * PAGE_BYTES,
        state=fields[0].decode(),
    )


def all_processes() -> Iterator[Process]:
    """Every process of this machine."""
    for name in os.listdir("/proc"):
        if name.isdecimal() and (process := read_process(int(name))) is not None:
            yield process


def descendants(root: int) -> list[Process]:
    """Living descendants of `root`, without itself and without zombies."""
    processes = list(all_processes())
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    queue = [root]
    while queue:
        for child in children.get(queue.pop(), ()):
            found.append(child)
            queue.append(child.pid)
    return [process for process in found if process.state not in "ZX"]


def send_signal(process: Process, number: int) -> None:
    """Signal exactly this process, not another one that got its number in the meantime."""
    with suppress(OSError):
        fd = os.pidfd_open(process.pid)
        try:
            now = read_process(process.pid)
            if now is not None and now.start_ticks == process.start_ticks:
                signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)


def end_all(
    find: Callable[[], list[Process]],
    reap: Callable[[], None],
    grace_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """SIGTERM to all that `find` gives, `grace_s` to leave, then SIGKILL until none is left.

    Returns how many would not leave even so.
    """
    told: set[tuple[int, int]] = set()
    deadline = clock() + grace_s
    while (left := find()) and clock() < deadline:
        for process in left:
            name = (process.pid, process.start_ticks)
            if name not in told:  # also those that were started meanwhile
                told.add(name)
                send_signal(process, signal.SIGTERM)
                send_signal(process, signal.SIGCONT)
        time.sleep(_POLL_S)
        reap()
    return kill_all(find, reap)


def kill_all(find: Callable[[], list[Process]], reap: Callable[[], None]) -> int:
    """SIGKILL until none is left; returns how many would not leave."""
    for round_number in range(KILL_ROUNDS_MAX):
        left = find()
        if not left:
            return 0
        for process in left:
            send_signal(process, signal.SIGKILL)
        until = time.monotonic() + 1.0
        while time.monotonic() < until and any(read_process(p.pid) is not None for p in left):
            reap()
            time.sleep(_POLL_S if round_number else _POLL_S / 4)
            if not find():
                return 0
    return len(find())


def marked(variable: str, value: str) -> list[Process]:
    """Processes whose environment holds `variable=value`: what is left of a workload whose agent was killed."""
    needle = f"{variable}={value}".encode()
    found = []
    for process in all_processes():
        if process.pid == os.getpid() or process.state in "ZX":
            continue
        with suppress(OSError):
            if needle in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0"):
                found.append(process)
    return found


def boot_id() -> str:
    """Names this boot of the machine: process numbers mean nothing beyond it."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""
