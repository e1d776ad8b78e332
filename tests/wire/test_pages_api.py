"""The API of the pages: runs table, export, charts, summaries, experiments list."""

from __future__ import annotations

import csv
import io
from typing import Any

import httpx
import pytest

API = "/api/contrail/v1"


@pytest.fixture(scope="module")
def experiment(api: Any) -> str:
    """Three runs with metrics, one of them nested and one from a job."""
    identity: str = api.new_experiment("pages")
    parent = api.new_run(identity, run_name="first", start_time=1)
    jobs = [{"key": "contrail.job_run_id", "value": "7"}, {"key": "contrail.attempt_number", "value": "2"}]
    for index, (name, tags) in enumerate(
        {"second": [{"key": "mlflow.parentRunId", "value": parent}], "third": jobs}.items()
    ):
        run = api.new_run(identity, run_name=name, start_time=2 + index, tags=tags)
        points = [
            {"key": "loss", "value": value, "timestamp": step, "step": step}
            for step, value in enumerate([3.0, 1.0, "NaN", 2.0 + index])
        ]
        params = [{"key": "lr", "value": str(0.1 * (index + 1))}, {"key": "same", "value": "s"}]
        answer = api.post("runs/log-batch", {"run_id": run, "metrics": points, "params": params})
        assert answer.status_code == 200
    return identity


def query(api: Any, **fields: Any) -> httpx.Response:
    answer: httpx.Response = api.http.post(f"{API}/runs/query", json=fields)
    return answer


def test_the_table_has_just_the_asked_columns(api: Any, experiment: str) -> None:
    """In the asked order, null where a run has none."""
    columns = [
        {"kind": "metric", "key": "loss"},
        {"kind": "metric", "key": "loss", "field": "min"},
        {"kind": "param", "key": "lr"},
        {"kind": "tag", "key": "mlflow.runName"},
    ]
    page = query(api, experiment_ids=[experiment], columns=columns, order_by=["metrics.loss DESC"]).json()
    assert page["total"] == 3
    assert [row["values"] for row in page["rows"]] == [
        [3.0, 1.0, "0.2", "third"],
        [2.0, 1.0, "0.1", "second"],
        [None, None, None, "first"],
    ]
    third, second, first = page["rows"]
    assert (third["job_run_id"], third["attempt_number"]) == (7, 2)
    assert second["parent_run_id"] == first["run_id"]
    assert first["parent_run_id"] is None
    assert (first["name"], first["status"], first["start_ms"]) == ("first", "RUNNING", 1)


def test_the_table_pages_and_filters(api: Any, experiment: str) -> None:
    """Every run once; the total counts all that match."""
    names, token = [], None
    while True:
        page = query(api, experiment_ids=[experiment], limit=2, page_token=token).json()
        names += [row["name"] for row in page["rows"]]
        token = page["next_page_token"]
        if token is None:
            break
    assert names == ["third", "second", "first"]
    page = query(
        api, experiment_ids=[experiment], filter="params.lr > 0.15 OR run_name = 'first'", with_total=False
    )
    assert [row["name"] for row in page.json()["rows"]] == ["third", "first"]
    assert page.json()["total"] is None
    assert query(api, experiment_ids=[]).json() == {"rows": [], "total": 0, "next_page_token": None}


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"experiment_ids": ["0"], "nope": 1}, "nope"),
        ({"experiment_ids": [0]}, "experiment_ids"),
        ({}, "experiment_ids"),
        ({"experiment_ids": ["x"]}, "experiment_ids[0]"),
        ({"experiment_ids": ["0"], "filter": "nope = 1"}, "character 1"),
        ({"experiment_ids": ["0"], "order_by": ["x"]}, "order_by"),
        ({"experiment_ids": ["0"], "view": "none"}, "view"),
        ({"experiment_ids": ["0"], "limit": 0}, "limit"),
        ({"experiment_ids": ["0"], "limit": 1001}, "limit"),
        ({"experiment_ids": ["0"], "page_token": "x"}, "page token"),
        ({"experiment_ids": ["0"], "columns": [{"kind": "x", "key": "a"}]}, "columns[0].kind"),
        (
            {"experiment_ids": ["0"], "columns": [{"kind": "param", "key": "a", "field": "min"}]},
            "columns[0].field",
        ),
        ({"experiment_ids": ["0"], "columns": [{"kind": "attribute", "key": "a"}]}, "columns[0].key"),
        ({"experiment_ids": ["0"], "columns": [{"kind": "param", "key": "a"}] * 301}, "300"),
    ],
)
def test_a_wrong_query_names_the_field(api: Any, fields: dict[str, Any], word: str) -> None:
    """In the shape of all errors."""
    answer = query(api, **fields)
    assert answer.status_code == 400
    assert answer.json()["error_code"] == "INVALID_PARAMETER_VALUE"
    assert word in answer.json()["message"]


def test_the_column_chooser_knows_the_keys(api: Any, experiment: str) -> None:
    """With how many runs have them and whether they differ."""
    found = api.http.get(f"{API}/columns", params={"experiment_id": experiment}).json()["columns"]
    by_key = {(column["kind"], column["key"]): (column["runs"], column["varies"]) for column in found}
    assert by_key["metric", "loss"] == (2, True)
    assert by_key["param", "lr"] == (2, True)
    assert by_key["param", "same"] == (2, False)
    assert api.http.get(f"{API}/columns").json() == {"columns": []}


def test_export_has_all_matching_runs(api: Any, experiment: str) -> None:
    """As CSV, quoted where needed."""
    import json

    asked = {
        "experiment_ids": [experiment],
        "columns": [{"kind": "metric", "key": "loss"}, {"kind": "metric", "key": "loss", "field": "max"}],
        "order_by": ["start_time"],
    }
    answer = api.http.get(f"{API}/runs/export.csv", params={"q": json.dumps(asked)})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["run_name"] for row in rows] == ["first", "second", "third"]
    assert [row["metrics.loss"] for row in rows] == ["", "2.0", "3.0"]
    assert rows[2]["metrics.loss:max"] == "3.0"
    for wrong in ("", "{", '{"experiment_ids":["0"],"filter":"x"}'):
        answer = api.http.get(f"{API}/runs/export.csv", params={"q": wrong})
        assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


def test_charts_keep_non_finite_points_apart(api: Any, experiment: str) -> None:
    """A NaN is a mark on the axis, never a number."""
    ids = [row["run_id"] for row in query(api, experiment_ids=[experiment]).json()["rows"]]
    found = api.http.post(f"{API}/series", json={"run_ids": ids, "keys": ["loss", "nope"]}).json()["series"]
    assert {series["key"] for series in found} == {"loss"}
    assert len(found) == 2
    third = next(series for series in found if series["run_id"] == ids[0])
    assert third["exact"] is True
    assert third["points"] == 4
    assert (third["x"], third["y"]) == ([0, 1, 3], [3.0, 1.0, 3.0])
    assert third["nonfinite"] == [[2, "NaN", 1]]


@pytest.mark.parametrize(
    "fields", [{"x": "nope"}, {"buckets": 0}, {"keys": ["k"] * 101}, {"run_ids": ["r"] * 201}, {"run_ids": 5}]
)
def test_a_wrong_chart_is_refused(api: Any, fields: dict[str, Any]) -> None:
    """Everything has a limit."""
    answer = api.http.post(f"{API}/series", json={"run_ids": ["r"], "keys": ["k"], **fields})
    assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


def test_a_run_page_has_everything(api: Any, experiment: str) -> None:
    """Extremes over the whole history, NaN left out."""
    row = query(api, experiment_ids=[experiment], filter="run_name = 'third'").json()["rows"][0]
    found = api.http.get(f"{API}/runs/{row['run_id']}").json()
    assert found["experiment_name"] == "pages"
    assert found["params"] == {"lr": "0.2", "same": "s"}
    assert (found["job_run_id"], found["attempt_number"]) == (7, 2)
    (loss,) = found["metrics"]
    assert (loss["first"], loss["last"], loss["min"], loss["max"], loss["points"]) == (3.0, 3.0, 1.0, 3.0, 4)
    assert loss["last_step"] == 3
    missing = api.http.get(f"{API}/runs/nope")
    assert (missing.status_code, missing.json()["error_code"]) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_the_experiments_list_shows_activity(api: Any, experiment: str) -> None:
    """Searched by a part of the name, in any case."""
    page = api.http.get(f"{API}/experiments", params={"q": "PAGE"}).json()
    (row,) = page["experiments"]
    assert (row["experiment_id"], row["runs"], row["active_runs"]) == (experiment, 3, 3)
    first = api.http.get(f"{API}/experiments", params={"limit": 1}).json()
    assert len(first["experiments"]) == 1
    second = api.http.get(
        f"{API}/experiments", params={"limit": 1, "page_token": first["next_page_token"]}
    ).json()
    assert second["experiments"][0]["experiment_id"] != first["experiments"][0]["experiment_id"]
    for wrong in ({"limit": "x"}, {"limit": "0"}, {"view": "x"}, {"page_token": "x"}):
        assert api.http.get(f"{API}/experiments", params=wrong).status_code == 400


def test_info_says_what_this_server_is(api: Any) -> None:
    """For the pages' footer and the command line."""
    info = api.http.get(f"{API}/info").json()
    assert info["store"] == "sqlite"
    assert info["single_user"] is True
    assert info["engines"] == ["local"]
