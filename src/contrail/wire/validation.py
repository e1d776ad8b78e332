"""What may be logged: MLflow's limits and wording, checked before anything is stored.

The server and the node agent use the same checks, so an agent refuses on the spot what the server would.
All functions raise `InvalidParameterValue` and change nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from contrail.model.errors import InvalidParameterValue
from contrail.wire.protojson import invalid
from contrail.wire.tracking import DatasetInputMessage, KeyValue, LogBatch, LogMetric, Point

EXPERIMENT_NAME_MAX = 500
ARTIFACT_LOCATION_MAX = 2048
EXPERIMENT_TAG_VALUE_MAX = 20_000
KEY_MAX = 250
PARAM_VALUE_MAX = 6_000
TAG_VALUE_MAX = 8_000
DATASET_MAX = {
    "name": 500,
    "digest": 36,
    "source_type": 36,
    "source": 65_535,
    "schema": 1_048_575,
    "profile": 16_777_215,
}
INPUT_TAG_KEY_MAX, INPUT_TAG_VALUE_MAX = 255, 500
BATCH_METRICS_MAX, BATCH_PARAMS_MAX, BATCH_TAGS_MAX, BATCH_MAX = 1000, 100, 100, 1000
SEARCH_RESULTS_MAX = 50_000
HISTORY_BULK_RUNS_MAX, HISTORY_BULK_POINTS_MAX = 100, 25_000
INTERVAL_POINTS_MAX = 2_500
SEARCH_DATASETS_EXPERIMENTS_MAX = 20

_KEY = re.compile(r"[/\w.\- :]*")
_RUN_ID = re.compile(r"[a-zA-Z0-9][\w\-]{0,255}", re.ASCII)
_BAD_CHARACTERS = (
    "Names may only contain alphanumerics, underscores (_), dashes (-), periods (.), spaces ( ), "
    "colon(:) and slashes (/)."
)
_BAD_PATH = (
    "Names may be treated as files in certain cases, and must not resolve to other names when treated as such. "
    "This name would resolve to "
)


def too_long(field: str, limit: int) -> InvalidParameterValue:
    """The error for a text above its limit."""
    return InvalidParameterValue(f"'{field}' exceeds the maximum length of {limit} characters")


@lru_cache(maxsize=65_536)  # the same keys come with every step
def _key_problem(key: str) -> str | None:
    if not _KEY.fullmatch(key):
        return _BAD_CHARACTERS
    resolved = posixpath.normpath(key)
    if resolved != key or key == "." or key.startswith(("..", "/")):
        return f"{_BAD_PATH}'{resolved}'"
    return None


def check_key(key: str, field: str, noun: str | None = None) -> None:
    """A metric, param or tag key is a relative path of plain characters, at most 250 of them."""
    if len(key) > KEY_MAX:
        raise too_long(noun or field, KEY_MAX)
    problem = _key_problem(key)
    if problem is not None:
        raise invalid(field, key, problem)


def check_text(value: str, field: str) -> None:
    """Stored texts hold no NUL: not every database can keep it."""
    if "\0" in value:
        raise invalid(field, value, "It holds a NUL character.")


def check_length(value: str | None, field: str, limit: int) -> None:
    """A text that may not be longer than `limit`."""
    if value is not None:
        if len(value) > limit:
            raise too_long(field, limit)
        check_text(value, field)


# ---------------------------------------------------------------- experiments


def check_experiment_name(name: str) -> None:
    """1 to 500 characters, not all blank."""
    if not name.strip():
        raise InvalidParameterValue(f"Invalid experiment name: '{name}'")
    check_length(name, "name", EXPERIMENT_NAME_MAX)


def check_artifact_location(location: str) -> None:
    """A place for artifacts: no tricks with queries and fragments, and no way out of the root."""
    if len(location) > ARTIFACT_LOCATION_MAX:
        raise InvalidParameterValue(
            f"Invalid artifact path length: 'artifact_location' is longer than {ARTIFACT_LOCATION_MAX} characters."
        )
    check_text(location, "artifact_location")
    try:
        parts = urlsplit(location)
    except ValueError as error:
        raise invalid("artifact_location", location, f"It is not a URL: {error}.") from None
    if parts.scheme == "runs":
        raise InvalidParameterValue(f"Artifact location cannot be a runs:/ URI. Given: '{location}'")
    if parts.fragment or ";" in location:
        raise InvalidParameterValue("'artifact_location' URL can't include fragments or params.")
    if "?" in location:
        raise InvalidParameterValue("'artifact_location' URL can't include a query string.")
    if ".." in unquote(unquote(parts.path)).replace("\\", "/").split("/"):
        raise invalid("artifact_location", location, "Its path leads out of the artifact root.")


def check_experiment_tag(tag: KeyValue, field: str = "") -> None:
    """Experiment tags may be long, and are refused rather than cut."""
    prefix = f"{field}." if field else ""
    check_key(tag.key, f"{prefix}key")
    check_length(tag.value, f"{prefix}value", EXPERIMENT_TAG_VALUE_MAX)


# ---------------------------------------------------------------- runs


def check_run_id(run_id: str) -> None:
    """The form of a run id, for requests that name a run to be made or written to."""
    if not _RUN_ID.fullmatch(run_id):
        raise InvalidParameterValue(f"Invalid value \"{run_id[:300]}\" for parameter 'run_id' supplied.")


def check_metric(metric: LogMetric | Point, path: str = "") -> None:
    """Key, time and the two halves of a data set reference."""
    check_key(metric.key, f"{path}name", "Metric name")
    if metric.timestamp_ms < 0:
        raise invalid(
            f"{path}timestamp",
            metric.timestamp_ms,
            f"metric '{metric.key}' (value={metric.value}). Timestamp must be a nonnegative long (64-bit integer).",
        )
    if bool(metric.dataset_name) != bool(metric.dataset_digest):
        raise InvalidParameterValue(
            "Both dataset_name and dataset_digest must be provided if one is provided"
        )


def fit_param(param: KeyValue, path: str, *, truncate: bool) -> str:
    """The value of a param as it is stored: cut at the limit, or refused."""
    check_key(param.key, f"{path}key", "Param key")
    return _fit(param.value, f"{path}value", PARAM_VALUE_MAX, truncate=truncate)


def fit_tag(tag: KeyValue, path: str, *, truncate: bool) -> str:
    """The value of a run tag as it is stored: cut at the limit, or refused."""
    check_key(tag.key, f"{path}key")
    return _fit(tag.value, f"{path}value", TAG_VALUE_MAX, truncate=truncate)


def _fit(value: str, field: str, limit: int, *, truncate: bool) -> str:
    check_text(value, field)
    if len(value) <= limit:
        return value
    if not truncate:
        raise too_long(field, limit)
    return value[:limit]


def check_batch(batch: LogBatch) -> None:
    """The whole batch, before any of it is stored. Values are fitted later."""
    check_run_id(batch.run_id)
    _check_counts(batch)
    for index, metric in enumerate(batch.metrics):
        # The checks of `check_metric`, spelled out: a thousand points come at once.
        if (
            len(metric.key) > KEY_MAX
            or metric.timestamp_ms < 0
            or _key_problem(metric.key)
            or metric.dataset_name
        ):
            check_metric(metric, f"metrics[{index}].")
        elif metric.run_id and metric.run_id != batch.run_id:
            raise invalid(f"metrics[{index}].run_id", metric.run_id, f"The batch is for run {batch.run_id}.")
    _check_distinct([param.key for param in batch.params])


def _check_counts(batch: LogBatch) -> None:
    metrics, params, tags = len(batch.metrics), len(batch.params), len(batch.tags)
    for noun, count, limit in (
        ("metrics", metrics, BATCH_METRICS_MAX),
        ("params", params, BATCH_PARAMS_MAX),
        ("tags", tags, BATCH_TAGS_MAX),
        ("metrics, params, and tags", metrics + params + tags, BATCH_MAX),
    ):
        if count > limit:
            raise InvalidParameterValue(
                f"A batch logging request can contain at most {limit} {noun}. Got {count} {noun}. "
                f"Please split up {noun} across multiple requests and try again."
            )


def _check_distinct(keys: Sequence[str]) -> None:
    if len(set(keys)) != len(keys):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise InvalidParameterValue(
            f"Duplicate parameter keys have been submitted: {twice}. "
            "Please ensure the request contains only one param value per param key."
        )


def check_inputs(inputs: Iterable[DatasetInputMessage]) -> None:
    """Lengths of data sets and of the tags of their use."""
    for entry in inputs:
        for name, limit in DATASET_MAX.items():
            check_length(getattr(entry.dataset, name), name, limit)
        for tag in entry.tags:
            check_length(tag.key, "key", INPUT_TAG_KEY_MAX)
            check_length(tag.value, "value", INPUT_TAG_VALUE_MAX)


# ---------------------------------------------------------------- searches


def check_max_results(given: int, limit: int, field: str = "max_results") -> int:
    """How much a page may hold."""
    if given <= 0:
        raise InvalidParameterValue(
            f"Invalid value {given} for parameter '{field}' supplied. It must be a positive integer"
        )
    if given > limit:
        raise InvalidParameterValue(
            f"Invalid value {given} for parameter '{field}' supplied. It must be at most {limit}"
        )
    return given
