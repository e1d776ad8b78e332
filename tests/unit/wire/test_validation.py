"""What may be logged: limits and the wording of refusals."""

from __future__ import annotations

import pytest

from contrail.model.errors import InvalidParameterValue
from contrail.wire import validation
from contrail.wire.tracking import KeyValue, LogBatch, LogMetric, Point


def point(key: str = "m", **fields: int) -> Point:
    return Point(key=key, value=1.0, timestamp_ms=fields.get("timestamp", 1), step=fields.get("step", 0))


@pytest.mark.parametrize(
    "key", ["a", "a/b", "a.b", "a b", "a:b", "a-b", "손실", "..a", "a..b", "k" * 250, "a" + "/b" * 100]
)
def test_plain_relative_keys_are_fine(key: str) -> None:
    """Letters of every script, digits, and _ - . : / and space."""
    if key.startswith(".."):
        with pytest.raises(InvalidParameterValue):
            validation.check_key(key, "key")
    else:
        validation.check_key(key, "key")


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("a,b", "alphanumerics"),
        ("🚀", "alphanumerics"),
        ("a\nb", "alphanumerics"),
        ("a\n", "alphanumerics"),
        ("../x", "must not resolve"),
        ("/x", "must not resolve"),
        ("a//b", "must not resolve"),
        ("a/", "must not resolve"),
        ("a/../b", "must not resolve"),
        (".", "must not resolve"),
        ("k" * 251, "maximum length of 250"),
    ],
)
def test_keys_that_could_be_other_paths_are_refused(key: str, why: str) -> None:
    """Keys may become file names; none may lead elsewhere."""
    with pytest.raises(InvalidParameterValue, match=why):
        validation.check_key(key, "key")


def test_a_time_before_1970_is_refused() -> None:
    """A negative timestamp is a client's mistake."""
    with pytest.raises(InvalidParameterValue, match="nonnegative"):
        validation.check_metric(LogMetric(run_id="r", key="m", value=1, timestamp_ms=-5))


def test_a_data_set_needs_both_name_and_digest() -> None:
    """One without the other names no data set."""
    with pytest.raises(InvalidParameterValue, match="Both dataset_name and dataset_digest"):
        validation.check_metric(LogMetric(run_id="r", key="m", value=1, timestamp_ms=1, dataset_name="d"))


@pytest.mark.parametrize(
    ("counts", "noun"),
    [
        ((1001, 0, 0), "1000 metrics"),
        ((0, 101, 0), "100 params"),
        ((0, 0, 101), "100 tags"),
        ((901, 100, 0), "1000 metrics, params, and tags"),
    ],
)
def test_a_batch_has_limits(counts: tuple[int, int, int], noun: str) -> None:
    """1,000 metrics, 100 params, 100 tags, 1,000 together; the error says which and how many."""
    metrics, params, tags = counts
    batch = LogBatch(
        run_id="r",
        metrics=[point() for _ in range(metrics)],
        params=[KeyValue(key=f"p{i}") for i in range(params)],
        tags=[KeyValue(key=f"t{i}") for i in range(tags)],
    )
    with pytest.raises(InvalidParameterValue, match=f"at most {noun}. Got"):
        validation.check_batch(batch)


def test_a_full_batch_is_fine() -> None:
    """Right at the limits."""
    validation.check_batch(
        LogBatch(
            run_id="r",
            metrics=[point() for _ in range(900)],
            params=[KeyValue(key=f"p{i}") for i in range(100)],
        )
    )


def test_a_bad_point_in_a_batch_is_named() -> None:
    """By its place."""
    with pytest.raises(InvalidParameterValue, match=r"metrics\[1\]\.name"):
        validation.check_batch(LogBatch(run_id="r", metrics=[point(), point("b,d")]))
    with pytest.raises(InvalidParameterValue, match=r"metrics\[0\]\.timestamp"):
        validation.check_batch(LogBatch(run_id="r", metrics=[point(timestamp=-1)]))


def test_a_param_comes_once_per_batch() -> None:
    """Even with equal values."""
    with pytest.raises(InvalidParameterValue, match=r"Duplicate parameter keys have been submitted: \['d'\]"):
        validation.check_batch(LogBatch(run_id="r", params=[KeyValue(key="d"), KeyValue(key="d")]))


@pytest.mark.parametrize("run_id", ["", "bad id!", "a/b", "한글", "x" * 257, "-a"])
def test_a_run_id_has_a_form(run_id: str) -> None:
    """Run ids become folder names."""
    with pytest.raises(InvalidParameterValue, match="run_id"):
        validation.check_run_id(run_id)


def test_long_values_are_cut_or_refused() -> None:
    """As the setting says."""
    param = KeyValue(key="p", value="x" * 6001)
    assert len(validation.fit_param(param, "", truncate=True)) == 6000
    with pytest.raises(InvalidParameterValue, match="maximum length of 6000"):
        validation.fit_param(param, "", truncate=False)
    assert len(validation.fit_tag(KeyValue(key="t", value="x" * 9000), "", truncate=True)) == 8000


@pytest.mark.parametrize(
    "location",
    [
        "s3://b/p#x",
        "s3://b/p?x=../../etc",
        "s3://b/p?region=x",
        "s3://b/p;x",
        "runs:/abc/model",
        "s3://b/" + "p" * 2042,
        "mlflow-artifacts:/../../etc",
        "mlflow-artifacts:/%2e%2e/etc",
        "s3://b/..\\x",
        "http://[bad",
        "s3://b/\0",
    ],
)
def test_a_location_has_no_tricks(location: str) -> None:
    """No fragments, params, climbing paths or run references."""
    with pytest.raises(InvalidParameterValue):
        validation.check_artifact_location(location)


@pytest.mark.parametrize("name", [" ", "\t\n", "x" * 501, "a\0b"])
def test_an_experiment_needs_a_name(name: str) -> None:
    """Not blank, not endless."""
    with pytest.raises(InvalidParameterValue):
        validation.check_experiment_name(name)
