"""What a workload YAML may say, and what is said about one that says something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrail.model.jobs import Accelerators
from contrail.workloads import Workload, WorkloadInvalid, load
from contrail.workloads.help import keys
from contrail.workloads.problems import Problem, nearest

SMALLEST = "experiment_name: digits\ncompute: {accelerator_type: CPU, num_accelerators: 1}\ncommand: python train.py\n"


def problems(text: str, **options: Any) -> list[tuple[str, int | None, str]]:
    with pytest.raises(WorkloadInvalid) as refused:
        load(text, source="train.yaml", **options)
    return [(problem.path, problem.line, problem.message) for problem in refused.value.problems]


def the_problem(text: str, **options: Any) -> tuple[str, int | None, str]:
    found = problems(text, **options)
    assert len(found) == 1, found
    return found[0]


def test_smallest_workload_has_the_documented_defaults() -> None:
    """Three keys are enough; a failed attempt is repeated 3 times, nothing else is limited."""
    workload = load(SMALLEST)
    assert workload == Workload(
        experiment_name="digits",
        accelerators=Accelerators("CPU", 1, 1, None),
        command="python train.py",
        max_retries=3,
    )
    assert (workload.run_name, workload.timeout_s, workload.notices) == ("digits", None, ())


def test_every_key_arrives() -> None:
    """Each documented key ends up in the workload, in its own type."""
    workload = load(
        """
experiment_name: my-training
mlflow_run_name: baseline-lr3e5
mlflow_artifact_location: dbfs:/Volumes/main/default/artifacts/my-training/
compute: {accelerator_type: GPU_8xH100, num_accelerators: 16}
command: |
  cd "$CODE_SOURCE_PATH"
  torchrun train.py
environment:
  version: databricks_AI_v5
  dependencies: [transformers, "torch==2.6.0"]
code_source: {root_path: src/.., include_paths: [a.py, ./lib], git: {branch: feature/x-1}}
env_variables: {NCCL_DEBUG: INFO, OMP_NUM_THREADS: 08, FLAG: true, EMPTY: ''}
parameters: {lr: 1e-4, layers: [1, 2], nested: {on: yes, none: ~}, when: 2024-01-31}
max_retries: 0
timeout_minutes: 90
idempotency_token: one
"""
    )
    assert workload.mlflow_run_name == workload.run_name == "baseline-lr3e5"
    assert workload.mlflow_artifact_location == "/Volumes/main/default/artifacts/my-training"
    assert (workload.accelerators.nodes, workload.accelerators.model) == (2, "H100")
    assert workload.command == 'cd "$CODE_SOURCE_PATH"\ntorchrun train.py\n'
    assert workload.environment_version == "databricks_ai_v5"
    assert workload.dependencies == ("transformers", "torch==2.6.0")
    assert workload.code_source is not None
    assert workload.code_source.include_paths == ("a.py", "lib")
    assert workload.code_source.git_branch == "feature/x-1"
    assert workload.env_variables == {
        "NCCL_DEBUG": "INFO",
        "OMP_NUM_THREADS": "08",
        "FLAG": "true",
        "EMPTY": "",
    }
    assert workload.parameters == {
        "lr": 0.0001,
        "layers": [1, 2],
        "nested": {"on": "yes", "none": None},
        "when": "2024-01-31",
    }
    assert (workload.max_retries, workload.timeout_s, workload.idempotency_token) == (0, 5400.0, "one")
    assert "environment.version" in workload.notices[0]


def test_json_keeps_the_workload() -> None:
    """What the server stores gives the same workload again, non-finite parameters included."""
    workload = load(
        SMALLEST
        + "parameters: {clip: .inf, lr: 1e-4}\ncode_source: {root_path: ., include_paths: [a]}\n"
        + "environment: {version: 6, dependencies: [numpy]}\ntimeout_minutes: 1\n"
    )
    again = Workload.from_json(workload.to_json())
    assert again == workload
    assert Workload.from_data(json.loads(json.dumps(workload.to_data()))) == workload


def test_yaml_1_2_numbers() -> None:
    """`1e-4` is a number, `yes` and `012` are not what YAML 1.1 made of them."""
    workload = load(
        SMALLEST + "parameters: {a: 1e-4, b: yes, c: 012, d: 0o17, e: 0x1F, f: 1_000, g: -3, h: '1e-4'}\n"
    )
    assert workload.parameters == {
        "a": 0.0001,
        "b": "yes",
        "c": 12,
        "d": 15,
        "e": 31,
        "f": 1000,
        "g": -3,
        "h": "1e-4",
    }


def test_all_problems_come_at_once_with_their_lines() -> None:
    """One look at the message is enough to mend the whole file."""
    found = problems(
        "experiment_name: my.training\n"
        "compute:\n"
        "  accelerator_type: GPU_8xH100\n"
        "  num_accelerators: 12\n"
        "max_retriez: 1\n"
        "timeout_minutes: 0\n"
    )
    assert [(path, line) for path, line, _ in found] == [
        ("experiment_name", 1),
        ("", 1),
        ("compute.num_accelerators", 4),
        ("max_retriez", 5),
        ("timeout_minutes", 6),
    ]
    assert found[1][2] == "'command' is missing"
    assert "did you mean 'max_retries'?" in found[3][2]


BAD_VALUES = [
    ("experiment_name: ''", "experiment_name", "must not be empty"),
    ("experiment_name: a b", "experiment_name", "may hold only"),
    ("experiment_name: /Users/x/y", "experiment_name", "may hold only"),
    (f"experiment_name: {'a' * 101}", "experiment_name", "at most 100 characters"),
    ("experiment_name: [a]", "experiment_name", "is a list"),
    ("experiment_name:", "experiment_name", "has no value"),
    ("command: '  '", "command", "must not be empty"),
    ("command: {a: b}", "command", "must be a text"),
    ('command: "' + r"x\n" * 1000 + '"', "command", "at most 1000 lines"),
    ("compute: CPU", "compute", "must be a map"),
    ("compute: {accelerator_type: CPU}", "compute", "'num_accelerators' is missing"),
    (
        "compute: {accelerator_type: H100, num_accelerators: 1}",
        "compute.accelerator_type",
        "GPU_<per node>x<model>",
    ),
    (
        "compute: {accelerator_type: gpu_1xA10, num_accelerators: 1}",
        "compute.accelerator_type",
        "is no accelerator",
    ),
    (
        "compute: {accelerator_type: GPU_0xA10, num_accelerators: 1}",
        "compute.accelerator_type",
        "is no accelerator",
    ),
    ("compute: {accelerator_type: CPU, num_accelerators: 0}", "compute.num_accelerators", "from 1 to 1024"),
    (
        "compute: {accelerator_type: CPU, num_accelerators: 1025}",
        "compute.num_accelerators",
        "from 1 to 1024",
    ),
    ("compute: {accelerator_type: CPU, num_accelerators: 1.5}", "compute.num_accelerators", "whole number"),
    ("compute: {accelerator_type: CPU, num_accelerators: true}", "compute.num_accelerators", "whole number"),
    ("compute: {accelerator_type: CPU, num_accelerators: 1, pool_id: p}", "compute.pool_id", "not supported"),
    (
        "compute: {accelerator_type: CPU, num_accelerators: 1, pool_name: p}",
        "compute.pool_name",
        "no longer a key",
    ),
    ("max_retries: -1", "max_retries", "from 0 to 1000"),
    ("max_retries: '3'", "max_retries", "is the text '3'"),
    ("timeout_minutes: 1e3", "timeout_minutes", "whole number"),
    ("idempotency_token: ' '", "idempotency_token", "must not be blank"),
    (f"idempotency_token: {'x' * 65}", "idempotency_token", "at most 64 characters"),
    ("mlflow_run_name: 'lr 3e-5'", "mlflow_run_name", "may hold only"),
    ("mlflow_artifact_location: /tmp/x", "mlflow_artifact_location", "/Volumes/"),
    ("mlflow_artifact_location: /Volumes/a/b", "mlflow_artifact_location", "/Volumes/"),
    ("mlflow_artifact_location: /Volumes/a/b/c/../../../etc", "mlflow_artifact_location", "/Volumes/"),
    ("mlflow_artifact_location: s3://bucket/x", "mlflow_artifact_location", "/Volumes/"),
    ("environment: {dependencies: requirements.txt}", "environment.dependencies", "must be a list"),
    ("environment: {dependencies: [numpy, '']}", "environment.dependencies[1]", "must not be blank"),
    ("environment: {dependencies: [{numpy: 1}]}", "environment.dependencies[0]", "must be a text"),
    (
        "environment: {dependencies: ['--index-url x']}",
        "environment.dependencies[0]",
        "must be a requirement",
    ),
    ("environment: {version: latest}", "environment.version", "must be a number"),
    ("environment: {version: databricks_ai_v4}", "environment.version", "must be a number"),
    ("environment: {docker_image: {url: x}}", "environment.docker_image", "not supported"),
    ("code_source: .", "code_source", "must be a map"),
    ("code_source: {}", "code_source", "'root_path' is missing"),
    ("code_source: {type: git, snapshot: {root_path: .}}", "code_source.type", "must be 'snapshot'"),
    (
        "code_source: {snapshot: {root_path: .}, root_path: .}",
        "code_source.root_path",
        "belongs inside snapshot",
    ),
    ("code_source: {root_path: ., include_paths: []}", "code_source.include_paths", "at least one"),
    (
        "code_source: {root_path: ., include_paths: [../x]}",
        "code_source.include_paths[0]",
        "inside root_path",
    ),
    (
        "code_source: {root_path: ., include_paths: [/etc]}",
        "code_source.include_paths[0]",
        "inside root_path",
    ),
    ("code_source: {root_path: ., git: {}}", "code_source.git", "exactly one of"),
    ("code_source: {root_path: ., git: {branch: a, commit: abcd}}", "code_source.git", "has both"),
    ("code_source: {root_path: ., git: {branch: --exec}}", "code_source.git.branch", "may hold only"),
    ("code_source: {root_path: ., git: {commit: HEAD}}", "code_source.git.commit", "hexadecimal"),
    (
        "code_source: {root_path: ., git: {branch: a, remote: true}}",
        "code_source.git.remote",
        "must be false",
    ),
    ("code_source: {root_path: ., remote_volume: /Volumes/a}", "code_source.remote_volume", "not supported"),
    ("env_variables: {1X: a}", "env_variables.1X", "not starting with a digit"),
    ("env_variables: {A-B: a}", "env_variables.A-B", "cannot name a variable"),
    ("env_variables: {A: }", "env_variables.A", "has no value"),
    ("env_variables: [A]", "env_variables", "must be a map"),
    ("parameters: 3", "parameters", "must be a map"),
    ("parameters: {a: !!python/object x}", "parameters.a", "is not supported"),
    ("secrets: {A: b/c}", "secrets", "not supported by this version"),
    ("permissions: []", "permissions", "not supported by this version"),
    ("containers: []", "containers", "not supported by this version"),
    (
        "mlflow_experiment_directory: /Workspace/x",
        "mlflow_experiment_directory",
        "not supported by this version",
    ),
    ("usage_policy_id: x", "usage_policy_id", "not supported by this version"),
    ("_bases_: [a.yaml]", "_bases_", "no longer a key"),
    ("priority: 100", "priority", "no longer a key"),
    ("schedule: {}", "schedule", "there is no key 'schedule'"),
]


@pytest.mark.parametrize(("line", "path", "message"), BAD_VALUES)
def test_bad_value_is_named(line: str, path: str, message: str) -> None:
    """A wrong value gives one problem that names the key, the line and what is allowed."""
    key = line.partition(":")[0]
    kept = "".join(row for row in SMALLEST.splitlines(keepends=True) if not row.startswith(key + ":"))
    found = the_problem(kept + line + "\n")
    assert found[0] == path
    assert message in found[2]
    assert found[1] == kept.count("\n") + 1


NOT_YAML = [
    ("", None, "the file is empty"),
    ("# nothing\n", None, "the file is empty"),
    ("- a\n", 1, "must be a map"),
    ("just text", 1, "must be a map"),
    ("a: [1\n", 2, "not valid YAML"),
    ("a: 1\n\tb: 2\n", 2, "not valid YAML"),
    ("a: *nowhere\n", 1, "not valid YAML"),
    ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
    ("a: \x00\n", None, "not valid YAML"),
    ("[" * 3000, None, "nested too deeply"),
    ("a: " + "[" * 60 + "]" * 60, None, "nested more than 50"),
    ("a: &a [x, *a]\n", None, "nested more than 50"),
    ("x" * (1024 * 1024 + 1), None, "larger than"),
]


@pytest.mark.parametrize(("text", "line", "message"), NOT_YAML)
def test_what_is_not_yaml_is_refused_with_its_line(text: str, line: int | None, message: str) -> None:
    """Text that cannot be read at all gives one sentence, with the line where there is one."""
    found = the_problem(text)
    assert message in found[2]
    assert found[1] == line


def test_aliases_cannot_blow_up() -> None:
    """A few lines of nested aliases are refused instead of filling the memory."""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
    )
    assert "more than 100,000 values" in the_problem(bomb)[2]


def test_keys_given_twice_are_refused() -> None:
    """The second of two equal keys is named, with the place of the first."""
    assert the_problem(SMALLEST + "command: again\n") == ("command", 4, "is given twice, first on line 3")


def test_merge_keys_and_anchors_work() -> None:
    """`<<` and aliases are YAML; the map's own keys win, wherever `<<` stands."""
    workload = load(
        "experiment_name: a\ncommand: x\nparameters:\n  base: &base {lr: 1, wd: 2}\n"
        "  big: {lr: 5, <<: *base}\ncompute: {accelerator_type: CPU, num_accelerators: 1}\n"
    )
    assert workload.parameters == {"base": {"lr": 1, "wd": 2}, "big": {"wd": 2, "lr": 5}}


def test_misspelt_required_key_is_one_problem() -> None:
    """A typo in a required key is not reported a second time as missing."""
    path, line, message = the_problem(SMALLEST.replace("command", "comand"))
    assert (path, line) == ("comand", 3)
    assert "did you mean 'command'?" in message


def test_local_paths_are_checked_only_where_they_are(tmp_path: Path) -> None:
    """With the YAML's folder known, missing folders and files are problems; a server does not look."""
    text = SMALLEST + "code_source: {root_path: nowhere}\nenvironment: {dependencies: [numpy, -r req.txt]}\n"
    found = problems(text, base_dir=tmp_path)
    assert [(path, line) for path, line, _ in found] == [
        ("code_source.root_path", 4),
        ("environment.dependencies[1]", 5),
    ]
    assert load(SMALLEST + "code_source: {root_path: nowhere}\n").code_source is not None
    assert "contrail run" in the_problem(SMALLEST + "environment: {dependencies: [-r req.txt]}\n")[2]


def test_root_path_starts_at_the_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths, `~`, variables and `project_root/` are understood."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROJECT", "proj")
    for written, meant in [
        (".", tmp_path),
        ("a/../b", tmp_path / "b"),
        ("~/x", tmp_path / "home" / "x"),
        ("$PROJECT/src", tmp_path / "proj" / "src"),
        ("project_root/src", tmp_path / "src"),
        (str(tmp_path / "abs"), tmp_path / "abs"),
    ]:
        source = load(SMALLEST + f"code_source: {{root_path: '{written}'}}\n").code_source
        assert source is not None
        assert source.root(tmp_path) == meant.resolve()


def test_every_key_has_help() -> None:
    """No key of the schema is undocumented."""
    for path, field in keys():
        assert field.help, path


def test_nearest_names() -> None:
    """A name is suggested when it is near, or is the beginning of one."""
    names = ("max_retries", "command", "compute")
    assert nearest("max_retriez", names) == "max_retries"
    assert nearest("max", names) == "max_retries"
    assert nearest("zzz", names) is None


def loaded_or_refused(text: str) -> None:
    found: tuple[Problem, ...] = ()
    try:
        load(text)
    except WorkloadInvalid as refused:
        found = refused.problems or (Problem("", None, ""),)
    assert all(problem.message for problem in found)


@given(st.text(max_size=200))
def test_any_text_is_loaded_or_refused(text: str) -> None:
    """Whatever the text, there is a workload or a list of problems; nothing else is raised."""
    loaded_or_refused(text)


_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10))
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([path[0] for path, _ in keys() if len(path) == 1]), _values))
def test_any_values_are_loaded_or_refused(data: dict[str, Any]) -> None:
    """Values of any type at any key give a workload or a list of problems; nothing else is raised."""
    loaded_or_refused(json.dumps(data, allow_nan=False) if _finite(data) else str(data))


def _finite(data: Any) -> bool:
    try:
        json.dumps(data, allow_nan=False)
    except ValueError:
        return False
    return True
