"""Job runs, attempts and nodes, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class JobState(StrEnum):
    """Life-cycle state of a job run or an attempt."""

    QUEUED = "QUEUED"  # waits for capacity
    PENDING = "PENDING"  # agents are being started, code and environment prepared
    RUNNING = "RUNNING"  # the command runs on every node
    TERMINATING = "TERMINATING"  # asked to stop, not gone yet
    WAITING_FOR_RETRY = "WAITING_FOR_RETRY"  # an attempt failed, the next one starts soon
    TERMINATED = "TERMINATED"  # ended; `result` says how
    INTERNAL_ERROR = "INTERNAL_ERROR"  # ended because Contrail itself failed


class JobResult(StrEnum):
    """How a job run or an attempt ended."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    TIMEDOUT = "TIMEDOUT"
    CANCELED = "CANCELED"


TERMINAL_STATES = frozenset({JobState.TERMINATED, JobState.INTERNAL_ERROR})


class Cause(StrEnum):
    """What ended an attempt or a node, for people and for retry rules."""

    EXIT_CODE = "exit_code"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out_of_memory"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    NODE_LOST = "node_lost"
    COULD_NOT_START = "could_not_start"
    PEER_FAILED = "peer_failed"  # stopped because another node of the attempt failed


@dataclass(frozen=True, slots=True)
class NodeExit:
    """How the command of one node ended. `exit_code` is 128+n when signal n ended it."""

    exit_code: int
    cause: Cause
    signal: int | None = None
    message: str = ""
    ended_ms: int = 0
    peak_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Accelerators:
    """`GPU_8xH100` with 16 accelerators is 2 nodes of 8; `CPU` with 2 is 2 nodes without GPUs."""

    type: str
    total: int
    per_node: int
    model: str | None

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.total // self.per_node


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """All that a node agent needs to know; written as JSON (mode 0600) into its work folder.

    `server_file` names a JSON file `{"address": …}` that is read again whenever the server does not
    answer, because a local server may come back on another port.
    """

    attempt_id: int
    job_run_id: int
    attempt_number: int
    node: int
    num_nodes: int
    local_world_size: int
    master_addr: str
    master_port: int
    server_address: str
    token: str
    run_id: str
    run_name: str
    experiment_id: str
    experiment_name: str
    artifact_uri: str
    user: str
    command: str
    work_dir: str
    environments_dir: str
    heartbeat_interval_s: float
    metrics_interval_s: float
    grace_s: float
    server_file: str | None = None
    code_digest: str | None = None
    code_name: str | None = None
    volumes: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] | None = None
    dependencies: list[str] = field(default_factory=list)
    gpu_ids: list[str] = field(default_factory=list)
    timeout_s: float | None = None
