"""Messages of the pages' API (`/api/contrail/v1/…`): runs table, charts, summaries. Times are Unix milliseconds.

Non-finite numbers never travel as numbers: they are the strings "NaN", "Infinity", "-Infinity".
"""

from __future__ import annotations

import msgspec

Number = float | str  # a JSON number, or one of the three strings above


class Info(msgspec.Struct):
    """`GET info`."""

    version: str
    user: str
    single_user: bool
    data_dir: str
    store: str
    engines: list[str]
    accelerators: list[str]


class Column(msgspec.Struct):
    """A column of the runs table: `kind` attribute|metric|param|tag; `field` last|min|max|first for metrics."""

    kind: str
    key: str
    field: str = "last"


class RunsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """`POST runs/query`. `order_by` uses the same grammar as MLflow's search (plus `metrics.x:min`)."""

    experiment_ids: list[str]
    filter: str = ""
    view: str = "active"  # active | deleted | all
    order_by: list[str] = []
    columns: list[Column] = []
    limit: int = 50
    page_token: str | None = None
    with_total: bool = True


class RunRow(msgspec.Struct):
    """One run; `values` has one entry per asked column, null where the run has none."""

    run_id: str
    experiment_id: str
    name: str
    status: str
    user: str
    start_ms: int | None
    end_ms: int | None
    lifecycle: str
    parent_run_id: str | None
    job_run_id: int | None
    attempt_number: int | None
    values: list[Number | None]


class RunsPage(msgspec.Struct):
    """`total` counts all members that match the filter (null unless asked for)."""

    rows: list[RunRow]
    total: int | None
    next_page_token: str | None = None


class ColumnInfo(msgspec.Struct):
    """A key that runs of the experiments have, for the column chooser; `varies`: more than one value."""

    kind: str
    key: str
    runs: int
    varies: bool


class Columns(msgspec.Struct):
    """`GET columns?experiment_id=…` (repeatable); most used first within each kind."""

    columns: list[ColumnInfo]


class SeriesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """`POST series`: many runs and keys at once. `x`: step | time | relative. `start`/`end` bound x (inclusive)."""

    run_ids: list[str]
    keys: list[str]
    x: str = "step"
    start: float | None = None
    end: float | None = None
    buckets: int = 500


class Series(msgspec.Struct):
    """One (run, key), in columns. `exact`: these are all points; else one entry per bucket.

    `x`, `y` are the last finite point of each bucket; `y_min`/`y_max` its extremes (empty when exact).
    `nonfinite` lists [x, "NaN"|"Infinity"|"-Infinity", count], at most one entry per bucket and kind.
    x in `time` is Unix ms, in `relative` seconds since the run's first point.
    """

    run_id: str
    key: str
    exact: bool
    points: int
    x: list[float]
    y: list[float]
    y_min: list[float]
    y_max: list[float]
    nonfinite: list[tuple[float, str, int]]


class SeriesAnswer(msgspec.Struct):
    """`POST series`: series without any point are left out."""

    series: list[Series]


class MetricSummary(msgspec.Struct):
    """One metric of a run over its whole history."""

    key: str
    last: Number
    last_step: int
    last_ms: int
    first: Number
    min: Number | None
    max: Number | None
    points: int


class RunSummary(msgspec.Struct):
    """`GET runs/{run_id}`: everything the run page shows without charts."""

    run_id: str
    experiment_id: str
    experiment_name: str
    name: str
    status: str
    user: str
    start_ms: int | None
    end_ms: int | None
    lifecycle: str
    artifact_uri: str
    params: dict[str, str]
    tags: dict[str, str]
    metrics: list[MetricSummary]
    job_run_id: int | None
    attempt_number: int | None


class TablePreview(msgspec.Struct):
    """`GET artifacts/table?run_id=&path=`: first rows of a CSV, TSV, JSON-table or Parquet artifact, as text."""

    columns: list[str]
    rows: list[list[str | None]]
    more: bool


class ExperimentRow(msgspec.Struct):
    """One experiment of the list page."""

    experiment_id: str
    name: str
    lifecycle: str
    runs: int
    active_runs: int
    last_run_ms: int | None
    created_ms: int


class ExperimentsPage(msgspec.Struct):
    """`GET experiments?q=&view=active&limit=&page_token=`, latest activity first; `q` is a part of the name."""

    experiments: list[ExperimentRow]
    next_page_token: str | None = None
