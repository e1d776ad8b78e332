"""Series for charts: thinned on the server so that no spike is hidden. Loads numpy when first used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection

if TYPE_CHECKING:
    from contrail.series.points import Points

Axis = Literal["step", "time", "relative"]


@dataclass(frozen=True, slots=True)
class Series:
    """One (run, key) for a chart; the fields are those of `wire.ui.Series`."""

    run_id: str
    key: str
    exact: bool
    points: int
    x: list[float]
    y: list[float]
    y_min: list[float]
    y_max: list[float]
    nonfinite: list[tuple[float, str, int]]


def chart(
    connection: Connection,
    run_uuids: Sequence[str],
    keys: Sequence[str],
    *,
    x: Axis = "step",
    start: float | None = None,
    end: float | None = None,
    buckets: int = 500,
) -> list[Series]:
    """Every asked (run, key) that has points within `start`…`end` (inclusive).

    Exact when it has at most `buckets` points there, else one entry per bucket.
    """
    from contrail.store import charts

    return charts.chart(connection, run_uuids, keys, x=x, start=start, end=end, buckets=buckets)


def sample(
    connection: Connection,
    run_uuid: str,
    key: str,
    *,
    limit: int,
    start_step: int | None = None,
    end_step: int | None = None,
) -> Points:
    """At most `limit` points spread over the series in order of (step, timestamp, value), always with the last one.

    The rule is that of MLflow's get-history-bulk-interval: cut into `limit` equal parts, take the first of each.
    """
    from contrail.store import charts

    return charts.sample(connection, run_uuid, key, limit=limit, start_step=start_step, end_step=end_step)
