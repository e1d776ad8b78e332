"""Job runs, workload checks and code archives over HTTP. Messages are in `wire.jobs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from contrail.access.identity import single_user
from contrail.model.errors import InvalidParameterValue, ResourceDoesNotExist
from contrail.server.errors import JSON
from contrail.store.jobs import JobRunFilter
from contrail.wire.jobs import Submit, Validate

if TYPE_CHECKING:
    from contrail.server.services import Services

API = "/api/contrail/v1"
LIST_DEFAULT = 20
STATES = ("active", "all")
GZIP = "application/gzip"
T = TypeVar("T")


def routes(services: Services) -> list[Route]:
    """All routes on job runs, workloads and code."""
    jobs = services.jobs

    async def submit(request: Request) -> Response:
        message = decode(Submit, await request.body())
        return await answer(lambda: jobs.submit(message))

    async def validate(request: Request) -> Response:
        message = decode(Validate, await request.body())
        return await answer(lambda: jobs.validate(message))

    async def list_job_runs(request: Request) -> Response:
        wanted, limit, token = _filter(request), _limit(request), request.query_params.get("page_token")
        return await answer(lambda: jobs.list(wanted, limit=limit, page_token=token))

    async def get(request: Request) -> Response:
        job_run_id = _job_run_id(request)
        return await answer(lambda: jobs.get(job_run_id))

    async def cancel(request: Request) -> Response:
        job_run_id, by = _job_run_id(request), single_user().user
        return await answer(lambda: jobs.cancel(job_run_id, by))

    async def code(request: Request) -> Response:
        archive = await run_in_threadpool(lambda: jobs.code.find(request.path_params["digest"]))
        headers = {"content-length": str(archive.bytes), "etag": f'"{archive.digest}"'}
        if request.method == "HEAD":
            return Response(None, headers=headers, media_type=GZIP)
        parts = await run_in_threadpool(lambda: jobs.code.read(archive))
        return StreamingResponse(parts, headers=headers, media_type=GZIP)

    async def put_code(request: Request) -> Response:
        digest, name = request.path_params["digest"], request.query_params.get("name", "")
        with await run_in_threadpool(lambda: jobs.code.receive(digest, name)) as incoming:
            async for part in request.stream():
                if part:
                    await run_in_threadpool(incoming.write, part)
            return await answer(incoming.finish)

    return [
        Route(f"{API}/job-runs", submit, methods=["POST"]),
        Route(f"{API}/job-runs", list_job_runs, methods=["GET"]),
        Route(f"{API}/job-runs/{{job_run_id}}", get, methods=["GET"]),
        Route(f"{API}/job-runs/{{job_run_id}}/cancel", cancel, methods=["POST"]),
        Route(f"{API}/workloads/validate", validate, methods=["POST"]),
        Route(f"{API}/code/{{digest}}", code, methods=["GET"]),
        Route(f"{API}/code/{{digest}}", put_code, methods=["PUT"]),
    ]


async def answer(work: Callable[[], Any]) -> Response:
    """The message that `work` returns; it runs in a thread, together with its encoding."""
    return Response(await run_in_threadpool(lambda: msgspec.json.encode(work())), media_type=JSON)


def decode(kind: type[T], body: bytes) -> T:
    """A body as a message. Raises `InvalidParameterValue` that names the field."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidParameterValue(f"The request body is not a {kind.__name__} message: {error}") from None
    except RecursionError:
        raise InvalidParameterValue("The request body is nested too deeply") from None


def whole_number(text: str, field: str, lowest: int = 0) -> int:
    """A number from a path or a query. Raises `InvalidParameterValue` that names the field."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) >= lowest):
        raise InvalidParameterValue(f"{field}: '{text[:50]}' is not a whole number of at least {lowest}")
    return int(text)


def _job_run_id(request: Request) -> int:
    text = request.path_params["job_run_id"]
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ResourceDoesNotExist(f"job_run_id: '{text[:50]}' is not the number of a job run")
    return int(text)


def _limit(request: Request) -> int:
    text = request.query_params.get("limit")
    return LIST_DEFAULT if text is None else whole_number(text, "limit", 1)


def _filter(request: Request) -> JobRunFilter:
    asked = request.query_params
    state = asked.get("state", "all")
    if state not in STATES:
        raise InvalidParameterValue(f"state: '{state[:50]}' is not one of {', '.join(STATES)}")
    accelerators = asked.get("num_accelerators")
    return JobRunFilter(
        active=state == "active",
        user=asked.get("user"),
        experiment=asked.get("experiment"),
        accelerator_type=asked.get("accelerator_type"),
        num_accelerators=None if accelerators is None else whole_number(accelerators, "num_accelerators", 1),
    )
