"""Tracking writes in the spool, and the merging of neighbours."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from contrail.agent.items import encode_item, open_item_spool, outgoing
from contrail.agent.spool import Budget


def metric(run, step, value=1.0):
    return "runs/log-metric", {
        "run_id": run,
        "run_uuid": run,
        "key": "loss",
        "value": value,
        "timestamp": 5,
        "step": step,
    }


def batch(run, steps, params=()):
    points = [{"key": "loss", "value": 1.0, "timestamp": 5, "step": step} for step in steps]
    pairs = [{"key": key, "value": "v"} for key in params]
    return "runs/log-batch", {"run_id": run, "metrics": points, "params": pairs}


def tag(run):
    return "runs/set-tag", {"run_id": run, "key": "k", "value": "v"}


def send(folder, writes):
    spool = open_item_spool(folder, Budget(1 << 24))
    for path, body in writes:
        spool.append(*encode_item(path, json.dumps(body).encode()))
    return list(outgoing(spool.read(0, bytes_max=1 << 24)))


def plain(items):
    return [(out.item.seq, out.item.path, json.loads(bytes(out.item.body))) for out in items]


def points_of(path, body):
    if path == "runs/log-metric":
        return [(body["run_id"], body["key"], body["step"])]
    return [(body["run_id"], point["key"], point["step"]) for point in body.get("metrics", ())]


writes = st.lists(
    st.one_of(
        st.builds(metric, st.sampled_from("ab"), st.integers(0, 9)),
        st.builds(batch, st.sampled_from("ab"), st.lists(st.integers(0, 9), max_size=4)),
        st.builds(batch, st.sampled_from("ab"), st.just([1]), st.just(["p"])),
        st.builds(tag, st.sampled_from("ab")),
    ),
    max_size=20,
)


@given(writes=writes)
def test_merging_changes_neither_points_nor_order(tmp_path_factory, writes):
    """What is sent holds the same points in the same order, and ends with the last number."""
    items = send(tmp_path_factory.mktemp("items"), writes)
    sent = [point for _seq, path, body in plain(items) for point in points_of(path, body)]
    assert sent == [point for path, body in writes for point in points_of(path, body)]
    assert sum(out.writes for out in items) == len(writes)
    numbers = [out.item.seq for out in items]
    assert numbers == sorted(set(numbers))
    assert numbers[-1:] == [len(writes)] * bool(writes)


def test_a_thousand_metrics_are_one_request_item(tmp_path):
    """Single metric writes of one run become log-batches of at most 1,000 points."""
    items = send(tmp_path, [metric("a", step) for step in range(2500)])
    assert [len(json.loads(bytes(out.item.body))["metrics"]) for out in items] == [1000, 1000, 500]
    assert [out.item.seq for out in items] == [1000, 2000, 2500]


def test_texts_for_what_json_has_no_number_for_stay(tmp_path):
    """NaN and infinities travel as the texts that they came as."""
    items = send(tmp_path, [metric("a", 0, "NaN"), metric("a", 1, "-Infinity")])
    assert [point["value"] for point in json.loads(bytes(items[0].item.body))["metrics"]] == [
        "NaN",
        "-Infinity",
    ]


def test_numbers_are_not_used_again_after_a_restart(tmp_path):
    """A reopened spool continues far behind every number that it may have sent."""
    spool = open_item_spool(tmp_path, Budget(1 << 20))
    last = spool.append(*encode_item(*["runs/set-tag", b"{}"]))
    spool.close()
    again = open_item_spool(tmp_path, Budget(1 << 20))
    assert again.append(*encode_item("runs/set-tag", b"{}")) > last + 1000
    assert len(again.read(0, bytes_max=1 << 20)) == 2
