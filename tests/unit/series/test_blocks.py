"""Blocks of metric points."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrail.series import blocks
from contrail.series.points import Points

INT64 = st.integers(-(2**63), 2**63 - 1)
KEY = st.integers(0, 2**32 - 1)
POINT = st.tuples(KEY, INT64, INT64, st.floats())


def pack(rows: list[tuple[int, int, int, float]]) -> bytes:
    keys, steps, times, values = zip(*rows, strict=True) if rows else ((), (), (), ())
    return blocks.encode(array("I", keys), array("q", steps), array("q", times), array("d", values))


def unpack(keys: np.ndarray, points: Points) -> list[tuple[int, int, int, float]]:
    columns = (keys, points.steps, points.timestamps_ms, points.values)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def same(one: list[tuple[int, int, int, float]], other: list[tuple[int, int, int, float]]) -> bool:
    """Equal, with NaN equal to itself whatever its payload."""
    plain = [[(*row[:3], "nan" if math.isnan(row[3]) else row[3]) for row in rows] for rows in (one, other)]
    return plain[0] == plain[1]


@given(st.lists(st.lists(POINT, max_size=8), max_size=6))
def test_points_come_back_in_order(groups: list[list[tuple[int, int, int, float]]]) -> None:
    """Any points survive a round trip through any number of blocks, in the order in which they went in."""
    found = unpack(*blocks.decode([pack(rows) for rows in groups]))
    assert same(found, [row for rows in groups for row in rows])


@given(st.lists(POINT, min_size=1, max_size=20))
def test_single_points_are_ordinary_blocks(rows: list[tuple[int, int, int, float]]) -> None:
    """The fast encoding of one point gives the same bytes as the general one."""
    assert [blocks.encode_one(*row) for row in rows] == [pack([row]) for row in rows]
    assert same(unpack(*blocks.decode([blocks.encode_one(*row) for row in rows])), rows)


def test_a_key_shared_by_all_points_is_stored_once() -> None:
    """A block with one key costs 24 bytes a point."""
    rows = [(7, step, 1_000 + step, 0.5) for step in range(1_000)]
    assert len(pack(rows)) == 12 + 24 * 1_000


@pytest.mark.parametrize(
    "damage", [lambda b: b[:5], lambda b: b[:-1], lambda b: b"\x09" + b[1:], lambda b: b + b"x"]
)
def test_a_damaged_block_is_refused(damage) -> None:
    """A block that is cut, extended or of an unknown version raises UnreadableBlock."""
    with pytest.raises(blocks.UnreadableBlock):
        blocks.decode([damage(pack([(1, 2, 3, 4.0), (2, 2, 3, 4.0)]))])


def test_a_single_block_with_a_wrong_header_is_refused() -> None:
    """The fast path checks headers too."""
    block = bytearray(blocks.encode_one(1, 2, 3, 4.0))
    block[4] = 9
    with pytest.raises(blocks.UnreadableBlock):
        blocks.decode([bytes(block)])
