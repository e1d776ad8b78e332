"""GPU readings through a fake NVML library."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FAKE_NVML = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } rates_t;
/* Values come from the file FAKE_NVML at every call: one line per device: utilisation, used MB, mW, Celsius. */
static int value(long device, int column) {
    FILE *file = fopen(getenv("FAKE_NVML"), "r");
    int found[4];
    for (long line = 0; line <= device; line++)
        if (fscanf(file, "%d %d %d %d", found, found + 1, found + 2, found + 3) != 4) { fclose(file); return -1; }
    fclose(file);
    return found[column];
}
int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned int flags) { return 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "error"; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) {
    if (value(index, 0) < 0) return 2;
    *handle = (void *)(long)(index + 1); return 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    *handle = (void *)(long)(atoi(uuid + 4) + 1); return 0;
}
int nvmlDeviceGetMemoryInfo(void *h, memory_t *m) {
    m->total = 1000000000ull; m->used = value((long)h - 1, 1) * 1000000ull; m->free = m->total - m->used; return 0;
}
int nvmlDeviceGetUtilizationRates(void *h, rates_t *r) { r->gpu = value((long)h - 1, 0); r->memory = 0; return 0; }
int nvmlDeviceGetTemperature(void *h, int sensor, unsigned int *t) { *t = value((long)h - 1, 3); return 0; }
#ifndef WITHOUT_POWER
int nvmlDeviceGetPowerUsage(void *h, unsigned int *mw) { *mw = value((long)h - 1, 2); return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *h, unsigned int *mw) { *mw = 400000; return 0; }
#endif
"""

SAMPLE = """
import json, sys
from contrail.agent.gpus import Gpus
said = []
print(json.dumps([Gpus(sys.argv[1:], said.append).sample(), said]))
"""


@pytest.fixture
def readings(tmp_path: Path):
    """Samples devices in a process that finds the fake library."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")

    def sample(*gpu_ids: str, options: tuple[str, ...] = ()):
        source = tmp_path / "nvml.c"
        source.write_text(FAKE_NVML)
        library = tmp_path / "libnvidia-ml.so.1"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-w", *options, "-o", str(library), str(source)], check=True
        )
        (tmp_path / "values").write_text("10 100 100000 40\n20 200 200000 50\n")
        environ = {"LD_LIBRARY_PATH": str(tmp_path), "FAKE_NVML": str(tmp_path / "values")}
        done = subprocess.run(
            [sys.executable, "-c", SAMPLE, *gpu_ids], env=environ, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    return sample


def test_assigned_devices_are_numbered_from_zero(readings):
    """The second device of the machine is GPU 0 of a node that has only that one."""
    found, said = readings("1")
    assert found == {
        "gpu_0_memory_usage_percentage": 20.0,
        "gpu_0_memory_usage_megabytes": 200.0,
        "gpu_0_utilization_percentage": 20.0,
        "gpu_0_power_usage_watts": 200.0,
        "gpu_0_power_usage_percentage": 50.0,
        "gpu_0_temperature_celsius": 50.0,
    }
    assert said == []


def test_devices_by_uuid(readings):
    """Devices may be named by UUID, in the order of their assignment."""
    found, _said = readings("GPU-1", "GPU-0")
    assert found["gpu_0_utilization_percentage"] == 20.0
    assert found["gpu_1_utilization_percentage"] == 10.0


def test_a_missing_function_costs_only_its_reading(readings):
    """A device or driver that does not tell its power still tells the rest."""
    found, _said = readings("0", options=("-DWITHOUT_POWER",))
    assert sorted(found) == [
        "gpu_0_memory_usage_megabytes",
        "gpu_0_memory_usage_percentage",
        "gpu_0_temperature_celsius",
        "gpu_0_utilization_percentage",
    ]


def test_an_absent_device_is_told_once(readings):
    """A device that is not there is named, and the others are read."""
    found, said = readings("0", "7")
    assert {key.split("_")[1] for key in found} == {"0"}
    assert len(said) == 1
    assert "GPU 7" in said[0]


def test_no_library_is_told_once():
    """A node without NVML says so and has no GPU keys."""
    done = subprocess.run(
        [sys.executable, "-c", SAMPLE, "0"], env={}, capture_output=True, text=True, check=True
    )
    found, said = json.loads(done.stdout)
    assert found == {}
    assert len(said) == 1
    assert "GPU metrics are not available" in said[0]
