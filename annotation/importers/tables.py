"""JSONL, JSON, CSV and Parquet as one stream of rows with native values."""

import csv
import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from annotation.importers.errors import Faults, ImportFileError, LeftOutRows, quoted
from annotation.importers.files import (
    MAX_COLUMNS,
    MAX_LINE,
    MAX_NAME,
    Budget,
    FilePlace,
    mebibytes,
    parse_json,
    read_document,
    read_lines,
    require_file,
)
from annotation.importers.parquet import ARROW, parquet_header_and_rows
from annotation.importers.records import EMPTY, Origin
from annotation.importers.rows import Row, one_of, suggestion
from web.json_text import unstorable

NUMBER = re.compile(r"[+-]?[0-9]{1,300}(\.[0-9]{1,300})?\Z")
DELIMITERS = ",;\t|"
NUL = "\x00"
HEAD = 50
"""Rows that are looked at for the names of fields, where a file has no header, and for what columns may be."""


def never(_name: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """What the columns of a table mean, for the formats that cannot say it themselves.

    `json` hold JSON text, `value` hold a number, a JSON object or a word, `text` keep an empty cell as the
    empty text where elsewhere it means "nothing". `fields` say which field a column of another name is, `nested`
    are columns of JSON text whatever they are.
    """

    known: Callable[[str], bool]
    names: tuple[str, ...]
    required: tuple[str, ...]
    json: Callable[[str], bool] = never
    value: Callable[[str], bool] = never
    text: Callable[[str], bool] = never
    fields: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    any_of: tuple[str, ...] = ()
    nested: Collection[str] = ()
    _plain: dict[str, bool] = field(init=False, compare=False, default_factory=dict)

    def is_plain(self, name: str) -> bool:
        """Whether a cell of this column is text as it stands."""
        known = self._plain.get(name)
        if known is None:
            known = self._plain[name] = not self.is_json(name) and not self.is_value(name)
        return known

    def is_json(self, name: str) -> bool:
        return name in self.nested or self.json(self.fields.get(name, name))

    def is_value(self, name: str) -> bool:
        return self.value(self.fields.get(name, name))

    def is_text(self, name: str) -> bool:
        return self.text(self.fields.get(name, name))


@dataclass(frozen=True, slots=True)
class Table:
    """A file that has been opened: the names in it, and its rows as they stand.

    `header_row` is None where the names are no row of the file; `first` are the rows that have been read for the
    names; `native` makes values of cells once it is known what the columns mean. `at` moves behind each row that is
    taken of `rows`, to the first of `ends`.
    """

    header: tuple[str, ...]
    header_row: int | None
    first: tuple[Row, ...]
    rest: Iterator[Row]
    has_header: bool
    native: Callable[[Row, ColumnTypes], Row]
    at: FilePlace | None = None
    ends: deque[tuple[int, int, int]] = field(default_factory=deque)

    def rows(self, columns: ColumnTypes, faults: Faults) -> Iterator[Row]:
        """The rows with native values; one that has a wrong cell is a fault and is left out."""
        for row in chain(self.first, self.rest):
            if self.at is not None:
                self.at.row, self.at.line, self.at.offset = self.ends.popleft()
            read = faults.tried(partial(self.native, row, columns), row.data)
            if read is not None:
                yield read


def table_rows(path: Path, columns: ColumnTypes, faults: Faults | None = None) -> Iterator[Row]:
    """Rows of a table by the file's extension, with the names that `columns` knows.

    Parameters
    ----------
    faults
        Collects what is wrong in single rows; without it the first such thing is raised.

    Raises
    ------
    ImportFileError
        Also for unknown and missing columns, where the format has a header.
    """
    faults = Faults(1) if faults is None else faults
    table = table_open(path, faults, columns.known)
    if table.has_header:
        check_columns(path, list(table.header), columns, table.header_row)
    for row in table.rows(columns, faults):
        known = row if table.has_header else faults.tried(partial(_known, row, columns))
        if known is not None:
            yield known


ANY_COLUMNS = ColumnTypes(known=lambda _name: True, names=(), required=())


def plain_rows(path: Path, faults: Faults) -> Iterator[Row]:
    """The rows of a table by the file's extension, whatever its columns: for forms that say themselves what they have.

    Values are as the file has them; of CSV all are text.
    """
    return table_open(path, faults).rows(ANY_COLUMNS, faults)


def table_open(
    path: Path,
    faults: Faults,
    known: Callable[[str], bool] = never,
    *,
    each_row: bool = False,
    any_size: bool = False,
    at: FilePlace | None = None,
) -> Table:
    """Open a table by the file's extension.

    Parameters
    ----------
    known
        Names that help to tell what separates the cells of a CSV file.
    each_row
        For who keeps no rows: of a file of lines, what it may hold is counted for each row instead of all together.
    any_size
        The same of Parquet, of which a few kilobytes may unfold into anything: for files of operators.
    at
        Where the rows begin; it moves behind each row that is taken. The names are those of the file's beginning.
    """
    if at is None or not at.row:
        return _table(path, faults, known, each_row=each_row, any_size=any_size, at=at)
    # What is wrong in the rows before has been said.
    head = _table(path, LeftOutRows(lambda _: None), known, each_row=each_row, any_size=any_size)
    columns = len(head.header)
    ends: deque[tuple[int, int, int]] = deque()
    reading = replace(at)
    rows: Iterator[Row]
    if path.suffix.lower() in CSV:
        records = csv_records(path, faults, known, each_row=each_row, place=reading, width=columns)
        rows = _csv_rows(path, list(head.header), records, faults)
    elif path.suffix.lower() in PARQUET:
        _, rows = parquet_header_and_rows(path, faults, any_size=any_size, after=at.row)
    else:
        rows = _json_or_jsonl_rows(path, faults, each_row=each_row, place=reading)
    return replace(head, first=(), rest=_noted(rows, ends, reading), at=at, ends=ends)


JSONL, JSON, CSV = (".jsonl", ".ndjson"), ".json", (".csv", ".tsv")
PARQUET = (".parquet", ".pq", ARROW)


def _table(
    path: Path,
    faults: Faults,
    known: Callable[[str], bool],
    *,
    each_row: bool,
    any_size: bool,
    at: FilePlace | None = None,
) -> Table:
    """A table from its beginning."""
    suffix = path.suffix.lower()
    reading, ends = FilePlace(), deque[tuple[int, int, int]]()
    header_row: int | None = None
    header: Sequence[str] | None = None
    native: Callable[[Row, ColumnTypes], Row] = lambda row, _columns: row  # noqa: E731  (as it stands)
    if suffix in JSONL:
        rows = jsonl_rows(path, faults, each_row=each_row, place=reading)
    elif suffix == JSON:
        rows = _json_or_jsonl_rows(path, faults, each_row=each_row, place=reading)
    elif suffix in CSV:
        header_row, header, rows = _csv_header_and_rows(path, faults, known, each_row=each_row, place=reading)
        native = _native_row
    elif suffix in PARQUET:
        header, rows = parquet_header_and_rows(path, faults, any_size=any_size)
        if len(header) > MAX_COLUMNS:
            message = f"expected at most {MAX_COLUMNS:,} columns, found {len(header):,}."
            raise ImportFileError(path, None, None, message)
        native = _parquet_row
    else:
        require_file(path)
        suffixes = one_of((*JSONL, JSON, *CSV, *PARQUET))
        raise ImportFileError(
            path, None, None, f"expected a file named {suffixes}, found {quoted(path.suffix)}."
        )
    if at is not None:
        rows = _noted(rows, ends, reading)
    first = tuple(islice(rows, HEAD))
    names = {name: None for row in first for name in row.data} if header is None else header
    return Table(tuple(names), header_row, first, rows, header is not None, native, at, ends)


def _noted(rows: Iterator[Row], ends: deque[tuple[int, int, int]], reading: FilePlace) -> Iterator[Row]:
    """The rows; where each ends is noted when it is read."""
    for row in rows:
        ends.append((row.origin.row, reading.line, reading.offset))
        yield row


def _known(row: Row, columns: ColumnTypes) -> Row:
    for key in row.data:
        if not columns.known(key):
            row.fail(key, f"unknown field{suggestion(key, columns.names)}.")
    return row


def jsonl_rows(
    path: Path, faults: Faults, *, each_row: bool = False, place: FilePlace | None = None
) -> Iterator[Row]:
    """One JSON object a line; empty lines are passed over; a row's number is its line. `place` as in `read_lines`."""
    budget = Budget(path, each_row=each_row)
    for number, line in read_lines(path, place):
        if not line.strip():
            continue
        budget.spend(line, number)
        row = faults.tried(partial(_line_object, path, number, line), line.rstrip("\r\n"))
        if row is not None:
            yield row


def _json_or_jsonl_rows(
    path: Path, faults: Faults, *, each_row: bool = False, place: FilePlace | None = None
) -> Iterator[Row]:
    """A JSON list of objects; what does not begin as a list is read as one object a line.

    `place` as in `read_lines`; of a list, its row alone counts.
    """
    require_file(path)
    with path.open("rb") as file:
        begins = file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if begins == b"{" or path.suffix.lower() in JSONL:
        return jsonl_rows(path, faults, each_row=each_row, place=place)
    return json_rows(path, faults, after=0 if place is None else place.row)


def object_rows(path: Path, faults: Faults) -> Iterator[Row]:
    """Objects of a JSON list, one a line, or one alone, over as many lines as it likes."""
    first = next((line for _, line in read_lines(path) if line.strip()), "")
    if first.lstrip().startswith("{") and not first.rstrip().endswith("}"):
        yield _object(path, 1, read_document(path))
        return
    yield from _json_or_jsonl_rows(path, faults)


def json_rows(path: Path, faults: Faults, *, after: int = 0) -> Iterator[Row]:
    """The objects of a JSON list after a row; a row's number is its place in the list, from 1."""
    document = read_document(path)
    if not isinstance(document, list):
        raise ImportFileError(path, None, None, "expected a JSON list of objects.")
    if not document:
        raise ImportFileError(path, None, None, "the list is empty; expected at least one object.")
    for number, data in enumerate(islice(document, after, None), start=after + 1):
        row = faults.tried(partial(_object, path, number, data), data)
        if row is not None:
            yield row


def _line_object(path: Path, number: int, line: str) -> Row:
    return _object(path, number, parse_json(line.rstrip("\r\n"), path, number, None))


def _object(path: Path, number: int, data: object) -> Row:
    if not isinstance(data, dict):
        raise ImportFileError(path, number, None, f"expected a JSON object, found {quoted(data)}.")
    if len(data) > MAX_COLUMNS:
        message = f"expected at most {MAX_COLUMNS:,} fields, found {len(data):,}."
        raise ImportFileError(path, number, None, message)
    return Row(Origin(str(path), number), data)


def csv_records(
    path: Path,
    faults: Faults | None = None,
    known: Callable[[str], bool] = never,
    *,
    each_row: bool = False,
    place: FilePlace | None = None,
    width: int = 0,
) -> Iterator[tuple[int, list[str]]]:
    """Yield (row, cells), rows counted as a spreadsheet does: the header is row 1. Empty rows are skipped.

    Cells are separated by what separates the names of the header: a comma, a semicolon, a tab or a bar.

    Parameters
    ----------
    place
        As in `read_lines`.
    width
        Cells of a row, where the place is behind the header.

    Raises
    ------
    ImportFileError
        No CSV, a header that is none (`MAX_COLUMNS`, `MAX_NAME`), or a row with another number of cells.
    """
    # The limit is the module's, for all readers of the process; nothing here wants a lower one.
    csv.field_size_limit(MAX_LINE)
    faults = Faults(1) if faults is None else faults
    budget = Budget(path, each_row=each_row)
    begins_after = 0 if place is None else place.row
    lines = _record_lines(path, budget, None if begins_after else place)
    first = []
    for line in lines:
        first.append(line)
        if line.strip():
            break
    delimiter = _delimiter(path, first[-1] if first else "", known)
    if begins_after:
        first, lines = [], _record_lines(path, budget, place)
    reader = csv.reader(chain(first, lines), strict=True, delimiter=delimiter)
    number = begins_after
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ImportFileError(path, number, None, f"expected CSV; {error}.") from None
        if not cells:
            continue
        if not width:
            _check_header_size(path, number, cells)
            width = len(cells)
        if len(cells) != width:
            message = f"expected {width} fields as in the header, found {len(cells)}."
            wrong = ImportFileError(path, number, None, message)
            wrong.data = cells
            faults.add(wrong)
            continue
        yield number, cells


def _record_lines(path: Path, budget: Budget, place: FilePlace | None) -> Iterator[str]:
    for number, line in read_lines(path, place):
        budget.spend(line, number)
        yield line


def _delimiter(path: Path, line: str, known: Callable[[str], bool]) -> str:
    """What separates the cells: that which finds the most known names, then that which finds the most names."""
    if any(line.count(delimiter) >= MAX_COLUMNS for delimiter in DELIMITERS):
        raise ImportFileError(path, 1, None, f"expected at most {MAX_COLUMNS:,} columns, found more.")

    def found(delimiter: str) -> tuple[int, int]:
        try:
            names = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:
            return 0, 0
        return sum(known(name) for name in names), len(names)

    return max(DELIMITERS, key=found)


def _check_header_size(path: Path, number: int, header: list[str]) -> None:
    if len(header) > MAX_COLUMNS:
        message = f"expected at most {MAX_COLUMNS:,} columns, found {len(header):,}."
        raise ImportFileError(path, number, None, message)
    for name in header:
        if len(name) > MAX_NAME:
            message = f"expected names of at most {MAX_NAME} characters, found {quoted(name)}."
            raise ImportFileError(path, number, None, message)


def csv_dicts(path: Path, check_header: Callable[[list[str]], None], faults: Faults) -> Iterator[Row]:
    """Rows of a CSV file with a header, all cells as text."""
    _, header, rows = _csv_header_and_rows(path, faults, never)
    check_header(header)
    yield from rows


def _csv_header_and_rows(
    path: Path,
    faults: Faults,
    known: Callable[[str], bool],
    *,
    each_row: bool = False,
    place: FilePlace | None = None,
) -> tuple[int, list[str], Iterator[Row]]:
    """The row of the header, the names in it, and the rows after it with all cells as text."""
    records = csv_records(path, faults, known, each_row=each_row, place=place)
    first = next(records, None)
    if first is None:
        raise ImportFileError(path, None, None, "the file is empty; expected a header and rows.")
    number, header = first
    seen: set[str] = set()
    for position, name in enumerate(header):
        if not name.strip():
            raise ImportFileError(
                path, number, None, f"expected a name for column {position + 1}, found none."
            )
        if name in seen:
            raise ImportFileError(path, number, name, "expected each column once, found it twice.")
        seen.add(name)
    return number, header, _csv_rows(path, header, records, faults)


def _csv_rows(
    path: Path, header: list[str], records: Iterator[tuple[int, list[str]]], faults: Faults
) -> Iterator[Row]:
    file = str(path)
    for number, cells in records:
        row = Row(Origin(file, number), dict(zip(header, cells, strict=True)))
        if NUL not in "".join(cells):  # nothing else that UTF-8 can hold is refused
            yield row
            continue
        wrong = next((name, said) for name, cell in row.data.items() if (said := unstorable(cell)))
        problem = ImportFileError(path, number, *wrong)
        problem.data = row.data
        faults.add(problem)


def check_columns(path: Path, header: list[str], columns: ColumnTypes, row: int | None) -> None:
    """Refuse a header with an unknown column or without a required one."""
    for name in header:
        if not columns.known(name):
            raise ImportFileError(path, row, name, f"unknown column{suggestion(name, columns.names)}.")
    for name in columns.required:
        if name not in header:
            raise ImportFileError(path, row, name, f"the column is missing; found {', '.join(header)[:200]}.")
    if columns.any_of and not any(name in header for name in columns.any_of):
        needed = f"expected one of the columns {', '.join(columns.any_of)}"
        raise ImportFileError(path, row, columns.any_of[0], f"{needed}; found {', '.join(header)[:200]}.")


def _native_row(row: Row, columns: ColumnTypes) -> Row:
    cells = {
        name: cell if cell and columns.is_plain(name) else _native(row, name, cell, columns)
        for name, cell in row.data.items()
    }
    return Row(row.origin, cells)


def _native(row: Row, name: str, cell: str, columns: ColumnTypes) -> Any:
    """A CSV cell as JSON would have it."""
    if not cell:
        return cell if columns.is_text(name) else None
    if columns.is_json(name):
        return parse_json(cell, row.origin.file, row.origin.row, name)
    if columns.is_value(name):
        cell = cell.strip()
        if cell.startswith(("{", "[")):
            return parse_json(cell, row.origin.file, row.origin.row, name)
        if NUMBER.match(cell):
            number = float(cell)
            return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return cell


def _parquet_row(row: Row, columns: ColumnTypes) -> Row:
    native: dict[str, Any] = {}
    for name, cell in row.data.items():
        if isinstance(cell, float) and math.isnan(cell):
            cell = None  # how a data frame writes a gap in a column of numbers
        if isinstance(cell, str) and len(cell) > MAX_LINE:
            row.fail(name, f"expected at most {mebibytes(MAX_LINE)}, found more.")
        if isinstance(cell, str) and columns.is_json(name):
            cell = parse_json(cell, row.origin.file, row.origin.row, name) if cell else None
        elif isinstance(cell, str) and columns.is_value(name):
            cell = _native(row, name, cell, columns)
        elif columns.is_json(name) or columns.is_value(name):
            cell = cell if name == "metadata" else _without_gaps(cell)
        if problem := unstorable(cell):
            row.fail(name, problem)
        native[name] = cell
    return Row(row.origin, native)


def _without_gaps(cell: Any) -> Any:
    """Without the keys that a Parquet struct has only because another row needs them."""
    if isinstance(cell, list):
        return [_without_gaps(part) for part in cell]
    if isinstance(cell, dict):
        # A verdict whose value is null was not readable, which is not the same as no value; and an aspect that is
        # answered with null cannot be told.
        return {
            key: part if key == "answers" else _without_gaps(part)
            for key, part in cell.items()
            if part is not None or key == "value"
        }
    return cell
