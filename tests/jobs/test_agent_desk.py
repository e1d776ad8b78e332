"""What agents send: applied in order, exactly once, and only by who may."""

from __future__ import annotations

import struct
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from contrail.jobs.agents import LogGap
from contrail.model.errors import (
    InvalidParameterValue,
    PermissionDenied,
    ResourceDoesNotExist,
    TemporarilyUnavailable,
    Unauthenticated,
)
from contrail.wire.jobs import RelayItem


@pytest.fixture
def attempt(place: Any) -> int:
    """A placed attempt with two nodes."""
    place.submit("experiment_name: a\ncompute: {accelerator_type: CPU, num_accelerators: 2}\ncommand: x\n")
    place.step()
    return 1


def _metric(place: Any, step: int, **more: Any) -> tuple[str, str, Any]:
    run_id = place.job(1).run_id
    return (
        "rpc",
        "runs/log-metric",
        {"run_id": run_id, "key": "m", "value": step, "timestamp": 1, "step": step, **more},
    )


def _points(place: Any) -> list[float]:
    metrics = place.tracking.runs.get(place.job(1).run_id).metrics
    return [metric.value for metric in metrics if metric.key == "m"]


def _item(seq: int, entry: tuple[str, str, Any]) -> RelayItem:
    return RelayItem(seq, entry[0], entry[1], msgspec.Raw(msgspec.json.encode(entry[2])))


def test_known_items_are_skipped(place: Any, attempt: int) -> None:
    """A batch that is sent again, wholly or in part, does nothing twice."""
    items = [_item(seq, _metric(place, seq)) for seq in (3, 7)]
    assert place.jobs.agents.relay(attempt, 0, items).applied_seq == 7
    assert place.jobs.agents.relay(attempt, 0, items).applied_seq == 7
    assert place.jobs.agents.relay(attempt, 0, [items[1], _item(9, _metric(place, 9))]).applied_seq == 9
    assert _points(place) == [9.0]
    assert place.jobs.agents.relay(attempt, 1, items).applied_seq == 7, "nodes count apart"


def test_a_write_that_can_never_succeed_is_refused_alone(place: Any, attempt: int) -> None:
    """Its neighbours are applied, and the agent learns which one it was and why."""
    answer = place.relays(
        attempt,
        0,
        _metric(place, 1),
        ("rpc", "runs/log-metric", {"key": "m"}),
        ("rpc", "no/such", {}),
        _metric(place, 2),
    )
    assert answer.applied_seq == 4
    assert [(refusal.seq, refusal.error_code) for refusal in answer.refused] == [
        (2, "INVALID_PARAMETER_VALUE"),
        (3, "ENDPOINT_NOT_FOUND"),
    ]
    assert _points(place) == [2.0]


def test_a_write_that_may_succeed_later_stops_the_batch(
    place: Any, attempt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is before it counts; it and what follows are sent again."""
    write = place.tracking.rpc_write

    def full(path: str, body: bytes) -> Future[Any]:
        if b'"step":2' in body:
            raise TemporarilyUnavailable("the disk is full")
        return write(path, body)

    monkeypatch.setattr(place.tracking, "rpc_write", full)
    items = [_item(seq, _metric(place, seq)) for seq in (1, 2, 3)]
    assert place.jobs.agents.relay(attempt, 0, items).applied_seq == 1
    with pytest.raises(TemporarilyUnavailable):
        place.jobs.agents.relay(attempt, 0, items)
    monkeypatch.undo()
    assert place.jobs.agents.relay(attempt, 0, items).applied_seq == 3
    assert _points(place) == [3.0]


def test_the_same_batch_twice_at_the_same_time_counts_once(place: Any, attempt: int) -> None:
    """An agent that lost patience and asked again meets its own first request."""
    items = [
        _item(seq, ("rpc", "runs/set-tag", {"run_id": place.job(1).run_id, "key": f"k{seq}", "value": "v"}))
        for seq in range(1, 30)
    ]
    seen: list[str] = []
    write, guard = place.tracking.rpc_write, threading.Lock()

    def noted(path: str, body: bytes) -> Future[Any]:
        with guard:
            seen.append(msgspec.json.decode(body)["key"])
        return write(path, body)

    place.tracking.rpc_write = noted
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: place.jobs.agents.relay(attempt, 0, items), range(4)))
    assert {answer.applied_seq for answer in answers} == {29}
    assert seen == [f"k{seq}" for seq in range(1, 30)]


@pytest.mark.parametrize("status", ["FINISHED", "FAILED", "RUNNING"])
def test_the_end_of_its_own_run_is_the_attempts_to_say(place: Any, attempt: int, status: str) -> None:
    """Status and end that a script writes are left out, its name is not."""
    run_id = place.job(1).run_id
    place.relays(
        attempt,
        0,
        ("rpc", "runs/update", {"run_id": run_id, "status": status, "end_time": 5, "run_name": "x"}),
    )
    place.relays(attempt, 0, ("rpc", "runs/update", {"runId": run_id, "status": status, "endTime": 5}))
    info = place.tracking.runs.get(run_id).info
    assert (info.status.name, info.end_ms, info.name) == ("RUNNING", None, "x")


def test_other_runs_of_a_script_end_as_it_says(place: Any, attempt: int) -> None:
    """Child runs are the script's own."""
    experiment = str(place.tracking.runs.get(place.job(1).run_id).info.experiment_id)
    created = {"experiment_id": experiment, "run_id": "c" * 32, "start_time": 1}
    ended = {"run_id": "c" * 32, "status": "FINISHED", "end_time": 9}
    place.relays(attempt, 0, ("rpc", "runs/create", created), ("rpc", "runs/update", ended))
    info = place.tracking.runs.get("c" * 32).info
    assert (info.status.name, info.end_ms) == ("FINISHED", 9)


def test_items_must_come_in_order(place: Any, attempt: int) -> None:
    """Out of order, or after an exit: the batch is refused whole."""
    with pytest.raises(InvalidParameterValue, match=r"items\[1\]\.seq"):
        place.jobs.agents.relay(attempt, 0, [_item(2, _metric(place, 2)), _item(2, _metric(place, 3))])
    with pytest.raises(InvalidParameterValue, match=r"items\[0\]\.kind"):
        place.jobs.agents.relay(attempt, 0, [_item(1, ("exit", "", {})), _item(2, _metric(place, 3))])
    with pytest.raises(InvalidParameterValue, match="exit record"):
        place.relays(attempt, 0, ("exit", "", {"exit_code": "many"}))
    assert place.job(1).attempts[0].nodes[0].state != "TERMINATED"


def test_after_the_end_an_agent_is_told_to_go(place: Any, attempt: int) -> None:
    """A late agent gets 404; one that only asks again what it knows gets the old answer."""
    for node in range(2):
        place.exits(attempt, node)
    place.step()
    assert place.jobs.agents.relay(attempt, 0, [_item(1, ("exit", "", {}))]).applied_seq == 1
    for late in (
        lambda: place.says(attempt),
        lambda: place.jobs.agents.relay(attempt, 0, [_item(2, _metric(place, 2))]),
        lambda: place.jobs.agents.append_logs(attempt, 0, 0, b""),
    ):
        with pytest.raises(ResourceDoesNotExist):
            late()


def test_log_bytes_are_taken_once(place: Any, attempt: int) -> None:
    """Known bytes are skipped; after a gap the agent hears where to go on."""
    append = place.jobs.agents.append_logs
    assert append(attempt, 0, 0, _records(b"one\n")).next_offset == 4
    assert append(attempt, 0, 0, _records(b"one\ntwo\n")).next_offset == 8
    with pytest.raises(LogGap) as gap:
        append(attempt, 0, 20, _records(b"late\n"))
    assert gap.value.next_offset == 8
    source = place.logs.of_attempt(attempt)
    assert b"".join(place.logs.download_raw(source, 0)) == b"one\ntwo\n"


def test_a_heartbeat_must_make_sense(place: Any, attempt: int) -> None:
    """States of the server's own and nodes that do not exist are refused."""
    with pytest.raises(InvalidParameterValue, match="state"):
        place.says(attempt, state="TERMINATED")
    with pytest.raises(ResourceDoesNotExist):
        place.says(attempt, node=2)
    with pytest.raises(ResourceDoesNotExist):
        place.says(99)


def test_a_token_opens_its_own_attempt_only(place: Any, attempt: int) -> None:
    """No token, another attempt's token, an empty one: refused. Only a digest is kept."""
    place.submit("experiment_name: a\ncompute: {accelerator_type: CPU, num_accelerators: 1}\ncommand: x\n")
    place.step()
    token, other = (place.engine.specs[key, 0].token for key in (1, 2))
    place.jobs.agents.authorize(attempt, token)
    with pytest.raises(Unauthenticated):
        place.jobs.agents.authorize(attempt, None)
    for wrong in (other, "", token[:-1], token + "x"):
        with pytest.raises(PermissionDenied):
            place.jobs.agents.authorize(attempt, wrong)
    database = place.settings.data_path / "contrail.db"
    assert token.encode() not in database.read_bytes() + database.with_name("contrail.db-wal").read_bytes()


def test_a_queued_attempt_has_no_token(place: Any) -> None:
    """Before its start nobody can speak for an attempt, not even with an empty token."""
    place.submit("experiment_name: a\ncompute: {accelerator_type: CPU, num_accelerators: 1}\ncommand: x\n")
    for token in ("", "cta_"):
        with pytest.raises(PermissionDenied):
            place.jobs.agents.authorize(1, token)


def _records(data: bytes) -> bytes:
    return struct.pack("<qI", 1_800_000_000_000_000_000, len(data)) + data
