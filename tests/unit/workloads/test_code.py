"""What of a folder is sent, what is left out and why, and that the archive is always the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrail.model.errors import InvalidParameterValue, RequestTooLarge
from contrail.workloads import CodeSource
from contrail.workloads.code import Archive, open_tree, write_archive
from contrail.workloads.git import without_credentials

Write = Callable[..., Path]
MAX_BYTES = 10_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def write(root: Path) -> Write:
    def make(path: str, text: str = "x") -> Path:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return make


def git(root: Path, *command: str) -> str:
    words = ["git", "-c", "user.email=a@b.c", "-c", "user.name=n", "-c", "init.defaultBranch=main", *command]
    return subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def sent(root: Path, **source: object) -> list[str]:
    with open_tree(CodeSource(str(root), **source), root) as tree:  # type: ignore[arg-type]
        return [file.path for file in tree.files]


def left_out(root: Path) -> dict[str, int]:
    with open_tree(CodeSource(str(root)), root) as tree:
        return {skip.rule: skip.files for skip in tree.skipped}


def packed(root: Path, destination: Path, **source: object) -> Archive:
    with open_tree(CodeSource(str(root), **source), root) as tree:  # type: ignore[arg-type]
        return write_archive(tree, destination, max_bytes=MAX_BYTES)


def refusal(root: Path, **source: object) -> str:
    with pytest.raises(InvalidParameterValue) as refused:
        sent(root, **source)
    return refused.value.message


def test_ignore_files_outside_git(root: Path, write: Write) -> None:
    """Without git the same rules hold: nested files, negation, folders; each left-out file has its rule."""
    write(".gitignore", "# c\ndata/\n*.log\n!keep.log\n/top.txt\n")
    write(".contrailignore", "notes/\n")
    for path in (
        "a.py",
        "data/x/y.csv",
        "data/z.csv",
        "a.log",
        "keep.log",
        "top.txt",
        "sub/top.txt",
        "notes/n.md",
    ):
        write(path)
    write("sub/.gitignore", "*.tmp\n!b.log\n")
    for path in ("sub/a.tmp", "sub/b.log", "sub/c.log"):
        write(path)
    assert sent(root) == [
        ".contrailignore",
        ".gitignore",
        "a.py",
        "keep.log",
        "sub/.gitignore",
        "sub/b.log",
        "sub/top.txt",
    ]
    assert left_out(root) == {
        ".gitignore line 2: data/": 2,
        ".gitignore line 3: *.log": 2,
        ".gitignore line 5: /top.txt": 1,
        ".contrailignore line 1: notes/": 1,
        "sub/.gitignore line 1: *.tmp": 1,
    }


def test_repositories_caches_and_virtual_environments_never_go(root: Path, write: Write) -> None:
    """What nobody means to send is left out without any rule of the user's."""
    for path in (
        "a.py",
        ".git/config",
        "__pycache__/a.pyc",
        "env/pyvenv.cfg",
        "env/lib/x.py",
        "node_modules/x.js",
    ):
        write(path)
    (root / ".git" / "config").write_text("not a repository")
    assert sent(root) == ["a.py"]
    assert left_out(root) == {
        "built in: .git": 1,
        "built in: __pycache__": 1,
        "built in: virtual environment": 2,
        "built in: node_modules": 1,
    }


def test_git_decides_inside_a_repository(root: Path, write: Write) -> None:
    """Tracked files go even when a rule matches them, untracked ones unless ignored; deleted ones do not."""
    write(".gitignore", "data/\n.env\n")
    for path in ("a.py", "gone.py", "data/kept.csv", "data/big.csv", ".env", "new.py", ".venv/pyvenv.cfg"):
        write(path)
    git(root, "init", "-q")
    git(root, "add", "a.py", "gone.py", ".gitignore")
    git(root, "add", "-f", "data/kept.csv")
    git(root, "commit", "-qm", "x")
    (root / "gone.py").unlink()
    with open_tree(CodeSource(str(root)), root) as tree:
        assert [file.path for file in tree.files] == [".gitignore", "a.py", "data/kept.csv", "new.py"]
        assert tree.untracked == 1
        assert {skip.rule: skip.files for skip in tree.skipped} == {
            ".gitignore line 1: data/": 1,
            ".gitignore line 2: .env": 1,
            "built in: virtual environment": 1,
        }


def test_contrailignore_wins_over_git(root: Path, write: Write) -> None:
    """`.contrailignore` keeps tracked files back too."""
    write(".contrailignore", "*.bin\n")
    write("a.py")
    write("sub/model.bin")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    assert sent(root) == [".contrailignore", "a.py"]
    assert left_out(root) == {".contrailignore line 1: *.bin": 1}


def test_folder_of_a_repository(root: Path, write: Write) -> None:
    """root_path may be a folder inside a repository: only that folder goes, its outer rules hold."""
    write(".gitignore", "*.log\n")
    for path in ("top.py", "part/a.py", "part/a.log", "part/한글 파일.py"):
        write(path)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    assert sent(root / "part") == ["a.py", "한글 파일.py"]
    assert sent(root / "part", git_branch="main") == ["a.py", "한글 파일.py"]


def test_folder_that_an_outer_repository_ignores_is_sent_all_the_same(root: Path, write: Write) -> None:
    """A repository that does not want the folder has no say about it."""
    write(".gitignore", "scratch/\n")
    write("scratch/a.py")
    git(root, "init", "-q")
    assert sent(root / "scratch") == ["a.py"]


def test_submodule_is_sent(tmp_path: Path, root: Path, write: Write) -> None:
    """Files of a checked-out submodule go along, its `.git` does not."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "lib.py").write_text("x")
    git(inner, "init", "-q")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "x")
    write("a.py")
    git(root, "init", "-q")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "vendor/inner")
    assert sent(root) == [".gitmodules", "a.py", "vendor/inner/lib.py"]


def test_links_inside_stay_links_and_loops_end(tmp_path: Path, root: Path, write: Write) -> None:
    """A link inside the tree is kept, an absolute one made relative; a loop is not followed."""
    write("a.py")
    write("sub/b.py")
    (root / "sub" / "loop").symlink_to("..")
    (root / "sub" / "self").symlink_to("self")
    (root / "absolute").symlink_to(root / "sub" / "b.py")
    archive = packed(root, tmp_path / "a.tar.gz")
    with tarfile.open(archive.path) as tar:
        links = {member.name: member.linkname for member in tar if member.issym()}
    assert links == {"project/sub/loop": "..", "project/sub/self": "self", "project/absolute": "sub/b.py"}


@pytest.mark.parametrize("target", ["/etc", "../../outside", "hop"])
def test_links_that_leave_are_refused(root: Path, write: Write, target: str) -> None:
    """A link out of the tree is refused by name, also when it leaves in two steps; unless it is ignored."""
    write("a.py")
    if target == "hop":
        (root / "hop").symlink_to("/etc")
    (root / "out").symlink_to(target)
    message = refusal(root)
    assert "out -> " + target in message
    write(".contrailignore", "out\nhop\n")
    assert sent(root) == [".contrailignore", "a.py"]


def test_include_paths(root: Path, write: Write) -> None:
    """Only the named files and folders go, at their places; a name that gives nothing says why."""
    write(".gitignore", "data/\n")
    for path in ("a.py", "lib/b.py", "lib/c/d.py", "library.py", "data/x.csv"):
        write(path)
    (root / "empty").mkdir()
    assert sent(root, include_paths=("lib", "a.py")) == ["a.py", "lib/b.py", "lib/c/d.py"]
    assert sent(root, include_paths=(".",)) == [".gitignore", "a.py", "lib/b.py", "lib/c/d.py", "library.py"]
    assert "there is no 'nothing'" in refusal(root, include_paths=("nothing",))
    assert "'data/x.csv' is left out by .gitignore line 1: data/" in refusal(
        root, include_paths=("data/x.csv",)
    )
    assert "'empty' holds nothing to send" in refusal(root, include_paths=("empty",))


def test_commit_is_sent_as_it_was(tmp_path: Path, root: Path, write: Write) -> None:
    """A commit gives its own files; a dirty tree is refused for a branch and allowed for a commit."""
    write("a.py", "one")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    commit = git(root, "rev-parse", "HEAD")
    clean = packed(root, tmp_path / "clean.tar.gz", git_branch="main")
    write("a.py", "two")
    write("new.py")
    assert "uncommitted changes" in refusal(root, git_branch="main")
    assert packed(root, tmp_path / "again.tar.gz", git_commit=commit[:8]).digest == clean.digest
    with open_tree(CodeSource(str(root), git_commit=commit[:8]), root) as tree:
        assert tree.provenance["commit"] == commit
        assert (tree.provenance["packaging_mode"], tree.provenance["dirty"]) == ("git_archive", False)
    assert "no local branch 'other'" in refusal(root, git_branch="other")
    assert "no commit 'ffffffff'" in refusal(root, git_commit="ffffffff")
    assert "new.py" in refusal(root, git_commit=commit, include_paths=("new.py",))


def test_git_reference_needs_a_repository(root: Path, write: Write) -> None:
    """Outside git, `git.branch` cannot mean anything."""
    write("a.py")
    assert "needs a git repository" in refusal(root, git_branch="main")


def test_provenance_of_a_dirty_tree(root: Path, write: Write) -> None:
    """Commit, branch, remote without credentials, and the diff of what is not committed."""
    write("a.py", "one\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    git(root, "remote", "add", "origin", "https://me:secret@example.com/a/b.git?token=y")
    write("a.py", "two\n")
    with open_tree(CodeSource(str(root)), root) as tree:
        found = tree.provenance
    assert (found["commit"], found["branch"], found["dirty"]) == (
        git(root, "rev-parse", "HEAD"),
        "main",
        True,
    )
    assert found["repo_url"] == "https://example.com/a/b.git"
    assert found["diff_status"] == "captured"
    assert "-one\n+two\n" in found["diff"]
    write("a.py", "line\n" * 300_000)
    with open_tree(CodeSource(str(root)), root) as tree:
        assert (tree.provenance["diff"], tree.provenance["diff_status"]) == (None, "size_exceeded")


def test_credentials_leave_the_address() -> None:
    """No user name, password or token of a remote is recorded."""
    assert without_credentials("https://u:p@h/x.git") == "https://h/x.git"
    assert without_credentials("https://token@h/x.git#f") == "https://h/x.git"
    assert without_credentials("git@github.com:a/b.git") == "git@github.com:a/b.git"


def test_special_files_and_empty_folders(root: Path, write: Write) -> None:
    """A pipe is left out with its rule; a folder with nothing to send is refused."""
    assert "holds nothing to send" in refusal(root)
    write("a.py")
    os.mkfifo(root / "pipe")
    assert sent(root) == ["a.py"]
    assert left_out(root) == {"not a regular file": 1}


def test_too_large_code_is_refused_while_packing(tmp_path: Path, root: Path) -> None:
    """Packing ends at the limit; the message names the limit, the largest files and the way out."""
    (root / "weights.bin").write_bytes(os.urandom(300_000))
    (root / "small.py").write_text("x")
    with open_tree(CodeSource(str(root)), root) as tree, pytest.raises(RequestTooLarge) as refused:
        write_archive(tree, tmp_path / "a.tar.gz", max_bytes=100_000)
    message = refused.value.message
    for part in (
        "100,000 bytes",
        "weights.bin (300,000 bytes)",
        ".contrailignore",
        "CONTRAIL_CODE_MAX_BYTES",
    ):
        assert part in message
    assert (tmp_path / "a.tar.gz").stat().st_size <= 100_000


def test_unreadable_file_is_named(tmp_path: Path, root: Path, write: Write) -> None:
    """A file that goes away while it is packed gives a sentence with its name."""
    write("a.py")
    with open_tree(CodeSource(str(root)), root) as tree:
        (root / "a.py").unlink()
        with pytest.raises(InvalidParameterValue, match=r"a\.py cannot be read"):
            write_archive(tree, tmp_path / "a.tar.gz", max_bytes=MAX_BYTES)


_names = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0\n\r", exclude_categories=("Cs",)), min_size=1
)
_files = st.dictionaries(
    _names.filter(
        lambda name: name not in (".", "..", ".git", ".gitignore", ".contrailignore") and len(name) < 40
    ),
    st.binary(max_size=200),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(files=_files, executable=st.booleans())
def test_same_tree_gives_same_archive_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], executable: bool
) -> None:
    """Wherever and whenever a tree is packed, the bytes are the same; unpacking gives every file back."""
    base = tmp_path_factory.mktemp("pack")
    digests = set()
    for number, order in enumerate((list(files), list(reversed(files)))):
        root = base / str(number) / "project"
        root.mkdir(parents=True)
        for name in order:
            (root / name).write_bytes(files[name])
            (root / name).chmod(0o700 if executable else 0o600)
            os.utime(root / name, (number * 1000, number * 1000))
        archive = packed(root, base / f"{number}.tar.gz")
        assert archive.digest == hashlib.sha256(archive.path.read_bytes()).hexdigest()
        assert archive.bytes == archive.path.stat().st_size
        digests.add(archive.digest)
    assert len(digests) == 1
    with tarfile.open(base / "0.tar.gz") as tar:
        tar.extractall(base / "out", filter="data")
    unpacked = {path.name: path.read_bytes() for path in (base / "out" / "project").iterdir()}
    assert unpacked == files
    assert all(
        bool(path.stat().st_mode & 0o100) is executable for path in (base / "out" / "project").iterdir()
    )
