"""Queries on experiments. Every write is atomic within the transaction it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select, update
from sqlalchemy import delete as delete_from

from contrail.model.errors import (
    BadRequest,
    InvalidParameterValue,
    ResourceAlreadyExists,
    ResourceConflict,
    ResourceDoesNotExist,
)
from contrail.model.filters import Filter, OrderBy
from contrail.model.tracking import Experiment, Lifecycle, RunStatus, Tag, ViewType
from contrail.store import ordering, predicates
from contrail.store.dialect import insert_new, slices, upsert
from contrail.store.tables import experiment_tags, experiments, runs

DEFAULT_ID = 0
DEFAULT_NAME = "Default"


@dataclass(frozen=True, slots=True)
class ExperimentActivity:
    """An experiment with what its list page shows. `active_runs` are RUNNING now; deleted runs do not count."""

    experiment: Experiment
    runs: int
    active_runs: int
    last_run_ms: int | None


def ensure_default(connection: Connection, *, root: str = "mlflow-artifacts:", now_ms: int) -> None:
    """Create experiment 0, "Default", unless it exists. Idempotent."""
    row = _new_row(DEFAULT_NAME, f"{root}/{DEFAULT_ID}", now_ms)
    insert_new(connection, experiments, [{"id": DEFAULT_ID, **row}])


def create(
    connection: Connection,
    *,
    name: str,
    artifact_location: str | None = None,
    tags: Sequence[Tag] = (),
    now_ms: int,
    root: str = "mlflow-artifacts:",
) -> int:
    """Create an experiment and return its id.

    Without `artifact_location` it is `<root>/<id>`. Raises ResourceAlreadyExists when the name is taken, also by a
    deleted one.
    """
    if insert_new(connection, experiments, [_new_row(name, artifact_location or "", now_ms)]) == 0:
        raise ResourceAlreadyExists(
            f"Experiment '{name}' already exists, in use or among the deleted ones; choose another name or restore it"
        )
    experiment_id = int(
        connection.execute(select(experiments.c.id).where(experiments.c.name == name)).scalar_one()
    )
    if not artifact_location:
        _change(connection, experiment_id, artifact_location=f"{root}/{experiment_id}")
    upsert(connection, experiment_tags, _tag_rows(experiment_id, tags))
    return experiment_id


def get(connection: Connection, experiment_id: int) -> Experiment:
    """The experiment, deleted or not, with its tags. Raises ResourceDoesNotExist."""
    found = _load(connection, select(experiments).where(experiments.c.id == experiment_id))
    if not found:
        raise ResourceDoesNotExist(f"No Experiment with id={experiment_id} exists")
    return found[0]


def get_by_name(connection: Connection, name: str) -> Experiment:
    """The experiment of exactly this name, deleted or not. Raises ResourceDoesNotExist."""
    found = _load(connection, select(experiments).where(experiments.c.name == name))
    if not found:
        raise ResourceDoesNotExist(f"Could not find experiment with name '{name}'")
    return found[0]


def update_name(connection: Connection, experiment_id: int, name: str, now_ms: int) -> None:
    """Rename. Raises ResourceConflict when it is deleted, BadRequest when the name is taken."""
    if _lifecycle(connection, experiment_id) is not Lifecycle.ACTIVE:
        raise ResourceConflict(f"Experiment {experiment_id} is deleted; restore it before you rename it")
    taken = select(experiments.c.id).where(experiments.c.name == name, experiments.c.id != experiment_id)
    if connection.execute(taken).first() is not None:
        raise BadRequest(f"Experiment '{name}' already exists; choose another name")
    _change(connection, experiment_id, name=name, updated_ms=now_ms)


def delete(connection: Connection, experiment_id: int, now_ms: int) -> None:
    """Mark it and all its active runs deleted. Raises ResourceDoesNotExist when it is not active."""
    if _lifecycle(connection, experiment_id) is not Lifecycle.ACTIVE:
        raise ResourceDoesNotExist(
            f"No active Experiment with id={experiment_id} exists; it is deleted already"
        )
    _change(connection, experiment_id, lifecycle=Lifecycle.DELETED, updated_ms=now_ms)
    members = (runs.c.experiment_id == experiment_id) & (runs.c.lifecycle == Lifecycle.ACTIVE)
    connection.execute(update(runs).where(members).values(lifecycle=Lifecycle.DELETED, deleted_ms=now_ms))


def restore(connection: Connection, experiment_id: int, now_ms: int) -> None:
    """Make it and all its runs active. Raises ResourceDoesNotExist when it is not deleted."""
    if _lifecycle(connection, experiment_id) is not Lifecycle.DELETED:
        raise ResourceDoesNotExist(f"No deleted Experiment with id={experiment_id} exists; it is active")
    _change(connection, experiment_id, lifecycle=Lifecycle.ACTIVE, updated_ms=now_ms)
    members = (runs.c.experiment_id == experiment_id) & (runs.c.lifecycle == Lifecycle.DELETED)
    connection.execute(update(runs).where(members).values(lifecycle=Lifecycle.ACTIVE, deleted_ms=None))


def set_tag(connection: Connection, experiment_id: int, tag: Tag, now_ms: int) -> None:
    """Set one tag; the last write wins. Raises InvalidParameterValue when the experiment is deleted."""
    _check_active(connection, experiment_id)
    upsert(connection, experiment_tags, _tag_rows(experiment_id, [tag]))
    _change(connection, experiment_id, updated_ms=now_ms)


def delete_tag(connection: Connection, experiment_id: int, key: str, now_ms: int) -> None:
    """Remove one tag.

    Raises ResourceDoesNotExist when there is none, InvalidParameterValue when the experiment is deleted.
    """
    _check_active(connection, experiment_id)
    which = (experiment_tags.c.experiment_id == experiment_id) & (experiment_tags.c.key == key)
    if connection.execute(delete_from(experiment_tags).where(which)).rowcount == 0:
        raise ResourceDoesNotExist(f"No tag with name: {key} in experiment with id {experiment_id}")
    _change(connection, experiment_id, updated_ms=now_ms)


def search(
    connection: Connection,
    *,
    filter: Filter | None = None,
    order_by: Sequence[OrderBy] = (),
    view: ViewType = ViewType.ACTIVE_ONLY,
    limit: int,
    after: Sequence[Any] | None = None,
) -> tuple[list[Experiment], list[Any] | None]:
    """One page and the position of its last row for `after`, None on the last page.

    Positions hold only strings, integers and null, so they survive JSON. Default order: newest first, then id.
    """
    order = ordering.for_experiments(order_by)
    query = select(experiments).where(*predicates.in_view(experiments.c.lifecycle, view))
    if filter is not None:
        query = query.where(predicates.for_experiments(filter))
    rows, following = ordering.page(connection, query, order, limit, after)
    return _with_tags(connection, rows), following


def page(
    connection: Connection,
    *,
    text: str = "",
    view: ViewType = ViewType.ACTIVE_ONLY,
    limit: int,
    after: Sequence[Any] | None = None,
) -> tuple[list[ExperimentActivity], list[Any] | None]:
    """One page of the experiments list, latest activity first; `text` is a case-insensitive part of the name."""
    newest = (
        select(func.max(runs.c.start_ms)).where(runs.c.experiment_id == experiments.c.id).scalar_subquery()
    )
    activity = func.coalesce(newest, experiments.c.created_ms)
    query = select(experiments).where(*predicates.in_view(experiments.c.lifecycle, view))
    if text:
        query = query.where(experiments.c.name.icontains(text, autoescape=True))
    order = [ordering.Term(activity, descending=True), ordering.Term(experiments.c.id, descending=True)]
    rows, following = ordering.page(connection, query, order, limit, after)
    found = _with_tags(connection, rows)
    counts = _run_counts(connection, [experiment.experiment_id for experiment in found])
    return [ExperimentActivity(e, *counts.get(e.experiment_id, (0, 0, None))) for e in found], following


def _run_counts(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[int, int, int | None]]:
    running = func.count().filter(runs.c.status == int(RunStatus.RUNNING))
    query = (
        select(runs.c.experiment_id, func.count(), running, func.max(runs.c.start_ms))
        .where(runs.c.lifecycle == Lifecycle.ACTIVE)
        .group_by(runs.c.experiment_id)
    )
    counts: dict[int, tuple[int, int, int | None]] = {}
    for part in slices(ids):
        for row in connection.execute(query.where(runs.c.experiment_id.in_(part))):
            counts[row[0]] = (row[1], row[2], row[3])
    return counts


def _new_row(name: str, location: str, now_ms: int) -> dict[str, Any]:
    return {
        "name": name,
        "artifact_location": location,
        "lifecycle": Lifecycle.ACTIVE,
        "created_ms": now_ms,
        "updated_ms": now_ms,
    }


def _tag_rows(experiment_id: int, tags: Sequence[Tag]) -> list[dict[str, Any]]:
    return [{"experiment_id": experiment_id, "key": tag.key, "value": tag.value} for tag in tags]


def _change(connection: Connection, experiment_id: int, **values: Any) -> None:
    connection.execute(update(experiments).where(experiments.c.id == experiment_id).values(**values))


def _lifecycle(connection: Connection, experiment_id: int) -> Lifecycle:
    query = select(experiments.c.lifecycle).where(experiments.c.id == experiment_id)
    found = connection.execute(query).scalar_one_or_none()
    if found is None:
        raise ResourceDoesNotExist(f"No Experiment with id={experiment_id} exists")
    return Lifecycle(found)


def _check_active(connection: Connection, experiment_id: int) -> None:
    if _lifecycle(connection, experiment_id) is not Lifecycle.ACTIVE:
        raise InvalidParameterValue(
            f"The experiment {experiment_id} must be in the 'active' state. Current state is deleted."
        )


def _load(connection: Connection, query: Select[Any]) -> list[Experiment]:
    return _with_tags(connection, connection.execute(query).all())


def _with_tags(connection: Connection, rows: Sequence[Row[Any]]) -> list[Experiment]:
    tags: dict[int, list[Tag]] = {row.id: [] for row in rows}
    for part in slices(tags):
        query = select(experiment_tags).where(experiment_tags.c.experiment_id.in_(part))
        for row in connection.execute(query.order_by(experiment_tags.c.key)):
            tags[row.experiment_id].append(Tag(row.key, row.value))
    return [
        Experiment(
            experiment_id=row.id,
            name=row.name,
            artifact_location=row.artifact_location,
            lifecycle=Lifecycle(row.lifecycle),
            created_ms=row.created_ms,
            updated_ms=row.updated_ms,
            tags=tuple(tags[row.id]),
        )
        for row in rows
    ]
