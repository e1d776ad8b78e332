"""Words, times and tables for people."""

from __future__ import annotations

import pytest

from contrail.cli import text
from contrail.cli.output import ErrorClass, error_class
from contrail.client.http import ServerUnreachable
from contrail.model import errors


def test_tables_align_wide_characters() -> None:
    """Columns line up, Korean names included; long cells are cut, missing ones are a dash."""
    lines = text.table(["Name", "N"], [["한국어", 1], ["x" * 50, None], ["a\nb", ""]])
    assert lines == [
        "Name                                  N",
        "한국어                                1",
        "x" * 35 + "…  -",
        "a b                                   -",
    ]


def test_box_surrounds_every_line() -> None:
    """All lines of a box are equally wide."""
    lines = text.box("제목", ["short", "a longer line", "한글"])
    assert {text.width(line) for line in lines} == {17}


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, "-"), (0, "0s"), (59, "59s"), (61, "1m 01s"), (3723, "1h 02m 03s")]
)
def test_durations(seconds: int | None, words: str) -> None:
    """Durations read as people say them."""
    assert text.duration(seconds) == words


def test_duration_of_what_goes_on_is_measured_to_now() -> None:
    """No start, no duration; no end, until now; rounded half to even."""
    assert text.duration_s(None, None, 5000) is None
    assert text.duration_s(1000, None, 5000) == 4
    assert text.duration_s(0, 2500, 9000) == 2
    assert text.duration_s(0, 3500, 9000) == 4


def test_bytes_and_accelerators() -> None:
    """Sizes and devices in words."""
    assert [text.byte_count(n) for n in (0, 999, 1000, 1_500_000)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "1.5 MB",
    ]
    assert text.accelerators("GPU_8xH100", 16) == "16x H100"
    assert text.accelerators("CPU", 2) == "2x CPU"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.InvalidParameterValue("x"), ErrorClass("INVALID_ARGS", "PERMANENT", False)),
        (errors.PermissionDenied(), ErrorClass("UNAUTHENTICATED", "PERMANENT", False)),
        (errors.ResourceDoesNotExist(), ErrorClass("NOT_FOUND", "NOT_FOUND", False)),
        (errors.ResourceConflict(), ErrorClass("INVALID_ARGS", "CONFLICT", False)),
        (errors.RequestLimitExceeded(), ErrorClass("INTERNAL_ERROR", "TRANSIENT", True)),
        (ServerUnreachable("x"), ErrorClass("INTERNAL_ERROR", "TRANSIENT", True)),
    ],
)
def test_errors_have_their_class(error: errors.ContrailError, expected: ErrorClass) -> None:
    """Code, kind and retryability follow the documented mapping."""
    assert error_class(error) == expected
