"""Decoding of requests: everything protobuf's JSON allows, and nothing half-parsed."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrail.model.errors import InvalidParameterValue
from contrail.wire.protojson import Message, number
from contrail.wire.tracking import (
    WRITES,
    CreateExperiment,
    GetHistory,
    LogBatch,
    LogMetric,
    SearchRuns,
    UpdateRun,
    points_json,
    run_status,
    view_type,
)

METRIC, BATCH = Message(LogMetric), Message(LogBatch)


def metric(**fields: Any) -> bytes:
    """A log-metric body; a field that is `...` is left out."""
    body = {"run_id": "r", "key": "m", "value": 1.0, "timestamp": 5, **fields}
    return json.dumps({name: value for name, value in body.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0.5, 0.5), (3, 3.0), ("0.5", 0.5), ("-1e3", -1000.0), ("Infinity", math.inf), ("-Infinity", -math.inf)],
)
def test_a_double_may_be_a_number_or_a_text(given: object, expected: float) -> None:
    """As protobuf's JSON has it."""
    assert METRIC.decode(metric(value=given)).value == expected


@pytest.mark.parametrize("literal", ["NaN", '"NaN"'])
def test_nan_is_nan_however_it_is_written(literal: str) -> None:
    """A bare NaN means what it says; it is not stored as 0."""
    body = f'{{"run_id":"r","key":"m","value":{literal},"timestamp":1}}'.encode()
    assert math.isnan(METRIC.decode(body).value)


@pytest.mark.parametrize(("literal", "expected"), [("Infinity", math.inf), ("-Infinity", -math.inf)])
def test_a_bare_infinity_is_one(literal: str, expected: float) -> None:
    """Python's own JSON writes infinities like this."""
    body = f'{{"run_id":"r","key":"m","value":{literal},"timestamp":1}}'.encode()
    assert METRIC.decode(body).value == expected


@pytest.mark.parametrize(("given", "expected"), [(7, 7), ("7", 7), (5.0, 5), ("1e+05", 100_000), ("-3", -3)])
def test_an_integer_may_be_a_text_or_a_whole_float(given: object, expected: int) -> None:
    """R sends every number as text."""
    assert METRIC.decode(metric(step=given)).step == expected


@pytest.mark.parametrize("exact", [2**53 + 1, 2**63 - 1, -(2**63), str(2**53 + 1)])
def test_large_integers_are_exact(exact: object) -> None:
    """No integer goes through a double on its way."""
    assert METRIC.decode(metric(step=exact)).step == int(exact)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("step", 1.5),
        ("step", 2**63),
        ("step", -(2**63) - 1),
        ("step", "abc"),
        ("step", True),
        ("step", [1]),
        ("step", "1" * 500),
        ("timestamp", "5.5"),
        ("timestamp", {}),
        ("value", "abc"),
        ("value", "inf"),
        ("value", "1_0"),
        ("value", True),
        ("value", [1]),
        ("value", 10**400),
        ("key", 5),
        ("key", ["m"]),
        ("run_id", 5),
    ],
)
def test_a_wrong_value_is_refused_by_name(field: str, value: object) -> None:
    """The error names the field; nothing becomes 0."""
    with pytest.raises(InvalidParameterValue, match=f"'{field}'"):
        METRIC.decode(metric(**{field: value}))


def test_a_number_beyond_double_is_no_infinity() -> None:
    """1e400 is a mistake, not a value."""
    with pytest.raises(InvalidParameterValue, match="'value'"):
        METRIC.decode(b'{"run_id":"r","key":"m","value":1e400,"timestamp":1}')


@pytest.mark.parametrize("field", ["key", "value", "timestamp"])
@pytest.mark.parametrize("absent", [..., None])
def test_a_required_field_must_be_there(field: str, absent: object) -> None:
    """Absent and null are the same."""
    with pytest.raises(InvalidParameterValue, match=f"Missing value for required parameter '{field}'"):
        METRIC.decode(metric(**{field: absent}))


def test_an_empty_required_text_counts_as_missing() -> None:
    """As in MLflow."""
    with pytest.raises(InvalidParameterValue, match="Missing value for required parameter 'key'"):
        METRIC.decode(metric(key=""))


def test_nested_errors_name_the_place() -> None:
    """In a batch of a thousand one wants to know which."""
    body = {
        "run_id": "r",
        "metrics": [{"key": "a", "value": 1, "timestamp": 1}, {"key": "b", "timestamp": 1}],
    }
    with pytest.raises(InvalidParameterValue, match=r"'metrics\[1\]\.value'"):
        BATCH.decode(json.dumps(body).encode())
    with pytest.raises(InvalidParameterValue, match=r"'metrics\[0\]'"):
        BATCH.decode(b'{"run_id":"r","metrics":["x"]}')
    with pytest.raises(InvalidParameterValue, match="'metrics'"):
        BATCH.decode(b'{"run_id":"r","metrics":{"key":"x"}}')


def test_camel_case_is_the_same_field() -> None:
    """Both spellings are read, but not at once: which one would count?"""
    message = Message(CreateExperiment)
    assert message.decode(b'{"name":"a","artifactLocation":"s3://b"}').artifact_location == "s3://b"
    with pytest.raises(InvalidParameterValue, match="both 'artifact_location' and 'artifactLocation'"):
        message.decode(b'{"name":"a","artifactLocation":"s3://b","artifact_location":"s3://c"}')


def test_unknown_fields_and_nulls_are_ignored() -> None:
    """Newer clients send fields that this server does not know."""
    found = BATCH.decode(b'{"run_id":"r","metrics":null,"future":{"a":[1]},"tags":[{"key":"k","more":1}]}')
    assert found.metrics == []
    assert [(tag.key, tag.value) for tag in found.tags] == [("k", "")]


def test_a_body_inside_a_string_is_decoded_twice() -> None:
    """Old clients encode twice."""
    assert METRIC.decode(json.dumps(metric().decode()).encode()).key == "m"


@pytest.mark.parametrize("body", [b"", b"  ", b"null", b'""', b'"null"', b"{}"])
def test_an_empty_body_is_an_empty_message(body: bytes) -> None:
    """Whatever way it is empty."""
    assert Message(SearchRuns).decode(body) == SearchRuns()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"run_id": ', "not valid JSON"),
        (b"\xff\xfe", "not valid UTF-8"),
        (b'{"key":"\xff"}', "not valid UTF-8"),
        (b"[1,2]", "must be a JSON object, not a list"),
        (b"5", "must be a JSON object, not a number"),
        (b"true", "must be a JSON object, not a boolean"),
        (b'"[]"', "must be a JSON object"),
        (b'"\\"x\\""', "must be a JSON object"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"step":' + b"1" * 5000 + b"}", "not valid JSON"),
        (b'{"run_id":"r","key":"\\ud800","value":1,"timestamp":1}', "surrogate"),
    ],
)
def test_a_body_that_is_no_message_is_refused(body: bytes, why: str) -> None:
    """In words, whatever it is."""
    with pytest.raises(InvalidParameterValue, match=why):
        METRIC.decode(body)


def test_a_query_string_is_read_like_a_body() -> None:
    """Numbers come as text there, and lists by repetition."""
    message = Message(GetHistory)
    found = message.from_query(
        {"runUuid": ["old", "new"], "metric_key": ["m"], "max_results": ["7"], "x": ["1"]}
    )
    assert (found.run_uuid, found.metric_key, found.max_results) == ("new", "m", 7)
    listed = Message(SearchRuns).from_query({"experiment_ids": ["1", "2"]})
    assert listed.experiment_ids == ["1", "2"]
    with pytest.raises(InvalidParameterValue, match="'max_results'"):
        message.from_query({"run_id": ["r"], "metric_key": ["m"], "max_results": ["x"]})


def test_enums_come_by_name_or_number() -> None:
    """An unknown one is refused with the known ones."""
    update = Message(UpdateRun)
    assert run_status(update.decode(b'{"run_id":"r","status":"KILLED"}').status or 0).name == "KILLED"
    assert run_status(update.decode(b'{"run_id":"r","status":3}').status or 0).name == "FINISHED"
    assert view_type(3, "view_type").name == "ALL"
    for wrong in ("DONE", 99, "3", "running"):
        with pytest.raises(InvalidParameterValue, match="RUNNING, SCHEDULED, FINISHED, FAILED, KILLED"):
            run_status(wrong)


@pytest.mark.parametrize("path", ["runs/create", "runs/log-metric", "runs/log-batch", "runs/log-inputs"])
@settings(max_examples=60)
@given(
    body=st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "run_id",
                        "runId",
                        "key",
                        "value",
                        "timestamp",
                        "step",
                        "metrics",
                        "params",
                        "tags",
                        "datasets",
                        "dataset",
                        "name",
                        "status",
                        "start_time",
                    ]
                )
                | st.text(),
                x,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_message_or_refused(path: str, body: Any) -> None:
    """No JSON whatever makes the decoder fail in another way, and both of its paths agree."""
    try:
        found = WRITES[path].decode(json.dumps(body).encode())
    except InvalidParameterValue:
        return
    # repr, because NaN is not equal to itself
    again = WRITES[path].decode(msgspec.json.encode({**msgspec.to_builtins(found), "unknown": 1}))
    assert repr(again) == repr(found) or "nan" in repr(found) or "inf" in repr(found)


@given(st.binary(max_size=80))
def test_any_bytes_are_a_message_or_refused(body: bytes) -> None:
    """The same for what is no JSON."""
    with contextlib.suppress(InvalidParameterValue):
        METRIC.decode(body)


@given(
    st.lists(st.tuples(st.floats(), st.integers(0, 2**63 - 1), st.integers(-(2**63), 2**63 - 1)), max_size=5)
)
def test_points_are_written_exactly(points: list[tuple[float, int, int]]) -> None:
    """What is read back is what was logged, to the last bit."""
    values, times, steps = ([point[i] for point in points] for i in range(3))
    text = points_json('k"한', values, times, steps, "r")  # type: ignore[arg-type]
    found = json.loads(b"[" + text + b"]", parse_constant=pytest.fail)
    assert [(p["timestamp"], p["step"], p["key"], p["run_id"]) for p in found] == [
        (time, step, 'k"한', "r") for time, step in zip(times, steps, strict=True)
    ]
    for point, value in zip(found, values, strict=True):
        read = float(point["value"])
        assert read == value or (math.isnan(read) and math.isnan(value))
        assert isinstance(point["value"], float) == math.isfinite(value)


def test_non_finite_numbers_are_words() -> None:
    """JSON has no others."""
    assert [number(value) for value in (math.nan, math.inf, -math.inf, 1.5)] == [
        "NaN",
        "Infinity",
        "-Infinity",
        1.5,
    ]
