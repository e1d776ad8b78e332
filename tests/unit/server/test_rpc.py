"""The hot half of the server, request by request, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import msgspec
import pytest

from contrail.model.errors import InvalidParameterValue, TemporarilyUnavailable
from contrail.server.rpc import Read, RpcServer, Write
from contrail.wire.protojson import Message


class Ask(msgspec.Struct):
    """A message."""

    q: str = ""


class Exchange:
    """One request and everything that was sent for it."""

    def __init__(
        self,
        rpc: Read | Write,
        *,
        method: str = "GET",
        chunks: tuple[bytes, ...] = (b"",),
        gone: bool = False,
    ):
        self.sent: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = [
            {"type": "http.request", "body": chunk, "more_body": index + 1 < len(chunks)}
            for index, chunk in enumerate(chunks)
        ]
        if gone:
            self._events.append({"type": "http.disconnect"})
        headers = [(b"content-type", b"application/json")]
        self._scope = {
            "type": "http",
            "method": method,
            "path": "/x",
            "query_string": b"",
            "headers": headers,
        }
        server = RpcServer({(method, "/x"): rpc}, body_max=100, threads=2)
        asyncio.run(server.answer(rpc, self._scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if not self._events:
            await asyncio.sleep(3600)
        return self._events.pop(0)

    async def _send(self, event: Any) -> None:
        self.sent.append(event)

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status

    @property
    def body(self) -> bytes:
        return b"".join(event.get("body", b"") for event in self.sent[1:])

    @property
    def complete(self) -> bool:
        return bool(self.sent) and not self.sent[-1].get("more_body", False) and len(self.sent) > 1


def read(answer: Any) -> Read:
    def run(message: Ask) -> Any:
        return answer(message) if callable(answer) else answer

    return Read(Message(Ask), run)


def test_a_read_gives_its_bytes() -> None:
    """With their length."""
    exchange = Exchange(read(lambda m: m.q.encode()), chunks=(b'{"q"', b':"hi"}'))
    assert (exchange.status, exchange.body) == (200, b"hi")
    assert (b"content-length", b"2") in exchange.sent[0]["headers"]


def test_a_write_answers_after_it_is_done() -> None:
    """`{}` unless there is something to say; a refused one says why."""
    done: Future[int] = Future()
    done.set_result(5)
    assert Exchange(Write(Message(Ask), lambda _: done), method="POST").body == b"{}"
    assert Exchange(Write(Message(Ask), lambda _: done, lambda n: b"%d" % n), method="POST").body == b"5"
    failed: Future[int] = Future()
    failed.set_exception(InvalidParameterValue("no"))
    assert Exchange(Write(Message(Ask), lambda _: failed), method="POST").status == 400


def test_a_busy_server_says_when_to_come_back() -> None:
    """Clients wait for what Retry-After says."""

    def full(_: Ask) -> Future[None]:
        raise TemporarilyUnavailable

    exchange = Exchange(Write(Message(Ask), full), method="POST")
    assert exchange.status == 503
    assert (b"retry-after", b"1") in exchange.sent[0]["headers"]


def test_a_fault_of_ours_is_logged_and_told_without_details(caplog: pytest.LogCaptureFixture) -> None:
    """A traceback is for the log."""

    def broken(_: Ask) -> bytes:
        raise KeyError("secret path")

    exchange = Exchange(read(broken))
    assert exchange.status == 500
    assert b"INTERNAL_ERROR" in exchange.body
    assert b"secret" not in exchange.body
    assert "secret path" in caplog.text


@pytest.mark.parametrize("chunks", [(b"x" * 101,), (b"x" * 60, b"x" * 60)])
def test_a_body_above_the_limit_is_not_read(chunks: tuple[bytes, ...]) -> None:
    """In one piece or in several."""
    assert Exchange(read(b"never"), chunks=chunks).status == 413


def test_nobody_is_answered_when_nobody_is_there() -> None:
    """The client hung up in the middle of its body."""
    exchange = Exchange(read(b"never"), chunks=(b"{", b""), gone=True)
    assert exchange.sent[:1] == [] or exchange.status == 400
    rpc = read(b"never")
    server = RpcServer({}, body_max=100, threads=1)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": []}
    asyncio.run(server.answer(rpc, scope, receive, send))
    assert sent == []


def test_long_answers_come_in_parts() -> None:
    """As they are made."""
    exchange = Exchange(read(lambda _: iter([b"a", b"b", b"c"])))
    assert exchange.body == b"abc"
    assert exchange.complete
    assert len(exchange.sent) == 5


def test_making_parts_stops_when_the_reader_is_gone() -> None:
    """Nobody reads the rest of a million points."""
    made = 0

    def parts() -> Iterator[bytes]:
        nonlocal made
        for _ in range(1000):
            made += 1
            yield b"x"

    Exchange(read(lambda _: parts()), gone=True)
    assert made < 10


def test_a_fault_in_the_middle_leaves_the_answer_incomplete(caplog: pytest.LogCaptureFixture) -> None:
    """A client must not take half an answer for a whole one."""

    def parts() -> Iterator[bytes]:
        yield b"half"
        raise KeyError("disk")

    exchange = Exchange(read(lambda _: parts()))
    assert exchange.body == b"half"
    assert not exchange.complete
    assert "disk" in caplog.text
