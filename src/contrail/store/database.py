"""Opening a database: engine, migrations, readers and the writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from contrail.model.errors import InvalidParameterValue, ResourceConflict
from contrail.store import keys
from contrail.store.tables import metadata
from contrail.store.writer import Writer

MIGRATIONS = Path(__file__).parent / "migrations"
HEAD = "0001"  # the newest migration; a test compares it with the folder
# Memory is bounded by readers × their cache + the writer's.
_CACHE_KIB_WRITER, _CACHE_KIB_READER = 32 * 1024, 12 * 1024
_WAL_KEPT_BYTES = 64 * 1024 * 1024
_FREE_PAGES_KEPT, _FREE_PAGES_AT_ONCE = 2_000, 1_000
_SYNCHRONOUS = {"full": "FULL", "process": "NORMAL"}


class Database:
    """One database with one writer thread.

    `read()` gives a connection that sees one consistent snapshot; every change goes through `writer`.
    """

    def __init__(
        self,
        url: str,
        *,
        durability: str = "full",
        readers: int = 8,
        group_max: int = 1024,
        queue_max: int = 20_000,
    ):
        self.url = make_url(url)
        self.dialect = self.url.get_backend_name()
        self._readers = self._engine(durability, pool_size=readers, writing=False)
        self._writing = self._engine(durability, pool_size=1, writing=True)
        self.writer = Writer(self._writing, group_max=group_max, queue_max=queue_max)
        self._closed = threading.Event()

    @classmethod
    def open(cls, url: str, **options: Any) -> Database:
        """Open `url`, bring its schema up to date and start the writer.

        Raises InvalidParameterValue when there is no usable database at `url`; ResourceConflict as `migrate`.
        """
        try:
            database = cls(url, **options)
            database.migrate()
        except (SQLAlchemyError, ImportError) as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise InvalidParameterValue(
                f"The database {_without_password(url)} cannot be opened: {reason}. "
                "--store takes a URL such as sqlite:////data/contrail.db"
            ) from None
        database.writer.start()
        return database

    def migrate(self) -> None:
        """Create an empty database at once, or run the missing migrations, each in its own transaction.

        Alembic costs half a second to import, so it is only loaded when there is something to upgrade. Raises
        ResourceConflict for a database that is newer, or not Contrail's; it is left alone then.
        """
        with self._writing.begin() as connection:
            version = _version(connection)
            if version is None and inspect(connection).get_table_names():
                address = self.url.render_as_string()  # without the password
                raise ResourceConflict(
                    f"{address} holds tables that were not made by Contrail; name another database"
                )
            if version is None:
                metadata.create_all(connection)
                connection.execute(
                    text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
                )
                connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
                return
        if version != HEAD:
            from contrail.store.migrations.upgrade import upgrade

            upgrade(self._writing, MIGRATIONS)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading; waits for a free one, never fails for want of one."""
        with self._readers.connect() as connection:
            yield connection

    def reclaim_space(self) -> None:
        """Give pages that compaction freed back to the disk, when they are many. PostgreSQL does that by itself."""
        if self.dialect == "sqlite":
            self.writer.run(_shrink)

    def close(self) -> None:
        """Finish what is queued, then close every connection."""
        if not self._closed.is_set():
            self._closed.set()
            self.writer.stop()
            self._readers.dispose()
            self._writing.dispose()

    def _engine(self, durability: str, *, pool_size: int, writing: bool) -> Engine:
        engine = create_engine(
            self.url, poolclass=QueuePool, pool_size=pool_size, max_overflow=0, pool_timeout=60
        )
        if writing:  # readers see committed keys only, and end every read with a rollback
            event.listen(engine, "rollback", _forget)
        if self.dialect == "sqlite":
            _tune_sqlite(engine, _SYNCHRONOUS[durability], writing=writing)
        elif not writing:
            # A reader reads chunks and blocks, rows and their data in several queries of one moment.
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        return engine


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string()
    except SQLAlchemyError:
        return f"'{url}'"


def _forget(connection: Connection) -> None:
    keys.forget(connection.info)


def _version(connection: Connection) -> str | None:
    """The schema version; "" for one that is stamped with none yet, None where nothing is stamped."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or ""


def _lower(text: Any) -> Any:
    return text.lower() if isinstance(text, str) else text


def _shrink(connection: Connection) -> None:
    """A bounded number of pages at a time, because the writer waits. What stays free is used by the next blocks."""
    free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    if free > max(_FREE_PAGES_KEPT, pages // 4):
        cursor = connection.connection.cursor()
        for _ in range(min(free, _FREE_PAGES_AT_ONCE)):
            cursor.execute("PRAGMA incremental_vacuum(1)")  # the driver would stop after one page anyway
        cursor.close()


def _tune_sqlite(engine: Engine, synchronous: str, *, writing: bool) -> None:
    """WAL with the wanted durability; SQLAlchemy, not the driver, begins transactions."""

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        if (
            writing
        ):  # a reader that opens during a write would fail on it: this pragma locks and does not wait
            # Counts only before the first table; lets compaction give space back.
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        for pragma in (
            "busy_timeout=30000",
            "journal_mode=WAL",
            f"synchronous={synchronous}",
            "foreign_keys=ON",
            f"cache_size=-{_CACHE_KIB_WRITER if writing else _CACHE_KIB_READER}",
            "temp_store=MEMORY",
            "wal_autocheckpoint=4000",
            f"journal_size_limit={_WAL_KEPT_BYTES}",
            "case_sensitive_like=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")
        # SQLite's own lower() knows only ASCII; ILIKE is lower(x) LIKE lower(y).
        connection.create_function("lower", 1, _lower, deterministic=True)

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
