"""Writes the reference pages from what the code itself declares; `--check` only tells whether they are current."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from contrail.cli.main import COMMANDS, contrail
from contrail.cli.server import NOT_OF_THE_SERVER
from contrail.model.settings import SETTINGS, Setting
from contrail.server.catalog import ENDPOINTS, Endpoint
from contrail.server.routes import artifacts, mlflow
from contrail.workloads.help import keys, required_words
from contrail.workloads.problems import Path as KeyPath
from contrail.workloads.problems import dotted
from contrail.workloads.schema import RETIRED, Field

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Written by tools/generate_reference.py; `make docs` writes it again. -->\n"
WIDTH = 100


class _AnyService:
    """Stands for every service: the tables of routes only take references to use cases."""

    def __getattr__(self, _: str) -> _AnyService:
        return self

    def __call__(self, *_: Any, **__: Any) -> _AnyService:
        return self


def pages() -> dict[str, str]:
    """Every generated page: file name and text."""
    return {
        "cli.md": command_line(),
        "workload.md": workload(),
        "settings.md": settings(),
        "http.md": http(),
    }


# ---------------------------------------------------------------- command line


def command_line() -> str:
    """One section for each command, as `--help` says it."""
    parts = [
        "# Command line",
        NOTE,
        "Every command ends with exit code 0 for success and 1 for any failure. `run --watch` and `logs` end with the "
        "outcome of the job run.",
        'With `-o json` standard output holds JSON only: `{"v":1,"ts":…,"data":{…}}`, or on failure '
        '`{"v":1,"ts":…,"error":{"code","kind","message","retryable"}}`; a workload that is not valid adds '
        "`problems`, each with `path`, `line`, `message` and `nearest`. Remarks and progress go to standard error.",
        "The server is found in this order: `--server` or `CONTRAIL_SERVER`; `MLFLOW_TRACKING_URI` if it is an http "
        "address; the server that runs on the data folder (`CONTRAIL_DATA_DIR`). `contrail run` starts a local server "
        "where there is none. A token is taken from `CONTRAIL_TOKEN` or `MLFLOW_TRACKING_TOKEN`.",
        _help(contrail, "contrail"),
    ]
    context = click.Context(contrail, info_name="contrail")
    for name in COMMANDS:
        command = contrail.get_command(context, name)
        if command is None:
            raise LookupError(name)
        parts += [f"## contrail {name}", _help(command, f"contrail {name}"), *_AFTER.get(name, ())]
    return _page(parts)


def _help(command: click.Command, name: str) -> str:
    context = click.Context(
        command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH, **command.context_settings
    )
    return f"```text\n{command.get_help(context)}\n```"


_AFTER = {
    "run": (
        "With `--watch -o json` every line is one event: `SUBMITTED`, `STATUS` (on each change), `LOG`, `ALERT` (a "
        "line that usually kills a training, such as CUDA out of memory; the same line also comes as `LOG`), `RETRY`, "
        "`ERROR` (there was no output); the last line is the envelope with the outcome.",
        "Ctrl-C stops the watching, not the workload.",
    ),
    "get": (
        "`data` holds `run_id`, `status`, `started_at`, `duration_seconds` (of the latest attempt), `attempt_number` "
        "(0: never retried), `experiment_name`, `dashboard_url`, `mlflow_url`, `termination_reason` (only after a "
        "failure), and besides `submitted_at`, `ended_at`, `user`, `message`, `max_retries`, `experiment_id`, "
        "`mlflow_run_id`, `accelerator_type`, `num_accelerators`, `attempts` and `config`.",
    ),
    "list": (
        "`data.runs` holds `run_id`, `run_name`, `user`, `status`, `started_at`, `is_sweep`, and besides "
        "`submitted_at`, `duration_seconds`, `experiment_name`, `mlflow_run_id`, `attempt_number`, `accelerator_type`, "
        "`num_accelerators` and `message`.",
    ),
    "logs": (
        "`--download-to DIR` writes the bytes exactly as the command printed them, to `DIR/logs/node_<n>.log`.",
    ),
    "cancel": (
        "`data` holds `cancelled`, `all` (with `--all`) and `failed` (`run_id` and `error` of each).",
    ),
}


# ---------------------------------------------------------------- workload


def workload() -> str:
    """The keys of the YAML, from the schema that validates it."""
    known = list(keys())
    usable = [(path, field) for path, field in known if not _is_repeated(path)]
    return _page(
        [
            "# Workload YAML",
            NOTE,
            "The file that `contrail run -f` takes. Unknown keys are refused, with their line and the key that was "
            "probably meant; all problems of a file are reported at once. YAML 1.2: `1e-4` is a number, `yes` is text. "
            "`contrail run -h config.compute` shows the same help in the terminal.",
            "```yaml\n" + _EXAMPLE + "```",
            "## Keys",
            _table(
                ("Key", "Type", "Required", "Default", "Meaning"),
                [_key_row(path, field) for path, field in usable if not field.unsupported],
            ),
            "`code_source` may also be written as `code_source: {type: snapshot, snapshot: {…}}` with the same keys "
            "inside `snapshot`.",
            "## What is sent with code_source",
            _CODE,
            "## Overrides",
            "`--override FIELD.PATH=VALUE` changes a value before validation; the value is read as YAML. The path must "
            "exist in the schema; below `parameters` and `env_variables` anything goes. Missing parents are made. The "
            "job run records the YAML with the overrides in it.",
            "## Not supported by this version",
            "These keys are refused, not ignored.",
            _table(
                ("Key", "What is said"),
                [(f"`{dotted(path)}`", field.unsupported) for path, field in usable if field.unsupported]
                + [(f"`{path}`", sentence) for path, sentence in RETIRED.items()],
            ),
        ]
    )


_EXAMPLE = """experiment_name: digits
mlflow_run_name: baseline
compute:
  accelerator_type: CPU        # or GPU_1xA10, GPU_8xH100, … : GPUs per node x model
  num_accelerators: 1          # of all nodes together
environment:
  dependencies: [scikit-learn, mlflow-skinny]
code_source:
  root_path: .
command: |
  cd "$CODE_SOURCE_PATH"
  python train.py
parameters: {learning_rate: 3e-3, epochs: 40}
env_variables: {OMP_NUM_THREADS: 4}
max_retries: 1
timeout_minutes: 60
"""

_CODE = """In a git repository: tracked files, and untracked ones that are not ignored. Elsewhere: everything that no
`.gitignore` leaves out. In both cases `.contrailignore` (same syntax) leaves out more, also tracked files. Never sent:
`.git`, `.hg`, `.svn`; and unless they are tracked by git: `__pycache__`, virtual environments, `node_modules` and the
caches of common tools.

`contrail run` shows how many files and bytes go, and what was left out by which rule; `--dry-run` shows it without
sending. Symbolic links stay links; one that leads out of the folder is refused. The same tree always gives the same
archive, which is uploaded once. The commit, branch, remote address (without credentials) and uncommitted changes (up to
1 MiB) are recorded with the job run."""


def _is_repeated(path: KeyPath) -> bool:
    return path[:2] == ("code_source", "snapshot") and len(path) > 2


def _key_row(path: KeyPath, field: Field) -> tuple[str, ...]:
    meaning = " ".join(part for part in (field.help, field.rules and f"Rules: {field.rules}") if part)
    if field.example:
        meaning += f" Example: `{field.example}`."
    return (f"`{dotted(path)}`", field.kind.value, required_words(field), field.default or "-", meaning)


# ---------------------------------------------------------------- settings


def settings() -> str:
    """The settings table."""
    return _page(
        [
            "# Settings",
            NOTE,
            "Each setting is an environment variable, and an option of `contrail server`. An option wins over the "
            "variable. A value that does not parse is refused by name.",
            _table(
                ("Variable", "Option", "Default", "Unit", "Meaning"), [_setting_row(one) for one in SETTINGS]
            ),
        ]
    )


def _setting_row(setting: Setting) -> tuple[str, ...]:
    option = "-" if setting.name in NOT_OF_THE_SERVER else f"`--{setting.name.replace('_', '-')}`"
    default = "-" if setting.default == "" else f"`{setting.default}`"
    return (f"`{setting.env}`", option, default, setting.unit or "-", setting.help + ".")


# ---------------------------------------------------------------- HTTP


def http() -> str:
    """Our own endpoints from their catalogue, MLflow's from the table that answers them."""
    services: Any = _AnyService()
    rpc = [key for key in mlflow.table(services) if key[1].startswith("/api/")]
    others = [
        (method, route.path)
        for module in (mlflow, artifacts)
        for route in module.routes(services)
        for method in sorted(getattr(route, "methods", None) or ())
        if method != "HEAD" and not route.path.startswith(("/api/contrail/", "/ajax-api/", "/{path"))
    ]
    return _page(
        [
            "# HTTP",
            NOTE,
            'Errors are JSON everywhere: `{"error_code": …, "message": …}` with a fitting status. Times named `_ms` '
            "are Unix milliseconds, `_ns` nanoseconds. The messages' fields are in [openapi.json](openapi.json).",
            "## Contrail",
            _table(("Method", "Path", "What it does", "Query"), [_endpoint(one) for one in _of("user")]),
            "Log streams are server-sent events: `lines` carries a page of lines as JSON, `end` says that the attempt "
            "is over; `Last-Event-ID` resumes.",
            "## Between node agents and the server",
            "With `Authorization: Bearer <token of the attempt>`.",
            _table(("Method", "Path", "What it does", "Query"), [_endpoint(one) for one in _of("agent")]),
            "## MLflow",
            "As in MLflow's REST API; the same paths also below `/ajax-api/`. Any other path answers "
            "`ENDPOINT_NOT_FOUND`.",
            _table(("Method", "Path"), [(method, f"`{path}`") for method, path in rpc]),
            "## Artifacts and health",
            _table(("Method", "Path"), [(method, f"`{path}`") for method, path in dict.fromkeys(others)]),
            "Any other `GET` of a browser answers with the pages.",
        ]
    )


def _of(audience: str) -> list[Endpoint]:
    return [endpoint for endpoint in ENDPOINTS if endpoint.audience == audience]


def _endpoint(endpoint: Endpoint) -> tuple[str, ...]:
    query = ", ".join(f"`{name}`" for name in endpoint.query) or "-"
    return (endpoint.method, f"`{endpoint.full_path}`", endpoint.summary + ".", query)


# ---------------------------------------------------------------- Markdown


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def main() -> int:
    """Write the pages, or with `--check` name the stale ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    check = parser.parse_args().check
    REFERENCE.mkdir(parents=True, exist_ok=True)
    stale = [name for name, text in pages().items() if _read(REFERENCE / name) != text]
    for name in stale:
        if check:
            print(f"docs/reference/{name} is stale; run `make docs`", file=sys.stderr)
        else:
            (REFERENCE / name).write_text(pages()[name], encoding="utf-8")
    return 1 if check and stale else 0


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


if __name__ == "__main__":
    sys.exit(main())
