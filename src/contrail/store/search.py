"""Searching runs: filter trees to SQL, keyset pages, rows for the runs table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, func, select

from contrail.model.errors import InvalidParameterValue
from contrail.model.filters import Entity, Filter, OrderBy
from contrail.model.tracking import Lifecycle, Run, RunInfo, ViewType
from contrail.store import keys, ordering, predicates
from contrail.store import runs as run_queries
from contrail.store.dialect import slices
from contrail.store.predicates import CONTEXT_TAG, METRIC_FIELDS, metric_is_nan
from contrail.store.tables import (
    datasets,
    input_tags,
    metric_keys,
    metric_latest,
    params,
    run_inputs,
    run_tags,
    runs,
)

PARENT_TAG, JOB_RUN_TAG, ATTEMPT_TAG = "mlflow.parentRunId", "contrail.job_run_id", "contrail.attempt_number"
NAN = float("nan")


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
    rows, following = _page(connection, experiment_ids, filter, order_by, view, limit, after)
    return run_queries.load(connection, rows), following


def count_runs(
    connection: Connection,
    experiment_ids: Sequence[int],
    *,
    filter: Filter | None = None,
    view: ViewType = ViewType.ACTIVE_ONLY,
) -> int:
    """How many runs match."""
    if not experiment_ids:
        return 0
    query = _matching(connection, select(func.count()).select_from(runs), experiment_ids, filter, view)
    return int(connection.execute(query).scalar_one())


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
    rows, following = _page(connection, experiment_ids, filter, order_by, view, limit, after)
    total = count_runs(connection, experiment_ids, filter=filter, view=view) if with_total else None
    if with_total and after is None and following is None:
        total = len(rows)
    found: list[Row] = []
    for part in slices(rows, 2_000):
        found += _rows(connection, part, columns)
    return Rows(found, total, following)


def columns(connection: Connection, experiment_ids: Sequence[int], *, limit: int = 5_000) -> list[ColumnInfo]:
    """Metric, param and tag keys of the experiments' active runs, most used first within each kind."""
    if not experiment_ids:
        return []
    members = select(runs.c.id).where(
        runs.c.experiment_id.in_(experiment_ids), runs.c.lifecycle == Lifecycle.ACTIVE
    )
    lowest, highest = func.min(metric_latest.c.value), func.max(metric_latest.c.value)
    query = (
        select(metric_keys.c.name, func.count().label("runs"), lowest != highest)
        .join_from(metric_latest, metric_keys)
        .where(metric_latest.c.run_id.in_(members))
        .group_by(metric_keys.c.name)
    )
    found = _column_infos(connection, query, Entity.METRIC, limit)
    for entity, table in ((Entity.PARAM, params), (Entity.TAG, run_tags)):
        varies = func.min(table.c.value) != func.max(table.c.value)
        query = select(table.c.key, func.count().label("runs"), varies).where(table.c.run_id.in_(members))
        found += _column_infos(connection, query.group_by(table.c.key), entity, limit)
    return found


def search_datasets(
    connection: Connection, experiment_ids: Sequence[int], *, limit: int = 1_000
) -> list[DatasetSummary]:
    """The distinct data sets that runs of the experiments used, with their context."""
    context = input_tags.c.value
    joined = run_inputs.join(datasets).outerjoin(
        input_tags,
        (input_tags.c.run_id == run_inputs.c.run_id)
        & (input_tags.c.dataset_id == run_inputs.c.dataset_id)
        & (input_tags.c.key == CONTEXT_TAG),
    )
    query = (
        select(datasets.c.experiment_id, datasets.c.name, datasets.c.digest, context)
        .select_from(joined)
        .where(datasets.c.experiment_id.in_(experiment_ids))
        .distinct()
        .order_by(datasets.c.experiment_id, datasets.c.name, datasets.c.digest, context)
        .limit(limit)
    )
    return [DatasetSummary(*row) for row in connection.execute(query)]


def _page(
    connection: Connection,
    experiment_ids: Sequence[int],
    filter: Filter | None,
    order_by: Sequence[OrderBy],
    view: ViewType,
    limit: int,
    after: Sequence[Any] | None,
) -> tuple[Sequence[Any], list[Any] | None]:
    """Rows of `runs`; what was logged to them is not touched unless the filter or the order asks for it."""
    if not experiment_ids:
        return [], None
    query, order = ordering.for_runs(connection, select(runs), order_by)
    query = _matching(connection, query, experiment_ids, filter, view)
    return ordering.page(connection, query, order, limit, after)


def _matching(
    connection: Connection,
    query: Select[Any],
    experiment_ids: Sequence[int],
    filter: Filter | None,
    view: ViewType,
) -> Select[Any]:
    ids = list(dict.fromkeys(experiment_ids))
    # With one experiment the listing index gives the order; IN would make the database sort.
    member = runs.c.experiment_id == ids[0] if len(ids) == 1 else runs.c.experiment_id.in_(ids)
    query = query.where(member, *predicates.in_view(runs.c.lifecycle, view))
    return query if filter is None else query.where(predicates.for_runs(connection, filter))


def _rows(connection: Connection, part: Sequence[Any], columns: Sequence[Column]) -> list[Row]:
    ids = [row.id for row in part]
    links = _texts(connection, run_tags, ids, [PARENT_TAG, JOB_RUN_TAG, ATTEMPT_TAG])
    values = {
        Entity.PARAM: _texts(connection, params, ids, _keys_of(columns, Entity.PARAM)),
        Entity.TAG: _texts(connection, run_tags, ids, _keys_of(columns, Entity.TAG)),
    }
    metrics = _metric_values(connection, ids, [c for c in columns if c.entity is Entity.METRIC])
    found = []
    for row in part:
        info, own = run_queries.info(row), links[row.id]
        found.append(
            Row(
                info,
                own.get(PARENT_TAG),
                _integer(own.get(JOB_RUN_TAG)),
                _integer(own.get(ATTEMPT_TAG)),
                tuple(
                    metrics.get((row.id, column.key, column.field))
                    if column.entity is Entity.METRIC
                    else _attribute(info, column.key)
                    if column.entity is Entity.ATTRIBUTE
                    else values[column.entity][row.id].get(column.key)
                    for column in columns
                ),
            )
        )
    return found


def _keys_of(columns: Sequence[Column], entity: Entity) -> list[str]:
    for column in columns:
        if column.entity is Entity.DATASET:
            raise InvalidParameterValue("Data sets cannot be a column")
    return [column.key for column in columns if column.entity is entity]


def _texts(
    connection: Connection, table: Table, ids: Sequence[int], wanted: Sequence[str]
) -> defaultdict[int, dict[str, str]]:
    found: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for part in slices(dict.fromkeys(wanted)):
        query = select(table.c.run_id, table.c.key, table.c.value)
        for run_id, key, value in connection.execute(
            query.where(table.c.run_id.in_(ids), table.c.key.in_(part))
        ):
            found[run_id][key] = value
    return found


def _metric_values(
    connection: Connection, ids: Sequence[int], columns: Sequence[Column]
) -> dict[tuple[int, str, str], float | None]:
    found: dict[tuple[int, str, str], float | None] = {}
    key_ids = keys.known_ids(connection, [column.key for column in columns])
    for field in {column.field for column in columns}:
        if field not in METRIC_FIELDS:
            raise InvalidParameterValue(f"A metric has last, min, max and first, not '{field}'")
        names = {key_ids[c.key]: c.key for c in columns if c.field == field and c.key in key_ids}
        table = metric_latest.c
        query = select(table.run_id, table.key_id, METRIC_FIELDS[field], metric_is_nan(field))
        for part in slices(names):
            for run_id, key_id, value, nan in connection.execute(
                query.where(table.run_id.in_(ids), table.key_id.in_(part))
            ):
                found[run_id, names[key_id], field] = NAN if nan else value
    return found


def _attribute(info: RunInfo, key: str) -> str | int | None:
    match key:
        case "run_id":
            return info.run_id
        case "run_name":
            return info.name
        case "status":
            return info.status.name
        case "user_id":
            return info.user_id
        case "artifact_uri":
            return info.artifact_uri
        case "start_time":
            return info.start_ms
        case "end_time":
            return info.end_ms
        case "experiment_id":
            return info.experiment_id
        case "duration":
            return None if info.end_ms is None or info.start_ms is None else info.end_ms - info.start_ms
    raise InvalidParameterValue(f"There is no attribute '{key}' of runs")


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def _column_infos(connection: Connection, query: Select[Any], entity: Entity, limit: int) -> list[ColumnInfo]:
    most_used_first = query.order_by(func.count().desc(), query.selected_columns[0]).limit(limit)
    return [
        ColumnInfo(entity, key, count, bool(varies))
        for key, count, varies in connection.execute(most_used_first)
    ]
