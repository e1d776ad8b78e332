"""Taking in workloads: everything is checked before anything is stored."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

from contrail import workloads
from contrail.access import identity
from contrail.jobs.capacity import infeasible
from contrail.jobs.parts import Parts
from contrail.model.errors import InvalidParameterValue
from contrail.model.jobs import JobRun, JobState
from contrail.store import jobs as store
from contrail.store.writer import Connection
from contrail.tracking.experiments import neutral_location
from contrail.wire.jobs import Problem, Submit
from contrail.workloads import Workload, WorkloadInvalid

WORKLOAD_MAX_BYTES = 1024 * 1024
PROVENANCE_MAX_BYTES = 2 * 1024 * 1024  # it may hold a diff
TOKEN_MAX_CHARS = 64
USER_MAX_CHARS = 256
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Submission:
    """The job run of a submission; `existing` when its idempotency token was known."""

    job_run: JobRun
    existing: bool


def submit(parts: Parts, message: Submit) -> Submission:
    """Create a queued job run with its first attempt. Atomic; idempotent for one idempotency token.

    Raises `InvalidParameterValue` that names the field, and then nothing is stored.
    """
    workload = _workload(parts, message)
    token = _token(message.idempotency_token or workload.idempotency_token)
    if token is not None:
        with parts.database.read() as connection:
            known = store.find_job_run(connection, token)
        if known is not None:
            return Submission(known, existing=True)
    user = _user(message.user)
    _check_code(parts, message, workload)
    new = _job_run(parts, message, workload, token, user)
    new = replace(new, experiment_id=_experiment_id(parts, workload))
    submission = parts.database.writer.run(
        lambda connection: _insert(connection, new, workload.accelerators.nodes)
    )
    parts.wake.set()
    return submission


def problems(parts: Parts, text: str, engine: str) -> list[Problem]:
    """Everything that keeps this workload from being accepted; nothing is created."""
    try:
        workload = workloads.load(text)
    except WorkloadInvalid as invalid:
        return [Problem(found.path, found.line, found.message) for found in invalid.problems]
    found = []
    reason = infeasible(workload.accelerators, parts.engine(engine).capacity())
    if reason is not None:
        found.append(Problem("compute.accelerator_type", None, reason))
    return found


def _workload(parts: Parts, message: Submit) -> Workload:
    if len(message.workload.encode(errors="replace")) > WORKLOAD_MAX_BYTES:
        raise InvalidParameterValue(f"workload: is longer than {WORKLOAD_MAX_BYTES} bytes")
    workload = workloads.load(message.workload)
    reason = infeasible(workload.accelerators, parts.engine(message.engine).capacity())
    if reason is not None:
        raise InvalidParameterValue(f"compute.accelerator_type: {reason}")
    return workload


def _token(token: str | None) -> str | None:
    if token is None:
        return None
    if not token.strip() or len(token) > TOKEN_MAX_CHARS:
        raise InvalidParameterValue(
            f"idempotency_token: must have 1 to {TOKEN_MAX_CHARS} characters, has {len(token)}"
        )
    return token


def _user(user: str | None) -> str:
    if user is None:
        return identity.single_user().user
    if not user.strip() or len(user) > USER_MAX_CHARS:
        raise InvalidParameterValue(f"user: must have 1 to {USER_MAX_CHARS} characters, has {len(user)}")
    return user


def _check_code(parts: Parts, message: Submit, workload: Workload) -> None:
    if message.code_digest is None:
        if workload.code_source is not None:
            raise InvalidParameterValue(
                "code_digest: the workload has a code_source, so its code must be sent along; `contrail run` does that"
            )
        return
    if not DIGEST.fullmatch(message.code_digest):
        raise InvalidParameterValue("code_digest: must be a SHA-256 in 64 lower-case hexadecimal digits")
    with parts.database.read() as connection:
        archive = store.find_code_archive(connection, message.code_digest)
    if archive is None:
        raise InvalidParameterValue(
            f"code_digest: there is no code archive {message.code_digest}; send it first"
        )


def _experiment_id(parts: Parts, workload: Workload) -> int:
    """The workload's experiment, made if there is none; a location must fit the one that is there."""
    location = workload.mlflow_artifact_location
    experiment = parts.tracking.experiments.get_or_create(
        workload.experiment_name, artifact_location=location, now_ms=parts.now_ms()
    )
    if location is not None and neutral_location(location) != experiment.artifact_location:
        raise InvalidParameterValue(
            f"mlflow_artifact_location: experiment '{experiment.name}' exists already and keeps its artifacts in "
            f"{experiment.artifact_location}; leave the key out, or name another experiment"
        )
    return experiment.experiment_id


def _job_run(parts: Parts, message: Submit, workload: Workload, token: str | None, user: str) -> JobRun:
    provenance = json.dumps(message.provenance, ensure_ascii=False)
    if len(provenance) > PROVENANCE_MAX_BYTES:
        raise InvalidParameterValue(f"provenance: is longer than {PROVENANCE_MAX_BYTES} bytes")
    return JobRun(
        job_run_id=0,
        name=workload.run_name,
        user=user,
        experiment_name=workload.experiment_name,
        experiment_id=None,
        state=JobState.QUEUED,
        result=None,
        message="",
        engine=message.engine,
        workload_yaml=message.workload,
        workload_json=workload.to_json(),
        accelerator_type=workload.accelerators.type,
        num_accelerators=workload.accelerators.total,
        code_digest=message.code_digest,
        code_name=message.code_name,
        provenance_json=provenance,
        idempotency_token=token,
        max_retries=workload.max_retries,
        created_ms=parts.now_ms(),
    )


def _insert(connection: Connection, new: JobRun, num_nodes: int) -> Submission:
    if new.idempotency_token is not None:
        known = store.find_job_run(connection, new.idempotency_token)  # two submissions may race
        if known is not None:
            return Submission(known, existing=True)
    job_run_id = store.insert_job_run(connection, new)
    store.insert_attempt(
        connection, job_run_id=job_run_id, number=0, num_nodes=num_nodes, now_ms=new.created_ms
    )
    return Submission(store.get_job_run(connection, job_run_id), existing=False)
