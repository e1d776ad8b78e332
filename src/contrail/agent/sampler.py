"""Samples the node's hardware under MLflow's key names, once per node and interval.

`system/…` on one node, `system/node_<i>/…` on several. 100 % is what this node may use: the machine, or its
control group if that allows less. Nodes simulated on one machine share its counters, so there CPU and memory
are those of the node's own processes.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
import psutil

from contrail.agent import tree
from contrail.agent.cgroup import Cgroup, CgroupLimits
from contrail.model.jobs import AgentSpec

log = logging.getLogger(__name__)

MEGABYTE = 1e6
SHORTEST_RATE_S = 0.05  # a rate over less than this says nothing
Reading = Iterator[tuple[str, float]]


class GpuReadings(Protocol):
    """What reads GPUs."""

    def sample(self) -> Mapping[str, float]:
        """Readings by key."""


@dataclass(frozen=True, slots=True)
class _Usage:
    at_s: float
    cpu_s: float


class Hardware:
    """Reads the node. `sample` gives what can be read; a reading that fails is left out."""

    def __init__(
        self,
        *,
        own_processes_only: bool,
        disk: Path,
        gpus: GpuReadings,
        cgroup: Cgroup | None = None,
        processes: Callable[[], list[tree.Process]] = lambda: tree.descendants(os.getpid()),
        clock: Callable[[], float] = time.monotonic,
    ):
        self._own_only = own_processes_only
        self._disk = disk
        self._gpus = gpus
        self._cgroup = cgroup or Cgroup()
        self._processes = processes
        self._clock = clock
        self._told: set[str] = set()
        self._limits = self._guard("limits", self._cgroup.limits) or CgroupLimits()
        self._cpu_before = self._guard("cpu", self._usage)
        self._network_before = self._guard("network", psutil.net_io_counters)
        self.peak_memory_bytes = 0

    def sample(self) -> dict[str, float]:
        """All readings by MLflow's names."""
        found: dict[str, float] = {}
        for name, read in (
            ("cpu", self._cpu),
            ("memory", self._memory),
            ("disk", self._disk_usage),
            ("network", self._network),
            ("gpus", self._gpu_readings),
        ):
            found.update(self._guard(name, lambda read=read: dict(read())) or {})  # type: ignore[misc]
        return found

    def _guard(self, name: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except Exception as error:  # whatever one reading does, the others and the training go on
            if name not in self._told:
                self._told.add(name)
                log.warning("reading %s failed: %s", name, error)
            return None

    def _gpu_readings(self) -> Reading:
        yield from self._gpus.sample().items()

    def _cpu(self) -> Reading:
        before, now = self._cpu_before, self._usage()
        if before is not None and now.at_s - before.at_s >= SHORTEST_RATE_S:
            self._cpu_before = now
            share = (now.cpu_s - before.cpu_s) / (now.at_s - before.at_s) / self._cpus()
            yield "cpu_utilization_percentage", round(min(max(share, 0.0), 1.0) * 100, 1)

    def _cpus(self) -> float:
        return min(self._limits.cpus or float("inf"), float(psutil.cpu_count() or 1))

    def _usage(self) -> _Usage:
        return _Usage(self._clock(), self._used_cpu_s())

    def _used_cpu_s(self) -> float:
        """CPU seconds so far, of whatever 100 % means on this node."""
        if self._own_only:
            ended = os.times()
            ticks = sum(process.cpu_ticks for process in self._processes())
            return ended.children_user + ended.children_system + ticks / tree.CLOCK_TICKS
        if self._limits.cpus is not None:
            used = self._cgroup.cpu_used_s()
            if used is not None:
                return used
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        extra = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # counted in user already
        return float(sum(times) - idle - extra)

    def _memory(self) -> Reading:
        machine = psutil.virtual_memory()
        total = min(self._limits.memory_bytes or machine.total, machine.total)
        own = sum(process.resident_bytes for process in self._processes())
        self.peak_memory_bytes = max(self.peak_memory_bytes, own)
        used: int | None = machine.used
        if self._own_only:
            used = own or None  # the last sample comes when all processes are gone
        elif total < machine.total:
            used = self._cgroup.memory_used_bytes()
        if used is not None:
            yield "system_memory_usage_megabytes", used / MEGABYTE
            yield "system_memory_usage_percentage", round(used / total * 100, 1)

    def _disk_usage(self) -> Reading:
        usage = psutil.disk_usage(str(self._disk))
        yield "disk_usage_percentage", usage.percent
        yield "disk_usage_megabytes", usage.used / MEGABYTE
        yield "disk_available_megabytes", usage.free / MEGABYTE

    def _network(self) -> Reading:
        """Cumulative since the start, as MLflow has it."""
        before, now = self._network_before, psutil.net_io_counters()
        if before is not None and now is not None:
            yield "network_receive_megabytes", (now.bytes_recv - before.bytes_recv) / MEGABYTE
            yield "network_transmit_megabytes", (now.bytes_sent - before.bytes_sent) / MEGABYTE


class Sampler:
    """A thread that gives a sample to `emit` at the start, every interval, and at the end."""

    def __init__(
        self,
        spec: AgentSpec,
        hardware: Hardware,
        emit: Callable[[bytes], None],
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ):
        self._run_id = spec.run_id
        self._prefix = key_prefix(spec)
        self._interval_s = spec.metrics_interval_s
        self._hardware = hardware
        self._emit = emit
        self._clock_ms = clock_ms
        self._step = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Take the first sample soon, then one per interval."""
        self._thread.start()

    def stop(self) -> None:
        """Take the last sample and end."""
        self._stopping.set()
        self._thread.join(timeout=5.0)

    def _run(self) -> None:
        try:
            self._stopping.wait(SHORTEST_RATE_S)
            self._take()
            while not self._stopping.wait(self._interval_s):
                self._take()
            self._take()
        except Exception:  # the thread's outermost edge
            log.exception("sampling ended")

    def _take(self) -> None:
        now_ms = self._clock_ms()
        metrics = [
            {"key": self._prefix + name, "value": value, "timestamp": now_ms, "step": self._step}
            for name, value in self._hardware.sample().items()
        ]
        self._step += 1
        if metrics:
            self._emit(msgspec.json.encode({"run_id": self._run_id, "metrics": metrics}))


def key_prefix(spec: AgentSpec) -> str:
    """MLflow's prefix for this node's keys."""
    return "system/" if spec.num_nodes == 1 else f"system/node_{spec.node}/"


def shares_machine(spec: AgentSpec) -> bool:
    """Whether several nodes are simulated on one machine: they meet on its loopback address."""
    if spec.num_nodes == 1:
        return False
    try:
        return ipaddress.ip_address(spec.master_addr).is_loopback
    except ValueError:
        return spec.master_addr == "localhost"
