"""YAML text as plain data that remembers where each value was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contrail.workloads.problems import Path, Problem, WorkloadInvalid, dotted
from contrail.workloads.schema import YAML_MAX_BYTES

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

DEPTH_MAX = 50
VALUES_MAX = 100_000  # aliases can make a small text huge
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed workload. `lines` and `texts` give, per path, the line of its key and the text of a scalar."""

    text: str
    source: str
    data: dict[str, Any]
    lines: Mapping[Path, int]
    texts: Mapping[Path, str]
    problems: tuple[Problem, ...] = ()

    def line(self, path: Path) -> int | None:
        """Line of `path`, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None


def parse(text: str, source: str) -> Document:
    """Read YAML 1.2 (so `1e-4` is a number and `yes` is text).

    Raises `WorkloadInvalid` when there is nothing to go on with; smaller faults are in `problems`.
    """
    if len(text.encode("utf-8", "surrogatepass")) > YAML_MAX_BYTES:
        raise _refused(source, None, f"is larger than {YAML_MAX_BYTES:,} bytes")
    node = _compose(text, source)
    if node is None:
        raise _refused(source, None, "the file is empty; experiment_name, compute and command are required")
    reader = _Reader()
    try:
        data = reader.value(node, (), 0)
    except _TooLarge as wrong:
        raise _refused(source, None, str(wrong)) from None
    if not isinstance(data, dict):
        raise _refused(source, 1, "must be a map of keys to values, such as 'experiment_name: digits'")
    return Document(text, source, data, reader.lines, reader.texts, tuple(reader.problems))


def parse_value(text: str) -> Any:
    """One value as YAML: `8` is a number, `[a, b]` a list. Text that is no YAML raises `WorkloadInvalid`."""
    node = _compose(text, "value")
    if node is None:
        return None
    reader = _Reader()
    try:
        value = reader.value(node, (), 0)
    except _TooLarge as wrong:
        raise _refused("value", None, str(wrong)) from None
    if reader.problems:
        raise WorkloadInvalid("value", reader.problems)
    return value


def _refused(source: str, line: int | None, message: str) -> WorkloadInvalid:
    return WorkloadInvalid(source, [Problem("", line, message)])


def _compose(text: str, source: str) -> Node | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        reason = " ".join(str(part) for part in (wrong.context, wrong.problem) if part)
        raise _refused(source, mark.line + 1 if mark else None, f"is not valid YAML: {reason}") from None
    except (YAMLError, ValueError) as wrong:
        raise _refused(source, None, f"is not valid YAML: {str(wrong).splitlines()[0]}") from None
    except RecursionError:
        raise _refused(source, None, "is nested too deeply") from None
    return node


class _TooLarge(Exception):
    pass


@dataclass
class _Reader:
    """Turns nodes into plain data. JSON's types only: dates stay the text that was written."""

    lines: dict[Path, int] = field(default_factory=dict)
    texts: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    values: int = 0

    def value(self, node: Node, path: Path, depth: int) -> Any:
        from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

        self.values += 1
        if depth > DEPTH_MAX:
            raise _TooLarge(f"is nested more than {DEPTH_MAX} levels deep")
        if self.values > VALUES_MAX:
            raise _TooLarge(f"holds more than {VALUES_MAX:,} values")
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, SequenceNode):
            return [self.value(child, (*path, i), depth + 1) for i, child in enumerate(node.value)]
        if isinstance(node, ScalarNode):
            self.texts[path] = node.value
            return self._scalar(node, path)
        raise TypeError(f"a YAML node of type {type(node).__name__}")

    def _mapping(self, node: MappingNode, path: Path, depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for _, child in filter(_is_merge, node.value):  # first, so that the map's own keys are noted last
            merged = self._merged(child, path, depth) | merged
        for key, child in node.value:
            name = None if _is_merge((key, child)) else self._key(key, path)
            if name is None:
                continue
            place, line = (*path, name), key.start_mark.line + 1
            if name in own:
                self._say(place, line, f"is given twice, first on line {self.lines[place]}")
                continue
            if place in self.lines:
                self._forget(place)
            self.lines[place] = line
            own[name] = self.value(child, place, depth + 1)
        return {**merged, **own}

    def _merged(self, node: Node, path: Path, depth: int) -> dict[str, Any]:
        """The maps that `<<` pulls in; the first one that has a key wins."""
        from ruamel.yaml.nodes import SequenceNode

        result: dict[str, Any] = {}
        for source in node.value if isinstance(node, SequenceNode) else [node]:
            value = self.value(source, path, depth + 1)
            if not isinstance(value, dict):
                self._say(path, node.start_mark.line + 1, "'<<' needs a map")
                continue
            result = {**value, **result}
        return result

    def _key(self, node: Node, path: Path) -> str | None:
        from ruamel.yaml.nodes import ScalarNode

        if isinstance(node, ScalarNode):
            return str(node.value)
        self._say(path, node.start_mark.line + 1, "has a key that is not text")
        return None

    def _forget(self, path: Path) -> None:
        """A key of a merged map is written again here: only the new place counts."""
        for known in [place for place in self.lines if place[: len(path)] == path]:
            self.lines.pop(known, None)
            self.texts.pop(known, None)

    def _scalar(self, node: ScalarNode, path: Path) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        text = node.value
        try:
            match kind:
                case "null":
                    return None
                case "bool":
                    return text.lower() == "true"
                case "int":
                    return _integer(text)
                case "float":
                    return _float(text)
                case "str" | "timestamp" | "value" | "!" | "merge":
                    return text
        except ValueError:
            self._say(path, node.start_mark.line + 1, f"'{text[:50]}' is not a number")
            return None
        self._say(path, node.start_mark.line + 1, f"YAML's tag {node.tag} is not supported")
        return None

    def _say(self, path: Path, line: int, message: str) -> None:
        self.problems.append(Problem(dotted(path), line, message))


def _is_merge(item: tuple[Node, Node]) -> bool:
    key = item[0]
    return bool(key.tag == _TAG + "merge" or (key.value == "<<" and getattr(key, "style", None) is None))


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    sign, digits = (-1, digits[1:]) if digits[:1] == "-" else (1, digits.lstrip("+"))
    for prefix, base in (("0b", 2), ("0o", 8), ("0x", 16)):
        if digits.startswith(prefix):
            return sign * int(digits[2:], base)
    return sign * int(digits, 10)


def _float(text: str) -> float:
    text = text.replace("_", "").lower()
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))
