"""Experiments, through the official client."""

from __future__ import annotations

from typing import Any

import pytest

mlflow = pytest.importorskip("mlflow")
from mlflow.entities import ViewType  # noqa: E402
from mlflow.exceptions import MlflowException, RestException  # noqa: E402


def test_a_new_experiment_can_be_found_by_id_and_name(client: Any) -> None:
    """What was given comes back exactly."""
    identity = client.create_experiment("실험 🚀 /Users/a@b/exp", tags={"팀": "값", "empty": ""})
    found = client.get_experiment(identity)
    assert found.name == "실험 🚀 /Users/a@b/exp"
    assert found.tags == {"팀": "값", "empty": ""}
    assert found.artifact_location == f"mlflow-artifacts:/{identity}"
    assert found.lifecycle_stage == "active"
    assert found.creation_time > 1_600_000_000_000
    assert client.get_experiment_by_name(found.name).experiment_id == identity


def test_the_default_experiment_is_there(client: Any) -> None:
    """Id 0, as every client expects."""
    assert client.get_experiment("0").name == "Default"


def test_an_unknown_experiment_is_none_by_name_and_an_error_by_id(client: Any) -> None:
    """The client turns 404 by name into None."""
    assert client.get_experiment_by_name("nowhere") is None
    with pytest.raises(MlflowException, match="No Experiment with id=987654 exists") as caught:
        client.get_experiment("987654")
    assert caught.value.error_code == "RESOURCE_DOES_NOT_EXIST"


def test_a_name_is_taken_even_by_a_deleted_experiment(client: Any) -> None:
    """So that restoring always works."""
    identity = client.create_experiment("taken")
    client.delete_experiment(identity)
    with pytest.raises(RestException) as caught:
        client.create_experiment("taken")
    assert caught.value.error_code == "RESOURCE_ALREADY_EXISTS"


def test_deleting_takes_the_runs_along_and_restoring_brings_them_back(client: Any) -> None:
    """Deleted runs can still be read."""
    identity = client.create_experiment("trash")
    run = client.create_run(identity)
    client.delete_experiment(identity)
    assert client.get_experiment(identity).lifecycle_stage == "deleted"
    assert client.get_run(run.info.run_id).info.lifecycle_stage == "deleted"
    with pytest.raises(RestException, match="must be in the 'active' state"):
        client.log_metric(run.info.run_id, "m", 1)
    with pytest.raises(RestException, match="must be in the 'active' state"):
        client.create_run(identity)
    with pytest.raises(RestException) as caught:
        client.rename_experiment(identity, "other")
    assert caught.value.error_code == "INVALID_STATE"
    client.restore_experiment(identity)
    assert client.get_run(run.info.run_id).info.lifecycle_stage == "active"


def test_renaming_and_tagging(client: Any) -> None:
    """Names are unique; the last tag wins."""
    identity, other = client.create_experiment("before"), client.create_experiment("rename-other")
    client.rename_experiment(identity, "after")
    assert client.get_experiment(identity).name == "after"
    with pytest.raises(RestException) as caught:
        client.rename_experiment(other, "after")
    assert caught.value.error_code == "RESOURCE_ALREADY_EXISTS"
    client.set_experiment_tag(identity, "k", "1")
    client.set_experiment_tag(identity, "k", "2")
    assert client.get_experiment(identity).tags == {"k": "2"}
    client.delete_experiment_tag(identity, "k")
    assert client.get_experiment(identity).tags == {}
    with pytest.raises(RestException, match="No tag with name: k"):
        client.delete_experiment_tag(identity, "k")


def test_searching_filters_sorts_and_pages(client: Any) -> None:
    """Every experiment exactly once, over however many pages."""
    names = [f"search-{i:02d}" for i in range(7)]
    ids = [
        client.create_experiment(name, tags={"n": str(i), "half": str(i % 2)}) for i, name in enumerate(names)
    ]
    client.delete_experiment(ids[6])

    def search(text: str, **options: Any) -> list[str]:
        return [found.name for found in client.search_experiments(filter_string=text, **options)]

    assert search("name LIKE 'search-%'", order_by=["name DESC"]) == names[5::-1]
    assert search("name LIKE 'SEARCH-%'") == []
    assert search("name ILIKE 'SEARCH-%'", order_by=["name"]) == names[:6]
    assert search("name LIKE 'search-%' AND tags.half = '1'", order_by=["name"]) == [
        names[1],
        names[3],
        names[5],
    ]
    assert search("name LIKE 'search-%' AND tags.nope IS NULL", order_by=["name"]) == names[:6]
    assert search("name = 'search-01' OR name = 'search-02'", order_by=["name"]) == names[1:3]
    assert search(f"experiment_id IN ('{ids[0]}', '{ids[6]}')") == [names[0]]
    assert search("name LIKE 'search-%'", view_type=ViewType.DELETED_ONLY) == [names[6]]
    assert len(search("name LIKE 'search-%'", view_type=ViewType.ALL)) == 7
    assert search("name LIKE 'search-%'") == names[5::-1], "newest first unless asked otherwise"

    found, token = [], None
    while True:
        page = client.search_experiments(
            filter_string="name LIKE 'search-%'", max_results=4, order_by=["name"], page_token=token
        )
        found += [one.name for one in page]
        token = page.token
        if not token:
            break
    assert found == names[:6]


@pytest.mark.parametrize(
    "arguments",
    [
        {"filter_string": "nope = 'a'"},
        {"filter_string": "metrics.a > 1"},
        {"filter_string": "creation_time > '5'"},
        {"order_by": ["tags.n"]},
        {"order_by": ["name SIDEWAYS"]},
        {"max_results": 50_001},
        {"page_token": "garbage"},
    ],
)
def test_a_wrong_search_is_refused(client: Any, arguments: dict[str, Any]) -> None:
    """With a code that tells the client not to try again."""
    with pytest.raises(MlflowException) as caught:
        client.search_experiments(**arguments)
    assert caught.value.error_code == "INVALID_PARAMETER_VALUE"


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc",
        "/etc",
        "etc",
        "mlflow-artifacts:/../../etc",
        "s3://b/p#x",
        "s3://b/p?x=..",
        "foo://b",
        "runs:/a",
    ],
)
def test_artifacts_cannot_be_put_where_they_must_not_be(client: Any, location: str) -> None:
    """A location must not open this machine's files to others."""
    with pytest.raises(MlflowException) as caught:
        client.create_experiment(f"located {location}", artifact_location=location)
    assert caught.value.error_code == "INVALID_PARAMETER_VALUE"
    assert client.get_experiment_by_name(f"located {location}") is None


def test_volumes_are_reached_through_the_server(client: Any) -> None:
    """Clients need no access to the folder behind /Volumes."""
    identity = client.create_experiment("in a volume", artifact_location="/Volumes/c/s/v/p")
    run = client.create_run(identity)
    assert client.get_experiment(identity).artifact_location == "mlflow-artifacts:/Volumes/c/s/v/p"
    assert run.info.artifact_uri == f"mlflow-artifacts:/Volumes/c/s/v/p/{run.info.run_id}/artifacts"
