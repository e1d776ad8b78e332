"""Logging to runs: metric points, params and tags of many writes in one go, and reading the points back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection

from contrail.model.tracking import Param, Tag
from contrail.store.compaction import Compactor, compact
from contrail.store.points import Position, history

__all__ = ["Compactor", "LogItem", "MetricPoint", "Position", "compact", "history", "log_items"]


class MetricPoint(Protocol):
    """What the store reads of a metric point: `model.tracking.Metric`, or a decoded message with the same attributes."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def timestamp_ms(self) -> int: ...
    @property
    def step(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LogItem:
    """What one request logs to one run: all of it or nothing."""

    run_uuid: str
    metrics: Sequence[MetricPoint] = ()
    params: Sequence[Param] = ()
    tags: Sequence[Tag] = ()


def log_items(connection: Connection, items: Sequence[LogItem]) -> list[Exception | None]:
    """Apply many items; the batch function for `writer.submit_item(log_items, item)`.

    One outcome per item: None, or why nothing of it was stored (ResourceDoesNotExist; InvalidParameterValue for
    a deleted run or a changed param). Items apply in order. Idempotent: a point, param or tag sent again changes nothing.
    Cost depends on the items, not on what the runs hold already. Setting the tag `mlflow.runName` renames the run.
    """
    raise NotImplementedError
