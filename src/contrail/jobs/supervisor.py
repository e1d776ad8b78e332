"""The supervisor: one thread that moves every job run on, from the queue to its true end.

It keeps nothing that matters in memory: each pass reads what is stored, looks at the agents, and writes what
follows. So a restarted server simply goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from contrail.engines.base import NodeState
from contrail.jobs import ending
from contrail.jobs.agents import Agents
from contrail.jobs.capacity import Start
from contrail.jobs.outcome import Outcome, could_not_start
from contrail.jobs.parts import Parts
from contrail.jobs.starter import CouldNotStart, Queued, Starter
from contrail.jobs.states import Event
from contrail.jobs.transitions import happen_to_job_run
from contrail.jobs.watcher import Live, Watcher
from contrail.model.errors import TemporarilyUnavailable
from contrail.model.jobs import Cause, JobState
from contrail.store import jobs as store
from contrail.store.writer import Connection

log = logging.getLogger(__name__)

LOOK_S = 1.0  # how often agents are looked at while there are any
IDLE_S = 60.0  # how often it looks when there is nothing to do; every event wakes it
RETENTION_S = 3600.0
_PLACED = frozenset({JobState.PENDING, JobState.RUNNING, JobState.TERMINATING})


class Supervisor:
    """Owns the thread. `step` is one pass and can be called without it."""

    def __init__(self, parts: Parts, agents: Agents, monotonic: Callable[[], float] = time.monotonic):
        self._parts = parts
        self._monotonic = monotonic
        self._starter = Starter(parts)
        self._watcher = Watcher(parts, agents, self._starter, monotonic)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._retention_due = monotonic()

    def start(self) -> None:
        """Seal what a killed server left open, then supervise in the background."""
        self._thread = threading.Thread(target=self._loop, name="contrail-supervisor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; agents go on by themselves."""
        self._stopping.set()
        self._parts.wake.set()
        if self._thread is not None:
            self._thread.join()

    def step(self) -> float:
        """One pass over everything that is not over; returns the seconds until the next one is due."""
        lives = self._load()
        states = self._observe([live for live in lives if live.attempt.state in _PLACED])
        for live in lives:
            self._move_on(live, states.get(live.attempt.attempt_id))
        self._start_queued()
        self._remove_expired_logs()
        return self._next_due_s()

    # ------------------------------------------------------------ the thread

    def _loop(self) -> None:
        while not self._stopping.is_set():
            self._parts.wake.clear()
            try:
                due_s = self.step()
            except Exception:  # the thread's outermost edge: it must outlive everything
                log.exception("the supervisor failed; it goes on")
                due_s = LOOK_S
            if not self._stopping.is_set():
                self._parts.wake.wait(due_s)

    # ------------------------------------------------------------ one pass

    def _load(self) -> list[Live]:
        with self._parts.database.read() as connection:
            jobs = store.live_job_runs(connection)
            attempts = store.newest_attempts(connection, [job.job_run_id for job in jobs])
            nodes = store.nodes_of(connection, [attempt.attempt_id for attempt in attempts.values()])
        return [
            Live(job, attempts[job.job_run_id], tuple(nodes[attempts[job.job_run_id].attempt_id]))
            for job in jobs
            if job.job_run_id in attempts
        ]

    def _observe(self, lives: Sequence[Live]) -> dict[int, list[NodeState]]:
        by_engine: dict[str, list[Live]] = defaultdict(list)
        for live in lives:
            if live.attempt.handle is not None:
                by_engine[live.job.engine].append(live)
        found: dict[int, list[NodeState]] = {}
        for name, members in by_engine.items():
            handles = [live.attempt.handle for live in members if live.attempt.handle is not None]
            seen = self._parts.engine(name).observe(handles)
            found |= {live.attempt.attempt_id: states for live, states in zip(members, seen, strict=True)}
        return found

    def _move_on(self, live: Live, states: Sequence[NodeState] | None) -> None:
        """What goes wrong with one attempt stops neither the others nor its training: it is looked at again."""
        try:
            if live.attempt.state in _PLACED and states is not None:
                self._watcher.watch(live, states)
            elif live.job.state is JobState.WAITING_FOR_RETRY:
                self._requeue(live)
        except CouldNotStart as failure:
            self._give_up(failure.entry, could_not_start(failure.reason))
        except TemporarilyUnavailable as error:
            log.warning("attempt %d is looked after later: %s", live.attempt.attempt_id, error)
        except Exception:  # the edge of one attempt
            log.exception("attempt %d could not be looked after; it is tried again", live.attempt.attempt_id)

    def _requeue(self, live: Live) -> None:
        """The pause is over: the next attempt queues."""
        if live.job.retry_at_ms is not None and live.job.retry_at_ms > self._parts.now_ms():
            return

        def write(connection: Connection) -> None:
            job = store.get_job_run(connection, live.job.job_run_id)
            if job.state is not JobState.WAITING_FOR_RETRY:
                return  # cancelled meanwhile
            now_ms = self._parts.now_ms()
            happen_to_job_run(connection, job, Event.REQUEUE, now_ms, {"retry_at_ms": None, "message": ""})
            store.insert_attempt(
                connection,
                job_run_id=job.job_run_id,
                number=live.attempt.number + 1,
                num_nodes=live.attempt.num_nodes,
                now_ms=now_ms,
            )

        self._parts.database.writer.run(write)

    def _start_queued(self) -> None:
        queues: dict[str, list[Live]] = defaultdict(list)
        for live in self._load():
            if live.attempt.state is JobState.QUEUED:
                queues[live.job.engine].append(live)
        for engine, lives in queues.items():
            if engine not in self._parts.engines:
                continue  # its settings are gone; the job runs wait until they are back
            made = self._starter.plan(engine, [Queued(live.job, live.attempt) for live in lives])
            waiting = {live.attempt.attempt_id: live for live in lives}
            for start in made.starts:
                live = waiting[start.attempt_id]
                self._start(Queued(live.job, live.attempt), start)

    def _start(self, entry: Queued, start: Start) -> None:
        try:
            self._starter.start(entry, start)
        except TemporarilyUnavailable as error:
            log.warning("attempt %d is started later: %s", entry.attempt.attempt_id, error)
        except CouldNotStart as failure:
            log.warning("attempt %d could not be started: %s", entry.attempt.attempt_id, failure)
            self._give_up(entry, could_not_start(failure.reason))
        except Exception as error:  # the edge of one attempt
            log.exception("attempt %d broke at its start", entry.attempt.attempt_id)
            self._give_up(entry, Outcome(Event.BREAK, Cause.COULD_NOT_START, f"Contrail failed: {error!r}"))

    def _give_up(self, entry: Queued, outcome: Outcome) -> None:
        """End an attempt that could not be started, with the agents of it that were."""
        attempt, engine = entry.attempt, self._parts.engine(entry.job.engine)
        engine.stop(engine.handle(attempt.attempt_id, attempt.num_nodes), kill=True)
        ending.end(self._parts, attempt.attempt_id, outcome)

    def _remove_expired_logs(self) -> None:
        now = self._monotonic()
        if now < self._retention_due:
            return
        self._retention_due = now + RETENTION_S
        with self._parts.database.read() as connection:
            unsealed = store.unsealed_attempts(connection)
        for attempt_id in unsealed:
            self._parts.logs.seal(attempt_id)
        self._parts.logs.remove_expired(now_ms=self._parts.now_ms())

    def _next_due_s(self) -> float:
        """Until the next retry, or the next look at agents."""
        lives = self._load()
        if any(live.attempt.state in _PLACED for live in lives):
            return min(LOOK_S, float(self._parts.settings.heartbeat_interval_s))
        now_ms = self._parts.now_ms()
        waits = [
            (live.job.retry_at_ms - now_ms) / 1000
            for live in lives
            if live.job.state is JobState.WAITING_FOR_RETRY and live.job.retry_at_ms is not None
        ]
        return max(0.0, min([*waits, IDLE_S]))
