"""A place for bytes under names: the small contract behind artifacts, volumes and the server's own blobs.

Names are relative paths with `/`, kept byte for byte. Callers clean names from outside with `blobs.paths` first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

PART_BYTES = 1024 * 1024  # bytes are passed on in parts of this size


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """What is known about a name. A folder has neither size nor tag."""

    name: str  # last part of the path
    is_dir: bool
    size: int = 0
    modified_ms: int = 0
    etag: str = ""


class Upload(Protocol):
    """Bytes on their way in. Nothing is visible before `commit`; leaving without it leaves nothing."""

    def write(self, data: bytes) -> None:
        """Add bytes; raises `TemporarilyUnavailable` when the disk is full."""

    def commit(self) -> None:
        """Make the bytes visible under their name, all at once and durable; what was there is replaced."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Area(Protocol):
    """One root of named bytes. Thread-safe."""

    def upload(self, path: str) -> Upload:
        """Begin writing; parents are created. Raises `InvalidParameterValue` where a folder is in the way."""

    def put(self, path: str, data: bytes) -> None:
        """Write a small blob whole: atomic and durable."""

    def info(self, path: str) -> BlobInfo | None:
        """What is at a name, None if nothing. The empty path is the root."""

    def get(self, path: str) -> bytes:
        """A small blob whole; raises `ResourceDoesNotExist`."""

    def read(self, path: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` up to `end`, in parts; raises `ResourceDoesNotExist` before the first part."""

    def list(self, path: str) -> list[BlobInfo]:
        """What lies directly in a folder, sorted by name; empty when there is no such folder."""

    def delete(self, path: str) -> None:
        """Remove a blob, or a folder with all in it; nothing there is fine."""

    def free_bytes(self) -> int | None:
        """Room for new bytes where that is known."""
