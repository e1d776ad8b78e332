"""Searching runs through the official client: the filter language and the order of results."""

from __future__ import annotations

import math
from typing import Any

import pytest

mlflow = pytest.importorskip("mlflow")
from mlflow.entities import Metric, Param, RunTag, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402

RUNS: dict[str, dict[str, dict[str, Any]]] = {
    "r1": {
        "params": {"lr": "1e-4", "opt": "Adam", "cat-dog": "2", "cat.dog": "3", "a b": "4"},
        "metrics": {"avg model score": 0.9, "loss": 0.5},
        "tags": {"env": "prod", "note": "it's ok"},
    },
    "r2": {
        "params": {"lr": "10", "opt": "adam"},
        "metrics": {"avg model score": 0.1},
        "tags": {"env": "dev", "note": 'say "hi"'},
    },
    "r3": {"params": {"lr": "9"}, "metrics": {"loss": 0.2}, "tags": {"env": "prod_1"}},
    "r4": {"params": {"opt": "SGD"}, "metrics": {"loss": math.inf}, "tags": {"env": "prodX1"}},
    "한국어 런": {"params": {"opt": "한글"}, "metrics": {}, "tags": {"env": "100%"}},
}
NAMES = {"한국어 런": "r5"}


def fill(client: Any, experiment: str, runs: dict[str, dict[str, dict[str, Any]]]) -> dict[str, str]:
    """Log `runs`; later ones start later. Returns their ids by short name."""
    ids = {}
    for index, (name, data) in enumerate(runs.items()):
        run = client.create_run(experiment, start_time=1000 + index, run_name=name)
        client.log_batch(
            run.info.run_id,
            [Metric(key, value, 1, 0) for key, value in data.get("metrics", {}).items()],
            [Param(key, value) for key, value in data.get("params", {}).items()],
            [RunTag(key, value) for key, value in data.get("tags", {}).items()],
        )
        ids[NAMES.get(name, name)] = run.info.run_id
    return ids


@pytest.fixture(scope="module")
def sentences(client: Any) -> tuple[str, dict[str, str]]:
    """An experiment with the five runs, and their ids."""
    experiment = client.create_experiment("sentences")
    return experiment, fill(client, experiment, RUNS)


def names(runs: Any) -> list[str]:
    return [NAMES.get(run.info.run_name, run.info.run_name) for run in runs]


EXPECTED = [
    # as in MLflow
    ("metrics.`avg model score` > 0.5", "r1"),
    ("params.`cat-dog` = '2'", "r1"),
    ("params.cat.dog = '3'", "r1"),
    ("params.\"a b\" = '4'", "r1"),
    ("params.opt LIKE 'adam'", "r2"),
    ("params.opt ILIKE 'ADAM'", "r1 r2"),
    ("params.opt != 'Adam'", "r2 r4 r5"),
    ("params.opt IS NULL", "r3"),
    ("params.opt IS NOT NULL", "r1 r2 r4 r5"),
    ('tags.note = "it\'s ok"', "r1"),
    ("tags.note = 'say \"hi\"'", "r2"),
    ("tags.env LIKE 'prod_1'", "r3 r4"),
    ("run_name LIKE '%국어%'", "r5"),
    ("metrics.loss > 1e-1", "r1 r3 r4"),
    ("metrics.loss > 0.3 AND params.lr = '1e-4'", "r1"),
    ("metrics.loss > 0.3 metrics.loss < 1", "r1"),
    ("metrics.nope > 0", ""),
    ("attributes.status = 'RUNNING'", "r1 r2 r3 r4 r5"),
    ("status != 'RUNNING'", ""),
    ("status ILIKE 'run%'", "r1 r2 r3 r4 r5"),
    ("start_time > 1002", "r4 r5"),
    ("created <= 1000.5", "r1"),
    ("tags.mlflow.runName = 'r2'", "r2"),
    ("`run name` = 'r2'", "r2"),
    # better than MLflow
    ("tags.note = 'it''s ok'", "r1"),
    ("tags.env LIKE '100\\%'", "r5"),
    ("tags.env LIKE 'prod\\_1'", "r3"),
    ("params.opt IN ('Adam','SGD')", "r1 r4"),
    ("params.opt NOT IN ('Adam','SGD')", "r2 r5"),
    ("metrics.loss > 0.3 OR params.opt = 'SGD'", "r1 r4"),
    ("(params.opt = 'SGD')", "r4"),
    ("NOT (params.opt = 'SGD')", "r1 r2 r3 r5"),
    ("NOT params.opt = 'SGD' AND NOT metrics.loss > 0", "r2 r5"),
    ("params.lr > '5'", "r2 r3"),
    ("params.lr > 5", "r2 r3"),
    ("params.lr = 1e-4", "r1"),
    ("params.lr <= 0.0001", "r1"),
    ("metrics.loss = 1e400", "r4"),
    ("status IN ('RUNNING', 'FAILED')", "r1 r2 r3 r4 r5"),
    ("(tags.env = 'dev' OR tags.env = 'prod') AND params.opt ILIKE 'adam'", "r1 r2"),
]


@pytest.mark.parametrize(("sentence", "expected"), EXPECTED, ids=[sentence for sentence, _ in EXPECTED])
def test_a_filter_finds_what_it_says(
    client: Any, sentences: tuple[str, dict[str, str]], sentence: str, expected: str
) -> None:
    """Equal to MLflow where MLflow has an answer, and to common sense where it has none."""
    found = names(client.search_runs([sentences[0]], sentence, order_by=["start_time"]))
    assert found == expected.split()


def test_runs_are_found_by_id(client: Any, sentences: tuple[str, dict[str, str]]) -> None:
    """Lists of ids, as selections in pages and notebooks send them."""
    experiment, ids = sentences
    assert names(client.search_runs([experiment], f"run_id IN ('{ids['r1']}', '{ids['r4']}')")) == [
        "r4",
        "r1",
    ]
    assert names(client.search_runs([experiment], f"attributes.run_id = '{ids['r2']}'")) == ["r2"]
    assert len(client.search_runs([experiment], f"run_id NOT IN ('{ids['r2']}')")) == 4


@pytest.mark.parametrize(
    "sentence",
    [
        "metrics.loss > 0; DROP TABLE runs",
        "params.opt = Adam",
        "foo.bar = 'x'",
        "metrics.loss > '0.1'",
        "   ",
        "metrics.loss",
        "status IS NULL",
        "params.opt NOT LIKE 'x'",
    ],
)
def test_a_wrong_filter_is_refused(client: Any, sentences: tuple[str, dict[str, str]], sentence: str) -> None:
    """With 400 and the place of the mistake, never with an empty success."""
    with pytest.raises(MlflowException, match="at character") as caught:
        client.search_runs([sentences[0]], sentence)
    assert caught.value.error_code == "INVALID_PARAMETER_VALUE"


def test_numbers_in_params_sort_as_numbers(client: Any, sentences: tuple[str, dict[str, str]]) -> None:
    """1e-4 < 9 < 10."""
    assert names(client.search_runs([sentences[0]], "params.lr IS NOT NULL", order_by=["params.lr"])) == [
        "r1",
        "r3",
        "r2",
    ]


def test_without_an_order_the_newest_run_is_first(client: Any, sentences: tuple[str, dict[str, str]]) -> None:
    """And every page continues where the last one ended."""
    experiment = sentences[0]
    assert names(client.search_runs([experiment])) == ["r5", "r4", "r3", "r2", "r1"]
    for order_by in (None, ["metrics.loss DESC"], ["params.lr", "tags.env DESC"], ["run_name DESC"]):
        whole = names(client.search_runs([experiment], order_by=order_by))
        found: list[str] = []
        token = None
        while True:
            page = client.search_runs([experiment], order_by=order_by, max_results=2, page_token=token)
            found += names(page)
            token = page.token
            if not token:
                break
        assert found == whole, order_by


@pytest.fixture(scope="module")
def values(client: Any) -> str:
    """Runs with NaN, infinities, a number, and nothing."""
    experiment: str = client.create_experiment("values")
    values: dict[str, float | None] = {
        "nan": math.nan,
        "inf": math.inf,
        "ninf": -math.inf,
        "half": 0.5,
        "none": None,
    }
    fill(
        client,
        experiment,
        {name: {"metrics": {} if value is None else {"m": value}} for name, value in values.items()},
    )
    return experiment


def test_metrics_sort_with_nan_and_missing_last(client: Any, values: str) -> None:
    """In both directions: numbers, then NaN, then runs without the metric."""
    up = names(client.search_runs([values], order_by=["metrics.m ASC"]))
    down = names(client.search_runs([values], order_by=["metrics.m DESC"]))
    assert up == ["ninf", "half", "inf", "nan", "none"]
    assert down == ["inf", "half", "ninf", "nan", "none"]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("metrics.m > 0.3", ["inf", "half"]),
        ("metrics.m != 0.5", ["nan", "inf", "ninf"]),
        ("metrics.m < 0", ["ninf"]),
        ("metrics.m = 0.5", ["half"]),
    ],
)
def test_metrics_compare_with_nan_apart(client: Any, values: str, sentence: str, expected: list[str]) -> None:
    """NaN is only unequal; a run without the metric matches nothing."""
    assert names(client.search_runs([values], sentence, order_by=["start_time"])) == expected


def test_search_gives_non_finite_values(client: Any, values: str) -> None:
    """In entities and in data frames."""
    found = {run.info.run_name: run.data.metrics.get("m") for run in client.search_runs([values])}
    assert math.isnan(found["nan"])
    assert (found["inf"], found["ninf"], found["half"], found["none"]) == (math.inf, -math.inf, 0.5, None)
    frame = mlflow.search_runs([values], order_by=["start_time"])
    assert list(frame["tags.mlflow.runName"]) == ["nan", "inf", "ninf", "half", "none"]
    assert list(frame["metrics.m"][1:4]) == [math.inf, -math.inf, 0.5]


def test_the_best_value_sorts_too(client: Any) -> None:
    """`metrics.loss:min` is the best point of a run, whatever came after it."""
    experiment = client.create_experiment("best")
    for name, points in {"late": [0.9, 0.1, 0.8], "early": [0.3, 0.4, 0.5]}.items():
        run = client.create_run(experiment, run_name=name)
        client.log_batch(run.info.run_id, [Metric("loss", v, i, i) for i, v in enumerate(points)])
    assert names(client.search_runs([experiment], order_by=["metrics.loss"])) == ["early", "late"]
    assert names(client.search_runs([experiment], order_by=["metrics.loss:min"])) == ["late", "early"]
    assert names(client.search_runs([experiment], "metrics.loss:min < 0.2")) == ["late"]
    assert names(client.search_runs([experiment], "metrics.loss:first < 0.5")) == ["early"]


def test_deleted_runs_are_found_only_when_asked_for(client: Any) -> None:
    """By view type."""
    experiment = client.create_experiment("views")
    ids = fill(client, experiment, {"kept": {}, "gone": {}})
    client.delete_run(ids["gone"])
    assert names(client.search_runs([experiment])) == ["kept"]
    assert names(client.search_runs([experiment], run_view_type=ViewType.DELETED_ONLY)) == ["gone"]
    assert names(client.search_runs([experiment], run_view_type=ViewType.ALL)) == ["gone", "kept"]


def test_several_experiments_are_searched_at_once(client: Any) -> None:
    """Each run once, however often its experiment is named."""
    one, two = client.create_experiment("several-1"), client.create_experiment("several-2")
    fill(client, one, {"a": {}})
    fill(client, two, {"b": {}})
    assert sorted(names(client.search_runs([one, two, one]))) == ["a", "b"]
    assert client.search_runs([]) == []
    assert client.search_runs(["987654"]) == []


def test_the_data_frame_has_every_column(client: Any, sentences: tuple[str, dict[str, str]]) -> None:
    """The call of most notebooks."""
    frame = mlflow.search_runs([sentences[0]], order_by=["start_time"])
    assert list(frame["run_id"]) == list(sentences[1].values())
    assert list(frame["params.lr"][:3]) == ["1e-4", "10", "9"]
    assert frame["params.lr"].isna()[3]
    assert frame["metrics.loss"][3] == math.inf
    assert frame["tags.env"][4] == "100%"
