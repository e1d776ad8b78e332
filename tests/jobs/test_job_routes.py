"""Job runs over HTTP: what comes in wrong gets a clear 4xx, and archives travel whole."""

from __future__ import annotations

import hashlib
import urllib.request
from typing import Any

import pytest

YAML = "experiment_name: http\ncompute: {accelerator_type: CPU, num_accelerators: 1}\ncommand: 'true'\nmax_retries: 0\n"


def _refused(api: Any, method: str, path: str, body: Any = None, status: int = 400, **more: Any) -> str:
    """The message of a refusal in MLflow's error shape."""
    found, answer = api.call(method, path, body, **more)
    assert (found, set(answer)) == (status, {"error_code", "message"}), answer
    return answer["message"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"", "Submit"),
        (b"{", "Submit"),
        (b"[]", "Submit"),
        (b'{"workload": 5}', "workload"),
        (b"{}", "workload"),
        ({"workload": YAML, "retries": 3}, "retries"),
        ({"workload": YAML, "engine": "moon"}, "engine"),
        ({"workload": YAML, "code_digest": "0" * 64}, "code_digest"),
        ({"workload": YAML, "idempotency_token": " "}, "idempotency_token"),
        ({"workload": "a: [b"}, "workload"),
        ({"workload": YAML.replace("max_retries", "max_retriez")}, "max_retriez"),
        ({"workload": YAML.replace("CPU", "GPU_1xH100")}, "compute.accelerator_type"),
        ({"workload": YAML.replace("http", "h" * 101)}, "experiment_name"),
        (b"[" * 100_000, "Submit"),
        (b'{"workload": "\xff"}', "Submit"),
    ],
)
def test_a_bad_submission_is_refused_by_name(shared_api: Any, body: Any, named: str) -> None:
    """4xx with the field's name, and no job run."""
    before = shared_api.call("GET", "job-runs?limit=1")[1]
    assert named in _refused(shared_api, "POST", "job-runs", body)
    assert shared_api.call("GET", "job-runs?limit=1")[1] == before


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("job-runs?state=sleepy", "state"),
        ("job-runs?limit=0", "limit"),
        ("job-runs?limit=-1", "limit"),
        ("job-runs?limit=99999", "limit"),
        ("job-runs?limit=x", "limit"),
        ("job-runs?num_accelerators=many", "num_accelerators"),
        ("job-runs?num_accelerators=99999999999999999999999", "num_accelerators"),
        ("job-runs?page_token=mine", "page token"),
    ],
)
def test_a_bad_question_is_refused_by_name(shared_api: Any, path: str, named: str) -> None:
    """The same for queries."""
    assert named in _refused(shared_api, "GET", path)


@pytest.mark.parametrize("number", ["0", "999999", "99999999999999999999", "x", "-1", "1.5", "%00"])
def test_there_is_no_such_job_run(shared_api: Any, number: str) -> None:
    """404 for whatever names nothing."""
    assert _refused(shared_api, "GET", f"job-runs/{number}", status=404)
    assert _refused(shared_api, "POST", f"job-runs/{number}/cancel", b"", status=404)


def test_validation_finds_everything_at_once(shared_api: Any) -> None:
    """All problems with path and line; nothing is created."""
    text = "experiment_name: a b\ncompute: {accelerator_type: TPU, num_accelerators: 1}\nmax_retriez: 1\n"
    status, answer = shared_api.call("POST", "workloads/validate", {"workload": text})
    assert status == 200
    problems = {problem["path"]: problem for problem in answer["problems"]}
    assert {"experiment_name", "compute.accelerator_type", "max_retriez"} <= set(problems)
    assert problems["max_retriez"]["line"] == 3
    assert shared_api.call("POST", "workloads/validate", {"workload": YAML})[1] == {"problems": []}
    gpu = shared_api.call("POST", "workloads/validate", {"workload": YAML.replace("CPU", "GPU_1xH100")})[1]
    assert [problem["path"] for problem in gpu["problems"]] == ["compute.accelerator_type"]
    assert "engine" in _refused(
        shared_api, "POST", "workloads/validate", {"workload": YAML, "engine": "moon"}
    )


def test_submitting_twice_with_a_token_gives_one_job_run(shared_api: Any) -> None:
    """The second answer says that it existed."""
    body = {"workload": YAML, "idempotency_token": "http-once"}
    (_, first), (_, second) = (shared_api.call("POST", "job-runs", body) for _ in range(2))
    assert (first["existing"], second["existing"]) == (False, True)
    assert first["job_run_id"] == second["job_run_id"]
    assert first["job_url"].endswith(f"/jobs/{first['job_run_id']}")


@pytest.mark.parametrize(
    ("path", "body"),
    [("heartbeat", b'{"state": "RUNNING"}'), ("relay", b'{"items": []}'), ("logs?offset=0", b"")],
)
def test_agents_need_their_token(shared_api: Any, path: str, body: bytes) -> None:
    """401 without, 403 with a wrong one, 404 for an attempt that does not exist."""
    job = shared_api.job(shared_api.submit(YAML))
    attempt = job["attempts"][0]["attempt_id"]
    base = f"agent/attempts/{attempt}/nodes/0/{path}"
    assert _refused(shared_api, "POST", base, body, status=401)
    assert _refused(shared_api, "POST", base, body, status=403, token="cta_wrong")
    assert _refused(
        shared_api, "POST", base.replace(f"/{attempt}/", "/999999/"), body, status=404, token="cta_x"
    )
    assert _refused(shared_api, "POST", base.replace(f"/{attempt}/", "/x/"), body, status=404, token="cta_x")


# ---------------------------------------------------------------- code archives


def test_an_archive_comes_back_as_it_was_sent(shared_api: Any) -> None:
    """Named by its SHA-256; the second time it is known."""
    data = b"not really a tar" * 100_000
    digest = hashlib.sha256(data).hexdigest()
    assert shared_api.call("HEAD", f"code/{digest}")[0] == 404
    first = shared_api.call("PUT", f"code/{digest}?name=src.tar.gz", data)
    assert first == (200, {"digest": digest, "name": "src.tar.gz", "bytes": len(data), "existing": False})
    assert shared_api.call("PUT", f"code/{digest}?name=src.tar.gz", data)[1]["existing"] is True
    assert shared_api.call("HEAD", f"code/{digest}")[0] == 200
    with urllib.request.urlopen(f"{shared_api.server.url}/api/contrail/v1/code/{digest}") as answer:
        assert answer.headers["content-length"] == str(len(data))
        assert answer.read() == data


def test_an_archive_with_another_digest_is_not_kept(shared_api: Any) -> None:
    """What was changed on its way is refused, and nothing is there afterwards."""
    digest = hashlib.sha256(b"meant").hexdigest()
    assert "SHA-256" in _refused(shared_api, "PUT", f"code/{digest}?name=a.tar.gz", b"arrived")
    assert shared_api.call("HEAD", f"code/{digest}")[0] == 404
    assert shared_api.call("PUT", f"code/{digest}?name=a.tar.gz", b"meant")[0] == 200


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("code/abc?name=a", "digest"),
        (f"code/{'A' * 64}?name=a", "digest"),
        (f"code/{'0' * 64}", "name"),
        (f"code/{'0' * 64}?name=..", "name"),
        (f"code/{'0' * 64}?name=a%2Fb", "name"),
        (f"code/{'0' * 64}?name={'n' * 300}", "name"),
    ],
)
def test_a_bad_archive_name_is_refused(shared_api: Any, path: str, named: str) -> None:
    """The message names what is wrong."""
    assert _refused(shared_api, "PUT", path, b"x").startswith(named)


def test_an_archive_has_a_largest_size(make_api: Any) -> None:
    """The error names the setting and the way out."""
    api = make_api(CONTRAIL_CODE_MAX_BYTES="1000")
    data = b"x" * 1001
    digest = hashlib.sha256(data).hexdigest()
    message = _refused(api, "PUT", f"code/{digest}?name=a", data, status=413)
    assert "code_max_bytes" in message
    assert api.call("HEAD", f"code/{digest}")[0] == 404
