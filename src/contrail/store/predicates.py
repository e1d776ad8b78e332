"""Filter trees to SQL conditions.

Every condition is true or false, never NULL, so that `Not` means what it says. A comparison on a key that a run
does not have is false, also with `!=`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Table,
    and_,
    cast,
    exists,
    false,
    not_,
    or_,
    select,
    true,
)

from contrail.model.errors import InvalidParameterValue
from contrail.model.filters import And, Comparison, Entity, Filter, Not, Operator, Or
from contrail.model.tracking import Lifecycle, RunStatus, ViewType
from contrail.store import keys, numbers
from contrail.store.tables import (
    datasets,
    experiment_tags,
    experiments,
    input_tags,
    metric_latest,
    params,
    run_inputs,
    run_tags,
    runs,
)

Condition: TypeAlias = ColumnElement[bool]
CONTEXT_TAG = "mlflow.data.context"
METRIC_FIELDS = {
    "last": metric_latest.c.value,
    "min": metric_latest.c.min_value,
    "max": metric_latest.c.max_value,
    "first": metric_latest.c.first_value,
}
_COMPARE: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
}
_RUN_ATTRIBUTES: dict[str, Column[Any]] = {
    "run_id": runs.c.run_uuid,
    "run_name": runs.c.name,
    "user_id": runs.c.user_id,
    "artifact_uri": runs.c.artifact_uri,
    "start_time": runs.c.start_ms,
    "end_time": runs.c.end_ms,
}
_EXPERIMENT_ATTRIBUTES: dict[str, Column[Any]] = {
    "name": experiments.c.name,
    "experiment_id": experiments.c.id,
    "creation_time": experiments.c.created_ms,
    "last_update_time": experiments.c.updated_ms,
}


def in_view(lifecycle: Column[Any], view: ViewType) -> list[Condition]:
    """The condition that `view` puts on a lifecycle column, as a list of none or one."""
    if view is ViewType.ALL:
        return []
    return [lifecycle == (Lifecycle.ACTIVE if view is ViewType.ACTIVE_ONLY else Lifecycle.DELETED)]


def for_runs(connection: Connection, tree: Filter) -> Condition:
    """The condition on `runs` that `tree` means. Raises InvalidParameterValue for what runs do not have."""
    key_ids = keys.known_ids(connection, _metric_names(tree))
    return _walk(tree, lambda comparison: _on_run(comparison, key_ids))


def for_experiments(tree: Filter) -> Condition:
    """The condition on `experiments` that `tree` means. Raises InvalidParameterValue for what they do not have."""
    return _walk(tree, _on_experiment)


def _walk(tree: Filter, leaf: Callable[[Comparison], Condition]) -> Condition:
    match tree:
        case And(parts):
            return and_(true(), *(_walk(part, leaf) for part in parts))
        case Or(parts):
            return or_(false(), *(_walk(part, leaf) for part in parts))
        case Not(part):
            return not_(_walk(part, leaf))
        case Comparison():
            return leaf(tree)


def _metric_names(tree: Filter) -> list[str]:
    match tree:
        case And(parts) | Or(parts):
            return [name for part in parts for name in _metric_names(part)]
        case Not(part):
            return _metric_names(part)
        case Comparison(Entity.METRIC, key):
            return [key]
    return []


def _on_run(comparison: Comparison, key_ids: Mapping[str, int]) -> Condition:
    match comparison.entity:
        case Entity.METRIC:
            return _on_metric(comparison, key_ids)
        case Entity.PARAM:
            return _on_keyed(comparison, params, params.c.run_id == runs.c.id)
        case Entity.TAG:
            return _on_keyed(comparison, run_tags, run_tags.c.run_id == runs.c.id)
        case Entity.DATASET:
            return _on_dataset(comparison)
    if comparison.key == "status":
        return _on_status(comparison)
    return _on_attribute(comparison, _RUN_ATTRIBUTES, "runs")


def _on_experiment(comparison: Comparison) -> Condition:
    if comparison.entity is Entity.TAG:
        return _on_keyed(comparison, experiment_tags, experiment_tags.c.experiment_id == experiments.c.id)
    if comparison.entity is not Entity.ATTRIBUTE:
        raise InvalidParameterValue(f"Experiments have no {comparison.entity}s to search by")
    return _on_attribute(comparison, _EXPERIMENT_ATTRIBUTES, "experiments")


def _on_metric(comparison: Comparison, key_ids: Mapping[str, int]) -> Condition:
    key_id = key_ids.get(comparison.key)
    if key_id is None:
        return false()
    mine = (metric_latest.c.run_id == runs.c.id) & (metric_latest.c.key_id == key_id)
    return exists(select(1).where(mine, _metric_value(comparison)))


def _metric_value(comparison: Comparison) -> Condition:
    """NaN (for extremes: nothing but NaN) differs from every number and is neither above nor below one."""
    column = METRIC_FIELDS.get(comparison.metric_field)
    if column is None:
        raise InvalidParameterValue(f"A metric has last, min, max and first, not '{comparison.metric_field}'")
    if comparison.operator not in _COMPARE:
        raise InvalidParameterValue(f"{comparison.operator} does not apply to metrics")
    nan = metric_is_nan(comparison.metric_field)
    holds = _COMPARE[comparison.operator](column, _number(comparison))
    return or_(nan, holds) if comparison.operator is Operator.NE else and_(not_(nan), holds)


def metric_is_nan(field: str, table: Any = metric_latest) -> Condition:
    """Whether the wanted field of a row of `metric_latest` is not a number."""
    if field == "last":
        return cast(table.c.is_nan, Boolean)
    if field == "first":
        return cast(table.c.first_is_nan, Boolean)
    return table.c[METRIC_FIELDS[field].name].is_(None)  # type: ignore[no-any-return]


def _on_keyed(comparison: Comparison, table: Table, mine: Condition) -> Condition:
    mine = and_(mine, table.c.key == comparison.key)
    if comparison.operator is Operator.IS_NULL:
        return not_(exists(select(1).where(mine)))
    if comparison.operator is Operator.IS_NOT_NULL:
        return exists(select(1).where(mine))
    return exists(select(1).where(mine, _keyed_value(comparison, table)))


def _keyed_value(comparison: Comparison, table: Table) -> Condition:
    """Bigger and smaller mean numbers where both sides are numbers; equality is that of the text."""
    value = comparison.value
    bare_number = isinstance(value, int | float)
    wants_order = comparison.operator in _COMPARE and comparison.operator not in (Operator.EQ, Operator.NE)
    if (bare_number or wants_order) and "number" in table.c:
        number = float(value) if isinstance(value, int | float) else numbers.parse(str(value))
        if number is not None:
            return and_(table.c.number.is_not(None), _COMPARE[comparison.operator](table.c.number, number))
    return text_condition(table.c.value, comparison)


def _on_dataset(comparison: Comparison) -> Condition:
    joined = run_inputs.join(datasets)
    if comparison.key == "context":
        joined = joined.join(
            input_tags,
            (input_tags.c.run_id == run_inputs.c.run_id)
            & (input_tags.c.dataset_id == run_inputs.c.dataset_id)
            & (input_tags.c.key == CONTEXT_TAG),
        )
        column: Column[Any] = input_tags.c.value
    elif comparison.key in ("name", "digest"):
        column = datasets.c[comparison.key]
    else:
        raise InvalidParameterValue(f"A dataset has name, digest and context, not '{comparison.key}'")
    found = (
        select(1)
        .select_from(joined)
        .where(run_inputs.c.run_id == runs.c.id, text_condition(column, comparison))
    )
    return exists(found)


def _on_status(comparison: Comparison) -> Condition:
    """Statuses are stored as numbers; the few names are compared here."""
    return runs.c.status.in_([int(status) for status in RunStatus if _text_holds(status.name, comparison)])


def _on_attribute(comparison: Comparison, attributes: Mapping[str, Column[Any]], of: str) -> Condition:
    column = attributes.get(comparison.key)
    if column is None:
        raise InvalidParameterValue(
            f"There is no attribute '{comparison.key}' of {of}; valid: {', '.join(attributes)}"
        )
    if column.type.python_type is int:
        return _on_number(column, comparison)
    return text_condition(column, comparison)


def _on_number(column: Column[Any], comparison: Comparison) -> Condition:
    if comparison.operator in (Operator.IN, Operator.NOT_IN):
        listed = column.in_([_integer(value) for value in _tuple(comparison)])
        return listed if comparison.operator is Operator.IN else not_(listed)
    if comparison.operator not in _COMPARE:
        raise InvalidParameterValue(
            f"{comparison.operator} does not apply to {comparison.key}, which is a number"
        )
    holds: Condition = _COMPARE[comparison.operator](column, _number(comparison))
    return and_(column.is_not(None), holds) if column.nullable else holds


def text_condition(column: ColumnElement[Any], comparison: Comparison) -> Condition:
    """`column` compared as text, case-sensitively except for ILIKE."""
    match comparison.operator:
        case Operator.IN:
            return column.in_(_tuple(comparison))
        case Operator.NOT_IN:
            return column.not_in(_tuple(comparison))
        case Operator.LIKE:
            return column.like(_pattern(_text(comparison)), escape="\\")
        case Operator.ILIKE:
            return column.ilike(_pattern(_text(comparison)), escape="\\")
    if comparison.operator not in _COMPARE:
        raise InvalidParameterValue(
            f"{comparison.operator} does not apply to {comparison.entity} '{comparison.key}'"
        )
    return _COMPARE[comparison.operator](column, _text(comparison))  # type: ignore[no-any-return]


def _pattern(pattern: str) -> str:
    r"""Only `\%`, `\_` and `\\` are escapes; any other backslash is itself, on every database."""
    return re.sub(r"\\([%_\\])|\\", lambda found: found[0] if found[1] else r"\\", pattern)


def _text_holds(text: str, comparison: Comparison) -> bool:
    match comparison.operator:
        case Operator.IN:
            return text in _tuple(comparison)
        case Operator.NOT_IN:
            return text not in _tuple(comparison)
        case Operator.LIKE:
            return _like(_text(comparison), 0).fullmatch(text) is not None
        case Operator.ILIKE:
            return _like(_text(comparison), re.IGNORECASE).fullmatch(text) is not None
    if comparison.operator not in _COMPARE:
        raise InvalidParameterValue(
            f"{comparison.operator} does not apply to {comparison.entity} '{comparison.key}'"
        )
    return bool(_COMPARE[comparison.operator](text, _text(comparison)))


def _like(pattern: str, flags: int) -> re.Pattern[str]:
    parts = re.findall(r"\\[%_\\]|%+|.", pattern, re.DOTALL)  # %% is %, and would take exponential time
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(part[:1]) or re.escape(part[-1]) for part in parts), flags | re.DOTALL)


def _text(comparison: Comparison) -> str:
    return comparison.value if isinstance(comparison.value, str) else str(comparison.value)


def _tuple(comparison: Comparison) -> tuple[str, ...]:
    if not isinstance(comparison.value, tuple):
        raise InvalidParameterValue(f"{comparison.operator} needs a list of values for '{comparison.key}'")
    return comparison.value


def _number(comparison: Comparison) -> int | float:
    value = comparison.value
    if isinstance(value, str):
        value = numbers.parse(value)
    if not isinstance(value, int | float):
        raise InvalidParameterValue(
            f"'{comparison.key}' is compared with a number, not with {comparison.value!r}"
        )
    return value


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidParameterValue(f"'{text}' is not an integer") from None
