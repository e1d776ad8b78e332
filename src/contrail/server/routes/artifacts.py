"""Artifacts over HTTP: MLflow's proxy, listing and upload routes, and previews for the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contrail.blobs import previews
from contrail.blobs.area import Area, BlobInfo
from contrail.model.errors import InvalidParameterValue, NotImplementedHere
from contrail.server.errors import JSON
from contrail.server.routes import files
from contrail.server.routes.headers import BINARY, attachment, inline, media_type

if TYPE_CHECKING:
    from contrail.server.services import Services

API = "/api/contrail/v1"
PROXY = "/mlflow-artifacts/artifacts"
UPLOAD_MAX_BYTES = 10 * 1024 * 1024  # of the pages' upload route, as in MLflow

_NOTHING = b"{}"
_PDF_POLICY = (
    "script-src 'none'; frame-ancestors 'self'"  # the browser's own viewer does not work in a sandbox
)
_INLINE = ("image/", "audio/", "video/", "text/", "application/json", "application/pdf")
_AS_TEXT = ("text/javascript", "application/json", "text/xml")


class File(msgspec.Struct, omit_defaults=True):
    """One entry of a listing; a folder has no size."""

    path: str
    is_dir: bool
    file_size: int | None = None


def routes(services: Services) -> list[Route]:
    """All artifact routes."""
    handlers = _Handlers(services)
    found = [
        Route("/get-artifact", handlers.get_of_run),
        Route(f"{API}/artifacts/raw", handlers.raw),
        Route(f"{API}/artifacts/text", handlers.text),
        Route(f"{API}/artifacts/table", handlers.table),
    ]
    for prefix in ("/api/2.0", "/ajax-api/2.0"):
        found += [
            Route(f"{prefix}/mlflow/artifacts/list", handlers.list_of_run),
            Route(f"{prefix}/mlflow/logged-models/search", _no_models, methods=["POST"]),
            Route(f"{prefix}/mlflow/get-artifact", handlers.get_of_run),
            Route(f"{prefix}/mlflow/upload-artifact", handlers.upload, methods=["POST"]),
            Route(f"{prefix}{PROXY}", handlers.list),
            Route(f"{prefix}{PROXY}/{{path:path}}", handlers.get),
            Route(f"{prefix}{PROXY}/{{path:path}}", handlers.put, methods=["PUT"]),
            Route(f"{prefix}{PROXY}/{{path:path}}", handlers.delete, methods=["DELETE"]),
            Route(f"{prefix}/mlflow-artifacts/mpu/{{path:path}}", _no_multipart, methods=["POST", "GET"]),
            Route(
                f"{prefix}/mlflow-artifacts/presigned/{{path:path}}", _no_multipart, methods=["POST", "GET"]
            ),
        ]
    return found


async def _no_multipart(_request: Request) -> Response:
    raise NotImplementedHere("This server takes and gives artifacts in one request each; use PUT and GET")


async def _no_models(_request: Request) -> Response:
    # Clients ask for logged models whenever they list a folder of a run; none can have been created yet.
    return Response(_NOTHING, media_type=JSON)


class _Handlers:
    def __init__(self, services: Services):
        self._blobs = services.blobs
        self._runs = services.tracking.runs
        self._settings = services.settings

    # ------------------------------------------------------------ MLflow's proxy

    async def get(self, request: Request) -> Response:
        area, path = self._blobs.place(files.path_after(request, f"{PROXY}/"))
        return await files.send(request, area, path)

    async def put(self, request: Request) -> Response:
        area, path = self._blobs.place(files.path_after(request, f"{PROXY}/"))
        await files.receive(request, area, path)
        return Response(_NOTHING, media_type=JSON)

    async def delete(self, request: Request) -> Response:
        area, path = self._blobs.place(files.path_after(request, f"{PROXY}/"))
        await run_in_threadpool(area.delete, path)
        return Response(_NOTHING, media_type=JSON)

    async def list(self, request: Request) -> Response:
        area, path = self._blobs.place(request.query_params.get("path", ""))
        return await run_in_threadpool(lambda: _listing(area.list(path), ""))

    # ------------------------------------------------------------ by run

    async def get_of_run(self, request: Request) -> Response:
        area, path = await self._of_run(request, required=True)
        return await files.send(request, area, path)

    async def list_of_run(self, request: Request) -> Response:
        below = request.query_params.get("path", "").rstrip("/")

        def read() -> Response:
            uri = self._artifact_uri(request)
            area, path = self._blobs.place_in(uri, below)
            return _listing(area.list(path), f"{below}/" if below else "", uri)

        return await run_in_threadpool(read)

    async def upload(self, request: Request) -> Response:
        area, path = await self._of_run(request, required=True)
        if request.headers.get("content-length") == "0":
            raise InvalidParameterValue("Request must specify data.")
        await files.receive(request, area, path, bytes_max=UPLOAD_MAX_BYTES)
        return Response(_NOTHING, media_type=JSON)

    def _artifact_uri(self, request: Request) -> str:
        run_id = request.query_params.get("run_id") or request.query_params.get("run_uuid")
        if not run_id:
            raise InvalidParameterValue("Missing value for required parameter 'run_id'.")
        return self._runs.get(run_id).info.artifact_uri

    async def _of_run(self, request: Request, *, required: bool) -> tuple[Area, str]:
        """The place that `run_id` and `path` of the query mean."""
        path = request.query_params.get("path", "")
        if required and not path:
            raise InvalidParameterValue("Missing value for required parameter 'path'.")
        uri = await run_in_threadpool(self._artifact_uri, request)
        return self._blobs.place_in(uri, path)

    # ------------------------------------------------------------ previews

    async def raw(self, request: Request) -> Response:
        """The file for showing inside a page: pictures, sound, PDF and sandboxed HTML; anything else is saved."""
        area, path = await self._of_run(request, required=True)
        name = path.rsplit("/", 1)[-1]
        kind = media_type(name)
        if not kind.startswith(_INLINE):
            return await files.send(request, area, path, disposition=attachment(name), content_type=BINARY)
        if kind.startswith(_AS_TEXT):
            kind = "text/plain; charset=utf-8"
        policy = _PDF_POLICY if kind == "application/pdf" else files.SANDBOX
        return await files.send(
            request, area, path, disposition=inline(name), content_type=kind, policy=policy
        )

    async def text(self, request: Request) -> Response:
        """A part of a text file; the headers say where the next part begins and how long the whole is."""
        area, path = await self._of_run(request, required=True)
        offset = _whole(request, "offset", 0)
        limit = min(
            _whole(request, "limit", self._settings.preview_bytes_max), self._settings.preview_bytes_max
        )
        part = await run_in_threadpool(previews.text, area, path, offset, limit)
        headers = {
            "x-total-bytes": str(part.total_bytes),
            "x-next-offset": "" if part.next_offset is None else str(part.next_offset),
            "x-content-type-options": "nosniff",
            "content-security-policy": files.SANDBOX,
        }
        return Response(part.data, headers=headers, media_type="text/plain; charset=utf-8")

    async def table(self, request: Request) -> Response:
        area, path = await self._of_run(request, required=True)
        rows = min(_whole(request, "limit", self._settings.preview_rows_max), self._settings.preview_rows_max)
        preview = await run_in_threadpool(previews.table, area, path, rows)
        return Response(msgspec.json.encode(preview), media_type=JSON)


class _Listing(msgspec.Struct, omit_defaults=True):
    root_uri: str = ""
    files: list[File] = []


def _listing(found: list[BlobInfo], prefix: str, root_uri: str = "") -> Response:
    files_ = [File(prefix + one.name, one.is_dir, None if one.is_dir else one.size) for one in found]
    return Response(msgspec.json.encode(_Listing(root_uri, files_)), media_type=JSON)


def _whole(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise InvalidParameterValue(f"{name}: '{text[:100]}' is not a whole number")
    return int(text)
