"""What a local git repository says about a folder. Nothing is fetched and nothing is changed."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contrail.model.errors import InvalidParameterValue

COMMAND_MAX_S = 60.0
DIFF_MAX_S = 5.0
DIFF_MAX_BYTES = 1024 * 1024


class GitFailed(InvalidParameterValue):
    """git could not do this."""


@dataclass(frozen=True, slots=True)
class State:
    """Where a working tree stands. `diff` is against the commit, None when there is none to give."""

    commit: str | None
    branch: str | None
    dirty: bool
    repo_url: str | None
    diff: str | None
    diff_status: str  # clean | captured | size_exceeded | timeout


def holds(root: Path) -> bool:
    """Whether `root` is in a repository that does not ignore it, and git is there to ask."""
    try:
        if _run(root, "rev-parse", "--is-inside-work-tree").strip() != b"true":
            return False
    except GitFailed:
        return False
    try:
        _run(root, "check-ignore", "-q", ".")
    except GitFailed:
        return True  # exit code 1: not ignored
    return False


def tracked(root: Path) -> list[str]:
    """Tracked files below `root` that exist, submodules included, relative to it."""
    return _files(root, "--cached")


def untracked(root: Path) -> list[str]:
    """Files below `root` that are neither tracked nor ignored."""
    return _files(root, "--others", "--exclude-standard")


def ignored(root: Path) -> list[tuple[str, str]]:
    """(path, rule) of everything below `root` that is ignored; whole folders once, with a trailing slash."""
    listing = _run(root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    paths = _split(listing)
    if not paths:
        return []
    try:
        answer = _run(root, "check-ignore", "-v", "-z", "--stdin", stdin="\0".join(paths))
    except GitFailed:
        return [(path, "ignored by git") for path in paths]
    fields = _split(answer)
    rules = {
        fields[i + 3]: f"{fields[i]} line {fields[i + 1]}: {fields[i + 2]}"
        for i in range(0, len(fields) - 3, 4)
    }
    return [(path, rules.get(path, "ignored by git")) for path in paths]


def state(root: Path) -> State:
    """Commit, branch, remote and uncommitted changes of the working tree around `root`."""
    status = _run(root, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    commit = _line(root, "rev-parse", "--verify", "-q", "HEAD")
    branch = _line(root, "symbolic-ref", "--short", "-q", "HEAD")
    url = _line(root, "config", "--get", "remote.origin.url")
    diff, diff_status = _diff(root) if commit and status.strip() else (None, "clean")
    return State(commit, branch, bool(status.strip()), url and without_credentials(url), diff, diff_status)


def resolve(root: Path, *, branch: str | None, commit: str | None) -> str:
    """The full id of a local branch's newest commit, or of a commit. Raises `GitFailed` when there is none."""
    wanted = f"refs/heads/{branch}" if branch else f"{commit}"
    found = _line(root, "rev-parse", "--verify", "-q", f"{wanted}^{{commit}}")
    if found is None:
        what = f"local branch '{branch}'" if branch else f"commit '{commit}'"
        raise GitFailed(
            f"There is no {what} in the repository at {root}; nothing is fetched, so fetch it first"
        )
    return found


def extract(root: Path, commit: str, paths: Sequence[str], destination: Path) -> None:
    """Write the files that `root` has at `commit` into `destination`."""
    archive = destination.with_suffix(".tar")
    _run(root, "archive", "--format=tar", f"--output={archive}", commit, "--", *(paths or ["."]))
    with tarfile.open(archive) as tar:
        tar.extractall(destination, filter="tar")
    archive.unlink()


def without_credentials(url: str) -> str:
    """A remote's address without user name, password or token in it."""
    return re.sub(r"^([a-z][a-z0-9+.-]*://)[^/@]*@", r"\1", re.sub(r"[?#].*$", "", url), flags=re.IGNORECASE)


def _files(root: Path, *which: str) -> list[str]:
    found: list[str] = []
    for path in dict.fromkeys(_split(_run(root, "ls-files", "-z", *which))):
        place = root / path
        if place.is_symlink() or place.is_file():
            found.append(path)
        elif place.is_dir() and (place / ".git").exists():  # a submodule, or a repository inside
            inner = [*tracked(place), *untracked(place)] if which[0] == "--others" else _files(place, *which)
            found.extend(f"{path.rstrip('/')}/{name}" for name in inner)
    return found


def _diff(root: Path) -> tuple[str | None, str]:
    command = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD", "--", ".")
    try:
        diff = _run(root, *command, timeout_s=DIFF_MAX_S)
    except subprocess.TimeoutExpired:
        return None, "timeout"
    if len(diff) > DIFF_MAX_BYTES:
        return None, "size_exceeded"
    return diff.decode("utf-8", "replace"), "captured"


def _line(root: Path, *command: str) -> str | None:
    try:
        return _run(root, *command).decode("utf-8", "replace").strip() or None
    except GitFailed:
        return None


def _split(listing: bytes) -> list[str]:
    return [os.fsdecode(part) for part in listing.split(b"\0") if part]


def _run(root: Path, *command: str, stdin: str | None = None, timeout_s: float = COMMAND_MAX_S) -> bytes:
    # core.fsmonitor would let a repository's own configuration start programs
    words: Iterable[str] = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotepath=false", *command)
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            list(words),
            cwd=root,
            env=environment,
            input=os.fsencode(stdin) if stdin is not None else None,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
            timeout=timeout_s,
        )
    except OSError as wrong:
        raise GitFailed(f"git cannot be started: {wrong.strerror}") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitFailed(f"git {command[0]} failed in {root}: {reason[-1] if reason else done.returncode}")
    return done.stdout
