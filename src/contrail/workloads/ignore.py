"""Which files of a folder are left out, and by which rule."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

GITIGNORE = ".gitignore"
CONTRAILIGNORE = ".contrailignore"
REPOSITORIES = frozenset({".git", ".hg", ".svn"})
_CACHES = frozenset(
    {"__pycache__", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache", "node_modules"}
)


@dataclass
class IgnoreFiles:
    """The ignore files of one name (such as `.gitignore`) in a folder and its sub-folders.

    Git's rules: the deepest file decides, in it the last matching line; what is below an ignored folder
    stays ignored.
    """

    root: Path
    filename: str
    _specs: dict[str, tuple[GitIgnoreSpec, list[str]] | None] = field(default_factory=dict)
    _folders: dict[str, str | None] = field(default_factory=dict)

    def rule(self, path: str, *, is_folder: bool = False) -> str | None:
        """The rule that leaves `path` (relative, with `/`) out, as `file line n: pattern`; None keeps it."""
        parent = path.rpartition("/")[0]
        above = self._folder_rule(parent) if parent else None
        return above or self._own_rule(path, is_folder)

    def _folder_rule(self, folder: str) -> str | None:
        if folder not in self._folders:
            self._folders[folder] = self.rule(folder, is_folder=True)
        return self._folders[folder]

    def _own_rule(self, path: str, is_folder: bool) -> str | None:
        for folder in _ancestors(path):
            loaded = self._spec(folder)
            if loaded is None:
                continue
            spec, lines = loaded
            below = path[len(folder) + 1 :] if folder else path
            result = spec.check_file(below + "/" * is_folder)
            if result.include is None or result.index is None:
                continue
            file = f"{folder}/{self.filename}" if folder else self.filename
            return f"{file} line {result.index + 1}: {lines[result.index]}" if result.include else None
        return None

    def _spec(self, folder: str) -> tuple[GitIgnoreSpec, list[str]] | None:
        if folder not in self._specs:
            self._specs[folder] = self._load(self.root / folder / self.filename)
        return self._specs[folder]

    def _load(self, file: Path) -> tuple[GitIgnoreSpec, list[str]] | None:
        from pathspec import GitIgnoreSpec

        try:
            lines = file.read_text("utf-8", "replace").splitlines()
        except OSError:
            return None
        return GitIgnoreSpec.from_lines(lines), lines


def built_in_rule(root: Path, path: str) -> str | None:
    """Why a folder or file is never sent, whatever the ignore files say; None keeps it."""
    name = PurePosixPath(path).name
    if name in REPOSITORIES:
        return f"built in: {name}"
    if name in _CACHES:
        return f"built in: {name}"
    if (root / path / "pyvenv.cfg").is_file():
        return "built in: virtual environment"
    return None


def walk(root: Path) -> Iterator[tuple[str, str | None]]:
    """(path, rule) of every file below `root` by name; a left-out folder comes once, with a trailing slash.

    Symbolic links are files here: they are never followed, so a loop of links ends.
    """
    ignore_files = [IgnoreFiles(root, GITIGNORE), IgnoreFiles(root, CONTRAILIGNORE)]
    folders = [""]
    while folders:
        folder = folders.pop()
        for entry in sorted(os.scandir(root / folder), key=lambda entry: entry.name):
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            rule = built_in_rule(root, path) if is_folder or entry.name in REPOSITORIES else None
            for files in ignore_files:
                rule = rule or files.rule(path, is_folder=is_folder)
            if not is_folder:
                yield path, rule
            elif rule:
                yield path + "/", rule
            else:
                folders.append(path)


def _ancestors(path: str) -> Iterator[str]:
    """The folders above `path`, deepest first, ending with the root as ``."""
    while path:
        path = path.rpartition("/")[0]
        yield path
