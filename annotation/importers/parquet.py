"""Rows of Parquet files and streams of Arrow, decoded by `parquet_child` in bounded memory, counted as they arrive."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from annotation.importers.errors import Faults, ImportFileError
from annotation.importers.files import MAX_LINE, Budget, mebibytes, require_file
from annotation.importers.records import Origin
from annotation.importers.rows import Row

DECODER_MEMORY = 512
"""Mebibytes that the decoder may take: a page and a few rows are all that it holds."""
DECODER_SECONDS = 120
"""Of a processor."""
MAX_ROW = 4 * MAX_LINE
CHILD = Path(__file__).with_name("parquet_child.py")
MAGIC = b"PAR1"
"""What a Parquet file begins and ends with."""
ARROW, ARROW_MAGIC = ".arrow", b"\xff\xff\xff\xff"
"""What a stream of Arrow, which `datasets` writes, is named, and what it begins with."""


def parquet_header_and_rows(
    path: Path, faults: Faults, *, any_size: bool = False, after: int = 0
) -> tuple[list[str], Iterator[Row]]:
    """The names of the columns, and the rows as they come; the decoder ends with the iterator.

    Parameters
    ----------
    any_size
        What the file may unfold into, and the time that this takes, is bounded for each row alone.
    after
        Rows that are passed over; those of whole row groups aren't decoded.

    Raises
    ------
    ImportFileError
        No Parquet (of a file named ``.arrow``, no stream of Arrow), too large when decoded, or the package pyarrow
        is missing.
    """
    require_file(path)
    if find_spec("pyarrow") is None:
        message = f"{_form(path)} needs the package pyarrow: pip install pyarrow."
        raise ImportFileError(path, None, None, message)
    if not _has_magic(path):
        how = "as a stream does" if _form(path) == "Arrow" else f"and end with {MAGIC.decode()}"
        raise ImportFileError(path, None, None, f"cannot be read as {_form(path)}: it does not begin {how}.")
    lines = _lines(path, any_size=any_size, after=after)
    letter, names = next(lines)
    assert letter == "H"  # whatever else there is to say is raised
    return names, _rows(path, lines, faults, after)


def _form(path: Path) -> str:
    return "Arrow" if path.suffix.lower() == ARROW else "Parquet"


def _has_magic(path: Path) -> bool:
    """Whether a decoder, which is a process, may find something in it; it says of an unreadable file why."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
            if _form(path) == "Arrow":
                return begins == ARROW_MAGIC
            file.seek(max(path.stat().st_size - len(MAGIC), 0))
            return begins == file.read(len(MAGIC)) == MAGIC
    except OSError:
        return True


def _rows(path: Path, lines: Iterator[tuple[str, Any]], faults: Faults, after: int) -> Iterator[Row]:
    for number, (letter, value) in enumerate(lines, start=after + 1):
        if letter == "R":
            yield Row(Origin(str(path), number), value)
            continue
        column, found, shown = value
        expected = "expected text, a number, true, false, null, a list or an object"
        problem = ImportFileError(path, number, column, f"{expected}, found {found}.")
        problem.data = shown
        faults.add(problem)


def _lines(path: Path, *, any_size: bool, after: int) -> Iterator[tuple[str, Any]]:
    budget = Budget(path, each_row=any_size)
    number = after
    seconds = 0 if any_size else DECODER_SECONDS
    asked = [path.absolute(), DECODER_MEMORY, seconds, after]
    decoder = subprocess.Popen(  # noqa: S603  (this file and a path; no shell reads them)
        [sys.executable, "-P", str(CHILD), *map(str, asked)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # The system's allocator takes what is needed; others reserve by the gigabyte.
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"},
    )
    try:
        assert decoder.stdout is not None
        while line := decoder.stdout.readline(MAX_ROW + 1):
            if len(line) > MAX_ROW or not line.endswith(b"\n"):
                break
            letter, text = chr(line[0]), line[1:].decode(errors="surrogatepass")
            if letter == "E":
                reason = json.loads(text)
                raise ImportFileError(
                    path, number or None, None, f"cannot be read as {_form(path)}: {reason}"
                )
            budget.spend(text, number + 1 if letter == "R" else None)
            yield letter, json.loads(text)
            number += letter != "H"
        else:
            if decoder.wait() == 0:
                return
        message = f"expected a row of at most {mebibytes(MAX_ROW)} when decoded, found more."
        raise ImportFileError(path, number + 1, None, message)
    finally:
        decoder.kill()
        decoder.wait()
        if decoder.stdout is not None:
            decoder.stdout.close()
