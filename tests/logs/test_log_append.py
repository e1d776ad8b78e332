from __future__ import annotations

import pytest

from contrail.logs import records
from contrail.model.errors import InvalidParameterValue, ResourceConflict, ResourceDoesNotExist
from contrail.model.logs import LogPiece


def test_what_was_appended_is_there_after_a_restart(bench):
    """An answered append is durable: lines and raw bytes are the same after the server was started again."""
    attempt = bench.attempt()
    bench.write(attempt, "one\ntwo\n")
    bench.reopen()
    assert bench.texts(attempt) == ["one", "two"]
    assert bench.raw(attempt) == b"one\ntwo\n"


def test_known_bytes_are_skipped(bench):
    """A request that is sent again, whole or in part, adds only what is new."""
    attempt = bench.attempt()
    body = records.encode([LogPiece(1, b"abc"), LogPiece(2, b"def\n")])
    assert bench.logs.append(attempt, 0, 0, body) == 7
    assert bench.logs.append(attempt, 0, 0, body) == 7
    assert bench.logs.append(attempt, 0, 5, records.encode([LogPiece(3, b"f\nghi")])) == 10
    assert bench.raw(attempt) == b"abcdef\nghi"


def test_a_gap_is_refused(bench):
    """Bytes that would leave a hole are a conflict that says where the log ends, and nothing is stored."""
    attempt = bench.attempt()
    bench.write(attempt, "abc")
    with pytest.raises(ResourceConflict, match="ends at byte 3"):
        bench.logs.append(attempt, 0, 4, records.encode([LogPiece(1, b"x")]))
    assert bench.raw(attempt) == b"abc"


def test_an_unknown_node_is_refused(bench):
    """Only nodes of the attempt have logs."""
    attempt = bench.attempt()
    with pytest.raises(ResourceDoesNotExist):
        bench.logs.append(attempt, 7, 0, records.encode([LogPiece(1, b"x")]))


@pytest.mark.parametrize("body", [b"x", b"\x00" * 12 + b"", b"\x00" * 8 + b"\xff\xff\xff\x7fabc"])
def test_a_body_that_is_cut_off_is_refused(bench, body):
    """A record that is longer than its body is an error, not a shorter record; an empty record is fine."""
    attempt = bench.attempt()
    if len(body) == 12:
        assert bench.logs.append(attempt, 0, 0, body) == 0
    else:
        with pytest.raises(InvalidParameterValue, match="cut off"):
            bench.logs.append(attempt, 0, 0, body)


def test_full_chunks_are_sealed_at_line_ends(bench):
    """Sealed bytes leave the tail, chunks end at line ends, and reading does not show the difference."""
    attempt = bench.attempt()
    lines = [f"line number {n}" for n in range(100)]
    for line in lines:
        bench.write(attempt, line + "\n")
    from contrail.store import logs as stored

    with bench.database.read() as c:
        chunks = stored.chunks(c, attempt, 0)
        rest = b"".join(piece.data for piece in stored.tail(c, attempt, 0, chunks[-1].end))
    assert len(chunks) > 10
    assert len(rest) < 100
    assert all(bench.raw(attempt)[chunk.end - 1 : chunk.end] == b"\n" for chunk in chunks)
    assert bench.texts(attempt) == lines
    bench.end(attempt)
    bench.reopen()
    assert bench.texts(attempt) == lines


def test_a_crash_between_blob_and_commit_loses_nothing(bench, monkeypatch):
    """A blob without its row is written again by the next sealing; until then the tail has the bytes."""
    attempt = bench.attempt()
    run = bench.database.writer.run
    calls = []

    def fail_second(write):
        calls.append(write)
        if len(calls) == 2:
            raise OSError("killed here")
        return run(write)

    monkeypatch.setattr(bench.database.writer, "run", fail_second)
    bench.write(attempt, "x" * 60 + "\n" + "y" * 60 + "\n")
    monkeypatch.undo()
    assert bench.texts(attempt) == ["x" * 60, "y" * 60]
    bench.reopen()
    bench.end(attempt)
    assert bench.texts(attempt) == ["x" * 60, "y" * 60]
    blobs = sorted(p for p in bench.settings.data_path.glob("blobs/logs/**/*") if p.is_file())
    assert len(blobs) == 2
