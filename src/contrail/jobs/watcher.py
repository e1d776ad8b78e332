"""Watching attempts that are placed: agents that vanish, peers of a failed node, limits that are passed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contrail.engines.base import Condition, Engine, NodeState
from contrail.jobs import ending
from contrail.jobs.agents import Agents
from contrail.jobs.outcome import is_failure
from contrail.jobs.parts import Parts
from contrail.jobs.starter import Queued, Starter
from contrail.jobs.states import Event
from contrail.jobs.transitions import happen
from contrail.model.jobs import Attempt, AttemptNode, Cause, JobRun, JobState, NodeExit
from contrail.store import jobs as store
from contrail.store.writer import Connection
from contrail.workloads import Workload

log = logging.getLogger(__name__)

HEARTBEATS_TO_REACT = 3  # an agent that has not asked by then is signalled by the engine
KILL_MARGIN_S = 10.0  # beyond the grace period, before the engine kills what the agent did not
TIMEOUT_MARGIN_S = 30.0  # the agent enforces the timeout; this long after it the server does
SIGKILL_EXIT = 137
SIGTERM_EXIT = 143


@dataclass(frozen=True, slots=True)
class Live:
    """A job run that is not over, with its newest attempt."""

    job: JobRun
    attempt: Attempt
    nodes: tuple[AttemptNode, ...]


class Watcher:
    """Looks after placed attempts; called from the supervisor's thread only."""

    def __init__(
        self, parts: Parts, agents: Agents, starter: Starter, monotonic: Callable[[], float] = time.monotonic
    ):
        self._parts = parts
        self._agents = agents
        self._starter = starter
        self._monotonic = monotonic
        self._revived: dict[tuple[int, int], float] = {}
        self._stopping_since: dict[int, float] = {}
        self._asked: set[int] = set()

    def watch(self, live: Live, states: Sequence[NodeState]) -> None:
        """One look at one placed attempt."""
        if all(state.condition is Condition.NOT_STARTED for state in states) and self._resume_start(live):
            return
        recorded = [self._look_at(live, node, states[node.node]) for node in live.nodes if node.exit is None]
        if all(node.exit is not None for node in live.nodes) or any(recorded):
            if ending.end(self._parts, live.attempt.attempt_id):
                self._forget(live)
                return
            live = self._reload(live)
        if live.attempt.state in {JobState.PENDING, JobState.RUNNING}:
            self._stop_if_needed(live, states)
        elif live.attempt.state is JobState.TERMINATING:
            self._press(live, states)

    # ------------------------------------------------------------ nodes

    def _resume_start(self, live: Live) -> bool:
        """A server was killed between storing the lease and starting the agents: go on from there."""
        if live.attempt.state is not JobState.PENDING:
            return False
        log.info("attempt %d is started again: no agent was there yet", live.attempt.attempt_id)
        self._starter.start_again(Queued(live.job, live.attempt), [node.gpu_ids for node in live.nodes])
        return True

    def _look_at(self, live: Live, node: AttemptNode, state: NodeState) -> bool:
        """Record the end of a node whose agent will not; says whether it did."""
        if state.condition is Condition.RUNNING:
            return self._is_stuck_revived(live, node, state)
        if state.condition is Condition.UNKNOWN and not self._is_silent(node):
            return False
        if state.condition is Condition.NOT_STARTED:
            return self._not_started(live, node)
        if state.condition is not Condition.UNKNOWN and self._revive(live, node):
            return False
        if state.condition is not Condition.EXITED:
            self._engine(live).stop(_handle(live), nodes=[node.node], kill=True)
        return self._record(node, state.exit or self._lost(state))

    def _revive(self, live: Live, node: AttemptNode) -> bool:
        """Let the agent deliver what it kept, once: it ended before everything had reached this server."""
        key = (node.attempt_id, node.node)
        if key in self._revived:
            return False
        self._revived[key] = self._monotonic()
        self._engine(live).stop(
            _handle(live), nodes=[node.node], kill=True
        )  # what a killed agent left behind
        return self._engine(live).revive(_handle(live), node.node)

    def _is_stuck_revived(self, live: Live, node: AttemptNode, state: NodeState) -> bool:
        """A revived agent has only to deliver; one that says nothing for long is not waited for."""
        since = self._revived.get((node.attempt_id, node.node))
        if since is None or self._monotonic() - since < self._silence_max_s() or not self._is_silent(node):
            return False
        self._engine(live).stop(_handle(live), nodes=[node.node], kill=True)
        return self._record(node, state.exit or self._lost(state))

    def _not_started(self, live: Live, node: AttemptNode) -> bool:
        if live.attempt.state is JobState.TERMINATING:
            cause = live.attempt.cause or Cause.CANCELLED
            return self._record(
                node, NodeExit(SIGTERM_EXIT, cause, None, "never started", self._parts.now_ms())
            )
        self._starter.start_again(Queued(live.job, live.attempt), [node.gpu_ids for node in live.nodes])
        return False

    def _lost(self, state: NodeState) -> NodeExit:
        words = "its agent is gone without a record of how the command ended"
        message = f"{words}; its last words: {state.detail}" if state.detail else words
        return NodeExit(SIGKILL_EXIT, Cause.NODE_LOST, None, message, self._parts.now_ms())

    def _record(self, node: AttemptNode, end: NodeExit) -> bool:
        return self._parts.database.writer.run(
            lambda connection: store.end_node(connection, node.attempt_id, node.node, end)
        )

    def _is_silent(self, node: AttemptNode) -> bool:
        return self._agents.silent_s(node.attempt_id, node.node) > self._silence_max_s()

    def _silence_max_s(self) -> float:
        settings = self._parts.settings
        return float(settings.heartbeat_interval_s * settings.heartbeats_missed_max)

    # ------------------------------------------------------------ attempts

    def _stop_if_needed(self, live: Live, states: Sequence[NodeState]) -> None:
        ends = [node.exit or states[node.node].exit for node in live.nodes]
        if any(end is not None and is_failure(end) for end in ends):
            if any(end is None for end in ends):
                self._stop(live, Cause.PEER_FAILED, "a node failed, the others are being stopped")
        elif self._is_overdue(live):
            self._stop(live, Cause.TIMED_OUT, "the timeout is over")

    def _is_overdue(self, live: Live) -> bool:
        timeout_s = Workload.from_json(live.job.workload_json).timeout_s
        if timeout_s is None or live.attempt.started_ms is None:
            return False
        margin_s = TIMEOUT_MARGIN_S + float(self._parts.settings.cancel_grace_s)
        return self._parts.now_ms() - live.attempt.started_ms > (timeout_s + margin_s) * 1000

    def _stop(self, live: Live, cause: Cause, words: str) -> None:
        def write(connection: Connection) -> None:
            attempt = store.get_attempt(connection, live.attempt.attempt_id)
            if attempt.state in {JobState.PENDING, JobState.RUNNING}:
                happen(
                    connection,
                    attempt,
                    Event.STOP,
                    self._parts.now_ms(),
                    attempt_values={"cause": cause, "message": words},
                    job_values={"message": words},
                )

        self._parts.database.writer.run(write)

    def _press(self, live: Live, states: Sequence[NodeState]) -> None:
        """Agents ask what to do with every heartbeat; those that do not react are signalled, then killed."""
        attempt_id, now = live.attempt.attempt_id, self._monotonic()
        settings = self._parts.settings
        since = self._stopping_since.setdefault(attempt_id, now)
        react_s = HEARTBEATS_TO_REACT * float(settings.heartbeat_interval_s)
        open_nodes = [node for node in live.nodes if node.exit is None]
        deaf = [node.node for node in open_nodes if self._agents.silent_s(attempt_id, node.node) > react_s]
        if now - since > react_s and deaf and attempt_id not in self._asked:
            self._asked.add(attempt_id)
            self._engine(live).stop(_handle(live), nodes=deaf, kill=False)
        if now - since > float(settings.cancel_grace_s) + react_s + KILL_MARGIN_S:
            # An agent that has an exit record has nothing left to kill and only delivers.
            hanging = [
                node.node for node in open_nodes if states[node.node].exit is None or self._is_silent(node)
            ]
            if hanging:
                self._engine(live).stop(_handle(live), nodes=hanging, kill=True)
                self._revived |= dict.fromkeys(((attempt_id, node) for node in hanging), now)

    def _reload(self, live: Live) -> Live:
        attempt_id = live.attempt.attempt_id
        with self._parts.database.read() as connection:
            attempt = store.get_attempt(connection, attempt_id)
            nodes = store.nodes_of(connection, [attempt_id])[attempt_id]
        return Live(live.job, attempt, tuple(nodes))

    def _forget(self, live: Live) -> None:
        attempt_id = live.attempt.attempt_id
        self._engine(live).forget(_handle(live))
        self._agents.forget(attempt_id)
        self._stopping_since.pop(attempt_id, None)
        self._asked.discard(attempt_id)
        for key in [key for key in self._revived if key[0] == attempt_id]:
            del self._revived[key]

    def _engine(self, live: Live) -> Engine:
        return self._parts.engine(live.job.engine)


def _handle(live: Live) -> dict[str, object]:
    if live.attempt.handle is None:
        raise ValueError(f"attempt {live.attempt.attempt_id} is placed but has no handle")
    return live.attempt.handle
