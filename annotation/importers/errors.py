"""The one exception of the importers, and how a value is quoted in it."""

from __future__ import annotations

MAX_QUOTED = 60


class ImportFileError(Exception):
    """A file that is refused whole.

    Attributes
    ----------
    file : str
        The path as the user gave it.
    row : int or None
        Line of a JSONL file or of XML, row of a CSV file as a spreadsheet counts it (the header is row 1), row of a
        Parquet file or element of a JSON list counted from 1. None where the file as a whole is meant.
    field : str or None
        Column or key.
    message : str
        What was expected, and what was found. One line.
    """

    def __init__(self, file: object, row: int | None, field: str | None, message: str) -> None:
        self.file = str(file)
        self.row = row
        self.field = field
        self.message = message
        place = printable(self.file)
        if row is not None:
            place += f", row {row}"
        if field is not None:
            place += f", field {printable(field)}"
        super().__init__(f"{place}: {printable(message)}")


def printable(text: str) -> str:
    """The text on one line: what a terminal would obey is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)


def quoted(value: object, limit: int = MAX_QUOTED) -> str:
    """The value as it may stand in a message: on one line, shortened, text in quotes."""
    if isinstance(value, str) and len(value) > limit:
        value = value[: limit - 1] + "…"
    text = repr(value)
    return text if len(text) <= limit * 2 else text[: limit * 2 - 1] + "…"
