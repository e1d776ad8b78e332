"""The filter language of searches: text to the tree in `model.filters`, and back.

It reads what MLflow's parser reads (AND may be left out or dangle, as there) and more:

    filter      = any                                    ("" is no filter)
    any         = all { OR all }
    all         = { AND } one { { AND } one } { AND }
    one         = NOT one | "(" any ")" | comparison
    comparison  = identifier operator value
                | identifier [ NOT ] IN "(" text { "," text } ")"
                | identifier IS [ NOT ] NULL
    identifier  = [ entity "." ] key [ ":" field ]       field, of metrics only: last, min, max, first
    key         = word { "." word } | `…` | "…" | '…'
    value       = '…' | "…" | number                     a quote inside is written twice: 'it''s'

`field` cannot clash with a key: a bare key holds no colon, so a key `loss:min` has to be written `` `loss:min` ``.
In LIKE and ILIKE `%` and `_` are wildcards and `\\` makes the next one plain. Comparing a param or a tag with a
number, or with `<` and the like, compares numbers. Words are case-sensitive, keywords are not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from contrail.model.errors import InvalidParameterValue
from contrail.model.filters import And, Comparison, Entity, Filter, Not, Operator, Or, OrderBy

DEPTH_MAX = 50  # brackets and NOTs inside each other
COMPARISONS_MAX = 200
LIST_MAX = 10_000
PATTERN_MAX = 8_000  # characters of a LIKE pattern: no stored value is longer
ORDER_BY_MAX = 20
METRIC_FIELDS = ("last", "min", "max", "first")

_INT64 = range(-(2**63), 2**63)
_QUOTED = r"`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'"
_TOKEN = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<number>-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<name>(?:\w+|`\w+`)\.(?:{_QUOTED})|\w+(?:\.\w+)+|`\w+`(?:\.\w+)+)
    | (?P<quoted>{_QUOTED})
    | (?P<word>\w+)
    | (?P<operator><=|>=|!=|==|<>|=|<|>)
    | (?P<mark>[(),:])
    """,
    re.VERBOSE,
)
_TEXT_OPERATORS = (Operator.EQ, Operator.NE, Operator.LIKE, Operator.ILIKE, Operator.IN, Operator.NOT_IN)
_NUMBER_OPERATORS = (Operator.EQ, Operator.NE, Operator.GT, Operator.GE, Operator.LT, Operator.LE)
_NULL_OPERATORS = (Operator.IS_NULL, Operator.IS_NOT_NULL)
_ORDERINGS = (Operator.GT, Operator.GE, Operator.LT, Operator.LE)


@dataclass(frozen=True, slots=True)
class Language:
    """What one kind of search knows: entities and attributes by the names users write."""

    noun: str
    entities: Mapping[str, Entity]
    texts: Mapping[str, str]
    numbers: Mapping[str, str]
    fractions: bool  # whether times may be compared with 1.5
    numeric_tags: bool

    @property
    def attributes(self) -> Mapping[str, str]:
        """All attributes: the name as written to the canonical one."""
        return {**self.texts, **self.numbers}


_NAMES = dict.fromkeys(("run_name", "run name", "Run name", "Run Name"), "run_name")

RUNS = Language(
    noun="runs",
    entities={
        **dict.fromkeys(("metric", "metrics"), Entity.METRIC),
        **dict.fromkeys(("parameter", "parameters", "param", "params"), Entity.PARAM),
        **dict.fromkeys(("tag", "tags"), Entity.TAG),
        **dict.fromkeys(("attribute", "attributes", "attr", "run"), Entity.ATTRIBUTE),
        **dict.fromkeys(("dataset", "datasets"), Entity.DATASET),
    },
    texts={**{name: name for name in ("run_id", "status", "user_id", "artifact_uri")}, **_NAMES},
    numbers={
        "start_time": "start_time",
        "created": "start_time",
        "Created": "start_time",
        "end_time": "end_time",
    },
    fractions=True,
    numeric_tags=True,
)

EXPERIMENTS = Language(
    noun="experiments",
    entities={
        **dict.fromkeys(("attribute", "attributes"), Entity.ATTRIBUTE),
        **dict.fromkeys(("tag", "tags"), Entity.TAG),
    },
    texts={"name": "name", "experiment_id": "experiment_id"},
    numbers={"creation_time": "creation_time", "last_update_time": "last_update_time"},
    fractions=False,
    numeric_tags=False,
)

_DATASET_KEYS = ("name", "digest", "context")


def parse(text: str, language: Language) -> Filter | None:
    """The tree of `text`; None for "". Raises `InvalidParameterValue` in one sentence with the position."""
    if not text:
        return None
    return _Parser(text, language, "filter").filter()


def parse_order_by(clauses: Sequence[str], language: Language) -> list[OrderBy]:
    """The sort keys, first one first. Raises `InvalidParameterValue`, also for a key that comes twice."""
    if len(clauses) > ORDER_BY_MAX:
        raise InvalidParameterValue(f"'order_by' has {len(clauses)} keys, at most {ORDER_BY_MAX} are allowed")
    keys = [_Parser(clause, language, "order_by").order_by() for clause in clauses]
    seen = set()
    for key, clause in zip(keys, clauses, strict=True):
        identity = (key.entity, key.key, key.metric_field)
        if identity in seen:
            raise InvalidParameterValue(f"Invalid order_by '{clause}': this key comes twice.")
        seen.add(identity)
    return keys


# ---------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Identifier:
    entity: Entity
    key: str
    field: str
    token: _Token


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, language: Language, what: str):
        self._text = text
        self._language = language
        self._what = what
        self._tokens = self._split()
        self._at = 0
        self._depth = 0
        self._comparisons = 0

    # ------------------------------------------------ entry points

    def filter(self) -> Filter:
        if len(self._tokens) == 1:
            self._fail(self._next, "it is blank; leave it empty to search without a filter")
        tree = self._any()
        if self._next.kind != "end":
            self._unexpected("AND, OR or the end")
        return tree

    def order_by(self) -> OrderBy:
        found = self._identifier()
        if found.entity is Entity.DATASET:
            self._fail(found.token, f"{self._language.noun} cannot be sorted by a data set")
        if found.entity is Entity.TAG and self._language is EXPERIMENTS:
            self._fail(found.token, "experiments can be sorted by attributes only, not by a tag")
        ascending = True
        if self._keyword("ASC") or self._keyword("DESC"):
            ascending = self._take().text.upper() == "ASC"
        if self._next.kind != "end":
            self._unexpected("ASC, DESC or the end")
        return OrderBy(found.entity, found.key, ascending, found.field)

    # ------------------------------------------------ tokens

    def _split(self) -> list[_Token]:
        tokens, position, text = [], 0, self._text
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                self._bad_character(position)
            if match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match[0], position, match.end()))
            position = match.end()
        return [*tokens, _Token("end", "", len(text), len(text))]

    def _bad_character(self, position: int) -> NoReturn:
        character = self._text[position]
        token = _Token("bad", character, position, position + 1)
        if character in "'\"`":
            self._fail(token, f"the quote {character} is not closed (a quote inside is written twice)")
        if character == ";":
            self._fail(token, "';' is not allowed; a search has one filter")
        self._fail(
            token,
            f"unexpected {character!r} (a key with special characters needs back-quotes: metrics.`a-b`)",
        )

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += 1
        return token

    def _keyword(self, *words: str) -> bool:
        """Whether the next tokens are these keywords."""
        ahead = self._tokens[self._at : self._at + len(words)]
        return [token.text.upper() for token in ahead if token.kind == "word"] == list(words)

    def _mark(self, mark: str) -> bool:
        return self._next.kind == "mark" and self._next.text == mark

    def _unexpected(self, wanted: str) -> NoReturn:
        token = self._next
        found = f"found {_short(token.text)!r}" if token.kind != "end" else "it ends"
        self._fail(token, f"expected {wanted}, but {found}")

    def _fail(self, token: _Token, why: str) -> NoReturn:
        raise InvalidParameterValue(
            f"Invalid {self._what} {_short(self._text)!r} at character {token.start + 1}: {why}."
        )

    # ------------------------------------------------ structure

    def _any(self) -> Filter:
        parts = [self._all()]
        while self._keyword("OR"):
            self._take()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all(self) -> Filter:
        parts: list[Filter] = []
        while True:
            while self._keyword("AND"):
                self._take()
            if self._next.kind == "end" or self._mark(")") or self._keyword("OR"):
                break
            parts.append(self._one())
        if not parts:
            self._unexpected("a comparison such as metrics.loss < 0.5")
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _one(self) -> Filter:
        if not self._keyword("NOT") and not self._mark("("):
            return self._comparison()
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self._fail(self._next, f"it is nested more than {DEPTH_MAX} deep")
        opening = self._take()
        tree: Filter = Not(self._one()) if opening.kind == "word" else self._bracket(opening)
        self._depth -= 1
        return tree

    def _bracket(self, opening: _Token) -> Filter:
        tree = self._any()
        if not self._mark(")"):
            if self._next.kind == "end":
                self._fail(opening, "this bracket is not closed")
            self._unexpected("AND, OR or ')'")
        self._take()
        return tree

    def _comparison(self) -> Comparison:
        self._comparisons += 1
        if self._comparisons > COMPARISONS_MAX:
            self._fail(self._next, f"it has more than {COMPARISONS_MAX} comparisons")
        identifier = self._identifier()
        sign = self._next
        operator = self._operator()
        self._check_operator(identifier, operator, sign)
        start = self._next
        value = self._value(identifier, operator)
        if operator in (Operator.LIKE, Operator.ILIKE) and len(str(value)) > PATTERN_MAX:
            self._fail(start, f"a pattern has at most {PATTERN_MAX} characters")
        return Comparison(identifier.entity, identifier.key, operator, value, identifier.field)

    # ------------------------------------------------ identifiers

    def _identifier(self) -> _Identifier:
        token = self._next
        if token.kind not in ("name", "word", "quoted") or (token.kind == "quoted" and token.text[0] == "'"):
            self._unexpected("a name such as metrics.loss, params.lr, tags.team or run_name")
        self._take()
        entity, key = self._resolve(token)
        field = "last"
        if self._mark(":") and self._next.start == token.end:
            field = self._field(entity)
        if entity is Entity.ATTRIBUTE:
            key = self._attribute(key, token)
        elif entity is Entity.DATASET and key not in _DATASET_KEYS:
            self._fail(token, f"data sets have no '{_short(key)}', only {', '.join(_DATASET_KEYS)}")
        return _Identifier(entity, key, field, token)

    def _resolve(self, token: _Token) -> tuple[Entity, str]:
        if token.kind == "word":
            return Entity.ATTRIBUTE, token.text
        if token.kind == "quoted":
            return Entity.ATTRIBUTE, _unquote(token.text)
        prefix, _, key = token.text.partition(".")
        prefix = prefix.strip("`")
        entity = self._language.entities.get(prefix)
        if entity is None:
            known = ", ".join(dict.fromkeys(self._language.entities))
            self._fail(
                token, f"there is no entity '{_short(prefix)}'; entities of {self._language.noun} are {known}"
            )
        return entity, _unquote(key) if key[0] in "`\"'" else key

    def _field(self, entity: Entity) -> str:
        colon = self._take()
        field = self._next.text
        if entity is not Entity.METRIC or field not in METRIC_FIELDS or self._next.start != colon.end:
            self._fail(
                colon,
                f"after ':' comes {', '.join(METRIC_FIELDS)}, and only for a metric "
                "(a key with a colon needs back-quotes: metrics.`a:b`)",
            )
        self._take()
        return field

    def _attribute(self, key: str, token: _Token) -> str:
        canonical = self._language.attributes.get(key)
        if canonical is None:
            known = ", ".join(dict.fromkeys(self._language.attributes.values()))
            hint = " (metrics, params and tags need a prefix: metrics.loss)" if self._language is RUNS else ""
            self._fail(token, f"{self._language.noun} have no attribute '{_short(key)}', only {known}{hint}")
        return canonical

    # ------------------------------------------------ operators and values

    def _operator(self) -> Operator:
        token = self._next
        if token.kind == "operator":
            self._take()
            if token.text in ("==", "<>"):
                self._fail(token, f"there is no '{token.text}'; write {'=' if token.text == '==' else '!='}")
            return Operator(token.text)
        for operator in (
            Operator.LIKE,
            Operator.ILIKE,
            Operator.IN,
            Operator.NOT_IN,
            *reversed(_NULL_OPERATORS),
        ):
            words = operator.value.split()
            if self._keyword(*words):
                self._at += len(words)
                return operator
        if self._keyword("NOT", "LIKE") or self._keyword("NOT", "ILIKE"):
            self._fail(token, "there is no NOT LIKE; write NOT before the whole comparison")
        return self._unexpected("an operator such as =, !=, <, LIKE, IN or IS NULL")

    def _check_operator(self, identifier: _Identifier, operator: Operator, sign: _Token) -> None:
        allowed = self._allowed(identifier)
        if operator not in allowed:
            listed = ", ".join(allowed)
            self._fail(sign, f"'{_short(identifier.token.text)}' does not support {operator}, only {listed}")

    def _allowed(self, identifier: _Identifier) -> tuple[Operator, ...]:
        entity, key = identifier.entity, identifier.key
        if entity is Entity.METRIC:
            return _NUMBER_OPERATORS
        if entity is Entity.PARAM or (entity is Entity.TAG and self._language.numeric_tags):
            return (*_TEXT_OPERATORS, *_ORDERINGS, *_NULL_OPERATORS)
        if entity is Entity.TAG:
            return (*_TEXT_OPERATORS, *_NULL_OPERATORS)
        if entity is Entity.ATTRIBUTE and key in self._language.numbers.values():
            return _NUMBER_OPERATORS
        if entity is Entity.ATTRIBUTE and key == "experiment_id":
            return (Operator.EQ, Operator.NE, Operator.IN, Operator.NOT_IN)
        return _TEXT_OPERATORS

    def _value(
        self, identifier: _Identifier, operator: Operator
    ) -> str | float | int | tuple[str, ...] | None:
        if operator in _NULL_OPERATORS:
            return None
        if operator in (Operator.IN, Operator.NOT_IN):
            return self._list(identifier)
        entity, key = identifier.entity, identifier.key
        if entity is Entity.METRIC:
            return self._number(f"the metric '{_short(key)}'")
        if entity is Entity.ATTRIBUTE and key in self._language.numbers.values():
            return self._time(key)
        numeric = entity is Entity.PARAM or (entity is Entity.TAG and self._language.numeric_tags)
        if numeric and (
            operator in _ORDERINGS or (self._next.kind == "number" and operator in _NUMBER_OPERATORS)
        ):
            return self._number_or_text()
        return self._string(identifier)

    def _number(self, noun: str) -> float:
        if self._next.kind != "number":
            self._unexpected(f"a number without quotes for {noun}")
        return float(self._take().text)

    def _number_or_text(self) -> float:
        token = self._next
        if token.kind == "number":
            return float(self._take().text)
        if not self._is_string(token):
            self._unexpected("a number (quoted or not)")
        try:
            value = float(_unquote(token.text))
        except ValueError:
            value = math.nan
        if math.isnan(value):
            self._fail(token, f"<, <=, > and >= compare numbers, and {_short(token.text)} is none")
        self._take()
        return value

    def _time(self, key: str) -> float | int:
        token = self._next
        value = self._number(f"'{key}' (Unix milliseconds)")
        if not self._language.fractions and not value.is_integer():
            self._fail(token, f"'{key}' needs a whole number")
        whole = re.fullmatch(r"-?\d{1,19}", token.text)
        if whole and int(token.text) in _INT64:
            return int(token.text)
        return value

    def _string(self, identifier: _Identifier) -> str:
        if not self._is_string(self._next):
            self._unexpected(f"a quoted text for '{_short(identifier.token.text)}' (use '…')")
        token = self._take()
        return self._checked(identifier, _unquote(token.text), token)

    def _list(self, identifier: _Identifier) -> tuple[str, ...]:
        if not self._mark("("):
            self._unexpected("a list of quoted texts in brackets, such as ('a', 'b')")
        self._take()
        values: list[str] = []
        while True:
            if values and self._mark(")"):  # a comma before the bracket is fine, an empty list is not
                break
            values.append(self._string(identifier))
            if len(values) > LIST_MAX:
                self._fail(self._next, f"a list has at most {LIST_MAX} values")
            if self._mark(")"):
                break
            if not self._mark(","):
                self._unexpected("',' or ')'")
            self._take()
        self._take()
        return tuple(values)

    def _checked(self, identifier: _Identifier, value: str, token: _Token) -> str:
        if identifier.entity is Entity.ATTRIBUTE and identifier.key == "experiment_id":
            if not re.fullmatch(r"\s*-?[0-9]{1,18}\s*", value):
                self._fail(token, f"{_short(value)!r} is not an experiment id")
            return str(int(value))
        return value

    @staticmethod
    def _is_string(token: _Token) -> bool:
        return token.kind == "quoted" and token.text[0] != "`"


def _unquote(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


# ---------------------------------------------------------------- writing


def to_text(tree: Filter | None) -> str:
    """The text that parses to `tree`."""
    if tree is None:
        return ""
    if isinstance(tree, Comparison):
        return _comparison_text(tree)
    if isinstance(tree, Not):
        return f"NOT {_nested_text(tree.part)}"
    joint = " AND " if isinstance(tree, And) else " OR "
    return joint.join(_nested_text(part) for part in tree.parts)


def _nested_text(tree: Filter) -> str:
    text = to_text(tree)
    return f"({text})" if isinstance(tree, And | Or) else text


_PREFIXES = {
    Entity.ATTRIBUTE: "attributes",
    Entity.METRIC: "metrics",
    Entity.PARAM: "params",
    Entity.TAG: "tags",
}


def _comparison_text(comparison: Comparison) -> str:
    prefix = _PREFIXES.get(comparison.entity, "datasets")
    key = "`" + comparison.key.replace("`", "``") + "`"
    field = f":{comparison.metric_field}" if comparison.metric_field != "last" else ""
    left = f"{prefix}.{key}{field} {comparison.operator}"
    value = comparison.value
    if value is None:
        return left
    if isinstance(value, tuple):
        return f"{left} ({', '.join(_quote(item) for item in value)})"
    return f"{left} {_quote(value) if isinstance(value, str) else _number_text(value)}"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _number_text(value: float | int) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "1e400" if value > 0 else "-1e400"
    return repr(value)
