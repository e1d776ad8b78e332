"""Random run names."""

from __future__ import annotations

import random
import re

from contrail.tracking.names import random_name


def test_names_are_short_and_readable() -> None:
    """adjective-noun-number, at most 20 characters, many different ones."""
    choose = random.Random(1)
    names = [random_name(choose) for _ in range(2000)]
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-\d{1,3}", name) and len(name) <= 20 for name in names)
    assert len(set(names)) > 1990
