"""Requirements files: read where the workload is submitted, so that the server and the nodes need no such file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from contrail.model.errors import InvalidParameterValue
from contrail.workloads.schema import requirements_file

DEPTH_MAX = 10


def expand(dependencies: Sequence[str], base_dir: Path) -> list[str]:
    """The dependencies with every `-r FILE` replaced by the requirements of that file.

    Paths start at `base_dir`, those inside a file at the folder of that file. Raises
    `InvalidParameterValue` naming the file and line of anything that is not a requirement.
    """
    found: list[str] = []
    for entry in dependencies:
        file = requirements_file(entry)
        found.extend(_read(base_dir / file, 1) if file else [entry])
    return found


def _read(file: Path, depth: int) -> Iterator[str]:
    if depth > DEPTH_MAX:
        raise InvalidParameterValue(f"environment.dependencies: {file} is included by itself")
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise InvalidParameterValue(f"environment.dependencies: {file} cannot be read: {wrong}") from None
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), 1):
        entry = _without_comment(line).strip()
        nested = requirements_file(entry)
        if nested:
            yield from _read(file.parent / nested, depth + 1)
        elif entry.startswith("-"):
            raise InvalidParameterValue(
                f"environment.dependencies: {file} line {number}: the option '{entry.split()[0]}' is not supported; "
                "give requirements, URLs or -r FILE"
            )
        elif entry:
            yield entry


def _without_comment(line: str) -> str:
    if line.lstrip().startswith("#"):
        return ""
    return line.partition(" #")[0]
