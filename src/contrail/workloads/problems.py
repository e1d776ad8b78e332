"""What is wrong with a workload: every problem at once, each with its place and a way out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from contrail.model.errors import InvalidParameterValue

Path = tuple[str | int, ...]
_PREFIX_MIN = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend. `line` counts from 1 and is None for a value that came from an override."""

    path: str
    line: int | None
    message: str
    nearest: str | None = None

    def __str__(self) -> str:
        place = ", ".join(part for part in (f"line {self.line}" if self.line else "", self.path) if part)
        return f"{place}: {self.message}" if place else self.message

    def to_data(self) -> dict[str, Any]:
        """The problem as JSON-able data."""
        return {"path": self.path, "line": self.line, "message": self.message, "nearest": self.nearest}


class WorkloadInvalid(InvalidParameterValue):
    """The workload is not valid. `problems` holds everything that is wrong with it."""

    def __init__(self, source: str, problems: Sequence[Problem]):
        self.source = source
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        listing = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(f"{source} has {count}:{listing}")


def dotted(path: Path) -> str:
    """A path as people write it: `environment.dependencies[2]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def nearest(name: str, choices: Collection[str]) -> str | None:
    """The choice that `name` is most likely meant to be, or None when nothing is near."""
    allowed = max(1, len(name) // 3)
    best: tuple[int, str] | None = None
    for choice in choices:
        distance = _edit_distance(name.lower(), choice.lower())
        if distance <= allowed and (best is None or distance < best[0]):
            best = (distance, choice)
    if best is None and len(name) >= _PREFIX_MIN:
        return next((choice for choice in choices if choice.lower().startswith(name.lower())), None)
    return best[1] if best else None


def _edit_distance(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]
