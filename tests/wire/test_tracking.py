"""The use cases without HTTP: what jobs and node agents call."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contrail.model.errors import EndpointNotFound, InvalidParameterValue, ResourceDoesNotExist
from contrail.model.settings import Settings
from contrail.model.tracking import RunStatus, Tag
from contrail.store.database import Database
from contrail.tracking import Tracking
from contrail.wire.tracking import DeleteTag, GetHistory, OfExperiment


@pytest.fixture
def tracking(tmp_path: Path) -> Iterator[Tracking]:
    """Tracking on a database of its own; the clock stands at 1,000 seconds."""
    database = Database.open(f"sqlite:///{tmp_path / 'db'}", durability="process")
    yield Tracking(database, Settings(environ={}), clock=lambda: 1000.0)
    database.close()


def body(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def test_an_experiment_is_made_once_however_many_ask(tracking: Tracking) -> None:
    """Jobs that start together share their experiment."""
    with ThreadPoolExecutor(8) as pool:
        ids = {
            found.experiment_id
            for found in pool.map(lambda _: tracking.experiments.get_or_create("e"), range(32))
        }
    assert len(ids) == 1
    found = tracking.experiments.get_or_create("v", "/Volumes/c/s/v/p/", now_ms=5)
    assert (found.artifact_location, found.created_ms) == ("mlflow-artifacts:/Volumes/c/s/v/p", 5)


def test_a_deleted_experiment_is_not_used_silently(tracking: Tracking) -> None:
    """Its runs would be invisible."""
    found = tracking.experiments.get_or_create("e")
    tracking.experiments.delete(OfExperiment(str(found.experiment_id))).result()
    with pytest.raises(InvalidParameterValue, match="deleted"):
        tracking.experiments.get_or_create("e")


def test_jobs_make_and_finish_runs(tracking: Tracking) -> None:
    """With tags, under an id of their own choice."""
    run = tracking.runs.create(0, "", "kim", [Tag("contrail.job_run_id", "1")], 7, run_id="abc")
    assert (run.info.run_id, run.info.user_id, run.info.start_ms) == ("abc", "kim", 7)
    assert run.info.name
    assert tracking.runs.create(0, "other", "kim", [], 9, run_id="abc") == run, "the same id is the same run"
    assert tracking.runs.finish("abc", RunStatus.KILLED, 11).status is RunStatus.KILLED
    assert tracking.runs.get("abc").info.end_ms == 11
    with pytest.raises(ResourceDoesNotExist):
        tracking.runs.finish("nope", RunStatus.KILLED, 11)


def test_relayed_writes_are_those_of_http(tracking: Tracking) -> None:
    """Same decoding, same checks, applied once however often they come."""
    create = body(run_id="child", experiment_id="0", run_name="n", start_time=3)
    for _ in range(2):
        assert tracking.rpc_write("runs/create", create).result().info.run_id == "child"
    points = [{"key": "m", "value": "NaN", "timestamp": "1", "step": i} for i in range(3)]
    for _ in range(2):
        batch = body(run_id="child", metrics=points, params=[{"key": "p", "value": "1"}])
        tracking.rpc_write("runs/log-batch", batch).result()
    tracking.rpc_write("runs/log-metric", body(run_id="child", key="m", value=1, timestamp=2)).result()
    tracking.rpc_write("runs/log-parameter", body(run_id="child", key="q", value="2")).result()
    tracking.rpc_write("runs/set-tag", body(run_id="child", key="t", value="3")).result()
    tracking.rpc_write("runs/set-tag", body(run_id="child", key="u", value="3")).result()
    tracking.rpc_write("runs/delete-tag", body(run_id="child", key="u")).result()
    tracking.rpc_write("runs/update", body(run_id="child", status="FINISHED", end_time=9)).result()
    dataset = {"dataset": {"name": "d", "digest": "1"}}
    tracking.rpc_write("runs/log-inputs", body(run_id="child", datasets=[dataset])).result()
    run = tracking.runs.get("child")
    assert {param.key: param.value for param in run.params} == {"p": "1", "q": "2"}
    assert {tag.key: tag.value for tag in run.tags} == {"mlflow.runName": "n", "t": "3"}
    assert (run.info.status, run.info.end_ms, len(run.inputs)) == (RunStatus.FINISHED, 9, 1)
    part, token = tracking.metrics.page(GetHistory(run_id="child", metric_key="m", max_results=10))
    assert (part.points.steps.tolist(), token) == ([0, 1, 2, 0], None)


def test_a_relayed_write_that_can_never_succeed_fails_at_once(tracking: Tracking) -> None:
    """So the agent drops it instead of sending it for ever."""
    with pytest.raises(EndpointNotFound):
        tracking.rpc_write("runs/delete", body(run_id="r"))
    with pytest.raises(InvalidParameterValue):
        tracking.rpc_write("runs/log-metric", b"{")
    with pytest.raises(InvalidParameterValue):
        tracking.rpc_write("runs/create", body(run_id="../x"))
    with pytest.raises(ResourceDoesNotExist):
        tracking.rpc_write("runs/set-tag", body(run_id="nope", key="k")).result()


def test_a_client_cannot_choose_a_run_id(tracking: Tracking) -> None:
    """Only a relayed creation can; over HTTP the field is ignored."""
    from contrail.wire.tracking import CreateRun

    assert tracking.runs.create_from(CreateRun(run_id="mine")).result().info.run_id != "mine"


def test_long_values_are_refused_when_cutting_is_off(tmp_path: Path) -> None:
    """Setting truncate_long_values."""
    database = Database.open(f"sqlite:///{tmp_path / 'db'}", durability="process")
    tracking = Tracking(database, Settings({"truncate_long_values": False}, environ={}))
    run = tracking.runs.create(0, "r", "u", [], 1)
    for path, size in (("runs/log-parameter", 6001), ("runs/set-tag", 8001)):
        with pytest.raises(InvalidParameterValue, match="exceeds the maximum length"):
            tracking.rpc_write(path, body(run_id=run.info.run_id, key="k", value="x" * size))
    database.close()


def test_reading_does_not_wait_for_writing(tracking: Tracking) -> None:
    """A long write transaction blocks no page."""
    started, release = threading.Event(), threading.Event()

    def slow(_connection: object) -> None:
        started.set()
        release.wait(30)

    pending = tracking.runs._write(slow)
    assert started.wait(10)
    assert tracking.experiments.get(OfExperiment("0")).name == "Default"
    release.set()
    pending.result()


def test_deleting_a_tag_needs_the_tag(tracking: Tracking) -> None:
    """404 when there is none."""
    run = tracking.runs.create(0, "r", "u", [], 1)
    with pytest.raises(ResourceDoesNotExist, match="No tag with name: nope"):
        tracking.runs.delete_tag(DeleteTag(run_id=run.info.run_id, key="nope")).result()
