"""Imports go one way: from higher layers to lower ones."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import contrail

PACKAGE = Path(contrail.__file__).parent
BASE = {"model": set(), "wire": {"model"}, "workloads": {"model"}, "client": {"model", "wire"}}
GROUND = {"model", "wire", "workloads", "client"}
ALLOWED: dict[str, set[str]] = {
    **BASE,
    "series": {"model"},
    "blobs": {"model", "wire"},
    "store": {"model", "series"},
    "logs": {"model", "wire", "store", "blobs", "series"},
    "access": {"model", "wire", "store"},
    "tracking": {"model", "wire", "store", "series", "blobs", "access"},
    "engines": {"model"},
    "jobs": {"model", "wire", "workloads", "store", "logs", "blobs", "tracking", "engines", "access"},
    "server": {*GROUND, "series", "blobs", "store", "logs", "access", "tracking", "engines", "jobs"},
    "agent": GROUND,
    "sdk": GROUND,
    # The command line starts the server in its own process for `contrail server`; it reads nothing else of it.
    "cli": {*GROUND, "server"},
}
# Who may know a library that shapes a layer.
LIBRARIES = {
    "sqlalchemy": {"store"},
    "alembic": {"store"},
    "starlette": {"server"},
    "uvicorn": {"server"},
    "obstore": {"blobs"},
    "click": {"cli"},
    "mlflow": {"sdk"},
}


def _modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            names.add(node.module or "")
            if node.module == "contrail":
                names.update(f"contrail.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_its_own_layer_and_lower_ones(path: Path) -> None:
    """No arrow runs back up."""
    layer = path.relative_to(PACKAGE).parts[0]
    for name in _imports(path):
        parts = name.split(".")
        if parts[0] == "contrail" and len(parts) > 1 and parts[1] not in {"__version__", layer}:
            assert parts[1] in ALLOWED[layer], f"{layer} must not import {name}"
        if parts[0] in LIBRARIES:
            assert layer in LIBRARIES[parts[0]], f"{layer} must not know {parts[0]}"


def test_every_package_has_a_place_in_the_layers() -> None:
    """A new package is put into the table on purpose."""
    found = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert found <= set(ALLOWED)


def test_model_needs_only_the_standard_library() -> None:
    """`model` runs everywhere, so it brings nothing along."""
    for path in (PACKAGE / "model").glob("*.py"):
        for name in _imports(path):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or name.startswith("contrail.model"), f"{path.name}: {name}"


def test_importing_contrail_is_quick_and_light() -> None:
    """`import contrail` loads none of the heavy libraries."""
    heavy = "{'mlflow','torch','sqlalchemy','numpy','httpx','starlette'}"
    code = f"import sys, contrail; print(sorted({heavy} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
