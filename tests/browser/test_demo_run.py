"""The demo run as a person sees it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.xdist_group("demo"),
]
Shot = Callable[[str], None]

# Ink on a canvas: pixels that are neither clear nor grey (grid lines and text are grey).
COLOURED = """canvas => {
  const { width, height } = canvas;
  const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
  let ink = 0;
  for (let i = 0; i < data.length; i += 4) {
    const spread = Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]);
    if (data[i + 3] > 200 && spread > 60) ink += 1;
  }
  return ink;
}"""


def test_the_curve_is_drawn(demo: Any, page: Page, shot: Shot) -> None:
    """The Metrics tab draws every curve that the script logged."""
    page.goto(f"{demo.server.url}/runs/{demo.run_id}/metrics")
    for key in ("train_loss", "val_loss", "train_accuracy", "val_accuracy"):
        expect(page.get_by_text(key, exact=True).first).to_be_visible()
    canvas = page.locator("canvas").first
    expect(canvas).to_be_visible()
    page.wait_for_function(f"() => ({COLOURED})(document.querySelector('canvas')) > 100")
    shot("run-metrics")


def test_overview_shows_params_and_metrics(demo: Any, page: Page, shot: Shot) -> None:
    """Params and the metric table are on the first page of a run, in words."""
    page.goto(f"{demo.server.url}/runs/{demo.run_id}")
    expect(page.get_by_role("heading", name="mlp-64")).to_be_visible()
    expect(page.get_by_text("hidden_units")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("val_loss"))).to_be_visible()
    shot("run-overview")


def test_system_metrics_are_drawn(demo: Any, page: Page, shot: Shot) -> None:
    """CPU and memory have charts although the script did nothing for it."""
    page.goto(f"{demo.server.url}/runs/{demo.run_id}/system")
    expect(page.get_by_text(re.compile("cpu", re.IGNORECASE)).first).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()
    shot("run-system")


def test_logs_are_searched(demo: Any, page: Page, shot: Shot) -> None:
    """Searching shows only the lines that match."""
    page.goto(f"{demo.server.url}/runs/{demo.run_id}/logs")
    expect(page.get_by_text(f"epoch {demo.epochs}/{demo.epochs} loss")).to_be_visible()
    shot("run-logs")
    page.get_by_placeholder("Search lines").fill("epoch 3/")
    expect(page.get_by_text(f"epoch {demo.epochs}/{demo.epochs} loss")).to_have_count(0)
    expect(page.get_by_text(f"epoch 3/{demo.epochs} loss")).to_be_visible()
    shot("run-logs-search")


def test_the_picture_opens(demo: Any, page: Page, shot: Shot) -> None:
    """The confusion matrix is shown in the Artifacts tab."""
    page.goto(f"{demo.server.url}/runs/{demo.run_id}/artifacts")
    page.get_by_role("link", name="plots").or_(page.get_by_role("button", name="plots")).first.click()
    page.get_by_role("link", name="confusion_matrix.png").click()
    picture = page.locator("img").last
    expect(picture).to_be_visible()
    page.wait_for_function("() => [...document.images].some(image => image.naturalWidth >= 400)")
    shot("run-artifact")


def test_mlflow_links_open_the_run(demo: Any, page: Page) -> None:
    """The hash links that MLflow clients print lead to the run."""
    experiment = demo.job["experiment_id"]
    page.goto(f"{demo.server.url}/#/experiments/{experiment}/runs/{demo.run_id}")
    page.wait_for_url(re.compile(f"/runs/{demo.run_id}"))
    expect(page.get_by_role("heading", name="mlp-64")).to_be_visible()


def test_job_page_shows_the_attempt_and_the_yaml(demo: Any, page: Page, shot: Shot) -> None:
    """A job run shows how it ended, and what was submitted."""
    page.goto(f"{demo.server.url}/jobs/{demo.job_run_id}")
    expect(page.get_by_text("Succeeded").first).to_be_visible()
    shot("job")
    page.get_by_role("link", name="YAML").or_(page.get_by_role("tab", name="YAML")).click()
    expect(page.get_by_text("experiment_name: digits")).to_be_visible()


def test_runs_table_filters_on_the_server(demo: Any, page: Page, shot: Shot) -> None:
    """The runs table shows the run, and a filter that it does not match hides it."""
    page.goto(f"{demo.server.url}/experiments/{demo.job['experiment_id']}")
    expect(page.get_by_text("mlp-64").first).to_be_visible()
    shot("experiment-runs")
    page.get_by_role("textbox").first.fill("metrics.val_loss > 1000")
    page.keyboard.press("Enter")
    expect(page.get_by_text("mlp-64")).to_have_count(0)


def test_pages_speak_korean_and_turn_dark(demo: Any, browser: Any, shot: Shot) -> None:
    """A Korean browser in dark mode gets Korean, dark pages."""
    context = browser.new_context(
        locale="ko-KR", color_scheme="dark", viewport={"width": 1360, "height": 860}
    )
    page = context.new_page()
    page.goto(f"{demo.server.url}/runs/{demo.run_id}/metrics")
    expect(page.get_by_text(re.compile("[가-힣]")).first).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()
    dark = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert max(dark) < 60, dark
    page.screenshot(path=_out() / "run-metrics-ko-dark.png")
    context.close()


def _out() -> Any:
    import os
    from pathlib import Path

    folder = Path(os.environ.get("CONTRAIL_OUT", Path(__file__).resolve().parents[2] / "out")) / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
