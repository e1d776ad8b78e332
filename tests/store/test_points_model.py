"""The stored points of a run always equal a plain list of tuples, whatever happens in between."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contrail.model.tracking import Metric
from contrail.store import metrics, runs
from contrail.store.metrics import LogItem, Position

KEYS = ("loss", "val/정확도", "system/gpu_0")
# Few different numbers, so that points collide in every way; and the ends of the range.
SMALL = st.integers(-3, 6)
STEPS = st.one_of(SMALL, st.sampled_from([-(2**63), 2**63 - 1]))
TIMES = st.one_of(st.integers(0, 8), st.just(2**63 - 1))
VALUES = st.one_of(st.sampled_from([0.0, 1.5, -2.0, math.nan, math.inf, -math.inf]), st.floats(width=16))
POINT = st.builds(Metric, st.sampled_from(KEYS), VALUES, TIMES, STEPS)
BATCH = st.lists(POINT, min_size=1, max_size=12)


def by_time(row: tuple[int, int, float]) -> tuple:
    return row[0], row[1], math.isnan(row[2]), 0.0 if math.isnan(row[2]) else row[2]


def by_step(row: tuple[int, int, float]) -> tuple:
    return row[1], row[0], math.isnan(row[2]), 0.0 if math.isnan(row[2]) else row[2]


class Points(RuleBasedStateMachine):
    """Writes, re-sends and compactions in any order, against a dictionary of sets."""

    def __init__(self, open_store):
        super().__init__()
        self.store = open_store()
        self.database = self.store.database
        self.run_id = self.store.run()
        self.model: dict[str, dict[tuple, tuple[int, int, float]]] = {}
        self.sent: list[list[Metric]] = []

    @rule(batch=BATCH)
    def write(self, batch: list[Metric]) -> None:
        self._send([batch])
        self.sent.append(batch)

    @rule(batches=st.lists(BATCH, min_size=2, max_size=3))
    def write_in_one_commit(self, batches: list[list[Metric]]) -> None:
        self._send(batches)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        self._send([data.draw(st.sampled_from(self.sent))])

    @rule(points_max=st.sampled_from([2, 3, 5, 65_536]))
    def compact(self, points_max: int) -> None:
        self.store.compact(self.run_id, chunk_points_max=points_max)

    def _send(self, batches: list[list[Metric]]) -> None:
        items = [LogItem(self.run_id, batch) for batch in batches]
        outcomes = self.database.writer.run(lambda c: metrics.log_items(c, items))
        assert outcomes == [None] * len(items)
        for point in (point for batch in batches for point in batch):
            row = (point.timestamp_ms, point.step, point.value)
            self.model.setdefault(point.key, {}).setdefault(by_time(row), row)

    @invariant()
    def history_is_the_model(self) -> None:
        for key in KEYS:
            expected = list(self.model.get(key, {}).values())
            found = self.store.history(self.run_id, key)
            assert [by_time(row) for row in found] == sorted(by_time(row) for row in expected)
            found = self.store.history(self.run_id, key, order="step")
            assert [by_step(row) for row in found] == sorted(by_step(row) for row in expected)

    @invariant()
    def summaries_are_the_model(self) -> None:
        with self.database.read() as connection:
            found = {metric.key: metric for metric in runs.summary(connection, self.run_id).metrics}
        assert set(found) == set(self.model)
        for key, points in self.model.items():
            rows = list(points.values())
            numbers = [value for _, _, value in rows if not math.isnan(value)]
            ranked = sorted((step, time, 0.0 if math.isnan(value) else value) for time, step, value in rows)
            metric = found[key]
            last = 0.0 if math.isnan(metric.last) else metric.last
            first = 0.0 if math.isnan(metric.first) else metric.first
            assert (metric.last_step, metric.last_ms, last) == ranked[-1]
            assert first == ranked[0][2]
            assert (metric.min, metric.max) == (min(numbers, default=None), max(numbers, default=None))
            assert metric.points == len(rows)

    @precondition(lambda self: self.model)
    @rule(size=st.integers(1, 4), order=st.sampled_from(["timestamp", "step"]), data=st.data())
    def pages_join_to_the_whole(self, size: int, order: str, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model)))
        found: list[tuple[int, int, float]] = []
        position = None
        while page := self.store.history(self.run_id, key, limit=size, after=position, order=order):
            found += page
            position = Position(*page[-1])
        rank = by_time if order == "timestamp" else by_step
        assert [rank(row) for row in found] == sorted(map(rank, self.model[key].values()))

    def teardown(self) -> None:
        self.database.close()


def test_points_equal_the_model(open_store) -> None:
    """History in both orders, pages and summaries equal the model after any mix of writes, re-sends and compactions."""
    rules = settings(
        max_examples=15,
        stateful_step_count=12,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: Points(open_store), settings=rules)
