"""Write docs/reference/openapi.json from the endpoint table; `--check` only compares.

The pages' TypeScript types are made from it: npx openapi-typescript (see frontend/package.json, script `types`).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

import contrail
from contrail.server.catalog import ENDPOINTS, Endpoint

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference" / "openapi.json"


def document() -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    types = [t for e in ENDPOINTS for t in (e.body, e.answer) if isinstance(t, type)]
    unique = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(unique, ref_template="#/components/schemas/{name}")
    references = dict(zip(unique, schemas, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.full_path, {})[endpoint.method.lower()] = _operation(endpoint, references)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Contrail", "version": contrail.__version__},
        "paths": paths,
        "components": {"schemas": {**components, "Error": _ERROR}},
    }


_ERROR = {
    "type": "object",
    "required": ["error_code", "message"],
    "properties": {"error_code": {"type": "string"}, "message": {"type": "string"}},
}


def _operation(endpoint: Endpoint, references: dict[type, Any]) -> dict[str, Any]:
    in_path = re.findall(r"{(\w+)}", endpoint.path)
    parameters = [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in in_path]
    parameters += [{"name": n, "in": "query", "schema": {"type": "string"}} for n in endpoint.query]
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "tags": [endpoint.audience],
        "parameters": parameters,
        "responses": {
            "200": {"description": "OK", **_content(endpoint.answer, references)},
            "default": {
                "description": "What went wrong",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if endpoint.body is not None:
        operation["requestBody"] = {"required": True, **_content(endpoint.body, references)}
    return operation


def _content(kind: Any, references: dict[type, Any]) -> dict[str, Any]:
    if kind is None:
        return {}
    if isinstance(kind, str):
        return {"content": {kind: {}}}
    return {"content": {"application/json": {"schema": references[kind]}}}


def main() -> None:
    """Write or compare."""
    text = json.dumps(document(), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv:
        if not TARGET.exists() or TARGET.read_text() != text:
            sys.exit(f"{TARGET.name} is stale: run `make docs`")
        return
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text)


if __name__ == "__main__":
    main()
