"""Artifacts on their way to the server: a file per upload, and a spool of what to do with it."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import IO

import msgspec

from contrail.agent.spool import Budget, Bytes, Spool, SpoolFull

SHARE_LEFT_TO_OTHERS = 0.1  # artifacts may not crowd out metrics and the exit record


class Upload(msgspec.Struct):
    """One spooled artifact. It is sent when the tracking writes before `after_seq` are stored."""

    target: str
    file: str
    size: int
    after_seq: int
    content_type: str = ""


class UploadSink:
    """Takes the bytes of one upload. It becomes an `Upload` by `Uploads.add`, or leaves nothing by `discard`."""

    def __init__(self, path: Path, budget: Budget):
        self.path = path
        self.size = 0
        self.full = False
        self._budget = budget
        self._file: IO[bytes] | None = path.open("xb", buffering=0)

    def write(self, data: Bytes) -> None:
        """Add bytes. When there is no room left, `full` is set and the rest is swallowed."""
        if self.full or self._file is None:
            return
        if not self._budget.take(len(data), spare=SHARE_LEFT_TO_OTHERS):
            self._drop()
            return
        try:
            written = self._file.write(data)
        except OSError:
            written = -1
        self.size += len(data)
        if written != len(data):  # the disk is full
            self._drop()

    def close(self) -> None:
        """All bytes are there."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Leave nothing."""
        self.close()
        self.path.unlink(missing_ok=True)
        self._budget.give(self.size)
        self.size = 0

    def _drop(self) -> None:
        self.full = True
        self.discard()


class Uploads:
    """The spooled artifacts of this node, in order."""

    def __init__(self, folder: Path, budget: Budget):
        self._folder = folder / "files"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._budget = budget
        self.spool = Spool(folder, weigh=lambda _length: 1, budget=budget)
        kept = {upload.file for _, upload in self._from(self.spool.acked)}
        for path in self._folder.iterdir():
            if path.name in kept:
                budget.force(path.stat().st_size)
            else:
                path.unlink()

    def has_room(self, size: int) -> bool:
        """Whether an upload of this size can be kept here, without crowding out everything else."""
        return self._budget.used_bytes + size <= self._budget.limit_bytes * (1.0 - SHARE_LEFT_TO_OTHERS)

    def sink(self) -> UploadSink:
        """Where the bytes of a new upload go."""
        return UploadSink(self._folder / uuid.uuid4().hex, self._budget)

    def add(self, sink: UploadSink, target: str, after_seq: int, content_type: str) -> None:
        """The upload is complete: keep it. Raises `SpoolFull`."""
        sink.close()
        upload = Upload(target, sink.path.name, sink.size, after_seq, content_type)
        try:
            self.spool.append(msgspec.json.encode(upload))
        except SpoolFull:
            sink.discard()
            raise

    def next(self) -> tuple[int, Upload] | None:
        """The oldest upload that is not done, with the position to acknowledge."""
        return next(iter(self._from(self.spool.acked, records_max=1)), None)

    def path(self, upload: Upload) -> Path:
        """Where its bytes are."""
        return self._folder / upload.file

    def done(self, position: int, upload: Upload) -> None:
        """It is stored, or refused for good."""
        self.spool.ack(position)
        self.path(upload).unlink(missing_ok=True)
        self._budget.give(upload.size)

    def _from(self, position: int, records_max: int = 1 << 30) -> list[tuple[int, Upload]]:
        records = self.spool.read(position, bytes_max=64 * 1024 * 1024, records_max=records_max)
        return [(record.end, msgspec.json.decode(record.payload, type=Upload)) for record in records]
