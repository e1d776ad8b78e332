"""`--override`: values of the YAML changed before it is validated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrail.workloads import WorkloadInvalid, apply_overrides, load, override
from contrail.workloads.document import parse
from contrail.workloads.workload import from_document

TEXT = """# the training
experiment_name: digits
compute: {accelerator_type: CPU, num_accelerators: 1}  # one node
command: |
  echo one

  echo two
parameters:
  lr: 1e-3  # rate
  model: {layers: 2}
"""


def refusal(*overrides: str) -> str:
    with pytest.raises(WorkloadInvalid) as refused:
        apply_overrides(TEXT, overrides)
    return str(refused.value)


def test_values_are_yaml_and_comments_stay() -> None:
    """`8` becomes a number, `[a, b]` a list; missing parents are made; the rest of the file is kept."""
    text, changes = apply_overrides(
        TEXT,
        [
            "compute.num_accelerators=8",
            "parameters.lr=1e-4",
            "parameters.data.files=[a, b]",
            "env_variables.DEBUG=true",
            "config.max_retries=0",
        ],
    )
    workload = load(text)
    assert workload.accelerators.total == 8
    assert workload.parameters == {"lr": 0.0001, "model": {"layers": 2}, "data": {"files": ["a", "b"]}}
    assert workload.env_variables == {"DEBUG": "true"}
    assert workload.max_retries == 0
    assert workload.command == "echo one\n\necho two\n"
    assert "# the training" in text
    assert "# one node" in text
    assert [str(change) for change in changes] == [
        "changing compute.num_accelerators from 1 to 8",
        "changing parameters.lr from 0.001 to 0.0001",
        "setting parameters.data.files to ['a', 'b']",
        "setting env_variables.DEBUG to true",
        "setting max_retries to 0",
    ]


def test_value_may_hold_equals_signs_and_be_empty() -> None:
    """Only the first `=` separates; an empty value is YAML's null."""
    text, _ = apply_overrides(TEXT, ["parameters.url=https://x/?a=b", "parameters.lr="])
    parameters = load(text).parameters
    assert parameters is not None
    assert (parameters["url"], parameters["lr"]) == ("https://x/?a=b", None)


def test_bad_overrides_are_all_named() -> None:
    """Unknown names come with the near one and the list; every bad override is reported at once."""
    message = refusal("compute.num_acelerators=2", "command.x=1", "max_retries", "experiment_name=[")
    assert "did you mean 'num_accelerators'?" in message
    assert "available: accelerator_type, num_accelerators" in message
    assert "command is a text, nothing is below it" in message
    assert "'max_retries' must have the form FIELD.PATH=VALUE" in message
    assert "not valid YAML" in message


def test_file_name_in_place_of_an_override_gets_a_hint() -> None:
    """`--override train.yaml` is a slip that is recognised."""
    assert "a file is given with -f" in refusal("train.yaml")


def test_problems_keep_the_lines_of_the_original_file() -> None:
    """Lines of untouched values are the file's own; overridden values have none."""
    document, _ = override(
        parse(TEXT + "timeout_minutes: 0\n", "train.yaml"), ["max_retries=-1", "parameters.a=1"]
    )
    with pytest.raises(WorkloadInvalid) as refused:
        from_document(document)
    found = {problem.path: problem.line for problem in refused.value.problems}
    assert found["timeout_minutes"] == 11


def test_an_alias_elsewhere_does_not_change_along() -> None:
    """A value shared by an alias is changed only where the override says."""
    text = (
        "experiment_name: a\ncommand: x\n"
        "compute: &c {accelerator_type: CPU, num_accelerators: 1}\nparameters: {c: *c}\n"
    )
    merged, _ = apply_overrides(text, ["compute.num_accelerators=2"])
    workload = load(merged)
    assert workload.accelerators.total == 2
    assert workload.parameters == {"c": {"accelerator_type": "CPU", "num_accelerators": 1}}


_numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), _numbers, min_size=1, max_size=5))
def test_every_override_reads_back(values: dict[str, float]) -> None:
    """After any overrides the text means exactly what was set, and nothing else changed."""
    text, _ = apply_overrides(TEXT, [f"parameters.{name}={value!r}" for name, value in values.items()])
    workload = load(text)
    before = load(TEXT)
    assert before.parameters is not None
    assert workload.parameters == {**before.parameters, **values}
    assert workload.command == before.command
