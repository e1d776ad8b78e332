"""Logging metrics, params and tags of many requests in one commit."""

from __future__ import annotations

import math

import pytest

from contrail.model.errors import InvalidParameterValue, ResourceDoesNotExist
from contrail.model.tracking import Metric, Param, Tag
from contrail.store import metrics, runs, tables
from contrail.store.metrics import LogItem, log_items


def apply(store, *items: LogItem) -> list[Exception | None]:
    """The outcomes of items that share one commit."""
    return store.write(lambda c: log_items(c, list(items)))


def test_a_run_shows_what_was_logged(store) -> None:
    """Metrics show their latest value; params and tags their text; everything sorted by key."""
    run_id = store.run(tags=[Tag("b", "1")])
    store.log(run_id, ("loss", 0.5, 10, 1), ("acc", 0.9, 10, 1), params={"lr": "0.1"}, tags={"a": "x"})
    store.log(run_id, ("loss", 0.25, 20, 2))
    run = store.get(run_id)
    assert run.metrics == (Metric("acc", 0.9, 10, 1), Metric("loss", 0.25, 20, 2))
    assert run.params == (Param("lr", "0.1"),)
    assert run.tags == (Tag("a", "x"), Tag("b", "1"), Tag("mlflow.runName", "run"))


def test_the_latest_value_is_the_greatest_by_step_then_time_then_value(store) -> None:
    """Not the last one received: MLflow's rule, with NaN counting as 0."""
    run_id = store.run()
    for value, time, step in [(5.0, 9, 1), (1.0, 3, 4), (2.0, 8, 2), (0.5, 3, 4), (math.nan, 3, 4)]:
        store.log(run_id, ("m", value, time, step))
    assert store.get(run_id).metrics == (Metric("m", 1.0, 3, 4),)
    store.log(run_id, ("n", math.nan, 1, 1), ("n", -1.0, 1, 1))
    (latest,) = [m for m in store.get(run_id).metrics if m.key == "n"]
    assert math.isnan(latest.value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 5e-324, 1.7976931348623157e308, -0.0])
def test_every_float_stays_itself(store, value: float) -> None:
    """Infinities and extreme numbers come back exactly."""
    run_id = store.run()
    store.log(run_id, ("m", value, 1, 2**53 + 1))
    assert store.get(run_id).metrics == (Metric("m", value, 1, 2**53 + 1),)
    assert store.history(run_id, "m") == [(1, 2**53 + 1, value)]


@pytest.mark.parametrize("step", [2**63, -(2**63) - 1])
@pytest.mark.parametrize("more", [0, 3])
def test_a_number_out_of_range_fails_its_item_alone(store, step: int, more: int) -> None:
    """A step beyond 64 bits is refused with the rest of its item; its neighbours are stored."""
    run_id = store.run()
    bad = LogItem(
        run_id,
        [Metric("bad", 1.0, 1, step), *[Metric("bad", 1.0, 1, i) for i in range(more)]],
        [Param("bad", "1")],
        [Tag("bad", "1")],
    )
    good = LogItem(run_id, [Metric("good", 1.0, 1, 1)])
    outcomes = apply(store, good, bad, good)
    assert outcomes[0] is outcomes[2] is None
    assert isinstance(outcomes[1], InvalidParameterValue)
    run = store.get(run_id)
    assert [metric.key for metric in run.metrics] == ["good"]
    assert run.params == ()
    assert [tag.key for tag in run.tags] == ["mlflow.runName"]


def test_a_param_never_changes(store) -> None:
    """The same value again succeeds; another is refused with MLflow's message, and nothing of its item is stored."""
    run_id = store.run()
    same = LogItem(run_id, params=[Param("lr", "0.1"), Param("depth", "3")])
    assert apply(store, same, same) == [None, None]
    other = LogItem(
        run_id, [Metric("m", 1.0, 1, 1)], [Param("new", "1"), Param("lr", "0.2")], [Tag("t", "1")]
    )
    (outcome,) = apply(store, other)
    assert str(outcome) == (
        "Changing param values is not allowed. Params were already logged='[{'key': 'lr', 'old_value': '0.1', "
        f"'new_value': '0.2'}}]' for run ID='{run_id}'."
    )
    run = store.get(run_id)
    assert run.params == (Param("depth", "3"), Param("lr", "0.1"))
    assert (run.metrics, len(run.tags)) == ((), 1)


def test_items_of_one_commit_see_each_others_params(store) -> None:
    """Two requests that race for one param in one commit end like one after the other."""
    run_id = store.run()
    outcomes = apply(
        store,
        LogItem(run_id, params=[Param("lr", "1")]),
        LogItem(run_id, params=[Param("lr", "2")]),
        LogItem(run_id, params=[Param("lr", "1")]),
        LogItem(run_id, params=[Param("x", "1"), Param("x", "2")]),
    )
    assert [type(outcome) for outcome in outcomes] == [
        type(None),
        InvalidParameterValue,
        type(None),
        InvalidParameterValue,
    ]
    assert store.get(run_id).params == (Param("lr", "1"),)


def test_the_last_tag_wins_and_a_name_tag_renames(store) -> None:
    """Tags are overwritten, also within one item; mlflow.runName and the run's name are one thing."""
    run_id = store.run("old")
    apply(store, LogItem(run_id, tags=[Tag("t", "1"), Tag("t", "2"), Tag("mlflow.runName", "new 런")]))
    run = store.get(run_id)
    assert run.info.name == "new 런"
    assert run.tags == (Tag("mlflow.runName", "new 런"), Tag("t", "2"))
    store.write(lambda c: runs.update(c, run_id, name="third"))
    assert Tag("mlflow.runName", "third") in store.get(run_id).tags


def test_unknown_and_deleted_runs_are_refused(store) -> None:
    """A write to a run that does not exist, or is in the trash, leaves nothing, not even its metric keys."""
    gone, alive = store.run(), store.run()
    store.write(lambda c: runs.delete(c, gone, 5))
    point = Metric("never", 1.0, 1, 1)
    outcomes = apply(
        store, LogItem("missing", [point]), LogItem(gone, [point]), LogItem(alive, [Metric("m", 1.0, 1, 1)])
    )
    assert isinstance(outcomes[0], ResourceDoesNotExist)
    assert str(outcomes[1]) == f"The run {gone} must be in the 'active' state. Current state is deleted."
    assert outcomes[2] is None
    assert store.count(tables.metric_keys) == 1


def test_a_commit_writes_one_block_per_run(store) -> None:
    """However many requests share a commit, each run gets one block."""
    first, second = store.run(), store.run()
    items = [LogItem(run_id, [Metric("m", i, i, i)]) for i in range(50) for run_id in (first, second)]
    apply(store, *items)
    assert store.count(tables.metric_blocks) == 2
    assert len(store.history(first, "m")) == 50


def test_extremes_cover_the_whole_history(store) -> None:
    """First, lowest and highest value are those of all points, also infinite ones; NaN counts for neither."""
    run_id = store.run()
    for value, step in [(3.0, 5), (math.nan, 6), (7.0, 4), (-1.0, 9), (2.0, 8)]:
        store.log(run_id, ("m", value, 1, step))
    store.log(run_id, ("n", math.nan, 1, 1))
    m, n = store.read(lambda c: runs.summary(c, run_id)).metrics
    assert (m.first, m.last, m.min, m.max, m.points) == (7.0, -1.0, -1.0, 7.0, 5)
    assert (n.min, n.max, n.points) == (None, None, 1)


def test_sending_a_batch_again_costs_the_same_and_adds_nothing(store) -> None:
    """A re-sent batch adds a block until compaction drops it; history and counts never show it twice."""
    run_id = store.run()
    batch = [("loss", float(i), 1_000 + i, i) for i in range(500)]
    store.log(run_id, *batch)
    store.compact(run_id)
    for _ in range(3):
        store.log(run_id, *batch)
    assert len(store.history(run_id, "loss")) == 500
    before = store.read(lambda c: c.execute(tables.metric_chunks.select()).all())
    store.compact(run_id)
    assert store.count(tables.metric_blocks) == 0
    assert store.read(lambda c: c.execute(tables.metric_chunks.select()).all()) == before


def test_history_of_nothing_is_empty(store) -> None:
    """An unknown run or key has no points, and asking is no error."""
    run_id = store.run()
    assert store.history(run_id, "nothing") == []
    assert list(store.read(lambda c: list(metrics.history(c, "missing", "m")))) == []
