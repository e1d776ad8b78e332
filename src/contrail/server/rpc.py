"""The hot half of the server: MLflow's fixed paths, looked up in a dict before any framework.

An entry says how the message is decoded and which use case it goes to. Writes wait on the event loop for
their commit; reads run in a small pool of threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from contrail.model.errors import ContrailError, InvalidParameterValue, RequestTooLarge
from contrail.server.bridge import Bridge
from contrail.server.errors import JSON, error_body, unexpected
from contrail.wire.protojson import Message

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

QUERY_FIELDS_MAX = 1_000
_NOTHING = b"{}"
_JSON_HEADER = (b"content-type", JSON.encode())
_NOTHING_HEADERS = [_JSON_HEADER, (b"content-length", b"2")]


class ClientGone(Exception):
    """The client hung up before its request was complete; nobody is there to be told."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write: `submit` checks and queues it, `answer` makes the body of its result (`{}` without)."""

    message: Message[Any]
    submit: Callable[[Any], Future[Any]]
    answer: Callable[[Any], bytes] | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """A read: runs in a thread; its body is whole, or comes in parts that are made when they are sent."""

    message: Message[Any]
    read: Callable[[Any], bytes | Iterator[bytes]]


Rpc: TypeAlias = Write | Read
Table: TypeAlias = Mapping[tuple[str, str], Rpc]


class RpcServer:
    """Answers the requests of one table."""

    def __init__(self, table: Table, *, body_max: int, threads: int):
        self._table = table
        self._body_max = body_max
        self._bridge = Bridge()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="contrail-reader")

    def find(self, method: str, path: str) -> Rpc | None:
        """The entry for a request; HEAD is answered like GET (the protocol layer drops the body)."""
        return self._table.get(("GET" if method == "HEAD" else method, path))

    async def answer(self, rpc: Rpc, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request from its first byte to the last one of its answer."""
        try:
            body = await read_body(scope, receive, self._body_max)
            made = await self._make(rpc, self._decode(rpc.message, scope, body))
        except ClientGone:
            return
        except ContrailError as error:
            await send_error(send, error)
        except Exception as error:  # the request's outermost edge
            await send_error(send, unexpected(error, f"{scope['method']} {scope['path']}"))
        else:
            if isinstance(made, bytes):
                await send_json(send, made)
            else:
                await self._stream(made, scope, receive, send)

    async def _make(self, rpc: Rpc, message: Any) -> bytes | Iterator[bytes]:
        if isinstance(rpc, Write):
            result = await self._bridge.wait(rpc.submit(message))
            return _NOTHING if rpc.answer is None else rpc.answer(result)
        return await asyncio.get_running_loop().run_in_executor(self._threads, rpc.read, message)

    def _decode(self, message: Message[Any], scope: Scope, body: bytes) -> Any:
        if scope["method"] == "POST":
            _check_content_type(scope["headers"])
            return message.decode(body)
        query = scope["query_string"]
        return message.from_query(parse_query(query)) if query else message.decode(body)

    async def _stream(self, parts: Iterator[bytes], scope: Scope, receive: Receive, send: Send) -> None:
        """Send parts as they are made, for as long as somebody reads them."""
        loop = asyncio.get_running_loop()
        gone = asyncio.ensure_future(receive())  # after the body, all there is to receive is the hang-up
        await send({"type": "http.response.start", "status": 200, "headers": [_JSON_HEADER]})
        try:
            while scope["method"] != "HEAD" and not gone.done():
                part = await loop.run_in_executor(self._threads, next, parts, b"")
                if not part:
                    break
                await send({"type": "http.response.body", "body": part, "more_body": True})
        except Exception as error:  # too late for an error answer: leave it incomplete, so the client notices
            unexpected(error, f"{scope['method']} {scope['path']}")
            return
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})


def parse_query(query: bytes) -> dict[str, list[str]]:
    """A query string as lists of values. Raises `InvalidParameterValue`."""
    try:
        return parse_qs(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=QUERY_FIELDS_MAX
        )
    except UnicodeError:
        raise InvalidParameterValue("The query string is not valid UTF-8") from None
    except ValueError:
        raise InvalidParameterValue(f"The query string has more than {QUERY_FIELDS_MAX} fields") from None


def _check_content_type(headers: Iterable[tuple[bytes, bytes]]) -> None:
    found = False
    for name, value in headers:
        if name == b"content-type":
            if value.partition(b";")[0].strip().lower() != b"application/json":
                raise InvalidParameterValue("Bad Request. Content-Type must be one of ['application/json'].")
            found = True
        elif name == b"content-encoding" and value.strip().lower() != b"identity":
            raise InvalidParameterValue(
                "Content-Encoding: send the body as it is; compressed bodies are not read"
            )
    if not found:
        raise InvalidParameterValue("Bad Request. Content-Type header is missing.")


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body. Raises `RequestTooLarge` above `limit` bytes and `ClientGone` when it never ends."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > limit:
            raise too_large(limit)
    event = await receive()
    if event["type"] == "http.request" and not event.get("more_body", False):
        body: bytes = event.get("body", b"")
        return _within(body, limit)
    parts: list[bytes] = []
    size = 0
    while True:
        if event["type"] == "http.disconnect":
            raise ClientGone
        parts.append(event.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise too_large(limit)
        if not event.get("more_body", False):
            return b"".join(parts)
        event = await receive()


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise too_large(limit)
    return body


def too_large(limit: int) -> RequestTooLarge:
    """The error for a body above the limit."""
    return RequestTooLarge(
        f"The request body is larger than {limit} bytes (setting request_body_max_bytes); send less at once"
    )


async def send_json(send: Send, body: bytes, status: int = 200) -> None:
    """One JSON answer."""
    headers = _NOTHING_HEADERS if body is _NOTHING else _headers(body)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return [_JSON_HEADER, (b"content-length", str(len(body)).encode())]


async def send_error(send: Send, error: ContrailError) -> None:
    """One error answer. Clients that wait and retry are told how long."""
    body = error_body(error)
    headers = _headers(body)
    if error.http_status in (429, 503):
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": error.http_status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
