"""Background work after a start never touches what is fresh."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORKLOAD = """
experiment_name: kept
compute: {accelerator_type: CPU, num_accelerators: 1}
command: echo the one line
max_retries: 0
"""


def test_logs_of_a_finished_job_are_there_after_a_restart(
    server: Any, make_cli: Callable[[str], Any], tmp_path: Path
) -> None:
    """Retention removes what is 60 days old, not what ended a moment ago."""
    workload = tmp_path / "train.yaml"
    workload.write_text(WORKLOAD)
    cli = make_cli(server.url)
    done = cli("run", "-f", str(workload), "--watch", "-o", "json")
    job_run_id = done.events[-1]["data"]["run_id"]
    server.restart()
    path = f"/api/contrail/v1/job-runs/{job_run_id}"
    cli("run", "-f", str(workload), "--watch", "-o", "json")  # the supervisor has been round by now
    page = json.loads(server.get(f"{path}/logs"))
    assert [line["text"] for line in page["lines"]] == ["the one line"]
    assert json.loads(server.get(path))["logs_removed_ms"] is None
