"""Write frontend/src/api/schema.d.ts from the OpenAPI document; `--check` only compares.

Only the part of JSON Schema that our messages use is understood; anything else is an error, not a guess.
(The usual generator needs TypeScript's old compiler API, which the pages' TypeScript 7 no longer has.)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from generate_openapi import document

TARGET = Path(__file__).resolve().parent.parent / "frontend" / "src" / "api" / "schema.d.ts"
HEAD = "// Written by tools/generate_types.py from the server's messages. Do not edit.\n\n"
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def module() -> str:
    """All messages as TypeScript interfaces, in order of name."""
    openapi = document()
    bodies = _names_in_bodies(openapi)
    schemas = sorted(openapi["components"]["schemas"].items())
    return HEAD + "\n".join(_interface(name, schema, asked=name in bodies) for name, schema in schemas)


def _names_in_bodies(openapi: dict[str, Any]) -> set[str]:
    """Messages that clients send: there, a field with a default may be left out."""
    schemas = openapi["components"]["schemas"]
    found: set[str] = set()
    waiting = [
        operation["requestBody"]
        for operations in openapi["paths"].values()
        for operation in operations.values()
        if "requestBody" in operation
    ]
    while waiting:
        for name in _references(waiting.pop()) - found:
            found.add(name)
            waiting.append(schemas[name])
    return found


def _references(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*(_references(part) for part in node))
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"].rsplit("/", 1)[1]} if "$ref" in node else set()
    return own.union(*(_references(part) for part in node.values()))


def _interface(name: str, schema: dict[str, Any], *, asked: bool) -> str:
    required = set(schema.get("required", []))
    lines = [
        f"  {key}{'?' if asked and key not in required else ''}: {_type(value)};"
        for key, value in schema["properties"].items()
    ]
    return f"export interface {name} {{\n" + "\n".join(lines) + "\n}\n"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(part) for part in schema["anyOf"]))
    if "prefixItems" in schema:
        return f"[{', '.join(_type(part) for part in schema['prefixItems'])}]"
    if "type" not in schema:
        return "unknown"
    match schema["type"]:
        case "array":
            return _array(_type(schema.get("items", {})))
        case "object":
            return f"Record<string, {_type(schema.get('additionalProperties', {}))}>"
        case plain:
            return _PLAIN[plain]


def _array(item: str) -> str:
    return f"({item})[]" if "|" in item else f"{item}[]"


def main() -> None:
    """Write or compare."""
    text = module()
    if "--check" in sys.argv:
        if not TARGET.exists() or TARGET.read_text() != text:
            sys.exit(f"{TARGET.name} is stale: run `make docs`")
        return
    TARGET.write_text(text)


if __name__ == "__main__":
    main()
