"""What other clients send: strings for numbers, broken bodies, wrong paths. Never a 500 for a client's mistake."""

from __future__ import annotations

import json
import math
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

INVALID = "INVALID_PARAMETER_VALUE"


def refused(answer: httpx.Response, status: int = 400, code: str = INVALID) -> str:
    """Check the error shape; gives the message."""
    body = answer.json()
    assert (answer.status_code, body["error_code"]) == (status, code), answer.text
    assert answer.headers["content-type"].startswith("application/json")
    message: str = body["message"]
    assert message
    return message


@pytest.fixture
def run_id(api: Any) -> str:
    """A fresh run."""
    identity: str = api.new_run()
    return identity


def log_metric(api: Any, run: str, **fields: Any) -> httpx.Response:
    body = {"run_id": run, "key": "m", "value": 1.0, "timestamp": 1, "step": 0, **fields}
    answer: httpx.Response = api.post("runs/log-metric", body)
    return answer


def history(api: Any, run_id: str, key: str = "m") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        api.get("metrics/get-history", run_id=run_id, metric_key=key).json().get("metrics", [])
    )
    return found


def is_empty(api: Any, run_id: str) -> bool:
    """Whether nothing was logged to the run."""
    data = api.get("runs/get", run_id=run_id).json()["run"]["data"]
    return "metrics" not in data and "params" not in data and len(data["tags"]) == 1


# ---------------------------------------------------------------- nothing is silently altered


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"step": "7"}, {"step": 7}),
        ({"step": 2**53 + 1}, {"step": 2**53 + 1}),
        ({"step": -(2**63)}, {"step": -(2**63)}),
        ({"step": 5.0}, {"step": 5}),
        ({"timestamp": 10**18}, {"timestamp": 10**18}),
        ({"timestamp": "1e+05"}, {"timestamp": 100_000}),
        ({"value": "0.5"}, {"value": 0.5}),
        ({"value": "NaN"}, {"value": "NaN"}),
        ({"value": "-Infinity"}, {"value": "-Infinity"}),
        ({"value": 10**30}, {"value": 1e30}),
    ],
)
def test_an_accepted_value_comes_back_exactly(
    api: Any, run_id: str, fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Whatever form it came in."""
    assert log_metric(api, run_id, **fields).text == "{}"
    (point,) = history(api, run_id)
    assert point == {"key": "m", "value": 1.0, "timestamp": 1, "step": 0} | expected
    (latest,) = api.get("runs/get", run_id=run_id).json()["run"]["data"]["metrics"]
    assert latest == point


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_bare_non_finite_literals_mean_what_they_say(api: Any, run_id: str, literal: str) -> None:
    """Python's json module writes them; answers have them as strings, so they stay valid JSON."""
    raw = f'{{"run_id":"{run_id}","key":"m","value":{literal},"timestamp":1}}'.encode()
    assert api.post("runs/log-metric", raw=raw).status_code == 200
    (point,) = history(api, run_id)
    assert point["value"] == literal
    for path in ("metrics/get-history-bulk", "metrics/get-history-bulk-interval"):
        answer = api.get(path, run_id=run_id, run_ids=run_id, metric_key="m")
        assert json.loads(answer.text, parse_constant=pytest.fail)["metrics"][0]["value"] == literal


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"step": 1.5}, "step"),
        ({"step": 2**63}, "step"),
        ({"step": -(2**63) - 1}, "step"),
        ({"step": "abc"}, "step"),
        ({"timestamp": -5}, "timestamp"),
        ({"timestamp": 5.5}, "timestamp"),
        ({"timestamp": None}, "timestamp"),
        ({"value": "abc"}, "value"),
        ({"value": True}, "value"),
        ({"value": None}, "value"),
        ({"value": [1]}, "value"),
        ({"key": "a//b"}, "name"),
        ({"key": "../x"}, "name"),
        ({"key": "a,b"}, "name"),
        ({"key": "a\nb"}, "name"),
        ({"key": "k" * 251}, "Metric name"),
        ({"key": ""}, "key"),
        ({"key": 5}, "key"),
        ({"run_id": ""}, "run_id"),
        ({"run_id": 5}, "run_id"),
        ({"dataset_name": "d"}, "dataset_digest"),
    ],
)
def test_a_wrong_metric_is_refused_by_field(api: Any, run_id: str, fields: dict[str, Any], name: str) -> None:
    """And nothing is stored."""
    assert name in refused(log_metric(api, run_id, **fields))
    assert is_empty(api, run_id)


def test_keys_at_their_limit_are_stored(api: Any, run_id: str) -> None:
    """250 characters, also Korean ones."""
    for key in ("k" * 250, "한" * 250, "a_b-c.d e/f:g"):
        assert log_metric(api, run_id, key=key).status_code == 200
        assert history(api, run_id, key)[0]["key"] == key


def test_a_number_is_no_text(api: Any, run_id: str) -> None:
    """Params and tags are texts; a client that sends a number is told so."""
    assert "'value'" in refused(api.post("runs/log-parameter", {"run_id": run_id, "key": "p", "value": 5}))
    assert "'value'" in refused(api.post("runs/set-tag", {"run_id": run_id, "key": "t", "value": 5}))
    assert is_empty(api, run_id)


@pytest.mark.parametrize("status", ["DONE", "finished", 99, True, [3]])
def test_an_unknown_status_is_refused(api: Any, run_id: str, status: Any) -> None:
    """It does not leave the run as it was and answer success."""
    assert "'status'" in refused(api.post("runs/update", {"run_id": run_id, "status": status}))


@pytest.mark.parametrize(
    "batch",
    [
        {"metrics": [{"key": "ok", "value": 1, "timestamp": 1}, {"key": "a,b", "value": 1, "timestamp": 1}]},
        {
            "metrics": [
                {"key": "ok", "value": 1, "timestamp": 1},
                {"key": "bad", "value": "abc", "timestamp": 1},
            ]
        },
        {"metrics": [{"key": "ok", "value": 1, "timestamp": 1}], "params": [{"key": "p,q", "value": "1"}]},
        {"metrics": [{"key": "ok", "value": 1, "timestamp": 1}], "params": [{"key": "p"}, {"key": "p"}]},
        {"metrics": [{"key": "ok", "value": 1, "timestamp": 1}], "tags": [{"value": "1"}]},
        {"params": [{"key": "ok", "value": "1"}], "tags": [{"key": "t", "value": "\0"}]},
        {"params": [{"key": "ok", "value": "1"}], "metrics": [{"key": "k", "timestamp": 1}]},
        {"params": [{"key": "ok", "value": "1"}], "metrics": ["x"]},
        {"params": [{"key": "ok", "value": "1"}], "metrics": {"key": "x"}},
    ],
)
def test_a_batch_is_stored_whole_or_not_at_all(api: Any, run_id: str, batch: dict[str, Any]) -> None:
    """One wrong entry and nothing of it is there."""
    refused(api.post("runs/log-batch", {"run_id": run_id, **batch}))
    assert is_empty(api, run_id)


def test_a_batch_that_changes_a_param_is_refused_whole(api: Any, run_id: str) -> None:
    """With the old and the new value."""
    assert api.post("runs/log-parameter", {"run_id": run_id, "key": "p", "value": "1"}).status_code == 200
    answer = api.post(
        "runs/log-batch",
        {
            "run_id": run_id,
            "metrics": [{"key": "m", "value": 1, "timestamp": 1}],
            "params": [{"key": "p", "value": "2"}, {"key": "q", "value": "1"}],
            "tags": [{"key": "t", "value": "1"}],
        },
    )
    message = refused(answer)
    assert "Changing param values is not allowed" in message
    assert "'old_value': '1'" in message
    data = api.get("runs/get", run_id=run_id).json()["run"]["data"]
    assert data["params"] == [{"key": "p", "value": "1"}]
    assert "metrics" not in data
    assert [tag["key"] for tag in data["tags"]] == ["mlflow.runName"]


# ---------------------------------------------------------------- bodies and headers

JSON_POSTS = (
    "experiments/create",
    "experiments/search",
    "experiments/update",
    "experiments/delete",
    "experiments/set-experiment-tag",
    "experiments/search-datasets",
    "runs/create",
    "runs/update",
    "runs/delete",
    "runs/search",
    "runs/log-metric",
    "runs/log-parameter",
    "runs/set-tag",
    "runs/delete-tag",
    "runs/log-batch",
    "runs/log-inputs",
)


@pytest.mark.parametrize("path", JSON_POSTS)
@pytest.mark.parametrize(
    "raw",
    [
        b'{"name": "oops"',
        b"\xff\xfe",
        b"[1,2]",
        b"5",
        b'"x"',
        b"NaN",
        b"{" * 9999,
        b'{"run_id":"\\ud800","experiment_id":"\\ud800","name":"\\ud800",'
        b'"filter":"\\ud800","experiment_ids":["\\ud800"]}',
    ],
    ids=["cut", "bytes", "list", "number", "text", "nan", "deep", "surrogate"],
)
def test_a_broken_body_is_refused(api: Any, path: str, raw: bytes) -> None:
    """On every endpoint, with the reason, and without making anything."""
    refused(api.post(path, raw=raw))


@pytest.mark.parametrize("path", sorted(set(JSON_POSTS) - {"runs/create", "runs/search"}))
def test_an_empty_body_misses_what_is_required(api: Any, path: str) -> None:
    """An empty body is an empty message."""
    refused(api.post(path, raw=b""))


def test_a_run_without_an_experiment_goes_to_the_default_one(api: Any) -> None:
    """Which is what the clients' documentation says."""
    info = api.post("runs/create", raw=b"{}").json()["run"]["info"]
    assert info["experiment_id"] == "0"
    assert info["start_time"] > 1_600_000_000_000


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_must_say_that_it_is_json(api: Any, content_type: str) -> None:
    """A page of another site cannot send JSON without asking first; it could send text."""
    answer = api.post("experiments/create", {"name": "ct"}, headers={"Content-Type": content_type})
    assert "Content-Type" in refused(answer)


def test_a_compressed_body_is_refused_by_its_header(api: Any) -> None:
    """What would be read wrongly is refused, with the header named."""
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = httpx.post(f"{api.url}/api/2.0/mlflow/runs/create", content=b"{}", headers=headers)
    assert "Content-Encoding" in refused(answer)


def test_content_type_may_have_parameters(api: Any, run_id: str) -> None:
    """And any case."""
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert api.post("runs/set-tag", {"run_id": run_id, "key": "t"}, headers=headers).status_code == 200


def test_a_body_beyond_the_limit_is_413(api: Any) -> None:
    """Announced or streamed."""
    limit = api.settings.request_body_max_bytes
    address = urlsplit(api.url)
    head = (
        f"POST /api/2.0/mlflow/runs/log-batch HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {limit + 1}\r\n\r\n"
    )
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=10) as connection:
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")

    def parts() -> Any:
        for _ in range(limit // 2**20 + 2):
            yield b" " * 2**20

    answer = api.http.post(
        "/api/2.0/mlflow/runs/log-batch", content=parts(), headers={"Content-Type": "application/json"}
    )
    assert str(limit) in refused(answer, 413)


def test_a_client_that_hangs_up_leaves_no_trace(api: Any, caplog: pytest.LogCaptureFixture) -> None:
    """In the middle of its body, or before its answer."""
    address = urlsplit(api.url)
    for rest in (b"Content-Length: 1000\r\n\r\n{", b"Content-Length: 2\r\n\r\n{}"):
        head = (
            f"POST /api/2.0/mlflow/runs/search HTTP/1.1\r\nHost: {address.netloc}\r\n"
            "Content-Type: application/json\r\n"
        )
        connection = socket.create_connection((address.hostname or "", address.port or 0), timeout=10)
        connection.sendall(head.encode() + rest)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()
    assert api.get("experiments/get", experiment_id="0").status_code == 200
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/2.0/mlflow/nope"),
        ("POST", "/api/2.0/mlflow/experiments/list"),
        ("GET", "/api/2.0/mlflow/runs/create"),
        ("PUT", "/api/2.0/mlflow/runs/create"),
        ("DELETE", "/api/2.0/mlflow/runs/get"),
        ("POST", "/ajax-api/3.0/mlflow/traces/search"),
        ("GET", "/api/2.0/mlflow/runs/get/"),
        ("POST", "/api/contrail/v1/nope"),
        ("DELETE", "/api/contrail/v1/runs/query"),
        ("POST", "/graphql"),
    ],
)
def test_what_does_not_exist_is_said_in_json(api: Any, method: str, path: str) -> None:
    """Wrong paths and wrong methods alike."""
    assert path in refused(api.http.request(method, path, json={}), 404, "ENDPOINT_NOT_FOUND")


def test_the_pages_prefix_is_the_same_api(api: Any) -> None:
    """ajax-api is what browsers use."""
    answer = api.http.post("/ajax-api/2.0/mlflow/experiments/create", json={"name": "ajax"})
    found = api.http.get("/ajax-api/2.0/mlflow/experiments/get-by-name?experiment_name=ajax").json()
    assert found["experiment"]["experiment_id"] == answer.json()["experiment_id"]


def test_health_version_and_server_info(api: Any) -> None:
    """What clients ask before anything else."""
    assert api.http.get("/health").text == "OK"
    assert api.http.head("/health").status_code == 200
    assert api.http.get("/version").text.count(".") == 2
    info = api.http.get("/api/3.0/mlflow/server-info").json()
    assert info["multipart_uploads_enabled"] is False
    assert info["multipart_downloads_enabled"] is False
    assert info["workspaces_enabled"] is False


def test_options_and_head(api: Any) -> None:
    """Probes of proxies."""
    assert api.http.options("/api/2.0/mlflow/experiments/search").status_code == 204
    answer = api.http.head("/api/2.0/mlflow/experiments/get?experiment_id=0")
    assert (answer.status_code, answer.content) == (200, b"")


# ---------------------------------------------------------------- reading


def test_get_reads_the_query_or_a_body(api: Any) -> None:
    """Repeated fields are lists; a body counts when there is no query."""
    path = "/api/2.0/mlflow/experiments/get"
    assert api.http.request("GET", path, json={"experiment_id": "0"}).status_code == 200
    assert api.http.get(path + "?experimentId=0").status_code == 200
    found = api.http.get(
        "/api/2.0/mlflow/experiments/search?max_results=5&order_by=name%20DESC&order_by=experiment_id"
    )
    assert found.status_code == 200
    assert "not valid UTF-8" in refused(api.http.get(path + "?experiment_id=%ff"))
    assert "fields" in refused(api.http.get(path + "?" + "a=1&" * 2000))
    assert "both" in refused(api.http.get(path + "?experimentId=0&experiment_id=0"))


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ("", 400, INVALID),
        ("abc", 400, INVALID),
        ("9" * 30, 400, INVALID),
        ("-1", 404, "RESOURCE_DOES_NOT_EXIST"),
        ("987654", 404, "RESOURCE_DOES_NOT_EXIST"),
    ],
)
def test_an_experiment_id_is_a_number(api: Any, given: str, status: int, code: str) -> None:
    """A wrong one is not looked up."""
    refused(api.get("experiments/get", experiment_id=given), status, code)


def test_answers_leave_out_what_is_empty(api: Any, run_id: str) -> None:
    """Ids are strings, times are numbers, an empty search is {}."""
    assert api.post("runs/search", {"experiment_ids": ["987654"]}).text == "{}"
    assert api.post("runs/search", {}).text == "{}"
    assert api.get("metrics/get-history", run_id=run_id, metric_key="m").text == "{}"
    run = api.get("runs/get", run_uuid=run_id).json()["run"]
    assert set(run) == {"info", "data", "inputs", "outputs"}
    assert run["inputs"] == {}
    assert list(run["data"]) == ["tags"]
    info = run["info"]
    assert info["run_uuid"] == info["run_id"] == run_id
    assert info["experiment_id"] == "0"
    assert isinstance(info["start_time"], int)
    assert "end_time" not in info
    assert info["lifecycle_stage"] == "active"


@pytest.mark.parametrize("token", ["###", "aGVsbG8=", "WzFd", "e30=", "eyJvZmZzZXQiOiAtNX0="])
@pytest.mark.parametrize("path", ["runs/search", "experiments/search"])
def test_a_made_up_page_token_is_refused(api: Any, path: str, token: str) -> None:
    """On every listing."""
    body = {"experiment_ids": ["0"], "max_results": 5, "page_token": token}
    assert "page token" in refused(api.post(path, body))


def test_a_token_of_another_listing_is_refused(api: Any) -> None:
    """Also of the same search in another order."""
    for _ in range(3):
        api.new_run()
    body = {"experiment_ids": ["0"], "max_results": 2}
    token = api.post("runs/search", body).json()["next_page_token"]
    refused(api.post("runs/search", {**body, "order_by": ["metrics.m"], "page_token": token}))
    refused(api.post("experiments/search", {"max_results": 2, "page_token": token}))
    assert api.post("runs/search", {**body, "page_token": token}).status_code == 200


@pytest.mark.parametrize("given", [0, -1, 50_001, "two", 2.5, 2**31])
def test_a_page_size_has_limits(api: Any, given: Any) -> None:
    """1 to 50,000."""
    for path in ("runs/search", "experiments/search"):
        assert "max_results" in refused(api.post(path, {"experiment_ids": ["0"], "max_results": given}))


def test_histories_of_many_runs_come_in_one_answer(api: Any) -> None:
    """By run id, with a limit over all of them."""
    runs = sorted(api.new_run() for _ in range(3))
    for run in runs:
        for step in range(4):
            log_metric(api, run, step=step, timestamp=step, value=step)
    found = api.get("metrics/get-history-bulk", run_id=[runs[2], runs[0]], metric_key="m").json()["metrics"]
    assert [(p["run_id"], p["step"]) for p in found] == [
        (run, step) for run in (runs[0], runs[2]) for step in range(4)
    ]
    cut = api.get("metrics/get-history-bulk", run_id=runs, metric_key="m", max_results=5).json()["metrics"]
    assert [(p["run_id"], p["step"]) for p in cut] == [*((runs[0], step) for step in range(4)), (runs[1], 0)]
    assert api.get("metrics/get-history-bulk", run_id=runs, metric_key="nope").text == "{}"
    assert "run_id" in refused(api.get("metrics/get-history-bulk", metric_key="m"))
    assert "metric_key" in refused(api.get("metrics/get-history-bulk", run_id=runs))
    assert "100" in refused(api.get("metrics/get-history-bulk", run_id=["r"] * 101, metric_key="m"))


def test_intervals_thin_a_history(api: Any, run_id: str) -> None:
    """To the asked number of points, with the last one among them."""
    points = [{"key": "m", "value": step, "timestamp": step, "step": step} for step in range(1000)]
    assert api.post("runs/log-batch", {"run_id": run_id, "metrics": points}).status_code == 200
    path = "metrics/get-history-bulk-interval"
    found = api.get(path, run_ids=run_id, metric_key="m", max_results=10).json()["metrics"]
    steps = [point["step"] for point in found]
    assert len(steps) <= 10
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, 999)
    assert found[0]["run_id"] == run_id
    part = api.get(path, run_ids=run_id, metric_key="m", start_step=10, end_step=12).json()["metrics"]
    assert [point["step"] for point in part] == [10, 11, 12]
    for wrong in (
        {"start_step": 1},
        {"start_step": 2, "end_step": 1},
        {"max_results": 0},
        {"max_results": 2501},
        {"run_ids": ["r"] * 101},
        {"run_ids": []},
        {"metric_key": ""},
    ):
        refused(api.get(path, **{"run_ids": run_id, "metric_key": "m", **wrong}))


def test_a_long_history_is_streamed_whole_without_a_limit(api: Any, run_id: str) -> None:
    """R's client does not ask for pages; it still gets everything, as one JSON document."""
    for start in range(0, 60_000, 1000):
        points = [{"key": "m", "value": s, "timestamp": s, "step": s} for s in range(start, start + 1000)]
        assert api.post("runs/log-batch", {"run_id": run_id, "metrics": points}).status_code == 200
    found = history(api, run_id)
    assert [point["step"] for point in found] == list(range(60_000))


def test_search_datasets_has_limits(api: Any) -> None:
    """1 to 20 experiments."""
    path = "experiments/search-datasets"
    assert "at least one" in refused(api.post(path, {"experiment_ids": []}))
    assert "more than 20" in refused(api.post(path, {"experiment_ids": [str(i) for i in range(21)]}))
    assert api.post(path, {"experiment_ids": ["0"]}).text == "{}"


def test_inputs_have_limits(api: Any, run_id: str) -> None:
    """Of every part of a data set; the source may be missing."""
    good = {"name": "ds", "digest": "abc"}
    for wrong in (
        {"dataset": {**good, "digest": "d" * 37}},
        {"dataset": {**good, "name": "d" * 501}},
        {"dataset": {"name": "x"}},
        {"dataset": good, "tags": [{"key": "a", "value": "v" * 501}]},
        {"tags": []},
    ):
        refused(api.post("runs/log-inputs", {"run_id": run_id, "datasets": [wrong]}))
    assert api.post("runs/log-inputs", {"run_id": run_id, "datasets": [{"dataset": good}]}).text == "{}"
    assert api.post("runs/log-inputs", {"run_id": run_id}).text == "{}"
    found = api.get("runs/get", run_id=run_id).json()["run"]["inputs"]["dataset_inputs"]
    assert found == [{"dataset": {"name": "ds", "digest": "abc", "source_type": "", "source": ""}}]


def test_the_way_of_the_r_client(api: Any) -> None:
    """All scalars are strings, and both names of a run id are sent."""
    run_id = api.new_run(start_time="1700000000000", tags=[{"key": "mlflow.source.name", "value": "x.R"}])
    both = {"run_uuid": run_id, "run_id": run_id}
    point = {"key": "m", "value": "0.25", "timestamp": "1700000000001", "step": "3"}
    assert api.post("runs/log-metric", {**both, **point}).text == "{}"
    assert (
        api.post(
            "runs/log-batch", {"run_id": run_id, "metrics": [point], "params": [{"key": "p", "value": "1"}]}
        ).text
        == "{}"
    )
    done = api.post("runs/update", {**both, "status": "FINISHED", "end_time": "1700000009000"}).json()[
        "run_info"
    ]
    assert (done["run_uuid"], done["status"], done["end_time"]) == (run_id, "FINISHED", 1700000009000)
    assert history(api, run_id) == [{"key": "m", "value": 0.25, "timestamp": 1700000000001, "step": 3}]


def test_errors_are_readable_in_every_script(api: Any) -> None:
    """UTF-8, said in the header, because some clients guess."""
    answer = api.get("experiments/get-by-name", experiment_name="없는 실험")
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert "없는 실험" in refused(answer, 404, "RESOURCE_DOES_NOT_EXIST")


def test_math_of_values_survives(api: Any, run_id: str) -> None:
    """Doubles are written with all their digits."""
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, math.pi * 1e-300]
    for step, value in enumerate(values):
        log_metric(api, run_id, step=step, timestamp=step, value=value)
    assert [point["value"] for point in history(api, run_id)] == values


def test_models_of_mlflow_2_are_listed_in_a_tag(api: Any, run_id: str) -> None:
    """One after the other; R's client logs models like this."""
    model = {
        "artifact_path": "model",
        "flavors": {},
        "utc_time_created": "2024-01-01 00:00:00",
        "run_id": run_id,
    }
    for path in ("a", "b"):
        text = json.dumps({**model, "artifact_path": path})
        assert api.post("runs/log-model", {"run_id": run_id, "model_json": text}).text == "{}"
    tags = {
        tag["key"]: tag["value"] for tag in api.get("runs/get", run_id=run_id).json()["run"]["data"]["tags"]
    }
    assert [entry["artifact_path"] for entry in json.loads(tags["mlflow.log-model.history"])] == ["a", "b"]
    assert "not a valid JSON" in refused(api.post("runs/log-model", {"run_id": run_id, "model_json": "{"}))
    assert "flavors" in refused(api.post("runs/log-model", {"run_id": run_id, "model_json": "{}"}))
    refused(api.post("runs/log-model", {"run_id": run_id, "model_json": "[]"}))
    refused(
        api.post("runs/log-model", {"run_id": "0" * 32, "model_json": json.dumps(model)}),
        404,
        "RESOURCE_DOES_NOT_EXIST",
    )
