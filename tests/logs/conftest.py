"""A log store on a temporary folder, with attempts that can be written to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from sqlalchemy import insert, update
from starlette.applications import Starlette

from contrail.blobs.store import BlobStore
from contrail.logs import LogFilter, Logs, records
from contrail.model.errors import ContrailError
from contrail.model.jobs import JobResult, JobState
from contrail.model.logs import LogPiece
from contrail.model.settings import Settings
from contrail.server.errors import on_contrail_error
from contrail.server.routes import logs as log_routes
from contrail.store.database import Database
from contrail.store.tables import attempt_nodes, attempts, job_runs
from contrail.wire.logs import LogLine, LogPage

MS = 1_000_000


@dataclass
class LogBench:
    """A database, a blob store and the logs over them; `reopen` is a server restart."""

    settings: Settings
    now_s: float = 1_700_000_000.0
    database: Database = field(init=False)
    logs: Logs = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.database = Database.open(self.settings.store_address, durability="process")
        self.logs = Logs(self.database, BlobStore(self.settings), self.settings, lambda: self.now_s)

    def reopen(self) -> None:
        self.database.close()
        self.open()

    def attempt(self, nodes: int = 1, number: int = 0, run_id: str | None = None) -> int:
        """A running attempt of a new job run; both have the same id in these tests."""

        def write(c: Any) -> int:
            job = c.execute(
                insert(job_runs).values(
                    name="job",
                    user_name="u",
                    experiment_name="e",
                    state=JobState.RUNNING.value,
                    message="",
                    engine="local",
                    workload_yaml="",
                    workload_json="{}",
                    accelerator_type="CPU",
                    num_accelerators=nodes,
                    provenance_json="{}",
                    max_retries=0,
                    created_ms=0,
                )
            ).inserted_primary_key[0]
            attempt = c.execute(
                insert(attempts).values(
                    job_run_id=job,
                    number=number,
                    run_uuid=run_id,
                    state=JobState.RUNNING.value,
                    message="",
                    num_nodes=nodes,
                    token_sha256="",
                    created_ms=0,
                    started_ms=1,
                )
            ).inserted_primary_key[0]
            for node in range(nodes):
                c.execute(
                    insert(attempt_nodes).values(
                        attempt_id=attempt,
                        node=node,
                        state=JobState.RUNNING.value,
                        status_message="",
                        gpu_ids_json="[]",
                        relay_seq=0,
                        log_bytes=0,
                    )
                )
            return int(attempt)

        return self.database.writer.run(write)

    def end(self, attempt_id: int, *, seal: bool = True) -> None:
        """The attempt and its job run are over."""

        def write(c: Any) -> None:
            ended = {
                "state": JobState.TERMINATED.value,
                "result": JobResult.SUCCESS.value,
                "ended_ms": int(self.now_s * 1000),
            }
            c.execute(update(attempts).where(attempts.c.id == attempt_id).values(ended))
            c.execute(update(job_runs).where(job_runs.c.id == attempt_id).values(ended))

        self.database.writer.run(write)
        if seal:
            self.logs.seal(attempt_id)

    def write(self, attempt_id: int, text: str | bytes, *, node: int = 0, time_ns: int = MS) -> None:
        """Append to the end of a node's log."""
        data = text.encode() if isinstance(text, str) else text
        with self.database.read() as connection:
            from contrail.store import logs as stored

            source = stored.source(connection, attempt_id)
        offset = source.streams[node].raw_bytes
        self.logs.append(attempt_id, node, offset, records.encode([LogPiece(time_ns, data)]))

    def page(self, attempt_id: int, wanted: LogFilter | None = None, **place: Any) -> LogPage:
        return self.logs.page(attempt_id, wanted, **place)

    def lines(self, attempt_id: int, wanted: LogFilter | None = None, **place: Any) -> list[LogLine]:
        return self.page(attempt_id, wanted, **place).lines

    def texts(self, attempt_id: int, wanted: LogFilter | None = None, **place: Any) -> list[str]:
        return [line.text for line in self.lines(attempt_id, wanted, **place)]

    def raw(self, attempt_id: int, node: int = 0) -> bytes:
        return b"".join(self.logs.download_raw(self.logs.of_attempt(attempt_id), node))


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., LogBench]]:
    made: list[LogBench] = []

    def make(**settings: Any) -> LogBench:
        bench = LogBench(Settings({"data_dir": str(tmp_path), **settings}, environ={}))
        made.append(bench)
        return bench

    yield make
    for bench in made:
        bench.database.close()


@pytest.fixture
def bench(make_bench: Callable[..., LogBench]) -> LogBench:
    """With chunks of 100 bytes, so that a few lines are several chunks."""
    return make_bench(log_chunk_bytes=100)


@pytest.fixture
def http(bench: LogBench) -> Iterator[str]:
    """The log routes over the bench, served by uvicorn in a thread; the address."""
    app = Starlette(
        routes=log_routes.routes(SimpleNamespace(logs=bench.logs)),  # type: ignore[arg-type]
        exception_handlers={ContrailError: on_contrail_error},
    )
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/api/contrail/v1"
    server.should_exit = True
    thread.join(timeout=20)
