"""An area in an object store (S3, GCS, Azure, memory), through obstore.

An object appears when its upload is completed, whole; an upload that breaks off leaves nothing that can be listed.
Folders do not exist as such: a folder is there while something lies in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

import obstore
from obstore.exceptions import BaseError
from obstore.store import from_url

from contrail.blobs.area import PART_BYTES, BlobInfo
from contrail.model.errors import (
    ContrailError,
    InvalidParameterValue,
    ResourceDoesNotExist,
    TemporarilyUnavailable,
)

_UPLOAD_PART_BYTES = 10 * 1024 * 1024


class Remote:
    """Named bytes below a URL."""

    def __init__(self, url: str, store: Any = None):
        self._store = from_url(url) if store is None else store

    def upload(self, path: str) -> RemoteUpload:
        """See `Area`."""
        if not path:
            raise InvalidParameterValue("A name is missing")
        return RemoteUpload(self._store, path)

    def put(self, path: str, data: bytes) -> None:
        """See `Area`."""
        with _translated(path):
            obstore.put(self._store, path, data)

    def info(self, path: str) -> BlobInfo | None:
        """See `Area`."""
        name = path.rsplit("/", 1)[-1]
        with suppress(ResourceDoesNotExist), _translated(path):
            if path:
                return _info(name, obstore.head(self._store, path))
        return BlobInfo(name, True) if self.list(path) else None

    def get(self, path: str) -> bytes:
        """See `Area`."""
        with _translated(path):
            return bytes(obstore.get(self._store, path).bytes())

    def read(self, path: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """See `Area`."""
        found = self.info(path)
        if found is None:
            raise ResourceDoesNotExist(f"There is no '{path}'")
        if found.is_dir:
            raise InvalidParameterValue(f"'{path}' is not a file")
        return self._parts(path, start, found.size if end is None else min(end, found.size))

    def _parts(self, path: str, start: int, end: int) -> Iterator[bytes]:
        if start >= end:
            return
        with _translated(path):
            stream = obstore.get(self._store, path, options={"range": (start, end)}).stream(
                min_chunk_size=PART_BYTES
            )
            for part in stream:
                yield bytes(part)

    def list(self, path: str) -> list[BlobInfo]:
        """See `Area`."""
        with _translated(path):
            found = obstore.list_with_delimiter(self._store, f"{path}/" if path else None)
        folders = [
            BlobInfo(prefix.rstrip("/").rsplit("/", 1)[-1], True) for prefix in found["common_prefixes"]
        ]
        files = [_info(meta["path"].rsplit("/", 1)[-1], meta) for meta in found["objects"]]
        return sorted(folders + files, key=lambda info: info.name)

    def delete(self, path: str) -> None:
        """See `Area`."""
        if not path:
            raise InvalidParameterValue("The root itself cannot be deleted")
        with suppress(ResourceDoesNotExist), _translated(path):
            obstore.delete(self._store, path)
        with _translated(path):
            for batch in obstore.list(self._store, f"{path}/", chunk_size=1000):
                obstore.delete(self._store, [meta["path"] for meta in batch])

    def free_bytes(self) -> int | None:
        """See `Area`."""
        return None


class RemoteUpload:
    """Bytes on their way into an object; see `Upload`. Sent on in parts, so memory stays flat."""

    def __init__(self, store: Any, path: str):
        self._store, self._path = store, path
        self._writer: Any = None
        self._committed = False

    def write(self, data: bytes) -> None:
        """See `Upload`."""
        with _translated(self._path):
            if self._writer is None:
                self._writer = obstore.open_writer(
                    self._store, self._path, buffer_size=_UPLOAD_PART_BYTES, max_concurrency=2
                )
            self._writer.write(data)

    def commit(self) -> None:
        """See `Upload`."""
        with _translated(self._path):
            if self._writer is None:
                obstore.put(self._store, self._path, b"")
            else:
                self._writer.close()
        self._committed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A writer that is dropped without being closed never completes its upload, so nothing appears.
        self._writer = None


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except (BaseError, FileNotFoundError, OSError, ValueError) as error:
        raise _translate(error, path) from error


def _translate(error: Exception, path: str) -> ContrailError:
    if isinstance(error, FileNotFoundError):
        return ResourceDoesNotExist(f"There is no '{path}'")
    return TemporarilyUnavailable(f"The object store did not answer for '{path}'; the server's log says why")


def _info(name: str, meta: Any) -> BlobInfo:
    modified_ms = int(meta["last_modified"].timestamp() * 1000)
    etag = (meta.get("e_tag") or f"{meta['size']:x}-{modified_ms:x}").strip('"')
    return BlobInfo(name, False, meta["size"], modified_ms, etag)
