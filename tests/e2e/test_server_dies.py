"""The server is killed in the middle of a training; nothing of the training is lost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

STEPS = 150
TRAIN = f"""
import os, time
import mlflow

if os.environ.get("RANK", "0") == "0":
    with mlflow.start_run(run_id=os.environ["MLFLOW_RUN_ID"]):
        mlflow.log_param("learning_rate", 3e-4)
        for step in range({STEPS}):
            mlflow.log_metric("train_loss", 1 / (step + 1), step=step)
            print(f"step {{step}} done", flush=True)
            time.sleep(0.05)
print("node", os.environ["NODE_RANK"], "of", os.environ["NUM_NODES"], flush=True)
raise SystemExit(int(os.environ.get("EXIT_WITH", "0")) if os.environ["NODE_RANK"] == "0" else 0)
"""
WORKLOAD = """
experiment_name: survives
compute: {accelerator_type: CPU, num_accelerators: 2}
code_source: {root_path: .}
command: python "$CODE_SOURCE_PATH/train.py"
max_retries: 0
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def _until(condition: Callable[[], Any], what: str, limit_s: float = 90) -> Any:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {limit_s} s: {what}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "train.yaml").write_text(WORKLOAD)
    return folder


@pytest.mark.parametrize("exit_code", [0, 5])
def test_a_killed_server_costs_the_training_nothing(
    server: Any, make_cli: Callable[[str], Any], project: Path, exit_code: int
) -> None:
    """kill -9 and a restart in mid-training lose no metric, no log line and no exit code, on two nodes."""
    cli = make_cli(server.url)
    submitted = cli(
        *(
            "run",
            "-f",
            str(project / "train.yaml"),
            "--override",
            f"env_variables.EXIT_WITH='{exit_code}'",
            "-o",
            "json",
        )
    )
    job_run_id = submitted.data["run_id"]
    path = f"/api/contrail/v1/job-runs/{job_run_id}"
    _until(
        lambda: b"step 20 done" in server.get(f"{path}/logs/download?raw=1&node=0"),
        "the 20th step in the logs",
    )
    server.kill()
    time.sleep(3)  # the outage itself: training goes on without a server
    server.start()

    job = _until(lambda: _ended(json.loads(server.get(path))), "the job's end")
    assert (job["result"], job["attempts"][0]["exit_code"]) == (
        ("FAILED", 5) if exit_code else ("SUCCESS", 0)
    )
    assert len(job["attempts"]) == 1
    log = server.get(f"{path}/logs/download?raw=1&node=0").decode()
    steps = [line for line in log.splitlines() if line.startswith("step ")]
    assert steps == [f"step {step} done" for step in range(STEPS)]
    assert "node 1 of 2" in server.get(f"{path}/logs/download?raw=1&node=1").decode()

    client = MlflowClient(server.url)
    run_id = job["attempts"][0]["run_id"]
    history = client.get_metric_history(run_id, "train_loss")
    assert [(point.step, point.value) for point in history] == [
        (step, 1 / (step + 1)) for step in range(STEPS)
    ]
    run = client.get_run(run_id)
    assert run.data.params == {"learning_rate": "0.0003"}
    assert run.info.status == ("FAILED" if exit_code else "FINISHED")


def _ended(job: dict[str, Any]) -> dict[str, Any] | None:
    return job if job["state"] in {"TERMINATED", "INTERNAL_ERROR"} else None
