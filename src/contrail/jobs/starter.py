"""Starting queued attempts: leases, the tracking run, the specs of the agents."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from contrail.access import tokens
from contrail.engines.base import Placement
from contrail.jobs.capacity import Plan, Start, Supply, Want, plan
from contrail.jobs.parts import Parts
from contrail.jobs.states import Event
from contrail.jobs.transitions import happen
from contrail.model.errors import ContrailError, ResourceConflict, TemporarilyUnavailable
from contrail.model.jobs import Accelerators, AgentSpec, Attempt, JobRun, JobState
from contrail.model.tracking import Run, RunStatus, Tag
from contrail.store import jobs as store
from contrail.store.writer import Connection
from contrail.workloads import Workload

log = logging.getLogger(__name__)

VOLUMES = "/Volumes"
_COMMIT_KEYS = ("commit", "git_commit", "tip_commit", "base_commit")


class CouldNotStart(Exception):
    """An attempt cannot be started, now or later; its cause is the error that says why."""

    def __init__(self, entry: Queued, reason: str):
        super().__init__(reason)
        self.entry = entry
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Queued:
    """An attempt that waits for capacity."""

    job: JobRun
    attempt: Attempt


class Starter:
    """Gives capacity to queued attempts and starts them."""

    def __init__(self, parts: Parts):
        self._parts = parts

    def plan(self, engine: str, queue: Sequence[Queued]) -> Plan:
        """What may start now on one engine, first come first served; the others get told why they wait."""
        wants = [
            Want(entry.job.job_run_id, entry.attempt.attempt_id, _accelerators(entry.job)) for entry in queue
        ]
        with self._parts.database.read() as connection:
            supply = Supply(
                self._parts.engine(engine).capacity(),
                store.held_nodes(connection, engine),
                store.leased_gpus(connection, engine),
            )
        made = plan(wants, supply)
        self._tell(queue, made)
        return made

    def start(self, entry: Queued, start: Start) -> None:
        """Make the tracking run, lease the GPUs, store the handle, then start the agents.

        A cancel that comes in between wins. Raises `CouldNotStart`, or `TemporarilyUnavailable` for another try.
        """
        with _refusals(entry):
            self._start(entry, start)

    def _start(self, entry: Queued, start: Start) -> None:
        run = self._create_run(entry.job, entry.attempt)
        token = tokens.create()
        engine = self._parts.engine(entry.job.engine)
        handle = engine.handle(entry.attempt.attempt_id, entry.attempt.num_nodes)
        try:
            self._parts.database.writer.run(
                lambda connection: self._lease(connection, entry, start, handle, token)
            )
        except ResourceConflict as conflict:
            log.info("attempt %d was not started: %s", entry.attempt.attempt_id, conflict)
            self._parts.tracking.runs.finish(run.info.run_id, RunStatus.KILLED, self._parts.now_ms())
            return
        engine.place(Placement(entry.attempt.attempt_id, self._specs(entry, run, start.gpu_ids, token)))

    def start_again(self, entry: Queued, gpu_ids: Sequence[tuple[str, ...]]) -> None:
        """Go on with a start that a killed server left half done. Raises like `start`."""
        with _refusals(entry):
            self._start_again(entry, gpu_ids)

    def _start_again(self, entry: Queued, gpu_ids: Sequence[tuple[str, ...]]) -> None:
        attempt = entry.attempt
        run = self._create_run(entry.job, attempt)
        token = tokens.create()
        self._parts.database.writer.run(
            lambda connection: store.set_attempt(
                connection, attempt.attempt_id, token_sha256=tokens.sha256(token)
            )
        )
        specs = self._specs(entry, run, gpu_ids, token)
        self._parts.engine(entry.job.engine).place(Placement(attempt.attempt_id, specs))

    def _tell(self, queue: Sequence[Queued], made: Plan) -> None:
        news = [
            (entry, words)
            for entry in queue
            if (words := made.waits.get(entry.job.job_run_id)) is not None and entry.attempt.message != words
        ]
        if news:
            self._parts.database.writer.run(lambda connection: _write_messages(connection, news))

    def _create_run(self, job: JobRun, attempt: Attempt) -> Run:
        """The attempt's run. Its id is stored first, so that a server killed here finds the run again."""
        run_id = attempt.run_id or uuid.uuid4().hex
        if attempt.run_id is None:
            self._parts.database.writer.run(
                lambda connection: store.set_attempt(connection, attempt.attempt_id, run_uuid=run_id)
            )
        if job.experiment_id is None:
            raise ResourceConflict(f"Job run {job.job_run_id} has no experiment")
        return self._parts.tracking.runs.create(
            experiment_id=job.experiment_id,
            name=job.name,
            user=job.user,
            tags=_run_tags(job, attempt),
            start_ms=self._parts.now_ms(),
            run_id=run_id,
        )

    def _lease(
        self, connection: Connection, entry: Queued, start: Start, handle: dict[str, Any], token: str
    ) -> None:
        """QUEUED -> PENDING with the lease, the handle and the token in one step."""
        taken = store.leased_gpus(connection, entry.job.engine)
        wanted = [gpu for gpus in start.gpu_ids for gpu in gpus]
        if any(gpu in taken for gpu in wanted):
            raise ResourceConflict("Its GPUs were leased to another attempt meanwhile")
        attempt = store.get_attempt(connection, entry.attempt.attempt_id)
        for node, gpus in enumerate(start.gpu_ids):
            store.set_node(
                connection,
                attempt.attempt_id,
                node,
                gpu_ids_json=json.dumps(list(gpus)),
                state=JobState.PENDING,
            )
        happen(
            connection,
            attempt,
            Event.PLACE,
            self._parts.now_ms(),
            attempt_values={
                "handle_json": json.dumps(handle),
                "token_sha256": tokens.sha256(token),
                "message": "starting agents",
            },
            job_values={"message": "starting agents"},
        )

    def _specs(
        self, entry: Queued, run: Run, gpu_ids: Sequence[tuple[str, ...]], token: str
    ) -> tuple[AgentSpec, ...]:
        job, attempt, settings = entry.job, entry.attempt, self._parts.settings
        workload = Workload.from_json(job.workload_json)
        return tuple(
            AgentSpec(
                attempt_id=attempt.attempt_id,
                job_run_id=job.job_run_id,
                attempt_number=attempt.number,
                node=node,
                num_nodes=attempt.num_nodes,
                local_world_size=workload.accelerators.per_node,
                master_addr="",
                master_port=0,
                server_address=self._parts.server_address(),
                server_file=str(settings.data_path / "server.json"),
                token=token,
                run_id=run.info.run_id,
                run_name=run.info.name,
                experiment_id=str(run.info.experiment_id),
                experiment_name=job.experiment_name,
                artifact_uri=run.info.artifact_uri,
                user=job.user,
                command=workload.command,
                work_dir="",
                environments_dir=str(settings.data_path / "environments"),
                heartbeat_interval_s=settings.heartbeat_interval_s,
                metrics_interval_s=settings.system_metrics_interval_s,
                grace_s=settings.cancel_grace_s,
                code_digest=job.code_digest,
                code_name=job.code_name,
                volumes={VOLUMES: str(settings.volumes_path)},
                env=dict(workload.env_variables),
                parameters=None if workload.parameters is None else dict(workload.parameters),
                dependencies=list(workload.dependencies),
                gpu_ids=list(gpu_ids[node]),
                timeout_s=workload.timeout_s,
                spool_max_bytes=settings.spool_max_bytes,
            )
            for node in range(attempt.num_nodes)
        )


@contextmanager
def _refusals(entry: Queued) -> Iterator[None]:
    try:
        yield
    except TemporarilyUnavailable:
        raise
    except (ContrailError, OSError) as error:
        raise CouldNotStart(entry, str(error)) from error


def _accelerators(job: JobRun) -> Accelerators:
    return Workload.from_json(job.workload_json).accelerators


def _write_messages(connection: Connection, news: Sequence[tuple[Queued, str]]) -> None:
    for entry, words in news:
        store.set_attempt(connection, entry.attempt.attempt_id, message=words)
        store.set_job_run(connection, entry.job.job_run_id, message=words)


def _run_tags(job: JobRun, attempt: Attempt) -> list[Tag]:
    provenance = json.loads(job.provenance_json)
    commit = next((str(provenance[key]) for key in _COMMIT_KEYS if provenance.get(key)), None)
    tags = {
        "contrail.job_run_id": str(job.job_run_id),
        "contrail.attempt_number": str(attempt.number),
        "contrail.user": job.user,
        "mlflow.user": job.user,
        "mlflow.source.type": "JOB",
        "mlflow.source.name": job.name,
        "mlflow.source.git.commit": commit,
    }
    return [Tag(key, value) for key, value in tags.items() if value is not None]
