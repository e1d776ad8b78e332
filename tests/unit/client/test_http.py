"""The HTTP client: one sentence per failure, retries with an end."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from contrail.client.http import Client, ServerEvent, ServerUnreachable, parse_events
from contrail.model import errors


class Played(ThreadingHTTPServer):
    """A server whose answers a test sets: `answers` are (status, body) in order, the last one stays."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, bytes]] = [(200, b"{}")]
        self.requests: list[tuple[str, str, bytes, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Played

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path, body, dict(self.headers)))
        status, answer = (
            self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        )
        if status == 0:  # hang up without an answer
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_HEAD = _answer  # noqa: N815 - the library's names

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def played() -> Iterator[Played]:
    server = Played()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def client(played: Played) -> Iterator[Client]:
    with Client(played.url, token="cta_x", retry_max_s=20) as client:
        yield client


def error_body(code: str, message: str) -> bytes:
    return json.dumps({"error_code": code, "message": message}).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (
            400,
            error_body("INVALID_PARAMETER_VALUE", "step is no number"),
            errors.InvalidParameterValue,
            "step is no",
        ),
        (400, error_body("RESOURCE_LIMIT_EXCEEDED", "too many"), errors.ResourceLimitExceeded, "too many"),
        (401, b"", errors.Unauthenticated, "answered 401"),
        (404, error_body("RESOURCE_DOES_NOT_EXIST", "no job 9"), errors.ResourceDoesNotExist, "no job 9"),
        (404, b"<html>", errors.ResourceDoesNotExist, "is this a Contrail server?"),
        (409, error_body("RESOURCE_CONFLICT", "taken"), errors.ResourceConflict, "taken"),
        (418, b"[]", errors.BadRequest, "answered 418"),
        (500, b"oops", errors.InternalError, "answered 500"),
        (200, b"<html>hello</html>", errors.BadRequest, "is not a Contrail server"),
    ],
)
def test_answers_become_errors(
    played: Played, client: Client, status: int, body: bytes, kind: type[errors.ContrailError], message: str
) -> None:
    """The server's own words where it has some, else what was asked and what came."""
    played.answers = [(status, body)]
    with pytest.raises(errors.ContrailError, match=message) as caught:
        client.get("/x")
    assert type(caught.value) is kind


def test_busy_server_is_asked_again(played: Played, client: Client) -> None:
    """503 and a broken connection are tried again where that is harmless."""
    played.answers = [(503, error_body("TEMPORARILY_UNAVAILABLE", "x")), (0, b""), (200, b'{"a": 1}')]
    assert client.get("/x", {"q": "a b", "none": None}) == {"a": 1}
    assert [path for _, path, _, _ in played.requests] == ["/x?q=a+b"] * 3
    assert played.requests[0][3]["Authorization"] == "Bearer cta_x"


def test_request_that_may_have_been_done_is_not_repeated(played: Played) -> None:
    """A POST that is not marked repeatable is sent once, whatever happens to the connection."""
    played.answers = [(0, b"")]
    with Client(played.url, retry_max_s=1) as client:
        with pytest.raises(ServerUnreachable, match="broke during POST /x"):
            client.post("/x", {"a": 1})
        assert len(played.requests) == 1
        with pytest.raises(ServerUnreachable):
            client.post("/x", {"a": 1}, repeatable=True)
        assert len(played.requests) > 2


def test_server_that_stays_busy_says_so_itself(played: Played) -> None:
    """When the time for repeating is over, the server's own words are the error."""
    played.answers = [(503, error_body("TEMPORARILY_UNAVAILABLE", "the write queue is full"))]
    busy = pytest.raises(errors.TemporarilyUnavailable, match="the write queue is full")
    with Client(played.url, retry_max_s=0.2) as client, busy:
        client.get("/x")


def test_nothing_listens() -> None:
    """A dead address is one sentence that says what to do."""
    with Client("http://127.0.0.1:1", retry_max_s=0.1) as client, pytest.raises(ServerUnreachable) as caught:
        client.get("/x")
    assert "http://127.0.0.1:1" in caught.value.message
    assert "contrail server" in caught.value.message


def test_server_is_found_again_on_another_port(played: Played) -> None:
    """A local server that came back elsewhere is found by `locate`."""
    with Client("http://127.0.0.1:1", locate=lambda: played.url) as client:
        assert client.get("/x") == {}
        assert client.address == played.url


def test_file_is_sent_with_its_length(played: Played, client: Client, tmp_path: Path) -> None:
    """An upload has a length, is repeated whole, and reports its progress."""
    file = tmp_path / "f"
    file.write_bytes(b"x" * 300_000)
    played.answers = [(503, b"{}"), (200, b"{}")]
    sent: list[int] = []
    client.put_file("/code/1", file, {"name": "n"}, sent.append)
    assert [len(body) for _, _, body, _ in played.requests] == [300_000, 300_000]
    assert sum(sent) == 600_000
    played.answers = [(404, b"")]
    assert client.exists("/code/1") is False
    played.answers = [(200, b"")]
    assert client.exists("/code/1") is True


def test_events_are_parsed() -> None:
    """Names, ids, several data lines and comments; what is unfinished is dropped."""
    stream = [
        ": hi",
        "",
        "id: 1.2",
        "event: lines",
        "data: {",
        "data: }",
        "",
        "event: end",
        "data:",
        "",
        "data: cut",
    ]
    assert list(parse_events(iter(stream))) == [
        ServerEvent("lines", "{\n}", "1.2"),
        ServerEvent("end", "", "1.2"),
    ]


def test_events_of_a_stream(played: Played, client: Client) -> None:
    """A stream is read to its end and resumed from the last id."""
    played.answers = [(200, b"id: 7\ndata: a\n\n")]
    assert list(client.events("/s", last_id="5")) == [ServerEvent("message", "a", "7")]
    assert played.requests[0][3]["Last-Event-ID"] == "5"
    played.answers = [(404, error_body("RESOURCE_DOES_NOT_EXIST", "gone"))]
    with pytest.raises(errors.ResourceDoesNotExist, match="gone"):
        list(client.events("/s"))
