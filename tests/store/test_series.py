"""Charts and samples."""

from __future__ import annotations

import math

import pytest

from contrail.store import series


@pytest.fixture(params=[False, True], ids=["blocks", "chunks"])
def settle(request, store):
    """Leaves points in blocks, or compacts them into small chunks: a reader sees no difference."""

    def act(run_id: str) -> None:
        if request.param:
            store.compact(run_id, chunk_points_max=37)

    return act


def chart(store, runs, keys, **options):
    return store.read(lambda c: series.chart(c, runs, keys, **options))


def test_a_spike_is_never_hidden(store, settle) -> None:
    """Among 1,000 points thinned to 10, each bucket shows its extremes and its last point."""
    run_id = store.run()
    store.log(run_id, *[("m", 100.0 if i == 555 else float(i % 7), 1_000 + i, i) for i in range(1_000)])
    settle(run_id)
    (line,) = chart(store, [run_id], ["m"], buckets=10)
    assert (line.run_id, line.key, line.exact, line.points) == (run_id, "m", False, 1_000)
    assert len(line.x) == 10
    assert max(line.y_max) == 100.0
    assert line.x[-1] == 999.0


def test_a_window_is_read_exactly_when_it_is_small(store, settle) -> None:
    """Zooming in gives the points themselves; both ends belong to the window."""
    run_id = store.run()
    store.log(run_id, *[("m", float(i), 1_000 + i, i) for i in range(500)])
    settle(run_id)
    (line,) = chart(store, [run_id], ["m"], start=100, end=104, buckets=10)
    assert line.exact
    assert (line.x, line.y) == ([100.0, 101.0, 102.0, 103.0, 104.0], [100.0, 101.0, 102.0, 103.0, 104.0])
    assert chart(store, [run_id], ["m"], start=600) == []


@pytest.mark.parametrize(
    ("axis", "expected"), [("step", [0, 1, 2]), ("time", [5_000, 6_000, 8_000]), ("relative", [0, 1, 3])]
)
def test_axes(store, settle, axis, expected) -> None:
    """x is the step, the time in milliseconds, or the seconds since the run's first point."""
    run_id = store.run()
    store.log(run_id, ("m", 1.0, 5_000, 0), ("m", 2.0, 6_000, 1), ("m", 3.0, 8_000, 2))
    settle(run_id)
    (line,) = chart(store, [run_id], ["m"], x=axis)
    assert line.x == expected


def test_non_finite_values_are_marks(store, settle) -> None:
    """NaN and infinities are counted beside the line; a series of nothing else is still there."""
    run_id = store.run()
    store.log(run_id, ("m", 1.0, 1, 0), ("m", math.nan, 2, 1), ("m", math.inf, 3, 2), ("n", -math.inf, 1, 0))
    settle(run_id)
    m, n = chart(store, [run_id], ["m", "n"])
    assert (m.x, m.y, m.nonfinite) == ([0.0], [1.0], [(1.0, "NaN", 1), (2.0, "Infinity", 1)])
    assert (n.x, n.nonfinite) == ([], [(0.0, "-Infinity", 1)])


def test_steps_that_go_back_are_put_in_order(store, settle) -> None:
    """A resumed training that repeats steps gives a line in order of steps."""
    run_id = store.run()
    store.log(run_id, *[("m", float(i), 1_000 + i, i) for i in range(100)])
    store.log(run_id, *[("m", float(-i), 5_000 + i, i) for i in range(50, 80)])
    settle(run_id)
    (line,) = chart(store, [run_id], ["m"], buckets=500)
    assert line.exact
    assert line.x == sorted(line.x)
    assert line.points == 130


def test_many_series_in_one_call(store) -> None:
    """Runs and keys without points, and unknown ones, are left out."""
    first, second = store.run(), store.run()
    store.log(first, ("a", 1.0, 1, 1), ("b", 1.0, 1, 1))
    store.log(second, ("b", 2.0, 1, 1))
    found = chart(store, [first, second, "missing"], ["a", "b", "c"])
    assert [(line.run_id, line.key) for line in found] == [(first, "a"), (first, "b"), (second, "b")]


def ntile(count: int, limit: int) -> list[int]:
    """SQL's NTILE over `count` rows: the first row of each of `limit` parts, and the last row instead of the last."""
    if count <= limit:
        return list(range(count))
    small, larger = divmod(count, limit)
    starts, at = [], 0
    for part in range(limit):
        starts.append(at)
        at += small + (part < larger)
    return [*starts[:-1], count - 1]


@pytest.mark.parametrize(("count", "limit"), [(1, 1), (5, 5), (6, 5), (100, 7), (99, 1), (320, 319)])
def test_a_sample_is_spread_like_ntile(store, settle, count: int, limit: int) -> None:
    """The sample is MLflow's: parts of equal size by (step, time, value), the first of each, and always the last."""
    run_id = store.run()
    store.log(run_id, *[("m", float(i), 1_000 - i, i // 3) for i in range(count)])
    settle(run_id)
    found = store.read(lambda c: series.sample(c, run_id, "m", limit=limit))
    whole = store.history(run_id, "m", order="step")
    assert found.values.tolist() == [whole[i][2] for i in ntile(count, limit)]


def test_a_sample_keeps_to_its_steps(store, settle) -> None:
    """Start and end step belong to it; an empty range is empty."""
    run_id = store.run()
    store.log(run_id, *[("m", float(i), i, i) for i in range(100)])
    settle(run_id)
    found = store.read(lambda c: series.sample(c, run_id, "m", limit=50, start_step=10, end_step=12))
    assert found.steps.tolist() == [10, 11, 12]
    assert (
        len(store.read(lambda c: series.sample(c, run_id, "m", limit=50, start_step=500, end_step=600))) == 0
    )
