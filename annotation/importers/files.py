"""Reading files that may be anything: bounded in memory, strict about encoding, exact about the place."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.importers.errors import ImportFileError
from web.json_text import JsonSyntaxError, JsonTextError, json_read, path_words

MAX_LINE = 16 * 2**20
"""Bytes of one line of JSONL or CSV, and of one cell of Parquet."""
MAX_DOCUMENT = 64 * 2**20
"""Bytes of a JSON file that has to be read as a whole."""
MAX_TABLE = 256 * 2**20
"""Bytes of a table as they are decoded: a small file may unfold into a very large one."""
MAX_VALUES = 5_000_000
"""Values of a table or a JSON text, counted by commas: each takes far more memory than its two bytes."""
MAX_COLUMNS = 1_000
MAX_NAME = 200
"""Characters of the name of a column."""
BLOCK = 2**20
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class FilePlace:
    """A place between two rows of a file: what is before it has been read.

    Attributes
    ----------
    row : int
        The last row before it, as `ImportFileError` counts rows; 0 at the beginning.
    line, offset : int
        Of a file of lines, the lines and the bytes before it.
    """

    row: int = 0
    line: int = 0
    offset: int = 0


class Budget:
    """What may still be read of one file, in bytes and in values; with `each_row`, of each of its rows."""

    def __init__(self, path: Path, *, each_row: bool = False) -> None:
        self.path = path
        self.each_row = each_row
        self._renew()

    def _renew(self) -> None:
        self.bytes = MAX_TABLE
        self.values = MAX_VALUES

    def spend(self, text: str, row: int | None) -> None:
        """Count a text before it is parsed; `ImportFileError` where it is too much."""
        if self.each_row:
            self._renew()
        self.bytes -= len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        self.values -= text.count(",") + 1
        if self.bytes < 0:
            message = f"expected at most {mebibytes(MAX_TABLE)} when decoded, found more."
            raise ImportFileError(self.path, row, None, message)
        if self.values < 0:
            raise ImportFileError(
                self.path, row, None, f"expected at most {MAX_VALUES:,} values, found more."
            )


def mebibytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def require_file(path: Path) -> None:
    """Refuse what is no regular file, or is empty, before anything is read of it."""
    try:
        if not path.exists():
            raise ImportFileError(path, None, None, "expected a file; there is none of this name.")
        if path.is_dir():
            raise ImportFileError(path, None, None, "expected a file, found a folder.")
        if not path.is_file():
            raise ImportFileError(path, None, None, "expected a regular file.")
        if path.stat().st_size == 0:
            raise ImportFileError(path, None, None, "the file is empty; expected at least one item.")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def require_folder(path: Path) -> None:
    try:
        if not path.exists():
            raise ImportFileError(path, None, None, "expected a folder; there is none of this name.")
        if not path.is_dir():
            raise ImportFileError(path, None, None, "expected a folder, found a file.")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def read_lines(path: Path, place: FilePlace | None = None) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line with its end), holding no more than one line and one block in memory.

    Parameters
    ----------
    place
        Where to begin; it moves behind each line that is yielded.

    Raises
    ------
    ImportFileError
        No such file, not UTF-8, or a line above `MAX_LINE` bytes.
    """
    require_file(path)
    place = FilePlace() if place is None else place
    number = place.line
    rest = b""
    try:
        with path.open("rb") as file:
            if place.offset:
                file.seek(place.offset)
            while block := file.read(BLOCK):
                if number == 0 and not rest:
                    size = len(block)
                    block = _without_bom(path, block)
                    place.offset += size - len(block)
                *lines, rest = (rest + block).split(b"\n")
                for line in lines:
                    number += 1
                    place.line, place.offset = number, place.offset + len(line) + 1
                    yield number, _decode(path, number, line + b"\n")
                if len(rest) > MAX_LINE:
                    raise _too_long(path, number + 1)
        if rest:
            place.line, place.offset = number + 1, place.offset + len(rest)
            yield number + 1, _decode(path, number + 1, rest)
    except OSError as error:
        raise _unreadable(path, error) from None


def read_document(path: Path) -> Any:
    """Parse a whole JSON file of at most `MAX_DOCUMENT` bytes."""
    require_file(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_DOCUMENT + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(data) > MAX_DOCUMENT:
        raise ImportFileError(
            path, None, None, f"expected at most {mebibytes(MAX_DOCUMENT)} of JSON, found more."
        )
    try:
        text = _without_bom(path, data).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ImportFileError(path, None, None, f"line {line}: {_not_utf8(error)}") from None
    Budget(path).spend(text, None)
    return parse_json(text, path, None, None)


def parse_json(text: str, file: object, row: int | None, field: str | None) -> Any:
    """Strict JSON, as `web.json_text` reads it.

    Raises
    ------
    ImportFileError
        With line and column where the text is no JSON, else with the row and the path of the part that is wrong.
    """
    try:
        return json_read(text)
    except JsonSyntaxError as error:
        where = f"column {error.column}" if row is not None else f"line {error.line}, column {error.column}"
        raise ImportFileError(file, row, field, f"expected JSON; at {where}: {error.problem}.") from None
    except JsonTextError as error:
        path = list(error.path)
        if row is None and path and isinstance(path[0], int):  # rows are the elements of a document
            row = path[0] + 1
            path = path[1:]
        place = f"{field or ''}{path_words(path)}".removeprefix(".")
        raise ImportFileError(file, row, place or None, error.problem) from None


def _without_bom(path: Path, data: bytes) -> bytes:
    if data.startswith(UTF16_BOMS):
        raise ImportFileError(path, None, None, "expected UTF-8 text, found UTF-16; save the file as UTF-8.")
    return data.removeprefix(UTF8_BOM)


def _decode(path: Path, number: int, line: bytes) -> str:
    if len(line) > MAX_LINE:
        raise _too_long(path, number)
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ImportFileError(path, number, None, _not_utf8(error)) from None


def _not_utf8(error: UnicodeDecodeError) -> str:
    byte = error.object[error.start]
    return f"expected UTF-8 text, found the byte 0x{byte:02x}; save the file as UTF-8."


def _too_long(path: Path, number: int) -> ImportFileError:
    return ImportFileError(
        path, number, None, f"expected a line of at most {mebibytes(MAX_LINE)}, found more."
    )


def _unreadable(path: Path, error: Exception) -> ImportFileError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ImportFileError(path, None, None, f"cannot be read: {reason}.")
