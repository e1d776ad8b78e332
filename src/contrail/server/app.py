"""The ASGI application: hosts and origins first, then MLflow's fixed paths, then everything else."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute

from contrail.model.errors import ContrailError
from contrail.server.errors import on_contrail_error, on_http_exception, unexpected
from contrail.server.guard import guard
from contrail.server.routes import agents, artifacts, jobs, logs, mlflow, pages, static
from contrail.server.rpc import ClientGone, Receive, RpcServer, Scope, Send, send_error, too_large

if TYPE_CHECKING:
    from contrail.server.services import Services

# In this order; `static` is last because it answers every other GET with the pages.
_ROUTES = (mlflow, pages, artifacts, logs, jobs, agents, static)
_API = ("/api/", "/ajax-api/")
# Bodies of these are streamed to disk and have limits of their own.
_STREAMED = (
    "/mlflow-artifacts/",
    "/upload-artifact",
    "/api/contrail/v1/code/",
    "/api/contrail/v1/volumes/",
    "/logs",
)


class App:
    """One callable for uvicorn."""

    def __init__(self, services: Services):
        settings = services.settings
        self._body_max: int = settings.request_body_max_bytes
        self._rpc = RpcServer(
            mlflow.table(services), body_max=self._body_max, threads=settings.reader_threads
        )
        self._rest = Starlette(
            routes=_routes(services),
            exception_handlers={ContrailError: on_contrail_error, HTTPException: on_http_exception},
        )
        self._rest.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        method, path = scope["method"], scope["path"]
        rpc = self._rpc.find(method, path)
        if rpc is not None:
            await self._rpc.answer(rpc, scope, receive, send)
        elif method == "OPTIONS" and path.startswith(_API):
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._other(scope, receive, send)

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def noted(event: MutableMapping[str, Any]) -> None:
            nonlocal started
            started = started or event["type"] == "http.response.start"
            await send(event)

        limited = receive if _is_streamed(scope["path"]) else _limited(receive, self._body_max)
        try:
            await self._rest(scope, limited, noted)
        except (ClientDisconnect, ClientGone):
            return
        except ContrailError as error:
            if not started:
                await send_error(send, error)
        except Exception as error:  # the request's outermost edge
            failure = unexpected(error, f"{scope['method']} {scope['path']}")
            if not started:
                await send_error(send, failure)


def build_app(services: Services) -> Any:
    """The application for one set of services, guarded against foreign hosts and origins."""
    return guard(App(services), services.settings)


def _routes(services: Services) -> list[BaseRoute]:
    return [route for module in _ROUTES for route in module.routes(services)]


def _is_streamed(path: str) -> bool:
    return any(part in path for part in _STREAMED)


def _limited(receive: Receive, limit: int) -> Receive:
    """`receive` that stops at `limit` bytes of body."""
    size = 0

    async def receive_within() -> MutableMapping[str, Any]:
        nonlocal size
        event = await receive()
        size += len(event.get("body", b""))
        if size > limit:
            raise too_large(limit)
        return event

    return receive_within
