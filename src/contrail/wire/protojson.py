"""MLflow's JSON: what protobuf's JSON mapping accepts, decoded into msgspec structs.

A well-formed body takes the fast path, msgspec's own decoder. Everything else - camelCase names, numbers as
strings, bare NaN, unknown fields, a body inside a JSON string - takes the tolerant path, which walks the
struct's fields. What neither accepts is refused with the name of the field; nothing is ever half-parsed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import inspect

from contrail.model.errors import InvalidParameterValue

T = TypeVar("T", bound=msgspec.Struct)

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_HINT = "See the API docs for more information about request parameters."
_SHOWN_MAX = 200  # characters of a refused value that an error repeats
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Message(Generic[T]):
    """Decodes one kind of request, from a body or from a query string."""

    def __init__(self, kind: type[T]):
        self.kind = kind
        self._fast = msgspec.json.Decoder(kind)

    def decode(self, body: bytes) -> T:
        """The message in `body`; an empty body is an empty message. Raises `InvalidParameterValue`."""
        try:
            return self._fast.decode(body)
        except (msgspec.MsgspecError, RecursionError):
            return _build(self.kind, _load(body), "")

    def from_query(self, query: Mapping[str, list[str]]) -> T:
        """The message in a parsed query string. Raises `InvalidParameterValue`."""
        return _build(self.kind, query, "", from_query=True)


def missing(field: str) -> InvalidParameterValue:
    """The error for a required field that is absent, null or empty."""
    return InvalidParameterValue(f"Missing value for required parameter '{field}'. {_HINT}")


def invalid(field: str, value: Any, why: str = "") -> InvalidParameterValue:
    """The error for a value that a field cannot have."""
    try:
        shown = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError):
        shown = repr(value)
    if len(shown) > _SHOWN_MAX:
        shown = f"{shown[:_SHOWN_MAX]}... ({len(shown)} characters)"
    why = why or f"Hint: Value was of type '{type(value).__name__}'."
    return InvalidParameterValue(f"Invalid value {shown} for parameter '{field}' supplied: {why} {_HINT}")


def number(value: float) -> float | str:
    """A double as protobuf's JSON writes it: JSON has no NaN and no infinities, so these are strings."""
    if math.isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


# ---------------------------------------------------------------- the tolerant path


class _NotFinite(float):
    """A literal such as 1e400: it is written as a number, but no double holds it."""


def _parse_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _NotFinite(value)


def _load(body: bytes) -> Mapping[str, Any]:
    try:
        value: Any = body.decode()
    except UnicodeDecodeError:
        raise InvalidParameterValue("The request body is not valid UTF-8") from None
    for _ in range(2):  # old clients encode twice
        if not value.strip():
            return {}
        try:
            value = json.loads(value, parse_float=_parse_float)
        except (ValueError, RecursionError) as error:
            raise InvalidParameterValue(f"The request body is not valid JSON: {_reason(error)}") from None
        if not isinstance(value, str):
            break
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidParameterValue(f"The request body must be a JSON object, not {_kind_of(value)}")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _kind_of(value: Any) -> str:
    return {list: "a list", str: "a string", bool: "a boolean"}.get(type(value), "a number")


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    described = inspect.type_info(kind)
    if not isinstance(described, inspect.StructType):
        raise TypeError(kind)
    return described.fields


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _build(kind: type[T], given: Mapping[str, Any], path: str, *, from_query: bool = False) -> T:
    """`given` as a `kind`: unknown fields are ignored, null counts as absent."""
    values: dict[str, Any] = {}
    for field in _fields(kind):
        name = field.encode_name
        where = f"{path}.{name}" if path else name
        value = _pick(given, name, where)
        if from_query and value is not None:
            value = _from_query(field.type, value)
        if value is None or (field.required and value == ""):
            if field.required:
                raise missing(where)
            continue
        values[field.name] = _convert(field.type, value, where)
    return kind(**values)


def _pick(given: Mapping[str, Any], name: str, where: str) -> Any:
    camel = _camel(name)
    if camel != name and camel in given:
        if name in given:
            raise InvalidParameterValue(
                f"Request specifies both '{where}' and '{camel}'; provide only one of them."
            )
        return given[camel]
    return given.get(name)


def _from_query(kind: inspect.Type, values: Any) -> Any:
    """Query strings know only text and repetition: the last value of a scalar counts."""
    if isinstance(kind, inspect.ListType):
        return values
    value = values[-1]
    if isinstance(kind, inspect.BoolType):
        return {"true": True, "false": False}.get(value.lower(), value)
    return value


def _convert(kind: inspect.Type, value: Any, where: str) -> Any:
    convert = _CONVERTERS.get(type(kind))
    if convert is None:
        raise TypeError(f"{where}: messages hold no {kind}")
    return convert(kind, value, where)


def _text(_kind: Any, value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise invalid(where, value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid(where, value, "It holds half of a surrogate pair.") from None
    return value


def _integer(_kind: Any, value: Any, where: str) -> int:
    found: Any = value
    if isinstance(value, str):
        try:
            found = int(value) if value.strip().lstrip("+-").isdecimal() and len(value) < 40 else float(value)
        except ValueError:
            raise invalid(where, value) from None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise invalid(where, value)
    if isinstance(found, float):
        if not found.is_integer():
            raise invalid(where, value, "It must be a whole number.")
        found = int(found)
    whole: int = found
    if not INT64_MIN <= whole <= INT64_MAX:
        raise invalid(where, value, "It does not fit into 64 bits.")
    return whole


def _double(_kind: Any, value: Any, where: str) -> float:
    if isinstance(value, _NotFinite):
        raise invalid(where, float(value), "No 64-bit floating point number is that large.")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise invalid(where, value)
    if isinstance(value, str) and value in _NON_FINITE:
        return _NON_FINITE[value]
    try:
        found = float(value)
    except OverflowError:
        raise invalid(where, value, "No 64-bit floating point number is that large.") from None
    except ValueError:
        raise invalid(where, value) from None
    if isinstance(value, str) and ("_" in value or not math.isfinite(found)):
        raise invalid(where, value)
    return found


def _boolean(_kind: Any, value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise invalid(where, value)
    return value


def _list(kind: inspect.ListType, value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise invalid(where, value)
    return [_convert(kind.item_type, item, f"{where}[{index}]") for index, item in enumerate(value)]


def _struct(kind: inspect.StructType, value: Any, where: str) -> msgspec.Struct:
    if not isinstance(value, dict):
        raise invalid(where, value)
    return _build(kind.cls, value, where)


def _union(kind: inspect.UnionType, value: Any, where: str) -> Any:
    """`X | None`: null never gets here. `str | int` is an enum, by name or by number."""
    kinds = [part for part in kind.types if not isinstance(part, inspect.NoneType)]
    if len(kinds) == 1:
        return _convert(kinds[0], value, where)
    return value if isinstance(value, str) else _integer(None, value, where)


_CONVERTERS: dict[type[inspect.Type], Callable[[Any, Any, str], Any]] = {
    inspect.StrType: _text,
    inspect.IntType: _integer,
    inspect.FloatType: _double,
    inspect.BoolType: _boolean,
    inspect.ListType: _list,
    inspect.StructType: _struct,
    inspect.UnionType: _union,
}
