"""`contrail list`: job runs, newest first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import click

from contrail.cli import text
from contrail.cli.session import HELP_NAMES, Session, shared_options
from contrail.client.http import API, Client
from contrail.model.errors import InvalidParameterValue
from contrail.workloads.problems import nearest

COLUMNS = ("Run ID", "Experiment", "Status", "Started", "Duration", "MLflow", "User", "Accelerators")
FILTERS = ("experiment", "accelerator_type", "num_accelerators", "user")
PAGE_MAX = 100


@click.command("list", context_settings=HELP_NAMES)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most rows to show.")
@click.option("--all-status", is_flag=True, help="Include job runs that have ended.")
@click.option("--all-users", is_flag=True, help="Include the job runs of other users.")
@click.option(
    "--filter",
    "filters",
    metavar="KEY=VALUE",
    multiple=True,
    help="Show only what matches; may be repeated. Keys: experiment (a name, * and ? allowed), "
    "accelerator_type (a part such as H100), num_accelerators (all nodes together), user.",
)
@shared_options
def command(session: Session, limit: int, all_status: bool, all_users: bool, filters: tuple[str, ...]) -> int:
    """List job runs: your active ones, unless asked for more."""
    query = _query(filters)
    query["state"] = "all" if all_status else "active"
    if not all_users:
        query.setdefault("user", session.user)
    with session.connect() as client:
        rows = list(job_runs(client, query, limit))
    if session.output.as_json:
        session.output.data({"runs": [_as_json(row) for row in rows]})
        return 0
    if not rows:
        hint = "" if all_status else " Ended ones are shown with --all-status."
        session.output.text(f"No runs found.{hint}")
        return 0
    for line in text.table(COLUMNS, [_as_row(row) for row in rows]):
        session.output.text(line)
    return 0


def job_runs(client: Client, query: dict[str, Any], limit: int) -> Iterator[dict[str, Any]]:
    """Up to `limit` job runs (`JobRunSummary`), newest first."""
    token = None
    while limit > 0:
        page = client.get(f"{API}/job-runs", {**query, "limit": min(limit, PAGE_MAX), "page_token": token})
        for row in page["job_runs"][:limit]:
            yield row
            limit -= 1
        token = page.get("next_page_token")
        if token is None:
            return


def _query(filters: tuple[str, ...]) -> dict[str, Any]:
    query: dict[str, Any] = {}
    for given in filters:
        key, separator, value = given.partition("=")
        if not separator or not value:
            raise InvalidParameterValue(f"--filter {given}: must have the form KEY=VALUE")
        if key not in FILTERS:
            guess = nearest(key, FILTERS)
            meant = f"did you mean '{guess}'?" if guess else "keys are " + ", ".join(FILTERS)
            raise InvalidParameterValue(f"--filter {given}: there is no key '{key}'; {meant}")
        if key in query:
            raise InvalidParameterValue(f"--filter {given}: '{key}' is given twice")
        if key == "num_accelerators" and not (value.isascii() and value.isdigit() and int(value) > 0):
            raise InvalidParameterValue(f"--filter {given}: must be a positive whole number")
        query[key] = value
    return query


def _duration_s(row: dict[str, Any]) -> int | None:
    return text.duration_s(row["started_ms"], row["ended_ms"], int(time.time() * 1000))


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "run_id": str(row["job_run_id"]),
        "run_name": row["name"],
        "user": row["user"],
        "status": row["status"],
        "started_at": text.iso_time(row["started_ms"]),
        "is_sweep": False,
        "submitted_at": text.iso_time(row["created_ms"]),
        "duration_seconds": _duration_s(row),
        "experiment_name": row["experiment_name"],
        "mlflow_run_id": row["run_id"],
        "attempt_number": row["attempt_number"],
        "accelerator_type": row["accelerator_type"],
        "num_accelerators": row["num_accelerators"],
        "message": row["message"],
    }


def _as_row(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        row["job_run_id"],
        row["experiment_name"],
        row["status"],
        text.minute(row["started_ms"]),
        text.duration(_duration_s(row)),
        row["run_id"],
        row["user"],
        text.accelerators(row["accelerator_type"], row["num_accelerators"]),
    )
