"""Metric keys and their ids. Ids never change, so each connection remembers them.

A rolled-back insert would leave a wrong id behind; `database` therefore has the writing connection forget them on
every rollback.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, select

from contrail.store.dialect import insert_new, slices
from contrail.store.tables import metric_keys

_REMEMBERED_MAX = 200_000  # keys per connection, some 20 MB
_IDS, _NAMES = "contrail.metric_key_ids", "contrail.metric_key_names"


def forget(info: dict[Any, Any]) -> None:
    """Drop what a connection's `info` remembers."""
    info.pop(_IDS, None)
    info.pop(_NAMES, None)


def known_ids(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """The ids of those keys that exist; may hold others too."""
    known: dict[str, int] = connection.info.setdefault(_IDS, {})
    missing = {name for name in names if name not in known}
    if missing and len(known) > _REMEMBERED_MAX:
        known = connection.info[_IDS] = {}
        missing = set(names)
    if missing:
        _learn(connection, known, missing)
    return known


def ids(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """The ids of all the keys, creating those that are new; may hold others too. Only for writes."""
    known = known_ids(connection, names)
    # Sorted, so that two processes that create the same keys do not wait for each other in a circle.
    new = sorted({name for name in names if name not in known})
    if new:
        insert_new(connection, metric_keys, [{"name": name} for name in new])
        _learn(connection, known, new)
    return known


def names(connection: Connection, key_ids: Collection[int]) -> dict[int, str]:
    """The names of the ids; may hold others too."""
    known: dict[int, str] = connection.info.setdefault(_NAMES, {})
    missing = {key_id for key_id in key_ids if key_id not in known}
    if missing and len(known) > _REMEMBERED_MAX:
        known.clear()
        missing = set(key_ids)
    for part in slices(missing):
        query = select(metric_keys.c.id, metric_keys.c.name).where(metric_keys.c.id.in_(part))
        known.update((row.id, row.name) for row in connection.execute(query))
    return known


def _learn(connection: Connection, known: dict[str, int], missing: Collection[str]) -> None:
    for part in slices(missing):
        query = select(metric_keys.c.name, metric_keys.c.id).where(metric_keys.c.name.in_(part))
        known.update((row.name, row.id) for row in connection.execute(query))
