"""What every command shares: its options, its server, and how it fails."""

from __future__ import annotations

import functools
import getpass
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from contrail.cli.output import Output
from contrail.client import address
from contrail.client.http import API, Client
from contrail.model.errors import ContrailError, InvalidParameterValue
from contrail.model.settings import Settings

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, slots=True)
class Session:
    """One command's surroundings."""

    output: Output
    settings: Settings
    server: str | None

    def connect(self, *, start: bool = False) -> Client:
        """A client for the server; with `start`, a local one is started when none runs."""
        found = address.find(self.settings, given=self.server, start=start, say=self.output.say)
        local = found.how in ("running", "started")
        token = os.environ.get("CONTRAIL_TOKEN") or os.environ.get("MLFLOW_TRACKING_TOKEN")
        return Client(
            found.address,
            token=token,
            locate=lambda: address.running_address(self.settings.data_path) if local else None,
        )

    @property
    def user(self) -> str:
        """Who submits, and whose job runs `list` shows."""
        try:
            return os.environ.get("CONTRAIL_USER") or getpass.getuser()
        except (OSError, KeyError):  # a container whose user has no name
            return str(os.getuid())


def shared_options(function: Callable[..., int]) -> Callable[..., int]:
    """Adds `--output`, `--server` and `--debug`, and turns failures into a message and exit code 1.

    The function gets a `Session` first and gives the exit code.
    """

    @click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Output format.",
    )
    @click.option("--server", metavar="URL", help="Address of the server. [env: CONTRAIL_SERVER]")
    @click.option("--debug", is_flag=True, help="Show what happened inside when something fails.")
    @functools.wraps(function)
    def command(output: str, server: str | None, debug: bool, **options: Any) -> int:
        printer = Output(as_json=output == "json")
        try:
            return function(Session(printer, Settings(), server), **options)
        except ContrailError as error:
            if debug:
                printer.say(traceback.format_exc())
            printer.error(error)
            return 1

    return command


class JobRunId(click.ParamType[int]):
    """The number of a job run."""

    name = "job_run_id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, or a usage error."""
        text = str(value)
        if not text.isascii() or not text.isdigit() or not 0 < int(text[:20]) < 2**63:
            self.fail(
                f"'{text}' is not a job run id; it is a positive number, see `contrail list`", param, ctx
            )
        return int(text)


JOB_RUN_ID = JobRunId()


def job_run(client: Client, job_run_id: int) -> dict[str, Any]:
    """The job run as the server tells it (`JobRunDetail`)."""
    detail = client.get(f"{API}/job-runs/{job_run_id}")
    if not isinstance(detail, dict) or "status" not in detail:
        raise InvalidParameterValue(f"What answers at {client.address} is not a Contrail server.")
    return detail


def job_url(client: Client, job_run_id: int | str) -> str:
    """The page of a job run."""
    return f"{client.address}/jobs/{job_run_id}"


def run_url(client: Client, run_id: str | None) -> str | None:
    """The page of a run."""
    return f"{client.address}/runs/{run_id}" if run_id else None
