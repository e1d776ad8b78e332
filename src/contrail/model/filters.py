"""A parsed search: the tree between the filter language (`wire`) and SQL (`store`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Entity(StrEnum):
    """What a filter or a sort key looks at."""

    ATTRIBUTE = "attribute"
    METRIC = "metric"
    PARAM = "param"
    TAG = "tag"
    DATASET = "dataset"


class Operator(StrEnum):
    """How a value is compared. LIKE is case-sensitive, ILIKE is not; `%`, `_` and `\\` as in SQL."""

    EQ = "="
    NE = "!="
    GT = ">"
    GE = ">="
    LT = "<"
    LE = "<="
    LIKE = "LIKE"
    ILIKE = "ILIKE"
    IN = "IN"
    NOT_IN = "NOT IN"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One clause. `value` is None for IS [NOT] NULL and a tuple for [NOT] IN.

    Attributes arrive under their canonical names: for runs `run_id, run_name, status, user_id,
    artifact_uri, start_time, end_time`; for experiments `name, experiment_id, creation_time,
    last_update_time`. `metric_field` picks which value of a metric is meant.
    """

    entity: Entity
    key: str
    operator: Operator
    value: str | float | int | tuple[str, ...] | None = None
    metric_field: str = "last"


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts hold."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the parts holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter


Filter: TypeAlias = Comparison | And | Or | Not


@dataclass(frozen=True, slots=True)
class OrderBy:
    """One sort key. Missing values come last in both directions, NaN just before them."""

    entity: Entity
    key: str
    ascending: bool = True
    metric_field: str = "last"
