"""The spool keeps order and content through tears, restarts and acknowledgements."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from contrail.agent.spool import Budget, Spool, SpoolFull


class SpoolMachine(RuleBasedStateMachine):
    """A spool against a list."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.records: list[tuple[int, bytes]] = []  # (end position, payload), everything ever appended
        self.acked = 0
        self.open()

    def open(self):
        self.budget = Budget(1 << 30)
        self.spool = Spool(self.folder, weigh=lambda length: length + 1, budget=self.budget, segment_bytes=64)

    def teardown(self):
        self.spool.close()
        shutil.rmtree(self.folder)

    @rule(payload=st.binary(max_size=90))
    def append(self, payload):
        before = self.spool.end
        end = self.spool.append(payload[:3], payload[3:])
        assert end == before + len(payload) + 1
        self.records.append((end, payload))

    @precondition(lambda self: self.records)
    @rule(data=st.data())
    def acknowledge(self, data):
        end, _ = data.draw(st.sampled_from(self.records))
        self.spool.ack(end)
        self.acked = max(self.acked, end)

    @rule(position=st.integers(0, 400), bytes_max=st.integers(1, 200))
    def read(self, position, bytes_max):
        position = max(position, self.acked)
        expected = [(end, payload) for end, payload in self.records if end > position]
        found = [(record.end, record.payload) for record in self.spool.read(position, bytes_max=bytes_max)]
        assert found == expected[: len(found)]
        assert bool(found) == bool(expected)

    @rule(torn=st.binary(max_size=40))
    def crash(self, torn):
        """The owner is killed while it writes a record: a part of it is at the end of the file."""
        last = sorted(self.folder.iterdir())[-1]
        self.spool.close()
        with last.open("ab") as file:
            file.write((b"\xff\xff\xff\x00" + torn)[: len(torn)])
        self.open()

    @rule(gap=st.integers(1, 50))
    def skip(self, gap):
        """Positions may jump; the next record comes after the gap."""
        self.spool.skip_to(self.spool.end + gap)
        self.records.append((self.spool.append(b""), b""))

    @invariant()
    def everything_unacknowledged_is_there(self):
        expected = [item for item in self.records if item[0] > self.acked]
        found = self.spool.read(self.acked, bytes_max=1 << 30)
        assert [(record.end, record.payload) for record in found] == expected

    @invariant()
    def the_budget_is_what_lies_on_disk(self):
        assert self.budget.used_bytes == sum(path.stat().st_size for path in self.folder.iterdir())


SpoolMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSpool = SpoolMachine.TestCase


def new(folder: Path, limit: int = 1 << 20) -> Spool:
    return Spool(folder, weigh=lambda _length: 1, budget=Budget(limit), segment_bytes=100)


def test_a_flipped_bit_ends_what_is_believed(tmp_path):
    """A record whose check sum is wrong, and all after it, are cut off and counted."""
    spool = new(tmp_path)
    for number in range(20):
        spool.append(b"payload %d" % number)
    spool.close()
    paths = sorted(tmp_path.iterdir())
    content = bytearray(paths[1].read_bytes())
    content[10] ^= 1
    paths[1].write_bytes(content)
    again = new(tmp_path)
    kept = again.read(0, bytes_max=1 << 20)
    assert [record.payload for record in kept] == [b"payload %d" % number for number in range(len(kept))]
    assert 0 < len(kept) < 20
    assert again.torn_bytes > 0
    assert again.append(b"next") == len(kept) + 1


def test_a_full_spool_refuses_and_changes_nothing(tmp_path):
    """Beyond its limit a spool raises, and takes records again once some are acknowledged."""
    spool = new(tmp_path, limit=300)

    def fill() -> None:
        for number in range(100):
            spool.append(b"x" * 20 + b"%d" % number)

    with pytest.raises(SpoolFull):
        fill()
    end = spool.end
    assert [record.end for record in spool.read(0, bytes_max=1 << 20)] == list(range(1, end + 1))
    spool.ack(end)
    assert spool.append(b"more") == end + 1


def test_a_full_disk_leaves_no_half_record(tmp_path, monkeypatch):
    """When the disk takes only a part of a record, the part is removed."""
    spool = new(tmp_path)
    spool.append(b"before")
    real = os.writev

    def short(fd, pieces):
        return real(fd, [b"".join(pieces)[:5]])

    def none(_fd, _pieces):
        raise OSError(errno.ENOSPC, "No space left on device")

    for failing in (short, none):
        monkeypatch.setattr(os, "writev", failing)
        with pytest.raises(SpoolFull):
            spool.append(b"does not fit")
        monkeypatch.setattr(os, "writev", real)
    spool.append(b"after")
    spool.close()
    assert [record.payload for record in new(tmp_path).read(0, bytes_max=1 << 20)] == [b"before", b"after"]
