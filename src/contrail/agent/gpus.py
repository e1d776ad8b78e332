"""Readings of the GPUs that are assigned to this node, through NVML where there is one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

log = logging.getLogger(__name__)

MEGABYTE = 1e6


class Gpus:
    """The assigned devices, numbered 0..k-1 as the workload sees them. Each reading is guarded on its own."""

    def __init__(self, gpu_ids: Sequence[str], said: Callable[[str], None]):
        self._nvml: Any = None
        self._handles: list[Any] = []
        if not gpu_ids:
            return
        try:
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml
        except Exception as error:  # no package, no library, no driver: the training must not care
            log.warning("no GPU readings: %s", error)
            said(f"GPU metrics are not available on this node: {error}")
            return
        self._handles = [self._handle(gpu_id, said) for gpu_id in gpu_ids]

    def _handle(self, gpu_id: str, said: Callable[[str], None]) -> Any:
        try:
            if gpu_id.isdecimal():
                return self._nvml.nvmlDeviceGetHandleByIndex(int(gpu_id))
            return self._nvml.nvmlDeviceGetHandleByUUID(gpu_id)
        except self._nvml.NVMLError as error:
            log.warning("no readings of GPU %s: %s", gpu_id, error)
            said(f"metrics of GPU {gpu_id} are not available on this node: {error}")
            return None

    def sample(self) -> dict[str, float]:
        """Readings by MLflow's names, and the temperature. What a device does not offer is left out."""
        return {
            f"gpu_{index}_{name}": value
            for index, handle in enumerate(self._handles)
            if handle is not None
            for name, value in self._readings(handle)
        }

    def _readings(self, handle: Any) -> Iterator[tuple[str, float]]:
        memory = self._read("nvmlDeviceGetMemoryInfo", handle)
        if memory is not None and memory.total:
            yield "memory_usage_percentage", round(memory.used / memory.total * 100, 1)
            yield "memory_usage_megabytes", memory.used / MEGABYTE
        rates = self._read("nvmlDeviceGetUtilizationRates", handle)
        if rates is not None:
            yield "utilization_percentage", float(rates.gpu)
        milliwatts = self._read("nvmlDeviceGetPowerUsage", handle)
        if milliwatts is not None:
            yield "power_usage_watts", milliwatts / 1000
            limit = self._read("nvmlDeviceGetEnforcedPowerLimit", handle)
            if limit:
                yield "power_usage_percentage", round(milliwatts / limit * 100, 1)
        celsius = self._read("nvmlDeviceGetTemperature", handle, 0)
        if celsius is not None:
            yield "temperature_celsius", float(celsius)

    def _read(self, function: str, *arguments: Any) -> Any:
        try:
            return getattr(self._nvml, function)(*arguments)
        except (self._nvml.NVMLError, AttributeError):
            return None
