"""The data folder of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from contrail.model.errors import InvalidParameterValue
from contrail.server.lifecycle import DataFolder


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A data folder below a file is refused with its name, the reason and the way out."""
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "data"
    with pytest.raises(InvalidParameterValue) as refused, DataFolder(place):
        pass
    assert refused.value.message == (
        f"The data folder {place} cannot be used: Not a directory. Choose another folder with --data-dir."
    )
