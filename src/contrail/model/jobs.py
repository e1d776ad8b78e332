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
class JobRun:
    """One submission with all its attempts. Times are Unix milliseconds.

    `state` is the state of its newest attempt, except while it waits for a retry.
    """

    job_run_id: int
    name: str
    user: str
    experiment_name: str
    experiment_id: int | None
    state: JobState
    result: JobResult | None
    message: str
    engine: str
    workload_yaml: str
    workload_json: str
    accelerator_type: str
    num_accelerators: int
    code_digest: str | None
    code_name: str | None
    provenance_json: str
    idempotency_token: str | None
    max_retries: int
    created_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    retry_at_ms: int | None = None
    cancel_requested_by: str | None = None
    logs_removed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a job run; `run_id` is its tracking run. `number` counts from 0.

    While it is TERMINATING, `cause` says why it is being stopped; afterwards, what ended it.
    """

    attempt_id: int
    job_run_id: int
    number: int
    run_id: str | None
    state: JobState
    result: JobResult | None
    cause: Cause | None
    exit_code: int | None
    signal: int | None
    failed_node: int | None
    message: str
    num_nodes: int
    handle: dict[str, Any] | None
    token_sha256: str
    created_ms: int
    started_ms: int | None
    ended_ms: int | None


@dataclass(frozen=True, slots=True)
class AttemptNode:
    """What is known about one node of an attempt. `gpu_ids` are its own until the attempt is over."""

    attempt_id: int
    node: int
    state: JobState
    status_message: str
    host: str | None
    gpu_ids: tuple[str, ...]
    heartbeat_ms: int | None
    relay_seq: int
    log_bytes: int
    exit: NodeExit | None
    started_ms: int | None
    ended_ms: int | None


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
    spool_max_bytes: int = 4 * 1024**3
