"""Looking into files without downloading them: the first rows of a table, a part of a text. Nothing is executed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from contrail.blobs.area import Area, BlobInfo
from contrail.model.errors import InvalidParameterValue, NotImplementedHere, ResourceDoesNotExist
from contrail.wire.ui import TablePreview

COLUMNS_MAX = 1_000
CELL_CHARACTERS_MAX = 1_000
TABLE_BYTES_MAX = 32 * 1024 * 1024  # as much of a CSV file as is read, and the largest JSON table


@dataclass(frozen=True, slots=True)
class TextPart:
    """Some bytes of a text file; `next_offset` is None at its end."""

    data: bytes
    next_offset: int | None
    total_bytes: int


def text(area: Area, path: str, offset: int, limit: int) -> TextPart:
    """A part of a text file, cut between characters. Raises `InvalidParameterValue` for a file that is not text."""
    found = _file(area, path)
    data = b"".join(area.read(path, offset, offset + limit))
    if b"\x00" in data:
        raise InvalidParameterValue(f"'{path}' is not a text file")
    end = offset + len(data)
    if end < found.size:
        whole = data.decode("utf-8", "ignore").encode()  # drops a character that the cut went through
        if len(data) - 4 < len(whole) < len(data):
            data, end = whole, offset + len(whole)
    return TextPart(data, end if end < found.size else None, found.size)


def table(area: Area, path: str, rows_max: int) -> TablePreview:
    """The first rows of a CSV, TSV, JSON, JSON-lines or Parquet file, all values as text."""
    _file(area, path)
    ending = path.lower().rsplit(".", 1)[-1]
    try:
        match ending:
            case "csv" | "tsv":
                return _delimited(area, path, "\t" if ending == "tsv" else ",", rows_max)
            case "json":
                return _json(area, path, rows_max)
            case "jsonl" | "ndjson":
                return _records((json.loads(line) for line in _lines(area, path) if line.strip()), rows_max)
            case "parquet":
                return _parquet(area, path, rows_max)
    except (ValueError, csv.Error, RecursionError) as error:
        raise InvalidParameterValue(f"'{path}' cannot be read as a {ending.upper()} table: {error}") from None
    raise InvalidParameterValue(f"'{path}' is not a table (CSV, TSV, JSON or Parquet)")


def _file(area: Area, path: str) -> BlobInfo:
    found = area.info(path)
    if found is None:
        raise ResourceDoesNotExist(f"There is no '{path}'")
    if found.is_dir:
        raise InvalidParameterValue(f"'{path}' is a folder")
    return found


def _lines(area: Area, path: str) -> Iterator[str]:
    file = io.BufferedReader(_RangeFile(area, path, TABLE_BYTES_MAX))
    yield from io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")


def _delimited(area: Area, path: str, delimiter: str, rows_max: int) -> TablePreview:
    rows = csv.reader(_lines(area, path), delimiter=delimiter)
    columns = next(rows, [])[:COLUMNS_MAX]
    return _preview(columns, rows, rows_max)


def _json(area: Area, path: str, rows_max: int) -> TablePreview:
    """A list of objects, or `{"columns": […], "data": [[…]]}` as `mlflow.log_table` writes it."""
    if _file(area, path).size > TABLE_BYTES_MAX:
        raise InvalidParameterValue(
            f"'{path}' is larger than {TABLE_BYTES_MAX // 2**20} MiB, too large for a preview"
        )
    found = json.loads(area.get(path))
    if (
        isinstance(found, dict)
        and isinstance(found.get("columns"), list)
        and isinstance(found.get("data"), list)
    ):
        rows = (row for row in found["data"] if isinstance(row, list))
        return _preview([str(name) for name in found["columns"]][:COLUMNS_MAX], rows, rows_max)
    if isinstance(found, list):
        return _records(found, rows_max)
    raise ValueError("it is neither a list of objects nor columns with data")


def _records(records: Iterable[Any], rows_max: int) -> TablePreview:
    first = list(islice(records, rows_max + 1))
    if not all(isinstance(record, dict) for record in first):
        raise ValueError("not every entry is an object")
    columns = list(dict.fromkeys(str(key) for record in first for key in record))[:COLUMNS_MAX]
    return _preview(columns, ([record.get(name) for name in columns] for record in first), rows_max)


def _parquet(area: Area, path: str, rows_max: int) -> TablePreview:
    try:
        import pyarrow.parquet as parquet
        from pyarrow.lib import ArrowException
    except ImportError:
        raise NotImplementedHere(
            "Previews of Parquet files need pyarrow on the server: pip install 'contrail-runtime[parquet]'"
        ) from None
    try:
        file = parquet.ParquetFile(_RangeFile(area, path))
        columns = file.schema_arrow.names[:COLUMNS_MAX]
        batches = file.iter_batches(batch_size=rows_max + 1, columns=columns)
        rows = (list(row.values()) for batch in batches for row in batch.to_pylist())
        return _preview(columns, rows, rows_max)
    except (ArrowException, OSError) as error:
        raise ValueError(str(error).splitlines()[0]) from None


def _preview(columns: list[str], rows: Iterable[list[Any]], rows_max: int) -> TablePreview:
    shown = [[_cell(value) for value in row[: len(columns)]] for row in islice(rows, rows_max + 1)]
    for row in shown:
        row += [None] * (len(columns) - len(row))
    return TablePreview(columns, shown[:rows_max], len(shown) > rows_max)


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    shown = value if isinstance(value, str) else _plain(value)
    shown = shown.encode("utf-8", "replace").decode()
    return shown if len(shown) <= CELL_CHARACTERS_MAX else shown[:CELL_CHARACTERS_MAX] + "…"


def _plain(value: Any) -> str:
    if isinstance(value, dict | list | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


class _RangeFile(io.RawIOBase):
    """A stored file as Python's file object; only what is asked for is read."""

    def __init__(self, area: Area, path: str, size_max: int | None = None):
        super().__init__()
        size = _file(area, path).size
        self._area, self._path, self._position = area, path, 0
        self._size = size if size_max is None else min(size, size_max)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(start + offset, 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        end = min(self._position + len(buffer), self._size)
        data = b"".join(self._area.read(self._path, self._position, end))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
