"""MLflow's tracking messages: what requests hold, what answers look like, and the mapping to the model.

Requests are strict structs behind `protojson.Message`, which also reads everything protobuf's JSON allows.
Answers leave out what is unset or empty; ids are strings, 64-bit integers are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from contrail.model.errors import InvalidParameterValue
from contrail.model.tracking import (
    Dataset,
    DatasetInput,
    Experiment,
    Metric,
    Run,
    RunInfo,
    RunStatus,
    Tag,
    ViewType,
)
from contrail.wire.protojson import INT64_MAX, INT64_MIN, Message, invalid, missing, number

Required = Annotated[str, Meta(min_length=1)]
Int64 = Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX)]
Enum = str | int  # by name or by number


class Request(Struct, forbid_unknown_fields=True):
    """Base of all requests. Unknown fields leave the fast path only; the tolerant one ignores them."""


class OfRun(Request):
    """A request on one run; old clients call its id `run_uuid`."""

    run_id: str = ""
    run_uuid: str = ""


def run_id_of(request: OfRun) -> str:
    """The run that a request is about. Raises `InvalidParameterValue` when it names none."""
    found = request.run_id or request.run_uuid
    if not found:
        raise missing("run_id")
    return found


# ---------------------------------------------------------------- experiments


class KeyValue(Request, gc=False):
    """A tag or a param."""

    key: Required
    value: str = ""


class CreateExperiment(Request):
    """`POST experiments/create`."""

    name: Required
    artifact_location: str = ""
    tags: list[KeyValue] = []


class OfExperiment(Request):
    """`GET experiments/get`, `POST experiments/delete`, `POST experiments/restore`."""

    experiment_id: Required


class GetExperimentByName(Request):
    """`GET experiments/get-by-name`."""

    experiment_name: Required


class SearchExperiments(Request):
    """`POST|GET experiments/search`; `max_results` has no default on the wire."""

    max_results: Int64 = 0
    filter: str = ""
    order_by: list[str] = []
    view_type: Enum = ViewType.ACTIVE_ONLY.value
    page_token: str = ""


class UpdateExperiment(OfExperiment):
    """`POST experiments/update`."""

    new_name: Required


class SetExperimentTag(OfExperiment):
    """`POST experiments/set-experiment-tag`."""

    key: Required
    value: str = ""


class DeleteExperimentTag(OfExperiment):
    """`POST experiments/delete-experiment-tag`."""

    key: Required


# ---------------------------------------------------------------- runs


class CreateRun(OfRun):
    """`POST runs/create`. `run_id` counts only for writes that a node agent relays; others get a new id."""

    experiment_id: str = ""
    user_id: str = ""
    run_name: str = ""
    start_time: Int64 | None = None
    tags: list[KeyValue] = []


class UpdateRun(OfRun):
    """`POST runs/update`."""

    status: Enum | None = None
    end_time: Int64 | None = None
    run_name: str = ""


class SearchRuns(Request):
    """`POST runs/search`."""

    experiment_ids: list[str] = []
    filter: str = ""
    run_view_type: Enum = ViewType.ACTIVE_ONLY.value
    max_results: Int64 = 1000
    order_by: list[str] = []
    page_token: str = ""


class LogMetric(OfRun, kw_only=True, gc=False):
    """`POST runs/log-metric`."""

    key: Required
    value: float
    timestamp_ms: Int64 = field(name="timestamp")
    step: Int64 = 0
    model_id: str = ""
    dataset_name: str = ""
    dataset_digest: str = ""


class LogParam(OfRun, kw_only=True, gc=False):
    """`POST runs/log-parameter`."""

    key: Required
    value: str = ""


class SetTag(LogParam, kw_only=True, gc=False):
    """`POST runs/set-tag`."""


class DeleteTag(OfRun, kw_only=True):
    """`POST runs/delete-tag`."""

    key: Required


class Point(Request, gc=False):
    """One metric point of a batch."""

    key: Required
    value: float
    timestamp_ms: Int64 = field(name="timestamp")
    step: Int64 = 0
    model_id: str = ""
    dataset_name: str = ""
    dataset_digest: str = ""
    run_id: str = ""


class LogBatch(Request):
    """`POST runs/log-batch`; `run_uuid` is not accepted, as in MLflow."""

    run_id: Required
    metrics: list[Point] = []
    params: list[KeyValue] = []
    tags: list[KeyValue] = []


class DatasetMessage(Request):
    """A data set, on its way in."""

    name: Required
    digest: Required
    source_type: str = ""
    source: str = ""
    schema: str | None = None
    profile: str | None = None


class DatasetInputMessage(Request):
    """The use of a data set by a run."""

    dataset: DatasetMessage
    tags: list[KeyValue] = []


class ModelRef(Request):
    """A logged model that a run reads."""

    model_id: Required


class LogInputs(OfRun):
    """`POST runs/log-inputs`."""

    datasets: list[DatasetInputMessage] = []
    models: list[ModelRef] = []


class LogModel(OfRun, kw_only=True):
    """`POST runs/log-model`: a model of MLflow 2, described in JSON."""

    model_json: Required


# ---------------------------------------------------------------- metrics


class GetHistory(OfRun, kw_only=True):
    """`GET metrics/get-history`; without `max_results` everything is sent."""

    metric_key: Required
    max_results: Int64 | None = None
    page_token: str = ""


class GetHistoryBulk(Request):
    """`GET metrics/get-history-bulk`; here `run_id` repeats."""

    run_id: list[str] = []
    metric_key: str = ""
    max_results: Int64 | None = None


class GetHistoryBulkInterval(Request):
    """`GET metrics/get-history-bulk-interval`."""

    metric_key: Required
    run_ids: list[str] = []
    start_step: Int64 | None = None
    end_step: Int64 | None = None
    max_results: Int64 | None = None


class SearchDatasets(Request):
    """`POST experiments/search-datasets`."""

    experiment_ids: list[str] = []


# Writes by their path below /api/2.0/mlflow/: the ones a node agent may relay.
WRITES: dict[str, Message[Any]] = {
    "runs/create": Message(CreateRun),
    "runs/update": Message(UpdateRun),
    "runs/log-metric": Message(LogMetric),
    "runs/log-parameter": Message(LogParam),
    "runs/set-tag": Message(SetTag),
    "runs/delete-tag": Message(DeleteTag),
    "runs/log-batch": Message(LogBatch),
    "runs/log-inputs": Message(LogInputs),
}


# ---------------------------------------------------------------- from messages to the model


def experiment_id(text: str, name: str = "experiment_id") -> int:
    """An experiment id as a number. Raises `InvalidParameterValue` unless it is one that can exist."""
    try:
        found = int(text)
    except ValueError:
        raise InvalidParameterValue(
            f"Invalid experiment ID '{text[:100]}'. Experiment ID must be a valid integer ({name})."
        ) from None
    if not INT64_MIN <= found <= INT64_MAX:
        raise invalid(name, text, "It does not fit into 64 bits.")
    return found


def view_type(given: Enum, name: str) -> ViewType:
    """A view type by name or number."""
    return ViewType(_enum(given, name, ViewType))


def run_status(given: Enum) -> RunStatus:
    """A run status by name or number."""
    return RunStatus(_enum(given, "status", RunStatus))


def _enum(given: Enum, name: str, kind: type[ViewType] | type[RunStatus]) -> int:
    for member in kind:
        if given in (member.name, int(member)):
            return int(member)
    names = ", ".join(member.name for member in kind)
    raise invalid(name, given, f"It must be one of {names}.")


def tags_of(given: Iterable[KeyValue]) -> tuple[Tag, ...]:
    """Tags of a message as model tags; of equal keys the last one counts."""
    return tuple(Tag(key, value) for key, value in {tag.key: tag.value for tag in given}.items())


def metrics_of(points: Iterable[Point]) -> list[Metric]:
    """Points of a batch as metrics."""
    return [Metric(point.key, point.value, point.timestamp_ms, point.step) for point in points]


def inputs_of(given: Iterable[DatasetInputMessage]) -> tuple[DatasetInput, ...]:
    """Data set inputs of a message as the model has them."""
    return tuple(
        DatasetInput(
            Dataset(
                name=entry.dataset.name,
                digest=entry.dataset.digest,
                source_type=entry.dataset.source_type,
                source=entry.dataset.source,
                schema=entry.dataset.schema,
                profile=entry.dataset.profile,
            ),
            tags_of(entry.tags),
        )
        for entry in given
    )


# ---------------------------------------------------------------- answers


class Answer(Struct, omit_defaults=True):
    """Base of all answers: what is empty is left out."""


class TagAnswer(Struct, gc=False):
    """A tag or a param; an empty value is sent."""

    key: str
    value: str


class ExperimentAnswer(Answer):
    """An experiment."""

    experiment_id: str
    name: str
    artifact_location: str
    lifecycle_stage: str
    last_update_time: int
    creation_time: int
    workspace: str
    tags: list[TagAnswer] = []


class RunInfoAnswer(Answer):
    """What a run is."""

    run_uuid: str
    run_id: str
    experiment_id: str
    run_name: str
    user_id: str
    status: str
    start_time: int | UnsetType
    end_time: int | UnsetType
    artifact_uri: str
    lifecycle_stage: str


class MetricAnswer(Answer):
    """A point."""

    key: str
    value: float | str
    timestamp: int
    step: int
    run_id: str | UnsetType = UNSET


class RunDataAnswer(Answer):
    """Latest metrics, params and tags."""

    metrics: list[MetricAnswer] = []
    params: list[TagAnswer] = []
    tags: list[TagAnswer] = []


class DatasetAnswer(Answer):
    """A data set."""

    name: str
    digest: str
    source_type: str
    source: str
    schema: str | None = None
    profile: str | None = None


class DatasetInputAnswer(Answer):
    """A data set and the tags of its use."""

    dataset: DatasetAnswer
    tags: list[TagAnswer] = []


class InputsAnswer(Answer):
    """What a run read."""

    dataset_inputs: list[DatasetInputAnswer] = []


class OutputsAnswer(Answer):
    """What a run made; always empty until logged models are kept."""


class RunAnswer(Answer):
    """A run."""

    info: RunInfoAnswer
    data: RunDataAnswer
    inputs: InputsAnswer
    outputs: OutputsAnswer | UnsetType


class ExperimentCreated(Answer):
    """Answer of `experiments/create`."""

    experiment_id: str


class ExperimentFound(Answer):
    """Answer of `experiments/get` and `get-by-name`."""

    experiment: ExperimentAnswer


class ExperimentsFound(Answer):
    """Answer of `experiments/search`."""

    experiments: list[ExperimentAnswer] = []
    next_page_token: str = ""


class RunFound(Answer):
    """Answer of `runs/get` and `runs/create`."""

    run: RunAnswer


class RunUpdated(Answer):
    """Answer of `runs/update`."""

    run_info: RunInfoAnswer


class RunsFound(Answer):
    """Answer of `runs/search`."""

    runs: list[RunAnswer] = []
    next_page_token: str = ""


class MetricsFound(Answer):
    """Answer of `metrics/get-history-bulk-interval`."""

    metrics: list[MetricAnswer] = []


class DatasetSummary(Answer):
    """A data set of an experiment."""

    experiment_id: str
    name: str
    digest: str
    context: str = ""


class DatasetsFound(Answer):
    """Answer of `experiments/search-datasets`."""

    dataset_summaries: list[DatasetSummary] = []


class ServerInfo(Struct):
    """`GET /api/3.0/mlflow/server-info`: what clients may use beyond the plain API."""

    store_type: str = "SqlStore"
    workspaces_enabled: bool = False
    trace_archival_enabled: bool = False
    multipart_uploads_enabled: bool = False
    multipart_downloads_enabled: bool = False
    artifact_serving_enabled: bool = True
    tracking_auth: str = ""
    artifacts_presigned_only: bool = False


def experiment_answer(experiment: Experiment) -> ExperimentAnswer:
    """An experiment as MLflow's clients read it."""
    return ExperimentAnswer(
        experiment_id=str(experiment.experiment_id),
        name=experiment.name,
        artifact_location=experiment.artifact_location,
        lifecycle_stage=experiment.lifecycle.value,
        last_update_time=experiment.updated_ms,
        creation_time=experiment.created_ms,
        workspace="default",
        tags=[TagAnswer(tag.key, tag.value) for tag in experiment.tags],
    )


def run_info_answer(info: RunInfo) -> RunInfoAnswer:
    """A run's info as MLflow's clients read it."""
    return RunInfoAnswer(
        run_uuid=info.run_id,
        run_id=info.run_id,
        experiment_id=str(info.experiment_id),
        run_name=info.name,
        user_id=info.user_id,
        status=info.status.name,
        start_time=UNSET if info.start_ms is None else info.start_ms,
        end_time=UNSET if info.end_ms is None else info.end_ms,
        artifact_uri=info.artifact_uri,
        lifecycle_stage=info.lifecycle.value,
    )


def run_answer(run: Run, *, created: bool = False) -> RunAnswer:
    """A run as MLflow's clients read it; `created`: as the answer to its creation."""
    return RunAnswer(
        info=run_info_answer(run.info),
        data=RunDataAnswer(
            metrics=[MetricAnswer(m.key, number(m.value), m.timestamp_ms, m.step) for m in run.metrics],
            params=[TagAnswer(param.key, param.value) for param in run.params],
            tags=[TagAnswer(tag.key, tag.value) for tag in run.tags],
        ),
        inputs=InputsAnswer([_input_answer(entry) for entry in run.inputs]),
        outputs=UNSET if created else OutputsAnswer(),
    )


def _input_answer(entry: DatasetInput) -> DatasetInputAnswer:
    dataset = entry.dataset
    return DatasetInputAnswer(
        DatasetAnswer(
            name=dataset.name,
            digest=dataset.digest,
            source_type=dataset.source_type,
            source=dataset.source,
            schema=dataset.schema,
            profile=dataset.profile,
        ),
        [TagAnswer(tag.key, tag.value) for tag in entry.tags],
    )


def points_json(
    key: str, values: Sequence[float], timestamps: Sequence[int], steps: Sequence[int], run_id: str = ""
) -> bytes:
    """Points of one key as the inside of a JSON list. Columns in, text out: histories are long."""
    head = '{"key":' + msgspec.json.encode(key).decode() + ',"value":'
    tail = ',"run_id":' + msgspec.json.encode(run_id).decode() + "}" if run_id else "}"
    rows = (
        f'{head}{_value_json(value)},"timestamp":{timestamp},"step":{step}{tail}'
        for value, timestamp, step in zip(values, timestamps, steps, strict=True)
    )
    return ",".join(rows).encode()


def _value_json(value: float) -> str:
    return repr(value) if value - value == 0 else f'"{number(value)}"'
