"""`contrail server`: run a server. Its options are the settings table."""

from __future__ import annotations

import gc
from typing import Any

import click

from contrail.cli.output import Output
from contrail.cli.session import HELP_NAMES
from contrail.model.errors import ContrailError
from contrail.model.settings import SETTINGS, Setting, Settings

FIRST = ("host", "port", "data_dir", "store_url")
SHORT_NAMES = {"store_url": "--store"}
_METAVARS = {str: "TEXT", int: "INTEGER", float: "NUMBER", bool: "BOOLEAN"}
NOT_OF_THE_SERVER = frozenset({"server"})


def option(setting: Setting) -> click.Option:
    """The option of a setting. Its value is parsed by the settings table, so errors are the same everywhere."""
    names = ["--" + setting.name.replace("_", "-")]
    if setting.name in SHORT_NAMES:
        names.insert(0, SHORT_NAMES[setting.name])
    unit = f", in {setting.unit}" if setting.unit else ""
    default = "" if setting.default == "" else f" [default: {setting.default}]"
    return click.Option(
        [*names, setting.name],
        metavar=_METAVARS[type(setting.default)],
        help=f"{setting.help}{unit}. [env: {setting.env}]{default}",
    )


def _ordered() -> list[Setting]:
    usable = [setting for setting in SETTINGS if setting.name not in NOT_OF_THE_SERVER]
    return sorted(
        usable, key=lambda setting: FIRST.index(setting.name) if setting.name in FIRST else len(FIRST)
    )


def _serve(**given: Any) -> int:
    try:
        settings = Settings({name: value for name, value in given.items() if value is not None})
        gc.disable()  # loading makes many objects and no garbage; collecting meanwhile costs a tenth of the start
        from contrail.server.main import serve

        serve(settings)
    except ContrailError as error:
        Output().error(error)
        return 1
    return 0


command = click.Command(
    "server",
    callback=_serve,
    params=[option(setting) for setting in _ordered()],
    context_settings=HELP_NAMES,
    short_help="Run a server on this machine.",
    help="Run a server on this machine until it is stopped with Ctrl-C.\n\n"
    "Every option can also be given as an environment variable.",
)
