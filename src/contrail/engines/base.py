"""What every engine offers. An engine knows nothing of job runs, retries, logs or tracking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from contrail.model.jobs import AgentSpec, NodeExit

# JSON-able; all that an engine needs to find the agents of an attempt again after a restart.
Handle: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device. `gpu_id` is what `CUDA_VISIBLE_DEVICES` takes."""

    gpu_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Capacity:
    """All that an engine has, in use or not."""

    nodes: int
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """An attempt to be placed: one spec per node. The engine fills in work folder and rendezvous address."""

    attempt_id: int
    specs: tuple[AgentSpec, ...]


class Condition(StrEnum):
    """How the agent of a node is."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    EXITED = "exited"  # the agent is gone and left an exit record
    LOST = "lost"  # the agent is gone without one
    UNKNOWN = "unknown"  # the engine cannot tell; the agent's heartbeats decide


@dataclass(frozen=True, slots=True)
class NodeState:
    """What an engine sees of one node; `exit` goes with EXITED, `detail` says more about LOST."""

    node: int
    condition: Condition
    exit: NodeExit | None = None
    detail: str = ""


class Engine(Protocol):
    """A place where agents run. Methods are called from one thread and may block for seconds, not more."""

    name: str

    def capacity(self) -> Capacity:
        """What there is altogether. Cheap: it is asked whenever something waits."""

    def handle(self, attempt_id: int, num_nodes: int) -> Handle:
        """The handle that `place` will use; it is stored before anything starts."""

    def place(self, placement: Placement) -> None:
        """Start the agents. Idempotent: nodes that were started already are left alone.

        Raises `OSError` or a `ContrailError` when an agent cannot be started.
        """

    def observe(self, handles: Sequence[Handle]) -> list[list[NodeState]]:
        """The nodes of each handle, asked for all attempts at once."""

    def revive(self, handle: Handle, node: int) -> bool:
        """Start an agent again that is gone but has not delivered all it kept; says whether that is possible."""

    def stop(self, handle: Handle, *, nodes: Sequence[int] | None = None, kill: bool) -> None:
        """Ask the agents to stop their work, or with `kill` end them and all they started. Idempotent."""

    def forget(self, handle: Handle) -> None:
        """The attempt is over and everything has been delivered: release what is kept for it."""
