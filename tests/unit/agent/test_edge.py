"""The HTTP server on loopback takes what clients send and survives what they should not."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from contrail.agent.edge import BODY_MAX_BYTES, Edge, Memory, Reply, json_reply


class Echo:
    """Answers with what it got."""

    def __init__(self):
        self.sinks: list[Memory] = []

    def sink(self, _head):
        self.sinks.append(Memory())
        return self.sinks[-1]

    def handle(self, head, sink):
        if head.path == "/fail":
            raise RuntimeError("bug")
        if head.path == "/stream":
            return Reply(200, stream=iter([b"one", b"two"]))
        if head.path == "/broken":
            return Reply(200, headers={"content-length": "100"}, stream=broken())
        return json_reply(
            200, {"path": head.path, "query": head.query, "body": sink.content.decode("latin-1")}
        )


def broken():
    yield b"half"
    raise OSError("source gone")


@pytest.fixture
def edge():
    found = Edge(Echo())
    found.start()
    yield found
    found.close()


def talk(edge: Edge, *pieces: bytes) -> bytes:
    """Everything the server answers to `pieces`, until it closes or we do."""
    with socket.create_connection(("127.0.0.1", edge.port), timeout=10) as connection:
        for piece in pieces:
            connection.sendall(piece)
        with suppress(OSError):  # the server may have closed it already
            connection.shutdown(socket.SHUT_WR)
        found = b""
        while data := connection.recv(65536):
            found += data
        return found


def test_a_request_and_the_next_on_one_connection(edge):
    """Connections are kept, and pipelined requests are answered in order."""
    request = b"POST /a?x=1 HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello"
    answer = talk(edge, request + request.replace(b"/a", b"/b"))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert answer.index(b'"path":"/a"') < answer.index(b'"path":"/b"')
    assert b'"query":"x=1","body":"hello"' in answer


def test_a_chunked_body_in_small_pieces(edge):
    """Chunks and headers may be cut anywhere."""
    request = (
        b"PUT /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    answer = talk(edge, *[request[i : i + 3] for i in range(0, len(request), 3)])
    assert b'"body":"abcde"' in answer


def test_expect_continue_is_answered(edge):
    """A client that waits for leave to send its body gets it."""
    answer = talk(
        edge, b"PUT /c HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n", b"ok"
    )
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")


def test_streams_are_chunked(edge):
    """An answer of unknown length goes out in chunks."""
    answer = talk(edge, b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n")
    assert answer.endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


def test_an_answer_that_breaks_off_is_not_taken_for_whole(edge):
    """When the source fails, the connection closes before the announced length."""
    answer = talk(edge, b"GET /broken HTTP/1.1\r\nhost: x\r\n\r\n")
    assert answer.endswith(b"\r\n\r\nhalf")


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
    ],
)
def test_garbage_is_answered_with_400(edge, garbage):
    """What is not HTTP gets an error, and the server goes on."""
    assert b"HTTP/1.1 400" in talk(edge, garbage)
    assert b"HTTP/1.1 200" in talk(edge, b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n")


def test_endless_headers_are_refused(edge):
    """A head that does not end is not kept forever."""
    with socket.create_connection(("127.0.0.1", edge.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nx: ")
        sent = 0
        with suppress(OSError):
            while sent < 64 << 20:
                sent += connection.send(b"y" * 65536)
        assert sent < 64 << 20


def test_a_failing_handler_costs_one_request(edge):
    """An error in the handler is a 500, and the connection stays."""
    answer = talk(edge, b"GET /fail HTTP/1.1\r\nhost: x\r\n\r\nGET /a HTTP/1.1\r\nhost: x\r\n\r\n")
    assert b"HTTP/1.1 500" in answer
    assert b"HTTP/1.1 200" in answer


def test_memory_has_a_limit():
    """Beyond the limit a body is not kept."""
    sink = Memory()
    for _ in range(BODY_MAX_BYTES // (1 << 20) + 2):
        sink.write(bytes(1 << 20))
    assert sink.too_large
    assert len(sink.content) <= BODY_MAX_BYTES
