"""A small HTTP client for the command line and the SDK: one sentence per failure, retries with an end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self
from urllib.parse import urlsplit

from contrail.model import errors
from contrail.model.errors import ContrailError, TemporarilyUnavailable

if TYPE_CHECKING:
    import httpx

API = "/api/contrail/v1"
CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 60.0
STREAM_SILENCE_MAX_S = 60.0  # the server sends a comment line more often than this
RETRY_MAX_S = 3.0
UPLOAD_PIECE_BYTES = 256 * 1024
_PAUSES_S = (0.1, 0.3, 0.7, 1.5, 3.0, 5.0)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

Query = Mapping[str, str | int | float | None]


class ServerUnreachable(TemporarilyUnavailable):
    """Nothing answers at the server's address."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream."""

    name: str
    data: str
    id: str | None


class Client:
    """Talks to one server. Safe to use from several threads.

    Failures are `ContrailError`s whose message can be shown as it is. `retry_max_s` bounds how long a
    request that could not be sent is tried again; a request that the server may have seen is repeated
    only where that is harmless (`repeatable`). `locate` finds the server again after it went away: a local
    one may come back on another port.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        retry_max_s: float = RETRY_MAX_S,
        locate: Callable[[], str | None] = lambda: None,
    ):
        self.address = address.rstrip("/")
        self._token = token
        self._locate = locate
        self._retry_max_s = retry_max_s
        self._client: httpx.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            self._client.close()

    def get(self, path: str, query: Query | None = None) -> Any:
        """The JSON that `GET path` answers."""
        return self._json("GET", path, query=query, repeatable=True)

    def post(self, path: str, body: Any = None, *, repeatable: bool = False) -> Any:
        """The JSON that `POST path` answers."""
        return self._json("POST", path, body=body, repeatable=repeatable)

    def exists(self, path: str) -> bool:
        """Whether `HEAD path` finds something."""
        response = self._send("HEAD", path, repeatable=True)
        if response.status_code == 404:
            return False
        self._raise_for(response, "HEAD", path)
        return True

    def put_file(
        self,
        path: str,
        file: Path,
        query: Query | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Send a file as the body of `PUT path`; `progress` gets the bytes of each piece."""
        with file.open("rb") as content:
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(file.stat().st_size)}
            response = self._send(
                "PUT",
                path,
                query=query,
                headers=headers,
                content=lambda: _pieces(content, progress),
                repeatable=True,
            )
        self._raise_for(response, "PUT", path)

    @contextmanager
    def download(self, path: str, query: Query | None = None) -> Iterator[Iterator[bytes]]:
        """The bytes of `GET path` as they come."""
        with self._open_stream(path, query, {}) as response:
            yield self._translated(response.iter_bytes(), "GET", path)

    def events(
        self, path: str, query: Query | None = None, last_id: str | None = None
    ) -> Iterator[ServerEvent]:
        """Server-sent events of `GET path`, from after `last_id`. Ends when the server ends the stream."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
        with self._open_stream(path, query, headers) as response:
            yield from parse_events(self._translated(response.iter_lines(), "GET", path))

    # ---------------------------------------------------------------- inside

    def _http(self) -> httpx.Client:
        if self._client is None:
            import httpx

            headers = {"Accept": "application/json"}
            if self._token:
                headers["Authorization"] = f"Bearer {self._token}"
            loopback = urlsplit(self.address).hostname in _LOOPBACK
            self._client = httpx.Client(
                base_url=self.address,
                headers=headers,
                timeout=httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
                trust_env=not loopback,  # a proxy of the machine never leads back to this machine
            )
        return self._client

    def _json(
        self, method: str, path: str, *, query: Query | None = None, body: Any = None, repeatable: bool
    ) -> Any:
        headers, content = {}, None
        if body is not None:
            headers["Content-Type"] = "application/json"
            encoded = json.dumps(body, ensure_ascii=False).encode()
            content = lambda: encoded  # noqa: E731
        response = self._send(
            method, path, query=query, headers=headers, content=content, repeatable=repeatable
        )
        self._raise_for(response, method, path)
        try:
            return response.json()
        except ValueError:
            raise self._not_contrail() from None

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        content: Callable[[], Any] | None = None,
        repeatable: bool,
    ) -> httpx.Response:
        import httpx

        until = time.monotonic() + self._retry_max_s
        for pause in (*_PAUSES_S, None):
            may_repeat = pause is not None and time.monotonic() + pause <= until
            try:
                response = self._http().request(
                    method,
                    path,
                    params=_given(query),
                    headers=headers,
                    content=content() if content else None,
                )
                if not (response.status_code == 503 and repeatable and may_repeat):
                    return response
            except (httpx.ConnectError, httpx.ConnectTimeout) as wrong:  # it was not sent
                if not may_repeat:
                    raise self._unreachable(wrong) from None
            except httpx.TransportError as wrong:  # the server may have seen it
                if not (repeatable and may_repeat):
                    raise self._interrupted(method, path, wrong) from None
            except (httpx.InvalidURL, httpx.UnsupportedProtocol) as wrong:
                raise errors.InvalidParameterValue(
                    f"'{self.address}' is not a server address: {wrong}"
                ) from None
            time.sleep(pause or 0)
            self._find_again()
        raise AssertionError("the last pass returns or raises")

    def _find_again(self) -> None:
        address = self._locate()
        if address and address.rstrip("/") != self.address:
            self.address, self._client = address.rstrip("/"), None

    @contextmanager
    def _open_stream(
        self, path: str, query: Query | None, headers: Mapping[str, str]
    ) -> Iterator[httpx.Response]:
        import httpx

        timeout = httpx.Timeout(STREAM_SILENCE_MAX_S, connect=CONNECT_TIMEOUT_S)
        try:
            with self._http().stream(
                "GET", path, params=_given(query), headers=headers, timeout=timeout
            ) as response:
                if response.status_code >= 400:
                    response.read()
                    self._raise_for(response, "GET", path)
                yield response
        except httpx.TransportError as wrong:
            failure = self._unreachable(wrong)
            self._find_again()
            raise failure from None

    def _translated(self, parts: Iterator[Any], method: str, path: str) -> Iterator[Any]:
        import httpx

        try:
            yield from parts
        except httpx.TransportError as wrong:
            raise self._interrupted(method, path, wrong) from None

    def _raise_for(self, response: httpx.Response, method: str, path: str) -> None:
        if response.status_code < 400:
            return
        try:
            body = json.loads(response.content) if response.content else {}
            code, message = body.get("error_code"), body.get("message")
        except (ValueError, AttributeError):
            code, message = None, None
        kind = _kind(response.status_code, code)
        if message is None:
            message = f"{method} {self.address}{path} answered {response.status_code}"
            message += "" if response.status_code != 404 else "; is this a Contrail server?"
        raise kind(str(message))

    def _unreachable(self, failure: Exception) -> ServerUnreachable:
        reason = str(failure) or type(failure).__name__
        return ServerUnreachable(
            f"No Contrail server answers at {self.address} ({reason}). "
            "Start one with `contrail server`, or name another with --server or CONTRAIL_SERVER."
        )

    def _interrupted(self, method: str, path: str, failure: Exception) -> ServerUnreachable:
        return ServerUnreachable(
            f"The connection to {self.address} broke during {method} {path} ({failure or type(failure).__name__}); "
            "try again."
        )

    def _not_contrail(self) -> ContrailError:
        return errors.BadRequest(
            f"What answers at {self.address} is not a Contrail server; check the address."
        )


def parse_events(lines: Iterator[str]) -> Iterator[ServerEvent]:
    """Server-sent events from the lines of a stream. Comments and unfinished events are dropped."""
    name, data, identity = "message", list[str](), None
    for line in lines:
        if not line:
            if data:
                yield ServerEvent(name, "\n".join(data), identity)
            name, data = "message", []
            continue
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match key:
            case "event":
                name = value
            case "data":
                data.append(value)
            case "id":
                identity = value


def _kind(status: int, code: str | None) -> type[ContrailError]:
    """The error class for an answer: by its code where several share it, else by its status."""
    kinds = [
        kind for kind in _all_kinds(ContrailError) if kind.http_status == status and kind is not ContrailError
    ]
    for kind in kinds:
        if kind.code == code:
            return kind
    if kinds:
        return kinds[0]
    return errors.BadRequest if status < 500 else errors.InternalError


def _all_kinds(kind: type[ContrailError]) -> Iterator[type[ContrailError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from _all_kinds(child)


def _given(query: Query | None) -> dict[str, str | int | float]:
    return {name: value for name, value in (query or {}).items() if value is not None}


def _pieces(content: BinaryIO, progress: Callable[[int], None]) -> Iterator[bytes]:
    content.seek(0)
    while piece := content.read(UPLOAD_PIECE_BYTES):
        yield piece
        progress(len(piece))
