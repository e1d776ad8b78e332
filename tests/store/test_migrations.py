"""The schema: made at once for a new database, by migrations for an old one, and both the same."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from contrail.model.errors import ResourceConflict
from contrail.store import experiments
from contrail.store.database import HEAD, MIGRATIONS, Database
from contrail.store.migrations.upgrade import upgrade


def schema(path: Path) -> dict[str, tuple[list[str], list[str]]]:
    """The statement that made each table and index: its lines, the constraints apart because their order is free."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    found = {}
    for name, sql in rows:
        lines = [line.strip().rstrip(",") for line in sql.splitlines() if line.strip()]
        constraints = sorted(line for line in lines if line.startswith("CONSTRAINT"))
        found[name] = ([line for line in lines if not line.startswith("CONSTRAINT")], constraints)
    return found


def revisions() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return ScriptDirectory.from_config(config)


def test_migrations_and_tables_give_the_same_schema(tmp_path: Path) -> None:
    """A database that came through all migrations equals one that was made at once."""
    engine = create_engine(f"sqlite:///{tmp_path / 'migrated.db'}")
    upgrade(engine, MIGRATIONS)
    engine.dispose()
    Database.open(f"sqlite:///{tmp_path / 'made.db'}").close()
    migrated, made = schema(tmp_path / "migrated.db"), schema(tmp_path / "made.db")
    migrated.pop("alembic_version"), made.pop("alembic_version")
    assert migrated == made


def test_the_newest_migration_is_the_head() -> None:
    """`HEAD`, which a new database is stamped with, is the newest revision, and there is one line of them."""
    assert revisions().get_heads() == [HEAD]
    assert all(script.module.__doc__ for script in revisions().walk_revisions())


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    """A second start finds the schema and the data as they were, and does not load Alembic."""
    url = f"sqlite:///{tmp_path / 'twice.db'}"
    first = Database.open(url)
    first.writer.run(lambda c: experiments.create(c, name="kept", now_ms=1))
    first.close()
    before = schema(tmp_path / "twice.db")
    second = Database.open(url)
    with second.read() as connection:
        assert experiments.get_by_name(connection, "kept").experiment_id == 1
    second.close()
    assert schema(tmp_path / "twice.db") == before


def test_an_empty_stamped_database_is_migrated(tmp_path: Path) -> None:
    """A database at the very first revision gets what is missing."""
    with sqlite3.connect(tmp_path / "old.db") as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    connection.close()
    database = Database.open(f"sqlite:///{tmp_path / 'old.db'}")
    database.writer.run(lambda c: experiments.create(c, name="works", now_ms=1))
    database.close()


def test_a_newer_database_is_refused_in_words(tmp_path: Path) -> None:
    """A database of a newer Contrail is left alone, and the error says what to do."""
    url = f"sqlite:///{tmp_path / 'newer.db'}"
    Database.open(url).close()
    with sqlite3.connect(tmp_path / "newer.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    before = schema(tmp_path / "newer.db")
    with pytest.raises(ResourceConflict, match=r"'9999'.*newer"):
        Database.open(url)
    assert schema(tmp_path / "newer.db") == before


def test_a_foreign_database_is_refused_in_words(tmp_path: Path) -> None:
    """A database that holds other tables is not Contrail's, and nothing is created in it."""
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE experiments (id INTEGER)")
    connection.close()
    before = schema(tmp_path / "other.db")
    with pytest.raises(ResourceConflict, match="not made by Contrail"):
        Database.open(f"sqlite:///{tmp_path / 'other.db'}")
    assert schema(tmp_path / "other.db") == before
