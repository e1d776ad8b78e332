"""The node's log: the workload's bytes exactly, and the agent's lines between its lines."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from contrail.agent.output import Output, log_request_body
from contrail.agent.spool import Budget


def content(output: Output, position: int = 0) -> bytes:
    _end, body = log_request_body(output.spool, position, 1 << 30)
    return b"".join(data for _time, data in records(body))


def records(body: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(body):
        time_ns, length = struct.unpack_from("<qI", body, at)
        found.append((time_ns, body[at + 12 : at + 12 + length]))
        at += 12 + length
    return found


@given(pieces=st.lists(st.binary(min_size=1, max_size=20), max_size=10))
def test_bytes_stay_as_they_are(tmp_path_factory, pieces):
    """Without lines of the agent, the log is what was written."""
    output = Output(tmp_path_factory.mktemp("output"), Budget(1 << 20))
    for piece in pieces:
        output.write(piece)
    output.finish()
    assert content(output) == b"".join(pieces)
    assert output.spool.end == len(b"".join(pieces))


@given(pieces=st.lists(st.sampled_from([b"a", b"bc\n", b"d\ne", b"\n", b"say"]), max_size=12))
def test_own_lines_never_cut_a_line(tmp_path_factory, pieces):
    """A line of the agent starts at a line start, and without it the workload's bytes are unchanged."""
    output = Output(tmp_path_factory.mktemp("output"), Budget(1 << 20))
    written = b""
    for piece in pieces:
        if piece == b"say":
            output.say("something")
        else:
            output.write(piece)
            written += piece
    output.finish()
    found = content(output)
    assert found.count(b"[contrail] something\n") == pieces.count(b"say")
    without = found.replace(b"[contrail] something\n", b"")
    assert without in {written, written + b"\n"}
    assert all(line.startswith(b"[contrail]") for line in found.split(b"\n") if b"[contrail]" in line)


def test_a_piece_can_start_inside_a_record(tmp_path):
    """Offsets count bytes, not records: the rest of a record can be asked for."""
    output = Output(tmp_path, Budget(1 << 20))
    output.write(b"hello")
    output.write(b"world")
    assert content(output, 3) == b"loworld"


def test_what_finds_no_room_is_counted_in_the_log(tmp_path):
    """When the spool is full, output is dropped, and the log says how much as soon as there is room."""
    output = Output(tmp_path, Budget(500), segment_bytes=100)
    for _ in range(50):
        output.write(b"0123456789\n")
    kept = content(output)
    dropped = 50 * 11 - len(kept)
    assert dropped > 0
    output.spool.ack(output.spool.end)
    output.write(b"again\n")
    end = output.spool.end
    text = content(output, end - 300).decode()
    assert f"[contrail] {dropped} bytes of output are missing here" in text
    assert text.endswith("again\n")


def test_times_never_go_back(tmp_path):
    """A clock that is set back does not reorder the log."""
    times = iter([100, 90, 110])
    output = Output(tmp_path, Budget(1 << 20), clock_ns=lambda: next(times))
    for piece in (b"a", b"b", b"c"):
        output.write(piece)
    _end, body = log_request_body(output.spool, 0, 1 << 20)
    assert [time_ns for time_ns, _ in records(body)] == [100, 100, 110]
