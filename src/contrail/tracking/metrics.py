"""Reading metric histories. Long ones come in parts, so memory stays bounded whatever their length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contrail.model.errors import InvalidParameterValue
from contrail.series.points import Points, concatenate
from contrail.store.database import Database
from contrail.store.metrics import Position, history
from contrail.store.series import sample
from contrail.wire import page_tokens, validation
from contrail.wire.protojson import missing
from contrail.wire.tracking import GetHistory, GetHistoryBulk, GetHistoryBulkInterval, run_id_of

PART_POINTS = 25_000  # points read, encoded and sent at once
_LISTING = "history"


@dataclass(frozen=True, slots=True)
class SeriesPart:
    """Points of one (run, key)."""

    run_id: str
    key: str
    points: Points


class Metrics:
    """Histories of metrics."""

    def __init__(self, database: Database):
        self._database = database

    def page(self, message: GetHistory) -> tuple[SeriesPart, str | None]:
        """At most `max_results` points in order of (timestamp, step, value), and the token of the next page."""
        run_id = run_id_of(message)
        limit = validation.check_max_results(message.max_results or 0, 2**31 - 1)
        points = self._read(run_id, message.metric_key, limit + 1, _position(message.page_token))
        if len(points) <= limit:
            return SeriesPart(run_id, message.metric_key, points), None
        points = points[:limit]
        last = _last(points)
        token = page_tokens.encode(_LISTING, (last.timestamp_ms, last.step, last.value))
        return SeriesPart(run_id, message.metric_key, points), token

    def all(self, message: GetHistory) -> Iterator[SeriesPart]:
        """The whole history in parts; each part is read when it is asked for."""
        run_id, after = run_id_of(message), _position(message.page_token)
        return self._parts(run_id, message.metric_key, None, after)

    def bulk(self, message: GetHistoryBulk) -> Iterator[SeriesPart]:
        """One metric of many runs, by run id; `max_results` counts points of all runs together."""
        if not message.run_id:
            raise InvalidParameterValue("GetMetricHistoryBulk request must specify at least one run_id.")
        if not message.metric_key:
            raise InvalidParameterValue("GetMetricHistoryBulk request must specify a metric_key.")
        _check_runs(message.run_id, "GetMetricHistoryBulk", "run_ids")
        most = validation.HISTORY_BULK_POINTS_MAX
        wanted = (
            most
            if message.max_results is None
            else validation.check_max_results(message.max_results, 2**31 - 1)
        )
        return self._bulk(sorted(set(message.run_id)), message.metric_key, min(wanted, most))

    def _bulk(self, run_ids: Sequence[str], key: str, left: int) -> Iterator[SeriesPart]:
        for run_id in run_ids:
            for part in self._parts(run_id, key, left, None):
                left -= len(part.points)
                yield part
            if left <= 0:
                return

    def interval(self, message: GetHistoryBulkInterval) -> Iterator[SeriesPart]:
        """One metric of many runs, thinned to at most `max_results` points of each."""
        if not message.run_ids:
            raise missing("run_ids")
        _check_runs(message.run_ids, "GetMetricHistoryBulkInterval", "run_ids")
        limit = validation.INTERVAL_POINTS_MAX if message.max_results is None else message.max_results
        if not 1 <= limit <= validation.INTERVAL_POINTS_MAX:
            raise InvalidParameterValue(
                f"max_results must be between 1 and {validation.INTERVAL_POINTS_MAX}."
            )
        start, end = message.start_step, message.end_step
        if (start is None) != (end is None):
            raise InvalidParameterValue(
                "If either start step or end step are specified, both must be specified."
            )
        if start is not None and end is not None and start > end:
            raise InvalidParameterValue(
                f"end_step must be greater than start_step. Found start_step={start} and end_step={end}."
            )
        return self._interval(message, limit)

    def _interval(self, message: GetHistoryBulkInterval, limit: int) -> Iterator[SeriesPart]:
        for run_id in dict.fromkeys(message.run_ids):
            with self._database.read() as connection:
                points = sample(
                    connection,
                    run_id,
                    message.metric_key,
                    limit=limit,
                    start_step=message.start_step,
                    end_step=message.end_step,
                )
            yield SeriesPart(run_id, message.metric_key, points)

    def _parts(
        self, run_id: str, key: str, limit: int | None, after: Position | None
    ) -> Iterator[SeriesPart]:
        """Read part after part, each with a connection of its own: a slow reader must not hold one."""
        while limit is None or limit > 0:
            wanted = PART_POINTS if limit is None else min(PART_POINTS, limit)
            points = self._read(run_id, key, wanted, after)
            if len(points):
                yield SeriesPart(run_id, key, points)
            if len(points) < wanted:
                return
            after = _last(points)
            limit = None if limit is None else limit - len(points)

    def _read(self, run_id: str, key: str, limit: int, after: Position | None) -> Points:
        with self._database.read() as connection:
            return concatenate(list(history(connection, run_id, key, limit=limit, after=after)))


def _check_runs(run_ids: Sequence[str], request: str, noun: str) -> None:
    if len(run_ids) > validation.HISTORY_BULK_RUNS_MAX:
        raise InvalidParameterValue(
            f"{request} request cannot specify more than {validation.HISTORY_BULK_RUNS_MAX} {noun}. "
            f"Received {len(run_ids)} {noun}."
        )


def _last(points: Points) -> Position:
    return Position(int(points.timestamps_ms[-1]), int(points.steps[-1]), float(points.values[-1]))


def _position(token: str) -> Position | None:
    if not token:
        return None
    position = page_tokens.decode(_LISTING, token)
    match position:
        case [int(timestamp_ms), int(step), int() | float() as value]:
            return Position(timestamp_ms, step, float(value))
    raise page_tokens.invalid()
