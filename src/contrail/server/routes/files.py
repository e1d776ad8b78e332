"""Sending and receiving stored files: streamed both ways, with ranges and tags, never run by a browser."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from contrail.blobs.area import PART_BYTES, Area, BlobInfo
from contrail.model.errors import (
    ContrailError,
    InvalidParameterValue,
    RequestTooLarge,
    ResourceDoesNotExist,
    TemporarilyUnavailable,
)
from contrail.server.routes.headers import attachment, http_date, media_type

# Whatever a file holds, a page made of it runs no script and belongs to no origin.
SANDBOX = (
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; "
    "style-src 'unsafe-inline'; font-src data:"
)

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_DISK_RESERVE_BYTES = 64 * 1024 * 1024  # the database needs room too
_DROPPED_MAX_BYTES = 256 * 1024 * 1024  # longer bodies are not worth their time on the wire


def path_after(request: Request, marker: str) -> str:
    """The rest of the request's path behind `marker`, percent-decoded once; raises `InvalidParameterValue`."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    _, found, rest = raw.partition(marker.encode())
    if not found:
        raise InvalidParameterValue("Invalid path")
    try:
        return unquote_to_bytes(rest).decode()
    except UnicodeDecodeError:
        raise InvalidParameterValue("Invalid path: it is not valid UTF-8") from None


async def receive(request: Request, area: Area, path: str, *, bytes_max: int | None = None) -> int:
    """Store the request's body; returns its size. Nothing is visible, and nothing is left, if it breaks off."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit():
        try:
            await run_in_threadpool(_refuse_what_cannot_fit, area, int(announced), bytes_max)
        except ContrailError:
            await _let_finish(request, int(announced))
            raise
    upload = await run_in_threadpool(area.upload, path)
    size = 0
    try:
        part = bytearray()
        async for data in request.stream():
            size += len(data)
            if bytes_max is not None and size > bytes_max:
                raise _too_large(bytes_max)
            part += data
            if len(part) >= PART_BYTES:
                await run_in_threadpool(upload.write, bytes(part))
                part.clear()
        if part:
            await run_in_threadpool(upload.write, bytes(part))
        await run_in_threadpool(upload.commit)
    finally:
        # Not in a thread: a request that is being cancelled could not wait for one.
        upload.__exit__(None, None, None)
    return size


async def _let_finish(request: Request, size: int) -> None:
    """Drop a refused body: a client that is still sending sees a broken connection instead of the reason."""
    if size <= _DROPPED_MAX_BYTES:
        async for _ in request.stream():
            pass


def _refuse_what_cannot_fit(area: Area, size: int, bytes_max: int | None) -> None:
    if bytes_max is not None and size > bytes_max:
        raise _too_large(bytes_max)
    free = area.free_bytes()
    if free is not None and size + _DISK_RESERVE_BYTES > free:
        raise TemporarilyUnavailable(
            f"The server's disk has {free:,} bytes left and keeps {_DISK_RESERVE_BYTES:,} of them for the "
            f"database: no room for a file of {size:,} bytes. Free some space or ask the server's admin."
        )


def _too_large(bytes_max: int) -> RequestTooLarge:
    return RequestTooLarge(f"The file is larger than {bytes_max} bytes; upload it as an artifact instead")


async def send(
    request: Request,
    area: Area,
    path: str,
    *,
    disposition: str | None = None,
    content_type: str | None = None,
    policy: str = SANDBOX,
) -> Response:
    """A file, or the asked part of it. Raises `ResourceDoesNotExist`, or `InvalidParameterValue` for a folder."""
    found = await run_in_threadpool(area.info, path)
    if found is None:
        raise ResourceDoesNotExist(f"There is no '{path}'")
    if found.is_dir:
        raise InvalidParameterValue(f"'{path}' is a folder; list it instead")
    headers = {
        "content-disposition": disposition or attachment(found.name),
        "x-content-type-options": "nosniff",
        "content-security-policy": policy,
        "accept-ranges": "bytes",
        "etag": f'"{found.etag}"',
        "last-modified": http_date(found.modified_ms),
        "cache-control": "private, no-cache",
        "content-type": content_type or media_type(found.name),
    }
    if found.etag in {tag.strip().strip('"') for tag in request.headers.get("if-none-match", "").split(",")}:
        return Response(status_code=304, headers=headers)
    wanted = _wanted_range(request, found)
    if wanted is None:
        start, end, status = 0, found.size, 200
    elif wanted[0] >= wanted[1]:
        return Response(status_code=416, headers=headers | {"content-range": f"bytes */{found.size}"})
    else:
        (start, end), status = wanted, 206
        headers["content-range"] = f"bytes {start}-{end - 1}/{found.size}"
    headers["content-length"] = str(end - start)
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    parts = await run_in_threadpool(area.read, path, start, end)
    return StreamingResponse(parts, status, headers)


def _wanted_range(request: Request, found: BlobInfo) -> tuple[int, int] | None:
    """The asked part as start and end; None for all (also for several parts, which nobody must support)."""
    match = _RANGE.fullmatch(request.headers.get("range", "").strip())
    condition = request.headers.get("if-range")
    if match is None or (condition is not None and condition.strip('"') != found.etag):
        return None
    first, last = match.groups()
    if not first and not last:
        return None
    if not first:
        return max(found.size - int(last), 0), found.size
    if last and int(last) < int(first):
        return None
    return int(first), min(int(last) + 1, found.size) if last else found.size
