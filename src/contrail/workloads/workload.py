"""A validated workload, as frozen data."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from contrail.model.jobs import Accelerators
from contrail.workloads import accelerators
from contrail.workloads.document import Document, parse
from contrail.workloads.problems import Problem, WorkloadInvalid, dotted
from contrail.workloads.schema import DEFAULT_MAX_RETRIES, requirements_file, volume_path
from contrail.workloads.validation import check


@dataclass(frozen=True, slots=True)
class CodeSource:
    """Local code to send. At most one of `git_branch` and `git_commit` is set."""

    root_path: str
    include_paths: tuple[str, ...] = ()
    git_branch: str | None = None
    git_commit: str | None = None

    def root(self, base_dir: Path) -> Path:
        """The folder that is meant, seen from the folder of the YAML."""
        text = os.path.expandvars(self.root_path).removeprefix("project_root/")
        return (base_dir / Path(text).expanduser()).resolve()


@dataclass(frozen=True, slots=True)
class Workload:
    """What to run, on what, and how it is recorded. `notices` are sentences that the submitter should read.

    `timeout_s` limits one attempt. `parameters` hold JSON's types (and NaN and infinities).
    """

    experiment_name: str
    accelerators: Accelerators
    command: str
    mlflow_run_name: str | None = None
    mlflow_artifact_location: str | None = None
    environment_version: str | None = None
    dependencies: tuple[str, ...] = ()
    code_source: CodeSource | None = None
    env_variables: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] | None = None
    max_retries: int = DEFAULT_MAX_RETRIES
    timeout_s: float | None = None
    idempotency_token: str | None = None
    notices: tuple[str, ...] = ()

    @property
    def run_name(self) -> str:
        """Name of the attempts' runs."""
        return self.mlflow_run_name or self.experiment_name

    def to_data(self) -> dict[str, Any]:
        """The workload as JSON-able data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_data`, also after a journey through JSON."""
        code = data.get("code_source")
        return cls(
            **{
                **data,
                "accelerators": Accelerators(**data["accelerators"]),
                "code_source": code and CodeSource(**{**code, "include_paths": tuple(code["include_paths"])}),
                "dependencies": tuple(data["dependencies"]),
                "notices": tuple(data["notices"]),
            }
        )

    def to_json(self) -> str:
        """The workload as JSON text."""
        return json.dumps(self.to_data(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`."""
        return cls.from_data(json.loads(text))


def load(text: str, *, source: str = "workload", base_dir: Path | None = None) -> Workload:
    """The workload that a YAML text describes.

    `source` names it in messages. With `base_dir` (the folder of the file) local paths are checked too; a
    server passes None, because it does not see the submitter's files.
    Raises `WorkloadInvalid` with all problems.
    """
    return from_document(parse(text, source), base_dir=base_dir)


def from_document(document: Document, *, base_dir: Path | None = None) -> Workload:
    """As `load`, for a text that is parsed already."""
    checked = check(document)
    problems = list(checked.problems)
    if not problems:
        workload = _build(checked.values)
        problems = _path_problems(workload, document, base_dir)
        if not problems:
            return workload
    raise WorkloadInvalid(document.source, problems)


def _build(values: Mapping[str, Any]) -> Workload:
    compute, environment = values["compute"], values.get("environment", {})
    minutes = values.get("timeout_minutes")
    version = environment.get("version")
    return Workload(
        experiment_name=values["experiment_name"],
        accelerators=accelerators.parse(compute["accelerator_type"], compute["num_accelerators"]),
        command=values["command"],
        mlflow_run_name=values.get("mlflow_run_name"),
        mlflow_artifact_location=volume_path(values.get("mlflow_artifact_location", "")),
        environment_version=version.lower() if version else None,
        dependencies=tuple(environment.get("dependencies", ())),
        code_source=_code_source(values.get("code_source")),
        env_variables=values.get("env_variables", {}),
        parameters=values.get("parameters"),
        max_retries=values.get("max_retries", DEFAULT_MAX_RETRIES),
        timeout_s=minutes * 60.0 if minutes is not None else None,
        idempotency_token=values.get("idempotency_token"),
        notices=_notices(version),
    )


def _code_source(given: Mapping[str, Any] | None) -> CodeSource | None:
    if given is None:
        return None
    snapshot = given.get("snapshot", given)
    git = snapshot.get("git", {})
    return CodeSource(
        root_path=snapshot["root_path"],
        include_paths=tuple(os.path.normpath(path) for path in snapshot.get("include_paths", ())),
        git_branch=git.get("branch"),
        git_commit=git.get("commit"),
    )


def _notices(version: str | None) -> tuple[str, ...]:
    if version is None:
        return ()
    return (
        f"environment.version {version} is not offered by this server: the command gets the server's own Python, "
        "with environment.dependencies added",
    )


def _path_problems(workload: Workload, document: Document, base_dir: Path | None) -> list[Problem]:
    """What is wrong with the paths of a workload whose values are right."""
    problems = [
        _problem(document, ("environment", "dependencies", index), wrong)
        for index, entry in enumerate(workload.dependencies)
        if (file := requirements_file(entry)) and (wrong := _file_problem(file, base_dir))
    ]
    if workload.code_source and base_dir:
        root = workload.code_source.root(base_dir)
        if not root.is_dir():
            inside = ("snapshot",) if "snapshot" in document.data["code_source"] else ()
            wrong = f"'{root}' is not a folder" if root.exists() else f"there is no folder '{root}'"
            problems.append(_problem(document, ("code_source", *inside, "root_path"), wrong))
    return sorted(problems, key=lambda problem: problem.line or 0)


def _file_problem(file: str, base_dir: Path | None) -> str | None:
    if base_dir is None:
        return "requirements files are read by `contrail run`; send the lines of the file instead"
    return None if (base_dir / file).is_file() else f"there is no file '{base_dir / file}'"


def _problem(document: Document, path: Sequence[str | int], message: str) -> Problem:
    return Problem(dotted(tuple(path)), document.line(tuple(path)), message)
