"""What node agents talk to. Every request carries the token of its attempt. Messages are in `wire.jobs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contrail.access import tokens
from contrail.jobs.agents import LogGap
from contrail.model.errors import RequestTooLarge, ResourceDoesNotExist
from contrail.server.errors import JSON
from contrail.server.routes.jobs import answer, decode, whole_number
from contrail.wire.jobs import Heartbeat, RelayBatch

if TYPE_CHECKING:
    from contrail.server.services import Services

BASE = "/api/contrail/v1/agent/attempts/{attempt_id}/nodes/{node}"
LOGS_MAX_BYTES = 4 * 1024 * 1024


def routes(services: Services) -> list[Route]:
    """All routes for agents."""
    agents = services.jobs.agents

    async def node_of(request: Request) -> tuple[int, int]:
        """Attempt and node of a request whose token belongs to them."""
        attempt_id, node = _number(request, "attempt_id"), _number(request, "node")
        token = tokens.bearer(request.headers.get("authorization"))
        await run_in_threadpool(agents.authorize, attempt_id, token)
        return attempt_id, node

    async def heartbeat(request: Request) -> Response:
        attempt_id, node = await node_of(request)
        message = decode(Heartbeat, await request.body())
        return await answer(lambda: agents.heartbeat(attempt_id, node, message))

    async def relay(request: Request) -> Response:
        attempt_id, node = await node_of(request)
        message = decode(RelayBatch, await request.body())
        return await answer(lambda: agents.relay(attempt_id, node, message.items))

    async def logs(request: Request) -> Response:
        attempt_id, node = await node_of(request)
        offset = whole_number(request.query_params.get("offset", ""), "offset")
        records = await _body(request)
        try:
            return await answer(lambda: agents.append_logs(attempt_id, node, offset, records))
        except LogGap as gap:
            content = {"error_code": gap.code, "message": gap.message, "next_offset": gap.next_offset}
            return Response(msgspec.json.encode(content), gap.http_status, media_type=JSON)

    return [
        Route(f"{BASE}/heartbeat", heartbeat, methods=["POST"]),
        Route(f"{BASE}/relay", relay, methods=["POST"]),
        Route(f"{BASE}/logs", logs, methods=["POST"]),
    ]


def _number(request: Request, name: str) -> int:
    text = request.path_params[name]
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ResourceDoesNotExist(f"{name}: '{text[:50]}' is not a number")
    return int(text)


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LOGS_MAX_BYTES:
            raise RequestTooLarge(f"More than {LOGS_MAX_BYTES} bytes of log records in one request")
        parts.append(part)
    return b"".join(parts)
