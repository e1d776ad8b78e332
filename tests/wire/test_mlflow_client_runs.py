"""Runs and what is logged to them, through the official client."""

from __future__ import annotations

import math
from typing import Any

import pytest

mlflow = pytest.importorskip("mlflow")
from mlflow.entities import Metric, Param, RunTag  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.tracking.client import MlflowClient  # noqa: E402


@pytest.fixture(scope="module")
def experiment(client: Any) -> str:
    """An experiment for this module."""
    identity: str = client.create_experiment("runs")
    return identity


@pytest.fixture
def run_id(client: Any, experiment: str) -> str:
    """A fresh run."""
    identity: str = client.create_run(experiment).info.run_id
    return identity


def test_a_new_run_has_what_was_given(client: Any, experiment: str) -> None:
    """Name, times, tags, and an artifact folder of its own."""
    run = client.create_run(
        experiment, start_time=1234, tags={"a": "b", "mlflow.user": "kim"}, run_name="첫 런 🚀"
    )
    found = client.get_run(run.info.run_id)
    assert found.info.run_name == "첫 런 🚀"
    assert found.info.start_time == 1234
    assert found.info.end_time is None
    assert found.info.status == "RUNNING"
    assert found.info.lifecycle_stage == "active"
    assert found.info.experiment_id == experiment
    assert found.info.artifact_uri == f"mlflow-artifacts:/{experiment}/{run.info.run_id}/artifacts"
    assert found.data.tags == {"a": "b", "mlflow.user": "kim", "mlflow.runName": "첫 런 🚀"}
    assert found.data.metrics == {}
    assert found.data.params == {}


def test_a_run_without_a_name_gets_one(client: Any, run_id: str) -> None:
    """adjective-noun-number, also as its tag."""
    found = client.get_run(run_id)
    adjective, noun, count = found.info.run_name.split("-")
    assert adjective.isalpha()
    assert noun.isalpha()
    assert count.isdecimal()
    assert len(found.info.run_name) <= 20
    assert found.data.tags["mlflow.runName"] == found.info.run_name


def test_the_name_and_its_tag_are_one_thing(client: Any, run_id: str) -> None:
    """Whichever of them is changed."""
    client.set_tag(run_id, "mlflow.runName", "by tag")
    assert client.get_run(run_id).info.run_name == "by tag"
    client.update_run(run_id, name="by name")
    assert client.get_run(run_id).data.tags["mlflow.runName"] == "by name"
    with pytest.raises(MlflowException, match="with different values"):
        client.create_run("0", run_name="a", tags={"mlflow.runName": "b"})


def test_finishing_and_reopening(client: Any, run_id: str) -> None:
    """Status and end time are what was said last."""
    client.set_terminated(run_id, "FAILED", end_time=99)
    assert (client.get_run(run_id).info.status, client.get_run(run_id).info.end_time) == ("FAILED", 99)
    client.update_run(run_id, status="RUNNING")
    assert client.get_run(run_id).info.status == "RUNNING"


def test_deleting_and_restoring(client: Any, run_id: str) -> None:
    """Both may be repeated; a deleted run can be read but not written."""
    client.delete_run(run_id)
    client.delete_run(run_id)
    assert client.get_run(run_id).info.lifecycle_stage == "deleted"
    for write in (
        lambda: client.log_metric(run_id, "m", 1),
        lambda: client.log_param(run_id, "p", 1),
        lambda: client.set_tag(run_id, "t", 1),
        lambda: client.update_run(run_id, status="FINISHED"),
        lambda: client.log_batch(run_id, metrics=[Metric("m", 1, 1, 1)]),
    ):
        with pytest.raises(
            MlflowException, match=r"must be in the 'active' state\. Current state is deleted\."
        ):
            write()
    client.restore_run(run_id)
    client.restore_run(run_id)
    client.log_metric(run_id, "m", 1)


def test_a_run_that_does_not_exist(client: Any) -> None:
    """The same answer to every question about it."""
    for ask in (
        lambda: client.get_run("0" * 32),
        lambda: client.log_metric("0" * 32, "m", 1),
        lambda: client.log_batch("0" * 32, metrics=[Metric("m", 1, 1, 1)]),
        lambda: client.set_terminated("0" * 32),
        lambda: client.delete_run("0" * 32),
    ):
        with pytest.raises(MlflowException, match="not found") as caught:
            ask()
        assert caught.value.error_code == "RESOURCE_DOES_NOT_EXIST"
    assert client.get_metric_history("0" * 32, "m") == []


def test_params_never_change(client: Any, run_id: str) -> None:
    """The same value again is fine, another one is refused, alone and in a batch."""
    client.log_param(run_id, "lr", 0.1)
    client.log_param(run_id, "lr", 0.1)
    with pytest.raises(MlflowException, match="Changing param values is not allowed"):
        client.log_param(run_id, "lr", 0.2)
    with pytest.raises(MlflowException, match="Changing param values is not allowed"):
        client.log_batch(
            run_id, metrics=[Metric("left", 1, 1, 1)], params=[Param("lr", "0.2"), Param("new", "1")]
        )
    found = client.get_run(run_id).data
    assert found.params == {"lr": "0.1"}
    assert found.metrics == {}, "a refused batch leaves nothing behind"


def test_long_values_are_cut_and_the_run_says_so(client: Any, run_id: str) -> None:
    """At MLflow's limits; nothing is altered silently."""
    client.log_param(run_id, "p", "x" * 6000)
    client.log_param(run_id, "long", "x" * 60_000)
    client.set_tag(run_id, "t", "y" * 9000)
    found = client.get_run(run_id).data
    assert found.params["p"] == "x" * 6000
    assert found.params["long"] == "x" * 6000
    assert found.tags["t"] == "y" * 8000
    assert found.tags["contrail.truncated.param.long"] == "60000 characters, cut to 6000"
    assert found.tags["contrail.truncated.tag.t"] == "9000 characters, cut to 8000"
    assert "contrail.truncated.param.p" not in found.tags


def test_tags_are_overwritten_and_deleted(client: Any, run_id: str) -> None:
    """The last one wins, also inside one batch."""
    client.log_batch(run_id, tags=[RunTag("t", "1"), RunTag("t", "2"), RunTag("빈", "")])
    assert client.get_run(run_id).data.tags["t"] == "2"
    assert client.get_run(run_id).data.tags["빈"] == ""
    client.delete_tag(run_id, "t")
    assert "t" not in client.get_run(run_id).data.tags
    with pytest.raises(MlflowException, match="No tag with name: t"):
        client.delete_tag(run_id, "t")


def test_non_finite_metrics_stay_themselves(client: Any, run_id: str) -> None:
    """NaN and infinities come back from everywhere they can be read."""
    for key, value in (("nan", math.nan), ("inf", math.inf), ("ninf", -math.inf)):
        client.log_metric(run_id, key, value, timestamp=1, step=1)
        client.log_batch(run_id, metrics=[Metric(key, value, 2, 2)])
    found = client.get_run(run_id).data.metrics
    assert math.isnan(found["nan"])
    assert (found["inf"], found["ninf"]) == (math.inf, -math.inf)
    assert [point.value for point in client.get_metric_history(run_id, "inf")] == [math.inf, math.inf]
    assert all(math.isnan(point.value) for point in client.get_metric_history(run_id, "nan"))


def test_the_latest_metric_is_the_one_of_the_last_step(client: Any, run_id: str) -> None:
    """By (step, timestamp, value), in whatever order points arrive."""
    for value, timestamp, step in (
        (1.0, 1000, 0),
        (2.0, 2000, 2),
        (9.0, 5000, 1),
        (3.0, 2500, 2),
        (2.5, 2500, 2),
    ):
        client.log_metric(run_id, "m", value, timestamp=timestamp, step=step)
    assert client.get_run(run_id).data.metrics["m"] == 3.0
    history = [(p.timestamp, p.step, p.value) for p in client.get_metric_history(run_id, "m")]
    assert history == [(1000, 0, 1.0), (2000, 2, 2.0), (2500, 2, 2.5), (2500, 2, 3.0), (5000, 1, 9.0)]


def test_a_point_sent_again_is_one_point(client: Any, run_id: str) -> None:
    """So clients may repeat a request of which they lost the answer."""
    batch = [Metric(f"k{i}", i, 10, 1) for i in range(150)]
    for _ in range(3):
        client.log_batch(run_id, metrics=batch)
    client.log_batch(run_id, metrics=[*batch, Metric("k0", 5, 11, 2)])
    assert len(client.get_metric_history(run_id, "k7")) == 1
    assert [p.step for p in client.get_metric_history(run_id, "k0")] == [1, 2]


def test_extreme_steps_and_values_come_back_exactly(client: Any, run_id: str) -> None:
    """All 64 bits."""
    points = [(2**53 + 1, 0.1), (2**63 - 1, 5e-324), (-(2**63), 1.7976931348623157e308), (-3, -0.0)]
    for step, value in points:
        client.log_metric(run_id, "x", value, step=step, timestamp=10**18)
    found = {p.step: p.value for p in client.get_metric_history(run_id, "x")}
    assert found == dict(points)
    assert math.copysign(1, found[-3]) == -1


def test_long_histories_come_in_pages(client: Any, run_id: str) -> None:
    """The client follows the tokens; nothing is lost or doubled at their edges."""
    for start in range(0, 5000, 1000):
        client.log_batch(run_id, metrics=[Metric("loss", i, i // 3, i) for i in range(start, start + 1000)])
    assert [p.step for p in client.get_metric_history(run_id, "loss")] == list(range(5000))
    store = client._tracking_client.store
    steps: list[int] = []
    token = None
    while True:
        page = store.get_metric_history(run_id, "loss", max_results=700, page_token=token)
        assert len(page) <= 700
        steps += [p.step for p in page]
        token = page.token
        if not token:
            break
    assert steps == list(range(5000))


@pytest.mark.parametrize(
    ("metrics", "params", "tags"), [(1001, 0, 0), (0, 101, 0), (0, 0, 101), (901, 100, 0)]
)
def test_a_batch_above_the_limits_is_refused_whole(
    client: Any, run_id: str, metrics: int, params: int, tags: int
) -> None:
    """The store's own client method does not split; the server says which limit it is."""
    with pytest.raises(MlflowException, match="can contain at most") as caught:
        client._tracking_client.store.log_batch(
            run_id,
            [Metric("m", 1, 1, i) for i in range(metrics)],
            [Param(f"p{i}", "v") for i in range(params)],
            [RunTag(f"t{i}", "v") for i in range(tags)],
        )
    assert caught.value.error_code == "INVALID_PARAMETER_VALUE"
    found = client.get_run(run_id).data
    assert not found.metrics
    assert not found.params


def test_the_largest_batch_is_stored(client: Any, run_id: str) -> None:
    """800 + 100 + 100."""
    client.log_batch(
        run_id,
        [Metric(f"m{i}", i, 1, 0) for i in range(800)],
        [Param(f"p{i}", "v") for i in range(100)],
        [RunTag(f"t{i}", "v") for i in range(100)],
    )
    found = client.get_run(run_id).data
    assert (len(found.metrics), len(found.params)) == (800, 100)


def test_fluent_training_from_start_to_end(client: Any, run_id: str) -> None:
    """set_experiment, start_run, log, end: the sequence of every tutorial."""
    mlflow.set_experiment("fluent")
    with mlflow.start_run(run_name="outer") as run:
        mlflow.log_params({f"p{i}": i for i in range(250)})
        mlflow.set_tags({"a": 1})
        for step in range(3):
            mlflow.log_metrics({"loss": 1 / (step + 1), "acc": step}, step=step)
        mlflow.log_metric("late", 5, synchronous=False)
        mlflow.flush_async_logging()
        with mlflow.start_run(nested=True, run_name="inner") as child:
            mlflow.log_metric("x", 1)
    found = client.get_run(run.info.run_id)
    assert found.info.status == "FINISHED"
    assert found.info.end_time >= found.info.start_time
    assert len(found.data.params) == 250
    assert found.data.metrics == {"loss": pytest.approx(1 / 3), "acc": 2, "late": 5}
    inner = client.get_run(child.info.run_id)
    assert inner.data.tags["mlflow.parentRunId"] == run.info.run_id
    assert client.get_experiment_by_name("fluent").experiment_id == found.info.experiment_id
    assert found.data.tags["mlflow.source.type"] == "LOCAL"


def test_a_failing_training_ends_failed_and_can_be_resumed(client: Any) -> None:
    """MLFLOW_RUN_ID of an older run continues it."""

    def crash() -> None:
        with mlflow.start_run() as run:
            mlflow.log_metric("m", 1, step=1)
            ids.append(run.info.run_id)
            raise RuntimeError("the GPU fell off the bus")

    ids: list[str] = []
    with pytest.raises(RuntimeError):
        crash()
    assert client.get_run(ids[0]).info.status == "FAILED"
    with mlflow.start_run(run_id=ids[0]):
        assert client.get_run(ids[0]).info.status == "RUNNING"
        mlflow.log_metric("m", 2, step=2)
    assert client.get_run(ids[0]).info.status == "FINISHED"
    assert [p.value for p in client.get_metric_history(ids[0], "m")] == [1, 2]


def test_data_sets_are_inputs_of_a_run(client: Any, api: Any) -> None:
    """With their context; the first description of a data set counts."""
    numpy = pytest.importorskip("numpy")
    experiment = mlflow.set_experiment("with data").experiment_id
    dataset = mlflow.data.from_numpy(numpy.arange(6).reshape(3, 2), name="digits")
    with mlflow.start_run() as run:
        mlflow.log_input(dataset, context="training", tags={"more": "1"})
        mlflow.log_input(dataset, context="training")
    (found,) = client.get_run(run.info.run_id).inputs.dataset_inputs
    assert found.dataset.name == "digits"
    assert found.dataset.digest == dataset.digest
    assert {tag.key: tag.value for tag in found.tags} == {"mlflow.data.context": "training", "more": "1"}
    (by_filter,) = client.search_runs(
        [experiment], "dataset.name = 'digits' AND dataset.context = 'training'"
    )
    assert by_filter.info.run_id == run.info.run_id
    summaries = api.http.post(
        "/ajax-api/2.0/mlflow/experiments/search-datasets", json={"experiment_ids": [experiment]}
    ).json()["dataset_summaries"]
    assert summaries == [
        {"experiment_id": experiment, "name": "digits", "digest": dataset.digest, "context": "training"}
    ]


def test_two_clients_write_to_one_run(client: Any, api: Any, run_id: str) -> None:
    """Concurrent batches, out of order, all arrive."""
    from concurrent.futures import ThreadPoolExecutor

    def write(part: int) -> None:
        other = MlflowClient(api.url)
        for step in range(part, 200, 4):
            other.log_batch(
                run_id, metrics=[Metric("loss", step, step, step), Metric("acc", -step, step, step)]
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert [p.step for p in client.get_metric_history(run_id, "loss")] == list(range(200))
    assert client.get_run(run_id).data.metrics == {"loss": 199, "acc": -199}
