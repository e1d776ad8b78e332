"""Named queries on job runs, attempts, nodes and code archives.

Every function takes a connection and is part of the caller's transaction. States are only ever changed by
`move_job_run` and `move_attempt`, which compare before they set.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, literal, select, update
from sqlalchemy.sql.elements import ColumnElement

from contrail.model.errors import ResourceDoesNotExist
from contrail.model.jobs import (
    TERMINAL_STATES,
    Attempt,
    AttemptNode,
    Cause,
    JobResult,
    JobRun,
    JobState,
    NodeExit,
)
from contrail.store.tables import attempt_nodes, attempts, code_archives, job_runs, log_tail

_OVER = sorted(map(str, TERMINAL_STATES))
_ESCAPE = "\\"


@dataclass(frozen=True, slots=True)
class JobRunFilter:
    """Which job runs a list shows; None means any. `experiment` is a glob, both texts ignore case."""

    active: bool = False
    user: str | None = None
    experiment: str | None = None
    accelerator_type: str | None = None
    num_accelerators: int | None = None


@dataclass(frozen=True, slots=True)
class CodeArchive:
    """A code archive that is in the blobs, named by the SHA-256 of its bytes."""

    digest: str
    name: str
    bytes: int
    created_ms: int


# ---------------------------------------------------------------- job runs


def insert_job_run(connection: Connection, new: JobRun) -> int:
    """Store `new` (its id is ignored) and return its id."""
    values = asdict(new)
    del values["job_run_id"]
    values["user_name"] = values.pop("user")
    return int(
        connection.execute(insert(job_runs).values(_plain(values)).returning(job_runs.c.id)).scalar_one()
    )


def get_job_run(connection: Connection, job_run_id: int) -> JobRun:
    """One job run. Raises `ResourceDoesNotExist`."""
    found = _job_runs(connection, select(job_runs).where(job_runs.c.id == job_run_id))
    if not found:
        raise ResourceDoesNotExist(f"There is no job run {job_run_id}")
    return found[0]


def find_job_run(connection: Connection, idempotency_token: str) -> JobRun | None:
    """The job run that was submitted with this token."""
    found = _job_runs(connection, select(job_runs).where(job_runs.c.idempotency_token == idempotency_token))
    return found[0] if found else None


def live_job_runs(connection: Connection) -> list[JobRun]:
    """Job runs that are not over, oldest first."""
    return _job_runs(
        connection, select(job_runs).where(job_runs.c.state.not_in(_OVER)).order_by(job_runs.c.id)
    )


def list_job_runs(
    connection: Connection, wanted: JobRunFilter, *, before_id: int | None, limit: int
) -> list[JobRun]:
    """Job runs that match, newest first, starting below `before_id`."""
    query = select(job_runs).where(*_conditions(wanted)).order_by(job_runs.c.id.desc()).limit(limit)
    if before_id is not None:
        query = query.where(job_runs.c.id < before_id)
    return _job_runs(connection, query)


def move_job_run(
    connection: Connection, job_run_id: int, *, expected: JobState, state: JobState, **values: Any
) -> bool:
    """Compare-and-set: change the state (and `values`) only if it is `expected`; says whether it was."""
    changed = connection.execute(
        update(job_runs)
        .where(job_runs.c.id == job_run_id, job_runs.c.state == str(expected))
        .values(_plain({"state": state, **values}))
    )
    return changed.rowcount == 1


def set_job_run(connection: Connection, job_run_id: int, **values: Any) -> None:
    """Change columns other than the state."""
    _refuse_state(values)
    connection.execute(update(job_runs).where(job_runs.c.id == job_run_id).values(_plain(values)))


def _conditions(wanted: JobRunFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.active:
        conditions.append(job_runs.c.state.not_in(_OVER))
    if wanted.user is not None:
        conditions.append(job_runs.c.user_name == wanted.user)
    if wanted.experiment is not None:
        conditions.append(job_runs.c.experiment_name.ilike(_glob(wanted.experiment), escape=_ESCAPE))
    if wanted.accelerator_type is not None:
        conditions.append(
            job_runs.c.accelerator_type.ilike(f"%{_literal(wanted.accelerator_type)}%", escape=_ESCAPE)
        )
    if wanted.num_accelerators is not None:
        conditions.append(job_runs.c.num_accelerators == wanted.num_accelerators)
    return conditions


def _literal(text: str) -> str:
    for character in (_ESCAPE, "%", "_"):
        text = text.replace(character, _ESCAPE + character)
    return text


def _glob(pattern: str) -> str:
    """`*` and `?` of a shell pattern as LIKE's `%` and `_`."""
    return _literal(pattern).replace("*", "%").replace("?", "_")


def _job_runs(connection: Connection, query: Select[Any]) -> list[JobRun]:
    return [_job_run(row) for row in connection.execute(query)]


def _job_run(row: Row[Any]) -> JobRun:
    values = dict(row._mapping)
    return JobRun(
        job_run_id=values.pop("id"),
        user=values.pop("user_name"),
        state=JobState(values.pop("state")),
        result=_enum(JobResult, values.pop("result")),
        **values,
    )


# ---------------------------------------------------------------- attempts


def insert_attempt(
    connection: Connection, *, job_run_id: int, number: int, num_nodes: int, now_ms: int
) -> int:
    """Store a queued attempt with its nodes and return its id."""
    new = {
        "job_run_id": job_run_id,
        "number": number,
        "state": JobState.QUEUED,
        "message": "",
        "num_nodes": num_nodes,
        "token_sha256": "",
        "created_ms": now_ms,
    }
    inserted = connection.execute(insert(attempts).values(_plain(new)).returning(attempts.c.id))
    attempt_id = int(inserted.scalar_one())
    nodes = [_new_node(attempt_id, node) for node in range(num_nodes)]
    connection.execute(insert(attempt_nodes), nodes)
    return attempt_id


def _new_node(attempt_id: int, node: int) -> dict[str, Any]:
    return {
        "attempt_id": attempt_id,
        "node": node,
        "state": str(JobState.QUEUED),
        "status_message": "",
        "gpu_ids_json": "[]",
        "relay_seq": 0,
        "log_bytes": 0,
    }


def get_attempt(connection: Connection, attempt_id: int) -> Attempt:
    """One attempt. Raises `ResourceDoesNotExist`."""
    found = _attempts(connection, select(attempts).where(attempts.c.id == attempt_id))
    if not found:
        raise ResourceDoesNotExist(f"There is no attempt {attempt_id}")
    return found[0]


def attempts_of(connection: Connection, job_run_ids: Collection[int]) -> dict[int, list[Attempt]]:
    """The attempts of each job run, first one first."""
    query = select(attempts).where(attempts.c.job_run_id.in_(job_run_ids)).order_by(attempts.c.number)
    found: dict[int, list[Attempt]] = {job_run_id: [] for job_run_id in job_run_ids}
    for attempt in _attempts(connection, query):
        found[attempt.job_run_id].append(attempt)
    return found


def newest_attempts(connection: Connection, job_run_ids: Collection[int]) -> dict[int, Attempt]:
    """The newest attempt of each job run."""
    newest = (
        select(func.max(attempts.c.id))
        .where(attempts.c.job_run_id.in_(job_run_ids))
        .group_by(attempts.c.job_run_id)
    )
    found = _attempts(connection, select(attempts).where(attempts.c.id.in_(newest)))
    return {attempt.job_run_id: attempt for attempt in found}


def move_attempt(
    connection: Connection, attempt_id: int, *, expected: JobState, state: JobState, **values: Any
) -> bool:
    """Compare-and-set: change the state (and `values`) only if it is `expected`; says whether it was."""
    changed = connection.execute(
        update(attempts)
        .where(attempts.c.id == attempt_id, attempts.c.state == str(expected))
        .values(_plain({"state": state, **values}))
    )
    return changed.rowcount == 1


def set_attempt(connection: Connection, attempt_id: int, **values: Any) -> None:
    """Change columns other than the state."""
    _refuse_state(values)
    connection.execute(update(attempts).where(attempts.c.id == attempt_id).values(_plain(values)))


def unsealed_attempts(connection: Connection) -> list[int]:
    """Attempts that are over and whose last log bytes are not sealed yet."""
    query = (
        select(log_tail.c.attempt_id)
        .distinct()
        .join(attempts, attempts.c.id == log_tail.c.attempt_id)
        .where(attempts.c.state.in_(_OVER))
    )
    return list(connection.execute(query).scalars())


def _attempts(connection: Connection, query: Select[Any]) -> list[Attempt]:
    return [_attempt(row) for row in connection.execute(query)]


def _attempt(row: Row[Any]) -> Attempt:
    values = dict(row._mapping)
    handle = values.pop("handle_json")
    return Attempt(
        attempt_id=values.pop("id"),
        run_id=values.pop("run_uuid"),
        state=JobState(values.pop("state")),
        result=_enum(JobResult, values.pop("result")),
        cause=_enum(Cause, values.pop("cause")),
        handle=None if handle is None else json.loads(handle),
        **values,
    )


# ---------------------------------------------------------------- nodes


def nodes_of(connection: Connection, attempt_ids: Collection[int]) -> dict[int, list[AttemptNode]]:
    """The nodes of each attempt, in order."""
    query = (
        select(attempt_nodes)
        .where(attempt_nodes.c.attempt_id.in_(attempt_ids))
        .order_by(attempt_nodes.c.attempt_id, attempt_nodes.c.node)
    )
    found: dict[int, list[AttemptNode]] = {attempt_id: [] for attempt_id in attempt_ids}
    for row in connection.execute(query):
        found[row.attempt_id].append(_node(row))
    return found


def get_node(connection: Connection, attempt_id: int, node: int) -> AttemptNode:
    """One node. Raises `ResourceDoesNotExist`."""
    row = connection.execute(select(attempt_nodes).where(*_is_node(attempt_id, node))).first()
    if row is None:
        raise ResourceDoesNotExist(f"Attempt {attempt_id} has no node {node}")
    return _node(row)


def set_node(connection: Connection, attempt_id: int, node: int, **values: Any) -> None:
    """Change columns of one node."""
    connection.execute(update(attempt_nodes).where(*_is_node(attempt_id, node)).values(_plain(values)))


def set_nodes(connection: Connection, attempt_id: int, **values: Any) -> None:
    """Change columns of all nodes of an attempt."""
    connection.execute(
        update(attempt_nodes).where(attempt_nodes.c.attempt_id == attempt_id).values(_plain(values))
    )


def end_node(connection: Connection, attempt_id: int, node: int, end: NodeExit) -> bool:
    """Record how a node ended; the first record stays. Says whether this was it."""
    changed = connection.execute(
        update(attempt_nodes)
        .where(*_is_node(attempt_id, node), attempt_nodes.c.exit_json.is_(None))
        .values(
            state=JobState.TERMINATED,
            status_message="",
            exit_json=json.dumps(asdict(end)),
            ended_ms=end.ended_ms,
        )
    )
    return changed.rowcount == 1


def leased_gpus(connection: Connection, engine: str) -> dict[str, int]:
    """GPU id -> job run that has it: leases last until the attempt is over."""
    return {gpu: row.job_run_id for row in _held(connection, engine) for gpu in json.loads(row.gpu_ids_json)}


def held_nodes(connection: Connection, engine: str) -> int:
    """Nodes that are taken by attempts which are placed and not over."""
    return len(_held(connection, engine))


def _held(connection: Connection, engine: str) -> Sequence[Row[Any, Any]]:
    query = (
        select(attempts.c.job_run_id, attempt_nodes.c.gpu_ids_json)
        .join(attempts, attempts.c.id == attempt_nodes.c.attempt_id)
        .join(job_runs, job_runs.c.id == attempts.c.job_run_id)
        .where(job_runs.c.engine == engine, attempts.c.state.not_in([*_OVER, str(JobState.QUEUED)]))
    )
    return connection.execute(query).all()


def _is_node(attempt_id: int, node: int) -> tuple[ColumnElement[bool], ...]:
    return attempt_nodes.c.attempt_id == attempt_id, attempt_nodes.c.node == node


def _node(row: Row[Any]) -> AttemptNode:
    values = dict(row._mapping)
    end = values.pop("exit_json")
    return AttemptNode(
        state=JobState(values.pop("state")),
        gpu_ids=tuple(json.loads(values.pop("gpu_ids_json"))),
        exit=None if end is None else _exit(json.loads(end)),
        **values,
    )


def _exit(values: Mapping[str, Any]) -> NodeExit:
    return NodeExit(**{**values, "cause": Cause(values["cause"])})


# ---------------------------------------------------------------- code archives


def insert_code_archive(connection: Connection, archive: CodeArchive) -> None:
    """Record an archive. Idempotent: the first record of a digest stays."""
    known = select(literal(1)).where(code_archives.c.digest == archive.digest)
    if connection.execute(known).first() is None:
        connection.execute(insert(code_archives).values(asdict(archive)))


def find_code_archive(connection: Connection, digest: str) -> CodeArchive | None:
    """The archive with this digest."""
    row = connection.execute(select(code_archives).where(code_archives.c.digest == digest)).first()
    return None if row is None else CodeArchive(**row._mapping)


def _enum(kind: Any, value: str | None) -> Any:
    return None if value is None else kind(value)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Enums as the text they stand for: drivers differ in what they make of an enum."""
    return {key: str(value) if isinstance(value, StrEnum) else value for key, value in values.items()}


def _refuse_state(values: Mapping[str, Any]) -> None:
    if "state" in values or "result" in values:
        raise ValueError("states change by move_job_run and move_attempt only")
