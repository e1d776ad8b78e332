"""What the pages show: the runs table, charts, summaries. Answers are `wire.ui` messages."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from contrail.model.errors import InvalidParameterValue
from contrail.model.filters import Entity, Filter, OrderBy
from contrail.model.tracking import Run, ViewType
from contrail.store import experiments as experiments_store
from contrail.store import runs as runs_store
from contrail.store import search as search_store
from contrail.store import series as series_store
from contrail.store.database import Database
from contrail.tracking.experiments import listing_name
from contrail.tracking.search import experiment_ids
from contrail.wire import filters, page_tokens, ui, validation
from contrail.wire.protojson import number

PAGE_MAX = 1_000  # rows of one answer
COLUMNS_MAX = 300
SERIES_RUNS_MAX, SERIES_KEYS_MAX = 200, 100
EXPORT_PAGE = 1_000  # rows read and sent at once

_VIEWS = {"active": ViewType.ACTIVE_ONLY, "deleted": ViewType.DELETED_ONLY, "all": ViewType.ALL}
_KINDS = {kind.value: kind for kind in (Entity.ATTRIBUTE, Entity.METRIC, Entity.PARAM, Entity.TAG)}
_ATTRIBUTES = tuple(dict.fromkeys(filters.RUNS.attributes.values()))
_JOB_RUN_TAG, _ATTEMPT_TAG = "contrail.job_run_id", "contrail.attempt_number"


class Pages:
    """Reads for our own pages; every method is one consistent snapshot."""

    def __init__(self, database: Database, *, buckets_max: int):
        self._database = database
        self._buckets_max = buckets_max

    # ------------------------------------------------ runs table

    def runs(self, query: ui.RunsQuery) -> ui.RunsPage:
        """One page of the runs table with just the asked columns."""
        asked = _Asked(query)
        limit = validation.check_max_results(query.limit, PAGE_MAX, "limit")
        after = page_tokens.decode(asked.listing, query.page_token) if query.page_token else None
        rows = self._rows(asked, limit, after, with_total=query.with_total)
        return ui.RunsPage(
            rows=[_row(row) for row in rows.rows],
            total=rows.total,
            next_page_token=None if rows.next is None else page_tokens.encode(asked.listing, rows.next),
        )

    def export_csv(self, query: ui.RunsQuery) -> Iterator[bytes]:
        """All matching runs as CSV, part by part. The query is checked before the first part is asked for."""
        asked = _Asked(query)
        names = [f"{c.kind}s.{c.key}" + (f":{c.field}" if c.field != "last" else "") for c in query.columns]
        header = ["run_id", "run_name", "experiment_id", "status", "user", "start_time", "end_time", *names]
        return self._csv(asked, header)

    def _csv(self, asked: _Asked, header: list[str]) -> Iterator[bytes]:
        yield _csv_text([header])
        after: Sequence[object] | None = None
        while True:
            page = self._rows(asked, EXPORT_PAGE, after, with_total=False)
            if page.rows:
                yield _csv_text([_csv_row(row) for row in page.rows])
            if page.next is None:
                return
            after = page.next

    def _rows(
        self, asked: _Asked, limit: int, after: Sequence[object] | None, *, with_total: bool
    ) -> search_store.Rows:
        if not asked.experiments:
            return search_store.Rows([], 0 if with_total else None, None)
        with self._database.read() as connection:
            return search_store.query_rows(
                connection,
                asked.experiments,
                columns=asked.columns,
                filter=asked.filter,
                order_by=asked.order_by,
                view=asked.view,
                limit=limit,
                after=after,
                with_total=with_total,
            )

    def columns(self, experiments: Sequence[str]) -> ui.Columns:
        """The keys that runs of the experiments have."""
        ids = experiment_ids(experiments)
        with self._database.read() as connection:
            found = search_store.columns(connection, ids) if ids else []
        return ui.Columns(
            [
                ui.ColumnInfo(
                    kind=column.entity.value, key=column.key, runs=column.runs, varies=column.varies
                )
                for column in found
            ]
        )

    # ------------------------------------------------ charts and summaries

    def series(self, query: ui.SeriesQuery) -> ui.SeriesAnswer:
        """Many runs and keys for charts, thinned so that no spike is lost."""
        _check_series(query)
        with self._database.read() as connection:
            found = series_store.chart(
                connection,
                query.run_ids,
                query.keys,
                x=query.x,  # type: ignore[arg-type]  # checked above
                start=query.start,
                end=query.end,
                buckets=min(query.buckets, self._buckets_max),
            )
        return ui.SeriesAnswer(
            [
                ui.Series(
                    run_id=one.run_id,
                    key=one.key,
                    exact=one.exact,
                    points=one.points,
                    x=one.x,
                    y=one.y,
                    y_min=one.y_min,
                    y_max=one.y_max,
                    nonfinite=one.nonfinite,
                )
                for one in found
            ]
        )

    def run(self, run_id: str) -> ui.RunSummary:
        """Everything that the run page shows without charts. Raises `ResourceDoesNotExist`."""
        with self._database.read() as connection:
            return _summary(runs_store.summary(connection, run_id))

    def experiments(self, q: str, view: str, limit: int, page_token: str) -> ui.ExperimentsPage:
        """One page of the experiments list, latest activity first."""
        wanted = _view(view)
        listing = listing_name("experiments-page", [q, view])
        after = page_tokens.decode(listing, page_token) if page_token else None
        limit = validation.check_max_results(limit, PAGE_MAX, "limit")
        with self._database.read() as connection:
            found, last = experiments_store.page(connection, text=q, view=wanted, limit=limit, after=after)
        return ui.ExperimentsPage(
            [_experiment_row(one) for one in found],
            None if last is None else page_tokens.encode(listing, last),
        )


class _Asked:
    """A checked `RunsQuery`."""

    def __init__(self, query: ui.RunsQuery):
        self.experiments = experiment_ids(query.experiment_ids)
        self.filter: Filter | None = filters.parse(query.filter, filters.RUNS)
        self.order_by: list[OrderBy] = filters.parse_order_by(query.order_by, filters.RUNS)
        self.view = _view(query.view)
        if len(query.columns) > COLUMNS_MAX:
            raise InvalidParameterValue(
                f"'columns' holds {len(query.columns)} columns, at most {COLUMNS_MAX} are allowed"
            )
        self.columns = [_column(column, index) for index, column in enumerate(query.columns)]
        self.listing = listing_name("runs-page", query.order_by)


def _column(column: ui.Column, index: int) -> search_store.Column:
    where = f"columns[{index}]"
    kind = _KINDS.get(column.kind)
    if kind is None:
        raise InvalidParameterValue(
            f"'{where}.kind' is '{column.kind}', it must be one of {', '.join(_KINDS)}"
        )
    if column.field not in filters.METRIC_FIELDS or (column.field != "last" and kind is not Entity.METRIC):
        raise InvalidParameterValue(
            f"'{where}.field' is '{column.field}'; metrics have {', '.join(filters.METRIC_FIELDS)}, others only last"
        )
    if kind is Entity.ATTRIBUTE and column.key not in _ATTRIBUTES:
        raise InvalidParameterValue(
            f"'{where}.key' is '{column.key}'; attributes are {', '.join(_ATTRIBUTES)}"
        )
    return search_store.Column(kind, column.key, column.field)


def _view(name: str) -> ViewType:
    view = _VIEWS.get(name)
    if view is None:
        raise InvalidParameterValue(f"'view' is '{name}', it must be one of {', '.join(_VIEWS)}")
    return view


def _check_series(query: ui.SeriesQuery) -> None:
    if query.x not in ("step", "time", "relative"):
        raise InvalidParameterValue(f"'x' is '{query.x}', it must be step, time or relative")
    if query.buckets < 1:
        raise InvalidParameterValue(f"'buckets' is {query.buckets}, it must be at least 1")
    for name, count, most in (
        ("run_ids", len(query.run_ids), SERIES_RUNS_MAX),
        ("keys", len(query.keys), SERIES_KEYS_MAX),
    ):
        if count > most:
            raise InvalidParameterValue(f"'{name}' holds {count} entries, at most {most} are allowed")


def _cell(value: float | int | str | None) -> ui.Number | int | None:
    return number(value) if isinstance(value, float) else value


def _row(row: search_store.Row) -> ui.RunRow:
    info = row.info
    return ui.RunRow(
        run_id=info.run_id,
        experiment_id=str(info.experiment_id),
        name=info.name,
        status=info.status.name,
        user=info.user_id,
        start_ms=info.start_ms,
        end_ms=info.end_ms,
        lifecycle=info.lifecycle.value,
        parent_run_id=row.parent_run_id,
        job_run_id=row.job_run_id,
        attempt_number=row.attempt_number,
        values=[_cell(value) for value in row.values],
    )


def _csv_row(row: search_store.Row) -> list[object]:
    info = row.info
    return [
        info.run_id,
        info.name,
        info.experiment_id,
        info.status.name,
        info.user_id,
        info.start_ms,
        info.end_ms,
        *[_cell(value) for value in row.values],
    ]


def _csv_text(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _summary(found: runs_store.RunSummary) -> ui.RunSummary:
    run: Run = found.run
    tags = {tag.key: tag.value for tag in run.tags}
    return ui.RunSummary(
        run_id=run.info.run_id,
        experiment_id=str(run.info.experiment_id),
        experiment_name=found.experiment_name,
        name=run.info.name,
        status=run.info.status.name,
        user=run.info.user_id,
        start_ms=run.info.start_ms,
        end_ms=run.info.end_ms,
        lifecycle=run.info.lifecycle.value,
        artifact_uri=run.info.artifact_uri,
        params={param.key: param.value for param in run.params},
        tags=tags,
        metrics=[_metric(metric) for metric in found.metrics],
        job_run_id=_whole(tags.get(_JOB_RUN_TAG)),
        attempt_number=_whole(tags.get(_ATTEMPT_TAG)),
    )


def _metric(metric: runs_store.MetricSummary) -> ui.MetricSummary:
    return ui.MetricSummary(
        key=metric.key,
        last=number(metric.last),
        last_step=metric.last_step,
        last_ms=metric.last_ms,
        first=number(metric.first),
        min=None if metric.min is None else number(metric.min),
        max=None if metric.max is None else number(metric.max),
        points=metric.points,
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 19 else None


def _experiment_row(found: experiments_store.ExperimentActivity) -> ui.ExperimentRow:
    experiment = found.experiment
    return ui.ExperimentRow(
        experiment_id=str(experiment.experiment_id),
        name=experiment.name,
        lifecycle=experiment.lifecycle.value,
        runs=found.runs,
        active_runs=found.active_runs,
        last_run_ms=found.last_run_ms,
        created_ms=experiment.created_ms,
    )
