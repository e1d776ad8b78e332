"""Job runs as messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from contrail.jobs.agents import Agents
from contrail.jobs.outcome import shown_exit_code
from contrail.model.jobs import Attempt, AttemptNode, JobRun
from contrail.wire import jobs as wire

DAY_MS = 24 * 3600 * 1000


def summary(job: JobRun, newest: Attempt | None) -> wire.JobRunSummary:
    """One row of the list."""
    return wire.JobRunSummary(**_summary_fields(job, newest))


def detail(
    job: JobRun,
    attempts: Sequence[Attempt],
    nodes: Mapping[int, Sequence[AttemptNode]],
    *,
    agents: Agents,
    server_address: str,
    log_retention_days: int,
) -> wire.JobRunDetail:
    """Everything about one job run."""
    newest = attempts[-1] if attempts else None
    run_id = newest.run_id if newest else None
    return wire.JobRunDetail(
        **_summary_fields(job, newest),
        workload_yaml=job.workload_yaml,
        workload=json.loads(job.workload_json),
        provenance=json.loads(job.provenance_json),
        retry_at_ms=job.retry_at_ms,
        cancel_requested_by=job.cancel_requested_by,
        logs_expire_ms=None if job.ended_ms is None else job.ended_ms + log_retention_days * DAY_MS,
        logs_removed_ms=job.logs_removed_ms,
        attempts=[_attempt(job, attempt, nodes.get(attempt.attempt_id, ()), agents) for attempt in attempts],
        job_url=job_url(server_address, job.job_run_id),
        run_url=None if run_id is None else f"{server_address}/runs/{run_id}",
    )


def job_url(server_address: str, job_run_id: int) -> str:
    """The job run's page."""
    return f"{server_address}/jobs/{job_run_id}"


def _summary_fields(job: JobRun, newest: Attempt | None) -> dict[str, Any]:
    return {
        "job_run_id": job.job_run_id,
        "name": job.name,
        "user": job.user,
        "experiment_name": job.experiment_name,
        "experiment_id": None if job.experiment_id is None else str(job.experiment_id),
        "status": str(job.result or job.state),
        "state": str(job.state),
        "result": _text(job.result),
        "message": job.message,
        "engine": job.engine,
        "accelerator_type": job.accelerator_type,
        "num_accelerators": job.num_accelerators,
        "attempt_number": newest.number if newest else 0,
        "max_retries": job.max_retries,
        "run_id": newest.run_id if newest else None,
        "created_ms": job.created_ms,
        "started_ms": job.started_ms,
        "ended_ms": job.ended_ms,
    }


def _attempt(job: JobRun, attempt: Attempt, nodes: Sequence[AttemptNode], agents: Agents) -> wire.Attempt:
    return wire.Attempt(
        attempt_id=attempt.attempt_id,
        number=attempt.number,
        run_id=attempt.run_id,
        run_name=job.name if attempt.run_id else None,
        state=str(attempt.state),
        result=_text(attempt.result),
        cause=_text(attempt.cause),
        exit_code=attempt.exit_code,
        signal=attempt.signal,
        failed_node=attempt.failed_node,
        message=attempt.message,
        num_nodes=attempt.num_nodes,
        created_ms=attempt.created_ms,
        started_ms=attempt.started_ms,
        ended_ms=attempt.ended_ms,
        nodes=[_node(node, agents.heard_ms(node.attempt_id, node.node)) for node in nodes],
    )


def _node(node: AttemptNode, heard_ms: int | None) -> wire.Node:
    return wire.Node(
        node=node.node,
        state=str(node.state),
        status_message=node.status_message,
        host=node.host,
        gpu_ids=list(node.gpu_ids),
        heartbeat_ms=heard_ms or node.heartbeat_ms,
        log_bytes=node.log_bytes,
        exit_code=shown_exit_code(node.exit),
        started_ms=node.started_ms,
        ended_ms=node.ended_ms,
    )


def _text(value: str | None) -> str | None:
    return None if value is None else str(value)
