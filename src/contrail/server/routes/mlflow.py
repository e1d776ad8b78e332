"""MLflow's tracking API: every path with its message and its use case, and the few that are not JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from contrail import __version__
from contrail.model.tracking import Experiment, Run, RunInfo
from contrail.server.errors import JSON
from contrail.server.rpc import Read, Rpc, Write
from contrail.tracking import Tracking
from contrail.tracking.metrics import SeriesPart
from contrail.wire import tracking as wire
from contrail.wire.protojson import Message

if TYPE_CHECKING:
    from contrail.server.services import Services

PREFIXES = ("/api/2.0/mlflow/", "/ajax-api/2.0/mlflow/")
_encode = msgspec.json.Encoder().encode
_OF_EXPERIMENT, _OF_RUN = Message(wire.OfExperiment), Message(wire.OfRun)


def table(services: Services) -> dict[tuple[str, str], Rpc]:
    """All JSON endpoints of MLflow's tracking API, under both prefixes."""
    entries = {**_experiments(services.tracking), **_runs(services.tracking), **_metrics(services.tracking)}
    return {(method, prefix + path): rpc for (method, path), rpc in entries.items() for prefix in PREFIXES}


def routes(_services: Services) -> list[Route]:
    """Health, version and what clients ask about the server."""
    return [
        Route("/health", _health),
        Route("/version", _version),
        *[Route(f"{prefix}/3.0/mlflow/server-info", _server_info) for prefix in ("/api", "/ajax-api")],
    ]


async def _health(_request: Request) -> Response:
    return PlainTextResponse("OK")


async def _version(_request: Request) -> Response:
    return PlainTextResponse(__version__)


async def _server_info(_request: Request) -> Response:
    return Response(_encode(wire.ServerInfo()), media_type=JSON)


# ---------------------------------------------------------------- experiments


def _experiments(tracking: Tracking) -> dict[tuple[str, str], Rpc]:
    experiments = tracking.experiments
    search = Read(Message(wire.SearchExperiments), lambda m: _experiments_found(*experiments.search(m)))
    by_name = Message(wire.GetExperimentByName)
    return {
        ("POST", "experiments/create"): Write(
            Message(wire.CreateExperiment),
            experiments.create,
            lambda made: _encode(wire.ExperimentCreated(str(made))),
        ),
        ("GET", "experiments/get"): Read(_OF_EXPERIMENT, lambda m: _experiment_found(experiments.get(m))),
        ("GET", "experiments/get-by-name"): Read(
            by_name, lambda m: _experiment_found(experiments.get_by_name(m.experiment_name))
        ),
        ("POST", "experiments/search"): search,
        ("GET", "experiments/search"): search,
        ("POST", "experiments/update"): Write(Message(wire.UpdateExperiment), experiments.rename),
        ("POST", "experiments/delete"): Write(_OF_EXPERIMENT, experiments.delete),
        ("POST", "experiments/restore"): Write(_OF_EXPERIMENT, experiments.restore),
        ("POST", "experiments/set-experiment-tag"): Write(
            Message(wire.SetExperimentTag), experiments.set_tag
        ),
        ("POST", "experiments/delete-experiment-tag"): Write(
            Message(wire.DeleteExperimentTag), experiments.delete_tag
        ),
        ("POST", "experiments/search-datasets"): Read(
            Message(wire.SearchDatasets), lambda m: _datasets_found(tracking, m)
        ),
    }


def _experiment_found(experiment: Experiment) -> bytes:
    return _encode(wire.ExperimentFound(wire.experiment_answer(experiment)))


def _experiments_found(found: Iterable[Experiment], token: str | None) -> bytes:
    return _encode(wire.ExperimentsFound([wire.experiment_answer(one) for one in found], token or ""))


def _datasets_found(tracking: Tracking, message: wire.SearchDatasets) -> bytes:
    return _encode(
        wire.DatasetsFound(
            [
                wire.DatasetSummary(str(one.experiment_id), one.name, one.digest, one.context or "")
                for one in tracking.search.datasets(message)
            ]
        )
    )


# ---------------------------------------------------------------- runs


def _runs(tracking: Tracking) -> dict[tuple[str, str], Rpc]:
    runs, writes = tracking.runs, wire.WRITES
    return {
        ("POST", "runs/create"): Write(writes["runs/create"], runs.create_from, _run_created),
        ("GET", "runs/get"): Read(_OF_RUN, lambda m: _run_found(runs.get(wire.run_id_of(m)))),
        ("POST", "runs/update"): Write(writes["runs/update"], runs.update, _run_updated),
        ("POST", "runs/delete"): Write(_OF_RUN, runs.delete),
        ("POST", "runs/restore"): Write(_OF_RUN, runs.restore),
        ("POST", "runs/search"): Read(
            Message(wire.SearchRuns), lambda m: _runs_found(*tracking.search.runs(m))
        ),
        ("POST", "runs/log-metric"): Write(writes["runs/log-metric"], runs.log_metric),
        ("POST", "runs/log-parameter"): Write(writes["runs/log-parameter"], runs.log_param),
        ("POST", "runs/set-tag"): Write(writes["runs/set-tag"], runs.set_tag),
        ("POST", "runs/delete-tag"): Write(writes["runs/delete-tag"], runs.delete_tag),
        ("POST", "runs/log-batch"): Write(writes["runs/log-batch"], runs.log_batch),
        ("POST", "runs/log-inputs"): Write(writes["runs/log-inputs"], runs.log_inputs),
        ("POST", "runs/log-model"): Write(Message(wire.LogModel), runs.log_model),
    }


def _run_found(run: Run) -> bytes:
    return _encode(wire.RunFound(wire.run_answer(run)))


def _run_created(run: Run) -> bytes:
    return _encode(wire.RunFound(wire.run_answer(run, created=True)))


def _run_updated(info: RunInfo) -> bytes:
    return _encode(wire.RunUpdated(wire.run_info_answer(info)))


def _runs_found(found: Iterable[Run], token: str | None) -> bytes:
    return _encode(wire.RunsFound([wire.run_answer(run) for run in found], token or ""))


# ---------------------------------------------------------------- metrics


def _metrics(tracking: Tracking) -> dict[tuple[str, str], Rpc]:
    metrics = tracking.metrics

    def history(message: wire.GetHistory) -> bytes | Iterator[bytes]:
        if message.max_results is None:
            return _stream(metrics.all(message))
        part, token = metrics.page(message)
        return _points_found([part], token)

    return {
        ("GET", "metrics/get-history"): Read(Message(wire.GetHistory), history),
        ("GET", "metrics/get-history-bulk"): Read(
            Message(wire.GetHistoryBulk), lambda m: _stream(metrics.bulk(m), with_run=True)
        ),
        ("GET", "metrics/get-history-bulk-interval"): Read(
            Message(wire.GetHistoryBulkInterval), lambda m: _stream(metrics.interval(m), with_run=True)
        ),
    }


def _points(part: SeriesPart, *, with_run: bool) -> bytes:
    points = part.points
    return wire.points_json(
        part.key,
        points.values.tolist(),
        points.timestamps_ms.tolist(),
        points.steps.tolist(),
        part.run_id if with_run else "",
    )


def _points_found(parts: list[SeriesPart], token: str | None) -> bytes:
    inside = b",".join(filter(None, (_points(part, with_run=False) for part in parts)))
    if not inside:
        return b"{}"
    end = b"" if token is None else b',"next_page_token":' + _encode(token)
    return b'{"metrics":[' + inside + b"]" + end + b"}"


def _stream(parts: Iterator[SeriesPart], *, with_run: bool = False) -> bytes | Iterator[bytes]:
    """The answer: whole when it is short, else part by part. Without any point it is `{}`."""
    texts = (text for part in parts if (text := _points(part, with_run=with_run)))
    first, second = next(texts, b""), next(texts, b"")
    if not second:
        return b'{"metrics":[' + first + b"]}" if first else b"{}"
    return _long(first, second, texts)


def _long(first: bytes, second: bytes, texts: Iterator[bytes]) -> Iterator[bytes]:
    yield b'{"metrics":[' + first
    yield b"," + second
    for text in texts:
        yield b"," + text
    yield b"]}"
