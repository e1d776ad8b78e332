"""Turning blocks into chunks in the background.

Chunks of a series never overlap in (timestamp, step), so new points belong into the chunk that covers their place,
or between two, or, nearly always, behind the last. A short last chunk is merged with what follows it, so that
a series logged point by point ends in few chunks while each point is rewritten only a few times.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy import delete as delete_from

from contrail.model.errors import ContrailError, ResourceConflict
from contrail.model.settings import Settings
from contrail.store.database import Database
from contrail.store.dialect import slices
from contrail.store.tables import metric_blocks, metric_chunks

if TYPE_CHECKING:
    from contrail.series.points import Points
    from contrail.store.points import Chunk

log = logging.getLogger(__name__)

CHUNK_POINTS_MAX = 65_536
POINTS_AT_ONCE_MAX = 1_000_000  # bounds memory: 24 bytes each
QUIET_S = 60.0
QUIET_BLOCKS_MIN, QUIET_POINTS_MIN = 8, 1_000  # below both, blocks are as small as chunks would be
SWEEP_INTERVAL_S = 1.0
POINTS_CHUNKS = 4  # uncompacted points, in full chunks, that start a compaction: a reader decodes them all


def compact(database: Database, run_pk: int, *, chunk_points_max: int = CHUNK_POINTS_MAX) -> int:
    """Turn the blocks of one run into chunks; returns how many blocks went. Atomic: a crash leaves all as it was.

    Reads and packs outside the writer, then swaps in one short write. Only one compaction of a run at a time wins;
    another one finds its blocks gone and raises ResourceConflict, with nothing changed.
    """
    gone = 0
    while swap := _plan(database, run_pk, chunk_points_max):
        database.writer.run(swap.apply)
        gone += len(swap.block_pks)
    return gone


@dataclass(slots=True)
class _Swap:
    """Rows that go and rows that come; the points they hold are the same."""

    block_pks: list[int]
    chunk_pks: list[int] = field(default_factory=list)
    chunks: list[dict[str, Any]] = field(default_factory=list)

    def apply(self, connection: Connection) -> None:
        _delete(connection, metric_blocks, self.block_pks)
        _delete(connection, metric_chunks, self.chunk_pks)
        if self.chunks:
            connection.execute(insert(metric_chunks), self.chunks)


def _delete(connection: Connection, table: Any, pks: Sequence[int]) -> None:
    for part in slices(pks):
        if connection.execute(delete_from(table).where(table.c.id.in_(part))).rowcount != len(part):
            raise ResourceConflict("These points were compacted or removed by someone else at the same time")


def _plan(database: Database, run_pk: int, points_max: int) -> _Swap | None:
    from contrail.series import blocks
    from contrail.store import points

    with database.read() as connection:
        rows = _some_blocks(connection, run_pk)
        if not rows:
            return None
        swap = _Swap([pk for pk, _ in rows])
        for key_id, new in points.by_key(*blocks.decode([data for _, data in rows])).items():
            _place(connection, swap, run_pk, key_id, new, points_max)
    return swap


def _some_blocks(connection: Connection, run_pk: int) -> list[tuple[int, bytes]]:
    """The oldest blocks of a run, up to a bounded number of points."""
    table = metric_blocks.c
    sizes = select(table.id, table.points).where(table.run_id == run_pk).order_by(table.id)
    total, last = 0, None
    for pk, points in connection.execute(sizes):
        if last is not None and total + points > POINTS_AT_ONCE_MAX:
            break
        total, last = total + points, pk
    if last is None:
        return []
    query = select(table.id, table.data).where(table.run_id == run_pk, table.id <= last).order_by(table.id)
    return [(pk, data) for pk, data in connection.execute(query)]


def _place(
    connection: Connection, swap: _Swap, run_pk: int, key_id: int, new: Points, points_max: int
) -> None:
    """Add to `swap` what makes room for the new points of one series."""
    from contrail.series.points import concatenate, ordered
    from contrail.store import points

    def put(merged: Points, *replaced: Chunk) -> None:
        if replaced and len(merged) == sum(chunk.points for chunk in replaced):
            return  # nothing but points sent before
        swap.chunk_pks.extend(chunk.pk for chunk in replaced)
        swap.chunks.extend(_row(run_pk, key_id, piece) for piece in _pieces(merged, points_max))

    new = ordered(new)
    known = points.describe(connection, run_pk, key_id)
    touched: set[int] = set()  # chunks beside or in which points were put: the tail must not reach over them
    for i, chunk in enumerate(known[:-1]):
        cut = _position(new, known[i + 1].timestamp_min_ms, known[i + 1].first_step)
        own, new = new[:cut], new[cut:]
        if not len(own):
            continue
        touched.add(chunk.pk)
        if _apart(own, chunk) and chunk.points + len(own) > points_max:
            put(own)
        else:
            put(ordered(concatenate([points.read(connection, chunk), own])), chunk)
    if not len(new):
        return
    if known and not _behind(new, known[-1]):
        if _apart(new, known[-1]) and known[-1].points + len(new) > points_max:
            put(new)
        else:
            put(ordered(concatenate([points.read(connection, known[-1]), new])), known[-1])
        return
    tail: list[Chunk] = []
    while known and known[-1].pk not in touched and _short(known[-1], len(new), points_max):
        tail.append(known.pop())
        new = concatenate([points.read(connection, tail[-1]), new])
    put(new, *tail)


def _short(chunk: Chunk, following: int, points_max: int) -> bool:
    return chunk.points <= 2 * following and chunk.points + following <= points_max


def _apart(points: Points, chunk: Chunk) -> bool:
    """Whether all points lie before the chunk, or all behind it."""
    last = (int(points.timestamps_ms[-1]), int(points.steps[-1]))
    return last < (chunk.timestamp_min_ms, chunk.first_step) or _behind(points, chunk)


def _behind(points: Points, chunk: Chunk) -> bool:
    first = (int(points.timestamps_ms[0]), int(points.steps[0]))
    return first > (chunk.timestamp_max_ms, chunk.last_step)


def _position(points: Points, timestamp_ms: int, step: int) -> int:
    """How many points come before (timestamp, step)."""
    times = points.timestamps_ms
    low, high = int(times.searchsorted(timestamp_ms, "left")), int(times.searchsorted(timestamp_ms, "right"))
    return low + int(points.steps[low:high].searchsorted(step, "left"))


def _pieces(points: Points, points_max: int) -> list[Points]:
    """Equal parts of at most `points_max`; points of one (timestamp, step) stay together, even if they are more."""
    parts = -(-len(points) // points_max)
    pieces, start = [], 0
    for i in range(1, parts + 1):
        end = max(start, len(points) * i // parts)
        if i < parts and end:
            end = _position(points, int(points.timestamps_ms[end]), int(points.steps[end]))
        if end > start:
            pieces.append(points[start:end])
            start = end
    if start < len(points):
        pieces.append(points[start:])
    return pieces


def _row(run_pk: int, key_id: int, points: Points) -> dict[str, Any]:
    import numpy as np

    from contrail.series import chunks

    numbers = points.values[~np.isnan(points.values)]
    return {
        "run_id": run_pk,
        "key_id": key_id,
        "points": len(points),
        "step_min": int(points.steps.min()),
        "step_max": int(points.steps.max()),
        "timestamp_min_ms": int(points.timestamps_ms[0]),
        "timestamp_max_ms": int(points.timestamps_ms[-1]),
        "first_step": int(points.steps[0]),
        "last_step": int(points.steps[-1]),
        "value_min": float(numbers.min()) if len(numbers) else None,
        "value_max": float(numbers.max()) if len(numbers) else None,
        "data": chunks.encode(points),
    }


@dataclass(slots=True)
class _Waiting:
    blocks: int
    points: int
    changed_s: float


class Compactor:
    """A thread that compacts runs with many blocks at once, and all others when they have gone quiet.

    `clock` gives seconds and is passed in so that tests need not wait.
    """

    def __init__(
        self, database: Database, settings: Settings, *, clock: Callable[[], float] = time.monotonic
    ):
        self._database = database
        self._blocks_max: int = settings.metric_block_compact_count
        self._chunk_points_max: int = settings.metric_chunk_points_max
        self._clock = clock
        self._seen = 0
        self._waiting: dict[int, _Waiting] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="contrail-compactor", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let a compaction under way finish, then end the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def sweep(self) -> int:
        """Look for new blocks and compact the runs that are due; returns how many blocks went."""
        self._look()
        gone = 0
        for run_pk in self._due():
            if self._stopping.is_set():
                break
            del self._waiting[run_pk]
            try:
                gone += compact(self._database, run_pk, chunk_points_max=self._chunk_points_max)
            except ContrailError as error:
                # The blocks stay as they are; the next start, or the run's next blocks, bring it up again.
                log.warning("run %d was not compacted: %s", run_pk, error.message)
        if gone:
            self._database.reclaim_space()
        return gone

    def _loop(self) -> None:
        while not self._stopping.wait(SWEEP_INTERVAL_S):
            try:
                self.sweep()
            except Exception:  # the thread's outermost edge: points stay readable in blocks
                log.exception("compaction failed; it is tried again")

    def _look(self) -> None:
        """Cost depends on the blocks that are new, not on all."""
        table = metric_blocks.c
        query = (
            select(table.run_id, func.count(), func.sum(table.points), func.max(table.id))
            .where(table.id > self._seen)
            .group_by(table.run_id)
        )
        with self._database.read() as connection:
            for run_pk, count, points, last in connection.execute(query):
                before = self._waiting.get(run_pk, _Waiting(0, 0, 0.0))
                self._waiting[run_pk] = _Waiting(before.blocks + count, before.points + points, self._clock())
                self._seen = max(self._seen, last)

    def _due(self) -> list[int]:
        quiet_since = self._clock() - QUIET_S
        for run_pk, waiting in list(self._waiting.items()):
            small = waiting.blocks < QUIET_BLOCKS_MIN and waiting.points < QUIET_POINTS_MIN
            if small and waiting.changed_s <= quiet_since:
                del self._waiting[run_pk]  # its blocks count again with the next start only: they are few
        return [
            run_pk
            for run_pk, waiting in self._waiting.items()
            if waiting.blocks >= self._blocks_max
            or waiting.points >= POINTS_CHUNKS * self._chunk_points_max
            or waiting.changed_s <= quiet_since
        ]
