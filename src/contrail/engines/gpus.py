"""Which GPUs a machine has: through NVML, or as the setting `local_gpus` declares."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from contrail.engines.base import Gpu
from contrail.model.errors import InvalidParameterValue

log = logging.getLogger(__name__)
_BRANDS = frozenset({"nvidia", "geforce", "tesla", "quadro", ""})
_DECLARED = re.compile(r"([1-9][0-9]{0,3})x([A-Za-z0-9][A-Za-z0-9_-]*)")


def declared(text: str) -> tuple[Gpu, ...]:
    """GPUs taken for granted, numbered from 0: `2xA10` or `2xA10,8xH100`. Raises `InvalidParameterValue`."""
    found: list[Gpu] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _DECLARED.fullmatch(part)
        if match is None:
            raise InvalidParameterValue(f"CONTRAIL_LOCAL_GPUS: '{part}' is not of the form 2xA10")
        found += [Gpu(str(len(found) + index), match[2]) for index in range(int(match[1]))]
    return tuple(found)


def installed() -> tuple[Gpu, ...]:
    """The GPUs of this machine; none where there is no driver. A device that cannot be read is left out."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        count = pynvml.nvmlDeviceGetCount()
        return tuple(gpu for gpu in map(_read, range(count)) if gpu is not None)
    except pynvml.NVMLError as error:
        log.warning("GPUs cannot be listed: %s", error)
        return ()
    finally:
        pynvml.nvmlShutdown()


def _read(index: int) -> Gpu | None:
    import pynvml

    try:
        device = pynvml.nvmlDeviceGetHandleByIndex(index)
        return Gpu(pynvml.nvmlDeviceGetUUID(device), pynvml.nvmlDeviceGetName(device))
    except pynvml.NVMLError as error:
        log.warning("GPU %d is left out: %s", index, error)
        return None


def of_model(gpus: Sequence[Gpu], model: str) -> list[Gpu]:
    """The GPUs that `model` (the last part of `GPU_8xH100`) names."""
    return [gpu for gpu in gpus if is_model(gpu.name, model)]


def is_model(name: str, model: str) -> bool:
    """Whether a device's name contains `model` as whole words; case, spaces, `-` and `_` do not matter.

    So `H100` is 'NVIDIA H100 80GB HBM3', and `A10` is not 'NVIDIA A100'.
    """
    words = re.split(r"[^a-z0-9]+", name.lower())
    wanted = re.sub(r"[^a-z0-9]+", "", model.lower())
    joined = (
        "".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)
    )
    return wanted in joined


def model_of(name: str) -> str:
    """The short name for a device: `H100` for 'NVIDIA H100 80GB HBM3', `RTX4090` for 'NVIDIA GeForce RTX 4090'."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word.lower() not in _BRANDS]
    if len(words) > 1 and words[0].isalpha():
        return words[0] + words[1]
    return words[0] if words else "GPU"


def describe(gpus: Sequence[Gpu]) -> str:
    """What there is, in words: `2 x NVIDIA A10`."""
    names = [gpu.name for gpu in gpus]
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names)) or "no GPU"
