"""Thinning series for charts."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contrail.series.buckets import thin

VALUES = st.lists(st.floats(width=32), min_size=1, max_size=80)


def _thin(y: list[float], buckets: int, parts: int = 1):
    x, values = np.arange(len(y), dtype=np.float64), np.array(y)
    cut = max(1, len(y) // parts)
    pieces = [(x[i : i + cut], values[i : i + cut]) for i in range(0, len(y), cut)]
    return thin(pieces, 0.0, float(len(y) - 1), buckets)


@given(VALUES, st.integers(1, 20), st.integers(1, 5))
def test_no_extreme_and_no_point_is_lost(y: list[float], buckets: int, parts: int) -> None:
    """The lowest, the highest and the last finite value survive, and non-finite values are all counted."""
    line = _thin(y, buckets, parts)
    numbers = [value for value in y if math.isfinite(value)]
    assert line.points == len(y)
    assert sum(count for _, _, count in line.nonfinite) == len(y) - len(numbers)
    assert line.exact == (len(y) <= buckets)
    assert len(line.x) == len(line.y) <= buckets
    assert line.x == sorted(line.x)
    if numbers:
        lows, highs = (line.y, line.y) if line.exact else (line.y_min, line.y_max)
        assert min(lows) == min(numbers)
        assert max(highs) == max(numbers)
        assert line.y[-1] == numbers[-1]


@given(VALUES, st.integers(1, 20))
def test_parts_do_not_matter(y: list[float], buckets: int) -> None:
    """A series thins to the same line, however it arrives."""
    assert _thin(y, buckets, 1) == _thin(y, buckets, 7)


def test_few_points_stay_exact() -> None:
    """Up to the number of buckets every point is there; NaN and infinities are marks, not values."""
    line = _thin([1.0, math.nan, 3.0, math.inf], 4)
    assert line.exact
    assert (line.x, line.y, line.y_min) == ([0.0, 2.0], [1.0, 3.0], [])
    assert line.nonfinite == [(1.0, "NaN", 1), (3.0, "Infinity", 1)]


def test_points_of_one_x_share_a_bucket() -> None:
    """A series whose points all have the same x gives one bucket with its extremes."""
    line = thin([(np.zeros(10), np.arange(10.0))], 0.0, 0.0, 5)
    assert (line.x, line.y, line.y_min, line.y_max) == ([0.0], [9.0], [0.0], [9.0])
