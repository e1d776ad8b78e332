"""Pages of stored log lines, put together in order."""

from __future__ import annotations

from typing import Any, cast

import pytest

from contrail.cli import streams
from contrail.client.http import Client

TOTAL = 95
SHORT = 7  # this server never gives more lines in one page, whatever is asked for


class PlayedLogs:
    """Answers pages of a log of `TOTAL` lines, shorter than asked for, as a server with a limit in bytes does."""

    def get(self, _path: str, query: dict[str, Any]) -> dict[str, Any]:
        limit = min(query.get("tail") or query["limit"], SHORT)
        if "before" in query or "tail" in query:
            end = int(query.get("before", TOTAL))
            start = max(0, end - limit)
        else:
            start = int(query.get("after", 0))
            end = min(TOTAL, start + limit)
        return {
            "lines": [{"node": 0, "seq": number} for number in range(start, end)],
            "next": str(end),
            "prev": str(start) if start else None,
            "eof": end == TOTAL,
        }


def numbers(tail: int | None) -> list[int]:
    pages = list(streams.stored_pages(cast("Client", PlayedLogs()), 1, {"attempt": 0}, tail))
    assert pages[-1]["next"] == str(TOTAL), "the last page says where to go on"
    return [line["seq"] for page in pages for line in page["lines"]]


@pytest.mark.parametrize("tail", [1, SHORT, 50, TOTAL, 1000])
def test_tail_has_the_asked_length_however_short_pages_are(tail: int) -> None:
    """The last N lines, in order, each once; all of them when there are fewer."""
    assert numbers(tail) == list(range(max(0, TOTAL - tail), TOTAL))


def test_everything_comes_in_order() -> None:
    """Without a tail the pages go from the first line to the last."""
    assert numbers(None) == list(range(TOTAL))
