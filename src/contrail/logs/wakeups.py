"""Telling waiting readers that a log has grown, without a thread per reader."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Wakeups:
    """Calls back when something happens to an attempt's log. Callbacks must be quick and must not raise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, dict[object, Callable[[], None]]] = {}

    @contextmanager
    def watch(self, attempt_id: int, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` on every change while inside; from any thread."""
        key = object()
        with self._lock:
            self._callbacks.setdefault(attempt_id, {})[key] = callback
        try:
            yield
        finally:
            with self._lock:
                callbacks = self._callbacks[attempt_id]
                del callbacks[key]
                if not callbacks:
                    del self._callbacks[attempt_id]

    def notify(self, attempt_id: int) -> None:
        """Wake everyone who watches this attempt."""
        with self._lock:
            callbacks = list(self._callbacks.get(attempt_id, {}).values())
        for callback in callbacks:
            callback()

    def notify_all(self) -> None:
        """Wake everyone."""
        with self._lock:
            attempts = list(self._callbacks)
        for attempt_id in attempts:
            self.notify(attempt_id)
