"""Experiments, runs and what they hold, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Lifecycle(StrEnum):
    """Whether something is in use or in the trash."""

    ACTIVE = "active"
    DELETED = "deleted"


class ViewType(IntEnum):
    """Which lifecycles a search returns; the numbers are MLflow's."""

    ACTIVE_ONLY = 1
    DELETED_ONLY = 2
    ALL = 3


class RunStatus(IntEnum):
    """Status of a tracking run; the numbers are MLflow's."""

    RUNNING = 1
    SCHEDULED = 2
    FINISHED = 3
    FAILED = 4
    KILLED = 5


@dataclass(frozen=True, slots=True)
class Tag:
    """A key with a text value; the last write wins."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Param:
    """A key with a text value that never changes within a run."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Metric:
    """One point of a series. `value` may be NaN or infinite; `timestamp_ms` is Unix time."""

    key: str
    value: float
    timestamp_ms: int
    step: int


@dataclass(frozen=True, slots=True)
class Experiment:
    """The unit that groups runs. Times are Unix milliseconds."""

    experiment_id: int
    name: str
    artifact_location: str
    lifecycle: Lifecycle
    created_ms: int
    updated_ms: int
    tags: tuple[Tag, ...] = ()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a run is, without what was logged to it. Times are Unix milliseconds."""

    run_id: str
    experiment_id: int
    name: str
    user_id: str
    status: RunStatus
    start_ms: int | None
    end_ms: int | None
    artifact_uri: str
    lifecycle: Lifecycle


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as it was used; one per (experiment, name, digest)."""

    name: str
    digest: str
    source_type: str
    source: str
    schema: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class DatasetInput:
    """A data set that a run read, with the tags of that use (for example its context)."""

    dataset: Dataset
    tags: tuple[Tag, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run with its latest metrics, params, tags and inputs."""

    info: RunInfo
    metrics: tuple[Metric, ...] = ()
    params: tuple[Param, ...] = ()
    tags: tuple[Tag, ...] = ()
    inputs: tuple[DatasetInput, ...] = ()
