"""What the importers raise, how several refusals become one, and how a value is quoted in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TypeVar

from web.plain_text import cut_off
from web.plain_text import quoted as quoted

MAX_ERRORS = 20
"""Errors of a file that are listed."""
MOST_FIELD, MOST_MESSAGE = 200, 2_000
T = TypeVar("T")


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
        What was expected, and what was found. One line; it and the field are cut off where a file has a name of
        megabytes.
    data : object
        The row as far as it was read: fields, cells, or the text of a line. None where nobody knew it.
    """

    data: object = None

    def __init__(self, file: object, row: int | None, field: str | None, message: str) -> None:
        self.file = str(file)
        self.row = row
        self.field = None if field is None else cut_off(field, MOST_FIELD)
        self.message = cut_off(message, MOST_MESSAGE)
        super().__init__(file, row, self.field, self.message)

    def __str__(self) -> str:
        place = printable(self.file)
        if self.row is not None:
            place += f", row {self.row}"
        if self.field is not None:
            place += f", field {printable(self.field)}"
        return f"{place}: {printable(self.message)}"


class RefusedFileError(ImportFileError):
    """Several things that are wrong in an import, at most `MAX_ERRORS`; its attributes are those of the first.

    Attributes
    ----------
    errors : tuple of ImportFileError
        In the order of the file, and of the files where an import reads several.
    """

    def __init__(self, errors: Sequence[ImportFileError]) -> None:
        files = list(dict.fromkeys(error.file for error in errors))
        self.errors = tuple(
            sorted(errors, key=lambda error: (files.index(error.file), error.row is None, error.row or 0))
        )
        first = self.errors[0]
        super().__init__(first.file, first.row, first.field, first.message)

    def __str__(self) -> str:
        if len(self.errors) == 1:
            return str(self.errors[0])
        return "\n".join([f"{self.count_words()}:", *(str(error) for error in self.errors)])

    def count_words(self) -> str:
        """Such as ``"3 errors"``, or ``"The first 20 errors"`` where reading stopped."""
        full = len(self.errors) >= MAX_ERRORS
        return f"The first {len(self.errors)} errors" if full else f"{len(self.errors)} errors"


class UnknownColumnsError(RefusedFileError):
    """Columns that have no meaning here, or a missing one: somebody has to say what they are.

    Attributes
    ----------
    columns : tuple of str
        All of the file's, in its order.
    samples : mapping of str to str
        What stands in them in the first row that has something.
    guesses : mapping of str to str
        For each column the field that it is taken for, unless somebody says otherwise.
    """

    def __init__(
        self,
        errors: Sequence[ImportFileError],
        *,
        columns: Sequence[str],
        samples: Mapping[str, str],
        guesses: Mapping[str, str],
    ) -> None:
        super().__init__(errors)
        self.columns = tuple(columns)
        self.samples = dict(samples)
        self.guesses = dict(guesses)


class Faults:
    """Collects what is wrong, so that a file is read on after a bad row: ``with faults: read(row)``.

    Parameters
    ----------
    limit
        After so many, reading stops. With 1 the first error is raised as it is.
    """

    def __init__(self, limit: int = MAX_ERRORS) -> None:
        self.limit = limit
        self.errors: list[ImportFileError] = []

    def __enter__(self) -> Faults:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, ImportFileError) or isinstance(error, RefusedFileError):
            return False
        self.add(error)
        return True

    def add(self, error: ImportFileError) -> None:
        self.errors.append(error)
        if len(self.errors) >= self.limit:
            self.check()

    def tried(self, read: Callable[[], T], data: object = None) -> T | None:
        """What `read` returns; None where it refuses, which is collected with the row that it read."""
        with self:
            try:
                return read()
            except ImportFileError as error:
                error.data = data
                raise
        return None

    def reading(self) -> AbstractContextManager[object]:
        """The context in which a file is read: what stops the reading is collected too."""
        return self

    def each(self, rows: Iterable[T], add: Callable[[T], object]) -> None:
        """Read all rows with `add`, on after a bad one, and collect what stops the reading of the file too."""
        with self:
            for row in rows:
                with self:
                    add(row)

    def check(self) -> None:
        """Raise what was collected, if anything was."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise RefusedFileError(self.errors)


class LeftOutRows(Faults):
    """Leaves bad rows out and goes on: each is told to `keep`, and nothing that is wrong in a row refuses the file.

    What makes the rest of a file unreadable is raised all the same.

    Parameters
    ----------
    keep
        Called with each error; its `data` is the row.
    """

    def __init__(self, keep: Callable[[ImportFileError], object]) -> None:
        super().__init__()
        self._keep = keep
        self.n = 0

    def add(self, error: ImportFileError) -> None:
        self.n += 1
        self._keep(error)

    def reading(self) -> AbstractContextManager[object]:
        return nullcontext()

    def check(self) -> None:
        return


def errors_of(error: ImportFileError) -> tuple[ImportFileError, ...]:
    """The single errors of an error."""
    return error.errors if isinstance(error, RefusedFileError) else (error,)


def printable(text: str) -> str:
    """The text on one line: what a terminal would obey is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)
