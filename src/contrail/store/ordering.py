"""Sorting and keyset pages: a page starts after the sort values of the last row before it.

A sort key becomes one or two terms without NULLs, so that pages compare plainly: first its rank (number, then NaN
or text, then missing: last in both directions), then its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Double,
    FromClause,
    Integer,
    Row,
    Select,
    Text,
    and_,
    case,
    func,
    literal,
    or_,
)

from contrail.model.errors import InvalidParameterValue
from contrail.model.filters import Entity, OrderBy
from contrail.store import keys
from contrail.store.predicates import METRIC_FIELDS, metric_is_nan
from contrail.store.tables import experiments, metric_latest, params, run_tags, runs

_STATUS_NAMES = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


@dataclass(frozen=True, slots=True)
class Term:
    """One column of the sort order; its expression is never NULL."""

    expression: ColumnElement[Any]
    descending: bool = False

    def sorted(self) -> ColumnElement[Any]:
        """For ORDER BY."""
        return self.expression.desc() if self.descending else self.expression.asc()

    def beyond(self, value: Any) -> ColumnElement[bool]:
        """Rows that come later than `value` in this term."""
        return self.expression.__lt__(value) if self.descending else self.expression.__gt__(value)

    def from_there(self, value: Any) -> ColumnElement[bool]:
        """Rows that come at `value` or later."""
        return self.expression.__le__(value) if self.descending else self.expression.__ge__(value)


def for_experiments(order_by: Sequence[OrderBy]) -> list[Term]:
    """Default: newest first, then id; with explicit keys the higher id comes first among equals, as in MLflow."""
    columns = {
        "name": experiments.c.name,
        "experiment_id": experiments.c.id,
        "creation_time": experiments.c.created_ms,
        "last_update_time": experiments.c.updated_ms,
    }
    if not order_by:
        return [Term(experiments.c.created_ms, descending=True), Term(experiments.c.id)]
    terms = []
    for key in order_by:
        if key.entity is not Entity.ATTRIBUTE or key.key not in columns:
            raise InvalidParameterValue(f"Experiments cannot be sorted by {key.entity} '{key.key}'")
        terms.append(Term(columns[key.key], not key.ascending))
    return [*terms, Term(experiments.c.id, descending=True)]


def for_runs(
    connection: Connection, query: Select[Any], order_by: Sequence[OrderBy]
) -> tuple[Select[Any], list[Term]]:
    """The sort terms, and `query` with the joins they need."""
    terms: list[Term] = []
    key_ids = keys.known_ids(connection, [key.key for key in order_by if key.entity is Entity.METRIC])
    for key in order_by:
        if key.entity is Entity.ATTRIBUTE:
            terms += _attribute(key)
        elif key.entity is Entity.METRIC:
            if key.key in key_ids:
                joined = metric_latest.alias()
                mine = (joined.c.run_id == runs.c.id) & (joined.c.key_id == key_ids[key.key])
                query = query.outerjoin(joined, mine)
                terms += _metric(key, joined)
        elif key.entity in (Entity.PARAM, Entity.TAG):
            table = (params if key.entity is Entity.PARAM else run_tags).alias()
            query = query.outerjoin(table, (table.c.run_id == runs.c.id) & (table.c.key == key.key))
            terms += _text_or_number(key, table)
        else:
            raise InvalidParameterValue(f"Runs cannot be sorted by {key.entity} '{key.key}'")
    if not any(key.entity is Entity.ATTRIBUTE and key.key == "start_time" for key in order_by):
        terms.append(Term(runs.c.start_ms, descending=True))
    return query, [*terms, Term(runs.c.run_uuid)]


def page(
    connection: Connection,
    query: Select[Any],
    order: Sequence[Term],
    limit: int,
    after: Sequence[Any] | None,
) -> tuple[Sequence[Row[Any]], list[Any] | None]:
    """At most `limit` rows of `query` after position `after`, and the position of the last one if there are more."""
    query = query.add_columns(*(term.expression.label(f"sort_{i}") for i, term in enumerate(order)))
    if after is not None:
        query = query.where(_later(order, _read_position(order, after)))
    query = query.order_by(*(term.sorted() for term in order)).limit(limit + 1)
    rows = connection.execute(query).all()
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], [_write_value(value) for value in rows[limit - 1][-len(order) :]]


def _attribute(key: OrderBy) -> list[Term]:
    descending = not key.ascending
    if key.key == "status":
        return [Term(case(_STATUS_NAMES, value=runs.c.status, else_=""), descending)]
    if key.key == "end_time":
        return [
            Term(case((runs.c.end_ms.is_(None), 1), else_=0)),
            Term(func.coalesce(runs.c.end_ms, 0), descending),
        ]
    columns: dict[str, Column[Any]] = {
        "run_id": runs.c.run_uuid,
        "run_name": runs.c.name,
        "user_id": runs.c.user_id,
        "artifact_uri": runs.c.artifact_uri,
        "start_time": runs.c.start_ms,
    }
    if key.key not in columns:
        valid = ", ".join([*columns, "status", "end_time"])
        raise InvalidParameterValue(f"Runs cannot be sorted by attribute '{key.key}'; valid: {valid}")
    return [Term(columns[key.key], descending)]


def _metric(key: OrderBy, joined: FromClause) -> list[Term]:
    column = METRIC_FIELDS.get(key.metric_field)
    if column is None:
        raise InvalidParameterValue(f"A metric has last, min, max and first, not '{key.metric_field}'")
    rank = case((joined.c.run_id.is_(None), 2), (metric_is_nan(key.metric_field, joined), 1), else_=0)
    return [Term(rank), Term(func.coalesce(joined.c[column.name], literal(0.0, Double)), not key.ascending)]


def _text_or_number(key: OrderBy, table: FromClause) -> list[Term]:
    """Numbers by size and before other text (after it when descending), then missing ones."""
    descending = not key.ascending
    numeric, text = (1, 0) if descending else (0, 1)
    rank = case((table.c.run_id.is_(None), 2), (table.c.number.is_(None), text), else_=numeric)
    return [
        Term(rank),
        Term(func.coalesce(table.c.number, literal(0.0, Double)), descending),
        Term(func.coalesce(table.c.value, literal("", Text)), descending),
    ]


def _later(order: Sequence[Term], position: Sequence[Any]) -> ColumnElement[bool]:
    """Rows after `position`, by the first term that differs.

    The bound on the first term says nothing new, but lets the database start at the right place of an index.
    """
    alternatives = []
    for i, term in enumerate(order):
        equal = [earlier.expression == value for earlier, value in zip(order[:i], position[:i], strict=True)]
        alternatives.append(and_(*equal, term.beyond(position[i])))
    return and_(order[0].from_there(position[0]), or_(*alternatives))


def _write_value(value: Any) -> str | int:
    """Numbers with a fraction travel as hexadecimal text, which is exact and also spells the infinities."""
    return value.hex() if isinstance(value, float) else value


def _read_position(order: Sequence[Term], after: Sequence[Any]) -> list[Any]:
    if len(after) != len(order):
        raise InvalidParameterValue("Invalid page token, it belongs to a search with another order")
    return [_read_value(term, value) for term, value in zip(order, after, strict=True)]


def _read_value(term: Term, value: Any) -> Any:
    kind = term.expression.type
    try:
        if isinstance(kind, Double):
            return float.fromhex(value)
        if isinstance(kind, BigInteger | Integer):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError
            value.to_bytes(8, "big", signed=True)  # no database has larger ones
            return value
        value.encode()  # lone surrogates would break in the driver
        return value
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise InvalidParameterValue("Invalid page token, it does not fit this search") from None
