"""What `series` offers, with numpy loaded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from contrail.series.buckets import Floats, thin
from contrail.series.numpy_later import np
from contrail.series.points import Order, Points, concatenate, empty
from contrail.store import keys as metric_keys
from contrail.store import points
from contrail.store.runs import primary_keys
from contrail.store.series import Axis, Series
from contrail.store.tables import metric_latest


@dataclass(frozen=True, slots=True)
class _Window:
    """The wanted part of an axis, and how a point's x follows from its columns."""

    axis: Axis
    start: float | None
    end: float | None
    origin_ms: int = 0

    @property
    def order(self) -> Order:
        return "step" if self.axis == "step" else "timestamp"

    def x(self, major: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
        if self.axis == "relative":
            return (major - self.origin_ms) / 1000.0
        return major.astype(np.float64)

    def bounds(self) -> tuple[int | None, int | None]:
        """The window in whole steps or milliseconds, not narrower than it is."""
        low = None if self.start is None else self._major(self.start)
        high = None if self.end is None else self._major(self.end)
        return (
            math.floor(low) if low is not None and math.isfinite(low) else None,
            math.ceil(high) if high is not None and math.isfinite(high) else None,
        )

    def clip(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        if self.start is None and self.end is None:
            return x, y
        inside = np.ones(len(x), np.bool_)
        if self.start is not None:
            inside &= x >= self.start
        if self.end is not None:
            inside &= x <= self.end
        return x[inside], y[inside]

    def _major(self, x: float) -> float:
        return x * 1000.0 + self.origin_ms if self.axis == "relative" else x


def chart(
    connection: Connection,
    run_uuids: Sequence[str],
    keys: Sequence[str],
    *,
    x: Axis,
    start: float | None,
    end: float | None,
    buckets: int,
) -> list[Series]:
    """See `series.chart`."""
    run_pks = primary_keys(connection, run_uuids)
    key_ids = metric_keys.known_ids(connection, keys)
    found: list[Series] = []
    for run_uuid in run_uuids:
        run_pk = run_pks.get(run_uuid)
        if run_pk is None:
            continue
        window = _Window(x, start, end, _origin_ms(connection, run_pk) if x == "relative" else 0)
        recent = points.uncompacted(connection, run_pk)
        for key in keys:
            if key in key_ids:
                own = recent.get(key_ids[key], empty())
                series = _line(connection, run_pk, key_ids[key], own, window, buckets)
                if series is not None:
                    found.append(Series(run_uuid, key, *series))
    return found


def sample(
    connection: Connection,
    run_uuid: str,
    key: str,
    *,
    limit: int,
    start_step: int | None,
    end_step: int | None,
) -> Points:
    """See `series.sample`."""
    run_pk = primary_keys(connection, [run_uuid]).get(run_uuid)
    key_id = metric_keys.known_ids(connection, [key]).get(key)
    if run_pk is None or key_id is None:
        return empty()
    recent = points.uncompacted(connection, run_pk).get(key_id, empty())
    found = [
        c for c in points.describe(connection, run_pk, key_id) if c.overlaps("step", start_step, end_step)
    ]
    parts = [
        _between(part, start_step, end_step) for part in points.stream(connection, found, recent, "step")
    ]
    return _spread(concatenate(parts), limit)


def _spread(whole: Points, limit: int) -> Points:
    count = len(whole)
    if count <= limit:
        return whole
    parts = np.arange(limit)
    picked = parts * (count // limit) + np.minimum(parts, count % limit)
    picked[-1] = count - 1
    return whole[picked]


def _between(part: Points, start_step: int | None, end_step: int | None) -> Points:
    low = 0 if start_step is None else int(part.steps.searchsorted(start_step, "left"))
    high = len(part) if end_step is None else int(part.steps.searchsorted(end_step, "right"))
    return part[low:high]


def _line(
    connection: Connection, run_pk: int, key_id: int, recent: Points, window: _Window, buckets: int
) -> (
    tuple[bool, int, list[float], list[float], list[float], list[float], list[tuple[float, str, int]]] | None
):
    low, high = window.bounds()
    found = [c for c in points.describe(connection, run_pk, key_id) if c.overlaps(window.order, low, high)]
    extents = [window.x(np.array(chunk.range(window.order), np.int64)) for chunk in found]
    if len(recent):
        major = recent.major(window.order)
        extents.append(window.x(np.array([major.min(), major.max()])))
    if not extents:
        return None
    ends = np.concatenate(extents)
    start = float(ends.min()) if window.start is None else max(float(ends.min()), window.start)
    end = float(ends.max()) if window.end is None else min(float(ends.max()), window.end)

    def parts() -> Iterator[tuple[Floats, Floats]]:
        for part in points.stream(connection, found, recent, window.order):
            yield window.clip(window.x(part.major(window.order)), part.values)

    line = thin(parts(), start, end, buckets)
    if line.points == 0:
        return None
    return line.exact, line.points, line.x, line.y, line.y_min, line.y_max, line.nonfinite


def _origin_ms(connection: Connection, run_pk: int) -> int:
    """The time of the first point of the run."""
    query = select(func.min(metric_latest.c.first_timestamp_ms)).where(metric_latest.c.run_id == run_pk)
    return connection.execute(query).scalar() or 0
