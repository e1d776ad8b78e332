"""A short form of the kill loop in every test run; `python tests/faults/kill_loop.py` runs all 100 rounds."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROUNDS = 12


@pytest.mark.timeout(300)
def test_no_answered_write_is_lost_or_doubled_by_kill_9(tmp_path: Path) -> None:
    """An answered write survives kill -9 at any moment, exactly once."""
    spec = importlib.util.spec_from_file_location("kill_loop", Path(__file__).with_name("kill_loop.py"))
    assert spec is not None
    assert spec.loader is not None
    kill_loop = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["kill_loop"] = kill_loop  # dataclasses look their module up
    spec.loader.exec_module(kill_loop)
    assert kill_loop.run_rounds(tmp_path, ROUNDS, seed=1) > 100
