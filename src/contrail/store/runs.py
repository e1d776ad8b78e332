"""Queries on runs. Every write is atomic within the transaction it is given.

All logging (metrics, params, tags) of several runs at once is `metrics.log_items`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from contrail.model.tracking import DatasetInput, Run, RunInfo, RunStatus, Tag

RUN_NAME_TAG = "mlflow.runName"


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

    Without `run_uuid` a new one is made; without `artifact_uri` it is `<experiment's location>/<run>/artifacts`.
    Raises ResourceDoesNotExist (no such experiment), InvalidParameterValue (it is deleted), ResourceAlreadyExists (`run_uuid` is taken).
    """
    raise NotImplementedError


def get(connection: Connection, run_uuid: str) -> Run:
    """One run, deleted or not, with its data. Raises ResourceDoesNotExist."""
    raise NotImplementedError


def get_info(connection: Connection, run_uuid: str) -> RunInfo:
    """One run without its data: the cheapest read. Raises ResourceDoesNotExist."""
    raise NotImplementedError


def get_many(connection: Connection, run_uuids: Sequence[str]) -> list[Run]:
    """Those of the runs that exist, in the given order."""
    raise NotImplementedError


def summary(connection: Connection, run_uuid: str) -> RunSummary:
    """What the run page shows. Raises ResourceDoesNotExist."""
    raise NotImplementedError


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
    raise NotImplementedError


def delete(connection: Connection, run_uuid: str, now_ms: int) -> None:
    """Mark deleted. Idempotent. Raises ResourceDoesNotExist."""
    raise NotImplementedError


def restore(connection: Connection, run_uuid: str) -> None:
    """Mark active. Idempotent. Raises ResourceDoesNotExist."""
    raise NotImplementedError


def delete_tag(connection: Connection, run_uuid: str, key: str) -> None:
    """Remove one tag. Raises ResourceDoesNotExist (run or tag), InvalidParameterValue when the run is deleted."""
    raise NotImplementedError


def log_inputs(connection: Connection, run_uuid: str, inputs: Sequence[DatasetInput]) -> None:
    """Attach data sets; one per (experiment, name, digest). Idempotent: what is attached already, and its tags, stay.

    Raises ResourceDoesNotExist, or InvalidParameterValue when the run is deleted.
    """
    raise NotImplementedError
