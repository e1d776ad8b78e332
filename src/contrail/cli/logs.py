"""`contrail logs`: print, follow or download the logs of a job run."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from contrail.cli import text
from contrail.cli.session import HELP_NAMES, JOB_RUN_ID, Session, job_run, shared_options
from contrail.cli.streams import logs_path, stored_pages
from contrail.cli.watch import TERMINAL, Reporter, Watch, What, stop_watching_on_interrupt
from contrail.client.http import Client
from contrail.model.errors import ContrailError, InvalidParameterValue, ResourceDoesNotExist

TAIL_LINES = 10_000
DOWNLOADS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user asked to see. `attempt` is one that exists, `is_latest` whether it is the newest."""

    node: int | None
    attempt: int
    is_latest: bool
    tail: int | None
    from_ms: int | None

    def query(self) -> dict[str, Any]:
        """The choice as the server's query."""
        return {"attempt": self.attempt, "node": self.node, "from_ms": self.from_ms}


@click.command("logs", context_settings=HELP_NAMES)
@click.argument("job_run_id", type=JOB_RUN_ID)
@click.option(
    "--node", type=click.IntRange(0), help="Only this node, from 0. Without it all nodes, each line marked."
)
@click.option(
    "--tail", type=click.IntRange(1), help=f"Last lines to print before following. [default: {TAIL_LINES}]"
)
@click.option("--minutes", type=click.IntRange(1), help="Only lines of the last minutes.")
@click.option(
    "--retry",
    type=click.IntRange(-1),
    default=-1,
    help="Retry to read: 0 is the first attempt, -1 the latest.",
)
@click.option("--no-follow", is_flag=True, help="Print what there is and end.")
@click.option(
    "--download-to",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write complete logs to this folder.",
)
@shared_options
def command(
    session: Session,
    job_run_id: int,
    node: int | None,
    tail: int | None,
    minutes: int | None,
    retry: int,
    no_follow: bool,
    download_to: Path | None,
) -> int:
    """Print the logs of a job run, and follow them while it is active.

    The exit code is that of the job run: 0 only when it ended with SUCCESS.
    """
    _check(tail, minutes, download_to)
    with session.connect() as client:
        detail = job_run(client, job_run_id)
        attempt = _attempt_number(detail, retry)
        if download_to is not None:
            return _download(session, client, detail, attempt, node, download_to)
        _check_node(detail, attempt, node)
        choice = Choice(
            node=node,
            attempt=attempt,
            is_latest=attempt == _latest(detail),
            tail=None if minutes is not None else tail or TAIL_LINES,
            from_ms=None if minutes is None else int(time.time() * 1000) - minutes * 60_000,
        )
        return stop_watching_on_interrupt(
            session.output, job_run_id, lambda: _show(session, client, detail, choice, follow=not no_follow)
        )


def _check(tail: int | None, minutes: int | None, download_to: Path | None) -> None:
    if tail is not None and minutes is not None:
        raise InvalidParameterValue("Use either --tail or --minutes")
    if download_to is not None and (tail is not None or minutes is not None):
        raise InvalidParameterValue("--download-to writes complete logs; leave out --tail and --minutes")


def _latest(detail: dict[str, Any]) -> int:
    return int(detail["attempts"][-1]["number"]) if detail["attempts"] else 0


def _attempt_number(detail: dict[str, Any], retry: int) -> int:
    latest = _latest(detail)
    if retry > latest:
        valid = "only 0, the first attempt" if latest == 0 else f"0 to {latest}"
        raise InvalidParameterValue(f"--retry {retry}: job run {detail['job_run_id']} has {valid}")
    return latest if retry < 0 else retry


def _num_nodes(detail: dict[str, Any], attempt: int) -> int:
    return next((int(found["num_nodes"]) for found in detail["attempts"] if found["number"] == attempt), 1)


def _check_node(detail: dict[str, Any], attempt: int, node: int | None) -> None:
    nodes = _num_nodes(detail, attempt)
    if node is not None and node >= nodes:
        valid = "only node 0" if nodes == 1 else f"nodes 0 to {nodes - 1}"
        raise InvalidParameterValue(f"--node {node}: job run {detail['job_run_id']} has {valid}")


def _show(session: Session, client: Client, detail: dict[str, Any], choice: Choice, *, follow: bool) -> int:
    reporter = Reporter(session.output, node=choice.node)
    is_active = detail["state"] not in TERMINAL
    page: dict[str, Any] = {}
    follows = is_active and follow and choice.is_latest
    pages = (
        stored_pages(client, detail["job_run_id"], choice.query(), choice.tail) if detail["attempts"] else ()
    )
    for page in pages:
        for line in page["lines"]:
            if not (follows and line.get("open")):  # follows: it comes again when it is whole
                reporter.line(line, page["num_nodes"])
        session.output.flush()
    if follows:
        what = What(choice.node, choice.attempt, page.get("next"))
        detail = Watch(client, detail["job_run_id"], what, reporter).run()
        is_active = False
    if reporter.lines == 0:
        _say_empty(session, detail, page)
    return _end(session, detail, is_active)


def _say_empty(session: Session, detail: dict[str, Any], page: dict[str, Any]) -> None:
    message = page.get("message") or detail["message"] or f"the job run is {detail['status']}"
    message = f"No log lines: {message}"
    if session.output.as_json:
        session.output.event("ERROR", message=message, status=detail["status"])
    else:
        session.output.say(message)


def _end(session: Session, detail: dict[str, Any], is_active: bool) -> int:
    """The last line, and an exit code that follows the job run when it is over."""
    if session.output.as_json:
        data = {"status": detail["status"], "run_id": str(detail["job_run_id"]), "message": detail["message"]}
        session.output.data(data)
    elif not is_active and sys.stderr.isatty():
        session.output.say(f"{detail['status']}: {detail['message']}")
    return 0 if is_active or detail["status"] == "SUCCESS" else 1


# ---------------------------------------------------------------- download


def _download(
    session: Session, client: Client, detail: dict[str, Any], attempt: int, node: int | None, folder: Path
) -> int:
    if not detail["attempts"]:
        raise ResourceDoesNotExist(f"Job run {detail['job_run_id']} has no logs yet: {detail['message']}")
    _check_node(detail, attempt, node)
    nodes = range(_num_nodes(detail, attempt)) if node is None else [node]
    target = folder / "logs"
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameterValue(f"--download-to: {target} cannot be made: {error.strerror}") from None
    # the connection pool is made before the threads start
    with ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        results = list(
            pool.map(
                lambda number: _download_node(client, detail["job_run_id"], attempt, number, target), nodes
            )
        )
    failed = [result for result in results if result["error"]]
    if session.output.as_json:
        session.output.data(
            {
                "run_id": str(detail["job_run_id"]),
                "status": detail["status"],
                "attempt": attempt,
                "files": results,
            }
        )
    for result in results:
        if result["error"]:
            session.output.say(f"node {result['node']}: {result['error']}")
        else:
            session.output.text(f"{result['path']}  {text.byte_count(result['bytes'])}")
    if len(failed) == len(results):
        return 1
    return 0 if detail["state"] not in TERMINAL or detail["status"] == "SUCCESS" else 1


def _download_node(client: Client, job_run_id: int, attempt: int, node: int, folder: Path) -> dict[str, Any]:
    """Write one node's bytes; the file appears under its name only when it is whole."""
    path = folder / f"node_{node}.log"
    partial = path.with_suffix(".log.part")
    result: dict[str, Any] = {"node": node, "path": str(path), "bytes": 0, "error": None}
    try:
        query = {"attempt": attempt, "node": node, "raw": 1}
        with (
            partial.open("wb") as file,
            client.download(f"{logs_path(job_run_id)}/download", query) as pieces,
        ):
            for piece in pieces:
                result["bytes"] += file.write(piece)
        os.replace(partial, path)
    except (ContrailError, OSError) as error:
        result["error"] = getattr(error, "strerror", None) or str(error)
        partial.unlink(missing_ok=True)
    return result
