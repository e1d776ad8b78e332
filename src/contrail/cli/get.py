"""`contrail get`: one job run."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from contrail.cli import text
from contrail.cli.output import BOLD, RED, paint
from contrail.cli.session import HELP_NAMES, JOB_RUN_ID, Session, job_run, job_url, run_url, shared_options
from contrail.client.http import Client

FAILED = frozenset({"FAILED", "TIMEDOUT", "INTERNAL_ERROR"})


@click.command("get", context_settings=HELP_NAMES)
@click.argument("job_run_id", type=JOB_RUN_ID)
@shared_options
def command(session: Session, job_run_id: int) -> int:
    """Show one job run: its workload, its state, its attempts and its links."""
    with session.connect() as client:
        detail = job_run(client, job_run_id)
        if session.output.as_json:
            session.output.data(as_json(detail, client))
            return 0
        for line in text.box("Configuration", detail["workload_yaml"].rstrip().expandtabs(4).splitlines()):
            session.output.text(line)
        for line in text.box("Metadata", _metadata(detail)):
            session.output.text(line)
        if detail["status"] in FAILED:
            session.output.text(f"Failure reason: {detail['message'] or 'not known'}", RED)
        elif detail["status"] == "CANCELED" and detail["message"]:
            session.output.text(f"Reason: {detail['message']}")
        elif detail["result"] is None and detail["message"]:
            session.output.text(f"Now: {detail['message']}")
        session.output.text(f"Run URL: {job_url(client, job_run_id)}")
        url = run_url(client, detail["run_id"])
        session.output.text(f"MLflow URL: {url or 'N/A'}")
    return 0


def as_json(detail: dict[str, Any], client: Client) -> dict[str, Any]:
    """A job run in the words of the JSON output."""
    now_ms = int(time.time() * 1000)
    attempts = detail["attempts"]
    latest = attempts[-1] if attempts else None
    run_page = run_url(client, detail["run_id"])
    data = {
        "run_id": str(detail["job_run_id"]),
        "status": detail["status"],
        "started_at": text.iso_time(detail["started_ms"]),
        "duration_seconds": latest and text.duration_s(latest["started_ms"], latest["ended_ms"], now_ms),
        "attempt_number": detail["attempt_number"],
        "experiment_name": detail["experiment_name"],
        "dashboard_url": job_url(client, detail["job_run_id"]),
        "mlflow_url": run_page and f"{run_page}/logs",
        "submitted_at": text.iso_time(detail["created_ms"]),
        "ended_at": text.iso_time(detail["ended_ms"]),
        "user": detail["user"],
        "max_retries": detail["max_retries"],
        "experiment_id": detail["experiment_id"],
        "mlflow_run_id": detail["run_id"],
        "accelerator_type": detail["accelerator_type"],
        "num_accelerators": detail["num_accelerators"],
        "message": detail["message"],
        "attempts": [_attempt(attempt, now_ms) for attempt in attempts],
        "config": detail["workload_yaml"],
    }
    if detail["status"] in FAILED:
        data["termination_reason"] = detail["message"]
    return data


def _attempt(attempt: dict[str, Any], now_ms: int) -> dict[str, Any]:
    return {
        "attempt_number": attempt["number"],
        "status": attempt["result"] or attempt["state"],
        "mlflow_run_id": attempt["run_id"],
        "started_at": text.iso_time(attempt["started_ms"]),
        "duration_seconds": text.duration_s(attempt["started_ms"], attempt["ended_ms"], now_ms),
        "cause": attempt["cause"],
        "exit_code": attempt["exit_code"],
        "signal": attempt["signal"],
        "failed_node": attempt["failed_node"],
        "message": attempt["message"],
    }


def _metadata(detail: dict[str, Any]) -> list[str]:
    attempts = detail["attempts"]
    latest = attempts[-1] if attempts else None
    seconds = latest and text.duration_s(latest["started_ms"], latest["ended_ms"], int(time.time() * 1000))
    retries = detail["max_retries"]
    workload = detail["workload"]
    rows = [
        ("Run ID", str(detail["job_run_id"])),
        ("Status", detail["status"]),
        ("Submitted", text.minute(detail["created_ms"])),
        ("Retries", str(detail["attempt_number"])),
        ("Max Retries", "unlimited" if retries < 0 else str(retries)),
        ("Duration", text.duration(seconds) if seconds is not None else "N/A"),
        ("Experiment", detail["experiment_name"]),
        ("MLflow Run", (latest and latest["run_name"]) or _short(detail["run_id"])),
        ("User", detail["user"]),
        ("Accelerators", text.accelerators(detail["accelerator_type"], detail["num_accelerators"])),
        ("Environment", workload.get("environment_version") or "N/A"),
    ]
    label = max(len(name) for name, _ in rows)
    lines = [f"{name:<{label}}  {value}" for name, value in rows]
    if len(attempts) > 1:
        lines += ["", *_attempt_lines(attempts)]
    return lines


def _attempt_lines(attempts: list[dict[str, Any]]) -> list[str]:
    return [
        f"Attempt {attempt['number'] + 1}  {attempt['result'] or attempt['state']}"
        + (f": {attempt['message']}" if attempt["message"] else "")
        for attempt in attempts
    ]


def _short(run_id: str | None) -> str:
    return f"…{run_id[-8:]}" if run_id else "N/A"


def status_line(detail: dict[str, Any]) -> str:
    """`SUCCESS`, or how it failed, in the colour of the status."""
    status = detail["status"]
    words = status if status == "SUCCESS" or not detail["message"] else f"{status}: {detail['message']}"
    return paint(words, BOLD + text.status_colour(status), sys.stdout)
