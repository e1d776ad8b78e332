"""What a browser must not be tricked into: foreign Host names and cross-site writes are refused.

A page on another site can make a browser send requests to a server on this machine. Such a request
carries that site's `Origin`, or, after DNS rebinding, its name as `Host`; both are refused before any route.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from contrail.model.errors import PermissionDenied
from contrail.model.settings import Settings
from contrail.server.errors import error_body

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_UNGUARDED = {"/health", "/version"}
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


def guard(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Wrap `app` so that only requests to and from known hosts reach it."""
    allowed = {name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip()}
    known: dict[bytes, bool] = {}  # Host values seen; bounded because strangers choose them

    def host_known(value: bytes) -> bool:
        if value not in known:
            if len(known) > 1000:
                known.clear()
            known[value] = _is_known(value.decode("latin-1"), allowed)
        return known[value]

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _UNGUARDED:
            return await app(scope, receive, send)
        host, origin = _host_and_origin(scope["headers"])
        if not host_known(host):
            return await _refuse(
                send,
                f"This server does not answer to the name '{host.decode('latin-1')}' (setting allowed_hosts)",
            )
        if (
            origin is not None
            and scope["method"] not in _SAFE_METHODS
            and not _same_site(origin, host, allowed)
        ):
            return await _refuse(
                send,
                f"Writing from pages of '{origin.decode('latin-1')}' is not allowed (setting allowed_hosts)",
            )
        return await app(scope, receive, send)

    return guarded


def _host_and_origin(headers: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, bytes | None]:
    host, origin = b"", None
    for name, value in headers:
        if name == b"host":
            host = value
        elif name == b"origin":
            origin = value
    return host, origin


def _is_known(host: str, allowed: set[str]) -> bool:
    name = (urlsplit("//" + host).hostname or "").lower() if host else ""
    if name == "localhost" or name in allowed or host.lower() in allowed:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _same_site(origin: bytes, host: bytes, allowed: set[str]) -> bool:
    """Our own pages have the Host they were loaded from as origin; `null` (sandboxed pages) is never ours."""
    try:
        parts = urlsplit(origin.decode("latin-1").lower())
    except ValueError:
        return False
    ours = parts.netloc.encode("latin-1") == host.lower()
    return parts.scheme in {"http", "https"} and (
        ours or parts.netloc in allowed or parts.hostname in allowed
    )


async def _refuse(send: Send, message: str) -> None:
    error = PermissionDenied(message)
    body = error_body(error)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": error.http_status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
