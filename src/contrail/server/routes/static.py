"""The pages: built files with long-lived caching, and `index.html` for every address inside the app."""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from contrail.server.errors import error_response, no_endpoint
from contrail.server.routes.headers import media_type

if TYPE_CHECKING:
    from contrail.server.services import Services

DIST = Path(__file__).parents[2] / "web" / "dist"
POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; object-src 'self'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)

_BASE = '<base href="/" />'
_FOREVER = "public, max-age=31536000, immutable"
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_API = ("/api/", "/ajax-api/")
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


def routes(_services: Services, dist: Path = DIST) -> list[Route]:
    """One route for every GET that nothing else answered; it must come last."""
    return [Route("/{path:path}", _answer(dist))]


def _answer(dist: Path) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        path: str = request.path_params["path"]
        if request.url.path.startswith(_API):
            return error_response(no_endpoint(request.method, request.url.path))
        file = await run_in_threadpool(_asset, dist, path)
        if file is not None:
            return _send(request, dist, file)
        accepted = request.headers.get("accept", "*/*")
        if "text/html" in accepted or ("*/*" in accepted and "." not in path.rsplit("/", 1)[-1]):
            return await run_in_threadpool(_index, dist, request.scope.get("root_path", ""))
        return error_response(no_endpoint(request.method, request.url.path))

    return answer


def _asset(dist: Path, path: str) -> Path | None:
    """The built file at a path; `index.html` is none, because it is filled in."""
    if not path or path == "index.html" or "\x00" in path or len(path) > 1024:
        return None
    file = (dist / path).resolve()
    return file if file.is_relative_to(dist.resolve()) and file.is_file() else None


def _send(request: Request, dist: Path, file: Path) -> Response:
    headers = {
        "cache-control": _FOREVER if file.is_relative_to((dist / "assets").resolve()) else "no-cache",
        "vary": "accept-encoding",
        "x-content-type-options": "nosniff",
    }
    kind = _TYPES.get(file.suffix) or media_type(file.name)
    accepted = {part.split(";")[0].strip() for part in request.headers.get("accept-encoding", "").split(",")}
    for name, ending in _ENCODINGS:
        twin = file.with_name(file.name + ending)
        if name in accepted and twin.is_file():
            return FileResponse(twin, headers={**headers, "content-encoding": name}, media_type=kind)
    return FileResponse(file, headers=headers, media_type=kind)


def _index(dist: Path, root_path: str) -> Response:
    headers = {
        "cache-control": "no-cache",
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
    }
    try:
        page = (dist / "index.html").read_text(encoding="utf-8")
    except FileNotFoundError:
        return HTMLResponse(_NOT_BUILT, headers=headers)
    base = f'<base href="{html.escape(root_path.rstrip("/"))}/" />'
    return HTMLResponse(page.replace(_BASE, base, 1), headers=headers)


_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Contrail</title>
<p>This server runs, but its pages are not built. Run <code>make web</code> and reload.</p></html>
"""
