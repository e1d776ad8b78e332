"""The pages' own API: runs table, charts, summaries, experiments list. Messages are in `wire.ui`."""

from __future__ import annotations

import getpass
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from contrail import __version__
from contrail.model.errors import InvalidParameterValue
from contrail.server.errors import JSON
from contrail.server.rpc import parse_query
from contrail.wire import ui

if TYPE_CHECKING:
    from contrail.server.services import Services

API = "/api/contrail/v1"
T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


def routes(services: Services) -> list[Route]:
    """All routes of the pages' API."""
    pages = services.tracking.pages

    async def info(_request: Request) -> Response:
        return await _json(lambda: _info(services))

    async def query_runs(request: Request) -> Response:
        query = decode(ui.RunsQuery, await request.body())
        return await _json(lambda: pages.runs(query))

    async def export(request: Request) -> Response:
        asked = _Query(request)
        parts = pages.export_csv(decode(ui.RunsQuery, asked.text("q").encode()))
        headers = {"content-disposition": 'attachment; filename="runs.csv"'}
        return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)

    async def run(request: Request) -> Response:
        run_id = request.path_params["run_id"]
        return await _json(lambda: pages.run(run_id))

    async def columns(request: Request) -> Response:
        experiments = _Query(request).texts("experiment_id")
        return await _json(lambda: pages.columns(experiments))

    async def series(request: Request) -> Response:
        query = decode(ui.SeriesQuery, await request.body())
        return await _json(lambda: pages.series(query))

    async def experiments(request: Request) -> Response:
        asked = _Query(request)
        q, view, token = asked.text("q"), asked.text("view", "active"), asked.text("page_token")
        limit = asked.whole("limit", 50)
        return await _json(lambda: pages.experiments(q, view, limit, token))

    return [
        Route(f"{API}/info", info),
        Route(f"{API}/runs/query", query_runs, methods=["POST"]),
        Route(f"{API}/runs/export.csv", export),
        Route(f"{API}/runs/{{run_id}}", run),
        Route(f"{API}/columns", columns),
        Route(f"{API}/series", series, methods=["POST"]),
        Route(f"{API}/experiments", experiments),
    ]


async def _json(read: Callable[[], Any]) -> Response:
    """The answer of a read, which runs in a thread together with its encoding."""
    return Response(await run_in_threadpool(lambda: msgspec.json.encode(read())), media_type=JSON)


def decode(kind: type[T], body: bytes) -> T:
    """A body as a message of our own API. Raises `InvalidParameterValue` that names the field."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise InvalidParameterValue(f"The request body is not a {kind.__name__}: {error}") from None
    except RecursionError:
        raise InvalidParameterValue("The request body is nested too deeply") from None


class _Query:
    """The query string of a request."""

    def __init__(self, request: Request):
        self._fields = parse_query(request.scope["query_string"])

    def texts(self, name: str) -> list[str]:
        """All values of a field."""
        return self._fields.get(name, [])

    def text(self, name: str, default: str = "") -> str:
        """The last value of a field."""
        return self._fields.get(name, [default])[-1]

    def whole(self, name: str, default: int) -> int:
        """The last value of a field as a number."""
        given = self.text(name)
        if not given:
            return default
        if not given.isdecimal() or len(given) > 9:
            raise InvalidParameterValue(f"'{name}' is '{given[:50]}', it must be a whole number")
        return int(given)


def _info(services: Services) -> ui.Info:
    return ui.Info(
        version=__version__,
        user=getpass.getuser(),
        single_user=True,
        data_dir=str(services.settings.data_path),
        store=services.database.dialect,
        engines=_engines(services),
        accelerators=_accelerators(services),
    )


def _engines(services: Services) -> list[str]:
    return sorted(services.jobs.engines)


def _accelerators(services: Services) -> list[str]:
    return services.jobs.accelerators()
