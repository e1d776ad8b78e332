"""The demo workload from submit to the last artifact, through the CLI, HTTP and the official client."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.xdist_group("demo")]


@pytest.fixture
def client(demo: Any) -> MlflowClient:
    """The official client."""
    return MlflowClient(demo.server.url)


def test_watch_reports_the_whole_life(demo: Any) -> None:
    """JSON lines go from SUBMITTED over states and log lines to the result."""
    kinds = [event.get("type") for event in demo.events]
    assert kinds[0] == "SUBMITTED"
    assert {"STATUS", "LOG"} <= set(kinds)
    assert demo.events[-1]["data"]["status"] == "SUCCESS"
    lines = [event["line"] for event in demo.events if event.get("type") == "LOG"]
    assert any(f"epoch {demo.epochs}/{demo.epochs}" in line for line in lines)


def test_one_attempt_one_finished_run(demo: Any, client: MlflowClient) -> None:
    """The attempt has its own run in the experiment, finished with the truth about it."""
    run = client.get_run(demo.run_id)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "mlp-64"
    assert run.data.tags["contrail.job_run_id"] == demo.job_run_id
    experiment = client.get_experiment_by_name("digits")
    assert experiment is not None
    assert run.info.experiment_id == experiment.experiment_id
    assert (demo.job["result"], len(demo.job["attempts"])) == ("SUCCESS", 1)
    assert demo.job["attempts"][0]["exit_code"] == 0
    assert run.info.end_time == demo.job["attempts"][0]["ended_ms"]


def test_params_and_every_epoch_are_there(demo: Any, client: MlflowClient) -> None:
    """What the script logged is what is stored: params, and one point per epoch and curve."""
    run = client.get_run(demo.run_id)
    assert run.data.params["hidden_units"] == "64"
    assert run.data.params["learning_rate"] == "0.003"
    for key in ("train_loss", "val_loss", "train_accuracy", "val_accuracy"):
        history = client.get_metric_history(demo.run_id, key)
        assert [point.step for point in history] == list(range(1, demo.epochs + 1))
    losses = [point.value for point in client.get_metric_history(demo.run_id, "train_loss")]
    assert losses[-1] < losses[0] / 2, "a real training learns"


def test_picture_and_model_are_artifacts(demo: Any, client: MlflowClient, tmp_path: Path) -> None:
    """The confusion matrix is a PNG and the model file is there, through the official client."""
    assert {file.path for file in client.list_artifacts(demo.run_id)} >= {"plots", "model"}
    picture = Path(client.download_artifacts(demo.run_id, "plots/confusion_matrix.png", str(tmp_path)))
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    model = Path(client.download_artifacts(demo.run_id, "model/model.pkl", str(tmp_path)))
    assert model.stat().st_size > 10_000


def test_system_metrics_come_without_code(demo: Any, client: MlflowClient) -> None:
    """CPU, memory, disk and network are recorded under MLflow's names."""
    metrics = client.get_run(demo.run_id).data.metrics
    for name in ("cpu_utilization_percentage", "system_memory_usage_megabytes", "disk_usage_percentage"):
        assert f"system/{name}" in metrics
    assert "system/network_receive_megabytes" in metrics


def test_logs_can_be_read_searched_and_downloaded(demo: Any, tmp_path: Path) -> None:
    """The CLI prints the tail, HTTP searches the text and filters the level, the download is whole."""
    tail = demo.cli("logs", demo.job_run_id, "--tail", "3")
    assert len(tail.out.splitlines()) == 3
    base = f"/api/contrail/v1/job-runs/{demo.job_run_id}/logs"
    page = json.loads(demo.server.get(f"{base}?q=EPOCH+3%2F"))
    assert [line["level"] for line in page["lines"]] == ["info"]
    assert f"epoch 3/{demo.epochs} loss" in page["lines"][0]["text"]
    nothing = json.loads(demo.server.get(f"{base}?q=no-such-words"))
    assert (nothing["lines"], nothing["empty_reason"]) == ([], "no_match")
    demo.cli("logs", demo.job_run_id, "--download-to", str(tmp_path))
    whole = (tmp_path / "logs" / "node_0.log").read_bytes()
    assert whole == demo.server.get(f"{base}/download?raw=1&node=0")
    assert whole.count(b"loss") >= demo.epochs
    assert demo.job["attempts"][0]["nodes"][0]["log_bytes"] == len(whole)


def test_list_and_get_agree(demo: Any) -> None:
    """Text and JSON tell the same truth."""
    rows = demo.cli("list", "--all-status", "-o", "json").data["runs"]
    row = next(row for row in rows if row["run_id"] == demo.job_run_id)
    detail = demo.cli("get", demo.job_run_id, "-o", "json").data
    assert row["status"] == detail["status"] == "SUCCESS"
    text = demo.cli("get", demo.job_run_id).out
    assert "SUCCESS" in text
    assert f"/jobs/{demo.job_run_id}" in text
    assert demo.run_id in text
    assert detail["experiment_name"] == "digits"


def test_links_open_pages(demo: Any) -> None:
    """The printed links are pages of this server, deep links included."""
    for path in (f"/jobs/{demo.job_run_id}", f"/runs/{demo.run_id}"):
        request = urllib.request.Request(demo.server.url + path, headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.headers["content-type"].startswith("text/html")
