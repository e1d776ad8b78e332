"""Undocumented is unfinished, and so is what is documented wrongly."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from contrail.cli.main import COMMANDS
from contrail.model.settings import SETTINGS
from contrail.server.catalog import ENDPOINTS
from contrail.workloads import load
from contrail.workloads.help import keys

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_LINK = re.compile(r"\]\(([^)\s#]+)(#[^)]*)?\)")
_YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_reference", ROOT / "tools" / "generate_reference.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_pages_are_current(generator: ModuleType) -> None:
    """The checked-in pages are what the code declares now; `make docs` writes them again."""
    for name, text in generator.pages().items():
        assert text == (DOCS / "reference" / name).read_text(), "run `make docs`"


def test_everything_is_in_the_reference() -> None:
    """Every command, key, setting and endpoint is named on its page."""
    page = {
        name: (DOCS / "reference" / f"{name}.md").read_text()
        for name in ("cli", "workload", "settings", "http")
    }
    assert all(f"## contrail {name}\n" in page["cli"] for name in COMMANDS)
    assert all(f"`{setting.env}`" in page["settings"] for setting in SETTINGS)
    assert all(f"`{endpoint.full_path}`" in page["http"] for endpoint in ENDPOINTS)
    names = {path[-1] for path, _ in keys()}
    assert all(re.search(rf"`([a-z_.]+\.)?{name}`", page["workload"]) for name in names)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page exists."""
    for target, _ in _LINK.findall(page.read_text()):
        if "://" not in target and not target.endswith(".png"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_can_be_reached() -> None:
    """The start page leads to every page, directly or by one more step."""
    reached = {DOCS / "index.md"}
    for _ in range(3):
        reached |= {
            (page.parent / target).resolve()
            for page in list(reached)
            if page.suffix == ".md" and page.exists()
            for target, _ in _LINK.findall(page.read_text())
            if "://" not in target
        }
    assert not [page for page in PAGES if page.resolve() not in reached]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_workloads_on_pages_are_valid(page: Path) -> None:
    """A whole workload shown on a page is one that `contrail run` accepts."""
    for example in _YAML.findall(page.read_text()):
        if example.startswith("experiment_name"):
            load(example, source=page.name)
