"""Where SQLite and PostgreSQL differ, and statements that are compiled once because they run for every write."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    CursorResult,
    Executable,
    Table,
    bindparam,
    literal_column,
)
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

T = TypeVar("T")
Insert: TypeAlias = "sqlite.Insert | postgresql.Insert"

# Values in one IN list; SQLite allows 32,766 bound values in a statement.
IN_LIST_MAX = 5_000


def insert_into(dialect: str, table: Table) -> Insert:
    """An INSERT that knows ON CONFLICT in the given dialect (both spell it the same)."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # a laptop need not load it

        return postgresql.insert(table)
    return sqlite.insert(table)


def upsert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; where the primary key exists already, the other columns take the new values."""
    if rows:
        names = tuple(rows[0])
        _upsert(table, names).execute_many(connection, [tuple(row[name] for name in names) for row in rows])


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> int:
    """Insert the rows that break no unique rule, leave out the others; returns how many went in."""
    if not rows:
        return 0
    names = tuple(rows[0])
    values = [tuple(row[name] for name in names) for row in rows]
    return _insert_new(table, names).execute_many(connection, values)


def tuples(connection: Connection, query: Executable) -> list[tuple[Any, ...]]:
    """All rows as the driver gives them: no names, no type conversion, a third of the time."""
    result = connection.execute(query)
    rows: list[tuple[Any, ...]] = result.cursor.fetchall()  # type: ignore[assignment]
    result.close()
    return rows


def slices(values: Iterable[T], size: int = IN_LIST_MAX) -> Iterator[list[T]]:
    """`values` in lists of at most `size`."""
    iterator = iter(values)
    while part := list(islice(iterator, size)):
        yield part


def fatal_cause(error: BaseException) -> BaseException | None:
    """What made the transaction untrustworthy: an error of the disk, the connection or a lock; None if nothing did.

    Looks at everything that led to `error`, because undoing a savepoint in a broken transaction raises an error of
    its own.
    """
    link: BaseException | None = error
    for _ in range(_ERROR_CHAIN_MAX):
        if link is None:
            return None
        if getattr(link, "connection_invalidated", False) or _is_fatal_code(
            getattr(link, "orig", None) or link
        ):
            return link
        link = link.__cause__ or link.__context__
    return None


def _is_fatal_code(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE_FATAL  # the low byte is the kind, the rest a detail
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state[:2] in _POSTGRESQL_FATAL


_ERROR_CHAIN_MAX = 10
_SQLITE_FATAL = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOTADB,
    }
)
# Classes: connection, transaction rollback, resources, operator intervention, system error, internal error.
_POSTGRESQL_FATAL = frozenset({"08", "40", "53", "57", "58", "XX"})


class Prepared:
    """A statement compiled once per dialect and run with plain tuples in the order of `names`.

    SQLAlchemy's own cache costs about 30 µs per execution, which matters for what runs with every write; its
    bookkeeping around an execution costs twice that again, so `rows` and `execute_many` go to the driver.
    """

    def __init__(self, names: Sequence[str], build: Callable[[str], Executable]):
        self._names = tuple(names)
        self._build = build
        self._compiled: dict[str, tuple[str, tuple[int, ...] | None]] = {}

    def execute(self, connection: Connection, values: tuple[Any, ...]) -> CursorResult[Any]:
        """Run it once; rows have names and types."""
        return connection.exec_driver_sql(*self._bound(connection, values))

    def rows(self, connection: Connection, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Run it once; all rows as the driver gives them."""
        sql, arguments = self._bound(connection, values)
        cursor = _cursor(connection)
        try:
            cursor.execute(sql, arguments)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found
        finally:
            cursor.close()

    def execute_many(self, connection: Connection, rows: list[tuple[Any, ...]]) -> int:
        """Run it for each row; returns how many rows of the table that touched."""
        if not rows:
            return 0
        sql, arguments = self._bound(connection, rows)
        cursor = _cursor(connection)
        try:
            cursor.executemany(sql, arguments)
            count: int = cursor.rowcount
            return count
        finally:
            cursor.close()

    def _bound(self, connection: Connection, values: Any) -> tuple[str, Any]:
        """The statement's text, and the values as this driver wants them: by name, or in its own order."""
        sql, order = self._sql(connection)
        many = isinstance(values, list)
        if order is None:
            named = [dict(zip(self._names, row, strict=True)) for row in (values if many else [values])]
            return sql, named if many else named[0]
        if order != tuple(range(len(self._names))):
            shuffled = [tuple(row[i] for i in order) for row in (values if many else [values])]
            return sql, shuffled if many else shuffled[0]
        return sql, values

    def _sql(self, connection: Connection) -> tuple[str, tuple[int, ...] | None]:
        dialect = connection.dialect
        if dialect.name not in self._compiled:
            compiled = self._build(dialect.name).compile(dialect=dialect)  # type: ignore[attr-defined]
            positions = compiled.positiontup
            order = None if positions is None else tuple(self._names.index(name) for name in positions)
            self._compiled[dialect.name] = (compiled.string, order)
        return self._compiled[dialect.name]


def _cursor(connection: Connection) -> Any:
    """A cursor of the driver, inside SQLAlchemy's transaction."""
    if not connection.in_transaction():
        connection.begin()
    return connection.connection.cursor()


class PreparedIn:
    """A query with a few fixed values and one IN list of any length, compiled for a few lengths only.

    `build` gets the parameter of the list. Shorter lists are filled up by repeating their last value.
    """

    def __init__(self, names: Sequence[str], build: Callable[[list[BindParameter[Any]]], Executable]):
        self._names = tuple(names)
        self._build = build
        self._by_length: dict[int, Prepared] = {}

    def rows(
        self, connection: Connection, fixed: tuple[Any, ...], listed: Iterable[Any]
    ) -> list[tuple[Any, ...]]:
        """All rows as the driver gives them; nothing for an empty list."""
        found: list[tuple[Any, ...]] = []
        for part in slices(listed, _PREPARED_IN_MAX):
            length = 1 << (len(part) - 1).bit_length()
            filled = (*part, *[part[-1]] * (length - len(part)))
            found += self._of_length(length).rows(connection, (*fixed, *filled))
        return found

    def _of_length(self, length: int) -> Prepared:
        if length not in self._by_length:
            names = [f"listed_{i}" for i in range(length)]
            statement = self._build([bindparam(name) for name in names])
            self._by_length[length] = Prepared([*self._names, *names], lambda _: statement)
        return self._by_length[length]


_PREPARED_IN_MAX = 512


class ForIds:
    """A query about many ids, compiled once. The ids are our own integers and are written into its text.

    SQLAlchemy makes a bound value of each, which takes longer than the query when there are a thousand.
    """

    def __init__(self, build: Callable[[ColumnElement[Any]], Executable]):
        self._build = build
        self._compiled: dict[str, str] = {}

    def tuples(self, connection: Connection, ids: Sequence[int]) -> list[tuple[Any, ...]]:
        """All rows as the driver gives them; the query has no other parameters."""
        if not ids:
            return []
        dialect = connection.dialect
        if dialect.name not in self._compiled:
            statement = self._build(literal_column(_IDS))
            self._compiled[dialect.name] = statement.compile(dialect=dialect).string  # type: ignore[attr-defined]
        sql = self._compiled[dialect.name].replace(_IDS, ",".join([str(int(identity)) for identity in ids]))
        result = connection.exec_driver_sql(sql)
        rows: list[tuple[Any, ...]] = result.cursor.fetchall()  # type: ignore[assignment]
        result.close()
        return rows


_IDS = "/*ids*/"


@cache
def _upsert(table: Table, names: tuple[str, ...]) -> Prepared:
    keys = [column.name for column in table.primary_key]

    def build(dialect: str) -> Executable:
        statement = insert_into(dialect, table).values({name: bindparam(name) for name in names})
        changed = {name: statement.excluded[name] for name in names if name not in keys}
        return statement.on_conflict_do_update(index_elements=keys, set_=changed)

    return Prepared(names, build)


@cache
def _insert_new(table: Table, names: tuple[str, ...]) -> Prepared:
    def build(dialect: str) -> Executable:
        values: dict[str, Any] = {name: bindparam(name) for name in names}
        return insert_into(dialect, table).values(values).on_conflict_do_nothing()

    return Prepared(names, build)
