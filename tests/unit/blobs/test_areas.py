from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from contrail.blobs.area import Area
from contrail.blobs.folder import UPLOADS, Folder
from contrail.blobs.remote import Remote
from contrail.model.errors import InvalidParameterValue, ResourceDoesNotExist, TemporarilyUnavailable


@pytest.fixture(params=["folder", "remote"])
def area(request: pytest.FixtureRequest, tmp_path: Path) -> Area:
    return Folder(tmp_path / "root") if request.param == "folder" else Remote("memory:///", MemoryStore())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "root")


def files(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())


def test_what_is_put_can_be_read(area):
    """Bytes come back whole, in parts, and in any range."""
    data = os.urandom(3_000_000)
    with area.upload("a/b.bin") as upload:
        for at in range(0, len(data), 700_000):
            upload.write(data[at : at + 700_000])
        upload.commit()
    assert area.get("a/b.bin") == data
    assert b"".join(area.read("a/b.bin", 10, 2_000_010)) == data[10:2_000_010]
    assert b"".join(area.read("a/b.bin", 2_999_999, 10**9)) == data[-1:]
    assert b"".join(area.read("a/b.bin", 5, 5)) == b""
    found = area.info("a/b.bin")
    assert (found.name, found.size, found.is_dir) == ("b.bin", len(data), False)
    assert found.etag
    assert found.modified_ms > 1_600_000_000_000


def test_listing_shows_one_level(area):
    """A folder lists its files with sizes and its folders, sorted; what is not there is empty."""
    area.put("d/b", b"12")
    area.put("d/a/x", b"1")
    area.put("d/한글 100%", b"")
    assert [(one.name, one.is_dir, one.size) for one in area.list("d")] == [
        ("a", True, 0),
        ("b", False, 2),
        ("한글 100%", False, 0),
    ]
    assert [one.name for one in area.list("")] == ["d"]
    assert area.list("nowhere") == []
    assert area.info("d").is_dir
    assert area.info("nowhere") is None


def test_the_last_write_wins_at_once(area):
    """A second upload replaces the first when it is committed, not before."""
    area.put("x", b"old")
    with area.upload("x") as upload:
        upload.write(b"new")
        assert area.get("x") == b"old"
        upload.commit()
    assert area.get("x") == b"new"


def test_an_upload_that_breaks_off_leaves_nothing(area):
    """Without a commit nothing appears, and an older file stays as it was."""
    area.put("old", b"old")
    for name in ("old", "fresh/new"):
        with area.upload(name) as upload:
            upload.write(b"half" * 1000)
    assert area.get("old") == b"old"
    assert area.info("fresh/new") is None


def test_deleting(area):
    """A file or a whole folder goes; nothing there is fine; the root stays."""
    for name in ("d/a", "d/e/b", "c"):
        area.put(name, b"x")
    area.delete("d")
    area.delete("d")
    area.delete("nowhere/x")
    assert [one.name for one in area.list("")] == ["c"]
    area.delete("c")
    assert area.info("c") is None
    with pytest.raises(InvalidParameterValue):
        area.delete("")


def test_reading_what_is_not_a_file(area):
    """Missing is 'does not exist', a folder is a wrong parameter; both before any byte."""
    area.put("d/a", b"x")
    with pytest.raises(ResourceDoesNotExist):
        area.read("nowhere")
    with pytest.raises(InvalidParameterValue):
        area.read("d")


def test_files_and_folders_do_not_mix(folder):
    """A name below a file, or a file where a folder is, is refused in words."""
    folder.put("a", b"x")
    folder.put("d/x", b"x")
    with pytest.raises(InvalidParameterValue, match="a part of it is a file"):
        folder.put("a/b", b"x")
    with pytest.raises(InvalidParameterValue, match="is a folder"):
        folder.put("d", b"x")
    with pytest.raises(ResourceDoesNotExist):
        folder.get("a/b")
    assert folder.get("a") == b"x"


def test_links_may_not_lead_out(folder, tmp_path):
    """A symbolic link to outside cannot be read, written through, listed or emptied; one inside works."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("s")
    folder.put("in/a", b"x")
    root = tmp_path / "root"
    (root / "out").symlink_to(secret)
    (root / "key").symlink_to(secret / "key")
    (root / "inner").symlink_to("in")
    for act in (
        lambda: folder.get("out/key"),
        lambda: folder.get("key"),
        lambda: folder.put("out/new", b"x"),
        lambda: folder.put("key", b"x"),
        lambda: folder.list("out"),
        lambda: folder.info("out/key"),
        lambda: folder.delete("out/key"),
    ):
        with pytest.raises(InvalidParameterValue, match="leads out") as error:
            act()
        assert str(tmp_path) not in str(error.value)
    assert folder.get("inner/a") == b"x"
    assert [one.name for one in folder.list("")] == ["in", "inner"]
    folder.delete("out")
    assert files(secret) == ["key"]


def test_a_pipe_does_not_hold_a_thread(folder, tmp_path):
    """Something that is no file is refused at once."""
    folder.put("a", b"x")
    os.mkfifo(tmp_path / "root" / "pipe")
    with pytest.raises(InvalidParameterValue, match="not a file"):
        folder.read("pipe")


def test_a_full_disk_leaves_the_older_file(folder, tmp_path, monkeypatch):
    """When the disk is full the error says so, the older file is whole and no space stays in use."""
    folder.put("model", b"old" * 100)

    def full(_descriptor: int, _data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(TemporarilyUnavailable, match="disk is full") as error:
        folder.put("model", b"new" * 100)
    monkeypatch.undo()
    assert str(tmp_path) not in str(error.value)
    assert folder.get("model") == b"old" * 100
    assert files(tmp_path / "root") == ["model"]


def test_leftovers_of_a_killed_server_go_and_living_uploads_stay(tmp_path):
    """Opening the folder removes temporary files of dead writers only."""
    folder = Folder(tmp_path)
    (tmp_path / UPLOADS).mkdir()
    (tmp_path / UPLOADS / "dead").write_bytes(b"x" * 1000)
    with folder.upload("alive") as upload:
        upload.write(b"alive")
        Folder(tmp_path)
        assert len(files(tmp_path)) == 1
        upload.commit()
    assert files(tmp_path) == ["alive"]


def test_readers_see_old_or_new_never_half(folder):
    """While a file is replaced over and over, every read gives one whole version."""
    versions = [bytes([n]) * 200_000 for n in range(8)]
    folder.put("x", versions[0])
    stop, seen = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            seen.append(folder.get("x"))

    reader = threading.Thread(target=read)
    reader.start()
    for version in versions:
        folder.put("x", version)
    stop.set()
    reader.join()
    assert all(data in versions for data in seen)
