"""Entry of the command `contrail`: finds the command asked for and loads only that."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

COMMANDS = {
    "run": ("contrail.cli.run", "Submit a workload."),
    "list": ("contrail.cli.list", "List job runs."),
    "get": ("contrail.cli.get", "Show one job run."),
    "logs": ("contrail.cli.logs", "Print, follow or download the logs of a job run."),
    "cancel": ("contrail.cli.cancel", "Ask job runs to stop."),
    "server": ("contrail.cli.server", "Run a server on this machine."),
}


class Commands(click.Group):
    """A group whose commands are imported when they are used, so that the command line starts quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click gives it
        """Names in the order of a job run's life."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click gives it
        cmd_name: str,
    ) -> click.Command | None:
        """Import and give one command."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name][0]).command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As usual, with the nearest name for a command that does not exist."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from contrail.workloads.problems import nearest

            guess = nearest(args[0], COMMANDS)
            meant = f"did you mean '{guess}'?" if guess else "there are " + ", ".join(COMMANDS)
            raise click.UsageError(f"There is no command '{args[0]}'; {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click gives it
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from contrail import __version__

        click.echo(f"contrail {__version__}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
def contrail() -> None:
    """Submit trainings, watch them, and find everything afterwards."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 for success, 1 for every failure."""
    sys.exit(_run(list(sys.argv[1:] if arguments is None else arguments)))


def _run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # logs may hold what the terminal cannot show
    try:
        code = contrail.main(arguments, prog_name="contrail", standalone_mode=False)
        return int(code or 0)
    except click.ClickException as error:
        return _refuse(error, arguments)
    except (click.Abort, KeyboardInterrupt):
        print("Stopped.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # whoever read stdout has gone; keep the interpreter from flushing into the void
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # the outermost edge: people get a sentence, --debug gives the rest
        return _surprise(error, arguments)


def _refuse(error: click.ClickException, arguments: list[str]) -> int:
    from contrail.cli.output import Output
    from contrail.model.errors import InvalidParameterValue

    message = error.format_message()
    context = getattr(error, "ctx", None)
    as_json = _wants_json(arguments)
    if context is not None and not as_json:
        message += f"\nSee `{context.command_path} --help`."
    Output(as_json=as_json).error(InvalidParameterValue(message))
    return 1


def _surprise(error: Exception, arguments: list[str]) -> int:
    from contrail.cli.output import Output
    from contrail.model.errors import InternalError

    debug = "--debug" in arguments or arguments[:1] == ["server"]  # whoever runs a server wants to see where
    if debug:
        import traceback

        traceback.print_exc()
    text = f"contrail failed unexpectedly ({type(error).__name__}: {error})"
    hint = "" if debug else "; repeat the command with --debug to see where"
    Output(as_json=_wants_json(arguments)).error(InternalError(text + hint))
    return 1


def _wants_json(arguments: list[str]) -> bool:
    """Whether the arguments, wrong as they may be, ask for JSON."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    return any(
        (word in ("-o", "--output") and value == "json") or word in ("-ojson", "-o=json", "--output=json")
        for word, value in pairs
    )


if __name__ == "__main__":
    main()
