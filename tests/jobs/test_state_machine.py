"""Whatever happens in whatever order, every job run has one true state and one true end."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from contrail.engines.base import Condition
from contrail.model.errors import ContrailError, TemporarilyUnavailable
from contrail.model.jobs import Cause, NodeExit
from contrail.wire.jobs import JobRunDetail

OVER = {"TERMINATED", "INTERNAL_ERROR"}
PLACED = {"PENDING", "RUNNING", "TERMINATING"}
RUN_STATUS = {"SUCCESS": "FINISHED", "FAILED": "FAILED", "TIMEDOUT": "FAILED", "CANCELED": "KILLED"}
numbers = st.integers(0, 3)
CAUSES = st.sampled_from(
    [*[Cause.EXIT_CODE] * 4, Cause.SIGNAL, Cause.TIMED_OUT, Cause.CANCELLED, Cause.PEER_FAILED]
)


class JobMachine(RuleBasedStateMachine):
    """People submit and cancel, agents say and do things, servers are killed, time passes."""

    workplace = None  # set by the test

    @initialize(slots=st.integers(2, 4), nodes=st.integers(1, 2), retries=st.integers(1, 2))
    def begin(self, slots: int, nodes: int, retries: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.place = self.workplace(self.folder)
        self.place.engine.nodes = slots
        self.ids: list[int] = []
        self.cancelled: dict[int, int] = {}  # job run -> its attempts at the time
        self.ends: dict[int, tuple] = {}
        self.submit(nodes, retries, True)

    def teardown(self) -> None:
        if hasattr(self, "place"):
            try:
                self.everything_ends()
            finally:
                self.place.close()
                shutil.rmtree(self.folder)

    # ------------------------------------------------ what people do

    @rule(nodes=st.integers(1, 2), retries=st.integers(0, 2), look=st.booleans())
    def another(self, nodes: int, retries: int, look: bool) -> None:
        if len(self.ids) < 3:
            self.submit(nodes, retries, look)

    def submit(self, nodes: int, retries: int, look: bool) -> None:
        text = (
            f"experiment_name: m\ncompute: {{accelerator_type: CPU, num_accelerators: {nodes}}}\n"
            f"command: x\nmax_retries: {retries}\n"
        )
        self.ids.append(self.place.submit(text))
        self.place.step(int(look))

    @rule(which=numbers)
    def cancel(self, which: int) -> None:
        if self.ids:
            job = self.place.job(self.ids[which % len(self.ids)])
            if job.state not in OVER:
                self.cancelled.setdefault(job.job_run_id, len(job.attempts))
            self.place.jobs.cancel(job.job_run_id, "ada")

    # ------------------------------------------------ what agents do

    def _agent(self, which: int) -> tuple[int, int] | None:
        """Attempt and node of an agent that lives."""
        agents = sorted(
            key for key, state in self.place.engine.states.items() if state.condition is Condition.RUNNING
        )
        return agents[which % len(agents)] if agents else None

    @rule(which=numbers, state=st.sampled_from(["PENDING", "RUNNING", "RUNNING"]))
    def heartbeat(self, which: int, state: str) -> None:
        if agent := self._agent(which):
            with suppress(ContrailError):
                self.place.says(*agent, state)

    @rule(which=numbers, code=st.sampled_from([1, 1, 0]), cause=CAUSES, look=st.booleans())
    def exit(self, which: int, code: int, cause: Cause, look: bool) -> None:
        if agent := self._agent(which):
            self.place.exits(*agent, code, cause)
            self.place.step(int(look))

    @rule(which=numbers, record=st.booleans())
    def vanish(self, which: int, record: bool) -> None:
        if agent := self._agent(which):
            self.place.engine.vanish(*agent, NodeExit(0, Cause.EXIT_CODE, ended_ms=7) if record else None)

    # ------------------------------------------------ what happens around them

    @rule()
    def look(self) -> None:
        self.place.step()

    @rule(seconds=st.sampled_from([1, 6, 30]))
    def time_passes(self, seconds: float) -> None:
        self.place.clock.advance(seconds)

    @rule(fault=st.sampled_from([None, SystemExit("killed"), TemporarilyUnavailable("not now")]))
    def server_is_restarted(self, fault: BaseException | None) -> None:
        """Also killed while it starts agents, or after an engine did not want to."""
        self.place.engine.refuse = fault
        with suppress(SystemExit):
            self.place.step(int(fault is not None))
        self.place.engine.refuse = None
        self.place.restart()

    # ------------------------------------------------ what always holds

    @invariant()
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

    def _jobs(self) -> list:
        return [self.place.job(job_run_id) for job_run_id in getattr(self, "ids", ())]


@pytest.mark.timeout(600)
def test_the_life_of_job_runs(workplace_class: type) -> None:
    """Random histories of submits, cancels, heartbeats, exits, lost agents and killed servers."""

    class Machine(JobMachine):
        workplace = staticmethod(workplace_class)

    case = Machine.TestCase
    case.settings = settings(
        max_examples=30,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=False,
    )
    case().runTest()
