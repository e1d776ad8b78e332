"""Messages of the jobs API (`/api/contrail/v1/job-runs…`). Times are Unix milliseconds."""

from __future__ import annotations

from typing import Any

import msgspec


class Submit(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST job-runs`. `workload` is the YAML text with overrides applied."""

    workload: str
    engine: str = "local"
    user: str | None = None
    code_digest: str | None = None
    code_name: str | None = None
    provenance: dict[str, Any] = {}
    idempotency_token: str | None = None


class Submitted(msgspec.Struct):
    """Answer of `POST job-runs`; `existing` when the idempotency token was known."""

    job_run_id: int
    state: str
    existing: bool
    job_url: str


class Node(msgspec.Struct):
    """One node of an attempt."""

    node: int
    state: str
    status_message: str
    host: str | None
    gpu_ids: list[str]
    heartbeat_ms: int | None
    log_bytes: int
    exit_code: int | None
    started_ms: int | None
    ended_ms: int | None


class Attempt(msgspec.Struct):
    """One try; `run_id` is its tracking run."""

    attempt_id: int
    number: int
    run_id: str | None
    run_name: str | None
    state: str
    result: str | None
    cause: str | None
    exit_code: int | None
    signal: int | None
    failed_node: int | None
    message: str
    num_nodes: int
    created_ms: int
    started_ms: int | None
    ended_ms: int | None
    nodes: list[Node]


class JobRunSummary(msgspec.Struct):
    """One row of the list. `status` is the result where there is one, else the state."""

    job_run_id: int
    name: str
    user: str
    experiment_name: str
    experiment_id: str | None
    status: str
    state: str
    result: str | None
    message: str
    engine: str
    accelerator_type: str
    num_accelerators: int
    attempt_number: int
    max_retries: int
    run_id: str | None
    created_ms: int
    started_ms: int | None
    ended_ms: int | None


class JobRunDetail(JobRunSummary):
    """`GET job-runs/{id}`."""

    workload_yaml: str
    workload: dict[str, Any]
    provenance: dict[str, Any]
    retry_at_ms: int | None
    cancel_requested_by: str | None
    logs_expire_ms: int | None
    logs_removed_ms: int | None
    attempts: list[Attempt]
    job_url: str
    run_url: str | None


class JobRunList(msgspec.Struct):
    """`GET job-runs`, newest first.

    Query: `state=active|all&user=&experiment=&accelerator_type=&num_accelerators=&limit=&page_token=`.
    """

    job_runs: list[JobRunSummary]
    next_page_token: str | None = None


class Cancelled(msgspec.Struct):
    """Answer of `POST job-runs/{id}/cancel`: cancelling is asked for, not done yet."""

    job_run_id: int
    state: str


class Validate(msgspec.Struct, forbid_unknown_fields=True):
    """Body of `POST workloads/validate`: the YAML text, and the engine it is meant for."""

    workload: str
    engine: str = "local"


class Problem(msgspec.Struct):
    """One thing that is wrong with a workload; `path` is the key (`compute.num_accelerators`)."""

    path: str
    line: int | None
    message: str


class Validated(msgspec.Struct):
    """Answer of `POST workloads/validate`; no problems means it would be accepted."""

    problems: list[Problem]


class CodeStored(msgspec.Struct):
    """Answer of `PUT code/{digest}`; `existing` when the same archive was there already."""

    digest: str
    name: str
    bytes: int
    existing: bool


# ---------------------------------------------------------------- between agent and server


class Heartbeat(msgspec.Struct):
    """`POST agent/attempts/{attempt_id}/nodes/{node}/heartbeat`."""

    state: str  # PENDING while preparing, RUNNING once the command runs
    status_message: str = ""
    host: str | None = None
    pid: int | None = None
    started_ms: int | None = None


class HeartbeatAnswer(msgspec.Struct):
    """What the agent must do: `stop_cause` is a `Cause` value (cancelled, peer_failed, …) or null."""

    stop_cause: str | None = None
    grace_s: float = 10.0


class RelayItem(msgspec.Struct, omit_defaults=True):
    """One spooled write. `kind` is `rpc` (an MLflow write), `artifact` (bytes follow by their own PUT) or `exit`.

    For `rpc`: `path` below `/api/2.0/mlflow/` and its JSON `body`. For `exit`: `body` is a `NodeExit`.
    """

    seq: int
    kind: str
    path: str = ""
    body: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))


class RelayBatch(msgspec.Struct):
    """`POST agent/attempts/{attempt_id}/nodes/{node}/relay`: items in order; known `seq` are skipped."""

    items: list[RelayItem]


class RelayRefusal(msgspec.Struct):
    """A write that can never succeed; the agent drops it, counts it and says so once in the log."""

    seq: int
    error_code: str
    message: str


class RelayAnswer(msgspec.Struct):
    """`applied_seq` is the highest `seq` that is stored (or refused for good)."""

    applied_seq: int
    refused: list[RelayRefusal] = []


class LogAppendAnswer(msgspec.Struct):
    """`POST agent/attempts/{attempt_id}/nodes/{node}/logs?offset=N`: raw bytes received so far."""

    next_offset: int
