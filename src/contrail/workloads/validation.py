"""Walks a document along the schema and names everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contrail.workloads.document import Document
from contrail.workloads.problems import Path, Problem, dotted, nearest
from contrail.workloads.schema import RETIRED, SCHEMA, Field, Kind


@dataclass(frozen=True, slots=True)
class Checked:
    """The values that the schema knows, in their right types, and everything that is wrong."""

    values: dict[str, Any]
    problems: tuple[Problem, ...]


def check(document: Document) -> Checked:
    """Check a document against the schema; order of the problems is that of the file."""
    walk = _Walk(document)
    values = walk.object(SCHEMA, document.data, ())
    problems = [*document.problems, *walk.problems]
    problems.sort(key=lambda problem: problem.line or 0)
    return Checked(values, tuple(problems))


def unknown_key(name: str, place: Path, inside: Field) -> tuple[str, str | None]:
    """What to say about a key that `inside` does not have, and the key that was probably meant."""
    retired = RETIRED.get(dotted((*place, name)))
    if retired:
        return f"is no longer a key: {retired}", None
    guess = nearest(name, inside.names())
    where = f"in {dotted(place)}" if place else "in a workload"
    if guess:
        return f"there is no key '{name}' {where}; did you mean '{guess}'?", guess
    return f"there is no key '{name}' {where}; there are " + ", ".join(inside.names()), None


def kind_problem(field: Field, value: Any) -> str | None:
    """Why `value` is not of the field's kind, or None."""
    if _is_kind(field.kind, value):
        return None
    if field.kind is Kind.STRINGS and isinstance(value, str):
        return f"must be a list of texts, such as {field.example or '[a, b]'}, is one text"
    if field.kind is Kind.INTEGER and isinstance(value, str):
        return f"must be a whole number, is the text '{value[:50]}'"
    return f"must be a {field.kind.value}, is {describe_value(value)}"


def describe_value(value: Any) -> str:
    """A value in the words of an error message."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{str(value)[:50]}'"


def _is_kind(kind: Kind, value: Any) -> bool:
    match kind:
        case Kind.STRING:
            return not isinstance(value, dict | list)  # 123 and true are read as their text
        case Kind.INTEGER:
            return isinstance(value, int) and not isinstance(value, bool)
        case Kind.BOOLEAN:
            return isinstance(value, bool)
        case Kind.STRINGS:
            return isinstance(value, list)
        case Kind.STRING_MAP | Kind.FREE_MAP | Kind.OBJECT:
            return isinstance(value, dict)


@dataclass
class _Walk:
    document: Document
    problems: list[Problem] = field(default_factory=list)

    def object(self, schema: Field, given: Mapping[str, Any], path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        before = len(self.problems)
        for name, value in given.items():
            place = (*path, name)
            child = schema.child(name)
            if child is None:
                message, guess = unknown_key(name, path, schema)
                self.say(place, message, guess)
            elif child.unsupported:
                self.say(place, child.unsupported)
            elif value is None:
                if child.required is True:
                    self.say(place, "has no value")
            else:
                found = self.value(child, value, place)
                if found is not None:
                    values[name] = found
        misspelt = {problem.nearest for problem in self.problems[before:]}
        for child in schema.fields:
            if child.required is True and child.name not in given and child.name not in misspelt:
                self.say(path, f"'{child.name}' is missing")
        if schema.object_check and len(self.problems) == before:
            for below, message in schema.object_check(values):
                self.say((*path, *below), message)
        return values

    def value(self, schema: Field, value: Any, path: Path) -> Any:
        """The value as the field holds it, or None when it is wrong."""
        wrong = kind_problem(schema, value)
        if wrong:
            return self.say(path, wrong)
        match schema.kind:
            case Kind.OBJECT:
                return self.object(schema, value, path)
            case Kind.STRING:
                value = self.text(path, value)
            case Kind.STRINGS:
                value = self.strings(schema, value, path)
            case Kind.STRING_MAP:
                value = self.string_map(schema, value, path)
        wrong = schema.check(value) if schema.check else None
        return self.say(path, wrong) if wrong else value

    def strings(self, schema: Field, given: list[Any], path: Path) -> list[str]:
        values = []
        for index, item in enumerate(given):
            text = self.scalar((*path, index), item)
            wrong = schema.item_check(text) if text is not None and schema.item_check else None
            if wrong:
                self.say((*path, index), wrong)
            if text is not None:
                values.append(text)
        return values

    def string_map(self, schema: Field, given: dict[str, Any], path: Path) -> dict[str, str]:
        values = {}
        for name, item in given.items():
            text = self.scalar((*path, name), item)
            wrong = schema.item_check((name, text)) if text is not None and schema.item_check else None
            if wrong:
                self.say((*path, name), wrong)
            if text is not None:
                values[name] = text
        return values

    def scalar(self, path: Path, value: Any) -> str | None:
        if value is None or isinstance(value, dict | list):
            wrong = "has no value; write '' for an empty text" if value is None else None
            self.say(path, wrong or f"must be a text, is {describe_value(value)}")
            return None
        return self.text(path, value)

    def text(self, path: Path, value: Any) -> str:
        """The text as written: `1.10` stays 1.10 and `true` stays true."""
        return self.document.texts.get(path, str(value))

    def say(self, path: Path, message: str, guess: str | None = None) -> None:
        self.problems.append(Problem(dotted(path), self.document.line(path), message, guess))
