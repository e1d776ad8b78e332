"""Who may start now, with which GPUs, and why the others wait. Pure functions.

First come, first served per kind of resource: a job run that waits keeps what it needs from later ones, so
a big one is not starved by small ones; job runs that need other resources pass it by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contrail.engines import gpus
from contrail.engines.base import Capacity
from contrail.model.jobs import Accelerators


@dataclass(frozen=True, slots=True)
class Supply:
    """What an engine has, how many of its nodes are taken, and which job run leases which GPU (by id)."""

    capacity: Capacity
    nodes_held: int = 0
    leases: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Want:
    """A queued attempt and what it needs."""

    job_run_id: int
    attempt_id: int
    accelerators: Accelerators


@dataclass(frozen=True, slots=True)
class Start:
    """An attempt that may start: the GPUs of each of its nodes."""

    attempt_id: int
    gpu_ids: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """`waits` says for each other job run in words why it waits."""

    starts: tuple[Start, ...]
    waits: Mapping[int, str]


def infeasible(wanted: Accelerators, capacity: Capacity) -> str | None:
    """Why this can never run here, however empty the machine is; None when it can."""
    if wanted.nodes > capacity.nodes:
        return f"{wanted.total} x {wanted.type} is {wanted.nodes} nodes, and there are {capacity.nodes}"
    if wanted.model is None or wanted.total <= len(gpus.of_model(capacity.gpus, wanted.model)):
        return None
    offer = gpus.describe(capacity.gpus)
    return (
        f"{wanted.total} x {wanted.model} is more than there is ({offer}); accelerator_type CPU needs no GPU"
    )


def plan(wants: Sequence[Want], supply: Supply) -> Plan:
    """Allot what is free to `wants`, in their order. Nothing is ever given twice."""
    desk = _Allotment(supply)
    starts: list[Start] = []
    waits: dict[int, str] = {}
    for want in wants:
        reason = infeasible(want.accelerators, supply.capacity)
        if reason is not None:
            waits[want.job_run_id] = f"waits: {reason}"
            continue
        outcome = desk.allot(want)
        if isinstance(outcome, str):
            waits[want.job_run_id] = outcome
        else:
            starts.append(Start(want.attempt_id, outcome))
    return Plan(tuple(starts), waits)


class _Allotment:
    """What is still free while a plan is made."""

    def __init__(self, supply: Supply):
        self._supply = supply
        self._holders: dict[str, int] = dict(supply.leases)
        self._kept: dict[str, int] = {}  # GPU -> the earlier job run that waits for it
        self._nodes_free = supply.capacity.nodes - supply.nodes_held
        self._nodes_kept_for: int | None = None

    def allot(self, want: Want) -> tuple[tuple[str, ...], ...] | str:
        """The GPUs per node, or why it has to wait; what it waits for is kept for it."""
        wanted = want.accelerators
        if wanted.model is None:
            return self._take_nodes(want) or ((),) * wanted.nodes
        of_model = [gpu.gpu_id for gpu in gpus.of_model(self._supply.capacity.gpus, wanted.model)]
        free = [gpu_id for gpu_id in of_model if gpu_id not in self._holders and gpu_id not in self._kept]
        if len(free) < wanted.total:
            words = self._gpu_words(wanted, of_model, len(free))
            self._kept |= dict.fromkeys(free, want.job_run_id)
            return words
        reason = self._take_nodes(want)
        if reason is not None:
            return reason
        taken = free[: wanted.total]
        self._holders |= dict.fromkeys(taken, want.job_run_id)
        return tuple(
            tuple(taken[start : start + wanted.per_node]) for start in range(0, wanted.total, wanted.per_node)
        )

    def _take_nodes(self, want: Want) -> str | None:
        needed = want.accelerators.nodes
        if self._nodes_kept_for is None and needed <= self._nodes_free:
            self._nodes_free -= needed
            return None
        missing = needed - max(0, self._nodes_free)
        held, total = self._supply.nodes_held, self._supply.capacity.nodes
        words = f"waits for {max(1, missing)} of {_count(needed, 'node')}: {held} of {total} in use"
        if self._nodes_kept_for is not None:
            words += f", job run {self._nodes_kept_for} is first"
        self._nodes_kept_for = self._nodes_kept_for or want.job_run_id
        return words

    def _gpu_words(self, wanted: Accelerators, of_model: Sequence[str], free: int) -> str:
        in_use = [self._holders[gpu_id] for gpu_id in of_model if gpu_id in self._holders]
        kept = [self._kept[gpu_id] for gpu_id in of_model if gpu_id in self._kept]
        reasons = []
        if in_use:
            reasons.append(f"{len(in_use)} in use by {_job_runs(in_use)}")
        if kept:
            reasons.append(f"{len(kept)} kept for {_job_runs(kept)}")
        needed = f"{wanted.total - free} of {_count(wanted.total, 'GPU')} ({wanted.model})"
        return f"waits for {needed}: {', '.join(reasons)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _job_runs(ids: Sequence[int]) -> str:
    distinct = sorted(set(ids))
    return ("job run " if len(distinct) == 1 else "job runs ") + ", ".join(map(str, distinct))
