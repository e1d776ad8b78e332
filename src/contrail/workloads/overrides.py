"""`--override FIELD.PATH=VALUE`: changes to a workload before it is validated."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

from contrail.workloads.document import Document, parse, parse_value
from contrail.workloads.problems import Path, Problem, WorkloadInvalid, dotted, nearest
from contrail.workloads.schema import SCHEMA, Field, Kind

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Change:
    """One value that an override set. `before` is None, and `added` true, when there was none."""

    path: str
    before: Any
    after: Any
    added: bool

    def __str__(self) -> str:
        if self.added:
            return f"setting {self.path} to {_show(self.after)}"
        return f"changing {self.path} from {_show(self.before)} to {_show(self.after)}"


def apply_overrides(
    text: str, overrides: Sequence[str], source: str = "workload"
) -> tuple[str, list[Change]]:
    """The text with all overrides applied, comments kept, and what changed.

    Raises `WorkloadInvalid` with every override that cannot be applied.
    """
    document, changes = override(parse(text, source), overrides)
    return document.text, changes


def override(document: Document, overrides: Sequence[str]) -> tuple[Document, list[Change]]:
    """As `apply_overrides`, for a parsed document. Untouched values keep the lines of the original file."""
    problems: list[Problem] = []
    settings: list[tuple[Path, Any]] = []
    for given in overrides:
        try:
            settings.append(_parse(given))
        except WorkloadInvalid as wrong:
            problems.extend(wrong.problems)
    if problems:
        raise WorkloadInvalid("--override", problems)
    return set_values(document, settings)


def set_values(document: Document, settings: Sequence[tuple[Path, Any]]) -> tuple[Document, list[Change]]:
    """The document with values set at paths that the schema has, and what changed."""
    if not settings:
        return document, []
    data = document.data
    changes = []
    for path, value in settings:
        data, before = _set(data, path, value)
        added = before is _ABSENT
        changes.append(Change(dotted(path), None if added else before, value, added))
    merged = parse(_rewrite(document.text, settings, data), document.source)
    return replace(merged, lines=_kept_lines(document, settings), problems=document.problems), changes


def _parse(given: str) -> tuple[Path, Any]:
    name, separator, text = given.partition("=")
    if not separator:
        hint = "; a file is given with -f" if given.endswith((".yaml", ".yml")) else ""
        raise _wrong("", f"'{given}' must have the form FIELD.PATH=VALUE{hint}")
    path = tuple(name.strip().removeprefix("config.").split("."))
    _check_path(path)
    try:
        return path, parse_value(text)
    except WorkloadInvalid as wrong:
        raise _wrong(dotted(path), f"'{text}': {wrong.problems[0].message}") from None


def _check_path(path: Path) -> None:
    """A path must lead along the schema; below a free map anything goes."""
    field: Field = SCHEMA
    for index, name in enumerate(path):
        if field.kind in (Kind.FREE_MAP, Kind.STRING_MAP) and index:
            return
        if field.kind is not Kind.OBJECT:
            raise _wrong(dotted(path), f"{dotted(path[:index])} is a {field.kind.value}, nothing is below it")
        child = field.child(str(name))
        if child is None:
            guess = nearest(str(name), field.names())
            meant = f"did you mean '{guess}'? " if guess else ""
            where = dotted(path[:index]) or "a workload"
            listing = ", ".join(field.names())
            raise _wrong(dotted(path), f"there is no '{name}' in {where}; {meant}available: {listing}", guess)
        field = child


def _wrong(path: str, message: str, guess: str | None = None) -> WorkloadInvalid:
    return WorkloadInvalid("--override", [Problem(path, None, message, guess)])


def _set(data: Any, path: Path, value: Any) -> tuple[dict[str, Any], Any]:
    """A copy of `data` with `path` set, and what was there before."""
    copied = dict(data) if isinstance(data, dict) else {}
    name = str(path[0])
    if len(path) == 1:
        before = copied.get(name, _ABSENT)
        copied[name] = value
    else:
        copied[name], before = _set(copied.get(name), path[1:], value)
    return copied, before


def _rewrite(text: str, settings: Sequence[tuple[Path, Any]], expected: dict[str, Any]) -> str:
    """The text with the settings written in; comments stay where that gives exactly `expected`."""
    from ruamel.yaml import YAML

    yaml: Any = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.allow_duplicate_keys = True
    tree = yaml.load(text)
    for path, value in settings:
        tree = _set_in_tree(tree, path, value)
    merged = _dump(yaml, tree)
    if parse(merged, "workload").data == expected:
        return merged
    plain: Any = YAML(typ="safe", pure=True)
    plain.default_flow_style = False
    plain.sort_base_mapping_type_on_output = False  # keep the order of the file
    return _dump(plain, expected)


def _set_in_tree(tree: Any, path: Path, value: Any) -> Any:
    # each level is copied, so that an alias elsewhere does not change along
    copied = copy.copy(tree) if isinstance(tree, dict) else {}
    name = str(path[0])
    copied[name] = value if len(path) == 1 else _set_in_tree(copied.get(name), path[1:], value)
    return copied


def _dump(yaml: Any, tree: Any) -> str:
    stream = StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()


def _kept_lines(original: Document, settings: Sequence[tuple[Path, Any]]) -> dict[Path, int]:
    paths = [path for path, _ in settings]
    return {
        place: line
        for place, line in original.lines.items()
        if not any(place[: len(path)] == path for path in paths)
    }


def _show(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
