"""JSONL, CSV and Parquet as one stream of rows with native values."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.files import MAX_LINE, mebibytes, parse_json, read_lines, require_file, unstorable
from annotation.importers.records import Origin
from annotation.importers.rows import Row, one_of, suggestion

MAX_PARQUET = 2 * 2**30
"""Bytes of a Parquet file when uncompressed: a small file may unfold into a very large one."""
NUMBER = re.compile(r"[+-]?[0-9]{1,300}(\.[0-9]{1,300})?\Z")


def never(_name: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a table mean, for the formats that cannot say it themselves.

    `json` hold JSON text, `value` hold a number, a JSON object or a word, `text` keep an empty cell as the
    empty text where elsewhere it means "nothing".
    """

    known: Callable[[str], bool]
    names: tuple[str, ...]
    required: tuple[str, ...]
    json: Callable[[str], bool] = never
    value: Callable[[str], bool] = never
    text: Callable[[str], bool] = never


def table_rows(path: Path, columns: Columns) -> Iterator[Row]:
    """Rows of a table by the file's extension.

    Raises
    ------
    ImportFileError
        Also for unknown and missing columns, where the format has a header.
    """
    readers = {
        ".jsonl": jsonl_rows,
        ".ndjson": jsonl_rows,
        ".csv": _csv_rows,
        ".parquet": _parquet_rows,
        ".pq": _parquet_rows,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        require_file(path)
        raise ImportFileError(
            path, None, None, f"expected a file named {one_of(readers)}, found {quoted(path.suffix)}."
        )
    return reader(path, columns)


def jsonl_rows(path: Path, columns: Columns) -> Iterator[Row]:
    """One JSON object a line; empty lines are passed over; a row's number is its line."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        data = parse_json(line.rstrip("\r\n"), path, number, None)
        if not isinstance(data, dict):
            raise ImportFileError(path, number, None, f"expected a JSON object, found {quoted(data)}.")
        row = Row(Origin(str(path), number), data)
        for key in data:
            if not columns.known(key):
                row.fail(key, f"unknown field{suggestion(key, columns.names)}.")
        yield row


def csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (row, cells), rows counted as a spreadsheet does: the header is row 1. Empty rows are skipped."""
    # The limit is the module's, for all readers of the process; nothing here wants a lower one.
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader((line for _, line in read_lines(path)), strict=True)
    number = 0
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ImportFileError(path, number, None, f"expected CSV; {error}.") from None
        if cells:
            yield number, cells


def csv_dicts(path: Path, check_header: Callable[[list[str]], None]) -> Iterator[Row]:
    """Rows of a CSV file with a header, all cells as text."""
    records = csv_records(path)
    first = next(records, None)
    if first is None:
        raise ImportFileError(path, None, None, "the file is empty; expected a header and rows.")
    number, header = first
    for position, name in enumerate(header):
        if not name.strip():
            raise ImportFileError(
                path, number, None, f"expected a name for column {position + 1}, found none."
            )
        if name in header[:position]:
            raise ImportFileError(path, number, name, "expected each column once, found it twice.")
    check_header(header)
    for number, cells in records:
        if len(cells) != len(header):
            raise ImportFileError(
                path, number, None, f"expected {len(header)} fields as in the header, found {len(cells)}."
            )
        row = Row(Origin(str(path), number), dict(zip(header, cells, strict=True)))
        for name, cell in row.data.items():
            if problem := unstorable(cell):
                row.fail(name, problem)
        yield row


def check_columns(path: Path, header: list[str], columns: Columns, row: int | None) -> None:
    """Refuse a header with an unknown column or without a required one."""
    for name in header:
        if not columns.known(name):
            raise ImportFileError(path, row, name, f"unknown column{suggestion(name, columns.names)}.")
    for name in columns.required:
        if name not in header:
            raise ImportFileError(path, row, name, f"the column is missing; found {', '.join(header)[:200]}.")


def _csv_rows(path: Path, columns: Columns) -> Iterator[Row]:
    for row in csv_dicts(path, lambda header: check_columns(path, header, columns, 1)):
        yield Row(row.origin, {name: _native(row, name, cell, columns) for name, cell in row.data.items()})


def _native(row: Row, name: str, cell: str, columns: Columns) -> Any:
    """A CSV cell as JSON would have it."""
    if not cell:
        return cell if columns.text(name) else None
    if columns.json(name):
        return parse_json(cell, row.origin.file, row.origin.row, name)
    if columns.value(name):
        cell = cell.strip()
        if cell.startswith(("{", "[")):
            return parse_json(cell, row.origin.file, row.origin.row, name)
        if NUMBER.match(cell):
            number = float(cell)
            return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return cell


def _parquet_rows(path: Path, columns: Columns) -> Iterator[Row]:
    require_file(path)
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ImportFileError(
            path, None, None, "Parquet needs the package pyarrow: pip install pyarrow."
        ) from None
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            size = sum(
                file.metadata.row_group(group).total_byte_size
                for group in range(file.metadata.num_row_groups)
            )
            if size > MAX_PARQUET:
                raise ImportFileError(
                    path, None, None, f"expected at most {mebibytes(MAX_PARQUET)} uncompressed, found more."
                )
            check_columns(path, list(file.schema_arrow.names), columns, None)
            for batch in file.iter_batches(batch_size=500):
                for data in batch.to_pylist(maps_as_pydicts="strict"):
                    number += 1
                    yield _parquet_row(path, number, data, columns)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ImportFileError(path, number or None, None, f"cannot be read as Parquet: {reason}") from None


def _parquet_row(path: Path, number: int, data: dict[str, Any], columns: Columns) -> Row:
    row = Row(Origin(str(path), number), data)
    native: dict[str, Any] = {}
    for name, cell in data.items():
        if isinstance(cell, float) and math.isnan(cell):
            cell = None  # how a data frame writes a gap in a column of numbers
        if isinstance(cell, str) and len(cell) > MAX_LINE:
            row.fail(name, f"expected at most {mebibytes(MAX_LINE)}, found more.")
        if isinstance(cell, str) and columns.json(name):
            cell = parse_json(cell, path, number, name) if cell else None
        elif isinstance(cell, str) and columns.value(name):
            cell = _native(row, name, cell, columns)
        elif columns.json(name) or columns.value(name):
            cell = cell if name == "metadata" else _without_gaps(cell)
        if problem := unstorable(cell):
            row.fail(name, problem)
        native[name] = cell
    return row if native == data else Row(row.origin, native)


def _without_gaps(cell: Any) -> Any:
    """Without the keys that a Parquet struct has only because another row needs them."""
    if isinstance(cell, list):
        return [_without_gaps(part) for part in cell]
    if isinstance(cell, dict):
        # A verdict whose value is null was not readable, which is not the same as no value.
        return {key: _without_gaps(part) for key, part in cell.items() if part is not None or key == "value"}
    return cell
