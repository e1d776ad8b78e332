"""The agent's life: prepare, run the command, deliver everything, leave."""

from __future__ import annotations

import fcntl
import logging
import math
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from contrail.agent import endings, launch, tree
from contrail.agent.capture import Capture
from contrail.agent.cgroup import Cgroup
from contrail.agent.edge import Edge
from contrail.agent.files import WorkDir, read_json, write_atomically
from contrail.agent.gpus import Gpus
from contrail.agent.items import EXIT, decode_item, encode_item, open_item_spool
from contrail.agent.knowledge import Knowledge
from contrail.agent.link import Health, Link, ServerAddress
from contrail.agent.output import Output
from contrail.agent.prepare import CouldNotStart, Prepared, StopRequested, Tools, prepare
from contrail.agent.relay import Relay
from contrail.agent.reports import Reports
from contrail.agent.sampler import Hardware, Sampler, shares_machine
from contrail.agent.sender import HeartbeatLane, Lane, LogLane, RelayLane, UploadLane
from contrail.agent.spool import Budget, Spool, SpoolFull
from contrail.agent.uploads import Uploads
from contrail.model.jobs import AgentSpec, Cause, NodeExit
from contrail.model.tracking import RunStatus
from contrail.wire.jobs import Heartbeat, HeartbeatAnswer

log = logging.getLogger(__name__)

SWITCH_INTERVAL_S = 0.0005  # no thread of ours keeps a tracking write of the workload waiting for longer
LEFTOVER_S = 1.0  # how long background processes may outlive the command
PIPE_END_S = 5.0  # how long to wait for the end of the output once every process is gone
DELIVER_MAX_S = 7 * 24 * 3600.0  # after that the spool stays on disk, for an agent started again
LEAVE_S = 15.0  # the same, for an agent that got SIGTERM
COULD_NOT_START_CODE = 127


@dataclass(frozen=True, slots=True)
class Order:
    """Why the command must end, and how long it may take to leave."""

    cause: Cause
    grace_s: float
    message: str = ""


class Launched(msgspec.Struct):
    """Content of `launched.json`."""

    pid: int
    start_ticks: int
    boot_id: str


class Orders:
    """The first order to stop counts. It wakes whoever watches `fd`. Thread-safe, also in signal handlers."""

    def __init__(self) -> None:
        self._order: Order | None = None
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.gone = False

    @property
    def fd(self) -> int:
        """Readable when something has happened."""
        return self._read

    @property
    def wake_fd(self) -> int:
        """Writing a byte here wakes the watcher; meant for `signal.set_wakeup_fd`."""
        return self._write

    @property
    def order(self) -> Order | None:
        """The order, if there is one."""
        return self._order

    def give(self, order: Order) -> None:
        """Ask for the end."""
        if self._order is None:
            self._order = order
            self.wake()

    def wake(self) -> None:
        """Wake the watcher."""
        with suppress(OSError):
            os.write(self._write, b"\0")

    def wait(self, timeout_s: float) -> None:
        """Wait for an order, a signal or the timeout."""
        if select.select([self._read], [], [], max(0.0, timeout_s))[0]:
            with suppress(OSError):
                os.read(self._read, 4096)

    def check(self) -> None:
        """Raises `StopRequested` when there is an order."""
        if self._order is not None:
            raise StopRequested


class Agent:
    """One node of one attempt."""

    def __init__(self, work_dir: WorkDir, spec: AgentSpec):
        self._dir = work_dir
        self._spec = spec
        self._orders = Orders()
        self._heartbeat = Heartbeat("PENDING", "Starting", socket.gethostname(), os.getpid(), None)
        budget = Budget(spec.spool_max_bytes)
        self._items = open_item_spool(work_dir.spool / "items", budget)
        self._uploads = Uploads(work_dir.spool / "uploads", budget)
        self._output = Output(work_dir.spool / "output", budget)
        self._address = ServerAddress(spec.server_address, spec.server_file)
        self._health = Health()
        self._knowledge = Knowledge(spec, _now_ms())
        self._leave_at = math.inf  # by the monotonic clock: when to stop delivering
        self._reports = Reports(self._output, self._health, self._address, self._backlog)
        self._relay_lane = RelayLane(
            spec, self._items, self._link(), self._health, self._gone, self._reports.refused
        )
        self._heartbeats = HeartbeatLane(
            spec, self._link(), self._health, self._gone, lambda: self._heartbeat, self._ordered
        )
        self._lanes: list[Lane] = [
            self._heartbeats,
            LogLane(spec, self._output, self._link(), self._health, self._gone),
            self._relay_lane,
            UploadLane(
                self._uploads, self._items, self._link(), self._health, self._gone, self._reports.lost
            ),
        ]
        relay = Relay(
            spec,
            knowledge=self._knowledge,
            items=self._items,
            uploads=self._uploads,
            health=self._health,
            new_link=self._link,
            urge=self._relay_lane.urge,
            lost=self._reports.lost,
            server_url=lambda: self._address.url,
        )
        self._edge = Edge(relay)

    # ------------------------------------------------------------ the whole life

    def run(self) -> None:
        """Everything, from whatever point an earlier agent in this work folder has reached."""
        self._take_over_signals()
        tree.become_subreaper()
        own = tree.read_process(os.getpid())
        identity = {
            "pid": os.getpid(),
            "start_time": own.start_ticks if own else 0,
            "boot_id": tree.boot_id(),
        }
        write_atomically(self._dir.agent, {**identity, "port": self._edge.port})
        self._edge.start()
        for lane in self._lanes:
            lane.start()
        self._reports.start()
        end = self._earlier_end() or self._prepare_and_execute()
        self._output.finish()
        write_atomically(self._dir.exit, end)
        if self._deliver(end):
            self._dir.clean()

    def _earlier_end(self) -> NodeExit | None:
        """How the command ended, if an earlier agent started it: it must not run twice."""
        end = read_json(self._dir.exit, NodeExit)
        if end is not None or not self._dir.launched.exists():
            return end
        left = tree.kill_all(lambda: tree.marked(launch.MARK, self._spec.work_dir), lambda: None)
        if left:
            log.error("%d processes of the workload would not leave", left)
        return NodeExit(137, Cause.NODE_LOST, message="the node agent was killed", ended_ms=_now_ms())

    def _prepare_and_execute(self) -> NodeExit:
        try:
            prepared = prepare(self._spec, self._dir, self._tools())
            self._orders.check()
            return self._execute(prepared)
        except StopRequested:
            order = self._orders.order
            cause = order.cause if order else Cause.CANCELLED
            return NodeExit(143, cause, message="before the command had started", ended_ms=_now_ms())
        except CouldNotStart as error:
            return self._could_not_start(str(error))
        except OSError as error:  # a full disk, no bash, no permission
            log.exception("the command could not be started")
            return self._could_not_start(str(error))

    def _could_not_start(self, reason: str) -> NodeExit:
        self._output.say(f"could not start: {reason}")
        return NodeExit(COULD_NOT_START_CODE, Cause.COULD_NOT_START, message=reason, ended_ms=_now_ms())

    def _tools(self) -> Tools:
        return Tools(
            link=self._link(),
            output=self._output,
            check_stop=self._orders.check,
            status=lambda text: self._tell(status_message=text),
            pause=self._orders.wait,
        )

    # ------------------------------------------------------------ the command

    def _execute(self, prepared: Prepared) -> NodeExit:
        hardware = Hardware(
            own_processes_only=shares_machine(self._spec),
            disk=self._dir.path,
            gpus=Gpus(self._spec.gpu_ids, self._output.say),
        )
        cgroup = Cgroup()
        oom_before = endings.OomCounters.read(cgroup)
        capture = Capture(self._output)
        capture.start()
        command = self._launch(prepared, capture)
        self._tell(state="RUNNING", status_message="", started_ms=_now_ms())
        sampler = Sampler(self._spec, hardware, self._emit_sample)
        sampler.start()
        wait_status, order = self._supervise(command)
        sampler.stop()
        if not capture.join(PIPE_END_S):
            log.warning("somebody outside of the workload holds its output open")
        peak = max(hardware.peak_memory_bytes, endings.children_peak_bytes())
        end = endings.ending(
            wait_status,
            stop_cause=order.cause if order else None,
            stop_message=order.message if order else "",
            oom_before=oom_before,
            oom_after=endings.OomCounters.read(cgroup),
            peak_memory_bytes=peak,
        )
        self._end_child_runs(end)
        return end

    def _launch(self, prepared: Prepared, capture: Capture) -> subprocess.Popen[bytes]:
        environ = launch.workload_environment(self._spec, prepared, self._edge.url, os.environ)
        cwd = prepared.code or self._dir.path
        write_atomically(self._dir.launched, Launched(0, 0, tree.boot_id()))
        try:
            command = launch.start(prepared, cwd, environ, capture.write_fd)
        finally:
            capture.close_write()
        process = tree.read_process(command.pid)
        start_ticks = process.start_ticks if process else 0
        write_atomically(self._dir.launched, Launched(command.pid, start_ticks, tree.boot_id()))
        return command

    def _supervise(self, command: subprocess.Popen[bytes]) -> tuple[int, Order | None]:
        """Wait for the command's end, or bring it about. Returns its wait status and the order that ended it."""
        deadline = time.monotonic() + self._spec.timeout_s if self._spec.timeout_s else None
        reaper = Reaper(command.pid)
        order: Order | None = None
        while not reaper.reap():
            order = self._orders.order or self._overdue(deadline)
            if order is not None:
                break
            left_s = 60.0 if deadline is None else deadline - time.monotonic()
            self._orders.wait(min(60.0, left_s))
        if order is not None:
            tree.end_all(self._workload, reaper.reap_quietly, order.grace_s)
            reaper.reap()
        else:
            self._end_leftovers(reaper)
        command.returncode = 0  # reaped here, not by subprocess
        return reaper.wait_status, order

    def _overdue(self, deadline: float | None) -> Order | None:
        if deadline is None or time.monotonic() < deadline:
            return None
        limit = f"ran longer than its timeout of {self._spec.timeout_s:g} s"
        return Order(Cause.TIMED_OUT, self._spec.grace_s, limit)

    def _end_leftovers(self, reaper: Reaper) -> None:
        """Background processes hold the output open and the GPU busy: a moment, then they go too."""
        until = time.monotonic() + LEFTOVER_S
        while time.monotonic() < until and self._orders.order is None:
            reaper.reap()
            if not self._workload():
                return
            self._orders.wait(0.05)
        tree.kill_all(self._workload, reaper.reap_quietly)

    @staticmethod
    def _workload() -> list[tree.Process]:
        return tree.descendants(os.getpid())

    def _emit_sample(self, body: bytes) -> None:
        try:
            self._items.append(*encode_item("runs/log-batch", body))
        except SpoolFull as error:
            self._reports.lost(f"system metrics: {error}")

    def _end_child_runs(self, end: NodeExit) -> None:
        """Runs that the workload began and left open end as it ended."""
        status = RunStatus.KILLED if end.cause in _STOPPED else RunStatus.FAILED
        if end.cause is Cause.EXIT_CODE and end.exit_code == 0:
            status = RunStatus.FINISHED
        for run_id in self._knowledge.unfinished():
            body = {"run_id": run_id, "status": status.name, "end_time": end.ended_ms}
            with suppress(SpoolFull):
                self._items.append(*encode_item("runs/update", msgspec.json.encode(body)))

    # ------------------------------------------------------------ delivering

    def _deliver(self, end: NodeExit) -> bool:
        """Bring everything to the server, the exit last. False when it stays here for now."""
        self._leave_at = min(self._leave_at, time.monotonic() + DELIVER_MAX_S)
        self._tell(status_message="Delivering output")
        if not self._delivered(self._items, self._uploads.spool):
            return self._orders.gone
        self._reports.ending()  # says what is known only now, so output comes after the rest
        self._output.finish()
        if not self._delivered(self._output.spool):
            return self._orders.gone
        self._append_exit(end)
        return self._delivered(self._items) or self._orders.gone

    def _delivered(self, *spools: Spool) -> bool:
        """Wait until the server has everything; False when it does not want it, or not for too long."""
        for spool in spools:
            while not spool.wait_acked(spool.end, 0.2):
                if self._must_leave():
                    log.warning("leaving; %s stays for an agent started again", self._dir.spool)
                    return False
        return True

    def _must_leave(self) -> bool:
        return self._orders.gone or time.monotonic() > self._leave_at or not self._dir.spec.exists()

    def _append_exit(self, end: NodeExit) -> None:
        if self._items.reopened and self._exit_is_spooled():
            return
        self._relay_lane.urge()
        while not self._must_leave():
            try:
                self._items.append(*encode_item(EXIT, msgspec.json.encode(end)))
                return
            except SpoolFull as error:  # only a full disk: everything else is delivered
                log.warning("the exit cannot be spooled: %s", error)
                time.sleep(0.5)

    def _exit_is_spooled(self) -> bool:
        records = self._items.read(self._items.acked, bytes_max=1 << 40)
        return any(decode_item(record.payload)[0] == EXIT for record in records)

    def _backlog(self) -> tuple[int, int]:
        """Tracking writes and bytes of output that the server does not have."""
        writes = self._items.end - self._items.acked + self._uploads.spool.end - self._uploads.spool.acked
        return writes, self._output.spool.end - self._output.spool.acked

    # ------------------------------------------------------------ orders from outside

    def _take_over_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._orders.wake_fd, warn_on_full_buffer=False)

    def _signalled(self, *_: Any) -> None:
        self._leave_at = min(self._leave_at, time.monotonic() + self._spec.grace_s + LEAVE_S)
        self._orders.give(Order(Cause.CANCELLED, self._spec.grace_s))

    def _ordered(self, answer: HeartbeatAnswer) -> None:
        try:
            cause = Cause(answer.stop_cause or "")
        except ValueError:
            cause = Cause.CANCELLED
        self._orders.give(Order(cause, answer.grace_s))

    def _gone(self) -> None:
        """Nobody wants this attempt any more."""
        log.warning("the server does not know this attempt; ending it")
        self._orders.gone = True
        self._orders.give(Order(Cause.CANCELLED, self._spec.grace_s, "the server does not know this attempt"))

    def _tell(self, **changes: Any) -> None:
        self._heartbeat = msgspec.structs.replace(self._heartbeat, **changes)
        self._heartbeats.hurry()

    def _link(self) -> Link:
        return Link(self._address, self._spec.token, self._health)


_STOPPED = frozenset({Cause.CANCELLED, Cause.PEER_FAILED, Cause.TIMED_OUT})


class Reaper:
    """Collects ended children: the command, and orphans that the agent has adopted."""

    def __init__(self, pid: int):
        self._pid = pid
        self._ended = False
        self.wait_status = 0

    def reap(self) -> bool:
        """Collect whoever has ended; True when the command has."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self._pid:
                self._ended, self.wait_status = True, status
        return self._ended

    def reap_quietly(self) -> None:
        """The same, for those who do not ask."""
        self.reap()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main(argv: list[str]) -> int:
    """Run the agent of the work folder in `argv`; 0 when it has done its work or another one does it."""
    if len(argv) != 1:
        sys.stderr.write("usage: python -m contrail.agent <work_dir>\n")
        return 2
    work_dir = WorkDir(Path(argv[0]).absolute())
    logging.basicConfig(
        filename=work_dir.log,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(threadName)s %(message)s",
    )
    lock = _lock(work_dir.lock)
    if lock is None:
        log.info("another agent works here")
        return 0
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        spec = work_dir.read_spec()
        Agent(work_dir, spec).run()
    except Exception:  # the process's outermost edge
        log.exception("the agent failed")
        _last_words(work_dir)
        return 1
    log.info("done")
    return 0


def _last_words(work_dir: WorkDir) -> None:
    """A failed agent leaves no processes behind and says in `exit.json` that it failed."""
    tree.kill_all(lambda: tree.descendants(os.getpid()), lambda: None)
    if not work_dir.exit.exists():
        message = f"the node agent failed; see {work_dir.log.name} in {work_dir.path}"
        with suppress(OSError):
            write_atomically(
                work_dir.exit, NodeExit(137, Cause.NODE_LOST, message=message, ended_ms=_now_ms())
            )


def _lock(path: Path) -> IO[str] | None:
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
