from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from contrail.server.routes import static

HTML = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    root = tmp_path / "dist"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_text('<html><head><base href="/" /></head></html>')
    (root / "assets" / "main-abc.js").write_text("plain")
    (root / "assets" / "main-abc.js.br").write_bytes(b"brotli")
    (root / "assets" / "main-abc.js.gz").write_bytes(b"gzip")
    (root / "icon.svg").write_text("<svg/>")
    (tmp_path / "secret").write_text("secret")
    return root


def get(dist: Path, path: str, headers: dict[str, str] | None = None, root_path: str = "") -> httpx.Response:
    """One request to the static routes; the body stays as it was sent."""

    async def ask() -> httpx.Response:
        app = Starlette(routes=static.routes(None, dist))
        transport = httpx.ASGITransport(app, root_path=root_path)
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
            client.stream("GET", path, headers=headers) as answer,
        ):
            body = b"".join([part async for part in answer.aiter_raw()])
        # Said under another name, so that httpx does not try to unpack the body.
        sent = {name: value for name, value in answer.headers.items() if name != "content-encoding"}
        sent["x-encoding"] = answer.headers.get("content-encoding", "")
        return httpx.Response(answer.status_code, headers=sent, content=body)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "path", ["/", "/runs/abc/logs", "/experiments/1", "/index.html", "/%2e%2e/secret", "/runs/a.b"]
)
def test_every_page_address_gives_the_app(dist, path):
    """A browser that opens any address of the app gets the one page, never cached, with a strict policy."""
    answer = get(dist, path, headers=HTML)
    assert (answer.status_code, answer.text) == (200, '<html><head><base href="/" /></head></html>')
    assert answer.headers["cache-control"] == "no-cache"
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_the_base_follows_the_path_prefix(dist):
    """Below a prefix the page says so in its base address."""
    answer = get(dist, "/team/contrail/runs/x", HTML, "/team/contrail")
    assert '<base href="/team/contrail/" />' in answer.text


@pytest.mark.parametrize(
    ("accepted", "body", "encoding"),
    [("br, gzip", b"brotli", "br"), ("gzip", b"gzip", "gzip"), ("identity", b"plain", None)],
)
def test_assets_come_compressed_and_stay_cached(dist, accepted, body, encoding):
    """Hashed files are sent in the form the browser takes, with the right type, and kept for a year."""
    answer = get(dist, "/assets/main-abc.js", {"accept-encoding": accepted})
    assert answer.content == body
    assert answer.headers["x-encoding"] == (encoding or "")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert get(dist, "/icon.svg").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/api/contrail/v1/nope", "/ajax-api/2.0/x", "/assets/gone.js", "/favicon.png"]
)
def test_what_is_no_page_is_a_json_404(dist, path):
    """Unknown API paths and missing files are errors, not the app."""
    answer = get(dist, path, headers={"accept": "*/*"})
    assert (answer.status_code, answer.json()["error_code"]) == (404, "ENDPOINT_NOT_FOUND")
    if path.startswith(("/api", "/ajax-api")):
        assert get(dist, path, headers=HTML).status_code == 404


def test_pages_that_are_not_built_say_how(tmp_path):
    """A server from a source tree without built pages tells which command builds them."""
    assert "make web" in get(tmp_path / "nothing", "/", HTML).text
