"""The group-commit writer: one thread, one transaction for all writes that wait.

A write is answered after its commit, so an answered write is on disk; because writes that arrive during
a commit share the next one, throughput does not depend on the disk's sync rate. A write that fails is
undone alone (savepoint) and its error goes to its caller; the others in the group are not touched.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection as Connection  # layers above name it in their writes
from sqlalchemy import Engine

from contrail.model.errors import ContrailError, TemporarilyUnavailable

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

    def submit(self, write: Write[T]) -> Future[T]:
        """Queue `write(connection)`; the future holds its result once it is committed. Atomic."""
        return self._enqueue(_Pending(write))

    def submit_item(self, batch: BatchWrite[Item], item: Item) -> Future[Any]:
        """Queue `item` to be applied by `batch` together with its neighbours of the same kind."""
        return self._enqueue(_Pending(None, batch, item))

    def run(self, write: Write[T]) -> T:
        """Submit and wait."""
        return self.submit(write).result()

    def _enqueue(self, pending: _Pending[T]) -> Future[T]:
        with self._wake:
            if self._stopping:
                raise TemporarilyUnavailable("The server is shutting down; try again soon")
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
                    return
                count = min(len(self._queue), self._group_max)
                group = [self._queue.popleft() for _ in range(count)]
            self._commit(group)

    def _commit(self, group: list[_Pending[Any]]) -> None:
        try:
            with self._engine.begin() as connection:
                for part in _runs_of_one_kind(group):
                    _apply(connection, part)
        except Exception as error:  # the thread's outermost edge: a full disk, a lost database
            log.exception("a group of %d writes was not committed", len(group))
            refusal = TemporarilyUnavailable(f"The write could not be stored: {_reason(error)}")
            for pending in group:
                pending.outcome = refusal
        for pending in group:
            if isinstance(pending.outcome, BaseException):
                pending.future.set_exception(pending.outcome)
            else:
                pending.future.set_result(pending.outcome)


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
    first = part[0]
    try:
        with connection.begin_nested():
            if first.batch is not None:
                outcomes = first.batch(connection, [pending.item for pending in part])
                for pending, outcome in zip(part, outcomes, strict=True):
                    pending.outcome = outcome
            elif first.write is not None:
                first.outcome = first.write(connection)
    except ContrailError as error:
        for pending in part:
            pending.outcome = error
    except Exception as error:
        if not connection.in_transaction() or _is_fatal(error):
            raise
        log.exception("a write failed")
        for pending in part:
            pending.outcome = error


def _is_fatal(error: Exception) -> bool:
    """Errors after which nothing in the transaction can be trusted: the disk or the connection."""
    text = str(error).lower()
    return any(
        sign in text for sign in ("disk is full", "disk i/o error", "malformed", "readonly", "connection")
    )


def _reason(error: Exception) -> str:
    original = getattr(error, "orig", None)
    return str(original if original is not None else error).splitlines()[0]
