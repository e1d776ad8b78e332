"""Queries on runs. Every write is atomic within the transaction it is given.

All logging (metrics, params, tags) of several runs at once is `metrics.log_items`.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Executable, Row, Table, bindparam, select
from sqlalchemy import delete as delete_from
from sqlalchemy import update as update_table

from contrail.model.errors import InvalidParameterValue, ResourceAlreadyExists, ResourceDoesNotExist
from contrail.model.tracking import (
    Dataset,
    DatasetInput,
    Lifecycle,
    Metric,
    Param,
    Run,
    RunInfo,
    RunStatus,
    Tag,
)
from contrail.store import keys, numbers
from contrail.store.dialect import ForIds, Prepared, insert_into, insert_new, slices, upsert
from contrail.store.tables import (
    datasets,
    experiments,
    input_tags,
    metric_latest,
    params,
    run_inputs,
    run_tags,
    runs,
)

RUN_NAME_TAG = "mlflow.runName"
NAN = float("nan")

_NEW_COLUMNS = (
    "run_uuid",
    "experiment_id",
    "name",
    "user_id",
    "status",
    "start_ms",
    "lifecycle",
    "artifact_uri",
)


def _create(dialect: str) -> Executable:
    values: dict[str, Any] = {name: bindparam(name) for name in _NEW_COLUMNS}
    return insert_into(dialect, runs).values(values).on_conflict_do_nothing().returning(runs.c.id)


_CREATE = Prepared(_NEW_COLUMNS, _create)
_EXPERIMENT = Prepared(
    ["id"],
    lambda _: select(experiments.c.artifact_location, experiments.c.lifecycle).where(
        experiments.c.id == bindparam("id")
    ),
)
_INFO_BY_UUID = Prepared(["run_uuid"], lambda _: select(runs).where(runs.c.run_uuid == bindparam("run_uuid")))


def _pairs(table: Table) -> ForIds:
    columns = (table.c.run_id, table.c.key, table.c.value)
    return ForIds(lambda ids: select(*columns).where(columns[0].in_([ids])).order_by(*columns[:2]))


_PARAMS, _TAGS = _pairs(params), _pairs(run_tags)
_LATEST = metric_latest.c
_METRICS = ForIds(
    lambda ids: select(
        _LATEST.run_id, _LATEST.key_id, _LATEST.value, _LATEST.timestamp_ms, _LATEST.step, _LATEST.is_nan
    ).where(_LATEST.run_id.in_([ids]))
)
_INPUTS = ForIds(
    lambda ids: (
        select(
            run_inputs.c.run_id,
            datasets.c.id,
            *(datasets.c[name] for name in ("name", "digest", "source_type", "source", "schema", "profile")),
        )
        .join_from(run_inputs, datasets)
        .where(run_inputs.c.run_id.in_([ids]))
        .order_by(run_inputs.c.run_id, run_inputs.c.position)
    )
)
_INPUT_TAGS = ForIds(
    lambda ids: select(input_tags).where(input_tags.c.run_id.in_([ids])).order_by(input_tags.c.key)
)
_key = attrgetter("key")


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric of a run over its whole history. Extremes are None when every value is NaN."""

    key: str
    last: float
    last_step: int
    last_ms: int
    first: float
    min: float | None
    max: float | None
    points: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Everything about one run except its series."""

    run: Run
    experiment_name: str
    metrics: tuple[MetricSummary, ...]


def create(
    connection: Connection,
    *,
    experiment_id: int,
    name: str,
    user_id: str,
    start_ms: int | None,
    tags: Sequence[Tag] = (),
    run_uuid: str | None = None,
    artifact_uri: str | None = None,
    now_ms: int,
) -> Run:
    """Create a RUNNING run in an active experiment; the tag `mlflow.runName` is set to its name.

    Without `run_uuid` a new one is made; without `artifact_uri` it is `<experiment's location>/<run>/artifacts`;
    without `start_ms` it starts now. Raises ResourceDoesNotExist (no such experiment), InvalidParameterValue (it is
    deleted), ResourceAlreadyExists (`run_uuid` is taken).
    """
    location = _active_experiment_location(connection, experiment_id)
    run_uuid = run_uuid or uuid.uuid4().hex
    info = RunInfo(
        run_id=run_uuid,
        experiment_id=experiment_id,
        name=name,
        user_id=user_id,
        status=RunStatus.RUNNING,
        start_ms=now_ms if start_ms is None else start_ms,
        end_ms=None,
        artifact_uri=artifact_uri or f"{location.rstrip('/')}/{run_uuid}/artifacts",
        lifecycle=Lifecycle.ACTIVE,
    )
    made = _CREATE.rows(
        connection,
        (
            run_uuid,
            experiment_id,
            name,
            user_id,
            int(info.status),
            info.start_ms,
            "active",
            info.artifact_uri,
        ),
    )
    if not made:
        raise ResourceAlreadyExists(f"Run with id={run_uuid} already exists")
    values = {tag.key: tag.value for tag in tags} | {RUN_NAME_TAG: name}
    upsert(connection, run_tags, tag_rows(made[0][0], values))
    return Run(info, tags=tuple(Tag(key, value) for key, value in sorted(values.items())))


def get(connection: Connection, run_uuid: str) -> Run:
    """One run, deleted or not, with its data. Raises ResourceDoesNotExist."""
    return load(connection, [_row(connection, run_uuid)])[0]


def get_info(connection: Connection, run_uuid: str) -> RunInfo:
    """One run without its data: the cheapest read. Raises ResourceDoesNotExist."""
    return info(_row(connection, run_uuid))


def get_many(connection: Connection, run_uuids: Sequence[str]) -> list[Run]:
    """Those of the runs that exist, in the given order."""
    found = {}
    for part in slices(run_uuids):
        rows = connection.execute(select(runs).where(runs.c.run_uuid.in_(part))).all()
        found.update({run.info.run_id: run for run in load(connection, rows)})
    return [found[run_uuid] for run_uuid in run_uuids if run_uuid in found]


def summary(connection: Connection, run_uuid: str) -> RunSummary:
    """What the run page shows. Raises ResourceDoesNotExist."""
    from contrail.store import points

    row = _row(connection, run_uuid)
    counts = points.counts(connection, row.id)
    latest = connection.execute(select(metric_latest).where(metric_latest.c.run_id == row.id)).all()
    names = keys.names(connection, [metric.key_id for metric in latest])
    name = connection.execute(
        select(experiments.c.name).where(experiments.c.id == row.experiment_id)
    ).scalar_one()
    return RunSummary(
        run=load(connection, [row])[0],
        experiment_name=name,
        metrics=tuple(
            sorted(
                (_metric_summary(metric, names[metric.key_id], counts[metric.key_id]) for metric in latest),
                key=lambda metric: metric.key,
            )
        ),
    )


def update(
    connection: Connection,
    run_uuid: str,
    *,
    status: RunStatus | None = None,
    end_ms: int | None = None,
    name: str | None = None,
) -> RunInfo:
    """Change what is given; a new name also sets the tag `mlflow.runName`, "" is ignored.

    Raises ResourceDoesNotExist, or InvalidParameterValue when the run is deleted.
    """
    row = active_row(connection, run_uuid)
    changes: dict[str, Any] = {}
    if status is not None:
        changes["status"] = int(status)
    if end_ms is not None:
        changes["end_ms"] = end_ms
    if name:
        changes["name"] = name
        upsert(connection, run_tags, tag_rows(row.id, {RUN_NAME_TAG: name}))
    if changes:
        connection.execute(update_table(runs).where(runs.c.id == row.id).values(**changes))
    return info(_row(connection, run_uuid))


def delete(connection: Connection, run_uuid: str, now_ms: int) -> None:
    """Mark deleted. Idempotent. Raises ResourceDoesNotExist."""
    row = _row(connection, run_uuid)
    if row.lifecycle != Lifecycle.DELETED:
        _set_lifecycle(connection, row.id, Lifecycle.DELETED, now_ms)


def restore(connection: Connection, run_uuid: str) -> None:
    """Mark active. Idempotent. Raises ResourceDoesNotExist."""
    _set_lifecycle(connection, _row(connection, run_uuid).id, Lifecycle.ACTIVE, None)


def delete_tag(connection: Connection, run_uuid: str, key: str) -> None:
    """Remove one tag. Raises ResourceDoesNotExist (run or tag), InvalidParameterValue when the run is deleted."""
    row = active_row(connection, run_uuid)
    which = (run_tags.c.run_id == row.id) & (run_tags.c.key == key)
    if connection.execute(delete_from(run_tags).where(which)).rowcount == 0:
        raise ResourceDoesNotExist(f"No tag with name: {key} in run with id {run_uuid}")


def log_inputs(connection: Connection, run_uuid: str, inputs: Sequence[DatasetInput]) -> None:
    """Attach data sets; one per (experiment, name, digest).

    Idempotent: what is attached already, and its tags, stay. Raises ResourceDoesNotExist, or InvalidParameterValue
    when the run is deleted.
    """
    run = active_row(connection, run_uuid)
    for item in inputs:
        dataset_id = _dataset_id(connection, run.experiment_id, item.dataset)
        known = select(run_inputs.c.position).where(run_inputs.c.run_id == run.id)
        positions = connection.execute(known).scalars().all()
        row = {"run_id": run.id, "dataset_id": dataset_id, "position": len(positions)}
        if insert_new(connection, run_inputs, [row]):
            tags = {tag.key: tag.value for tag in item.tags}
            rows = [
                {"run_id": run.id, "dataset_id": dataset_id, "key": k, "value": v} for k, v in tags.items()
            ]
            insert_new(connection, input_tags, rows)


def active_row(connection: Connection, run_uuid: str) -> Row[Any]:
    """The row of a run that may be written to. Raises ResourceDoesNotExist, InvalidParameterValue."""
    row = _row(connection, run_uuid)
    if row.lifecycle != Lifecycle.ACTIVE:
        raise not_active(run_uuid)
    return row


def not_found(run_uuid: str) -> ResourceDoesNotExist:
    """The error for a run that does not exist."""
    return ResourceDoesNotExist(f"Run with id={run_uuid} not found")


def not_active(run_uuid: str) -> InvalidParameterValue:
    """The error for a run in the trash."""
    return InvalidParameterValue(
        f"The run {run_uuid} must be in the 'active' state. Current state is deleted."
    )


def primary_keys(connection: Connection, run_uuids: Iterable[str]) -> dict[str, int]:
    """The primary keys of those runs that exist."""
    found: dict[str, int] = {}
    for part in slices(run_uuids):
        query = select(runs.c.run_uuid, runs.c.id).where(runs.c.run_uuid.in_(part))
        found.update((row.run_uuid, row.id) for row in connection.execute(query))
    return found


def tag_rows(run_pk: int, values: dict[str, str]) -> list[dict[str, Any]]:
    """Rows for `run_tags`."""
    return [{"run_id": run_pk, "key": k, "value": v, "number": numbers.parse(v)} for k, v in values.items()]


def load(connection: Connection, rows: Sequence[Row[Any]]) -> list[Run]:
    """The runs of rows of `runs`, in their order, with all data: a fixed number of queries per few thousand runs."""
    loaded: list[Run] = []
    for part in slices(rows, 2_000):
        ids = [row.id for row in part]
        metrics, inputs = _metrics(connection, ids), _inputs(connection, ids)
        own_params: dict[int, list[Param]] = defaultdict(list)
        for run_id, key, value in _PARAMS.tuples(connection, ids):
            own_params[run_id].append(Param(key, value))
        own_tags: dict[int, list[Tag]] = defaultdict(list)
        for run_id, key, value in _TAGS.tuples(connection, ids):
            own_tags[run_id].append(Tag(key, value))
        loaded += [
            Run(
                info(row),
                tuple(metrics[row.id]),
                tuple(own_params[row.id]),
                tuple(own_tags[row.id]),
                tuple(inputs[row.id]),
            )
            for row in part
        ]
    return loaded


def _row(connection: Connection, run_uuid: str) -> Row[Any]:
    row = _INFO_BY_UUID.execute(connection, (run_uuid,)).first()
    if row is None:
        raise not_found(run_uuid)
    return row


def info(row: Row[Any]) -> RunInfo:
    """The run behind a row of `runs`."""
    return RunInfo(
        run_id=row.run_uuid,
        experiment_id=row.experiment_id,
        name=row.name,
        user_id=row.user_id,
        status=RunStatus(row.status),
        start_ms=row.start_ms,
        end_ms=row.end_ms,
        artifact_uri=row.artifact_uri,
        lifecycle=Lifecycle(row.lifecycle),
    )


def _active_experiment_location(connection: Connection, experiment_id: int) -> str:
    rows = _EXPERIMENT.rows(connection, (experiment_id,))
    if not rows:
        raise ResourceDoesNotExist(f"No Experiment with id={experiment_id} exists")
    location, lifecycle = rows[0]
    if lifecycle != Lifecycle.ACTIVE:
        raise InvalidParameterValue(
            f"The experiment {experiment_id} must be in the 'active' state. Current state is deleted."
        )
    return str(location)


def _set_lifecycle(connection: Connection, run_pk: int, lifecycle: Lifecycle, deleted_ms: int | None) -> None:
    changed = update_table(runs).where(runs.c.id == run_pk).values(lifecycle=lifecycle, deleted_ms=deleted_ms)
    connection.execute(changed)


def _metric_summary(row: Row[Any], key: str, points: int) -> MetricSummary:
    return MetricSummary(
        key=key,
        last=NAN if row.is_nan else row.value,
        last_step=row.step,
        last_ms=row.timestamp_ms,
        first=NAN if row.first_is_nan else row.first_value,
        min=row.min_value,
        max=row.max_value,
        points=points,
    )


def _metrics(connection: Connection, ids: Sequence[int]) -> dict[int, list[Metric]]:
    rows = _METRICS.tuples(connection, ids)
    names = keys.names(connection, {row[1] for row in rows})
    found: dict[int, list[Metric]] = defaultdict(list)
    for run_id, key_id, value, timestamp_ms, step, is_nan in rows:
        found[run_id].append(Metric(names[key_id], NAN if is_nan else value, timestamp_ms, step))
    for metrics in found.values():
        metrics.sort(key=_key)
    return found


def _inputs(connection: Connection, ids: Sequence[int]) -> dict[int, list[DatasetInput]]:
    rows = _INPUTS.tuples(connection, ids)
    if not rows:
        return defaultdict(list)
    tags: dict[tuple[int, int], list[Tag]] = defaultdict(list)
    for run_id, dataset_id, key, value in _INPUT_TAGS.tuples(connection, ids):
        tags[run_id, dataset_id].append(Tag(key, value))
    found: dict[int, list[DatasetInput]] = defaultdict(list)
    for run_id, dataset_id, *fields in rows:
        found[run_id].append(DatasetInput(Dataset(*fields), tuple(tags[run_id, dataset_id])))
    return found


def _dataset_id(connection: Connection, experiment_id: int, dataset: Dataset) -> int:
    row = {
        "experiment_id": experiment_id,
        "name": dataset.name,
        "digest": dataset.digest,
        "source_type": dataset.source_type,
        "source": dataset.source,
        "schema": dataset.schema,
        "profile": dataset.profile,
    }
    insert_new(connection, datasets, [row])
    query = select(datasets.c.id).where(
        datasets.c.experiment_id == experiment_id,
        datasets.c.name == dataset.name,
        datasets.c.digest == dataset.digest,
    )
    return int(connection.execute(query).scalar_one())
