"""Use cases on runs: creating, changing, and everything that is logged to them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from contrail.model.errors import InvalidParameterValue, NotImplementedHere, ResourceDoesNotExist
from contrail.model.tracking import Param, Run, RunInfo, RunStatus, Tag
from contrail.store import runs as store
from contrail.store.database import Database
from contrail.store.metrics import LogItem, log_items
from contrail.store.runs import RUN_NAME_TAG
from contrail.store.writer import Connection
from contrail.tracking.names import random_name
from contrail.wire import validation
from contrail.wire.tracking import (
    CreateRun,
    DeleteTag,
    KeyValue,
    LogBatch,
    LogInputs,
    LogMetric,
    LogModel,
    LogParam,
    OfRun,
    Point,
    SetTag,
    UpdateRun,
    experiment_id,
    inputs_of,
    run_id_of,
    run_status,
    tags_of,
)

T = TypeVar("T")

MODEL_HISTORY_TAG = "mlflow.log-model.history"
MODEL_HISTORY_MAX = 1_000_000  # characters; a list cannot be cut like other tags
MODEL_FIELDS = ("artifact_path", "flavors", "utc_time_created", "run_id")
TRUNCATED_TAG = "contrail.truncated"  # + .param.<key> or .tag.<key>: what was cut is said on the run


class Runs:
    """Creating, reading and writing runs."""

    def __init__(
        self,
        database: Database,
        now_ms: Callable[[], int],
        *,
        truncate: bool = True,
        choose: random.Random | None = None,
    ):
        self._database = database
        self._now_ms = now_ms
        self._truncate = truncate
        self._choose = choose or random.Random()  # noqa: S311 names need not be secret

    # ------------------------------------------------ whole runs

    def get(self, run_id: str) -> Run:
        """The run, deleted or not, with its data. Raises `ResourceDoesNotExist`."""
        with self._database.read() as connection:
            return store.get(connection, run_id)

    def create(
        self,
        experiment_id: int,
        name: str,
        user: str,
        tags: Sequence[Tag],
        start_ms: int | None,
        run_id: str | None = None,
    ) -> Run:
        """Create a run and wait until it is stored; with `run_id`, the run of that id if it exists already."""
        return self._create(experiment_id, name, user, tuple(tags), start_ms, run_id).result()

    def create_from(self, message: CreateRun) -> Future[Run]:
        """Create a run as a client asks for it; its id is always new."""
        return self._create_from(message, None)

    def create_relayed(self, message: CreateRun) -> Future[Run]:
        """Create a run under the id that a node agent gave it. Idempotent."""
        run_id = message.run_id or None
        if run_id is not None:
            validation.check_run_id(run_id)
        return self._create_from(message, run_id)

    def _create_from(self, message: CreateRun, run_id: str | None) -> Future[Run]:
        tags = self._created_tags(message.tags)
        named = next((tag.value for tag in tags if tag.key == RUN_NAME_TAG), "")
        if message.run_name and named and message.run_name != named:
            raise InvalidParameterValue(
                "Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different values "
                f"(run_name='{message.run_name}', mlflow.runName='{named}')."
            )
        name = message.run_name or named
        validation.check_length(name, "run_name", validation.TAG_VALUE_MAX)
        validation.check_text(message.user_id, "user_id")
        return self._create(
            experiment_id(message.experiment_id or "0"),
            name,
            message.user_id,
            tags,
            self._now_ms() if message.start_time is None else message.start_time,
            run_id,
        )

    def _created_tags(self, given: Iterable[KeyValue]) -> tuple[Tag, ...]:
        """Tags that come with a new run: MLflow checks no characters in their keys, so neither do we."""
        for tag in given:
            validation.check_length(tag.key, "tags.key", validation.KEY_MAX)
            validation.check_text(tag.value, "tags.value")
        fitted = [tag for entry in tags_of(given) for tag in self._fit("tag", entry.key, entry.value)]
        return tuple(fitted)

    def _create(
        self,
        experiment: int,
        name: str,
        user: str,
        tags: tuple[Tag, ...],
        start_ms: int | None,
        run_id: str | None,
    ) -> Future[Run]:
        now_ms, name = self._now_ms(), name or random_name(self._choose)

        def write(connection: Connection) -> Run:
            if run_id is not None:
                try:
                    return store.get(connection, run_id)
                except ResourceDoesNotExist:
                    pass
            return store.create(
                connection,
                experiment_id=experiment,
                name=name,
                user_id=user,
                start_ms=start_ms,
                tags=tags,
                run_uuid=run_id,
                now_ms=now_ms,
            )

        return self._write(write)

    def update(self, message: UpdateRun) -> Future[RunInfo]:
        """Change status, end time or name, whatever is given."""
        run_id = run_id_of(message)
        status = None if message.status is None else run_status(message.status)
        name = message.run_name or None
        validation.check_length(name, "run_name", validation.TAG_VALUE_MAX)
        return self._write(
            lambda c: store.update(c, run_id, status=status, end_ms=message.end_time, name=name)
        )

    def finish(self, run_id: str, status: RunStatus, end_ms: int) -> RunInfo:
        """Set the final state of a run and wait until it is stored."""
        return self._write(lambda c: store.update(c, run_id, status=status, end_ms=end_ms)).result()

    def delete(self, message: OfRun) -> Future[None]:
        """Move a run to the trash. Idempotent."""
        run_id, now_ms = run_id_of(message), self._now_ms()
        return self._write(lambda c: store.delete(c, run_id, now_ms))

    def restore(self, message: OfRun) -> Future[None]:
        """Take a run out of the trash. Idempotent."""
        run_id = run_id_of(message)
        return self._write(lambda c: store.restore(c, run_id))

    # ------------------------------------------------ what is logged

    def log_metric(self, message: LogMetric) -> Future[None]:
        """Log one point. The message itself has the shape of a point, so it is stored as it came."""
        run_id = message.run_id or run_id_of(message)
        validation.check_metric(message)
        return self._database.writer.submit_item(log_items, LogItem(run_id, (message,)))

    def log_param(self, message: LogParam) -> Future[None]:
        """Log one param."""
        return self._log(run_id_of(message), params=(KeyValue(key=message.key, value=message.value),))

    def set_tag(self, message: SetTag) -> Future[None]:
        """Set one tag."""
        return self._log(run_id_of(message), tags=(KeyValue(key=message.key, value=message.value),))

    def log_batch(self, message: LogBatch) -> Future[None]:
        """Log many points, params and tags: all of them or nothing."""
        validation.check_batch(message)
        if not message.params and not message.tags:
            return self._database.writer.submit_item(log_items, LogItem(message.run_id, message.metrics))
        return self._log(message.run_id, message.metrics, message.params, message.tags, batch=True)

    def _log(
        self,
        run_id: str,
        metrics: Sequence[Point] = (),
        params: Sequence[KeyValue] = (),
        tags: Sequence[KeyValue] = (),
        *,
        batch: bool = False,
    ) -> Future[None]:
        marks: list[Tag] = []
        fitted_params: list[Param] = []
        for index, param in enumerate(params):
            value = validation.fit_param(param, f"params[{index}]." if batch else "", truncate=self._truncate)
            fitted_params.append(Param(param.key, value))
            marks += _mark("param", param.key, param.value, value)
        fitted_tags: list[Tag] = []
        for index, tag in enumerate(tags):
            value = validation.fit_tag(tag, f"tags[{index}]." if batch else "", truncate=self._truncate)
            fitted_tags.append(Tag(tag.key, value))
            marks += _mark("tag", tag.key, tag.value, value)
        item = LogItem(run_id, metrics, fitted_params, [*fitted_tags, *marks])
        return self._database.writer.submit_item(log_items, item)

    def _fit(self, kind: str, key: str, value: str) -> list[Tag]:
        fitted = value[: validation.TAG_VALUE_MAX] if self._truncate else value
        validation.check_length(fitted, f"{kind}s.value", validation.TAG_VALUE_MAX)
        return [Tag(key, fitted), *_mark(kind, key, value, fitted)]

    def delete_tag(self, message: DeleteTag) -> Future[None]:
        """Remove one tag."""
        run_id = run_id_of(message)
        return self._write(lambda c: store.delete_tag(c, run_id, message.key))

    def log_inputs(self, message: LogInputs) -> Future[None]:
        """Attach data sets to a run."""
        run_id = run_id_of(message)
        validation.check_run_id(run_id)
        if message.models:
            raise NotImplementedHere("Logged models are not kept by this server yet; log data sets only")
        validation.check_inputs(message.datasets)
        inputs = inputs_of(message.datasets)
        return self._write(lambda c: store.log_inputs(c, run_id, inputs))

    def log_model(self, message: LogModel) -> Future[None]:
        """Append a model's description to the tag in which MLflow keeps them."""
        run_id, model = run_id_of(message), _model_info(message.model_json)

        def write(connection: Connection) -> None:
            tags = {tag.key: tag.value for tag in store.get(connection, run_id).tags}
            known = json.loads(tags.get(MODEL_HISTORY_TAG, "[]"))
            value = json.dumps([*known, model])
            validation.check_length(value, MODEL_HISTORY_TAG, MODEL_HISTORY_MAX)
            (failure,) = log_items(connection, [LogItem(run_id, tags=[Tag(MODEL_HISTORY_TAG, value)])])
            if failure is not None:
                raise failure

        return self._write(write)

    def _write(self, write: Callable[[Connection], T]) -> Future[T]:
        return self._database.writer.submit(write)


def _model_info(text: str) -> dict[str, Any]:
    try:
        model = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidParameterValue(
            f"Malformed model info. \n {text[:200]} \n is not a valid JSON."
        ) from None
    if not isinstance(model, dict):
        raise InvalidParameterValue("Malformed model info: 'model_json' must be a JSON object.")
    absent = [name for name in MODEL_FIELDS if name not in model]
    if absent:
        raise InvalidParameterValue(f"Model json is missing mandatory fields: {', '.join(absent)}")
    return model


def _mark(kind: str, key: str, given: str, stored: str) -> list[Tag]:
    """The tag that says that a value was cut; none when it was not."""
    if len(given) == len(stored):
        return []
    name = f"{TRUNCATED_TAG}.{kind}.{key}"[: validation.KEY_MAX]
    return [Tag(name, f"{len(given)} characters, cut to {len(stored)}")]
