"""Uploads that have no room."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from starlette.requests import Request

from contrail.blobs.area import Area
from contrail.model.errors import TemporarilyUnavailable
from contrail.server.routes import files


class SmallDisk:
    """An area that has no room; storing anything in it would be an AttributeError."""

    def free_bytes(self) -> int:
        return 1_000_000


def _refused(size: int, pieces: list[bytes]) -> str:
    async def receive() -> dict[str, Any]:
        body = pieces.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(pieces)}

    headers = [(b"content-length", str(size).encode())]
    request = Request({"type": "http", "method": "PUT", "path": "/", "headers": headers}, receive)
    with pytest.raises(TemporarilyUnavailable) as refused:
        asyncio.run(files.receive(request, cast(Area, SmallDisk()), "a/b"))
    return refused.value.message


def test_the_reason_reaches_a_client_that_is_still_sending() -> None:
    """A body that is refused is read to its end, or the client sees a broken connection and no reason."""
    pieces = [b"x" * 1000] * 5
    assert _refused(5000, pieces) == (
        "The server's disk has 1,000,000 bytes left and keeps 67,108,864 of them for the database: "
        "no room for a file of 5,000 bytes. Free some space or ask the server's admin."
    )
    assert pieces == []


def test_a_huge_refused_body_is_not_waited_for() -> None:
    """Gigabytes that will be thrown away are not worth their time on the wire."""
    pieces = [b"x" * 1000] * 5
    assert "no room for a file of 5,000,000,000 bytes" in _refused(5_000_000_000, pieces)
    assert len(pieces) == 5
