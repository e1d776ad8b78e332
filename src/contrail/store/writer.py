"""The group-commit writer: one thread, one transaction for all writes that wait.

A write is answered after its commit, so an answered write is on disk; because writes that arrive during
a commit share the next one, throughput does not depend on the disk's sync rate. A write that fails is
undone alone (savepoint) and its error goes to its caller; the others in the group are not touched.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection as Connection  # layers above name it in their writes
from sqlalchemy import Engine

from contrail.model.errors import ContrailError, TemporarilyUnavailable
from contrail.store import keys
from contrail.store.dialect import fatal_cause

log = logging.getLogger(__name__)
T = TypeVar("T")
Item = TypeVar("Item")

Write: TypeAlias = Callable[[Connection], T]
# Applies many items at once. Returns one outcome per item, in order; an exception as outcome fails only
# that item. It must check before it writes: what it wrote for other items stays.
BatchWrite: TypeAlias = Callable[[Connection, Sequence[Item]], Sequence[Any]]


@dataclass(slots=True)
class _Pending(Generic[T]):
    write: Write[T] | None
    batch: BatchWrite[Any] | None = None
    item: Any = None
    future: Future[T] = field(default_factory=Future)
    outcome: Any = None


class Writer:
    """Owns the only writing connection of this process."""

    def __init__(self, engine: Engine, *, group_max: int, queue_max: int):
        self._engine = engine
        self._group_max = group_max
        self._queue_max = queue_max
        self._queue: deque[_Pending[Any]] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._connection: Connection | None = None  # kept: taking one from the pool costs as much as a write
        self._thread = threading.Thread(target=self._loop, name="contrail-writer", daemon=True)

    def start(self) -> None:
        """Start the writer thread."""
        self._thread.start()

    def stop(self) -> None:
        """Refuse new writes, finish the queued ones, end the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        for pending in self._queue:  # only when the thread never ran
            _answer(pending, _shutting_down())
        self._queue.clear()

    def submit(self, write: Write[T]) -> Future[T]:
        """Queue `write(connection)`; the future holds its result once it is committed.

        Atomic. Raises TemporarilyUnavailable when the writer is stopping or too many writes wait; the future holds
        it when the database could not store the write (disk full, connection lost). A future that is cancelled
        before its turn is left out.
        """
        return self._enqueue(_Pending(write))

    def submit_item(self, batch: BatchWrite[Item], item: Item) -> Future[Any]:
        """Queue `item` to be applied by `batch` together with its neighbours of the same kind; else as `submit`."""
        return self._enqueue(_Pending(None, batch, item))

    def run(self, write: Write[T]) -> T:
        """Submit and wait. Not from inside a write, which already has the connection."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a write waits for another write; compose them on one connection instead")
        return self.submit(write).result()

    def _enqueue(self, pending: _Pending[T]) -> Future[T]:
        with self._wake:
            if self._stopping:
                raise _shutting_down()
            if len(self._queue) >= self._queue_max:
                raise TemporarilyUnavailable(
                    f"{self._queue_max} writes are waiting already (setting write_queue_max); try again soon"
                )
            self._queue.append(pending)
            self._wake.notify()
        return pending.future

    def _loop(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._stopping:
                    self._wake.wait()
                if not self._queue:
                    break
                count = min(len(self._queue), self._group_max)
                group = [self._queue.popleft() for _ in range(count)]
            # From here on the futures cannot be cancelled any more.
            self._commit([pending for pending in group if pending.future.set_running_or_notify_cancel()])
        self._disconnect()

    def _commit(self, group: list[_Pending[Any]]) -> None:
        if not group:
            return
        try:
            self._write(group)
        except Exception as error:  # the thread's outermost edge: a full disk, a lost database
            self._disconnect()
            reason = _reason(error)
            log.error(
                "a group of %d writes was not committed: %s", len(group), reason, exc_info=_unforeseen(error)
            )
            for pending in group:
                # One error object each: callers on several threads raise and annotate it.
                pending.outcome = TemporarilyUnavailable(f"The write could not be stored: {reason}")
        for pending in group:
            _answer(pending, pending.outcome)

    def _write(self, group: list[_Pending[Any]]) -> None:
        if self._connection is None:
            self._connection = self._engine.connect()
        parts = _runs_of_one_kind(group)
        if len(parts) == 1 and _write_alone(self._connection, parts[0]):
            return
        with self._connection.begin():
            for part in parts:
                _apply(self._connection, part)

    def _disconnect(self) -> None:
        """After a fault nothing is taken for granted: the next group gets a connection that the pool has checked."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _write_alone(connection: Connection, part: list[_Pending[Any]]) -> bool:
    """A group of one kind needs no savepoint. False: nothing was written, and its items are to be tried singly."""
    with connection.begin() as transaction:
        try:
            _perform(connection, part)
        except Exception as error:
            if fatal_cause(error):
                raise
            transaction.rollback()
            if len(part) > 1 and not isinstance(error, ContrailError):
                return False
            _fail(part, error)
    return True


def _runs_of_one_kind(group: list[_Pending[Any]]) -> list[list[_Pending[Any]]]:
    """Neighbours with the same batch function belong together; the order of arrival is kept."""
    parts: list[list[_Pending[Any]]] = []
    for pending in group:
        if pending.batch is not None and parts and parts[-1][0].batch is pending.batch:
            parts[-1].append(pending)
        else:
            parts.append([pending])
    return parts


def _apply(connection: Connection, part: list[_Pending[Any]]) -> None:
    """Write a part, or nothing of it; when a batch breaks, find out which item breaks it. Raises only fatal errors."""
    try:
        with _savepoint(connection):
            _perform(connection, part)
    except Exception as error:
        if fatal_cause(error):
            raise
        if len(part) > 1 and not isinstance(error, ContrailError):
            for pending in part:
                _apply(connection, [pending])
        else:
            _fail(part, error)


@contextmanager
def _savepoint(connection: Connection) -> Iterator[None]:
    """Undo what the block wrote when it fails. By the driver, because SQLAlchemy's own takes as long as a write."""
    cursor = connection.connection.cursor()
    cursor.execute("SAVEPOINT part")
    try:
        yield
    except Exception:
        cursor.execute("ROLLBACK TO SAVEPOINT part")
        keys.forget(connection.info)
        raise
    finally:
        cursor.execute("RELEASE SAVEPOINT part")
        cursor.close()


def _perform(connection: Connection, part: list[_Pending[Any]]) -> None:
    first = part[0]
    if first.batch is not None:
        outcomes = first.batch(connection, [pending.item for pending in part])
        for pending, outcome in zip(part, outcomes, strict=True):
            pending.outcome = outcome
    elif first.write is not None:
        first.outcome = first.write(connection)


def _fail(part: list[_Pending[Any]], error: Exception) -> None:
    if not isinstance(error, ContrailError):
        log.error("a write failed", exc_info=error)
    for pending in part:
        pending.outcome = error


def _answer(pending: _Pending[Any], outcome: Any) -> None:
    if isinstance(outcome, BaseException):
        pending.future.set_exception(outcome)
    else:
        pending.future.set_result(outcome)


def _shutting_down() -> TemporarilyUnavailable:
    return TemporarilyUnavailable("The server is shutting down; try again soon")


def _reason(error: Exception) -> str:
    cause = fatal_cause(error) or error
    return str(getattr(cause, "orig", None) or cause).splitlines()[0]


def _unforeseen(error: Exception) -> Exception | None:
    """A full disk needs no traceback in the log."""
    return None if fatal_cause(error) else error
