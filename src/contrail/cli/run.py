"""`contrail run`: validate a workload, send its code, submit it, and watch it if asked to."""

from __future__ import annotations

import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from contrail.cli import text
from contrail.cli.output import GREEN, paint
from contrail.cli.session import HELP_NAMES, Session, job_run, job_url, shared_options
from contrail.cli.watch import RULE, Reporter, Watch, What, report_end, stop_watching_on_interrupt
from contrail.client.http import API, Client
from contrail.model.errors import ContrailError, InvalidParameterValue
from contrail.workloads import code, overrides, requirements
from contrail.workloads.document import Document, parse
from contrail.workloads.help import describe
from contrail.workloads.schema import TOKEN_MAX_CHARACTERS, YAML_MAX_BYTES
from contrail.workloads.workload import Workload, from_document

SKIPPED_SHOWN = 8
PROGRESS_MIN_BYTES = 4 * 1024 * 1024


class RunCommand(click.Command):
    """`-h` and `--help` take an optional key: `contrail run -h config.compute`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer `-h KEY`, and leave everything else to click."""
        for option, value in pairwise(args):
            if option in ("-h", "--help") and not value.startswith("-"):
                try:
                    click.echo(describe(value))
                except InvalidParameterValue as wrong:
                    raise click.UsageError(f"{option} {value}: {wrong.message}", ctx) from None
                ctx.exit()
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True)
class Submission:
    """What is about to be submitted: the YAML as it will be recorded, and what it means."""

    document: Document
    workload: Workload
    base_dir: Path
    token: str


@click.command(
    "run",
    cls=RunCommand,
    context_settings=HELP_NAMES,
    epilog="Help on the keys of the YAML: contrail run -h config, contrail run -h config.compute",
)
@click.option("-f", "--file", type=click.Path(path_type=Path), required=True, help="Workload YAML.")
@click.option(
    "--watch", is_flag=True, help="Follow the logs until the job run has ended; exit with its outcome."
)
@click.option("--node", type=click.IntRange(0), help="With --watch: only the logs of this node, from 0.")
@click.option(
    "--override",
    "changes",
    metavar="FIELD.PATH=VALUE",
    multiple=True,
    help="Change a value of the YAML before it is validated; may be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Validate only; nothing is sent and no server is needed.")
@click.option(
    "--idempotency-key",
    metavar="TEXT",
    help="Submitting again with the same key gives the job run that exists. Takes precedence over the YAML.",
)
@shared_options
def command(
    session: Session,
    file: Path,
    watch: bool,
    node: int | None,
    changes: tuple[str, ...],
    dry_run: bool,
    idempotency_key: str | None,
) -> int:
    """Submit a workload. A local server is started when none runs and none is named."""
    submission = _prepare(session, file, changes, idempotency_key)
    if dry_run:
        return _dry_run(session, submission)
    if node is not None and node >= submission.workload.accelerators.nodes:
        raise InvalidParameterValue(
            f"--node {node}: the workload has {submission.workload.accelerators.nodes} node(s)"
        )
    with session.connect(start=True) as client:
        client.get(f"{API}/info")  # whoever may not submit hears it before anything is packed
        session.output.text(f"Submitting experiment: {submission.workload.experiment_name}")
        submitted = _submit(session, client, submission)
        _show_submitted(session, client, submitted, watch=watch)
        return _watch(session, client, submission, submitted, node) if watch else 0


# ---------------------------------------------------------------- before anything is sent


def _prepare(session: Session, file: Path, changes: tuple[str, ...], key: str | None) -> Submission:
    base_dir = file.absolute().parent
    document, changed = overrides.override(parse(_read(file), str(file)), changes)
    for change in changed:
        session.output.say(f"Override: {change}")
    workload = from_document(document, base_dir=base_dir)
    for notice in workload.notices:
        session.output.say(f"Note: {notice}")
    expanded = requirements.expand(workload.dependencies, base_dir)
    if expanded != list(workload.dependencies):
        document, _ = overrides.set_values(document, [(("environment", "dependencies"), expanded)])
        workload = from_document(document, base_dir=base_dir)
    return Submission(document, workload, base_dir, _token(key, workload))


def _read(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(YAML_MAX_BYTES + 1)
    except OSError as wrong:
        raise InvalidParameterValue(f"{file} cannot be read: {wrong.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidParameterValue(f"{file} is not a text file in UTF-8") from None


def _token(key: str | None, workload: Workload) -> str:
    if key is None:
        # without one, a repeat after a broken connection could submit twice
        return workload.idempotency_token or str(uuid.uuid4())
    if not key.strip() or len(key) > TOKEN_MAX_CHARACTERS:
        raise InvalidParameterValue(
            f"--idempotency-key must have 1 to {TOKEN_MAX_CHARACTERS} characters and not be blank, has {len(key)}"
        )
    return key


def _dry_run(session: Session, submission: Submission) -> int:
    source = submission.workload.code_source
    if source is not None:
        with code.open_tree(source, submission.base_dir) as tree:
            _report_code(session, tree)
    if session.output.as_json:
        session.output.data({"status": "DRY_RUN_OK", "dry_run": True})
    session.output.text("The workload is valid; not submitting (--dry-run).")
    return 0


# ---------------------------------------------------------------- submitting


def _submit(session: Session, client: Client, submission: Submission) -> dict[str, Any]:
    sent = _send_code(session, client, submission)
    body = {
        "workload": submission.document.text,
        "user": session.user,
        "idempotency_token": submission.token,
        **sent,
    }
    answer: dict[str, Any] = client.post(f"{API}/job-runs", body, repeatable=True)
    return answer


def _send_code(session: Session, client: Client, submission: Submission) -> dict[str, Any]:
    """Pack and upload the code; what the submission says about it."""
    source = submission.workload.code_source
    if source is None:
        return {}
    with (
        code.open_tree(source, submission.base_dir) as tree,
        tempfile.TemporaryDirectory(prefix="contrail-") as folder,
    ):
        _report_code(session, tree)
        archive = _pack(session, tree, Path(folder) / "code.tar.gz")
        path = f"{API}/code/{archive.digest}"
        if client.exists(path):
            session.output.say("The server has this code already; nothing to upload.")
        else:
            with _progress("Uploading", archive.bytes) as advance:
                client.put_file(path, archive.path, {"name": archive.name}, advance)
            session.output.say(f"Uploaded {text.byte_count(archive.bytes)}.")
        provenance = {**tree.provenance, "files": len(tree.files), "bytes": tree.bytes}
        return {"code_digest": archive.digest, "code_name": archive.name, "provenance": provenance}


def _pack(session: Session, tree: code.CodeTree, destination: Path) -> code.Archive:
    with _progress("Packing", tree.bytes) as advance:
        return code.write_archive(
            tree, destination, max_bytes=session.settings.code_max_bytes, progress=advance
        )


def _report_code(session: Session, tree: code.CodeTree) -> None:
    """What is sent, and what was left out by which rule."""
    say = session.output.say
    untracked = f", {tree.untracked:,} of them not tracked by git" if tree.untracked else ""
    say(
        f"Code: {text.counted(len(tree.files), 'file')}, {text.byte_count(tree.bytes)} from {tree.name}{untracked}"
    )
    for skip in tree.skipped[:SKIPPED_SHOWN]:
        more = "" if skip.complete else "at least "
        say(
            f"  left out {more}{text.counted(skip.files, 'file')}, {text.byte_count(skip.bytes)}: {skip.rule}"
        )
    if len(tree.skipped) > SKIPPED_SHOWN:
        say(f"  left out more by {text.counted(len(tree.skipped) - SKIPPED_SHOWN, 'further rule')}")


@contextmanager
def _progress(what: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, for what takes a moment; else nothing."""
    if not sys.stderr.isatty() or total_bytes < PROGRESS_MIN_BYTES:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total_bytes)
        yield lambda count: bar.advance(task, count)


# ---------------------------------------------------------------- after


def _show_submitted(session: Session, client: Client, submitted: dict[str, Any], *, watch: bool) -> None:
    output, job_run_id = session.output, submitted["job_run_id"]
    url = job_url(client, job_run_id)
    if output.as_json:
        shown: dict[str, Any] = {"run_id": str(job_run_id), "dashboard_url": url}
        if submitted["existing"]:
            shown["existing"] = True
        if watch:
            output.event("SUBMITTED", **shown)
        else:
            known = submitted["existing"]  # it may have ended long ago
            status = job_run(client, job_run_id)["status"] if known else submitted["state"]
            output.data({"status": status, **shown})
        return
    if submitted["existing"]:
        output.text("This idempotency key was submitted before; here is its job run.")
    output.text(paint(f"Job Run ID: {job_run_id}", GREEN, sys.stdout))
    output.text(url)
    if not watch:
        output.text(f"Follow its logs with: contrail logs {job_run_id}")


def _watch(
    session: Session, client: Client, submission: Submission, submitted: dict[str, Any], node: int | None
) -> int:
    output, job_run_id = session.output, submitted["job_run_id"]
    workload = submission.workload
    nodes = workload.accelerators.nodes
    which = "" if nodes == 1 else f" of node {node}" if node is not None else f" of all {nodes} nodes"
    output.text(f"Monitoring run and streaming logs{which}… (Ctrl-C stops watching, not the workload)")
    if workload.max_retries:
        output.text(f"A failed attempt is repeated up to {text.counted(workload.max_retries, 'time')}.")
    output.text(f"Logs {RULE[5:]}")

    def follow() -> int:
        reporter = Reporter(output, node=node, alerts=True)
        detail = Watch(client, job_run_id, What(node), reporter).run()
        if not output.as_json:
            return report_end(output, client, detail)
        if reporter.lines == 0:
            output.event("ERROR", message=detail["message"] or "the workload printed nothing")
        output.data(_outcome(client, detail))
        return 0 if detail["status"] == "SUCCESS" else 1

    try:
        return stop_watching_on_interrupt(output, job_run_id, follow)
    except ContrailError as wrong:
        output.say(f"Watching job run {job_run_id} ended; the workload goes on.")
        if output.as_json:
            output.data(
                {"status": "UNKNOWN", "run_id": str(job_run_id), "dashboard_url": job_url(client, job_run_id)}
            )
            output.say(wrong.message)
            return 1
        raise


def _outcome(client: Client, detail: dict[str, Any]) -> dict[str, Any]:
    from contrail.cli.get import as_json

    return {**as_json(detail, client), "status": detail["status"]}
