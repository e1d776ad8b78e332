"""Accelerator types: how many devices a node has, and so how many nodes a workload asks for."""

from __future__ import annotations

import re

from contrail.model.errors import InvalidParameterValue
from contrail.model.jobs import Accelerators

DOCUMENTED_TYPES = ("GPU_1xA10", "GPU_1xH100", "GPU_8xH100", "GPU_8xB300")
CPU = "CPU"
ACCELERATORS_MAX = 1024
_GPU_TYPE = re.compile(r"GPU_([1-9][0-9]{0,2})x([A-Za-z0-9][A-Za-z0-9_-]{0,39})")


def parse_type(name: str) -> tuple[int, str | None]:
    """Devices per node and their model (None for `CPU`, whose node counts as one device).

    Raises `InvalidParameterValue` for anything that is neither `CPU` nor `GPU_{n}x{MODEL}`.
    """
    if name == CPU:
        return 1, None
    match = _GPU_TYPE.fullmatch(name)
    if match is None:
        raise InvalidParameterValue(
            f"'{name}' is no accelerator type; use CPU or GPU_<per node>x<model>, such as "
            + ", ".join(DOCUMENTED_TYPES)
        )
    return int(match[1]), match[2]


def check_total(name: str, total: int) -> None:
    """Raise `InvalidParameterValue` unless `total` devices of type `name` fill whole nodes."""
    per_node, _ = parse_type(name)
    if not 1 <= total <= ACCELERATORS_MAX:
        raise InvalidParameterValue(f"must be from 1 to {ACCELERATORS_MAX}, is {total}")
    if total % per_node:
        raise InvalidParameterValue(
            f"counts all accelerators of the workload, so for {name} it must be a multiple of {per_node}, is {total}"
        )


def parse(name: str, total: int) -> Accelerators:
    """What `accelerator_type` and `num_accelerators` together ask for."""
    check_total(name, total)
    per_node, model = parse_type(name)
    return Accelerators(type=name, total=total, per_node=per_node, model=model)
