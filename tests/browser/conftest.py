"""A real Chromium looking at a live server; screenshots are kept in `$CONTRAIL_OUT` (default: out/)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

OUT = Path(os.environ.get("CONTRAIL_OUT", Path(__file__).resolve().parents[2] / "out")) / "screenshots"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; `make browser` installs it. Ends with the module: its event loop would disturb others."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "the browser tests need Chromium: run `make browser`"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh English page; a test fails when the page logs an error or breaks its content security policy."""
    context = browser.new_context(viewport={"width": 1360, "height": 860}, locale="en-US")
    context.set_default_timeout(20_000)
    page = context.new_page()
    problems: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            problems.append(message.text)

    page.on("console", on_console)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert not problems, problems


@pytest.fixture
def shot(page: Page) -> Callable[[str], None]:
    """`shot("run-metrics")` keeps a picture of the page."""
    OUT.mkdir(parents=True, exist_ok=True)

    def take(name: str) -> None:
        page.screenshot(path=OUT / f"{name}.png")

    return take
