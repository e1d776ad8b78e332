"""Runs: making, changing, deleting, reading."""

from __future__ import annotations

import pytest

from contrail.model.errors import InvalidParameterValue, ResourceAlreadyExists, ResourceDoesNotExist
from contrail.model.tracking import Lifecycle, RunStatus, Tag
from contrail.store import runs


def test_a_new_run(store) -> None:
    """A new run is RUNNING, active, knows where its artifacts go and carries its name as a tag."""
    run_id = store.run("my run", start_ms=7, tags=[Tag("mlflow.runName", "ignored"), Tag("a", "1")])
    info = store.get(run_id).info
    assert (info.name, info.user_id, info.status, info.start_ms, info.end_ms) == ("my run", "kim", 1, 7, None)
    assert info.status is RunStatus.RUNNING
    assert info.artifact_uri == f"mlflow-artifacts:/{store.experiment_id}/{run_id}/artifacts"
    assert store.get(run_id).tags == (Tag("a", "1"), Tag("mlflow.runName", "my run"))
    assert store.read(lambda c: runs.get_info(c, run_id)) == info


def test_ids_and_locations_can_be_given(store) -> None:
    """A given id is used once; a given artifact location is kept; without a start the run starts now."""
    made = store.write(
        lambda c: runs.create(
            c,
            experiment_id=store.experiment_id,
            name="n",
            user_id="u",
            start_ms=None,
            run_uuid="abc",
            artifact_uri="mlflow-artifacts:/Volumes/a/b/c",
            now_ms=123,
        )
    )
    assert made == store.get("abc")
    assert (made.info.start_ms, made.info.artifact_uri) == (123, "mlflow-artifacts:/Volumes/a/b/c")
    with pytest.raises(ResourceAlreadyExists):
        store.run(run_uuid="abc")
    with pytest.raises(ResourceDoesNotExist):
        store.run(experiment_id=999)


def test_updates(store) -> None:
    """Only what is given changes; an empty name is ignored; a new one also sets its tag."""
    run_id = store.run("old")
    info = store.write(lambda c: runs.update(c, run_id, status=RunStatus.FINISHED, end_ms=9, name=""))
    assert (info.status, info.end_ms, info.name) == (RunStatus.FINISHED, 9, "old")
    info = store.write(lambda c: runs.update(c, run_id, name="new"))
    assert (info.status, info.end_ms, info.name) == (RunStatus.FINISHED, 9, "new")
    assert store.get(run_id).tags == (Tag("mlflow.runName", "new"),)


def test_the_trash(store) -> None:
    """Deleting and restoring are idempotent; a deleted run can be read but not written."""
    run_id = store.run(tags=[Tag("a", "1")])
    for _ in range(2):
        store.write(lambda c: runs.delete(c, run_id, 5))
    assert store.get(run_id).info.lifecycle is Lifecycle.DELETED
    for write in (
        lambda c: runs.update(c, run_id, name="x"),
        lambda c: runs.delete_tag(c, run_id, "a"),
        lambda c: runs.log_inputs(c, run_id, []),
    ):
        with pytest.raises(InvalidParameterValue, match="must be in the 'active' state"):
            store.write(write)
    for _ in range(2):
        store.write(lambda c: runs.restore(c, run_id))
    assert store.get(run_id).info.lifecycle is Lifecycle.ACTIVE


def test_deleting_tags(store) -> None:
    """A tag goes; an absent one is an error."""
    run_id = store.run(tags=[Tag("a", "1")])
    store.write(lambda c: runs.delete_tag(c, run_id, "a"))
    assert [tag.key for tag in store.get(run_id).tags] == ["mlflow.runName"]
    with pytest.raises(ResourceDoesNotExist, match="No tag with name: a"):
        store.write(lambda c: runs.delete_tag(c, run_id, "a"))


def test_unknown_runs(store) -> None:
    """Everything that needs a run says which one is missing."""
    for write in (
        lambda c: runs.get(c, "nope"),
        lambda c: runs.summary(c, "nope"),
        lambda c: runs.update(c, "nope"),
        lambda c: runs.delete(c, "nope", 1),
        lambda c: runs.restore(c, "nope"),
        lambda c: runs.delete_tag(c, "nope", "a"),
        lambda c: runs.log_inputs(c, "nope", []),
    ):
        with pytest.raises(ResourceDoesNotExist, match="Run with id=nope not found"):
            store.write(write)


def test_many_runs_come_in_the_asked_order(store) -> None:
    """Unknown ids are left out."""
    first, second = store.run("first"), store.run("second")
    found = store.read(lambda c: runs.get_many(c, [second, "nope", first]))
    assert [run.info.name for run in found] == ["second", "first"]
