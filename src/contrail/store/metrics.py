"""Logging to runs: metric points, params and tags of many writes in one go, and reading the points back.

Nothing here loads numpy: `series.points` and what stands on it is imported when points are first read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Connection, Executable, bindparam, case, insert, select, tuple_, update

from contrail.model.errors import InvalidParameterValue
from contrail.model.tracking import Lifecycle, Param, Tag
from contrail.series import blocks
from contrail.store import keys, numbers
from contrail.store.compaction import Compactor, compact
from contrail.store.dialect import Prepared, PreparedIn, insert_into
from contrail.store.runs import RUN_NAME_TAG, not_active, not_found
from contrail.store.tables import metric_blocks, metric_latest, params, run_tags, runs

if TYPE_CHECKING:
    from contrail.series.points import Order, Points

__all__ = ["Compactor", "LogItem", "MetricPoint", "Position", "compact", "history", "log_items"]

_POINT = attrgetter("step", "timestamp_ms", "value")
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class MetricPoint(Protocol):
    """What the store reads of a point: a `model.tracking.Metric`, or a decoded message with the same attributes."""

    @property
    def key(self) -> str:
        """Name of the series."""

    @property
    def value(self) -> float:
        """Any 64-bit float, also NaN and infinities."""

    @property
    def timestamp_ms(self) -> int:
        """Unix time."""

    @property
    def step(self) -> int:
        """Any 64-bit integer."""


@dataclass(frozen=True, slots=True)
class LogItem:
    """What one request logs to one run: all of it or nothing."""

    run_uuid: str
    metrics: Sequence[MetricPoint] = ()
    params: Sequence[Param] = ()
    tags: Sequence[Tag] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a series, for paging: the point after which to go on."""

    timestamp_ms: int
    step: int
    value: float


def log_items(connection: Connection, items: Sequence[LogItem]) -> list[Exception | None]:
    """Apply many items; the batch function for `writer.submit_item(log_items, item)`.

    One outcome per item: None, or why nothing of it was stored (ResourceDoesNotExist; InvalidParameterValue for a
    deleted run, a changed param or a number out of range). Items apply in order. Idempotent: a point, param or tag
    sent again changes nothing. Cost depends on the items, not on what the runs hold already. Setting the tag
    `mlflow.runName` renames the run.
    """
    found = _find_runs(connection, {item.run_uuid for item in items})
    writable = {run_uuid for run_uuid, run in found.items() if run.active}
    group = _Group(found)
    group.key_ids = keys.ids(connection, {m.key for i in items if i.run_uuid in writable for m in i.metrics})
    if any(item.params for item in items):
        group.logged_params = _logged_params(connection, items, group.runs)
    outcomes = [_outcome(group, item) for item in items]
    _write(connection, group)
    return outcomes


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
    from contrail.store import points

    return points.history(connection, run_uuid, key, limit=limit, after=after, order=order)


# ---------------------------------------------------------------- one group of items


@dataclass(slots=True)
class _Found:
    pk: int
    active: bool


@dataclass(slots=True)
class _Columns:
    """The points that a group logs to one run."""

    key_ids: array[int] = field(default_factory=lambda: array("I"))
    steps: array[int] = field(default_factory=lambda: array("q"))
    timestamps_ms: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))


@dataclass(slots=True)
class _Group:
    """What a group of items adds up to, before any of it is written."""

    runs: dict[str, _Found]
    key_ids: dict[str, int] = field(default_factory=dict)
    logged_params: dict[tuple[int, str], str] = field(default_factory=dict)
    points: dict[int, _Columns] = field(default_factory=dict)
    new_params: dict[tuple[int, str], str] = field(default_factory=dict)
    tags: dict[tuple[int, str], str] = field(default_factory=dict)


def _outcome(group: _Group, item: LogItem) -> Exception | None:
    """Check everything about an item, then take it into the group."""
    run = group.runs.get(item.run_uuid)
    if run is None:
        return not_found(item.run_uuid)
    if not run.active:
        return not_active(item.run_uuid)
    if item.params:
        changed = _changed_params(group, run.pk, item.params)
        if changed:
            return InvalidParameterValue(
                "Changing param values is not allowed. Params were already"
                f" logged='{changed}' for run ID='{item.run_uuid}'."
            )
    if item.metrics:
        try:
            _take_points(group, run.pk, item.metrics)
        except (OverflowError, TypeError):
            return InvalidParameterValue(
                f"A metric of run '{item.run_uuid}' has a step or timestamp outside 64 bits, or no number as value"
            )
    for param in item.params:
        if (run.pk, param.key) not in group.logged_params:
            group.logged_params[run.pk, param.key] = group.new_params[run.pk, param.key] = param.value
    for tag in item.tags:
        group.tags[run.pk, tag.key] = tag.value
    return None


def _changed_params(group: _Group, run_pk: int, new: Sequence[Param]) -> list[dict[str, str]]:
    changed: list[dict[str, str]] = []
    seen: dict[str, str] = {}
    for param in new:
        old = group.logged_params.get((run_pk, param.key), seen.get(param.key))
        if old is not None and old != param.value:
            changed.append({"key": param.key, "old_value": old, "new_value": param.value})
        seen[param.key] = param.value
    return changed


def _take_points(group: _Group, run_pk: int, metrics: Sequence[MetricPoint]) -> None:
    """Raises OverflowError or TypeError, and takes nothing then, when a number does not fit its column."""
    columns = group.points.get(run_pk)
    if columns is None:
        columns = group.points[run_pk] = _Columns()
    ids = group.key_ids
    if len(metrics) == 1:
        metric = metrics[0]
        step, timestamp_ms = metric.step, metric.timestamp_ms
        if not (_INT64_MIN <= step <= _INT64_MAX and _INT64_MIN <= timestamp_ms <= _INT64_MAX):
            raise OverflowError
        columns.values.append(metric.value)
        columns.key_ids.append(ids[metric.key])
        columns.steps.append(step)
        columns.timestamps_ms.append(timestamp_ms)
        return
    steps, timestamps_ms, values = zip(*map(_POINT, metrics), strict=True)
    packed = array("q", steps), array("q", timestamps_ms), array("d", values)
    columns.key_ids.extend([ids[metric.key] for metric in metrics])
    columns.steps.extend(packed[0])
    columns.timestamps_ms.extend(packed[1])
    columns.values.extend(packed[2])


# ---------------------------------------------------------------- reading what is checked


def _find_runs(connection: Connection, run_uuids: set[str]) -> dict[str, _Found]:
    rows = _FIND.rows(connection, (), run_uuids)
    return {run_uuid: _Found(pk, lifecycle == Lifecycle.ACTIVE) for run_uuid, pk, lifecycle in rows}


def _logged_params(
    connection: Connection, items: Sequence[LogItem], found: dict[str, _Found]
) -> dict[tuple[int, str], str]:
    wanted: dict[int, set[str]] = {}
    for item in items:
        if item.params and item.run_uuid in found:
            wanted.setdefault(found[item.run_uuid].pk, set()).update(param.key for param in item.params)
    return {
        (run_pk, key): value
        for run_pk, names in wanted.items()
        for key, value in _LOGGED.rows(connection, (run_pk,), names)
    }


# ---------------------------------------------------------------- writing


def _write(connection: Connection, group: _Group) -> None:
    block_rows, latest_rows = [], []
    for run_pk, columns in group.points.items():
        count = len(columns.steps)
        if count:
            block_rows.append((run_pk, count, _block(columns)))
            latest_rows += _summaries(run_pk, columns)
    _ADD_BLOCK.execute_many(connection, block_rows)
    _ADD_LATEST.execute_many(connection, latest_rows)
    _ADD_PARAM.execute_many(
        connection,
        [(run_pk, key, value, numbers.parse(value)) for (run_pk, key), value in group.new_params.items()],
    )
    _SET_TAG.execute_many(
        connection,
        [(run_pk, key, value, numbers.parse(value)) for (run_pk, key), value in group.tags.items()],
    )
    for (run_pk, key), value in group.tags.items():
        if key == RUN_NAME_TAG:
            connection.execute(update(runs).where(runs.c.id == run_pk).values(name=value))


def _block(columns: _Columns) -> bytes:
    if len(columns.steps) == 1:
        return blocks.encode_one(
            columns.key_ids[0], columns.steps[0], columns.timestamps_ms[0], columns.values[0]
        )
    return blocks.encode(columns.key_ids, columns.steps, columns.timestamps_ms, columns.values)


def _summaries(run_pk: int, columns: _Columns) -> list[tuple[Any, ...]]:
    """One row of `metric_latest` per key."""
    key_ids = columns.key_ids
    points = zip(columns.steps, columns.timestamps_ms, columns.values, strict=True)
    first_key = key_ids[0]
    if len(key_ids) == 1 or key_ids.count(first_key) == len(key_ids):
        return [(run_pk, first_key, *_summary(list(points)))]
    if len(set(key_ids)) == len(key_ids):
        return [(run_pk, key_id, *_summary([point])) for key_id, point in zip(key_ids, points, strict=True)]
    by_key: dict[int, list[tuple[int, int, float]]] = {}
    for key_id, point in zip(key_ids, points, strict=True):
        by_key.setdefault(key_id, []).append(point)
    return [(run_pk, key_id, *_summary(own)) for key_id, own in by_key.items()]


def _summary(points: list[tuple[int, int, float]]) -> tuple[Any, ...]:
    """Latest point, extremes and first point, in the order of `_LATEST_COLUMNS`. NaN counts as 0."""
    if len(points) == 1:
        step, timestamp_ms, value = points[0]
        if value != value:
            return step, timestamp_ms, 0.0, True, None, None, step, timestamp_ms, 0.0, True
        return step, timestamp_ms, value, False, value, value, step, timestamp_ms, value, False
    numbers_only = [value for _, _, value in points if value == value]
    if len(numbers_only) < len(points):
        return _summary_with_nan(points, numbers_only)
    last, first = max(points), min(points)
    return (*last, False, min(numbers_only), max(numbers_only), *first, False)


def _summary_with_nan(points: list[tuple[int, int, float]], numbers_only: list[float]) -> tuple[Any, ...]:
    marked = [(s, t, v, False) if v == v else (s, t, 0.0, True) for s, t, v in points]
    return *max(marked), min(numbers_only, default=None), max(numbers_only, default=None), *min(marked)


_LATEST_COLUMNS = (
    "run_id",
    "key_id",
    "step",
    "timestamp_ms",
    "value",
    "is_nan",
    "min_value",
    "max_value",
    "first_step",
    "first_timestamp_ms",
    "first_value",
    "first_is_nan",
)


def _insert(table: Any, names: Iterable[str]) -> Any:
    return lambda _: insert(table).values({name: bindparam(name) for name in names})


def _upsert_latest(dialect: str) -> Executable:
    """Insert, or keep the later latest point, the earlier first point and the wider extremes.

    Compared in SQL, so that several processes may write to one run.
    """
    old = metric_latest.c
    statement = insert_into(dialect, metric_latest).values(
        {name: bindparam(name) for name in _LATEST_COLUMNS}
    )
    new = statement.excluded
    later = tuple_(new.step, new.timestamp_ms, new.value) > tuple_(old.step, old.timestamp_ms, old.value)
    earlier = tuple_(new.first_step, new.first_timestamp_ms, new.first_value) < tuple_(
        old.first_step, old.first_timestamp_ms, old.first_value
    )
    lower = old.min_value.is_(None) | (new.min_value < old.min_value)
    higher = old.max_value.is_(None) | (new.max_value > old.max_value)
    rules = dict.fromkeys(("step", "timestamp_ms", "value", "is_nan"), later)
    rules |= dict.fromkeys(("first_step", "first_timestamp_ms", "first_value", "first_is_nan"), earlier)
    rules |= {"min_value": lower, "max_value": higher}
    changes = {name: case((rule, new[name]), else_=old[name]) for name, rule in rules.items()}
    return statement.on_conflict_do_update(index_elements=["run_id", "key_id"], set_=changes)


def _upsert_tag(dialect: str) -> Executable:
    statement = insert_into(dialect, run_tags).values({name: bindparam(name) for name in _PAIR_COLUMNS})
    changes = {"value": statement.excluded.value, "number": statement.excluded.number}
    return statement.on_conflict_do_update(index_elements=["run_id", "key"], set_=changes)


_PAIR_COLUMNS = ("run_id", "key", "value", "number")
_BLOCK_COLUMNS = ("run_id", "points", "data")
_FIND = PreparedIn(
    (), lambda uuids: select(runs.c.run_uuid, runs.c.id, runs.c.lifecycle).where(runs.c.run_uuid.in_(uuids))
)
_LOGGED = PreparedIn(
    ("run_id",),
    lambda names: select(params.c.key, params.c.value).where(
        params.c.run_id == bindparam("run_id"), params.c.key.in_(names)
    ),
)
_ADD_BLOCK = Prepared(_BLOCK_COLUMNS, _insert(metric_blocks, _BLOCK_COLUMNS))
_ADD_LATEST = Prepared(_LATEST_COLUMNS, _upsert_latest)
_ADD_PARAM = Prepared(_PAIR_COLUMNS, _insert(params, _PAIR_COLUMNS))
_SET_TAG = Prepared(_PAIR_COLUMNS, _upsert_tag)
