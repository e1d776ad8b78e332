"""Code archives, named by the SHA-256 of their bytes: sent once, however many job runs use them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from contrail.jobs.parts import Parts
from contrail.model.errors import InvalidParameterValue, RequestTooLarge, ResourceDoesNotExist
from contrail.store import jobs as store
from contrail.store.jobs import CodeArchive
from contrail.wire.jobs import CodeStored

DIGEST = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(r"[^/\x00-\x1f\x7f]{1,255}")


class CodeArchives:
    """Receives, finds and gives out archives."""

    def __init__(self, parts: Parts):
        self._parts = parts

    def find(self, digest: str) -> CodeArchive:
        """The record of an archive. Raises `ResourceDoesNotExist`."""
        with self._parts.database.read() as connection:
            found = store.find_code_archive(connection, check_digest(digest))
        if found is None:
            raise ResourceDoesNotExist(f"There is no code archive {digest}")
        return found

    def read(self, archive: CodeArchive) -> Iterator[bytes]:
        """The bytes of an archive, in parts."""
        return self._parts.blobs.internal.read(_blob(archive.digest))

    def receive(self, digest: str, name: str) -> IncomingCode:
        """Begin to receive an archive; nothing is kept unless its bytes have this digest."""
        if not NAME.fullmatch(name) or name in {".", ".."}:
            raise InvalidParameterValue("name: must be a file name of 1 to 255 characters without '/'")
        return IncomingCode(self._parts, check_digest(digest), name)


class IncomingCode:
    """An archive on its way in: `write` its parts, then `finish`. Leaving without `finish` leaves nothing."""

    def __init__(self, parts: Parts, digest: str, name: str):
        self._parts = parts
        self._digest = digest
        self._name = name
        self._hash = hashlib.sha256()
        self._size = 0
        self._upload = parts.blobs.internal.upload(_blob(digest))

    def write(self, data: bytes) -> None:
        """Take the next part. Raises `RequestTooLarge` beyond the limit."""
        self._size += len(data)
        limit = self._parts.settings.code_max_bytes
        if self._size > limit:
            raise RequestTooLarge(
                f"The code archive is larger than {limit} bytes (setting code_max_bytes); send less, for example "
                "with code_source.include_paths or a .contrailignore file"
            )
        self._hash.update(data)
        self._upload.write(data)

    def finish(self) -> CodeStored:
        """Keep the archive. Raises `InvalidParameterValue` when its bytes have another digest. Idempotent."""
        if self._hash.hexdigest() != self._digest:
            raise InvalidParameterValue(
                f"digest: the {self._size} bytes that arrived have the SHA-256 {self._hash.hexdigest()}, "
                f"not {self._digest}; send them again"
            )
        with self._parts.database.read() as connection:
            known = store.find_code_archive(connection, self._digest)
        if known is None:
            self._upload.commit()
            new = CodeArchive(self._digest, self._name, self._size, self._parts.now_ms())
            self._parts.database.writer.run(lambda connection: store.insert_code_archive(connection, new))
        return CodeStored(self._digest, self._name, self._size, known is not None)

    def __enter__(self) -> Self:
        self._upload.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._upload.__exit__(kind, error, trace)


def check_digest(digest: str) -> str:
    """`digest` if it can be one. Raises `InvalidParameterValue`."""
    if not DIGEST.fullmatch(digest):
        raise InvalidParameterValue("digest: must be a SHA-256 in 64 lower-case hexadecimal digits")
    return digest


def _blob(digest: str) -> str:
    return f"code/{digest}.tar.gz"
