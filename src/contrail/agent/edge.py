"""A small HTTP/1.1 server on loopback: a thread per connection, bodies streamed into sinks.

It serves the few processes of one node, so blocking code is fast enough and easy to bound. What it serves
is decided by the `Handler` it is given.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

import httptools
import msgspec

log = logging.getLogger(__name__)

HEAD_MAX_BYTES = 512 * 1024
BODY_MAX_BYTES = 32 * 1024 * 1024
CONNECTIONS_MAX = 1024
IDLE_S = 600.0
_STACK_BYTES = 512 * 1024
_READ_BYTES = 256 * 1024


@dataclass(slots=True)
class Head:
    """Request line and headers; header names are lower-case."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict)
    keep_alive: bool = True

    @property
    def path(self) -> str:
        """The target without its query, as it was sent."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What follows the question mark."""
        return self.target.partition("?")[2]


@dataclass(slots=True)
class Reply:
    """An answer. `stream` (with its length in `headers`, else chunked) takes the place of `body`."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterable[bytes] | None = None


class Sink(Protocol):
    """Takes a request's body, piece by piece."""

    def write(self, data: bytes) -> None:
        """Take the next piece."""

    def discard(self) -> None:
        """The request broke off: leave nothing behind."""


class Memory:
    """A sink that keeps the body, up to `BODY_MAX_BYTES`."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Take the next piece; beyond the limit only the size counts."""
        self._size += len(data)
        if not self.too_large:
            self._pieces.append(data)

    def discard(self) -> None:
        """Forget it."""
        self._pieces.clear()

    @property
    def too_large(self) -> bool:
        """Whether the limit was passed."""
        return self._size > BODY_MAX_BYTES

    @property
    def content(self) -> bytes:
        """The whole body."""
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)


class Handler(Protocol):
    """What the edge serves."""

    def sink(self, head: Head) -> Sink:
        """Where this request's body goes."""

    def handle(self, head: Head, sink: Sink) -> Reply:
        """Answer; the body is complete. May block."""


def json_reply(status: int, content: object, headers: Mapping[str, str] | None = None) -> Reply:
    """An answer in JSON."""
    return Reply(
        status, msgspec.json.encode(content), {"content-type": "application/json", **(headers or {})}
    )


def error_reply(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """An error in MLflow's shape."""
    return json_reply(status, {"error_code": code, "message": message}, headers)


class Edge:
    """Listens from the start, so that its port is known; serves after `start`."""

    def __init__(self, handler: Handler):
        self._handler = handler
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._slots = threading.Semaphore(CONNECTIONS_MAX)

    @property
    def url(self) -> str:
        """Address for clients on this node."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Accept connections from now on."""
        threading.Thread(target=self._accept, name="relay-accept", daemon=True).start()

    def close(self) -> None:
        """Take no new connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            self._slots.acquire()
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            previous = threading.stack_size(_STACK_BYTES)
            try:
                threading.Thread(target=self._serve, args=(connection,), name="relay", daemon=True).start()
            except RuntimeError:
                log.exception("no thread for a connection")
                connection.close()
                self._slots.release()
            finally:
                threading.stack_size(previous)

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(IDLE_S)
            with connection:
                _Conversation(connection, self._handler).run()
        except OSError:
            pass  # the client went away
        except Exception:  # the thread's outermost edge
            log.exception("a relay connection failed")
        finally:
            self._slots.release()


class _Conversation:
    """Requests of one connection, one after the other. Its methods `on_…` are the parser's callbacks."""

    def __init__(self, connection: socket.socket, handler: Handler):
        self._connection = connection
        self._handler = handler
        self._parser = httptools.HttpRequestParser(self)
        self._head = Head("", "")
        self._in_head = False
        self._head_bytes = 0  # received of a head that is not complete
        self._sink: Sink | None = None
        self._complete: list[tuple[Head, Sink]] = []

    def run(self) -> None:
        """Until the client leaves or must not stay."""
        try:
            while data := self._connection.recv(_READ_BYTES):
                try:
                    self._parser.feed_data(data)
                except httptools.HttpParserError as error:
                    self._send(
                        error_reply(400, "BAD_REQUEST", f"Not a valid HTTP request: {error}"), False, False
                    )
                    return
                for head, sink in self._take_complete():
                    if not self._answer(head, sink):
                        return
                self._head_bytes = self._head_bytes + len(data) if self._in_head else 0
                if self._head_bytes > HEAD_MAX_BYTES:
                    self._send(
                        error_reply(431, "BAD_REQUEST", "The request's headers are too long"), False, False
                    )
                    return
        finally:
            if self._sink is not None:
                self._sink.discard()

    def _take_complete(self) -> Iterator[tuple[Head, Sink]]:
        complete, self._complete = self._complete, []
        return iter(complete)

    def _answer(self, head: Head, sink: Sink) -> bool:
        try:
            reply = self._handler.handle(head, sink)
        except Exception:  # the request's outermost edge
            log.exception("%s %s failed", head.method, head.path)
            sink.discard()
            reply = error_reply(500, "INTERNAL_ERROR", "The node agent failed; its log says why")
        return self._send(reply, head.keep_alive, head.method == "HEAD") and head.keep_alive

    # ------------------------------------------------------------ the parser's callbacks

    def on_message_begin(self) -> None:
        self._head = Head("", "")
        self._in_head = True

    def on_url(self, url: bytes) -> None:
        self._head.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head.method = self._parser.get_method().decode("latin-1")
        self._head.keep_alive = self._parser.should_keep_alive()
        self._sink = self._handler.sink(self._head)
        if self._head.headers.get("expect", "").lower() == "100-continue":
            self._connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        if self._sink is not None:
            self._sink.write(body)

    def on_message_complete(self) -> None:
        if self._sink is not None:
            self._complete.append((self._head, self._sink))
            self._sink = None

    # ------------------------------------------------------------ sending

    def _send(self, reply: Reply, keep_alive: bool, head_only: bool) -> bool:
        headers = dict(reply.headers)
        chunked = False
        if reply.stream is None:
            headers.setdefault("content-length", str(len(reply.body)))
        elif "content-length" not in headers:
            headers["transfer-encoding"] = "chunked"
            chunked = True
        if not keep_alive:
            headers["connection"] = "close"
        head = _head_bytes(reply.status, headers)
        if head_only or reply.stream is None:
            self._connection.sendall(head if head_only else head + reply.body)
            return True
        self._connection.sendall(head)
        try:
            self._send_stream(reply.stream, chunked=chunked)
        except Exception:  # the source broke off: only closing the connection tells the client
            log.exception("an answer broke off")
            return False
        return True

    def _send_stream(self, stream: Iterable[bytes], *, chunked: bool) -> None:
        for piece in stream:
            if chunked:
                self._connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            else:
                self._connection.sendall(piece)
        if chunked:
            self._connection.sendall(b"0\r\n\r\n")


def _head_bytes(status: int, headers: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Status"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
