"""The endpoint table tells the truth about the routes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from starlette.routing import Route

from contrail.model.settings import Settings
from contrail.server import app
from contrail.server.catalog import API, ENDPOINTS
from contrail.server.services import Services


def _routes(tmp_path: Path) -> set[tuple[str, str]]:
    services = Services.open(
        Settings({"data_dir": str(tmp_path)}), server_address=lambda: "http://127.0.0.1:1"
    )
    try:
        found: list[Any] = [route for route in app._routes(services) if isinstance(route, Route)]
    finally:
        services.close()
    return {
        (method, re.sub(r"{(\w+):\w+}", r"{\1}", route.path))
        for route in found
        for method in (route.methods or set()) - {"HEAD"}
        if route.path.startswith(API) and inspect.isroutine(route.endpoint)
    }


def test_every_route_is_in_the_table_and_the_other_way_round(tmp_path: Path) -> None:
    """A route without a row, or a row without a route, is a mistake."""
    assert {(endpoint.method, endpoint.full_path) for endpoint in ENDPOINTS} == _routes(tmp_path)
