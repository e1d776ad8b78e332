"""Help on the keys of a workload, made from the schema."""

from __future__ import annotations

from collections.abc import Iterator

from contrail.model.errors import InvalidParameterValue
from contrail.workloads.problems import Path, dotted, nearest
from contrail.workloads.schema import SCHEMA, Field, Kind

_FREE_MAPS = (Kind.FREE_MAP, Kind.STRING_MAP)


def describe(path: str) -> str:
    """Help on `config` or `config.compute.num_accelerators` (the leading `config.` may be left out).

    Raises `InvalidParameterValue` for a key that does not exist.
    """
    names = [name for name in path.split(".") if name]
    if names[:1] == [SCHEMA.name]:
        names = names[1:]
    field = find(names)
    title = ".".join([SCHEMA.name, *names])
    return "\n".join([title, f"  {field.help}", "", *(_children(field) if field.fields else _leaf(field))])


def find(names: list[str]) -> Field:
    """The field at a path. Raises `InvalidParameterValue`, with the nearest name, when there is none."""
    field = SCHEMA
    for index, name in enumerate(names):
        where = dotted(tuple(names[:index])) or SCHEMA.name
        if field.kind in _FREE_MAPS and index:
            raise InvalidParameterValue(
                f"{where} is a {field.kind.value}: its keys are yours, so they have no help"
            )
        if field.kind is not Kind.OBJECT:
            raise InvalidParameterValue(f"{where} is a {field.kind.value}; there is nothing below it")
        child = field.child(name)
        if child is None:
            guess = nearest(name, field.names())
            meant = f"did you mean '{guess}'? " if guess else ""
            raise InvalidParameterValue(
                f"there is no '{name}' in {where}; {meant}there are " + ", ".join(field.names())
            )
        field = child
    return field


def keys(field: Field = SCHEMA, path: Path = ()) -> Iterator[tuple[Path, Field]]:
    """Every key of a workload with its path, in the order of the schema."""
    for child in field.fields:
        yield (*path, child.name), child
        yield from keys(child, (*path, child.name))


def required_words(field: Field) -> str:
    """`yes`, `no`, or the condition."""
    if isinstance(field.required, str):
        return field.required
    return "yes" if field.required else "no"


def first_sentence(text: str) -> str:
    """The text up to its first full stop."""
    return text.partition(". ")[0].rstrip(".") + "."


def _children(field: Field) -> list[str]:
    shown = [child for child in field.fields if not child.unsupported]
    width = max(len(child.name) for child in shown)
    lines = [
        f"  {child.name:<{width}}  {first_sentence(child.help)}{' (required)' if child.required is True else ''}"
        for child in shown
    ]
    later = [child.name for child in field.fields if child.unsupported]
    return lines + (["", "  Not supported by this version: " + ", ".join(later)] if later else [])


def _leaf(field: Field) -> list[str]:
    if field.unsupported:
        return ["  Not supported by this version."]
    rows = [
        ("type", field.kind.value),
        ("required", required_words(field)),
        ("default", field.default),
        ("rules", field.rules.replace("`", "")),
        ("example", field.example),
    ]
    return [f"  {name + ':':<10}{value}" for name, value in rows if value]
