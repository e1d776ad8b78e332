"""Page tokens."""

from __future__ import annotations

import base64
import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrail.model.errors import InvalidParameterValue
from contrail.wire import page_tokens

_POSITIONS = st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.text())


@given(_POSITIONS)
def test_a_token_gives_back_its_position(position: list[page_tokens.Position]) -> None:
    """Also NaN, infinities and half surrogates."""
    found = page_tokens.decode("runs", page_tokens.encode("runs", position))
    assert len(found) == len(position)
    for one, other in zip(found, position, strict=True):
        assert one == other or (isinstance(one, float) and math.isnan(one))


def test_a_token_belongs_to_one_listing() -> None:
    """A token of another listing would point anywhere."""
    with pytest.raises(InvalidParameterValue, match="Invalid page token"):
        page_tokens.decode("experiments", page_tokens.encode("runs", ["a"]))


@pytest.mark.parametrize(
    "token",
    [
        "!!!",
        "abcde",
        "aGVsbG8=",
        "e30=",
        "WzFd",
        "eyJvZmZzZXQiOiA1fQ==",
        "=",
        "한",
        base64.b64encode(b'["runs",{}]').decode(),
        base64.b64encode(b"[" * 90000).decode(),
    ],
)
def test_a_made_up_token_is_refused(token: str) -> None:
    """Tokens are opaque; garbage is a client's mistake, not a server's failure."""
    with pytest.raises(InvalidParameterValue, match="Invalid page token"):
        page_tokens.decode("runs", token)


@given(st.text())
def test_any_text_is_a_token_or_refused(token: str) -> None:
    """Whatever it is."""
    with contextlib.suppress(InvalidParameterValue):
        page_tokens.decode("runs", token)
