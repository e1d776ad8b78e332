from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "unit" / "logs")]
from line_model import visible_lines

from conftest import LogBench
from contrail.logs import Cursor, LogFilter, records
from contrail.model.logs import LogPiece
from contrail.model.settings import Settings

PIECES = st.lists(
    st.sampled_from(
        [
            b"\n",
            b"\r",
            b"\r\n",
            b"step ",
            b"\x1b[31mred\x1b[0m",
            b"ERROR ",
            b"needle",
            b" 50%|##  |",
            b"\xff",
            "한글".encode(),
            b"Traceback (most recent call last):\n  File x\nValueError: y\n",
            b"x" * 90,
            b"line\n" * 30,
        ]
    ),
    min_size=1,
    max_size=8,
).map(b"".join)


class LogStore(RuleBasedStateMachine):
    """Random writers, sealings and restarts; the log is always what a list of bytes says."""

    @initialize(nodes=st.integers(1, 3), chunk=st.sampled_from([50, 200, 100_000]))
    def begin(self, nodes: int, chunk: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.bench = LogBench(Settings({"data_dir": self.folder.name, "log_chunk_bytes": chunk}, environ={}))
        self.attempt = self.bench.attempt(nodes)
        self.written = [b""] * nodes
        self.ended = False
        self.time_ns = 0

    @rule(
        node=st.integers(0, 2),
        data=PIECES,
        places=st.lists(st.integers(0, 500), max_size=4),
        again=st.integers(0, 200),
    )
    def append(self, node: int, data: bytes, places: list[int], again: int) -> None:
        """Bytes arrive in pieces, some of them for the second time."""
        if self.ended:
            return
        node %= len(self.written)
        known = self.written[node]
        start = max(len(known) - again, 0)
        body, ends = (
            (known + data)[start:],
            sorted({place % (len(known + data) - start + 1) for place in places}),
        )
        pieces = [body[a:b] for a, b in zip([0, *ends], [*ends, len(body)], strict=True)]
        self.time_ns += 1_000_000
        encoded = records.encode([LogPiece(self.time_ns + n, piece) for n, piece in enumerate(pieces)])
        self.written[node] = known + data
        assert self.bench.logs.append(self.attempt, node, start, encoded) == len(self.written[node])

    @rule()
    def restart(self) -> None:
        """The server is killed and started again."""
        self.bench.reopen()

    @rule(seal=st.booleans())
    def end(self, seal: bool) -> None:
        """The attempt ends; perhaps the server dies before it has sealed the rest."""
        if not self.ended:
            self.ended = True
            self.bench.end(self.attempt, seal=seal)

    @invariant()
    def raw_bytes_are_exact(self) -> None:
        """The raw download is what was written."""
        for node, data in enumerate(self.written):
            assert self.bench.raw(self.attempt, node) == data

    @rule()
    def lines_are_those_of_the_model(self) -> None:
        """Each node's lines are what the plain model says."""
        for node, data in enumerate(self.written):
            expected, open_line = visible_lines(data, split_bytes=8 << 20, ended=self.ended)
            if open_line:
                expected = [*expected, open_line]
            page = self.bench.page(self.attempt, LogFilter(node=node), limit=10_000)
            assert page.eof
            assert page.ended == self.ended
            assert [line.text for line in page.lines] == [
                text.decode("utf-8", "replace") for text in expected
            ]
            assert [line.seq for line in page.lines] == list(range(len(expected)))
            assert [line.open for line in page.lines] == [False] * (len(expected) - bool(open_line)) + [
                True
            ] * bool(open_line)

    @rule(limit=st.integers(1, 40), text=st.sampled_from(["", "needle", "NEEDLE", "line", "x"]))
    def pages_visit_every_line_once(self, limit: int, text: str) -> None:
        """Forward and backward paging give the same lines, each once, in order of time, with or without a filter."""
        wanted = LogFilter(text=text)
        whole = [line for line in self.bench.lines(self.attempt, wanted, limit=10_000) if not line.open]
        keys = [(line.time_ns, line.node, line.seq) for line in whole]
        assert keys == sorted(set(keys))
        assert self.forward(wanted, limit) == keys
        assert self.backward(wanted, limit) == keys

    def forward(self, wanted: LogFilter, limit: int) -> list[tuple[int, int, int]]:
        found, after = [], None
        while True:
            page = self.bench.page(self.attempt, wanted, after=after, limit=limit)
            found += [(line.time_ns, line.node, line.seq) for line in page.lines if not line.open]
            assert page.next is not None
            after = Cursor.parse(page.next)
            if page.eof:
                return found

    def backward(self, wanted: LogFilter, limit: int) -> list[tuple[int, int, int]]:
        page = self.bench.page(self.attempt, wanted, tail=limit)
        found = [(line.time_ns, line.node, line.seq) for line in page.lines if not line.open]
        while page.prev is not None:
            page = self.bench.page(self.attempt, wanted, before=Cursor.parse(page.prev), limit=limit)
            found = [(line.time_ns, line.node, line.seq) for line in page.lines] + found
        return found

    def teardown(self) -> None:
        if hasattr(self, "bench"):
            self.bench.database.close()
            self.folder.cleanup()


LogStore.TestCase.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
TestLogStore = LogStore.TestCase
