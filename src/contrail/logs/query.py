"""What a reader of a log asks for, and where he stands in it."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import re2

from contrail.logs.indexer import Ints
from contrail.logs.segments import Lines, Segment, clean
from contrail.model.errors import InvalidParameterValue
from contrail.model.logs import ALL_LEVELS, Level
from contrail.series.numpy_later import np

_PREFIX = "(?m)"  # `^` and `$` mean the ends of a line
PATTERN_MAX = 4096  # characters of a search
_FEW = 16  # when at most one line in so many can match by level, look at those lines alone


@dataclass(frozen=True)
class LogFilter:
    """Which lines are meant. `text` is a part of the line, or with `regex` a pattern in RE2's syntax.

    `node` None means all nodes merged by time; the time bounds are inclusive. Making one with a pattern that is not
    valid raises `InvalidParameterValue`.
    """

    node: int | None = None
    text: str = ""
    regex: bool = False
    case: bool = False
    levels: frozenset[Level] = ALL_LEVELS
    from_ns: int | None = None
    to_ns: int | None = None

    def __post_init__(self) -> None:
        if self.text:
            _ = self.matcher  # a bad pattern is refused here, not in the middle of an answer

    @property
    def narrows(self) -> bool:
        """Whether it can hide lines of the nodes that are shown."""
        return (
            bool(self.text) or self.levels != ALL_LEVELS or self.from_ns is not None or self.to_ns is not None
        )

    @cached_property
    def matcher(self) -> Matcher:
        """The compiled text search; raises `InvalidParameterValue` with RE2's reason."""
        return Matcher(self.text, regex=self.regex, case=self.case)

    def may_match(self, segment: Segment) -> bool:
        """Whether any line of the segment can match by level and time."""
        if self.from_ns is not None and segment.last_time_ns < self.from_ns:
            return False
        if self.to_ns is not None and segment.first_time_ns > self.to_ns:
            return False
        return self.levels == ALL_LEVELS or any(segment.count(level) for level in self.levels)

    def hits(self, lines: Lines, first: int, end: int, limit: int | None = None) -> list[int]:
        """Numbers of the matching lines among `first`…`end` - 1, in order; at most the first `limit`."""
        times = lines.index.times
        if self.from_ns is not None:
            first = max(first, int(np.searchsorted(times, self.from_ns, "left")))
        if self.to_ns is not None:
            end = min(end, int(np.searchsorted(times, self.to_ns, "right")))
        if first >= end:
            return []
        if self.levels == ALL_LEVELS:
            if not self.text:
                return list(range(first, end if limit is None else min(end, first + limit)))
            return self.matcher.scan(*lines.searchable, first, end, limit)
        wanted = np.isin(lines.index.levels[first:end], [int(level) for level in self.levels])
        return self._hits_of_levels(lines, np.flatnonzero(wanted) + first, first, end)[:limit]

    def _hits_of_levels(self, lines: Lines, candidates: Ints, first: int, end: int) -> list[int]:
        if not self.text or not len(candidates):
            return list(candidates.tolist())
        if len(candidates) * _FEW <= end - first:
            return [
                number for number in candidates.tolist() if self.matcher.matches(clean(lines.text(number)))
            ]
        allowed = set(candidates.tolist())
        return [number for number in self.matcher.scan(*lines.searchable, first, end) if number in allowed]

    def matches(self, text: bytes, time_ns: int, level: Level) -> bool:
        """Whether one line matches."""
        return (
            level in self.levels
            and (self.from_ns is None or time_ns >= self.from_ns)
            and (self.to_ns is None or time_ns <= self.to_ns)
            and (not self.text or self.matcher.matches(clean(text)))
        )


class Matcher:
    """Finds the lines that hold a text. Patterns never match across lines."""

    def __init__(self, text: str, *, regex: bool, case: bool):
        if len(text) > PATTERN_MAX:
            raise InvalidParameterValue(
                f"The search text has {len(text)} characters; at most {PATTERN_MAX} are allowed"
            )
        text = unicodedata.normalize("NFC", text)
        try:
            encoded = text.encode()
        except UnicodeEncodeError:
            raise InvalidParameterValue("The search text is not valid Unicode") from None
        self._literal = encoded if case and not regex else None
        self._pattern: Any = (
            None if case and not regex else _compile(encoded if regex else re2.escape(encoded), case)
        )
        # These look at the ends of the whole text, so they must see one line at a time.
        self._line_by_line = regex and any(sign in text for sign in ("\\A", "\\z", "(?s", "(?-m"))

    def matches(self, text: bytes) -> bool:
        """Whether one line holds it."""
        if self._literal is not None:
            return self._literal in text
        return self._pattern.search(text) is not None

    def scan(
        self, text: bytes, starts: Ints, text_end: int, first: int, end: int, limit: int | None = None
    ) -> list[int]:
        """Numbers of the lines `first`…`end` - 1 that hold it, at most the first `limit`.

        `text` is all lines, each followed by a newline; line n begins at `starts[n]`; the last one ends at `text_end`.
        """
        begins: list[int] = starts.tolist()
        stop = begins[end] - 1 if end < len(begins) else text_end
        if self._line_by_line:
            return self._scan_lines(text, [*begins[first:end], stop + 1], first)[:limit]
        hits: list[int] = []
        position = begins[first]
        while limit is None or len(hits) < limit:
            found = self._find(text, position, stop)
            if found < 0:
                break
            number = bisect_right(begins, found) - 1
            hits.append(number)
            if number + 1 >= end:
                break
            position = begins[number + 1]
        return hits

    def _scan_lines(self, text: bytes, begins: list[int], first: int) -> list[int]:
        return [
            number
            for number, (start, after) in enumerate(pairwise(begins), first)
            if self.matches(text[start : after - 1])
        ]

    def _find(self, text: bytes, position: int, stop: int) -> int:
        if self._literal is not None:
            return text.find(self._literal, position, stop)
        found = self._pattern.search(text, position, stop)
        return -1 if found is None else int(found.start())


def _compile(pattern: bytes, case: bool) -> Any:
    options = re2.Options()
    options.never_nl, options.never_capture, options.log_errors = True, True, False
    options.case_sensitive = case
    try:
        return re2.compile(_PREFIX.encode() + pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        said = said.replace(_PREFIX, "", 1)
        raise InvalidParameterValue(f"The search pattern is not valid: {said} (RE2 syntax)") from None


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between lines: for each node, how many of its lines lie before. Nodes left out stand at 0.

    It stays valid while lines are added, and a late line of a slow node is never jumped over.
    """

    lines: Mapping[int, int]

    def of(self, node: int) -> int:
        """Number of the node's first line behind the cursor."""
        return self.lines.get(node, 0)

    def __str__(self) -> str:
        return "-".join(f"{node}.{line}" for node, line in sorted(self.lines.items()) if line) or "0"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor that `str` wrote; raises `InvalidParameterValue`."""
        if text == "0":
            return cls({})
        try:
            pairs = [part.split(".") for part in text.split("-")]
            lines = {int(node): int(line) for node, line in pairs}
            if (
                len(text) > 65_536
                or not text.isascii()
                or any(not 0 <= n < 2**31 for n in lines)
                or any(not 0 <= n < 2**62 for n in lines.values())
            ):
                raise ValueError(text)
        except ValueError:
            raise InvalidParameterValue(f"Invalid log cursor '{text[:100]}'") from None
        return cls(lines)
