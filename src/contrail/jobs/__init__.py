"""Job runs: submitting, watching, cancelling, and the desk that node agents talk to. Knows no HTTP and no SQL."""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from contrail.engines import gpus
from contrail.engines.base import Engine
from contrail.jobs import ending, submission, views
from contrail.jobs.agents import Agents
from contrail.jobs.code import CodeArchives
from contrail.jobs.parts import Parts
from contrail.jobs.states import Event, is_over
from contrail.jobs.supervisor import Supervisor
from contrail.jobs.transitions import happen, happen_to_job_run
from contrail.model.errors import InvalidParameterValue
from contrail.model.jobs import Attempt, Cause, JobRun, JobState
from contrail.model.settings import Settings
from contrail.model.tracking import RunStatus
from contrail.store import jobs as store
from contrail.store.jobs import JobRunFilter
from contrail.store.writer import Connection
from contrail.wire import jobs as wire
from contrail.wire import page_tokens

if TYPE_CHECKING:
    from contrail.blobs.store import BlobStore
    from contrail.logs import Logs
    from contrail.store.database import Database
    from contrail.tracking import Tracking

__all__ = ["JobRunFilter", "Jobs"]

LIST_MAX = 1000
_LISTING = "job-runs"


class Jobs:
    """Everything about job runs. Methods block and belong into a thread; all of them are thread-safe."""

    def __init__(
        self,
        database: Database,
        tracking: Tracking,
        logs: Logs,
        blobs: BlobStore,
        settings: Settings,
        *,
        engines: Mapping[str, Engine],
        server_address: Callable[[], str],
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ):
        self._parts = Parts(database, tracking, logs, blobs, settings, engines, server_address, clock)
        self.agents = Agents(self._parts, monotonic)
        self.code = CodeArchives(self._parts)
        self.supervisor = Supervisor(self._parts, self.agents, monotonic)

    def start(self) -> None:
        """Begin to supervise."""
        self.supervisor.start()

    def stop(self) -> None:
        """Stop supervising. Agents go on by themselves and are found again."""
        self.supervisor.stop()

    @property
    def engines(self) -> Sequence[str]:
        """Names of the engines that workloads can ask for."""
        return sorted(self._parts.engines)

    def accelerators(self) -> builtins.list[str]:
        """Accelerator types that some engine has, as a workload names them."""
        models = {gpu.name for engine in self._parts.engines.values() for gpu in engine.capacity().gpus}
        return ["CPU", *(f"GPU_1x{gpus.model_of(name)}" for name in sorted(models))]

    def submit(self, message: wire.Submit) -> wire.Submitted:
        """Create a queued job run. Raises `InvalidParameterValue` that names the field; then nothing is stored."""
        made = submission.submit(self._parts, message)
        url = views.job_url(self._parts.server_address(), made.job_run.job_run_id)
        return wire.Submitted(made.job_run.job_run_id, str(made.job_run.state), made.existing, url)

    def validate(self, message: wire.Validate) -> wire.Validated:
        """All that keeps a workload from being accepted."""
        return wire.Validated(submission.problems(self._parts, message.workload, message.engine))

    def get(self, job_run_id: int) -> wire.JobRunDetail:
        """One job run with its attempts and nodes. Raises `ResourceDoesNotExist`."""
        with self._parts.database.read() as connection:
            job = store.get_job_run(connection, job_run_id)
            attempts = store.attempts_of(connection, [job_run_id])[job_run_id]
            nodes = store.nodes_of(connection, [attempt.attempt_id for attempt in attempts])
        return views.detail(
            job,
            attempts,
            nodes,
            agents=self.agents,
            server_address=self._parts.server_address(),
            log_retention_days=self._parts.settings.log_retention_days,
        )

    def list(self, wanted: JobRunFilter, *, limit: int, page_token: str | None = None) -> wire.JobRunList:
        """Job runs that match, newest first."""
        if not 1 <= limit <= LIST_MAX:
            raise InvalidParameterValue(f"limit: must be from 1 to {LIST_MAX}, is {limit}")
        before_id = None if page_token is None else _before(page_token)
        with self._parts.database.read() as connection:
            jobs = store.list_job_runs(connection, wanted, before_id=before_id, limit=limit + 1)
            page = jobs[:limit]
            newest = store.newest_attempts(connection, [job.job_run_id for job in page])
        following = page_tokens.encode(_LISTING, [page[-1].job_run_id]) if len(jobs) > limit else None
        return wire.JobRunList([views.summary(job, newest.get(job.job_run_id)) for job in page], following)

    def cancel(self, job_run_id: int, by: str) -> wire.Cancelled:
        """Ask a job run to stop; it is never retried afterwards. Idempotent, and without effect after its end."""
        job, ended = self._parts.database.writer.run(
            lambda connection: self._cancel(connection, job_run_id, by)
        )
        if ended is not None:
            ending.finish_run(self._parts, ended, RunStatus.KILLED, self._parts.now_ms())
        self._parts.wake.set()
        return wire.Cancelled(job_run_id, str(job.state))

    def _cancel(self, connection: Connection, job_run_id: int, by: str) -> tuple[JobRun, Attempt | None]:
        """The job run afterwards, and the attempt if there was nothing to wait for."""
        job = store.get_job_run(connection, job_run_id)
        if is_over(job.state) or job.cancel_requested_by is not None:
            return job, None
        now_ms = self._parts.now_ms()
        words = f"cancelled by {by}"
        store.set_job_run(connection, job_run_id, cancel_requested_by=by)
        attempt = store.newest_attempts(connection, [job_run_id])[job_run_id]
        if job.state is JobState.WAITING_FOR_RETRY:
            happen_to_job_run(connection, job, Event.CANCEL, now_ms, {"message": words, "retry_at_ms": None})
            return store.get_job_run(connection, job_run_id), None
        gone_at_once = attempt.state is JobState.QUEUED
        message = words if gone_at_once else f"being {words}"
        happen(
            connection,
            attempt,
            Event.CANCEL,
            now_ms,
            attempt_values={"cause": Cause.CANCELLED, "message": message},
            job_values={"message": message},
        )
        return store.get_job_run(connection, job_run_id), attempt if gone_at_once else None


def _before(page_token: str) -> int:
    match page_tokens.decode(_LISTING, page_token):
        case [int(job_run_id)]:
            return job_run_id
        case _:
            raise page_tokens.invalid()
