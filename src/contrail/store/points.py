"""Reading metric points: chunks and blocks merged, in order, each point once.

Chunks that touch in the wanted order are read together and sorted; the others stream one by one. In order of
time chunks touch only where several points share a millisecond, so a history of any length streams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, select

from contrail.series import blocks, chunks
from contrail.series.numpy_later import np
from contrail.series.points import Order, Points, concatenate, empty, ordered
from contrail.store import keys
from contrail.store.dialect import Prepared, tuples
from contrail.store.runs import primary_keys
from contrail.store.tables import metric_blocks, metric_chunks

if TYPE_CHECKING:
    from contrail.store.metrics import Position

_CHUNK_DATA = Prepared(
    ["id"], lambda _: select(metric_chunks.c.data).where(metric_chunks.c.id == bindparam("id"))
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is known of a chunk without reading its points."""

    pk: int
    points: int
    step_min: int
    step_max: int
    timestamp_min_ms: int
    timestamp_max_ms: int
    first_step: int
    last_step: int

    def range(self, order: Order) -> tuple[int, int]:
        """Lowest and highest of what `order` sorts by first."""
        if order == "timestamp":
            return self.timestamp_min_ms, self.timestamp_max_ms
        return self.step_min, self.step_max

    def overlaps(self, order: Order, low: int | None, high: int | None) -> bool:
        """Whether it may hold points from `low` to `high`."""
        lowest, highest = self.range(order)
        return (low is None or highest >= low) and (high is None or lowest <= high)


def history(
    connection: Connection,
    run_uuid: str,
    key: str,
    *,
    limit: int | None = None,
    after: Position | None = None,
    order: Order = "timestamp",
) -> Iterator[Points]:
    """See `metrics.history`."""
    run_pk = primary_keys(connection, [run_uuid]).get(run_uuid)
    key_id = keys.known_ids(connection, [key]).get(key)
    if run_pk is None or key_id is None:
        return
    recent = uncompacted(connection, run_pk).get(key_id, empty())
    low = None if after is None else (after.timestamp_ms if order == "timestamp" else after.step)
    left = limit
    found = [chunk for chunk in describe(connection, run_pk, key_id) if chunk.overlaps(order, low, None)]
    for part in stream(connection, found, recent, order):
        if after is not None:
            part = part[_beyond(part, after, order)]
        if left is not None:
            part = part[:left]
            left -= len(part)
        if len(part):
            yield part
        if left == 0:
            return


def stream(connection: Connection, found: Sequence[Chunk], recent: Points, order: Order) -> Iterator[Points]:
    """The points of chunks and of `recent`, the uncompacted ones: in order, each once, in parts of about one chunk."""
    recent = ordered(recent, order)
    for cluster, until in _clusters(found, order):
        cut = len(recent) if until is None else int(np.searchsorted(recent.major(order), until))
        yield ordered(concatenate([read(connection, c) for c in cluster] + [recent[:cut]]), order)
        recent = recent[cut:]
    if len(recent):
        yield recent


def describe(connection: Connection, run_pk: int, key_id: int) -> list[Chunk]:
    """The chunks of a series, in order of time."""
    return _describe(connection, run_pk, key_id).get(key_id, [])


def _describe(connection: Connection, run_pk: int, key_id: int | None = None) -> dict[int, list[Chunk]]:
    """The chunks of one series, or of all series of a run, by key id and in order of time."""
    table = metric_chunks.c
    columns = (
        table.id,
        table.points,
        table.step_min,
        table.step_max,
        table.timestamp_min_ms,
        table.timestamp_max_ms,
        table.first_step,
        table.last_step,
    )
    query = select(table.key_id, *columns).where(table.run_id == run_pk)
    if key_id is not None:
        query = query.where(table.key_id == key_id)
    found: dict[int, list[Chunk]] = {}
    for row in tuples(connection, query.order_by(table.key_id, table.timestamp_min_ms, table.first_step)):
        found.setdefault(row[0], []).append(Chunk(*row[1:]))
    return found


def read(connection: Connection, chunk: Chunk) -> Points:
    """The points of a chunk."""
    return chunks.decode(_CHUNK_DATA.rows(connection, (chunk.pk,))[0][0])


def uncompacted(connection: Connection, run_pk: int) -> dict[int, Points]:
    """The points of a run that are still in blocks, by key id, as they arrived."""
    query = select(metric_blocks.c.data).where(metric_blocks.c.run_id == run_pk).order_by(metric_blocks.c.id)
    return by_key(*blocks.decode(connection.execute(query).scalars().all()))


def by_key(key_ids: np.ndarray[tuple[int], np.dtype[np.uint32]], points: Points) -> dict[int, Points]:
    """Part the points of a run into its series; the order within each is kept."""
    if len(key_ids) == 0:
        return {}
    if bool((key_ids == key_ids[0]).all()):
        return {int(key_ids[0]): points}
    order = np.argsort(key_ids, kind="stable")
    sorted_ids, points = key_ids[order], points[order]
    starts = np.concatenate(([0], np.flatnonzero(sorted_ids[1:] != sorted_ids[:-1]) + 1))
    ends = [*starts[1:].tolist(), len(key_ids)]
    return {int(sorted_ids[a]): points[a:b] for a, b in zip(starts.tolist(), ends, strict=True)}


def counts(connection: Connection, run_pk: int) -> Mapping[int, int]:
    """Points per key id of a run, each counted once. Reads only chunks in whose time uncompacted points lie."""
    known = _describe(connection, run_pk)
    total = Counter({key_id: sum(chunk.points for chunk in found) for key_id, found in known.items()})
    for key_id, points in uncompacted(connection, run_pk).items():
        low, high = int(points.timestamps_ms.min()), int(points.timestamps_ms.max())
        met = [chunk for chunk in known.get(key_id, []) if chunk.overlaps("timestamp", low, high)]
        merged = sum(len(part) for part in stream(connection, met, points, "timestamp"))
        total[key_id] += merged - sum(chunk.points for chunk in met)
    return total


def _clusters(found: Sequence[Chunk], order: Order) -> Iterator[tuple[list[Chunk], int | None]]:
    """Groups of chunks that must be sorted together, and where the next group starts."""
    cluster: list[Chunk] = []
    highest = 0
    for chunk in sorted(found, key=lambda c: c.range(order)):
        low, high = chunk.range(order)
        if cluster and low > highest:
            yield cluster, low
            cluster = []
        highest = max(highest, high) if cluster else high
        cluster.append(chunk)
    if cluster:
        yield cluster, None


def _beyond(points: Points, after: Position, order: Order) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which points come after the position; NaN after numbers."""
    pairs = [(points.timestamps_ms, after.timestamp_ms), (points.steps, after.step)]
    (first, first_at), (second, second_at) = pairs if order == "timestamp" else pairs[::-1]
    nan = np.isnan(points.values)
    bigger = (
        np.zeros(len(points), np.bool_) if after.value != after.value else nan | (points.values > after.value)
    )
    result: np.ndarray[tuple[int], np.dtype[np.bool_]] = (first > first_at) | (
        (first == first_at) & ((second > second_at) | ((second == second_at) & bigger))
    )
    return result
