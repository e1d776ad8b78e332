"""Compressed chunks of one series."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from contrail.series import chunks
from contrail.series.points import Points, concatenate, ordered

SIZES = st.integers(0, 60)
INT64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def some_points(draw: st.DrawFn) -> Points:
    size = draw(SIZES)
    width = draw(st.sampled_from([32, 64]))
    return Points(
        draw(
            arrays.arrays(
                np.int64, size, elements=draw(st.sampled_from([INT64, st.integers(-3, 300), st.just(4)]))
            )
        ),
        draw(arrays.arrays(np.int64, size, elements=draw(st.sampled_from([INT64, st.integers(0, 2**20)])))),
        draw(arrays.arrays(np.float64, size, elements=st.floats(width=width))),
    )


@given(some_points())
def test_points_come_back(points: Points) -> None:
    """Every int64 and every float comes back, NaN as NaN whatever its payload, zero with its sign."""
    found = chunks.decode(chunks.encode(points))
    assert found.steps.tolist() == points.steps.tolist()
    assert found.timestamps_ms.tolist() == points.timestamps_ms.tolist()
    assert np.array_equal(found.values, points.values, equal_nan=True)
    numbers = ~np.isnan(points.values)
    assert np.array_equal(np.signbit(found.values[numbers]), np.signbit(points.values[numbers]))


def test_nan_payloads_do_not_matter() -> None:
    """A NaN with a payload is stored like any other NaN."""
    odd = np.array([0x7FF8_0000_0000_BEEF], np.uint64).view(np.float64)
    one = Points(np.array([1]), np.array([2]), odd)
    other = Points(np.array([1]), np.array([2]), np.array([np.nan]))
    assert chunks.encode(one) == chunks.encode(other)


def _curve(values: np.ndarray) -> Points:
    count = len(values)
    times = 1_700_000_000_000 + np.cumsum(np.random.default_rng(1).integers(80, 120, count))
    return Points(np.arange(count), times, values)


def test_curves_of_32_bit_values_cost_at_most_five_bytes_a_point() -> None:
    """A noisy loss curve of 32-bit values, logged every 100 ms or so, packs to 5 bytes a point with its times."""
    noise = np.random.default_rng(2).normal(0, 0.01, 65_536)
    values = (2.0 * np.exp(-np.arange(65_536) / 20_000) + noise).astype(np.float32).astype(np.float64)
    assert len(chunks.encode(_curve(values))) / len(values) <= 5


def test_random_64_bit_values_cost_at_most_ten_bytes_a_point() -> None:
    """Random doubles, the worst case, pack to 10 bytes a point with their times."""
    values = np.random.default_rng(3).random(65_536)
    assert len(chunks.encode(_curve(values))) / len(values) <= 10


@given(st.binary(max_size=60))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    """Damaged bytes raise UnreadableChunk and nothing else."""
    good = chunks.encode(_curve(np.linspace(0, 1, 30)))
    for damaged in (data, good[: len(data)], good[:8] + data, data[:8] + good[8:]):
        try:
            chunks.decode(damaged)
        except chunks.UnreadableChunk:
            continue


@given(some_points(), st.sampled_from(["timestamp", "step"]))
def test_ordered_points_are_sorted_and_unique(points: Points, order) -> None:
    """Sorting equals that of plain tuples with NaN last; sending everything twice changes nothing."""

    def key(row: tuple[int, int, float]) -> tuple:
        step, time, value = row
        major, minor = (time, step) if order == "timestamp" else (step, time)
        return major, minor, value != value, 0.0 if value != value else value

    rows = zip(points.steps.tolist(), points.timestamps_ms.tolist(), points.values.tolist(), strict=True)
    expected = sorted({key(row) for row in rows})
    for given_points in (points, concatenate([points, points])):
        found = ordered(given_points, order)
        rows = zip(found.steps.tolist(), found.timestamps_ms.tolist(), found.values.tolist(), strict=True)
        assert [key(row) for row in rows] == expected


def test_unknown_versions_are_refused() -> None:
    """A chunk of a newer version is not misread."""
    data = chunks.encode(_curve(np.zeros(3)))
    with pytest.raises(chunks.UnreadableChunk, match="version"):
        chunks.decode(b"\x02" + data[1:])
