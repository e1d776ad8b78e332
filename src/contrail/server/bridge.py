"""From writer futures to asyncio: one wake-up of the event loop per commit, not one per write."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Bridge:
    """Lets coroutines of one event loop wait for futures that other threads complete.

    The writer completes all futures of a group in a row. The first one wakes the loop; the others only join
    the queue that the loop then empties, which saves a system call for each.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._done: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._woken = False

    async def wait(self, future: Future[T]) -> T:
        """The result of `future`, or its exception."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = self._loop.create_future()
        future.add_done_callback(lambda done: self._completed(waiter, done))
        return await waiter

    def _completed(self, waiter: asyncio.Future[Any], done: Future[Any]) -> None:
        """Runs in the thread that completed the future."""
        self._done.append((waiter, done))
        # Appended before looking: if the loop is emptying the queue right now, it either sees this entry
        # or has already reset the flag. Two wake-ups do no harm, none would.
        if not self._woken and self._loop is not None:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._done.clear()

    def _deliver(self) -> None:
        self._woken = False
        while self._done:
            waiter, done = self._done.popleft()
            if waiter.done():  # its request was given up
                continue
            error = done.exception()
            if error is not None:
                waiter.set_exception(error)
            else:
                waiter.set_result(done.result())
