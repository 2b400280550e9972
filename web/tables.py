"""Tables as files: columns with a type, rows in batches, and one writer a format, streamed.

A row is a tuple in the order of the columns. Text is Unicode, a time is text as in `2026-11-22T14:05:00Z`, and JSON
is any value that JSON has, or its text as `JsonText`.
"""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from web.arrow import arrow_array
from web.batches import batched
from web.csv_text import CONTENT_TYPE, csv_lines

ColumnType: TypeAlias = Literal[
    "text", "integer", "number", "boolean", "time", "json", "integers", "texts", "money"
]
Rows: TypeAlias = Iterable[Sequence[Any]]
FORMATS = {
    "csv": CONTENT_TYPE,
    "jsonl": "application/jsonl; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
BATCH = 1_000
"""Rows that are written at once."""
GROUP_ROWS = 10_000
GROUP_BYTES = 8 * 2**20
"""A row group of Parquet ends at this many rows, or bytes of values: what is kept in memory."""


# One encoder for all: `json.dumps` with options builds a new one at each call.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class JsonText(str):
    """JSON that is text already, so that it need not be read and written again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of an exported table: its name, its type, and what it means in a sentence."""

    name: str
    type: ColumnType
    about: str = ""


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Columns, and the rows that fill them once."""

    columns: tuple[TableColumn, ...]
    rows: Rows

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


def table_bytes(table: ExportTable, format: str) -> Iterator[bytes]:
    """A table as a file, a batch of rows at a time; `ValueError` for a format that is not one of `FORMATS`."""
    if format not in FORMATS:
        raise ValueError(f"format: expected {', '.join(FORMATS)}, got {format!r}")
    if format == "parquet":
        return _parquet(table)
    lines = csv_lines(table.names, table.rows) if format == "csv" else jsonl_of(table)
    return ("".join(batch).encode() for batch in batched(lines, BATCH))


def jsonl_of(table: ExportTable) -> Iterator[str]:
    """A JSON object a line; text is not escaped here, since JSON is not run by anybody."""
    keys = [f"{json.dumps(name, ensure_ascii=False)}: " for name in table.names]
    for row in table.rows:
        cells = ", ".join([key + json_cell(cell) for key, cell in zip(keys, row, strict=True)])
        yield f"{{{cells}}}\n"


def json_cell(value: object) -> str:
    """A value as JSON; what is JSON already stays as it is."""
    return value if isinstance(value, JsonText) else _encode(value)


@lru_cache(maxsize=8_192)
def json_normal(text: str) -> JsonText:
    """JSON in the one form that files have, whichever database it comes from; the same texts come again and again."""
    return JsonText(_encode(json.loads(text)))


class _Pieces(io.RawIOBase):
    """A file that hands over what was written to it, instead of keeping it."""

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._written.append(piece)
        self._position += len(piece)
        return len(piece)

    def taken(self) -> bytes:
        pieces, self._written = self._written, []
        return b"".join(pieces)


def parquet_schema(columns: Iterable[TableColumn]) -> Any:
    """The Arrow schema of a table; each column says what it means."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "json": pa.string(),
        "integers": pa.list_(pa.int64()),
        "texts": pa.list_(pa.string()),
        "money": pa.decimal128(18, 6),
    }
    return pa.schema(
        pa.field(each.name, types[each.type], metadata={"description": each.about} if each.about else None)
        for each in columns
    )


def _parquet(table: ExportTable) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = parquet_schema(table.columns)
    out = _Pieces()
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        group: list[Any] = []
        n_rows = n_bytes = 0
        for rows in batched(table.rows, BATCH):
            arrays = [
                arrow_array(cells, field.type)
                for cells, field in zip(_cells(table, rows), schema, strict=True)
            ]
            group.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
            n_rows, n_bytes = n_rows + len(rows), n_bytes + group[-1].nbytes
            if n_rows >= GROUP_ROWS or n_bytes >= GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(group), row_group_size=n_rows)
                group, n_rows, n_bytes = [], 0, 0
                yield out.taken()
        if group:
            writer.write_table(pa.Table.from_batches(group), row_group_size=n_rows)
    yield out.taken()


def _cells(table: ExportTable, rows: Sequence[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """The cells of each column, those of JSON as text."""
    for column, cells in zip(table.columns, zip(*rows, strict=True), strict=True):
        is_json = column.type == "json"
        yield [None if each is None else json_cell(each) for each in cells] if is_json else cells
