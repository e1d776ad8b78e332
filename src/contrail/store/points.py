"""Reading metric points: chunks and blocks merged, sorted, each point once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from contrail.series.points import Points

Order = Literal["timestamp", "step"]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a series, for paging: the point after which to go on."""

    timestamp_ms: int
    step: int
    value: float


def history(
    connection: Connection,
    run_uuid: str,
    key: str,
    *,
    limit: int | None = None,
    after: Position | None = None,
    order: Order = "timestamp",
) -> Iterator[Points]:
    """The points of one series as column arrays, each point once.

    Order "timestamp" is (timestamp, step, value), "step" is (step, timestamp, value); NaN comes after numbers.
    An unknown run or key gives nothing. Memory is bounded by one chunk plus the uncompacted blocks of the run.
    Consume it while the connection is open. `after` + `limit` make pages that stay flat with depth; a last point
    gives the next position: `Position(int(p.timestamps_ms[-1]), int(p.steps[-1]), float(p.values[-1]))`.
    """
    raise NotImplementedError
