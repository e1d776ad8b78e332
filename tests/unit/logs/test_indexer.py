from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import itertools

from line_model import visible_lines

from contrail.logs import indexer
from contrail.logs.indexer import JOINED, UNTERMINATED, Index, Indexer
from contrail.logs.segments import decode_index, decode_raw, encode
from contrail.model.logs import Level, LogPiece

WORDS = st.sampled_from(
    [
        b"\n",
        b"\r",
        b"\r\n",
        b"a",
        b"ERROR x",
        b" 10%|##",
        b"\x1b[31mred\x1b[0m",
        b"Traceback (most recent call last):\n",
        b"  File x\n",
        b"ValueError: no\n",
        b"[rank1]: ",
        b"\xff\xfe",
        "한".encode(),
        b"\x00",
        b"x" * 40,
        b"WARNING: y\n",
    ]
)
STREAMS = st.lists(WORDS | st.binary(max_size=8), max_size=40).map(b"".join)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """`data` cut at the given places."""
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


def feed(pieces: list[bytes], parser: Indexer) -> Index:
    parser.feed([LogPiece(0, piece) for piece in pieces])
    return parser.take()


def texts(data: bytes, index: Index) -> list[bytes]:
    return [data[s:e] for s, e in zip(index.starts.tolist(), index.ends.tolist(), strict=True)]


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lines of more than 64 bytes are split, and the parser looks at 32 bytes at once."""
    monkeypatch.setattr(indexer, "LINE_SPLIT_BYTES", 64)
    monkeypatch.setattr(indexer, "_WINDOW", 32)
    return 64


@given(data=STREAMS, places=st.lists(st.integers(0, 10_000), max_size=12), seals=st.sets(st.integers(0, 12)))
def test_lines_do_not_depend_on_how_bytes_arrive(data, places, seals):
    """However the stream is cut, fed and handed on as JSON state, lines are those of the plain model."""
    expected, open_line = visible_lines(data, split_bytes=10**9, ended=False)
    whole = Indexer()
    reference = feed([data], whole)
    parser, parts = Indexer(), []
    for number, piece in enumerate(cut(data, places)):
        parts.append(feed([piece], parser))
        if number in seals:
            parser = Indexer(json.loads(json.dumps(parser.state())))
    index = Index.join(parts)
    assert texts(data, index) == expected == texts(data, reference)
    assert index.levels.tolist() == reference.levels.tolist()
    assert index.flags.tolist() == reference.flags.tolist()
    if open_line is None:
        assert parser.open_line is None
    else:
        assert parser.open_line is not None
        assert data[parser.open_line.start : parser.open_line.end] == open_line
    parser.finish()
    rest = parser.take()
    assert len(rest) == (open_line is not None)
    assert all(flag & UNTERMINATED for flag in rest.flags)


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize("step", [1, 3, 32, 1000])
@pytest.mark.parametrize(
    "data",
    [
        b"x" * 64 + b"\n",
        b"x" * 65 + b"\n",
        b"x" * 200 + b"\r" + b"y" * 63 + b"\n",
        b"a\r" + b"x" * 129,
        b"\r" * 80 + b"z\n",
        b"x" * 130 + b"\ra\rb\nc",
        b"x" * 64 + b"\r\n" + b"y" * 64 + b"\r" + b"z" * 64,
    ],
)
def test_endless_lines_are_split(data, step):
    """A text longer than the limit goes on as another line, at the same place whatever the pieces are."""
    expected, _ = visible_lines(data, split_bytes=64, ended=True)
    parser = Indexer()
    parser.feed([LogPiece(0, data[at : at + step]) for at in range(0, len(data), step)])
    parser.finish()
    assert texts(data, parser.take()) == expected


@given(
    data=STREAMS, offset=st.integers(0, 10**12), times=st.lists(st.integers(0, 2**62), min_size=1, max_size=5)
)
def test_a_chunk_gives_back_what_was_put_in(data, offset, times):
    """The blob of a chunk holds the raw bytes and the whole index, also for lines that began before it."""
    parser = Indexer({"offset": offset, "open": [7, max(offset - 5, 0), None, "abc"]})
    size = -(-len(data) // len(times)) or 1
    parser.feed([LogPiece(time, data[n * size : (n + 1) * size]) for n, time in enumerate(times)])
    parser.finish()
    index = parser.take()
    blob = encode(data, offset, index)
    assert decode_raw(blob) == data
    found = decode_index(blob, offset)
    for column in ("starts", "ends", "times", "levels", "flags"):
        assert getattr(found, column).tolist() == getattr(index, column).tolist()


def test_a_line_has_the_time_of_its_first_byte_and_times_never_go_back():
    """Lines are in order of time even when a clock was set back while they were written."""
    parser = Indexer()
    parser.feed([LogPiece(50, b"a"), LogPiece(60, b"b\nc"), LogPiece(10, b"d\ne\n")])
    assert parser.take().times.tolist() == [50, 60, 60]


def test_a_traceback_stays_together():
    """All lines of a traceback are ERROR, joined to its first line, and have its time, though they came later."""
    text = [
        b"INFO before\n",
        b"Traceback (most recent call last):\n",
        b'  File "train.py", line 3, in <module>\n',
        b"    main()\n",
        b"ValueError: bad\n",
        b"\n",
        b"During handling of the above exception, another exception occurred:\n",
        b"\n",
        b"Traceback (most recent call last):\n",
        b'  File "train.py", line 9, in <module>\n',
        b"RuntimeError: worse\n",
        b"\tMissing key(s) in state_dict\n",
        b"after\n",
    ]
    parser = Indexer()
    parser.feed([LogPiece(time, line) for time, line in enumerate(text)])
    index = parser.take()
    errors = [level == Level.ERROR for level in index.levels.tolist()]
    assert errors == [False, True, True, True, True, False, True, False, True, True, True, True, False]
    assert index.times.tolist()[1:5] == [1, 1, 1, 1]
    assert [bool(flag & JOINED) for flag in index.flags.tolist()][:5] == [False, False, True, True, True]


def test_tracebacks_of_several_ranks_may_interleave():
    """A launcher's prefix tells whose traceback goes on; other ranks' lines keep their own level."""
    text = (
        b"[rank0]: Traceback (most recent call last):\n"
        b"[rank1]: Traceback (most recent call last):\n"
        b"[rank2]: all fine\n"
        b'[rank0]:   File "a.py"\n'
        b'[rank1]:   File "a.py"\n'
        b"[rank0]: ValueError: x\n"
        b"[rank1]: torch.OutOfMemoryError: CUDA out of memory\n"
        b"[rank0]: done\n"
    )
    index = feed([text], Indexer())
    assert index.levels.tolist() == [2, 2, 0, 2, 2, 2, 2, 0]
