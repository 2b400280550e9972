"""The posts of a Stack Exchange data dump, row by row: `Posts.xml`, as it is or compressed with gzip.

Streamed: no more than one block and the rows in it are in memory, however large the file. A document type declaration
is refused, and with it every entity that could grow or reach out.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NoReturn
from xml.parsers import expat

from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.files import MAX_LINE, mebibytes, require_file
from annotation.importers.records import Origin
from annotation.importers.rows import Row

NAMES = ("Posts.xml", "Posts.xml.gz")
QUESTION, ANSWER = 1, 2

_BLOCK = 2**18
_WHOLE = re.compile(r"-?[0-9]{1,18}\Z", re.ASCII)
_TAGS = re.compile(r"[^<>|]+")


def posts_file(path: Path) -> Path:
    """Return the file itself, or the one in the folder of a dump; raises ImportFileError."""
    if path.is_dir():
        found = [path / name for name in NAMES if (path / name).is_file()]
        if not found:
            raise ImportFileError(path, None, None, f"expected a folder with a file {' or '.join(NAMES)}.")
        path = found[0]
    if path.suffix.lower() in (".7z", ".zip"):
        raise ImportFileError(path, None, None, "expected Posts.xml; extract it from the archive first.")
    require_file(path)
    return path


def read_posts(path: Path, progress: Callable[[int], None] | None = None) -> Iterator[Row]:
    """Yield the rows of the file; their number is the line on which they begin.

    Parameters
    ----------
    progress : callable, optional
        Called with the number of rows so far every 100,000 rows.

    Raises
    ------
    ImportFileError
        No such file, no XML, not the posts of a dump, or a row above 16 MiB.
    """
    reader = _Reader(path)
    number = 0
    try:
        with _opened(path) as file:
            while True:
                block = file.read(_BLOCK)
                for row in reader.feed(block):
                    number += 1
                    if progress is not None and number % 100_000 == 0:
                        progress(number)
                    yield row
                if not block:
                    return
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ImportFileError(path, None, None, f"cannot be read: {reason}.") from None


def whole_number(row: Row, field: str) -> int:
    """Return a whole number that the row must have."""
    value = row.require(field)
    if not _WHOLE.match(value):
        row.fail(field, f"expected a whole number, found {quoted(value)}.")
    return int(value)


def tags(row: Row) -> tuple[str, ...]:
    """Return a question's tags, however the dump writes them: ``<xml><python>`` or ``|xml|python|``."""
    return tuple(_TAGS.findall(row.data.get("Tags", "")))


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


class _Reader:
    """Turns blocks of bytes into rows. An XML parser by events: nothing is kept of what was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[Row] = []
        self._depth = 0
        self._fed = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    def feed(self, block: bytes) -> list[Row]:
        """Return the rows that this block completes; an empty block is the end of the file."""
        self._rows = []
        self._fed += len(block)
        try:
            self._parser.Parse(block, not block)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise ImportFileError(
                self._path, error.lineno, None, f"expected XML; at column {error.offset + 1}: {reason}."
            ) from None
        except (LookupError, ValueError) as error:  # of an encoding that its first line names
            raise ImportFileError(self._path, 1, None, f"expected XML in UTF-8; {error}.") from None
        if self._fed - self._parser.CurrentByteIndex > MAX_LINE + _BLOCK:
            self._fail(f"expected a row of at most {mebibytes(MAX_LINE)}, found more.")
        return self._rows

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "posts":
            self._fail(f"expected <posts>, as in a dump's Posts.xml, found {quoted(f'<{name}>')}.")
        if self._depth == 2 and name != "row":
            self._fail(f"expected <row>, found {quoted(f'<{name}>')}.")
        if self._depth == 2:
            self._rows.append(Row(Origin(str(self._path), self._parser.CurrentLineNumber), attributes))

    def _end(self, name: str) -> None:  # noqa: ARG002 (expat names it)
        self._depth -= 1

    def _doctype(self, *_: object) -> None:
        self._fail("expected no document type declaration; a data dump has none.")

    def _fail(self, message: str) -> NoReturn:
        raise ImportFileError(self._path, self._parser.CurrentLineNumber, None, message)
