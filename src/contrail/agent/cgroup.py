"""What a control group allows and uses, version 1 and 2. The root is a parameter, so tests can fake one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
UNLIMITED_BYTES = 1 << 60  # version 1 writes "no limit" as a number near 2^63


@dataclass(frozen=True, slots=True)
class CgroupLimits:
    """None where nothing is limited or known."""

    memory_bytes: int | None = None
    cpus: float | None = None


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The group of this process: one folder in version 2, one per controller in version 1."""

    root: Path = ROOT
    self_file: Path = Path("/proc/self/cgroup")

    def limits(self) -> CgroupLimits:
        """Limits in force."""
        return CgroupLimits(self._memory_limit(), self._cpus())

    def memory_used_bytes(self) -> int | None:
        """Memory in use without what the kernel can take back at once."""
        for controller, current, inactive in (
            ("", "memory.current", "inactive_file"),
            ("memory", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            used = _number(self._read(controller, current))
            if used is not None:
                return max(0, used - _field(self._read(controller, "memory.stat"), inactive))
        return None

    def cpu_used_s(self) -> float | None:
        """CPU seconds used so far."""
        usage = _field(self._read("", "cpu.stat"), "usage_usec", missing=-1)
        if usage >= 0:
            return usage / 1e6
        nanoseconds = _number(self._read("cpuacct", "cpuacct.usage"))
        return None if nanoseconds is None else nanoseconds / 1e9

    def oom_kills(self) -> int:
        """Processes of this group that the kernel has killed for memory so far."""
        for controller, name in (("", "memory.events"), ("memory", "memory.oom_control")):
            count = _field(self._read(controller, name), "oom_kill", missing=-1)
            if count >= 0:
                return count
        return 0

    def _memory_limit(self) -> int | None:
        for controller, name in (("", "memory.max"), ("memory", "memory.limit_in_bytes")):
            limit = _number(self._read(controller, name))
            if limit is not None:
                return limit if limit < UNLIMITED_BYTES else None
        return None

    def _cpus(self) -> float | None:
        quota_and_period = self._read("", "cpu.max").split()
        if len(quota_and_period) != 2:
            quota_and_period = [
                self._read("cpu", "cpu.cfs_quota_us").strip(),
                self._read("cpu", "cpu.cfs_period_us").strip(),
            ]
        quota, period = (_number(text) for text in quota_and_period)
        return quota / period if quota is not None and period and quota > 0 else None

    def _read(self, controller: str, name: str) -> str:
        """The file of the nearest group that has it: ours, else (inside a container) the root of the mount."""
        for folder in (self._folder(controller), self.root / controller):
            with suppress(OSError):
                return (folder / name).read_text()
        return ""

    def _folder(self, controller: str) -> Path:
        lines: list[str] = []
        with suppress(OSError):
            lines = self.self_file.read_text().splitlines()
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(",") or (not controller and not controllers):
                return self.root / controller / path.lstrip("/")
        return self.root / controller


def _number(text: str) -> int | None:
    try:
        return int(text.strip())
    except ValueError:
        return None  # "max", or nothing there


def _field(text: str, name: str, missing: int = 0) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return missing
