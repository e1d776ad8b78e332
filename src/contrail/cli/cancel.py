"""`contrail cancel`: ask job runs to stop."""

from __future__ import annotations

import sys
from typing import Any

import click

from contrail.cli import text
from contrail.cli.list import job_runs
from contrail.cli.session import HELP_NAMES, JOB_RUN_ID, Session, shared_options
from contrail.cli.watch import TERMINAL
from contrail.client.http import API, Client
from contrail.model.errors import ContrailError, InvalidParameterValue

ALL_MAX = 1000


@click.command("cancel", context_settings=HELP_NAMES)
@click.argument("job_run_ids", type=JOB_RUN_ID, nargs=-1, metavar="[JOB_RUN_ID]...")
@click.option("--all", "every", is_flag=True, help="Cancel all your active job runs.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@shared_options
def command(session: Session, job_run_ids: tuple[int, ...], every: bool, yes: bool) -> int:
    """Ask job runs to stop: SIGTERM, a grace period, then SIGKILL. They end a moment later."""
    if bool(job_run_ids) == every:
        raise InvalidParameterValue("Name one or more job runs, or use --all")
    with session.connect() as client:
        rows = list(job_runs(client, {"state": "active", "user": session.user}, ALL_MAX)) if every else []
        ids = list(dict.fromkeys(job_run_ids)) or [row["job_run_id"] for row in rows]
        if every and not ids:
            return _nothing(session, client)
        if every and not yes and not _agreed(session, rows):
            session.output.say("Nothing was cancelled.")
            return 1
        return _cancel(session, client, ids, every)


def _nothing(session: Session, client: Client) -> int:
    if session.output.as_json:
        session.output.data({"cancelled": [], "all": True, "workspace": client.address})
    session.output.text("You have no active job runs.")
    return 0


def _agreed(session: Session, rows: list[dict[str, Any]]) -> bool:
    if session.output.as_json or not sys.stdin.isatty():
        raise InvalidParameterValue(
            f"--all would cancel {text.counted(len(rows), 'job run')}; add --yes to do it"
        )
    columns = ("Run ID", "Experiment", "Started")
    cells = [(row["job_run_id"], row["experiment_name"], text.minute(row["started_ms"])) for row in rows]
    for line in text.table(columns, cells):
        session.output.say(line)
    return click.confirm(f"Cancel {text.counted(len(rows), 'job run')}?", err=True)


def _cancel(session: Session, client: Client, ids: list[int], every: bool) -> int:
    cancelled: list[str] = []
    failed: list[dict[str, str]] = []
    for job_run_id in ids:
        try:
            # cancelling twice is the same as once, so it may be repeated
            answer = client.post(f"{API}/job-runs/{job_run_id}/cancel", {}, repeatable=True)
        except ContrailError as error:
            failed.append({"run_id": str(job_run_id), "error": error.message})
            if not session.output.as_json:
                session.output.say(f"{job_run_id}: {error.message}")
        else:
            cancelled.append(str(job_run_id))
            session.output.text(
                f"{job_run_id}: {'has ended' if answer['state'] in TERMINAL else 'cancel requested'}"
            )
    if session.output.as_json:
        data: dict[str, Any] = {"cancelled": cancelled}
        if every:
            data["all"] = True
        if failed:
            data["failed"] = failed
        session.output.data(data)
    return 1 if failed else 0
