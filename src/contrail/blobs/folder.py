"""An area in a local folder.

Writes go to a temporary file first, are synced and then renamed, so a name always holds a whole old or a whole new
file. Temporary files are locked while they are written; what a killed server left behind is not locked and goes away
when the folder is opened next. Symbolic links may not lead out of the folder.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from contrail.blobs.area import PART_BYTES, BlobInfo
from contrail.blobs.paths import RESERVED
from contrail.model.errors import (
    ContrailError,
    InvalidParameterValue,
    PermissionDenied,
    ResourceDoesNotExist,
    TemporarilyUnavailable,
)

log = logging.getLogger(__name__)

UPLOADS = RESERVED + "-uploads"
# Gigabytes that wait in memory for the disk would hold up the database's own syncs for seconds.
_SYNC_BYTES = 32 * 1024 * 1024


class Folder:
    """Named bytes below `root`, which is created when first written to."""

    def __init__(self, root: Path):
        self._root = root
        self._uploads = root / UPLOADS
        _remove_leftovers(self._uploads)

    def upload(self, path: str) -> FileUpload:
        """See `Area`."""
        with _translated(path):
            target = self._resolve(path)
            if not path or target.is_dir():
                raise InvalidParameterValue(f"'{path}' is a folder")
            _make_folder(target.parent)
            _make_folder(self._uploads)
            # Renaming only works inside one file system, and a volume may be a mount of its own.
            same = os.stat(self._uploads).st_dev == os.stat(target.parent).st_dev
            return FileUpload(self._uploads if same else target.parent, target, path)

    def put(self, path: str, data: bytes) -> None:
        """See `Area`."""
        with self.upload(path) as upload:
            upload.write(data)
            upload.commit()

    def info(self, path: str) -> BlobInfo | None:
        """See `Area`."""
        try:
            with _translated(path):
                found = os.stat(self._resolve(path))
        except ResourceDoesNotExist:
            return None
        return _info(path.rsplit("/", 1)[-1], found)

    def get(self, path: str) -> bytes:
        """See `Area`."""
        return b"".join(self.read(path))

    def read(self, path: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """See `Area`."""
        with _translated(path):
            # Non-blocking, so that a pipe in a volume cannot hold a thread.
            descriptor = os.open(
                self._resolve(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            )
            try:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    raise InvalidParameterValue(f"'{path}' is not a file")
            except BaseException:
                os.close(descriptor)
                raise
        return _parts(descriptor, start, found.st_size if end is None else min(end, found.st_size))

    def list(self, path: str) -> list[BlobInfo]:
        """See `Area`."""
        try:
            with _translated(path), os.scandir(self._resolve(path)) as entries:
                found = [info for entry in entries if (info := self._entry(entry)) is not None]
        except ResourceDoesNotExist:
            return []
        return sorted(found, key=lambda info: info.name)

    def _entry(self, entry: os.DirEntry[str]) -> BlobInfo | None:
        if entry.name.startswith(RESERVED):
            return None
        try:
            entry.name.encode()
            if entry.is_symlink() and not self._contains(Path(entry.path)):
                return None
            return _info(entry.name, entry.stat())
        except (OSError, UnicodeEncodeError):  # gone meanwhile, a dangling link, or a name that has no text
            return None

    def delete(self, path: str) -> None:
        """See `Area`."""
        if not path:
            raise InvalidParameterValue("The root itself cannot be deleted")
        with suppress(ResourceDoesNotExist), _translated(path):
            # A link is removed itself, not what it leads to.
            target = self._resolve(path.rpartition("/")[0]) / path.rpartition("/")[2]
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink()

    def free_bytes(self) -> int | None:
        """See `Area`."""
        place = next(folder for folder in (self._root, *self._root.parents) if folder.exists())
        return shutil.disk_usage(place).free

    def _resolve(self, path: str) -> Path:
        """The real file behind a name; refuses what lies outside the root, whatever links there are."""
        target = self._root / path
        if not self._contains(target):
            raise InvalidParameterValue("Invalid path: it leads out of the store")
        return Path(os.path.realpath(target))

    def _contains(self, target: Path) -> bool:
        root = os.path.realpath(self._root)
        real = os.path.realpath(target)
        return real == root or real.startswith(root + os.sep)


class FileUpload:
    """Bytes on their way into a file; see `Upload`."""

    def __init__(self, folder: Path, target: Path, path: str):
        self._target, self._path = target, path
        self._temporary = folder / f"{UPLOADS}-{secrets.token_hex(12)}"
        self._descriptor = os.open(
            self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666
        )
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        self._unsynced = 0

    def write(self, data: bytes) -> None:
        """See `Upload`."""
        with _translated(self._path):
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
            self._unsynced += len(data)
            if self._unsynced >= _SYNC_BYTES:
                os.fdatasync(self._descriptor)
                self._unsynced = 0

    def commit(self) -> None:
        """See `Upload`."""
        with _translated(self._path):
            os.fsync(self._descriptor)
            os.replace(self._temporary, self._target)
            _sync_folder(self._target.parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(FileNotFoundError):
            self._temporary.unlink()
        os.close(self._descriptor)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Turn the file system's errors into ours; no message names a place on the server."""
    try:
        yield
    except OSError as error:
        raise _translate(error, path) from error


def _translate(error: OSError, path: str) -> ContrailError:
    match error.errno:
        case errno.ENOENT:
            return ResourceDoesNotExist(f"There is no '{path}'")
        case errno.ENOTDIR:
            return ResourceDoesNotExist(f"There is no '{path}': a part of it is a file")
        case errno.EEXIST:
            return InvalidParameterValue(f"'{path}': a part of it is a file, not a folder")
        case errno.EISDIR:
            return InvalidParameterValue(f"'{path}' is a folder")
        case errno.ENAMETOOLONG | errno.ELOOP | errno.EINVAL | errno.EILSEQ | errno.ENXIO:
            return InvalidParameterValue(f"Invalid path: {error.strerror}")
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return TemporarilyUnavailable(
                f"'{path}' could not be stored: the server's disk is full. Free some space or ask the server's admin; "
                "what was there before is untouched."
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return PermissionDenied(f"The server may not access '{path}': {error.strerror}")
        case _:
            return TemporarilyUnavailable(f"'{path}' cannot be accessed right now: {error.strerror}")


def _info(name: str, found: os.stat_result) -> BlobInfo:
    modified_ms = found.st_mtime_ns // 1_000_000
    if stat.S_ISDIR(found.st_mode):
        return BlobInfo(name, True, modified_ms=modified_ms)
    etag = f"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}"
    return BlobInfo(name, False, found.st_size, modified_ms, etag)


def _parts(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    try:
        while start < end:
            part = os.pread(descriptor, min(PART_BYTES, end - start), start)
            if not part:
                return
            start += len(part)
            yield part
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> None:
    """Create a folder with its parents, durable like the files in it."""
    if folder.is_dir():
        return
    if folder.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_leftovers(uploads: Path) -> None:
    """Remove temporary files that no living process writes to."""
    if not uploads.is_dir():
        return
    for leftover in uploads.iterdir():
        with suppress(OSError):
            descriptor = os.open(leftover, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()
                log.info("removed an unfinished upload")
            except BlockingIOError:
                pass
            finally:
                os.close(descriptor)
