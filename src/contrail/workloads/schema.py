"""The workload YAML, once: types, rules and help drive validation, `--override`, `-h config` and the reference page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from contrail.model.errors import InvalidParameterValue
from contrail.workloads import accelerators
from contrail.workloads.problems import Path

YAML_MAX_BYTES = 1024 * 1024
NAME_MAX_CHARACTERS = 100
COMMAND_MAX_LINES = 1000
TOKEN_MAX_CHARACTERS = 64
RETRIES_MAX = 1000
TIMEOUT_MINUTES_MAX = 366 * 24 * 60
DEFAULT_MAX_RETRIES = 3

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRANCH = re.compile(r"[\w./-]+")
_COMMIT = re.compile(r"[0-9A-Fa-f]{4,64}")
_VERSION = re.compile(r"[1-9][0-9]{0,3}|databricks_ai_v([5-9]|[1-9][0-9]{1,3})", re.IGNORECASE)
_VOLUME = re.compile(r"(?:dbfs:)?(/Volumes(?:/[^/]+){3,})/?")


class Kind(StrEnum):
    """What a field holds; the value is how help and errors say it."""

    STRING = "text"
    INTEGER = "whole number"
    BOOLEAN = "true or false"
    STRINGS = "list of texts"
    STRING_MAP = "map of names to texts"
    FREE_MAP = "map of names to any values"
    OBJECT = "map"


Check = Callable[[Any], str | None]
ObjectCheck = Callable[[Mapping[str, Any]], list[tuple[Path, str]]]


@dataclass(frozen=True, slots=True)
class Field:
    """One key. `check` gets a value of the right kind and says what is wrong with it, or None.

    `required` is True, False or the words of a condition (which an `object_check` then tests).
    `unsupported` says why this version refuses the key. `item_check` is for the members of lists and maps;
    for maps it gets (name, value).
    """

    name: str
    kind: Kind
    help: str
    required: bool | str = False
    default: str = ""
    rules: str = ""
    example: str = ""
    check: Check | None = None
    item_check: Check | None = None
    object_check: ObjectCheck | None = None
    fields: tuple[Field, ...] = ()
    unsupported: str = ""

    def child(self, name: str) -> Field | None:
        """The field called `name` inside this one."""
        return next((field for field in self.fields if field.name == name), None)

    def names(self) -> tuple[str, ...]:
        """Names of the children that can be used."""
        return tuple(field.name for field in self.fields if not field.unsupported)


# ---------------------------------------------------------------- checks


def _name(value: str) -> str | None:
    if len(value) > NAME_MAX_CHARACTERS:
        return f"may have at most {NAME_MAX_CHARACTERS} characters, has {len(value)}"
    if not _NAME.fullmatch(value):
        return "may hold only letters A-Z a-z, digits, '_' and '-'" + (
            ", and must not be empty" * (not value)
        )
    return None


def _command(value: str) -> str | None:
    if not value.strip():
        return "must not be empty"
    lines = value.count("\n") + 1
    if lines > COMMAND_MAX_LINES:
        return f"may have at most {COMMAND_MAX_LINES} lines, has {lines}; put the script into code_source"
    return "must not contain NUL characters" if "\0" in value else None


def _token(value: str) -> str | None:
    if not value.strip():
        return "must not be blank"
    if len(value) > TOKEN_MAX_CHARACTERS:
        return f"may have at most {TOKEN_MAX_CHARACTERS} characters, has {len(value)}"
    return None


def _within(low: int, high: int) -> Check:
    def check(value: int) -> str | None:
        return None if low <= value <= high else f"must be from {low} to {high}, is {value}"

    return check


def volume_path(value: str) -> str | None:
    """`/Volumes/<catalog>/<schema>/<volume>…` for any accepted spelling of it, else None."""
    match = _VOLUME.fullmatch(value)
    if match is None or {".", ".."} & set(value.split("/")) or "\0" in value:
        return None
    return match[1]


def _artifact_location(value: str) -> str | None:
    if volume_path(value) is None:
        return "must be a path below a volume: /Volumes/<catalog>/<schema>/<volume>[/folders]"
    return None


def _accelerator_type(value: str) -> str | None:
    try:
        accelerators.parse_type(value)
    except InvalidParameterValue as wrong:
        return wrong.message
    return None


def _variable(item: tuple[str, str]) -> str | None:
    name, value = item
    if not _VARIABLE.fullmatch(name):
        return f"'{name}' cannot name a variable; use letters, digits and '_', not starting with a digit"
    return "must not contain NUL characters" if "\0" in value else None


def _requirement(value: str) -> str | None:
    if not value.strip():
        return "must not be blank"
    if "\n" in value or "\0" in value:
        return "must be one requirement; give each its own list entry"
    if value.lstrip().startswith("-") and not requirements_file(value):
        return "must be a requirement such as 'torch==2.6', a URL, or '-r requirements.txt'"
    return None


def requirements_file(value: str) -> str | None:
    """The file of a dependency that has the form `-r FILE`, else None."""
    match = re.fullmatch(r"\s*(?:-r|--requirement)(?:\s+|=)(\S.*?)\s*", value)
    return match[1] if match else None


def _include_path(value: str) -> str | None:
    if not value.strip():
        return "must not be blank"
    parts = value.replace("\\", "/").split("/")
    if value.startswith(("/", "~")) or ".." in parts or "\0" in value:
        return "must be a path inside root_path, without '..'"
    return None


def _pattern(pattern: re.Pattern[str], message: str) -> Check:
    return lambda value: None if pattern.fullmatch(value) and not value.startswith("-") else message


def _not_blank(value: str) -> str | None:
    return None if value.strip() else "must not be blank"


def _compute(given: Mapping[str, Any]) -> list[tuple[Path, str]]:
    name, total = given.get("accelerator_type"), given.get("num_accelerators")
    if name is None or total is None or _accelerator_type(name):
        return []
    try:
        accelerators.check_total(name, total)
    except InvalidParameterValue as wrong:
        return [(("num_accelerators",), wrong.message)]
    return []


def _git(given: Mapping[str, Any]) -> list[tuple[Path, str]]:
    refs = [name for name in ("branch", "commit") if given.get(name) is not None]
    if len(refs) == 1 or given.get("remote"):
        return []
    return [((), "needs exactly one of branch and commit" + (", has both" if refs else ""))]


def _code_source(given: Mapping[str, Any]) -> list[tuple[Path, str]]:
    flat = [name for name in ("root_path", "include_paths", "git") if name in given]
    if "snapshot" in given:
        return [((name,), "belongs inside snapshot, or leave out snapshot and type") for name in flat]
    if "root_path" not in given:
        return [((), "'root_path' is missing")]
    return []


# ---------------------------------------------------------------- the keys


def _later(name: str, sentence: str, kind: Kind = Kind.STRING) -> Field:
    return Field(name, kind, sentence, unsupported=sentence)


_GIT = Field(
    "git",
    Kind.OBJECT,
    "Sends a commit of the local repository instead of the files as they are. Nothing is fetched from a remote.",
    object_check=_git,
    fields=(
        Field(
            "branch",
            Kind.STRING,
            "Local branch whose newest commit is sent. The working tree must be clean.",
            required="exactly one of branch and commit",
            rules="Letters, digits, `.`, `/`, `_`, `-`.",
            example="main",
            check=_pattern(_BRANCH, "may hold only letters, digits, '.', '/', '_' and '-'"),
        ),
        Field(
            "commit",
            Kind.STRING,
            "Commit that is sent; it must exist in the local repository.",
            required="exactly one of branch and commit",
            rules="4 to 64 hexadecimal digits.",
            example="1f0c9d2",
            check=_pattern(_COMMIT, "must be 4 to 64 hexadecimal digits"),
        ),
        Field(
            "remote",
            Kind.BOOLEAN,
            "Only `false` is accepted, for files written for older tools.",
            default="false",
            check=lambda value: (
                "must be false: commits are read from the local repository" if value else None
            ),
        ),
    ),
)

_SNAPSHOT_FIELDS = (
    Field(
        "root_path",
        Kind.STRING,
        "Local folder that is sent. Relative paths start at the folder of the YAML; `~` and `$VARIABLES` are expanded.",
        required=True,
        example=".",
        check=_not_blank,
    ),
    Field(
        "include_paths",
        Kind.STRINGS,
        "Sends only these files and folders of root_path. They keep their places.",
        rules="Relative, without `..`; at least one.",
        example="[train.py, lib]",
        check=lambda value: None if value else "must name at least one path",
        item_check=_include_path,
    ),
    _GIT,
    _later(
        "remote_volume",
        "code is kept by the server; uploading it to a volume is not supported by this version",
    ),
)

SCHEMA = Field(
    "config",
    Kind.OBJECT,
    "A workload: what to run, on what, and how it is recorded.",
    fields=(
        Field(
            "experiment_name",
            Kind.STRING,
            "Experiment that every attempt's run is recorded in. It is created if it does not exist.",
            required=True,
            rules="1 to 100 characters: letters, digits, `_`, `-`.",
            example="digits",
            check=_name,
        ),
        Field(
            "compute",
            Kind.OBJECT,
            "Accelerators that the workload runs on.",
            required=True,
            object_check=_compute,
            fields=(
                Field(
                    "accelerator_type",
                    Kind.STRING,
                    "Kind of node. The number before `x` is the accelerators of one node; `CPU` is a node without any.",
                    required=True,
                    rules="`CPU`, or `GPU_{per node}x{MODEL}` with the model of a GPU that the server has, such as "
                    + ", ".join(f"`{name}`" for name in accelerators.DOCUMENTED_TYPES)
                    + ". Case-sensitive.",
                    example="GPU_8xH100",
                    check=_accelerator_type,
                ),
                Field(
                    "num_accelerators",
                    Kind.INTEGER,
                    "Accelerators of all nodes together. `GPU_8xH100` with 16 is 2 nodes; `CPU` with 2 is 2 nodes.",
                    required=True,
                    rules=f"1 to {accelerators.ACCELERATORS_MAX}, a multiple of the accelerators per node.",
                    example="16",
                ),
                _later("pool_id", "reserved pools are not supported by this version"),
                _later("priority_class", "priorities are not supported by this version"),
            ),
        ),
        Field(
            "command",
            Kind.STRING,
            "Script that bash runs once on every node.",
            required=True,
            rules=f"Not blank, at most {COMMAND_MAX_LINES} lines.",
            example='python "$CODE_SOURCE_PATH/train.py"',
            check=_command,
        ),
        Field(
            "environment",
            Kind.OBJECT,
            "Python environment of the command.",
            fields=(
                Field(
                    "version",
                    Kind.STRING,
                    "Environment version. This server has one base environment, its own Python, "
                    "and says so when a version is asked for.",
                    rules="A number such as `6`, or `databricks_ai_v5` and later.",
                    example='"6"',
                    check=_pattern(_VERSION, "must be a number such as 6, or databricks_ai_vN with N from 5"),
                ),
                Field(
                    "dependencies",
                    Kind.STRINGS,
                    "Packages installed before the command starts, as pip requirements. "
                    "`-r FILE` is replaced by the lines of that local file.",
                    example="[scikit-learn, torch==2.6.0]",
                    item_check=_requirement,
                ),
                _later("unity_catalog_image", "container images are not supported by this version"),
                _later("docker_image", "container images are not supported by this version", Kind.OBJECT),
            ),
        ),
        Field(
            "code_source",
            Kind.OBJECT,
            "Local code that is sent along. On the node it is the folder `$CODE_SOURCE_PATH`.",
            object_check=_code_source,
            fields=(
                Field(
                    "type",
                    Kind.STRING,
                    "Only `snapshot`; goes with the key snapshot.",
                    check=lambda value: None if value == "snapshot" else "must be 'snapshot'",
                ),
                Field(
                    "snapshot",
                    Kind.OBJECT,
                    "The same keys one level deeper, as older files have them.",
                    fields=_SNAPSHOT_FIELDS,
                ),
                # root_path is not required of the flat form alone: object_check knows about snapshot
                Field(
                    "root_path",
                    Kind.STRING,
                    _SNAPSHOT_FIELDS[0].help,
                    required="unless snapshot is given",
                    example=".",
                    check=_not_blank,
                ),
                *_SNAPSHOT_FIELDS[1:],
            ),
        ),
        Field(
            "env_variables",
            Kind.STRING_MAP,
            "Environment variables of the command, on every node.",
            rules="Names of letters, digits and `_`, not starting with a digit.",
            example="{OMP_NUM_THREADS: 4}",
            item_check=_variable,
        ),
        Field(
            "parameters",
            Kind.FREE_MAP,
            "Hyperparameters of any shape. On the node they are a YAML file at `$HYPERPARAMETERS_PATH`.",
            example="{learning_rate: 1e-3, epochs: 10}",
        ),
        Field(
            "max_retries",
            Kind.INTEGER,
            "Further attempts after a failed one. 0 means the command is never repeated.",
            default=str(DEFAULT_MAX_RETRIES),
            rules=f"0 to {RETRIES_MAX}.",
            example="0",
            check=_within(0, RETRIES_MAX),
        ),
        Field(
            "timeout_minutes",
            Kind.INTEGER,
            "Longest time of one attempt. After that it is stopped and ends as TIMEDOUT.",
            default="no limit",
            rules=f"1 to {TIMEOUT_MINUTES_MAX:,}.",
            example="60",
            check=_within(1, TIMEOUT_MINUTES_MAX),
        ),
        Field(
            "idempotency_token",
            Kind.STRING,
            "Submitting again with the same token gives the job run that exists. `--idempotency-key` takes precedence.",
            default="a new one for each submission",
            rules=f"Not blank, at most {TOKEN_MAX_CHARACTERS} characters.",
            check=_token,
        ),
        Field(
            "mlflow_run_name",
            Kind.STRING,
            "Name of the attempts' runs.",
            default="experiment_name",
            rules="1 to 100 characters: letters, digits, `_`, `-`.",
            example="baseline-lr3e5",
            check=_name,
        ),
        Field(
            "mlflow_artifact_location",
            Kind.STRING,
            "Where a new experiment keeps its artifacts. "
            "For an existing experiment, leave it out or repeat its location.",
            default="the server's own artifact store",
            rules="`/Volumes/<catalog>/<schema>/<volume>[/folders]`.",
            example="/Volumes/main/default/mlflow-artifacts/my-training",
            check=_artifact_location,
        ),
        _later("secrets", "secrets are not supported by this version", Kind.STRING_MAP),
        _later("permissions", "permissions are not supported by this version"),
        _later("containers", "containers are not supported by this version"),
        _later(
            "mlflow_experiment_directory",
            "experiment folders are not supported by this version; the experiment is named by experiment_name alone",
        ),
        _later("usage_policy_name", "usage policies are not supported by this version"),
        _later("usage_policy_id", "usage policies are not supported by this version"),
    ),
)

# Keys of older tools, by the full path under which people still write them.
RETIRED = {
    "_bases_": "files cannot build on other files; write the keys here, or use --override",
    "priority": "priorities are not supported by this version",
    "compute.node_pool_id": "reserved pools are not supported by this version",
    "compute.pool_name": "reserved pools are not supported by this version",
}
