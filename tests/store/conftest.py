"""A database for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contrail.model.tracking import Metric, Param, Run, Tag
from contrail.store import experiments, metrics, runs
from contrail.store.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty database with its writer running."""
    opened = Database.open(f"sqlite:///{tmp_path / 'test.db'}", durability="process")
    yield opened
    opened.close()


@pytest.fixture
def store(database: Database) -> Store:
    """The database with short words for what most tests do."""
    return Store(database)


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens any number of empty databases; they are closed after the test at the latest."""
    opened: list[Database] = []

    def open_one() -> Store:
        url = f"sqlite:///{tmp_path / f'{len(opened)}.db'}"
        opened.append(Database.open(url, durability="process", readers=2))
        return Store(opened[-1])

    yield open_one
    for database in opened:
        database.close()


class Store:
    """Makes experiments and runs, and logs to them."""

    def __init__(self, database: Database):
        self.database = database
        self.experiment_id = self.experiment("exp")

    def experiment(self, name: str, now_ms: int = 1_000) -> int:
        return self.database.writer.run(lambda c: experiments.create(c, name=name, now_ms=now_ms))

    def run(
        self, name: str = "run", *, start_ms: int = 1_000, experiment_id: int | None = None, **options
    ) -> str:
        made: Run = self.database.writer.run(
            lambda c: runs.create(
                c,
                experiment_id=self.experiment_id if experiment_id is None else experiment_id,
                name=name,
                user_id="kim",
                start_ms=start_ms,
                now_ms=start_ms,
                **options,
            )
        )
        return made.info.run_id

    def log(self, run_id: str, *points: tuple[str, float, int, int], params=None, tags=None) -> None:
        """Log (key, value, timestamp, step) points, params and tags in one item."""
        item = metrics.LogItem(
            run_id,
            [Metric(*point) for point in points],
            [Param(key, value) for key, value in (params or {}).items()],
            [Tag(key, value) for key, value in (tags or {}).items()],
        )
        outcome = self.database.writer.submit_item(metrics.log_items, item).result()
        assert outcome is None

    def get(self, run_id: str) -> Run:
        with self.database.read() as connection:
            return runs.get(connection, run_id)

    def write(self, write):
        return self.database.writer.run(write)

    def read(self, query):
        with self.database.read() as connection:
            return query(connection)

    def history(self, run_id: str, key: str, **options) -> list[tuple[int, int, float]]:
        """(timestamp, step, value) of every point."""
        found = []
        with self.database.read() as connection:
            for part in metrics.history(connection, run_id, key, **options):
                columns = (part.timestamps_ms.tolist(), part.steps.tolist(), part.values.tolist())
                found += list(zip(*columns, strict=True))
        return found

    def compact(self, run_id: str, **options) -> int:
        with self.database.read() as connection:
            run_pk = runs.primary_keys(connection, [run_id])[run_id]
        return metrics.compact(self.database, run_pk, **options)

    def count(self, table) -> int:
        from sqlalchemy import func, select

        return self.read(lambda c: c.execute(select(func.count()).select_from(table)).scalar_one())
