"""Requirements files are read where the workload is submitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from contrail.model.errors import InvalidParameterValue
from contrail.workloads.requirements import expand


def test_files_are_replaced_by_their_lines(tmp_path: Path) -> None:
    """Comments, blank lines, continued lines and nested files are understood; order is kept."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "req.txt").write_text("# all\nnumpy>=2 # fast\n\ntorch \\\n  ==2.6\n-r sub/more.txt\n")
    (tmp_path / "sub" / "more.txt").write_text("pkg @ https://h/x.whl#sha256=a\n--requirement=last.txt")
    (tmp_path / "sub" / "last.txt").write_text("tqdm")
    assert expand(["a", "-r req.txt", "z"], tmp_path) == [
        "a",
        "numpy>=2",
        "torch    ==2.6",
        "pkg @ https://h/x.whl#sha256=a",
        "tqdm",
        "z",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--index-url https://x\n", "req.txt line 1: the option '--index-url' is not supported"),
        ("-r nowhere.txt\n", "nowhere.txt cannot be read"),
        ("-r req.txt\n", "is included by itself"),
    ],
)
def test_what_is_no_requirement_is_named(tmp_path: Path, text: str, message: str) -> None:
    """Options, missing files and circles are refused with file and line."""
    (tmp_path / "req.txt").write_text(text)
    with pytest.raises(InvalidParameterValue, match=message):
        expand(["-r req.txt"], tmp_path)
