"""CSV that no spreadsheet runs: the one writer of every file of ours that is CSV."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence

CONTENT_TYPE = "text/csv; charset=utf-8"
# What makes a spreadsheet read a cell as a formula; the wide forms are read as their ASCII ones by some.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_cell(value: object) -> str | int | float:
    """A cell that no spreadsheet runs: text that could be a formula gets an apostrophe in front.

    Numbers are written as numbers, None as nothing, lists and objects as JSON.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell(-3), csv_cell(None), csv_cell([1, 0])
    ("'=1+1", -3, '', '[1, 0]')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text


def csv_cell_text(cell: str) -> str:
    """The text of a cell that `csv_cell` has written.

    Examples
    --------
    >>> csv_cell_text("'=1+1"), csv_cell_text("'tis"), csv_cell_text("plain")
    ('=1+1', "'tis", 'plain')
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


class _Line:
    """What csv.writer writes to: hands the line back instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """A header and a line a row, RFC 4180 (lines end with CR LF)."""
    writer = csv.writer(_Line())
    yield writer.writerow([csv_cell(name) for name in columns])
    for cells in rows:
        yield writer.writerow([csv_cell(cell) for cell in cells])


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """The lines of `csv_lines` as one text."""
    return "".join(csv_lines(columns, rows))
