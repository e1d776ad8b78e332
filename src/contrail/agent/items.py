"""Tracking writes on their way to the server: how they lie in the spool, and how neighbours are merged.

A spool record is `<u16 length of path><path><JSON body>`; its sequence number is the position after it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from contrail.agent.spool import Budget, Record, Spool
from contrail.wire.jobs import RelayItem
from contrail.wire.validation import BATCH_METRICS_MAX

EXIT = "exit"  # the path of an exit record
LOG_METRIC, LOG_BATCH = "runs/log-metric", "runs/log-batch"
RESTART_GAP = 1 << 20  # numbers left out after a restart: some may have been sent that a power cut erased

_PATH_LENGTH = struct.Struct("<H")


def open_item_spool(folder: Path, budget: Budget) -> Spool:
    """The spool of tracking writes. After a restart it continues behind all numbers ever sent."""
    spool = Spool(folder, weigh=lambda _length: 1, budget=budget)
    if spool.reopened:
        spool.skip_to(spool.end + RESTART_GAP)
    return spool


def encode_item(path: str, body: bytes) -> list[bytes]:
    """The parts of a record."""
    name = path.encode()
    return [_PATH_LENGTH.pack(len(name)), name, body]


def decode_item(payload: bytes) -> tuple[str, bytes]:
    """Path and body of a record."""
    (length,) = _PATH_LENGTH.unpack_from(payload)
    split = _PATH_LENGTH.size + length
    return payload[_PATH_LENGTH.size : split].decode(), payload[split:]


@dataclass(slots=True)
class _Merged:
    """Metric writes of one run that follow each other: they go as one log-batch."""

    run_id: str
    seq: int
    points: list[bytes]
    count: int = 0
    writes: int = 0
    first: tuple[str, bytes] = ("", b"")  # sent as it was when nothing joins it


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is sent for one or more writes; `writes` is how many."""

    item: RelayItem
    writes: int


def outgoing(records: Iterable[Record]) -> Iterator[Outgoing]:
    """Relay items for `records`, in order; metric writes of one run that follow each other become one."""
    merged: _Merged | None = None
    for record in records:
        path, body = decode_item(record.payload)
        part = _metrics_only(path, body)
        if merged is not None and (part is None or not _fits(merged, part)):
            yield _finish(merged)
            merged = None
        if part is None:
            yield Outgoing(_item(record.end, path, body), 1)
            continue
        if merged is None:
            merged = _Merged(part.run_id, record.end, [], first=(path, body))
        merged.seq = record.end
        merged.points.append(part.points)
        merged.count += part.count
        merged.writes += 1
    if merged is not None:
        yield _finish(merged)


@dataclass(frozen=True, slots=True)
class _Metrics:
    run_id: str
    points: bytes  # the inside of a JSON list
    count: int


class _Batch(msgspec.Struct):
    run_id: str
    metrics: list[msgspec.Raw] = []
    params: list[msgspec.Raw] = []
    tags: list[msgspec.Raw] = []


_metric_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_batch_decoder = msgspec.json.Decoder(_Batch)


def _metrics_only(path: str, body: bytes) -> _Metrics | None:
    """The points of a write that holds nothing else, else None."""
    if path == LOG_METRIC:
        fields = _metric_decoder.decode(body)
        named = fields.pop("run_id", None), fields.pop("run_uuid", None)
        run_id = next((text for raw in named if raw is not None and (text := _text(raw))), "")
        return _Metrics(run_id, msgspec.json.encode(fields), 1)
    if path == LOG_BATCH:
        batch = _batch_decoder.decode(body)
        if batch.metrics and not batch.params and not batch.tags:
            return _Metrics(batch.run_id, b",".join(map(bytes, batch.metrics)), len(batch.metrics))
    return None


def _text(raw: msgspec.Raw) -> str:
    return msgspec.json.decode(raw) or ""


def _fits(merged: _Merged, part: _Metrics) -> bool:
    return merged.run_id == part.run_id and merged.count + part.count <= BATCH_METRICS_MAX


def _finish(merged: _Merged) -> Outgoing:
    if merged.writes == 1:
        path, body = merged.first
    else:
        path = LOG_BATCH
        run_id = msgspec.json.encode(merged.run_id)
        body = b'{"run_id":%b,"metrics":[%b]}' % (run_id, b",".join(merged.points))
    return Outgoing(_item(merged.seq, path, body), merged.writes)


def _item(seq: int, path: str, body: bytes) -> RelayItem:
    if path == EXIT:
        return RelayItem(seq=seq, kind="exit", body=msgspec.Raw(body))
    return RelayItem(seq=seq, kind="rpc", path=path, body=msgspec.Raw(body))
