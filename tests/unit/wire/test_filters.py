"""The filter language: what is accepted, what it means, how refusals read."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrail.model.errors import InvalidParameterValue
from contrail.model.filters import And, Comparison, Entity, Filter, Not, Operator, Or, OrderBy
from contrail.wire.filters import (
    COMPARISONS_MAX,
    DEPTH_MAX,
    EXPERIMENTS,
    METRIC_FIELDS,
    RUNS,
    parse,
    parse_order_by,
    to_text,
)

A, M, P, T, D = Entity.ATTRIBUTE, Entity.METRIC, Entity.PARAM, Entity.TAG, Entity.DATASET
Clause = tuple[Entity, str, str, object]

ACCEPTED: list[tuple[str, list[Clause]]] = [
    # metrics
    ("metrics.a > 1", [(M, "a", ">", 1.0)]),
    ("metric.a >= 1", [(M, "a", ">=", 1.0)]),
    ("metrics.a = 1", [(M, "a", "=", 1.0)]),
    ("metrics.a != 1", [(M, "a", "!=", 1.0)]),
    ("metrics.a < -1", [(M, "a", "<", -1.0)]),
    ("metrics.a <= .5", [(M, "a", "<=", 0.5)]),
    ("metrics.a > 1.", [(M, "a", ">", 1.0)]),
    ("metrics.a > 1e-3", [(M, "a", ">", 0.001)]),
    ("metrics.a > 1E5", [(M, "a", ">", 1e5)]),
    ("metrics.a > 1e400", [(M, "a", ">", math.inf)]),
    ("metrics.a>1", [(M, "a", ">", 1.0)]),
    ("  metrics.a   >\n\t1  ", [(M, "a", ">", 1.0)]),
    ('metrics."f1-score" > 0', [(M, "f1-score", ">", 0.0)]),
    ("metrics.`f1-score` > 0", [(M, "f1-score", ">", 0.0)]),
    ("metrics.'a' > 0", [(M, "a", ">", 0.0)]),
    ("`metrics`.a > 0", [(M, "a", ">", 0.0)]),
    ("metrics.1st > 0", [(M, "1st", ">", 0.0)]),
    ("metrics.a.b.c > 0", [(M, "a.b.c", ">", 0.0)]),
    ("metrics.`a/b` > 0", [(M, "a/b", ">", 0.0)]),
    ("metrics.`a:b` > 0", [(M, "a:b", ">", 0.0)]),
    ("metrics.손실 > 0", [(M, "손실", ">", 0.0)]),
    ("metrics.`손실 값` > 0", [(M, "손실 값", ">", 0.0)]),
    # params
    ("params.a = 'x'", [(P, "a", "=", "x")]),
    ('param.a = "x"', [(P, "a", "=", "x")]),
    ("parameter.a != 'x'", [(P, "a", "!=", "x")]),
    ("parameters.a LIKE '%x%'", [(P, "a", "LIKE", "%x%")]),
    ("params.a like '%x%'", [(P, "a", "LIKE", "%x%")]),
    ("params.a iLiKe 'x'", [(P, "a", "ILIKE", "x")]),
    ("params.a = ''", [(P, "a", "=", "")]),
    ("params.a='x'", [(P, "a", "=", "x")]),
    ("params.a IS NULL", [(P, "a", "IS NULL", None)]),
    ("params.a is  not  null", [(P, "a", "IS NOT NULL", None)]),
    ('params.a = "it\'s"', [(P, "a", "=", "it's")]),
    ("params.a = 'it''s'", [(P, "a", "=", "it's")]),
    ('params.a = "say ""hi"""', [(P, "a", "=", 'say "hi"')]),
    ("params.a = 'a AND b'", [(P, "a", "=", "a AND b")]),
    ("params.a = 'C:\\dir'", [(P, "a", "=", "C:\\dir")]),
    ("params.a LIKE '100\\%'", [(P, "a", "LIKE", "100\\%")]),
    ("params.`a b` = 'x'", [(P, "a b", "=", "x")]),
    ("params.\"a b\" = 'x'", [(P, "a b", "=", "x")]),
    ("params.`a``b` = 'x'", [(P, "a`b", "=", "x")]),
    ("params.from = 'x'", [(P, "from", "=", "x")]),
    ("params.and = 'x'", [(P, "and", "=", "x")]),
    ("params.not = 'x'", [(P, "not", "=", "x")]),
    ("params.a IN ('x', 'y')", [(P, "a", "IN", ("x", "y"))]),
    ("params.a NOT IN ('x')", [(P, "a", "NOT IN", ("x",))]),
    ("params.a > '5'", [(P, "a", ">", 5.0)]),
    ("params.a >= 5e-1", [(P, "a", ">=", 0.5)]),
    ("params.a = 5", [(P, "a", "=", 5.0)]),
    ("params.a = '5'", [(P, "a", "=", "5")]),
    # tags
    ("tags.a = 'x'", [(T, "a", "=", "x")]),
    ("tag.a LIKE 'x%'", [(T, "a", "LIKE", "x%")]),
    ("tags.mlflow.runName = 'x'", [(T, "mlflow.runName", "=", "x")]),
    ("tags.`mlflow.runName` = 'x'", [(T, "mlflow.runName", "=", "x")]),
    ("tags.a < 3", [(T, "a", "<", 3.0)]),
    # attributes
    ("attributes.status = 'RUNNING'", [(A, "status", "=", "RUNNING")]),
    ("attribute.status != 'RUNNING'", [(A, "status", "!=", "RUNNING")]),
    ("attr.status = 'RUNNING'", [(A, "status", "=", "RUNNING")]),
    ("run.status = 'RUNNING'", [(A, "status", "=", "RUNNING")]),
    ("status ILIKE 'r%'", [(A, "status", "ILIKE", "r%")]),
    ("status IN ('RUNNING', 'FAILED')", [(A, "status", "IN", ("RUNNING", "FAILED"))]),
    ("start_time > 1", [(A, "start_time", ">", 1)]),
    ("start_time > 1.5", [(A, "start_time", ">", 1.5)]),
    ("Created > 1", [(A, "start_time", ">", 1)]),
    ("created > 9223372036854775808", [(A, "start_time", ">", 9223372036854775808.0)]),
    ("attributes.end_time < 1", [(A, "end_time", "<", 1)]),
    ("`run name` = 'x'", [(A, "run_name", "=", "x")]),
    ("\"Run name\" = 'x'", [(A, "run_name", "=", "x")]),
    ("attributes.`Run Name` = 'x'", [(A, "run_name", "=", "x")]),
    ("run_id IN ('a','b')", [(A, "run_id", "IN", ("a", "b"))]),
    ("run_id IN ('a',)", [(A, "run_id", "IN", ("a",))]),
    ('run_id not in ("a")', [(A, "run_id", "NOT IN", ("a",))]),
    ("user_id = 'x'", [(A, "user_id", "=", "x")]),
    ("artifact_uri LIKE '%'", [(A, "artifact_uri", "LIKE", "%")]),
    # data sets
    ("dataset.name = 'x'", [(D, "name", "=", "x")]),
    ("datasets.digest != 'x'", [(D, "digest", "!=", "x")]),
    ("dataset.context IN ('train')", [(D, "context", "IN", ("train",))]),
    # AND in MLflow's lax ways
    ("metrics.a > 1 AND metrics.b > 2", [(M, "a", ">", 1.0), (M, "b", ">", 2.0)]),
    ("metrics.a > 1 and metrics.b > 2", [(M, "a", ">", 1.0), (M, "b", ">", 2.0)]),
    ("metrics.a > 1 metrics.b > 2", [(M, "a", ">", 1.0), (M, "b", ">", 2.0)]),
    ("metrics.a > 1 AND AND metrics.b > 2", [(M, "a", ">", 1.0), (M, "b", ">", 2.0)]),
    ("AND metrics.a > 1 AND", [(M, "a", ">", 1.0)]),
    ("params.a = 'x'params.b = 'y'", [(P, "a", "=", "x"), (P, "b", "=", "y")]),
    ("tags.a IS NULL AND run_id IN ('a')", [(T, "a", "IS NULL", None), (A, "run_id", "IN", ("a",))]),
]

REFUSED: list[tuple[str, str]] = [
    ("   ", "blank"),
    ("metrics.a == 1", "write ="),
    ("metrics.a <> 1", "write !="),
    ("metrics.a LIKE 1", "does not support LIKE"),
    ("metrics.a IN ('1')", "does not support IN"),
    ("metrics.a IS NULL", "does not support IS NULL"),
    ("metrics.a > '1'", "a number without quotes"),
    ("Metrics.a > 1", "no entity 'Metrics'"),
    ("metrics.a > +1", "unexpected '+'"),
    ("metrics.a > 0x10", "found '0x10'"),
    ("metrics.a > inf", "found 'inf'"),
    ("metrics.a = NaN", "found 'NaN'"),
    ("metrics.a > 1_000", "found '1_000'"),
    ("metrics.a > 1;", "';' is not allowed"),
    ("metrics.a > 1; DROP TABLE runs", "';' is not allowed"),
    ("metrics.a > 1, metrics.b > 2", "found ','"),
    ("metrics.a", "expected an operator"),
    ("metrics.a >", "it ends"),
    ("1 > metrics.a", "expected a name"),
    ("'a' = params.a", "expected a name"),
    ("metrics.a > metrics.b", "a number without quotes"),
    ("metrics.a BETWEEN 0 AND 1", "expected an operator"),
    ("metrics.a > 1 -- x", "unexpected '-'"),
    ("metrics.a > 1 /* x */", "unexpected '/'"),
    ("select 1", "no attribute 'select'"),
    ("'", "not closed"),
    ("params.a = '", "not closed"),
    ("params.`a = 'x'", "needs back-quotes"),
    ("metrics. > 0", "unexpected '.'"),
    ("metrics . a > 1", "unexpected '.'"),
    ("metrics.f1-score > 0", "needs back-quotes"),
    ("metrics.a/b > 0", "needs back-quotes"),
    ("metrics.a:b > 0", "needs back-quotes"),
    ("params.a:min = 'x'", "only for a metric"),
    ('"metrics".a > 0', "unexpected '.'"),
    ("params.a = x", "a quoted text"),
    ("params.a = `x`", "a quoted text"),
    ("params.a > 'x'", "compare numbers"),
    ("params.a > 'nan'", "compare numbers"),
    ("params.a > x", "a number (quoted or not)"),
    ("params.a RLIKE 'x'", "expected an operator"),
    ("params.a NOT LIKE 'x'", "write NOT before"),
    ("params.a LIKE 5", "a quoted text"),
    ("params.a ISNULL", "expected an operator"),
    ("params.a = NULL", "a quoted text"),
    ("STATUS = 'RUNNING'", "no attribute 'STATUS'"),
    ("status IS NULL", "does not support IS NULL"),
    ("status > 'A'", "does not support >"),
    ("start_time > '1'", "a number without quotes"),
    ("start_time LIKE 1", "does not support LIKE"),
    ("run_id IN ()", "a quoted text"),
    ("run_id IN (1)", "a quoted text"),
    ("run_id IN ('a' 'b')", "','"),
    ("run_id IN 'a'", "in brackets"),
    ("run_id IN ('a'", "it ends"),
    ("experiment_id = '1'", "no attribute 'experiment_id'"),
    ("lifecycle_stage = 'active'", "no attribute"),
    ("loss > 0", "need a prefix"),
    ("foo.bar = 'x'", "no entity 'foo'"),
    ("dataset.nope = 'x'", "only name, digest, context"),
    ("dataset.name > 'a'", "does not support >"),
    ("dataset.name IS NULL", "does not support IS NULL"),
    ("(metrics.a > 1", "not closed"),
    ("metrics.a > 1)", "found ')'"),
    ("()", "expected a comparison"),
    ("metrics.a > 1 OR", "expected a comparison"),
    ("OR metrics.a > 1", "expected a comparison"),
    ("NOT", "it ends"),
    ("AND", "expected a comparison"),
    ("\0", "unexpected"),
]


def clauses(tree: Filter | None) -> list[Clause]:
    """A conjunction as plain tuples."""
    parts = tree.parts if isinstance(tree, And) else (tree,)
    plain = []
    for part in parts:
        assert isinstance(part, Comparison)
        plain.append((part.entity, part.key, part.operator.value, part.value))
    return plain


@pytest.mark.parametrize(("text", "expected"), ACCEPTED, ids=[text for text, _ in ACCEPTED])
def test_a_sentence_has_one_meaning(text: str, expected: list[Clause]) -> None:
    """Every form that MLflow's users write, and ours, gives the tree that they mean."""
    tree = parse(text, RUNS)
    assert clauses(tree) == expected
    assert parse(to_text(tree), RUNS) == tree


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[repr(text) for text, _ in REFUSED])
def test_a_wrong_sentence_is_refused_with_its_place(text: str, why: str) -> None:
    """What cannot be understood is an error that names the character and the reason, never an empty result."""
    with pytest.raises(InvalidParameterValue, match="at character") as caught:
        parse(text, RUNS)
    assert why in caught.value.message


def test_no_text_is_no_filter() -> None:
    """An empty filter matches everything."""
    assert parse("", RUNS) is None
    assert to_text(None) == ""


def test_or_binds_weaker_than_and_and_brackets_bind_strongest() -> None:
    """`a AND b OR c` is `(a AND b) OR c`."""
    a, b, c = (Comparison(M, key, Operator.GT, 1.0) for key in "abc")
    assert parse("metrics.a>1 AND metrics.b>1 OR metrics.c>1", RUNS) == Or((And((a, b)), c))
    assert parse("metrics.a>1 AND (metrics.b>1 OR metrics.c>1)", RUNS) == And((a, Or((b, c))))
    assert parse("NOT metrics.a>1 AND metrics.b>1", RUNS) == And((Not(a), b))
    assert parse("not (metrics.a>1 or NOT metrics.b>1)", RUNS) == Not(Or((a, Not(b))))
    assert parse("((metrics.a>1))", RUNS) == a


def test_a_metric_may_name_one_of_its_values() -> None:
    """`:min`, `:max`, `:first` and `:last` pick a value of a metric, and never hide a key that looks like that."""
    for field in METRIC_FIELDS:
        assert parse(f"metrics.a:{field} < 1", RUNS) == Comparison(M, "a", Operator.LT, 1.0, field)
        assert parse(f"metrics.`a b`:{field} < 1", RUNS) == Comparison(M, "a b", Operator.LT, 1.0, field)
    assert parse("metrics.`a:min` < 1", RUNS) == Comparison(M, "a:min", Operator.LT, 1.0)


def test_nesting_and_length_have_limits() -> None:
    """Nothing a client sends makes the parser recurse without end."""
    assert parse("(" * DEPTH_MAX + "metrics.a > 1" + ")" * DEPTH_MAX, RUNS)
    for text in ("(" * 5000 + "metrics.a > 1", "NOT " * 5000 + "metrics.a > 1"):
        with pytest.raises(InvalidParameterValue, match="nested more than"):
            parse(text, RUNS)
    assert parse("metrics.a > 1 " * COMPARISONS_MAX, RUNS)
    with pytest.raises(InvalidParameterValue, match="more than 200 comparisons"):
        parse("metrics.a > 1 " * (COMPARISONS_MAX + 1), RUNS)
    with pytest.raises(InvalidParameterValue, match="at most 8000 characters"):
        parse(f"params.a LIKE '{'x' * 8001}'", RUNS)
    with pytest.raises(InvalidParameterValue, match="at most 10000 values"):
        parse(f"params.a IN ({', '.join(['0'.join(chr(39) * 2)] * 10_001)})", RUNS)
    with pytest.raises(InvalidParameterValue, match="at most 20"):
        parse_order_by([f"metrics.m{i}" for i in range(21)], RUNS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = 'a'", [(A, "name", "=", "a")]),
        ("attribute.name ILIKE 'A%'", [(A, "name", "ILIKE", "A%")]),
        ("attributes.name IN ('a', 'b')", [(A, "name", "IN", ("a", "b"))]),
        ("tags.a != 'b'", [(T, "a", "!=", "b")]),
        ("tag.`a b` IS NULL", [(T, "a b", "IS NULL", None)]),
        ("experiment_id = ' 05 '", [(A, "experiment_id", "=", "5")]),
        ("experiment_id NOT IN ('1','2')", [(A, "experiment_id", "NOT IN", ("1", "2"))]),
        ("creation_time >= 5", [(A, "creation_time", ">=", 5)]),
        ("last_update_time < 5", [(A, "last_update_time", "<", 5)]),
    ],
)
def test_experiments_are_searched_in_the_same_language(text: str, expected: list[Clause]) -> None:
    """Experiments have their own attributes and their tags."""
    tree = parse(text, EXPERIMENTS)
    assert clauses(tree) == expected
    assert parse(to_text(tree), EXPERIMENTS) == tree


@pytest.mark.parametrize(
    "text",
    [
        "attr.name = 'a'",
        "metrics.a > 1",
        "name > 'a'",
        "name = a",
        "name IS NULL",
        "name",
        "tags.a > 'b'",
        "tags.a = 1",
        "experiment_id = 5",
        "experiment_id = 'x'",
        "experiment_id LIKE '1'",
        "creation_time > 5.5",
        "creation_time > 1e400",
        "creation_time > '5'",
        "lifecycle_stage = 'active'",
        "run_name = 'x'",
    ],
)
def test_experiments_refuse_what_only_runs_have(text: str) -> None:
    """The attributes of runs mean nothing to experiments."""
    with pytest.raises(InvalidParameterValue, match="at character"):
        parse(text, EXPERIMENTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metrics.a", OrderBy(M, "a")),
        ("metrics.a ASC", OrderBy(M, "a")),
        ("  metrics.a desc ", OrderBy(M, "a", ascending=False)),
        ("metrics.a:min DESC", OrderBy(M, "a", ascending=False, metric_field="min")),
        ("metrics.`a b` DESC", OrderBy(M, "a b", ascending=False)),
        ("params.a", OrderBy(P, "a")),
        ("tag.a ASC", OrderBy(T, "a")),
        ("start_time", OrderBy(A, "start_time")),
        ("Created DESC", OrderBy(A, "start_time", ascending=False)),
        ("attributes.end_time", OrderBy(A, "end_time")),
        ("attributes.`run name`", OrderBy(A, "run_name")),
        ("metrics.손실 DESC", OrderBy(M, "손실", ascending=False)),
    ],
)
def test_a_sort_key_is_an_identifier_with_a_direction(text: str, expected: OrderBy) -> None:
    """Ascending unless said otherwise."""
    assert parse_order_by([text], RUNS) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nope",
        "experiment_id",
        "metrics",
        "metrics.a SIDEWAYS",
        "metrics.a ASC DESC",
        "metrics.a b",
        "metrics.a-b",
        "metrics.a, metrics.b",
        "metrics.a;",
        "metrics.a > 1",
        "metrics.a:mean",
        "start_time NULLS LAST",
        "dataset.name",
        "1",
    ],
)
def test_a_wrong_sort_key_is_refused(text: str) -> None:
    """No sort key is silently dropped."""
    with pytest.raises(InvalidParameterValue):
        parse_order_by([text], RUNS)


def test_a_sort_key_comes_once() -> None:
    """The same key twice is a mistake, also under two names."""
    with pytest.raises(InvalidParameterValue, match="twice"):
        parse_order_by(["start_time", "attributes.created DESC"], RUNS)
    assert len(parse_order_by(["metrics.a", "metrics.a:max"], RUNS)) == 2


def test_experiments_sort_by_attributes_only() -> None:
    """A tag is no sort key of experiments."""
    assert parse_order_by(["name DESC"], EXPERIMENTS) == [OrderBy(A, "name", ascending=False)]
    with pytest.raises(InvalidParameterValue, match="not by a tag"):
        parse_order_by(["tags.a"], EXPERIMENTS)


_PIECES = st.sampled_from(
    [
        "metrics.",
        "params.",
        "tags.",
        "a",
        "`b",
        "c`",
        '"d"',
        "'e'",
        "''",
        "'",
        '"',
        "`",
        "=",
        "!=",
        ">",
        "<=",
        "LIKE",
        "ILIKE",
        "IN",
        "NOT",
        "AND",
        "OR",
        "IS",
        "NULL",
        "(",
        ")",
        ",",
        ";",
        ".",
        ":",
        "1",
        "-1.5",
        "1e9",
        "1e999",
        ":min",
        "status",
        "start_time",
        "run_id",
        "\\",
        "%",
        "한글",
        "\x00",
        "�",
        "ASC",
        "desc",
        "dataset.name",
    ]
)


@given(
    st.one_of(
        st.text(max_size=60), st.lists(_PIECES, max_size=14).map(" ".join), st.lists(_PIECES).map("".join)
    )
)
def test_any_text_is_understood_or_refused(text: str) -> None:
    """The parser never fails in any other way, and prints what it understood."""
    for language in (RUNS, EXPERIMENTS):
        try:
            tree = parse(text, language)
        except InvalidParameterValue:
            continue
        assert parse(to_text(tree), language) == tree
    with contextlib.suppress(InvalidParameterValue):
        parse_order_by([text], RUNS)


_KEYS = st.text(min_size=1, max_size=8)
_NUMBERS = st.floats(allow_nan=False)
_ORDERINGS = st.sampled_from([Operator.GT, Operator.GE, Operator.LT, Operator.LE])
_EQUALS = st.sampled_from([Operator.EQ, Operator.NE])
_LIKES = st.sampled_from([Operator.EQ, Operator.NE, Operator.LIKE, Operator.ILIKE])
_LISTS = st.sampled_from([Operator.IN, Operator.NOT_IN])
_VALUES = st.lists(st.text(max_size=8), min_size=1, max_size=3).map(tuple)
_COMPARISONS = st.one_of(
    st.builds(Comparison, st.just(M), _KEYS, _ORDERINGS | _EQUALS, _NUMBERS, st.sampled_from(METRIC_FIELDS)),
    st.builds(Comparison, st.sampled_from([P, T]), _KEYS, _LIKES, st.text(max_size=8)),
    st.builds(Comparison, st.sampled_from([P, T]), _KEYS, _ORDERINGS | _EQUALS, _NUMBERS),
    st.builds(Comparison, st.sampled_from([P, T]), _KEYS, _LISTS, _VALUES),
    st.builds(
        Comparison, st.sampled_from([P, T]), _KEYS, st.sampled_from([Operator.IS_NULL, Operator.IS_NOT_NULL])
    ),
    st.builds(
        Comparison, st.just(D), st.sampled_from(["name", "digest", "context"]), _LIKES, st.text(max_size=8)
    ),
    st.builds(Comparison, st.just(A), st.sampled_from(["start_time", "end_time"]), _ORDERINGS, _NUMBERS),
    st.builds(
        Comparison,
        st.just(A),
        st.just("start_time"),
        _EQUALS,
        st.integers(-(2**63), 2**63 - 1),
    ),
    st.builds(Comparison, st.just(A), st.sampled_from(["run_id", "status"]), _LISTS, _VALUES),
)


def _combined(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=2, max_size=4).map(tuple)
    return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, parts))


@given(st.recursive(_COMPARISONS, _combined, max_leaves=12))
def test_a_printed_tree_reads_back_as_itself(tree: Filter) -> None:
    """Printing and reading are inverse, for every tree there is."""
    assert parse(to_text(tree), RUNS) == tree
