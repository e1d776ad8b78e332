"""System metrics: names, steps, limits, and readings that fail alone."""

from __future__ import annotations

import dataclasses
import json
import threading

import psutil

from contrail.agent.cgroup import Cgroup
from contrail.agent.sampler import Hardware, Sampler, key_prefix, shares_machine
from contrail.agent.tree import CLOCK_TICKS, Process
from contrail.model.jobs import AgentSpec


def spec(**fields) -> AgentSpec:
    required = {f.name: "" for f in dataclasses.fields(AgentSpec) if f.default is f.default_factory}
    given = {
        "node": 0,
        "num_nodes": 1,
        "master_addr": "127.0.0.1",
        "metrics_interval_s": 0.01,
        "run_id": "run",
    }
    return AgentSpec(**{**required, **given, **fields})


class NoGpus:
    def sample(self):
        return {}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def process(cpu_s: float, resident: int) -> Process:
    return Process(5, 4, 1, int(cpu_s * CLOCK_TICKS), resident, "R")


def test_names_are_those_of_mlflow(tmp_path):
    """One node writes `system/…`, several write `system/node_<i>/…`, with MLflow's names behind it."""
    hardware = Hardware(own_processes_only=False, disk=tmp_path, gpus=NoGpus(), clock=(clock := Clock()))
    clock.now = 1.0
    assert set(hardware.sample()) == {
        "cpu_utilization_percentage",
        "system_memory_usage_megabytes",
        "system_memory_usage_percentage",
        "disk_usage_percentage",
        "disk_usage_megabytes",
        "disk_available_megabytes",
        "network_receive_megabytes",
        "network_transmit_megabytes",
    }
    assert key_prefix(spec()) == "system/"
    assert key_prefix(spec(num_nodes=2, node=1)) == "system/node_1/"


def test_simulated_nodes_show_their_own_processes(tmp_path):
    """Of two nodes on one machine, the one that burns a core shows it and the idle one does not."""
    clock = Clock()
    cores = psutil.cpu_count()
    now = {"busy": [process(0.0, 5_000_000)], "idle": [process(0.0, 1_000_000)]}
    nodes = {
        name: Hardware(
            own_processes_only=True,
            disk=tmp_path,
            gpus=NoGpus(),
            processes=lambda name=name: now[name],
            clock=clock,
        )
        for name in now
    }
    clock.now = 10.0
    now["busy"] = [process(10.0, 50_000_000)]
    busy, idle = nodes["busy"].sample(), nodes["idle"].sample()
    assert abs(busy["cpu_utilization_percentage"] - 100 / cores) < 1
    assert idle["cpu_utilization_percentage"] < 1
    assert busy["system_memory_usage_megabytes"] == 50.0
    assert nodes["busy"].peak_memory_bytes == 50_000_000
    now["busy"] = []
    assert "system_memory_usage_megabytes" not in nodes["busy"].sample(), (
        "nothing runs: that is not a reading of 0"
    )
    assert shares_machine(spec(num_nodes=2))
    assert not shares_machine(spec(num_nodes=2, master_addr="10.0.0.1"))
    assert not shares_machine(spec())


def test_a_control_group_is_the_hundred_percent(tmp_path):
    """A limit of half a core and 1 GB makes its use a percentage of that."""
    root = tmp_path / "cgroup"
    root.mkdir()
    own = tmp_path / "self"
    own.write_text("0::/\n")
    files = {
        "cpu.max": "50000 100000",
        "cpu.stat": "usage_usec 0",
        "memory.max": "1000000000",
        "memory.current": "250000000",
        "memory.stat": "inactive_file 0",
    }
    for name, text in files.items():
        (root / name).write_text(text)
    clock = Clock()
    hardware = Hardware(
        own_processes_only=False, disk=tmp_path, gpus=NoGpus(), cgroup=Cgroup(root, own), clock=clock
    )
    clock.now = 10.0
    (root / "cpu.stat").write_text("usage_usec 2500000")
    found = hardware.sample()
    assert found["cpu_utilization_percentage"] == 50.0
    assert found["system_memory_usage_percentage"] == 25.0


def test_a_reading_fails_alone(tmp_path):
    """A broken GPU reader and a missing disk cost their keys only."""

    class Broken:
        def sample(self):
            raise RuntimeError("driver")

    hardware = Hardware(own_processes_only=False, disk=tmp_path / "gone", gpus=Broken())
    found = hardware.sample()
    assert "system_memory_usage_percentage" in found
    assert not [key for key in found if key.startswith(("disk", "gpu"))]


def test_steps_count_samples():
    """A sample at the start, one per interval, one at the end; the step counts them."""

    class Fixed:
        def sample(self):
            return {"x": 1.0}

    bodies: list[bytes] = []
    three = threading.Event()

    def emit(body: bytes) -> None:
        bodies.append(body)
        if len(bodies) == 3:
            three.set()

    sampler = Sampler(spec(), Fixed(), emit, clock_ms=lambda: 42)
    sampler.start()
    assert three.wait(10)
    sampler.stop()
    found = [json.loads(body) for body in bodies]
    assert [body["metrics"][0]["step"] for body in found] == list(range(len(found)))
    assert found[0] == {
        "run_id": "run",
        "metrics": [{"key": "system/x", "value": 1.0, "timestamp": 42, "step": 0}],
    }
