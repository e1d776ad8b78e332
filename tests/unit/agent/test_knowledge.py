"""What a node knows of its runs."""

from __future__ import annotations

import json
import math

import pytest

from contrail.agent.knowledge import Knowledge
from contrail.model.errors import InvalidParameterValue
from contrail.model.jobs import AgentSpec
from contrail.model.tracking import Metric, RunStatus


@pytest.fixture
def knowledge():
    spec = AgentSpec(
        attempt_id=1,
        job_run_id=2,
        attempt_number=0,
        node=0,
        num_nodes=1,
        local_world_size=1,
        master_addr="",
        master_port=0,
        server_address="",
        token="t",
        run_id="own",
        run_name="first",
        experiment_id="7",
        experiment_name="e",
        artifact_uri="mlflow-artifacts:/7/own/artifacts",
        user="kim",
        command="",
        work_dir="",
        environments_dir="",
        heartbeat_interval_s=1.0,
        metrics_interval_s=1.0,
        grace_s=1.0,
    )
    return Knowledge(spec, 5)


def test_the_own_run_is_known_from_the_start(knowledge):
    """Name, experiment and place of artifacts come from the spec."""
    run = knowledge.run("own")
    assert (run.info.name, run.info.experiment_id, run.info.status) == ("first", 7, RunStatus.RUNNING)
    assert knowledge.experiment.artifact_location == "mlflow-artifacts:/7"
    assert knowledge.run("other") is None


def test_the_latest_metric_is_the_greatest_step(knowledge):
    """As in MLflow: by step, then time, then value, where NaN counts as 0."""
    points = [
        Metric("k", 5.0, 9, 2),
        Metric("k", 1.0, 9, 1),
        Metric("k", math.nan, 9, 2),
        Metric("k", 4.0, 8, 2),
    ]
    knowledge.log_metrics("own", points)
    (latest,) = knowledge.run("own").metrics
    assert latest == Metric("k", 5.0, 9, 2)


def test_a_changed_param_is_refused_whole(knowledge):
    """One conflict refuses all params of the request; equal values are no conflict."""
    knowledge.log_params("own", [("lr", "1")])
    knowledge.log_params("own", [("lr", "1")])
    with pytest.raises(InvalidParameterValue, match="Changing param values is not allowed"):
        knowledge.log_params("own", [("new", "1"), ("lr", "2")])
    assert [param.key for param in knowledge.run("own").params] == ["lr"]


def test_an_answer_teaches(knowledge):
    """A run that was read is known with its params; a deleted one is not taken for writable."""
    info = {
        "run_id": "old",
        "experiment_id": "7",
        "status": "FINISHED",
        "lifecycle_stage": "active",
        "run_name": "x",
    }
    data = {"params": [{"key": "lr", "value": "3"}], "tags": [{"key": "t"}]}
    knowledge.learn(json.dumps({"run": {"info": info, "data": data}}).encode())
    with pytest.raises(InvalidParameterValue):
        knowledge.log_params("old", [("lr", "4")])
    assert knowledge.knows("old")
    knowledge.learn(json.dumps({"run": {"info": {**info, "lifecycle_stage": "deleted"}}}).encode())
    assert not knowledge.knows("old")


@pytest.mark.parametrize("answer", [b"", b"{}", b"[]", b'{"run": 5}', b'{"run": {"info": {"run_id": "x"}}}'])
def test_nonsense_teaches_nothing(knowledge, answer):
    """An answer that is not a run changes nothing and raises nothing."""
    knowledge.learn(answer)
    assert not knowledge.knows("x")


def test_names_follow_tags_and_updates(knowledge):
    """The name's tag renames the run, and renaming sets the tag."""
    knowledge.set_tags("own", [("mlflow.runName", "second")])
    assert knowledge.info("own").name == "second"
    knowledge.update("own", RunStatus.FINISHED, 9, "third")
    tags = {tag.key: tag.value for tag in knowledge.run("own").tags}
    assert tags["mlflow.runName"] == "third"
    assert knowledge.info("own").end_ms == 9
