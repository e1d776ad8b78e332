"""Settings say which value is wrong, and what it should be."""

from __future__ import annotations

import pytest

from contrail.model.errors import InvalidParameterValue
from contrail.model.settings import Settings

WRONG = [
    ("port", "x", "CONTRAIL_PORT: 'x' is not a whole number"),
    ("port", "80.5", "CONTRAIL_PORT: '80.5' is not a whole number"),
    ("port", "-1", "CONTRAIL_PORT: must be from 0 to 65535, is -1"),
    ("port", "99999", "CONTRAIL_PORT: must be from 0 to 65535, is 99999"),
    ("reader_threads", "-8", "CONTRAIL_READER_THREADS: must be 0 or more, is -8"),
    ("retry_delay_s", "soon", "CONTRAIL_RETRY_DELAY_S: 'soon' is not a number"),
    ("retry_delay_s", "nan", "CONTRAIL_RETRY_DELAY_S: must be 0 or more, is nan"),
    ("retry_delay_s", "inf", "CONTRAIL_RETRY_DELAY_S: must be 0 or more, is inf"),
    ("truncate_long_values", "perhaps", "CONTRAIL_TRUNCATE_LONG_VALUES: 'perhaps' is not true or false"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_a_wrong_value_is_named(name: str, value: str, message: str) -> None:
    """A value that cannot be meant is refused in the user's words, from the environment and from an option."""
    for given, environ in (({name: value}, {}), ({}, {f"CONTRAIL_{name.upper()}": value})):
        with pytest.raises(InvalidParameterValue) as refused:
            Settings(given, environ)
        assert refused.value.message == message


def test_the_edges_are_allowed() -> None:
    """Zero and the highest port are values like others."""
    settings = Settings({"port": "65535", "retry_delay_s": "0"}, {})
    assert (settings.port, settings.retry_delay_s) == (65_535, 0.0)
