"""Log bytes: the tail as it arrived, sealed chunks, and what an attempt's log consists of.

The bytes of one node form one sequence, counted by `attempt_nodes.log_bytes`. Its first part is in chunks, the
rest in the tail; sealing moves bytes from the one to the other in one transaction, so each byte is in exactly one
of them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, exists, func, insert, or_, select, update

from contrail.model.errors import ResourceConflict, ResourceDoesNotExist
from contrail.model.jobs import TERMINAL_STATES, JobState
from contrail.model.logs import LogChunk, LogPiece, LogSource, LogStream
from contrail.store.tables import attempt_nodes, attempts, job_runs, log_chunks, log_tail

_PIECE = struct.Struct("<qI")  # time_ns, length; the bytes follow


def append(
    connection: Connection, attempt_id: int, node: int, offset: int, pieces: Sequence[LogPiece]
) -> int:
    """Add bytes that begin at `offset` to a node's log and return where it now ends. Atomic, idempotent.

    Bytes that are known already are skipped. Raises `ResourceConflict` when bytes are missing in between,
    `ResourceDoesNotExist` for an unknown node.
    """
    end = _end(connection, attempt_id, node)
    if offset > end:
        raise ResourceConflict(
            f"The log of attempt {attempt_id}, node {node} ends at byte {end}; byte {offset} would leave a gap"
        )
    fresh = _without(pieces, end - offset)
    if not fresh:
        return end
    data = _pack(fresh)
    connection.execute(
        insert(log_tail).values(
            attempt_id=attempt_id, node=node, offset=end, time_ns=fresh[0].time_ns, data=data
        )
    )
    end += sum(len(piece.data) for piece in fresh)
    connection.execute(
        update(attempt_nodes)
        .where(attempt_nodes.c.attempt_id == attempt_id, attempt_nodes.c.node == node)
        .values(log_bytes=end)
    )
    return end


def _end(connection: Connection, attempt_id: int, node: int) -> int:
    query = select(attempt_nodes.c.log_bytes).where(
        attempt_nodes.c.attempt_id == attempt_id, attempt_nodes.c.node == node
    )
    end = connection.execute(query).scalar()
    if end is None:
        raise ResourceDoesNotExist(f"There is no node {node} in attempt {attempt_id}")
    return int(end)


def _without(pieces: Sequence[LogPiece], known: int) -> list[LogPiece]:
    """The pieces without their first `known` bytes."""
    fresh = []
    for piece in pieces:
        if known < len(piece.data):
            fresh.append(LogPiece(piece.time_ns, piece.data[known:]) if known > 0 else piece)
        known = max(known - len(piece.data), 0)
    return fresh


def _pack(pieces: Iterable[LogPiece]) -> bytes:
    parts = []
    for piece in pieces:
        parts += [_PIECE.pack(piece.time_ns, len(piece.data)), piece.data]
    return b"".join(parts)


def _unpack(data: bytes) -> Iterator[LogPiece]:
    position = 0
    while position < len(data):
        time_ns, length = _PIECE.unpack_from(data, position)
        position += _PIECE.size
        yield LogPiece(time_ns, data[position : position + length])
        position += length


def tail(connection: Connection, attempt_id: int, node: int, offset: int) -> list[LogPiece] | None:
    """The unsealed bytes from `offset` on, in order. `offset` must be a place where an append or a chunk ended.

    None when there are later bytes but not those at `offset`: they have been sealed meanwhile, look for chunks first.
    """
    query = (
        select(log_tail.c.offset, log_tail.c.data)
        .where(log_tail.c.attempt_id == attempt_id, log_tail.c.node == node, log_tail.c.offset >= offset)
        .order_by(log_tail.c.offset)
    )
    rows = connection.execute(query).all()
    if rows and rows[0].offset != offset:
        return None
    return [piece for row in rows for piece in _unpack(row.data)]


def chunks(connection: Connection, attempt_id: int, node: int, offset: int = 0) -> list[LogChunk]:
    """The sealed chunks that begin at `offset` or later, in order."""
    query = (
        select(log_chunks)
        .where(
            log_chunks.c.attempt_id == attempt_id, log_chunks.c.node == node, log_chunks.c.offset >= offset
        )
        .order_by(log_chunks.c.offset)
    )
    return [_chunk(row) for row in connection.execute(query)]


def _chunk(row: Row[Any]) -> LogChunk:
    values = dict(row._mapping)
    values.pop("attempt_id")
    return LogChunk(state=json.loads(values.pop("state_json")), **values)


def seal(connection: Connection, attempt_id: int, chunk: LogChunk) -> bool:
    """Replace the tail's bytes up to the chunk's end by the chunk; False when that was done already. Atomic."""
    known = connection.execute(
        select(func.max(log_chunks.c.offset + log_chunks.c.raw_bytes)).where(
            *_of(log_chunks, attempt_id, chunk.node)
        )
    ).scalar()
    if (known or 0) != chunk.offset:
        return False
    rest = _cut_tail(connection, attempt_id, chunk.node, chunk.end)
    if rest:
        connection.execute(
            insert(log_tail).values(
                attempt_id=attempt_id,
                node=chunk.node,
                offset=chunk.end,
                time_ns=rest[0].time_ns,
                data=_pack(rest),
            )
        )
    connection.execute(insert(log_chunks).values(attempt_id=attempt_id, **_columns(chunk)))
    return True


def _cut_tail(connection: Connection, attempt_id: int, node: int, end: int) -> list[LogPiece]:
    """Delete the rows that begin before `end` and return the pieces of the last one that lie behind it."""
    before = (*_of(log_tail, attempt_id, node), log_tail.c.offset < end)
    last = connection.execute(
        select(log_tail.c.offset, log_tail.c.data).where(*before).order_by(log_tail.c.offset.desc()).limit(1)
    ).one()
    connection.execute(delete(log_tail).where(*before))
    return _without(list(_unpack(last.data)), end - last.offset)


def _of(table: Any, attempt_id: int, node: int) -> tuple[Any, Any]:
    return table.c.attempt_id == attempt_id, table.c.node == node


def _columns(chunk: LogChunk) -> dict[str, Any]:
    names = (name for name in chunk.__dataclass_fields__ if name != "state")
    return {name: getattr(chunk, name) for name in names} | {"state_json": json.dumps(chunk.state)}


def source(connection: Connection, attempt_id: int) -> LogSource:
    """An attempt's log by the attempt's id; raises `ResourceDoesNotExist`."""
    return _source(
        connection, _attempt().where(attempts.c.id == attempt_id), f"There is no attempt {attempt_id}"
    )


def source_of_job_run(connection: Connection, job_run_id: int, number: int | None = None) -> LogSource:
    """The log of one attempt of a job run, by default the newest; raises `ResourceDoesNotExist`."""
    query = _attempt().where(attempts.c.job_run_id == job_run_id).order_by(attempts.c.number.desc()).limit(1)
    if number is None:
        return _source(connection, query, f"There is no job run {job_run_id}, or it has no attempt yet")
    query = query.where(attempts.c.number == number)
    return _source(connection, query, f"Job run {job_run_id} has no attempt {number + 1} (retry {number})")


def source_of_run(connection: Connection, run_id: str) -> LogSource:
    """The log of the attempt behind a tracking run; raises `ResourceDoesNotExist`."""
    query = _attempt().where(attempts.c.run_uuid == run_id).order_by(attempts.c.id.desc()).limit(1)
    return _source(connection, query, f"Run '{run_id}' does not belong to a job, so it has no log")


def _attempt() -> Select[Any]:
    return select(
        attempts.c.id,
        attempts.c.job_run_id,
        attempts.c.number,
        attempts.c.num_nodes,
        attempts.c.state,
        attempts.c.started_ms,
        job_runs.c.logs_removed_ms,
    ).join(job_runs, job_runs.c.id == attempts.c.job_run_id)


def _source(connection: Connection, query: Select[Any], missing: str) -> LogSource:
    row = connection.execute(query).one_or_none()
    if row is None:
        raise ResourceDoesNotExist(missing)
    nodes = connection.execute(
        select(attempt_nodes.c.node, attempt_nodes.c.log_bytes)
        .where(attempt_nodes.c.attempt_id == row.id)
        .order_by(attempt_nodes.c.node)
    )
    return LogSource(
        attempt_id=row.id,
        job_run_id=row.job_run_id,
        number=row.number,
        num_nodes=row.num_nodes,
        started=row.started_ms is not None,
        ended=JobState(row.state) in TERMINAL_STATES,
        removed_ms=row.logs_removed_ms,
        streams=tuple(LogStream(node.node, node.log_bytes) for node in nodes),
    )


def unsealed_bytes(connection: Connection, attempt_id: int, node: int) -> int:
    """How many bytes of a node are not in a chunk yet."""
    sealed = (
        select(func.max(log_chunks.c.offset + log_chunks.c.raw_bytes))
        .where(*_of(log_chunks, attempt_id, node))
        .scalar_subquery()
    )
    query = select(attempt_nodes.c.log_bytes - func.coalesce(sealed, 0)).where(
        *_of(attempt_nodes, attempt_id, node)
    )
    return int(connection.execute(query).scalar() or 0)


def last_chunk(connection: Connection, attempt_id: int, node: int) -> LogChunk | None:
    """The newest sealed chunk of a node."""
    query = (
        select(log_chunks)
        .where(*_of(log_chunks, attempt_id, node))
        .order_by(log_chunks.c.offset.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _chunk(row)


def expired(connection: Connection, ended_before_ms: int, limit: int) -> list[int]:
    """Job runs that ended before the given time and still have logs, even if only in part; oldest first."""
    left = exists().where(log_chunks.c.attempt_id == attempts.c.id, attempts.c.job_run_id == job_runs.c.id)
    query = (
        select(job_runs.c.id)
        .where(
            job_runs.c.state.in_([state.value for state in TERMINAL_STATES]),
            job_runs.c.ended_ms < ended_before_ms,
            or_(job_runs.c.logs_removed_ms.is_(None), left),
        )
        .order_by(job_runs.c.id)
        .limit(limit)
    )
    return list(connection.execute(query).scalars())


def mark_removed(connection: Connection, job_run_id: int, now_ms: int) -> list[int]:
    """Hide the logs of a job run's attempts and return these; none while it is not over. Atomic, idempotent."""
    over = job_runs.c.state.in_([state.value for state in TERMINAL_STATES])
    marked = connection.execute(
        update(job_runs)
        .where(job_runs.c.id == job_run_id, over)
        .values(logs_removed_ms=func.coalesce(job_runs.c.logs_removed_ms, now_ms))
    )
    if not marked.rowcount:
        return []
    return list(
        connection.execute(select(attempts.c.id).where(attempts.c.job_run_id == job_run_id)).scalars()
    )


def remove(connection: Connection, attempt_id: int) -> None:
    """Forget all pieces and chunks of an attempt. Atomic, idempotent."""
    for table in (log_tail, log_chunks):
        connection.execute(delete(table).where(table.c.attempt_id == attempt_id))
