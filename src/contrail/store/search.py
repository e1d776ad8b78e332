"""Searching runs: filter trees to SQL, keyset pages, rows for the runs table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from contrail.model.filters import Entity, Filter, OrderBy
from contrail.model.tracking import Run, RunInfo, ViewType


@dataclass(frozen=True, slots=True)
class Column:
    """A column to read for each run; `field` is last|min|max|first for metrics."""

    entity: Entity
    key: str
    field: str = "last"


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a table; `values` has one entry per asked column, None where the run has none.

    Metrics are floats (also NaN and infinities), attributes their own type, the rest text.
    """

    info: RunInfo
    parent_run_id: str | None
    job_run_id: int | None
    attempt_number: int | None
    values: tuple[float | int | str | None, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A page of rows. `total` counts all matches, None unless asked for; `next` is None on the last page."""

    rows: list[Row]
    total: int | None
    next: list[Any] | None


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A key that some runs have; `varies` when there is more than one value."""

    entity: Entity
    key: str
    runs: int
    varies: bool


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """A data set used by runs of an experiment."""

    experiment_id: int
    name: str
    digest: str
    context: str | None


def search_runs(
    connection: Connection,
    experiment_ids: Sequence[int],
    *,
    filter: Filter | None = None,
    order_by: Sequence[OrderBy] = (),
    view: ViewType = ViewType.ACTIVE_ONLY,
    limit: int,
    after: Sequence[Any] | None = None,
) -> tuple[list[Run], list[Any] | None]:
    """One page of runs with their data, and the position of its last row for `after`; None on the last page.

    Positions hold only strings, integers and null, so they survive JSON; a malformed one raises InvalidParameterValue.
    Pages are keyset pages: each costs the same, and rows that come or go in between neither repeat nor hide others.
    Order: the keys, then start_time descending (unless it is a key), then run_id. Missing values come last in both
    directions, NaN just before them; params and tags that are numbers sort as numbers, before other text.
    """
    raise NotImplementedError


def count_runs(
    connection: Connection,
    experiment_ids: Sequence[int],
    *,
    filter: Filter | None = None,
    view: ViewType = ViewType.ACTIVE_ONLY,
) -> int:
    """How many runs match."""
    raise NotImplementedError


def query_rows(
    connection: Connection,
    experiment_ids: Sequence[int],
    *,
    columns: Sequence[Column] = (),
    filter: Filter | None = None,
    order_by: Sequence[OrderBy] = (),
    view: ViewType = ViewType.ACTIVE_ONLY,
    limit: int,
    after: Sequence[Any] | None = None,
    with_total: bool = False,
) -> Rows:
    """Like `search_runs`, but reads only the asked columns."""
    raise NotImplementedError


def columns(connection: Connection, experiment_ids: Sequence[int], *, limit: int = 5_000) -> list[ColumnInfo]:
    """Metric, param and tag keys of the experiments' active runs, most used first within each kind."""
    raise NotImplementedError


def search_datasets(
    connection: Connection, experiment_ids: Sequence[int], *, limit: int = 1_000
) -> list[DatasetSummary]:
    """The distinct data sets that runs of the experiments used, with their context."""
    raise NotImplementedError
