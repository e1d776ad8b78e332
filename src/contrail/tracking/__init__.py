"""Use cases on experiments, runs, metrics and searches. Knows no HTTP and no SQL.

Reading methods block and belong into a thread. Writing ones that take a message return a future that is
done once the write is on disk; nothing is queued when the message is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from contrail.model.errors import EndpointNotFound
from contrail.model.settings import Settings
from contrail.store.database import Database
from contrail.tracking.experiments import Experiments
from contrail.tracking.metrics import Metrics
from contrail.tracking.pages import Pages
from contrail.tracking.runs import Runs
from contrail.tracking.search import Search
from contrail.wire.tracking import WRITES

__all__ = ["Tracking"]


class Tracking:
    """Everything about experiments and runs, on one database. Creates the Default experiment."""

    def __init__(self, database: Database, settings: Settings, clock: Callable[[], float] = time.time):
        def now_ms() -> int:
            return int(clock() * 1000)

        self.experiments = Experiments(database, now_ms)
        self.runs = Runs(database, now_ms, truncate=settings.truncate_long_values)
        self.metrics = Metrics(database)
        self.search = Search(database)
        self.pages = Pages(database, buckets_max=settings.chart_buckets_max)
        self._relayed: dict[str, Callable[[Any], Future[Any]]] = {
            "runs/create": self.runs.create_relayed,
            "runs/update": self.runs.update,
            "runs/log-metric": self.runs.log_metric,
            "runs/log-parameter": self.runs.log_param,
            "runs/set-tag": self.runs.set_tag,
            "runs/delete-tag": self.runs.delete_tag,
            "runs/log-batch": self.runs.log_batch,
            "runs/log-inputs": self.runs.log_inputs,
        }
        self.experiments.ensure_default()

    def rpc_write(self, path: str, body: bytes) -> Future[Any]:
        """Apply one MLflow write that a node agent relays, by its path such as `runs/log-batch`.

        Decoded and checked as over HTTP. `runs/create` takes the id that the agent chose, and is idempotent by it.
        Raises at once when the write can never succeed; the future fails when the store refuses it.
        """
        write = self._relayed.get(path)
        if write is None:
            raise EndpointNotFound(f"'{path}' is not a write that can be relayed")
        return write(WRITES[path].decode(body))
