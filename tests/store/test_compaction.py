"""Compaction of blocks into chunks."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from contrail.model.errors import ResourceConflict
from contrail.model.settings import Settings
from contrail.store import compaction, runs, tables
from contrail.store.compaction import Compactor, compact


def chunks(store):
    query = select(tables.metric_chunks).order_by(tables.metric_chunks.c.timestamp_min_ms)
    return store.read(lambda c: c.execute(query).all())


def test_chunks_hold_what_the_blocks_held(store) -> None:
    """Compaction removes the blocks, keeps every point and describes each chunk truly."""
    run_id = store.run()
    for i in range(10):
        store.log(run_id, ("a", float(i), 100 + i, i), ("b", float("nan"), 100 + i, -i))
    before = store.history(run_id, "a")
    assert store.compact(run_id) == 10
    assert store.count(tables.metric_blocks) == 0
    assert store.history(run_id, "a") == before
    first, second = chunks(store)
    assert (first.points, first.step_min, first.step_max, first.value_min, first.value_max) == (
        10,
        0,
        9,
        0.0,
        9.0,
    )
    assert (second.step_min, second.step_max, second.first_step, second.last_step) == (-9, 0, 0, -9)
    assert (second.value_min, second.value_max) == (None, None)
    assert store.compact(run_id) == 0


def test_chunks_are_bounded(store) -> None:
    """No chunk has more points than the limit, unless they share one step and time."""
    run_id = store.run()
    store.log(run_id, *[("a", float(i), 1_000 + i, i) for i in range(100)])
    store.log(run_id, *[("b", float(i), 1_000, 7) for i in range(30)])
    store.compact(run_id, chunk_points_max=16)
    sizes = [(chunk.points, chunk.key_id) for chunk in chunks(store)]
    assert max(points for points, key in sizes if key == sizes[0][1]) <= 16
    assert sum(points for points, _ in sizes) == 130
    assert len(store.history(run_id, "b")) == 30


def test_a_series_logged_point_by_point_ends_in_few_chunks(store) -> None:
    """Short last chunks are merged, so many small compactions leave a handful; full ones stay."""
    run_id = store.run()
    rewritten = 0
    for i in range(64):
        known = {chunk.id for chunk in chunks(store)}
        store.log(run_id, *[("m", float(j), j, j) for j in range(4 * i, 4 * i + 4)])
        store.compact(run_id, chunk_points_max=128)
        rewritten += sum(chunk.points for chunk in chunks(store) if chunk.id not in known)
    assert len(chunks(store)) <= 8
    assert rewritten <= 5 * 256
    assert [row[0] for row in store.history(run_id, "m")] == list(range(256))


def test_a_late_point_rewrites_only_its_chunk(store) -> None:
    """A point in the past goes into the chunk that covers it; the others keep their rows."""
    run_id = store.run()
    store.log(run_id, *[("m", float(i), 10 * i, i) for i in range(64)])
    store.compact(run_id, chunk_points_max=16)
    before = {chunk.id for chunk in chunks(store)}
    store.log(run_id, ("m", 0.5, 205, 20))
    store.compact(run_id, chunk_points_max=32)
    assert len(before & {chunk.id for chunk in chunks(store)}) == 3
    assert (205, 20, 0.5) in store.history(run_id, "m")


def test_two_compactions_of_one_run_do_not_double_points(store) -> None:
    """The second to finish finds its blocks gone, raises ResourceConflict and changes nothing."""
    run_id = store.run()
    store.log(run_id, *[("m", float(i), i, i) for i in range(10)])
    run_pk = store.read(lambda c: runs.primary_keys(c, [run_id]))[run_id]
    late = compaction._plan(store.database, run_pk, 100)
    compact(store.database, run_pk)
    with pytest.raises(ResourceConflict):
        store.write(late.apply)
    assert len(store.history(run_id, "m")) == 10
    assert len(chunks(store)) == 1


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_the_compactor_takes_busy_runs_at_once_and_quiet_ones_later(store) -> None:
    """Many blocks are compacted in the next sweep, a few only after a pause, and next to none not at all."""
    clock = Clock()
    settings = Settings({"metric_block_compact_count": 20}, environ={})
    compactor = Compactor(store.database, settings, clock=clock)
    busy, quiet, tiny = store.run(), store.run(), store.run()
    for run_id, count in ((busy, 20), (quiet, 9), (tiny, 2)):
        for i in range(count):
            store.log(run_id, ("m", float(i), i, i))
    assert compactor.sweep() == 20
    assert compactor.sweep() == 0
    clock.now_s += compaction.QUIET_S
    assert compactor.sweep() == 9
    clock.now_s += compaction.QUIET_S
    assert compactor.sweep() == 0
    assert store.count(tables.metric_blocks) == 2


def test_blocks_of_an_earlier_process_are_found(store) -> None:
    """A new compactor looks at everything that is there."""
    run_id = store.run()
    for i in range(30):
        store.log(run_id, ("m", float(i), i, i))
    compactor = Compactor(store.database, Settings({"metric_block_compact_count": 20}, environ={}))
    compactor.start()
    compactor.stop()
    assert compactor.sweep() in (0, 30)
    assert len(store.history(run_id, "m")) == 30


def test_space_is_given_back(store, monkeypatch) -> None:
    """When compaction leaves many free pages, the file shrinks."""
    monkeypatch.setattr("contrail.store.database._FREE_PAGES_KEPT", 20)
    run_id = store.run()
    for k in range(10):
        store.log(run_id, *[("m", float(i), 5_000 * k + i, 5_000 * k + i) for i in range(5_000)])
    pages = store.write(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar_one())
    store.compact(run_id)
    store.database.reclaim_space()
    assert store.write(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar_one()) < pages / 2
    assert sum(chunk.points for chunk in chunks(store)) == 50_000


def test_points_before_between_and_behind_in_one_go(store) -> None:
    """Late points in front of all chunks, inside one, in a gap and new ones at the end keep the series in order."""
    run_id = store.run()
    store.log(run_id, *[("m", float(i), 100 * i, i) for i in range(1, 9)])
    store.compact(run_id, chunk_points_max=2)
    times = [5, 150, 155, 250, 800, 810, 820, 401]
    store.log(run_id, *[("m", float(time), time, time) for time in times])
    store.compact(run_id, chunk_points_max=4)
    found = [row[0] for row in store.history(run_id, "m")]
    assert found == sorted([*times, *range(100, 900, 100)])
    assert sum(chunk.points for chunk in chunks(store)) == 16
    store.log(run_id, ("m", 0.5, 1, 1), ("m", 0.5, 900, 9))
    store.compact(run_id)
    assert [row[0] for row in store.history(run_id, "m")] == sorted([1, *found, 900])


def test_a_summary_counts_points_sent_again_once(store) -> None:
    """A point that is in a chunk and again in a block is one point."""
    run_id = store.run()
    store.log(run_id, *[("m", float(i), i, i) for i in range(10)])
    store.compact(run_id)
    store.log(run_id, *[("m", float(i), i, i) for i in range(5, 15)])
    (metric,) = store.read(lambda c: runs.summary(c, run_id)).metrics
    assert metric.points == 15
