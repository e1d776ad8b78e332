"""hyperparameters.yaml means the same to readers of YAML 1.1 and 1.2."""

from __future__ import annotations

import io
import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from contrail.agent.yaml_text import dump

texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=40)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False), texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)


def read_1_1(text):
    return yaml.safe_load(text)


def read_1_2(text):
    return YAML(typ="safe", pure=True).load(io.StringIO(text))


@pytest.mark.parametrize("read", [read_1_1, read_1_2])
@given(value=values)
def test_what_is_written_is_read(read, value):
    """Every value comes back with its type."""
    found = read(dump(value))
    assert found == value
    assert repr(found) == repr(value)


@pytest.mark.parametrize("read", [read_1_1, read_1_2])
@pytest.mark.parametrize("value", [1e-5, 1e22, 3e-4, 1.0, -0.0, 1e300, 5e-324, math.inf, -math.inf])
def test_floats_are_floats(read, value):
    """A learning rate such as 1e-5 is a number for both."""
    found = read(dump({"lr": value}))["lr"]
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize("read", [read_1_1, read_1_2])
def test_nan_is_a_float(read):
    """NaN stays NaN."""
    assert math.isnan(read(dump({"x": math.nan}))["x"])


def test_it_reads_well():
    """Plain words are not quoted, nesting is by two spaces."""
    value = {"optimizer": "adamw", "lr": 1e-5, "on": "on", "layers": [{"size": 3}, [1, 2]], "empty": {}}
    assert dump(value) == (
        'optimizer: adamw\nlr: 1.0e-05\n"on": "on"\nlayers:\n  - size: 3\n  - - 1\n    - 2\nempty: {}\n'
    )
