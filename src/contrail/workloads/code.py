"""Packs the code of a workload: what is sent, what is left out and why, and where it came from."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from contrail.model.errors import InvalidParameterValue, RequestTooLarge
from contrail.workloads import git, ignore
from contrail.workloads.workload import CodeSource

FILES_MAX = 100_000
COUNTED_MAX = 100_000  # files of left-out folders that are counted for the report
# Not 1970: zip files, and so wheels built on a node, cannot hold times before 1980.
MODIFIED_S = 946_684_800
_LISTED_MAX = 5


@dataclass(frozen=True, slots=True)
class Skipped:
    """What one rule left out. `complete` is false when there was too much to count."""

    rule: str
    files: int
    bytes: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file to send; `link` is the target of a symbolic link inside the tree."""

    path: str
    bytes: int
    executable: bool
    link: str | None = None


@dataclass(frozen=True, slots=True)
class CodeTree:
    """The files to send. In the archive they are below one folder called `name`."""

    root: Path
    name: str
    files: tuple[CodeFile, ...]
    skipped: tuple[Skipped, ...]
    untracked: int
    provenance: dict[str, Any]

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Archive:
    """A tar.gz. The same files give the same `digest` (SHA-256 of its bytes)."""

    path: Path
    name: str
    digest: str
    bytes: int


@contextmanager
def open_tree(source: CodeSource, base_dir: Path) -> Iterator[CodeTree]:
    """Find out what `source` sends. The tree's files exist until the context ends.

    Raises `InvalidParameterValue` when there is nothing to send, or when something must not be sent.
    """
    root = source.root(base_dir)
    in_git = git.holds(root)
    if not (source.git_branch or source.git_commit):
        yield _working_tree(source, root, in_git)
        return
    if not in_git:
        raise InvalidParameterValue(f"code_source.git needs a git repository, and {root} is not in one")
    with tempfile.TemporaryDirectory(prefix="contrail-code-") as folder:
        yield _committed_tree(source, root, Path(folder) / "tree")


def write_archive(
    tree: CodeTree, destination: Path, *, max_bytes: int, progress: Callable[[int], None] = lambda _: None
) -> Archive:
    """Pack the tree into `destination`. `progress` gets the bytes of each file that is in.

    Raises `RequestTooLarge` as soon as the archive passes `max_bytes`.
    """
    with destination.open("wb") as file:
        sink = _Sink(file, max_bytes, lambda: _too_large(tree, max_bytes))
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=sink, mtime=0, compresslevel=6) as compressed,
            tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for entry in tree.files:
                _add(tar, tree, entry)
                progress(entry.bytes)
    return Archive(destination, tree.name, sink.digest.hexdigest(), sink.bytes)


# ---------------------------------------------------------------- choosing files


def _working_tree(source: CodeSource, root: Path, in_git: bool) -> CodeTree:
    if in_git:
        paths, skips, untracked = _git_listing(root)
    else:
        found = list(ignore.walk(root))
        paths = [path for path, rule in found if rule is None]
        skips = [(path, rule) for path, rule in found if rule is not None]
        untracked = 0
    files, more = _files(root, _included(source, root, paths, skips))
    state = git.state(root) if in_git else None
    provenance: dict[str, Any] = {"packaging_mode": "plain_tar"}
    if state:
        provenance |= _provenance(state)
    return CodeTree(root, root.name or "code", files, _report(root, [*skips, *more]), untracked, provenance)


def _committed_tree(source: CodeSource, root: Path, folder: Path) -> CodeTree:
    commit = git.resolve(root, branch=source.git_branch, commit=source.git_commit)
    state = git.state(root)
    if state.dirty and source.git_branch:
        raise InvalidParameterValue(
            f"{root} has uncommitted changes, which code_source.git.branch would leave out; "
            "commit them, or name a commit with code_source.git.commit"
        )
    folder.mkdir()
    git.extract(root, commit, source.include_paths, folder)
    found = list(ignore.walk(folder))  # a commit holds what it holds: only .contrailignore counts
    ignore_files = ignore.IgnoreFiles(folder, ignore.CONTRAILIGNORE)
    everything = [path for path, rule in found if not path.endswith("/")]
    for path, _ in found:
        if path.endswith("/"):
            everything += _below(folder, path)
    skips = [(path, rule) for path in everything if (rule := ignore_files.rule(path))]
    left_out = {path for path, _ in skips}
    files, more = _files(folder, [path for path in everything if path not in left_out])
    provenance = {
        "packaging_mode": "git_archive",
        **_provenance(state),
        "commit": commit,
        "branch": source.git_branch or state.branch,
        "dirty": False,
        "diff": None,
        "diff_status": "clean",
    }
    return CodeTree(folder, root.name or "code", files, _report(folder, [*skips, *more]), 0, provenance)


def _git_listing(root: Path) -> tuple[list[str], list[tuple[str, str]], int]:
    """Files to send, what is left out by which rule, and how many of the files are untracked.

    Tracked files go even when an ignore rule matches them, as git itself has it; `.contrailignore` still
    leaves them out.
    """
    ignore_files = ignore.IgnoreFiles(root, ignore.CONTRAILIGNORE)
    skips = git.ignored(root)
    paths: list[str] = []
    for path in git.tracked(root):
        rule = ignore_files.rule(path)
        skips.append((path, rule)) if rule else paths.append(path)
    untracked = 0
    for path in git.untracked(root):
        rule = ignore_files.rule(path) or _built_in(root, path)
        if rule:
            skips.append((path, rule))
        else:
            paths.append(path)
            untracked += 1
    return paths, skips, untracked


def _built_in(root: Path, path: str) -> str | None:
    parts = path.split("/")
    for end in range(1, len(parts)):
        rule = ignore.built_in_rule(root, "/".join(parts[:end]))
        if rule:
            return rule
    return None


def _included(source: CodeSource, root: Path, paths: list[str], skips: list[tuple[str, str]]) -> list[str]:
    """The paths that `include_paths` asks for; every one of them must give something."""
    if not source.include_paths:
        return paths
    chosen: set[str] = set()
    for wanted in source.include_paths:
        inside = {path for path in paths if wanted == "." or path == wanted or path.startswith(wanted + "/")}
        if not inside:
            raise InvalidParameterValue(f"code_source.include_paths: {_why_nothing(root, wanted, skips)}")
        chosen |= inside
    return [path for path in paths if path in chosen]


def _why_nothing(root: Path, wanted: str, skips: list[tuple[str, str]]) -> str:
    if not os.path.lexists(root / wanted):
        return f"there is no '{wanted}' in {root}"
    for path, rule in skips:
        if path.rstrip("/") == wanted or (path.endswith("/") and wanted.startswith(path)):
            return f"'{wanted}' is left out by {rule}"
    return f"'{wanted}' holds nothing to send"


def _files(root: Path, paths: list[str]) -> tuple[tuple[CodeFile, ...], list[tuple[str, str]]]:
    """The entries of the archive in their order, and what cannot be sent at all."""
    files: list[CodeFile] = []
    special: list[tuple[str, str]] = []
    leaving: list[str] = []
    if len(paths) > FILES_MAX:
        raise InvalidParameterValue(
            f"{root} holds {len(paths):,} files to send, {FILES_MAX:,} are allowed; "
            f"leave folders out with {ignore.CONTRAILIGNORE} or code_source.include_paths"
        )
    for path in sorted(set(paths)):
        status = (root / path).lstat()
        if stat.S_ISLNK(status.st_mode):
            target = _link_target(root, path)
            if target is None:
                leaving.append(f"{path} -> {os.readlink(root / path)}")
            else:
                files.append(CodeFile(path, 0, False, target))
        elif stat.S_ISREG(status.st_mode):
            files.append(CodeFile(path, status.st_size, bool(status.st_mode & 0o111)))
        else:
            special.append((path, "not a regular file"))
    if leaving:
        raise InvalidParameterValue(
            f"symbolic links that lead out of {root} are not sent: {_some(leaving)}. "
            f"Name them in {ignore.CONTRAILIGNORE}, or replace them by what they point at"
        )
    if not files:
        raise InvalidParameterValue(f"{root} holds nothing to send")
    return tuple(files), special


def _link_target(root: Path, path: str) -> str | None:
    """The target of a link, relative to the link, or None when it leads out of the tree."""
    target = os.readlink(root / path)
    place = os.path.normpath(os.path.join(root, os.path.dirname(path), target))
    real = os.path.realpath(root / path)  # follows further links; a loop stays where it is
    top = os.path.realpath(root)
    if not (_is_below(place, str(root)) and _is_below(real, top)):
        return None
    return os.path.relpath(place, root / os.path.dirname(path)) if os.path.isabs(target) else target


def _is_below(place: str, top: str) -> bool:
    return place == top or place.startswith(top.rstrip("/") + "/")


def _below(root: Path, folder: str) -> list[str]:
    return [
        os.path.relpath(os.path.join(place, name), root)
        for place, _, names in os.walk(root / folder)
        for name in names
    ]


# ---------------------------------------------------------------- reporting


def _report(root: Path, skips: list[tuple[str, str]]) -> tuple[Skipped, ...]:
    """What each rule left out, most bytes first."""
    totals: dict[str, list[int]] = {}
    counted = 0
    overfull: set[str] = set()
    for path, rule in skips:
        total = totals.setdefault(rule, [0, 0])
        for size in _sizes(root / path):
            if counted >= COUNTED_MAX:
                overfull.add(rule)
                break
            counted += 1
            total[0] += 1
            total[1] += size
    report = [Skipped(rule, files, size, rule not in overfull) for rule, (files, size) in totals.items()]
    return tuple(
        sorted((skip for skip in report if skip.files or not skip.complete), key=lambda skip: -skip.bytes)
    )


def _sizes(place: Path) -> Iterator[int]:
    if not place.is_dir() or place.is_symlink():
        yield _size(place)
        return
    for folder, _, names in os.walk(place):
        for name in names:
            yield _size(Path(folder, name))


def _size(place: Path) -> int:
    try:
        return place.lstat().st_size
    except OSError:
        return 0  # gone meanwhile; this is only a report


def _provenance(state: git.State) -> dict[str, Any]:
    return {
        "commit": state.commit,
        "branch": state.branch,
        "dirty": state.dirty,
        "repo_url": state.repo_url,
        "diff": state.diff,
        "diff_status": state.diff_status,
    }


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
    return ", ".join(names[:_LISTED_MAX]) + more


# ---------------------------------------------------------------- packing


class _Sink:
    """The archive's file: hashes what passes and stops at the limit."""

    def __init__(self, file: BinaryIO, max_bytes: int, too_large: Callable[[], RequestTooLarge]):
        self.digest = hashlib.sha256()
        self.bytes = 0
        self._file, self._max_bytes, self._too_large = file, max_bytes, too_large

    def write(self, data: bytes) -> int:
        self.bytes += len(data)
        if self.bytes > self._max_bytes:
            raise self._too_large()
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def _add(tar: tarfile.TarFile, tree: CodeTree, entry: CodeFile) -> None:
    info = tarfile.TarInfo(f"{tree.name}/{entry.path}")
    info.mtime = MODIFIED_S
    info.mode = 0o755 if entry.executable else 0o644
    if entry.link is not None:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
        tar.addfile(info)
        return
    info.size = entry.bytes
    try:
        with (tree.root / entry.path).open("rb") as content:
            tar.addfile(info, content)
    except OSError as wrong:
        reason = wrong.strerror or "it changed while it was being packed"
        raise InvalidParameterValue(f"{tree.root / entry.path} cannot be read: {reason}") from None


def _too_large(tree: CodeTree, max_bytes: int) -> RequestTooLarge:
    largest = sorted(tree.files, key=lambda file: -file.bytes)[:_LISTED_MAX]
    listing = ", ".join(f"{file.path} ({file.bytes:,} bytes)" for file in largest)
    return RequestTooLarge(
        f"The code in {tree.root} is larger than {max_bytes:,} bytes when packed. Largest files: {listing}. "
        f"Leave files out with {ignore.CONTRAILIGNORE} or code_source.include_paths, "
        "or raise CONTRAIL_CODE_MAX_BYTES here and for the server"
    )
