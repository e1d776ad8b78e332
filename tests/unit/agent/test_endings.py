"""How a command ended."""

from __future__ import annotations

import pytest

from contrail.agent.endings import OomCounters, ending
from contrail.model.jobs import Cause

QUIET = OomCounters(0, 0)


def of(status, *, after=QUIET, stop=None):
    return ending(
        status,
        stop_cause=stop,
        stop_message="",
        oom_before=QUIET,
        oom_after=after,
        peak_memory_bytes=5_000_000,
    )


@pytest.mark.parametrize(
    ("status", "exit_code", "cause", "number"),
    [
        (0, 0, Cause.EXIT_CODE, None),
        (3 << 8, 3, Cause.EXIT_CODE, None),
        (255 << 8, 255, Cause.EXIT_CODE, None),
        (9, 137, Cause.SIGNAL, 9),
        (11 | 0x80, 139, Cause.SIGNAL, 11),  # with a core
        (139 << 8, 139, Cause.SIGNAL, 11),  # a child of the shell
        (143 << 8, 143, Cause.SIGNAL, 15),
    ],
)
def test_codes_and_signals(status, exit_code, cause, number):
    """Exit codes are themselves; a signal counts also when a shell reports it for its child."""
    end = of(status)
    assert (end.exit_code, end.cause, end.signal) == (exit_code, cause, number)


@pytest.mark.parametrize(("after", "word"), [(OomCounters(1, 1), "group"), (OomCounters(0, 1), "machine")])
def test_out_of_memory(after, word):
    """SIGKILL is the kernel's for want of memory when the kernel has counted one meanwhile."""
    end = of(9, after=after)
    assert end.cause is Cause.OUT_OF_MEMORY
    assert word in end.message
    assert "5 MB" in end.message


def test_a_kill_without_a_sign_of_memory_says_so():
    """What is not known is not claimed."""
    assert "nothing says that memory ran out" in of(9).message


def test_an_order_is_the_cause():
    """A command that was told to stop ended because of that, whatever its code."""
    assert of(15, stop=Cause.CANCELLED).cause is Cause.CANCELLED


def test_counters_come_from_the_kernel(tmp_path):
    """The machine's counter is read where there is one."""

    class Group:
        def oom_kills(self):
            return 4

    vmstat = tmp_path / "vmstat"
    vmstat.write_text("pgfault 1\noom_kill 7\n")
    assert OomCounters.read(Group(), vmstat) == OomCounters(4, 7)
    assert OomCounters.read(Group(), tmp_path / "none") == OomCounters(4, 0)
