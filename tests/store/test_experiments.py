"""Experiments: names, lifecycle, tags, search, the list page."""

from __future__ import annotations

import pytest

from contrail.model.errors import (
    BadRequest,
    InvalidParameterValue,
    ResourceAlreadyExists,
    ResourceConflict,
    ResourceDoesNotExist,
)
from contrail.model.filters import Comparison, Entity, Operator, OrderBy
from contrail.model.tracking import Lifecycle, RunStatus, Tag, ViewType
from contrail.store import experiments, runs


def names(store, **options) -> list[str]:
    page, _ = store.read(lambda c: experiments.search(c, limit=options.pop("limit", 100), **options))
    return [experiment.name for experiment in page]


def test_the_default_experiment_is_number_zero(store) -> None:
    """It is made once, with a neutral location; making it again changes nothing."""
    for now_ms in (5, 6):
        store.write(lambda c, now_ms=now_ms: experiments.ensure_default(c, now_ms=now_ms))
    found = store.read(lambda c: experiments.get(c, 0))
    assert (found.name, found.artifact_location, found.created_ms) == ("Default", "mlflow-artifacts:/0", 5)


def test_what_is_made_can_be_read(store) -> None:
    """An experiment keeps its name, location, times and tags; ids count up and are not reused."""
    made = store.write(
        lambda c: experiments.create(
            c, name="한국어/실험", artifact_location="s3://b/x", tags=[Tag("b", "2"), Tag("a", "1")], now_ms=9
        )
    )
    found = store.read(lambda c: experiments.get_by_name(c, "한국어/실험"))
    assert found == store.read(lambda c: experiments.get(c, made))
    assert (found.artifact_location, found.created_ms, found.updated_ms) == ("s3://b/x", 9, 9)
    assert found.tags == (Tag("a", "1"), Tag("b", "2"))
    assert found.lifecycle is Lifecycle.ACTIVE
    assert store.experiment("next") == made + 1


def test_names_are_unique_and_case_sensitive(store) -> None:
    """A taken name is refused, also when its owner is deleted; another spelling is another name."""
    store.write(lambda c: experiments.delete(c, store.experiment_id, 5))
    with pytest.raises(ResourceAlreadyExists, match="'exp' already exists"):
        store.experiment("exp")
    store.experiment("Exp")
    with pytest.raises(ResourceDoesNotExist):
        store.read(lambda c: experiments.get_by_name(c, "EXP"))


def test_renaming(store) -> None:
    """A rename keeps everything else; a taken name and a deleted experiment are refused."""
    other = store.experiment("other")
    store.write(lambda c: experiments.update_name(c, other, "new", 77))
    found = store.read(lambda c: experiments.get(c, other))
    assert (found.name, found.updated_ms) == ("new", 77)
    with pytest.raises(BadRequest):
        store.write(lambda c: experiments.update_name(c, other, "exp", 78))
    store.write(lambda c: experiments.delete(c, other, 79))
    with pytest.raises(ResourceConflict):
        store.write(lambda c: experiments.update_name(c, other, "newer", 80))
    with pytest.raises(ResourceDoesNotExist):
        store.write(lambda c: experiments.update_name(c, 999, "x", 80))


def test_deleting_takes_the_runs_along_and_restoring_brings_all_back(store) -> None:
    """Restoring makes every run active, also one that was deleted before, as in MLflow."""
    first, second = store.run(), store.run()
    store.write(lambda c: runs.delete(c, first, 5))
    store.write(lambda c: experiments.delete(c, store.experiment_id, 6))
    assert store.get(second).info.lifecycle is Lifecycle.DELETED
    with pytest.raises(ResourceDoesNotExist):
        store.write(lambda c: experiments.delete(c, store.experiment_id, 7))
    with pytest.raises(InvalidParameterValue, match="must be in the 'active' state"):
        store.run()
    store.write(lambda c: experiments.restore(c, store.experiment_id, 8))
    assert {store.get(run).info.lifecycle for run in (first, second)} == {Lifecycle.ACTIVE}
    with pytest.raises(ResourceDoesNotExist):
        store.write(lambda c: experiments.restore(c, store.experiment_id, 9))


def test_tags(store) -> None:
    """The last write wins; deleting an absent tag, or touching a deleted experiment, is refused."""
    number = store.experiment_id
    for value in ("1", "2"):
        store.write(lambda c, value=value: experiments.set_tag(c, number, Tag("k", value), 50))
    found = store.read(lambda c: experiments.get(c, number))
    assert (found.tags, found.updated_ms) == ((Tag("k", "2"),), 50)
    store.write(lambda c: experiments.delete_tag(c, number, "k", 51))
    with pytest.raises(ResourceDoesNotExist):
        store.write(lambda c: experiments.delete_tag(c, number, "k", 52))
    store.write(lambda c: experiments.delete(c, number, 53))
    for write in (
        lambda c: experiments.set_tag(c, number, Tag("k", "3"), 54),
        lambda c: experiments.delete_tag(c, number, "k", 54),
    ):
        with pytest.raises(InvalidParameterValue):
            store.write(write)


def test_search(store) -> None:
    """Filters on attributes and tags; views; default newest first; ties by MLflow's rules."""
    ids = {
        name: store.experiment(name, now_ms) for name, now_ms in [("Old", 1), ("Éte", 5_000), ("twin", 5_000)]
    }
    store.write(lambda c: experiments.set_tag(c, ids["Old"], Tag("team", "x"), 9_000))
    assert names(store) == ["Éte", "twin", "exp", "Old"]

    def attribute(key, operator, value):
        return Comparison(Entity.ATTRIBUTE, key, Operator(operator), value)

    assert names(store, filter=attribute("name", "ILIKE", "é%")) == ["Éte"]
    assert names(store, filter=attribute("name", "LIKE", "T%")) == []
    assert names(store, filter=attribute("creation_time", ">", 1_000)) == ["Éte", "twin"]
    assert names(store, filter=attribute("last_update_time", "=", 9_000)) == ["Old"]
    assert names(store, filter=attribute("experiment_id", "IN", (str(ids["Old"]), "99"))) == ["Old"]
    assert names(store, filter=attribute("experiment_id", "=", str(ids["twin"]))) == ["twin"]
    assert names(store, filter=Comparison(Entity.TAG, "team", Operator.EQ, "x")) == ["Old"]
    assert names(store, filter=Comparison(Entity.TAG, "team", Operator.IS_NULL)) == ["Éte", "twin", "exp"]
    by_creation = [OrderBy(Entity.ATTRIBUTE, "creation_time", ascending=False)]
    assert names(store, order_by=by_creation) == ["twin", "Éte", "exp", "Old"]
    store.write(lambda c: experiments.delete(c, ids["Old"], 5))
    assert names(store, view=ViewType.DELETED_ONLY) == ["Old"]
    with pytest.raises(InvalidParameterValue):
        names(store, filter=Comparison(Entity.METRIC, "m", Operator.EQ, 1.0))
    with pytest.raises(InvalidParameterValue):
        names(store, order_by=[OrderBy(Entity.TAG, "team")])


def test_pages_join_to_the_whole(store) -> None:
    """Walking in pages gives every experiment once."""
    for i in range(11):
        store.experiment(f"e{i}", now_ms=i % 3)
    walked, after = [], None
    while True:
        page, after = store.read(lambda c, after=after: experiments.search(c, limit=4, after=after))
        walked += [experiment.name for experiment in page]
        if after is None:
            break
    assert walked == names(store)
    assert len(set(walked)) == 12


def test_the_list_page_shows_activity(store) -> None:
    """Latest activity first, with counts of runs that are not deleted; text is looked for in any case."""
    quiet, busy = store.experiment("Quiet 100%", now_ms=1), store.experiment("busy", now_ms=2)
    store.run(start_ms=9_000, experiment_id=busy)
    ended, gone = store.run(start_ms=8_000, experiment_id=busy), store.run(start_ms=9_500, experiment_id=busy)
    store.write(lambda c: runs.update(c, ended, status=RunStatus.FINISHED, end_ms=8_500))
    store.write(lambda c: runs.delete(c, gone, 5))
    rows, after = store.read(lambda c: experiments.page(c, limit=2))
    assert [row.experiment.name for row in rows] == ["busy", "exp"]
    assert (rows[0].runs, rows[0].active_runs, rows[0].last_run_ms) == (2, 1, 9_000)
    assert (rows[1].runs, rows[1].active_runs, rows[1].last_run_ms) == (0, 0, None)
    rest, end = store.read(lambda c: experiments.page(c, limit=2, after=after))
    assert ([row.experiment.experiment_id for row in rest], end) == ([quiet], None)
    for text, expected in (("QUIET", ["Quiet 100%"]), ("100%", ["Quiet 100%"]), ("_", [])):
        rows, _ = store.read(lambda c, text=text: experiments.page(c, limit=9, text=text))
        assert [row.experiment.name for row in rows] == expected
