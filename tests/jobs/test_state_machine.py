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

OVER = {"TERMINATED", "INTERNAL_ERROR"}
numbers = st.integers(0, 3)
CAUSES = st.sampled_from([Cause.EXIT_CODE, Cause.SIGNAL, Cause.TIMED_OUT, Cause.CANCELLED, Cause.PEER_FAILED])


class JobMachine(RuleBasedStateMachine):
    """People submit and cancel, agents say and do things, servers are killed, time passes."""

    workplace = None  # set by the test

    @initialize(slots=st.integers(2, 4))
    def begin(self, slots: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.place = self.workplace(self.folder)
        self.place.engine.nodes = slots
        self.ids: list[int] = []
        self.cancelled: set[int] = set()
        self.ends: dict[int, tuple] = {}
        self.exits: dict[int, dict[int, NodeExit]] = {}

    def teardown(self) -> None:
        if hasattr(self, "place"):
            self.place.close()
            shutil.rmtree(self.folder)

    # ------------------------------------------------ what people do

    @rule(nodes=st.integers(1, 2), retries=st.integers(0, 2))
    def submit(self, nodes: int, retries: int) -> None:
        if len(self.ids) < 4:
            text = (
                f"experiment_name: m\ncompute: {{accelerator_type: CPU, num_accelerators: {nodes}}}\n"
                f"command: x\nmax_retries: {retries}\n"
            )
            self.ids.append(self.place.submit(text))

    @rule(which=numbers)
    def cancel(self, which: int) -> None:
        if which < len(self.ids):
            job = self.place.job(self.ids[which])
            if job.state not in OVER:
                self.cancelled.add(job.job_run_id)
            self.place.jobs.cancel(job.job_run_id, "ada")

    # ------------------------------------------------ what agents do

    def _agent(self, which: int, node: int) -> int | None:
        """The attempt of an agent that lives."""
        if which >= len(self.ids):
            return None
        attempt = self.place.job(self.ids[which]).attempts[-1]
        state = self.place.engine.states.get((attempt.attempt_id, node))
        return attempt.attempt_id if state is not None and state.condition is Condition.RUNNING else None

    @rule(which=numbers, node=st.integers(0, 1), state=st.sampled_from(["PENDING", "RUNNING"]))
    def heartbeat(self, which: int, node: int, state: str) -> None:
        attempt_id = self._agent(which, node)
        if attempt_id is not None:
            with suppress(ContrailError):
                self.place.says(attempt_id, node, state)

    @rule(which=numbers, node=st.integers(0, 1), code=st.sampled_from([0, 0, 1]), cause=CAUSES)
    def exit(self, which: int, node: int, code: int, cause: Cause) -> None:
        attempt_id = self._agent(which, node)
        if attempt_id is not None:
            self.place.exits(attempt_id, node, code, cause)

    @rule(which=numbers, node=st.integers(0, 1), record=st.booleans())
    def vanish(self, which: int, node: int, record: bool) -> None:
        attempt_id = self._agent(which, node)
        if attempt_id is not None:
            self.place.engine.vanish(attempt_id, node, NodeExit(0, Cause.EXIT_CODE, ended_ms=7) if record else None)

    # ------------------------------------------------ what happens around them

    @rule()
    def look(self) -> None:
        self.place.step()

    @rule(seconds=st.sampled_from([1, 6, 30]))
    def time_passes(self, seconds: float) -> None:
        self.place.clock.advance(seconds)

    @rule()
    def server_is_restarted(self) -> None:
        self.place.restart()

    @rule()
    def server_is_killed_while_it_starts_agents(self) -> None:
        self.place.engine.refuse = SystemExit("killed")
        with suppress(SystemExit):
            self.place.step()
        self.place.engine.refuse = None
        self.place.restart()

    @rule()
    def engine_is_out_of_order(self) -> None:
        self.place.engine.refuse = TemporarilyUnavailable("not now")
        self.place.step()
        self.place.engine.refuse = None

    # ------------------------------------------------ what always holds

    @invariant()
    def a_job_run_follows_its_newest_attempt(self) -> None:
        for job in self._jobs():
            newest = job.attempts[-1]
            if job.state == "WAITING_FOR_RETRY":
                assert newest.state in OVER
                assert job.retry_at_ms is not None
            elif (job.state, job.result) != ("TERMINATED", "CANCELED"):
                assert (job.state, job.result) == (newest.state, newest.result)
            assert all(attempt.state in OVER for attempt in job.attempts[:-1])
            assert [attempt.number for attempt in job.attempts] == list(range(len(job.attempts)))
            assert len(job.attempts) <= job.max_retries + 1

    @invariant()
    def what_is_over_stays_as_it_is(self) -> None:
        for job in self._jobs():
            end = (job.status, job.message, job.ended_ms, len(job.attempts), job.run_id)
            if job.state in OVER:
                assert self.ends.setdefault(job.job_run_id, end) == end
                assert job.result is not None
                assert job.message
            else:
                assert job.job_run_id not in self.ends

    @invariant()
    def runs_end_with_their_attempts(self) -> None:
        wanted = {"SUCCESS": "FINISHED", "FAILED": "FAILED", "TIMEDOUT": "FAILED", "CANCELED": "KILLED"}
        for job in self._jobs():
            for attempt in job.attempts:
                if attempt.run_id is not None and attempt.result is not None:
                    assert self.place.run_status(attempt.run_id) == wanted[attempt.result]

    @invariant()
    def nodes_are_not_oversubscribed(self) -> None:
        placed = [
            attempt.num_nodes
            for job in self._jobs()
            for attempt in job.attempts
            if attempt.state in {"PENDING", "RUNNING", "TERMINATING"}
        ]
        if hasattr(self, "place"):
            assert sum(placed) <= self.place.engine.nodes

    @rule()
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
        self.ids.clear()
        self.ends.clear()

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
        max_examples=25,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=False,
    )
    case().runTest()
