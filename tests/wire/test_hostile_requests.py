"""Requests at and beyond every limit: answered or refused, never a failure of the server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

POSTS = (
    "experiments/create",
    "experiments/search",
    "experiments/update",
    "experiments/delete",
    "experiments/restore",
    "experiments/set-experiment-tag",
    "experiments/delete-experiment-tag",
    "experiments/search-datasets",
    "runs/create",
    "runs/update",
    "runs/delete",
    "runs/restore",
    "runs/search",
    "runs/log-metric",
    "runs/log-parameter",
    "runs/set-tag",
    "runs/delete-tag",
    "runs/log-batch",
    "runs/log-inputs",
    "runs/log-model",
)

_CLAUSES = [f"metrics.m{i} > 1 OR NOT params.p{i} LIKE '%x%'" for i in range(100)]
_LISTED = ", ".join(f"'{i}'" for i in range(10_000))


@pytest.mark.parametrize(
    "body",
    [
        {"filter": " AND ".join(f"({clause})" for clause in _CLAUSES)},
        {"filter": " OR ".join(_CLAUSES)},
        {"filter": f"params.a IN ({_LISTED}) OR run_id NOT IN ({_LISTED})"},
        {"filter": "tags.a LIKE '" + "%_" * 4000 + "'"},
        {"filter": "tags.a ILIKE '" + "\\%" * 4000 + "'"},
        {"filter": "status LIKE '" + "%" * 4000 + "x'"},
        {"filter": "NOT " * 50 + "status = 'RUNNING'"},
        {"filter": "(" * 50 + "status LIKE 'R%G'" + ")" * 50},
        {"filter": "start_time > 1e400 OR end_time < -1e400 OR metrics.a < -1e400"},
        {"filter": "run_name = '한\U0001f680' OR tags.`\U0001f680` = '\0'"},
        {"order_by": [f"metrics.m{i}:min" if i % 2 else f"params.p{i} DESC" for i in range(20)]},
        {"experiment_ids": ["0", *(str(i) for i in range(5000))]},
        {"max_results": 50_000},
    ],
    ids=[
        "ands",
        "ors",
        "lists",
        "wild",
        "escapes",
        "percents",
        "nots",
        "brackets",
        "infinite",
        "emoji",
        "keys",
        "ids",
        "results",
    ],
)
def test_searches_at_their_limits_are_answered(api: Any, body: dict[str, Any]) -> None:
    """What the parser lets through, the database can do, page after page."""
    for _ in range(3):
        api.new_run()
    asked = {"experiment_ids": ["0"], "max_results": 2, **body}
    answer = api.post("runs/search", asked)
    assert answer.status_code == 200, answer.text[:500]
    token = answer.json().get("next_page_token")
    if token:
        assert api.post("runs/search", {**asked, "page_token": token}).status_code == 200


def _words(text: str) -> list[str]:
    return text.split()


_TELLING = [
    "",
    "0",
    "mlflow.runName",
    "RUNNING",
    "a/../b",
    "\0",
    "x" * 9000,
    "metrics.a > 1",
    "1e5",
    "NaN",
    "한",
]
_TEXTS = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.sampled_from(_TELLING))
_VALUES = st.one_of(_TEXTS, st.none(), st.booleans(), st.integers(), st.floats(), st.integers(-3, 3))
_FIELDS = st.sampled_from(
    _words("""
    run_id runId run_uuid key value timestamp step metrics params tags datasets dataset name digest experiment_id
    experiment_ids new_name status start_time end_time run_name user_id filter order_by max_results page_token
    run_view_type view_type artifact_location model_json models source profile
    """)
)
_QUERY_FIELDS = st.sampled_from(
    _words("""
    experiment_id experiment_name run_id run_ids metric_key max_results page_token start_step end_step filter order_by
    view_type
    """)
)
_NESTED = st.recursive(
    _VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=4),
    max_leaves=6,
)
_FUZZED: dict[str, str] = {}


def fuzzed_run(api: Any) -> str:
    """One run for all examples."""
    if api.url not in _FUZZED:
        _FUZZED[api.url] = api.new_run()
    return _FUZZED[api.url]


@settings(max_examples=150, deadline=None)
@given(path=st.sampled_from(POSTS), body=st.dictionaries(_FIELDS, _NESTED, max_size=8))
def test_no_request_makes_the_server_fail(api: Any, path: str, body: dict[str, Any]) -> None:
    """Whatever the fields hold, the answer is a success or an error that the client can understand."""
    target = {"run_id": fuzzed_run(api), "experiment_id": "0"}
    for fields in (body, {**body, **target}):
        answer = api.post(path, raw=json.dumps(fields).encode())
        assert answer.status_code < 500 or answer.json()["error_code"] == "NOT_IMPLEMENTED", answer.text
        assert isinstance(answer.json(), dict)
    if path in ("runs/delete", "experiments/delete"):
        api.post(path.replace("delete", "restore"), target)


@settings(max_examples=60, deadline=None)
@given(
    path=st.sampled_from(
        [
            "experiments/get",
            "experiments/get-by-name",
            "experiments/search",
            "runs/get",
            "metrics/get-history",
            "metrics/get-history-bulk",
            "metrics/get-history-bulk-interval",
        ]
    ),
    query=st.dictionaries(_QUERY_FIELDS, _TEXTS | st.integers(-3, 9999), max_size=5),
)
def test_no_query_makes_the_server_fail(api: Any, path: str, query: dict[str, Any]) -> None:
    """The same for reads."""
    answer = api.get(path, **query)
    assert answer.status_code < 500, answer.text
    assert isinstance(answer.json(), dict)
