"""Searching runs: filters, order, pages, tables."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrail.model.errors import InvalidParameterValue
from contrail.model.filters import And, Comparison, Entity, Not, Operator, Or, OrderBy
from contrail.model.tracking import Dataset, DatasetInput, RunStatus, Tag, ViewType
from contrail.store import predicates, runs, search


def metric(key: str, operator: str, value: float, field: str = "last") -> Comparison:
    return Comparison(Entity.METRIC, key, Operator(operator), value, field)


def param(key: str, operator: str, value=None) -> Comparison:
    return Comparison(Entity.PARAM, key, Operator(operator), value)


def tag(key: str, operator: str, value=None) -> Comparison:
    return Comparison(Entity.TAG, key, Operator(operator), value)


def attribute(key: str, operator: str, value=None) -> Comparison:
    return Comparison(Entity.ATTRIBUTE, key, Operator(operator), value)


def dataset(key: str, operator: str, value=None) -> Comparison:
    return Comparison(Entity.DATASET, key, Operator(operator), value)


def found(
    store, condition=None, order_by=(), view=ViewType.ACTIVE_ONLY, experiments=None, **options
) -> list[str]:
    """Names of the runs that a search gives."""
    ids = [store.experiment_id] if experiments is None else experiments
    page, _ = store.read(
        lambda c: search.search_runs(
            c, ids, filter=condition, order_by=order_by, view=view, limit=options.pop("limit", 100), **options
        )
    )
    return [run.info.name for run in page]


@pytest.fixture
def sentences(store):
    """Five runs with awkward names, keys and values, oldest first."""
    rows = [
        (
            "r1",
            {"lr": "1e-4", "opt": "Adam", "cat-dog": "2", "cat.dog": "3", "a b": "4"},
            {"avg model score": 0.9, "loss": 0.5},
            {"env": "prod", "note": "it's ok"},
        ),
        ("r2", {"lr": "10", "opt": "adam"}, {"avg model score": 0.1}, {"env": "dev", "note": 'say "hi"'}),
        ("r3", {"lr": "9"}, {"loss": 0.2}, {"env": "prod_1"}),
        ("r4", {"opt": "SGD"}, {"loss": math.inf}, {"env": "prodX1"}),
        ("한국어 런", {"opt": "한글 É"}, {}, {"env": "100%", "path": "C:\\new"}),
    ]
    for i, (name, params, metrics, tags) in enumerate(rows):
        run_id = store.run(name, start_ms=100 - i)
        store.log(run_id, *[(key, value, 1, 1) for key, value in metrics.items()], params=params, tags=tags)
    return store


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (metric("avg model score", ">", 0.5), ["r1"]),
        (param("cat-dog", "=", "2"), ["r1"]),
        (param("cat.dog", "=", "3"), ["r1"]),
        (param("a b", "=", "4"), ["r1"]),
        (param("opt", "LIKE", "adam"), ["r2"]),
        (param("opt", "ILIKE", "ADAM"), ["r1", "r2"]),
        (param("opt", "ILIKE", "%é"), ["한국어 런"]),
        (param("opt", "LIKE", "%é"), []),
        (param("opt", "!=", "Adam"), ["r2", "r4", "한국어 런"]),
        (param("opt", "IS NULL"), ["r3"]),
        (param("opt", "IS NOT NULL"), ["r1", "r2", "r4", "한국어 런"]),
        (param("opt", "IN", ("Adam", "SGD")), ["r1", "r4"]),
        (param("opt", "NOT IN", ("Adam", "SGD")), ["r2", "한국어 런"]),
        (param("lr", ">", "5"), ["r2", "r3"]),
        (param("lr", "<=", "1e-4"), ["r1"]),
        (param("lr", "=", 10.0), ["r2"]),
        (param("opt", ">", "B"), ["r2", "r4", "한국어 런"]),
        (tag("note", "=", "it's ok"), ["r1"]),
        (tag("note", "=", 'say "hi"'), ["r2"]),
        (tag("env", "LIKE", "prod_1"), ["r3", "r4"]),
        (tag("env", "LIKE", "prod\\_1"), ["r3"]),
        (tag("env", "LIKE", "100\\%"), ["한국어 런"]),
        (tag("path", "LIKE", "C:\\n%"), ["한국어 런"]),
        (tag("path", "LIKE", "C:\\\\%"), ["한국어 런"]),
        (tag("path", "LIKE", "%\\"), []),
        (attribute("run_name", "LIKE", "%국어%"), ["한국어 런"]),
        (attribute("run_name", "ILIKE", "R_"), ["r1", "r2", "r3", "r4"]),
        (attribute("status", "=", "RUNNING"), ["r1", "r2", "r3", "r4", "한국어 런"]),
        (attribute("status", "=", "running"), []),
        (attribute("status", "ILIKE", "run%"), ["r1", "r2", "r3", "r4", "한국어 런"]),
        (attribute("status", "!=", "RUNNING"), []),
        (attribute("start_time", ">=", 99), ["r1", "r2"]),
        (attribute("end_time", "!=", 5), []),
        (metric("loss", ">", 0.1), ["r1", "r3", "r4"]),
        (metric("unknown", "!=", 1.0), []),
        (Or((metric("loss", ">", 0.3), param("opt", "=", "SGD"))), ["r1", "r4"]),
        (And((metric("loss", ">", 0.3), param("opt", "=", "SGD"))), ["r4"]),
        (Not(param("opt", "=", "Adam")), ["r2", "r3", "r4", "한국어 런"]),
        (Not(attribute("end_time", ">", 5)), ["r1", "r2", "r3", "r4", "한국어 런"]),
        (Not(metric("loss", "!=", 0.5)), ["r1", "r2", "한국어 런"]),
        (And(()), ["r1", "r2", "r3", "r4", "한국어 런"]),
        (Or(()), []),
    ],
)
def test_filter_sentences(sentences, condition, expected) -> None:
    """Every kind of comparison finds the runs it should, in the default order: newest first."""
    assert found(sentences, condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        metric("loss", "IS NULL", 0.0),
        metric("loss", ">", "five"),
        metric("loss", ">", 1.0, "median"),
        attribute("shoe_size", "=", "43"),
        attribute("start_time", "LIKE", "1%"),
        attribute("run_name", "IN", "r1"),
        dataset("colour", "=", "red"),
    ],
)
def test_what_makes_no_sense_is_refused(sentences, condition) -> None:
    """An unknown attribute, or an operator that does not apply, is an error and never an empty success."""
    with pytest.raises(InvalidParameterValue):
        found(sentences, condition)


@pytest.fixture
def odd(store):
    """Runs whose metric is NaN, infinite, a number, or missing."""
    values = {"nan": math.nan, "inf": math.inf, "minus": -math.inf, "half": 0.5, "none": None}
    for i, (name, value) in enumerate(values.items()):
        run_id = store.run(name, start_ms=100 - i)
        if value is not None:
            store.log(run_id, ("m", value, 1, 1))
    return store


def test_non_finite_metrics_sort_and_compare(odd) -> None:
    """Infinities are numbers, NaN comes after them in both directions, missing last; only `!=` holds for NaN."""
    by = OrderBy(Entity.METRIC, "m")
    assert found(odd, order_by=[by]) == ["minus", "half", "inf", "nan", "none"]
    assert found(odd, order_by=[OrderBy(Entity.METRIC, "m", ascending=False)]) == [
        "inf",
        "half",
        "minus",
        "nan",
        "none",
    ]
    assert found(odd, metric("m", ">", 0.3)) == ["inf", "half"]
    assert found(odd, metric("m", "!=", 0.5)) == ["nan", "inf", "minus"]
    assert found(odd, metric("m", "=", math.inf)) == ["inf"]
    assert found(odd, metric("m", "<=", math.inf)) == ["inf", "minus", "half"]


def test_metric_fields(store) -> None:
    """A filter, an order and a column can look at the lowest, highest, first or last value of a metric."""
    for name, values in {"a": [1.0, 9.0, 2.0], "b": [5.0, 4.0, 3.0]}.items():
        run_id = store.run(name)
        for step, value in enumerate(values):
            store.log(run_id, ("m", value, step, step))
    assert found(store, metric("m", ">", 8.0, "max")) == ["a"]
    assert found(store, metric("m", "=", 5.0, "first")) == ["b"]
    assert found(store, order_by=[OrderBy(Entity.METRIC, "m", metric_field="min")]) == ["a", "b"]
    assert found(store, order_by=[OrderBy(Entity.METRIC, "m", False, "min")]) == ["b", "a"]
    columns = [search.Column(Entity.METRIC, "m", field) for field in ("first", "min", "max", "last")]
    by_name = [OrderBy(Entity.ATTRIBUTE, "run_name")]
    page = store.read(
        lambda c: search.query_rows(c, [store.experiment_id], columns=columns, order_by=by_name, limit=9)
    )
    assert [row.values for row in page.rows] == [(1.0, 1.0, 9.0, 2.0), (5.0, 3.0, 5.0, 3.0)]


def test_params_sort_as_numbers_where_they_are(sentences) -> None:
    """1e-4 comes before 9 before 10; text comes after numbers; runs without the param last in both directions."""
    assert found(sentences, order_by=[OrderBy(Entity.PARAM, "lr")])[:3] == ["r1", "r3", "r2"]
    assert found(sentences, order_by=[OrderBy(Entity.PARAM, "lr", ascending=False)])[:3] == ["r2", "r3", "r1"]
    texts = found(sentences, order_by=[OrderBy(Entity.PARAM, "opt")])
    assert texts == ["r1", "r4", "r2", "한국어 런", "r3"]


def test_ties_are_broken_by_start_and_id(store) -> None:
    """Equal runs come newest first, then by id, whatever the order asked for."""
    made = [
        store.run("x", start_ms=start, run_uuid=run_id) for start, run_id in [(5, "b"), (5, "a"), (7, "c")]
    ]
    assert made == ["b", "a", "c"]

    def ids(*order_by: OrderBy) -> list[str]:
        page, _ = store.read(
            lambda c: search.search_runs(c, [store.experiment_id], order_by=order_by, limit=9)
        )
        return [run.info.run_id for run in page]

    assert (
        ids()
        == ids(OrderBy(Entity.ATTRIBUTE, "run_name"))
        == ids(OrderBy(Entity.METRIC, "nope"))
        == ["c", "a", "b"]
    )
    assert ids(OrderBy(Entity.ATTRIBUTE, "start_time")) == ["a", "b", "c"]
    assert ids(OrderBy(Entity.ATTRIBUTE, "status"), OrderBy(Entity.ATTRIBUTE, "end_time", False)) == [
        "c",
        "a",
        "b",
    ]


KEYS = st.builds(
    OrderBy,
    st.sampled_from([Entity.METRIC, Entity.PARAM, Entity.TAG]),
    st.sampled_from(["k", "unknown"]),
    st.booleans(),
    st.sampled_from(["last", "min"]),
) | st.builds(
    OrderBy,
    st.just(Entity.ATTRIBUTE),
    st.sampled_from(["run_id", "run_name", "status", "user_id", "artifact_uri", "start_time", "end_time"]),
    st.booleans(),
)


@pytest.fixture
def many(store):
    """Thirty runs with few different values, many of them missing, in two experiments."""
    other = store.experiment("other")
    values = [None, math.nan, -math.inf, 0.0, 1.5]
    texts = [None, "10", "9", "1e1", "text", "Text"]
    for i in range(30):
        run_id = store.run(f"n{i % 4}", start_ms=i % 3, experiment_id=[store.experiment_id, other][i % 2])
        points = [("k", values[i % 5], i, i)] if values[i % 5] is not None else []
        text = texts[i % 6]
        store.log(run_id, *points, params={"k": text} if text else {}, tags={"k": text[::-1]} if text else {})
        if i % 7 == 0:
            store.write(lambda c, r=run_id, e=i % 2: runs.update(c, r, status=RunStatus.FAILED, end_ms=e))
    store.ids = [store.experiment_id, other]
    return store


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    order_by=st.lists(KEYS, max_size=3, unique_by=lambda k: (k.entity, k.key)),
    size=st.integers(1, 13),
    one=st.booleans(),
)
def test_pages_join_to_the_whole(many, order_by: list[OrderBy], size: int, one: bool) -> None:
    """Walking page by page gives each run once, in the order of one big page, through positions that survive JSON."""
    ids = many.ids[:1] if one else many.ids
    with many.database.read() as connection:
        whole, end = search.search_runs(connection, ids, order_by=order_by, limit=100)
        assert end is None
        walked, after = [], None
        while True:
            page, after = search.search_runs(connection, ids, order_by=order_by, limit=size, after=after)
            walked += page
            if after is None:
                break
            after = json.loads(json.dumps(after, allow_nan=False))
    assert [run.info.run_id for run in walked] == [run.info.run_id for run in whole]
    assert len(whole) == (15 if one else 30)


@pytest.mark.parametrize(
    "after",
    [
        [],
        [1],
        ["x", "y"],
        [1, 2],
        [None, "a"],
        [1, "a", 3],
        [True, "a"],
        [1.5, "a"],
        [2**63, "a"],
        [1, "\ud800"],
        [1, 1],
    ],
)
def test_a_position_of_another_search_is_refused(store, after) -> None:
    """A page position that does not fit the order raises, and never gives a wrong page."""
    store.run()
    with pytest.raises(InvalidParameterValue, match="page token"):
        found(store, after=after)


def test_views(store) -> None:
    """Active, deleted and all runs; no experiment gives nothing; experiments do not mix."""
    store.run("kept")
    gone = store.run("gone")
    store.write(lambda c: runs.delete(c, gone, 5))
    other = store.experiment("other")
    store.run("elsewhere", experiment_id=other)
    assert found(store) == ["kept"]
    assert found(store, view=ViewType.DELETED_ONLY) == ["gone"]
    assert sorted(found(store, view=ViewType.ALL)) == ["gone", "kept"]
    assert found(store, experiments=[]) == []
    assert sorted(found(store, experiments=[other, store.experiment_id, other])) == ["elsewhere", "kept"]


def test_a_page_of_the_table_reads_only_its_columns(store) -> None:
    """Rows hold the asked values in the asked order, links to parent and job, and the number of all matches."""
    parent = store.run("parent", start_ms=2)
    child = store.run(
        "child",
        start_ms=1,
        tags=[
            Tag("mlflow.parentRunId", parent),
            Tag("contrail.job_run_id", "7"),
            Tag("contrail.attempt_number", "2"),
        ],
    )
    store.log(child, ("m", math.nan, 1, 1), params={"lr": "0.1"}, tags={"t": "x"})
    columns = [
        search.Column(Entity.TAG, "t"),
        search.Column(Entity.METRIC, "m"),
        search.Column(Entity.PARAM, "lr"),
        search.Column(Entity.ATTRIBUTE, "status"),
        search.Column(Entity.METRIC, "nothing"),
    ]
    page = store.read(
        lambda c: search.query_rows(c, [store.experiment_id], columns=columns, limit=1, with_total=True)
    )
    assert (page.total, [row.info.name for row in page.rows]) == (2, ["parent"])
    assert page.rows[0].values == (None, None, None, "RUNNING", None)
    rest = store.read(
        lambda c: search.query_rows(c, [store.experiment_id], columns=columns, limit=1, after=page.next)
    )
    (row,) = rest.rows
    assert (row.parent_run_id, row.job_run_id, row.attempt_number) == (parent, 7, 2)
    assert math.isnan(row.values[1])
    assert (row.values[0], *row.values[2:]) == ("x", "0.1", "RUNNING", None)
    assert (rest.total, rest.next) == (None, None)


def test_columns_are_counted(sentences) -> None:
    """The column chooser knows every key, how many active runs have it, and whether it varies."""
    gone = sentences.run("gone")
    sentences.log(gone, ("hidden", 1.0, 1, 1))
    sentences.write(lambda c: runs.delete(c, gone, 5))
    infos = sentences.read(lambda c: search.columns(c, [sentences.experiment_id]))
    assert [(i.key, i.runs, i.varies) for i in infos if i.entity is Entity.METRIC] == [
        ("loss", 3, True),
        ("avg model score", 2, True),
    ]
    assert ("cat-dog", 1, False) in [(i.key, i.runs, i.varies) for i in infos if i.entity is Entity.PARAM]
    assert sentences.read(lambda c: search.columns(c, [])) == []


def test_datasets(store) -> None:
    """Data sets are shared per experiment, first write wins; they can be searched by name, digest and context."""
    train = DatasetInput(
        Dataset("mnist", "abc", "local", "{}", schema="s"), (Tag("mlflow.data.context", "train"),)
    )
    test = DatasetInput(Dataset("mnist", "abc", "local", "other"), (Tag("mlflow.data.context", "test"),))
    plain = DatasetInput(Dataset("cifar", "d1", "hf", "{}"))
    first, second = store.run("first", start_ms=2), store.run("second", start_ms=1)
    store.write(lambda c: runs.log_inputs(c, first, [train, plain]))
    store.write(lambda c: runs.log_inputs(c, first, [test]))
    store.write(lambda c: runs.log_inputs(c, second, [test]))
    assert store.get(first).inputs == (train, plain)
    assert store.get(second).inputs[0].dataset == train.dataset
    assert store.get(second).inputs[0].tags == test.tags
    assert found(store, dataset("name", "LIKE", "mn%")) == ["first", "second"]
    assert found(store, dataset("context", "=", "train")) == ["first"]
    assert found(store, dataset("digest", "IN", ("d1",))) == ["first"]
    summaries = store.read(lambda c: search.search_datasets(c, [store.experiment_id]))
    assert {(s.name, s.digest, s.context) for s in summaries} == {
        ("mnist", "abc", "train"),
        ("mnist", "abc", "test"),
        ("cifar", "d1", None),
    }


def test_listing_needs_no_sorting(store) -> None:
    """The default order of one experiment comes from an index, first page and later ones alike."""
    for i in range(50):
        store.run(start_ms=i)
    plans = []
    with store.database.read() as connection:
        from sqlalchemy import event

        def note(conn, cursor, statement, parameters, context, executemany):
            if "ORDER BY" in statement and "FROM runs" in statement:
                plans.append((statement, parameters))

        event.listen(connection.engine, "before_cursor_execute", note)
        _, after = search.search_runs(connection, [store.experiment_id], limit=10)
        search.search_runs(connection, [store.experiment_id], limit=10, after=after)
        event.remove(connection.engine, "before_cursor_execute", note)
        details = [
            [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
            for sql, values in plans
        ]
    assert len(details) == 2
    for plan in details:
        assert plan == [plan[0]]
        assert "ix_runs_listing" in plan[0]


@given(st.text(max_size=8), st.text("ab%_\\é", max_size=6), st.sampled_from(["LIKE", "ILIKE"]))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_like_means_the_same_in_python_and_in_sql(database, text: str, pattern: str, operator: str) -> None:
    """Statuses are compared in Python, all else in the database; both read a pattern alike."""
    from sqlalchemy import literal, select

    text = text.replace("\0", "")
    comparison = tag("k", operator, pattern)
    with database.read() as connection:
        condition = predicates.text_condition(literal(text), comparison)
        in_sql = bool(connection.execute(select(condition)).scalar_one())
    assert in_sql == predicates._text_holds(text, comparison)
