from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrail.blobs import locations, paths
from contrail.model.errors import InvalidParameterValue

ESCAPES = [
    "..",
    "../x",
    "a/../../x",
    "a/..",
    "/etc/passwd",
    "//etc",
    "\\x",
    "a\\b",
    "C:/x",
    "c:",
    "file:/x",
    "a\x00b",
    "a\nb",
    "a#b",
]


def encoded(path: str, times: int) -> str:
    for _ in range(times):
        path = quote(path, safe="").replace(".", "%2E")
    return path


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize("times", [0, 1, 2, 3, 8])
def test_escapes_are_refused_however_often_encoded(path, times):
    """No way out of the root, and nothing that systems read differently, at any depth of encoding."""
    with pytest.raises(InvalidParameterValue, match="Invalid path"):
        paths.clean(encoded(path, times))


@pytest.mark.parametrize(
    "path", ["x" * 256, "한" * 90, "/".join(["x" * 200] * 6), ".contrail-uploads/x", ".contrail", "a\ud800b"]
)
def test_names_no_file_system_takes_are_refused(path):
    """Too long, reserved or not text: refused before anything is touched."""
    with pytest.raises(InvalidParameterValue, match="Invalid path"):
        paths.clean(path)


@pytest.mark.parametrize(
    "path",
    ["a b", "100%.txt", "a%20b", "한글/파일.txt", "é/e\u0301", "a.b..c", "...", "~", "-rf", "a:b", "{x}"],
)
def test_names_are_kept_byte_for_byte(path):
    """Whatever is a name stays that name: no decoding, no Unicode normalisation."""
    assert paths.clean(path) == path


def test_empty_parts_fall_away():
    """Doubled slashes, `.` and a slash at the end mean nothing."""
    assert paths.clean("a//b/./c/") == "a/b/c"
    assert paths.clean("") == ""


@given(st.text(max_size=30))
def test_a_clean_path_is_always_below_the_root(path):
    """Every text is either refused or a plain relative path that is clean already."""
    try:
        found = paths.clean(path)
    except InvalidParameterValue:
        return
    assert not found.startswith("/")
    assert ".." not in found.split("/")
    assert paths.clean(found) == found


@pytest.mark.parametrize(
    ("location", "neutral"),
    [
        ("", ""),
        ("mlflow-artifacts:/a/b", "mlflow-artifacts:/a/b"),
        ("mlflow-artifacts:///a/b/", "mlflow-artifacts:/a/b"),
        ("/Volumes/c/s/v", "mlflow-artifacts:/Volumes/c/s/v"),
        ("dbfs:/Volumes/c/s/v/p", "mlflow-artifacts:/Volumes/c/s/v/p"),
    ],
)
def test_locations_become_neutral(location, neutral):
    """All allowed forms of a place are stored as one."""
    assert locations.check(location) == neutral
    assert locations.check(neutral) == neutral


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc",
        "/etc",
        "etc",
        "mlflow-artifacts:/../../etc",
        "mlflow-artifacts:/a?b=c",
        "mlflow-artifacts:/a#b",
        "mlflow-artifacts://host/a",
        "mlflow-artifacts:a",
        "s3x://b",
        "/Volumes/c/s",
        "/Volumes/../etc",
        "dbfs:/x",
        "http://h/x",
        "mlflow-artifacts:/%2e%2e/x",
        "mlflow-artifacts:/" + "x" * 3000,
        "mlflow-artifacts:/.contrail/x",
        "mlflow-artifacts:////x",
    ],
)
def test_locations_elsewhere_are_refused(location):
    """A client cannot point the server at places of its own choice."""
    with pytest.raises(InvalidParameterValue, match="artifact_location"):
        locations.check(location)
