"""The group-commit writer."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from sqlalchemy import text

from contrail.model.errors import InvalidParameterValue, TemporarilyUnavailable
from contrail.model.tracking import Metric
from contrail.store import metrics
from contrail.store.database import Database


@pytest.fixture
def numbers(database: Database) -> Database:
    """A table to write to."""
    database.writer.run(lambda c: c.execute(text("CREATE TABLE numbers (n INTEGER PRIMARY KEY)")))
    return database


def put(n: int):
    return lambda c: c.execute(text("INSERT INTO numbers VALUES (:n)"), {"n": n}).rowcount


def stored(database: Database) -> list[int]:
    with database.read() as connection:
        return list(connection.execute(text("SELECT n FROM numbers ORDER BY n")).scalars())


def put_many(connection, items):
    """A batch that breaks for the whole group when one item breaks a rule of the table."""
    for n in items:
        connection.execute(text("INSERT INTO numbers VALUES (:n)"), {"n": n})
    return [None] * len(items)


class Gate:
    """Holds the writer back inside a write, so that what comes next is one group."""

    def __init__(self, database: Database):
        self.entered, self.opened = threading.Event(), threading.Event()
        self.future = database.writer.submit(self._wait)
        assert self.entered.wait(30)

    def _wait(self, _connection) -> None:
        self.entered.set()
        assert self.opened.wait(30)


def test_an_answer_means_committed(numbers: Database, tmp_path: Path) -> None:
    """When the future is done, another connection sees the row."""
    with sqlite3.connect(tmp_path / "test.db") as other:
        for n in range(20):
            numbers.writer.submit(put(n)).result()
            assert other.execute("SELECT count(*) FROM numbers").fetchone() == (n + 1,)
    other.close()


def test_nothing_is_answered_before_the_commit(numbers: Database) -> None:
    """Writes of one group are answered together, after its commit, not as each is applied."""
    gate = Gate(numbers)
    seen: list[bool] = []
    first = numbers.writer.submit(put(1))
    second = numbers.writer.submit(lambda _: seen.append(first.done()))
    gate.opened.set()
    second.result(30)
    assert seen == [False]
    assert first.done()


def test_a_failing_write_leaves_nothing_and_spares_its_neighbours(numbers: Database) -> None:
    """A write that fails half-way is undone alone; its caller gets the error, the others their results."""

    def fails(connection):
        put(50)(connection)
        raise InvalidParameterValue("no")

    gate = Gate(numbers)
    futures = [
        numbers.writer.submit(write) for write in (put(1), fails, put(2), put(2), lambda _: 1 // 0, put(3))
    ]
    gate.opened.set()
    kinds = [type(future.exception(30)).__name__ for future in futures]
    assert kinds == [
        "NoneType",
        "InvalidParameterValue",
        "NoneType",
        "IntegrityError",
        "ZeroDivisionError",
        "NoneType",
    ]
    assert stored(numbers) == [1, 2, 3]


@pytest.mark.parametrize("alone", [True, False])
def test_an_item_that_breaks_its_batch_spares_its_neighbours(numbers: Database, alone: bool) -> None:
    """When a batch function raises, its items are tried singly, whether or not the group holds other writes."""
    gate = Gate(numbers)
    futures: list[Future] = [numbers.writer.submit_item(put_many, n) for n in (1, 2, 1, 3)]
    if not alone:
        futures.insert(0, numbers.writer.submit(put(9)))
    gate.opened.set()
    failed = [future.exception(30) is not None for future in futures]
    assert failed[-4:] == [False, False, True, False]
    assert [n for n in stored(numbers) if n != 9] == [1, 2, 3]


def test_a_full_disk_refuses_and_loses_nothing_answered(numbers: Database) -> None:
    """With the disk full, writes get TemporarilyUnavailable; what was answered stays; with room again it goes on."""
    numbers.writer.run(lambda c: c.execute(text("CREATE TABLE fat (data BLOB)")))
    answered = [numbers.writer.run(put(n)) for n in range(5)]
    pages = numbers.writer.run(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar_one())
    numbers.writer.run(lambda c: c.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}").scalar_one())

    def fat(connection):
        put(77)(connection)
        connection.execute(text("INSERT INTO fat VALUES (zeroblob(1000000))"))

    gate = Gate(numbers)
    futures = [numbers.writer.submit(write) for write in (put(60), fat, put(61))]
    gate.opened.set()
    assert all(isinstance(future.exception(30), TemporarilyUnavailable) for future in futures)
    assert "full" in str(futures[0].exception())
    assert len(answered) == 5
    assert stored(numbers) == [0, 1, 2, 3, 4]
    numbers.writer.run(lambda c: c.exec_driver_sql("PRAGMA max_page_count=1000000").scalar_one())
    numbers.writer.run(fat)
    assert stored(numbers) == [0, 1, 2, 3, 4, 77]


def test_a_cancelled_write_is_left_out(numbers: Database) -> None:
    """A caller that gives up before its turn does not stop the writer, and its write is not applied."""
    gate = Gate(numbers)
    first, second = numbers.writer.submit(put(1)), numbers.writer.submit(put(2))
    assert first.cancel()
    gate.opened.set()
    assert second.result(30) == 1
    assert not gate.future.cancel()
    assert stored(numbers) == [2]


def test_a_stopped_writer_refuses(numbers: Database) -> None:
    """Stopping finishes what is queued; later writes get TemporarilyUnavailable at once."""
    gate = Gate(numbers)
    queued = numbers.writer.submit(put(1))
    stopping = threading.Thread(target=numbers.writer.stop)
    stopping.start()
    gate.opened.set()
    stopping.join(30)
    assert queued.result(0) == 1
    with pytest.raises(TemporarilyUnavailable):
        numbers.writer.submit(put(2))


def test_a_writer_that_never_ran_refuses_what_it_was_given(tmp_path: Path) -> None:
    """Stopping a writer that was not started fails its queue instead of leaving callers waiting."""
    database = Database(f"sqlite:///{tmp_path / 'idle.db'}")
    waiting = database.writer.submit(put(1))
    database.close()
    assert isinstance(waiting.exception(0), TemporarilyUnavailable)


def test_the_queue_is_bounded(tmp_path: Path) -> None:
    """More waiting writes than the limit are refused, and the error names the setting."""
    database = Database(f"sqlite:///{tmp_path / 'small.db'}", queue_max=2)
    database.writer.submit(put(1))
    database.writer.submit(put(2))
    with pytest.raises(TemporarilyUnavailable, match="write_queue_max"):
        database.writer.submit(put(3))
    database.close()


def test_a_write_cannot_wait_for_another(database: Database) -> None:
    """Waiting for the writer inside a write would never end, so it is an error."""
    with pytest.raises(RuntimeError, match="waits for another write"):
        database.writer.run(lambda _: database.writer.run(lambda _: None))


def test_a_rolled_back_key_is_not_remembered(store) -> None:
    """The id of a metric key that was created in an undone write is not used afterwards."""
    run_id = store.run()

    def undone(connection):
        metrics.log_items(connection, [metrics.LogItem(run_id, [Metric("loss", 1.0, 1, 1)])])
        raise InvalidParameterValue("undo")

    for _ in range(2):
        with pytest.raises(InvalidParameterValue):
            store.write(undone)
        store.log(run_id, ("other", 1.0, 1, 1))
    store.log(run_id, ("loss", 2.0, 2, 2))
    assert store.history(run_id, "loss") == [(2, 2, 2.0)]
    assert store.history(run_id, "other") == [(1, 1, 1.0)]
