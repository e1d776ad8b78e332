"""Whatever happens in whatever order, every job run has one true state and one true end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrail.engines.base import Condition
from contrail.model.errors import ContrailError, TemporarilyUnavailable
from contrail.model.jobs import Cause, NodeExit
from contrail.wire.jobs import JobRunDetail

OVER = {"TERMINATED", "INTERNAL_ERROR"}
PLACED = {"PENDING", "RUNNING", "TERMINATING"}
RUN_STATUS = {"SUCCESS": "FINISHED", "FAILED": "FAILED", "TIMEDOUT": "FAILED", "CANCELED": "KILLED"}
JOB_RUNS_MAX = 3
CAUSES = [*[Cause.EXIT_CODE] * 5, Cause.SIGNAL, Cause.TIMED_OUT, Cause.CANCELLED, Cause.PEER_FAILED]
ACTIONS = [
    *["exit", "heartbeat", "look"] * 3,
    *["submit", "cancel", "vanish", "time_passes", "server_is_restarted"],
]


@dataclass(frozen=True)
class Step:
    """One thing that happens; an action takes what it needs of the rest."""

    action: str
    which: int
    flag: bool
    code: int
    cause: Cause


steps = st.builds(
    Step,
    action=st.sampled_from(ACTIONS),
    which=st.integers(0, 3),
    flag=st.booleans(),
    code=st.sampled_from([1, 1, 0]),
    cause=st.sampled_from(CAUSES),
)


class History:
    """People submit and cancel, agents say and do things, servers are killed, time passes."""

    def __init__(self, workplace: Callable[[Path], Any], folder: Path):
        self.place = workplace(folder)
        self.place.engine.nodes = 3
        self.ids: list[int] = []
        self.cancelled: dict[int, int] = {}  # job run -> its attempts at the time
        self.ends: dict[int, tuple] = {}

    def happens(self, step: Step) -> None:
        """Do one step; afterwards everything still holds together."""
        getattr(self, step.action)(step)
        self.everything_holds_together()

    # ------------------------------------------------ what people do

    def submit(self, step: Step) -> None:
        if len(self.ids) < JOB_RUNS_MAX:
            text = (
                f"experiment_name: m\ncompute: {{accelerator_type: CPU, num_accelerators: {1 + step.flag}}}\n"
                f"command: x\nmax_retries: {step.which}\n"
            )
            self.ids.append(self.place.submit(text))

    def cancel(self, step: Step) -> None:
        if self.ids:
            job = self.place.job(self.ids[step.which % len(self.ids)])
            if job.state not in OVER:
                self.cancelled.setdefault(job.job_run_id, len(job.attempts))
            self.place.jobs.cancel(job.job_run_id, "ada")

    # ------------------------------------------------ what agents do

    def _agent(self, which: int) -> tuple[int, int] | None:
        """Attempt and node of an agent that lives."""
        states = self.place.engine.states.items()
        agents = sorted(key for key, state in states if state.condition is Condition.RUNNING)
        return agents[which % len(agents)] if agents else None

    def heartbeat(self, step: Step) -> None:
        if agent := self._agent(step.which):
            with suppress(ContrailError):
                self.place.says(*agent, "RUNNING" if step.flag else "PENDING")

    def exit(self, step: Step) -> None:
        if agent := self._agent(step.which):
            self.place.exits(*agent, step.code, step.cause)

    def vanish(self, step: Step) -> None:
        if agent := self._agent(step.which):
            end = NodeExit(step.code, Cause.EXIT_CODE, ended_ms=7) if step.flag else None
            self.place.engine.vanish(*agent, end)

    # ------------------------------------------------ what happens around them

    def look(self, _step: Step) -> None:
        self.place.step()

    def time_passes(self, step: Step) -> None:
        self.place.clock.advance([1, 6, 30, 60][step.which])

    def server_is_restarted(self, step: Step) -> None:
        """Also killed while it starts agents, or after an engine did not want to."""
        fault = [None, None, SystemExit("killed"), TemporarilyUnavailable("not now")][step.which]
        self.place.engine.refuse = fault
        with suppress(SystemExit):
            self.place.step(int(fault is not None))
        self.place.engine.refuse = None
        self.place.restart()

    # ------------------------------------------------ what always holds

    def everything_holds_together(self) -> None:
        jobs = self._jobs()
        placed = 0
        for job in jobs:
            self._follows_its_newest_attempt(job)
            self._stays_over(job)
            self._only_ends_once_cancelled(job)
            placed += sum(attempt.num_nodes for attempt in job.attempts if attempt.state in PLACED)
            for attempt in job.attempts:
                if attempt.run_id is not None and attempt.result is not None:
                    assert self.place.run_status(attempt.run_id) == RUN_STATUS[attempt.result]
        assert not jobs or placed <= self.place.engine.nodes

    def _follows_its_newest_attempt(self, job: JobRunDetail) -> None:
        newest = job.attempts[-1]
        if job.state == "WAITING_FOR_RETRY":
            assert newest.state in OVER
            assert job.retry_at_ms is not None
        elif (job.state, job.result) != ("TERMINATED", "CANCELED"):
            assert (job.state, job.result) == (newest.state, newest.result)
        assert all(attempt.state in OVER for attempt in job.attempts[:-1])
        assert [attempt.number for attempt in job.attempts] == list(range(len(job.attempts)))
        assert len(job.attempts) <= job.max_retries + 1

    def _stays_over(self, job: JobRunDetail) -> None:
        if job.state in OVER:
            end = (job.status, job.message, job.ended_ms, len(job.attempts), job.run_id)
            assert self.ends.setdefault(job.job_run_id, end) == end
            assert job.result is not None
            assert job.message
        else:
            assert job.job_run_id not in self.ends

    def _only_ends_once_cancelled(self, job: JobRunDetail) -> None:
        if job.job_run_id in self.cancelled:
            assert job.state in {"TERMINATING", "TERMINATED"}
            assert len(job.attempts) == self.cancelled[job.job_run_id]

    def everything_ends(self) -> None:
        """Once agents leave and time passes, no job run is left over; what was cancelled is so unless it was over."""
        for _ in range(40):
            self.place.clock.advance(60)
            self.place.step()
            for (attempt_id, node), state in list(self.place.engine.states.items()):
                if state.condition is Condition.RUNNING:
                    stopped = self._stop_cause(attempt_id, node)
                    self.place.exits(attempt_id, node, 143 if stopped else 0, stopped or Cause.EXIT_CODE)
            if all(job.state in OVER for job in self._jobs()):
                break
        for job in self._jobs():
            assert job.state in OVER
            if job.job_run_id in self.cancelled and job.result != "CANCELED":
                assert "before the cancel of ada" in job.message

    def _stop_cause(self, attempt_id: int, node: int) -> Cause | None:
        try:
            answer = self.place.says(attempt_id, node)
        except ContrailError:
            return None
        return Cause(answer.stop_cause) if answer.stop_cause else None

    def _jobs(self) -> list[JobRunDetail]:
        return [self.place.job(job_run_id) for job_run_id in self.ids]


@pytest.mark.timeout(600)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(steps, min_size=20, max_size=50))
def test_the_life_of_job_runs(workplace_class: Callable[[Path], Any], history: list[Step]) -> None:
    """Random histories of submits, cancels, heartbeats, exits, lost agents and killed servers."""
    folder = Path(tempfile.mkdtemp())
    life = History(workplace_class, folder)
    try:
        life.happens(Step("submit", 2, False, 0, Cause.EXIT_CODE))
        for step in history:
            life.happens(step)
        life.everything_ends()
    finally:
        life.place.close()
        shutil.rmtree(folder)
