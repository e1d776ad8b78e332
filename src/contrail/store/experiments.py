"""Queries on experiments. Every write is atomic within the transaction it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from contrail.model.filters import Filter, OrderBy
from contrail.model.tracking import Experiment, Lifecycle, Tag, ViewType

DEFAULT_ID = 0
DEFAULT_NAME = "Default"


@dataclass(frozen=True, slots=True)
class ExperimentActivity:
    """An experiment with what its list page shows. `active_runs` are RUNNING now; deleted runs do not count."""

    experiment: Experiment
    runs: int
    active_runs: int
    last_run_ms: int | None


def ensure_default(connection: Connection, *, root: str, now_ms: int) -> None:
    """Create experiment 0, "Default", unless it exists. Idempotent."""
    raise NotImplementedError


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

    Without `artifact_location` it is `<root>/<id>`. Raises ResourceAlreadyExists when the name is taken, also by a deleted one.
    """
    raise NotImplementedError


def get(connection: Connection, experiment_id: int) -> Experiment:
    """The experiment, deleted or not, with its tags. Raises ResourceDoesNotExist."""
    raise NotImplementedError


def get_by_name(connection: Connection, name: str) -> Experiment:
    """The experiment of exactly this name, deleted or not. Raises ResourceDoesNotExist."""
    raise NotImplementedError


def update_name(connection: Connection, experiment_id: int, name: str, now_ms: int) -> None:
    """Rename. Raises ResourceConflict when it is deleted, BadRequest when the name is taken."""
    raise NotImplementedError


def delete(connection: Connection, experiment_id: int, now_ms: int) -> None:
    """Mark it and all its active runs deleted. Raises ResourceDoesNotExist when it is not active."""
    raise NotImplementedError


def restore(connection: Connection, experiment_id: int, now_ms: int) -> None:
    """Make it and all its runs active. Raises ResourceDoesNotExist when it is not deleted."""
    raise NotImplementedError


def set_tag(connection: Connection, experiment_id: int, tag: Tag, now_ms: int) -> None:
    """Set one tag; the last write wins. Raises InvalidParameterValue when it is deleted."""
    raise NotImplementedError


def delete_tag(connection: Connection, experiment_id: int, key: str, now_ms: int) -> None:
    """Remove one tag. Raises ResourceDoesNotExist when there is none, InvalidParameterValue when it is deleted."""
    raise NotImplementedError


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
    raise NotImplementedError


def page(
    connection: Connection,
    *,
    text: str = "",
    view: ViewType = ViewType.ACTIVE_ONLY,
    limit: int,
    after: Sequence[Any] | None = None,
) -> tuple[list[ExperimentActivity], list[Any] | None]:
    """One page of the experiments list, latest activity first; `text` is a case-insensitive part of the name."""
    raise NotImplementedError


__all__ = ["Lifecycle"]
