"""Decodes Parquet, or a stream of Arrow, in a process of its own.

``python parquet_child.py FILE MEBIBYTES SECONDS AFTER``: at most so much memory, and so many seconds of a processor (0:
as many as it takes); the rows after the first AFTER.

A few kilobytes of Parquet may say, in many ways (dictionaries, runs, prefixes, compressed pages), that they are
gigabytes; what they claim of their own size need not be so. So the decoder may fail here, where nothing else does.

Writes one line of JSON after a letter: H the names of the columns, R a row, B a column, the type in it that JSON does
not know, and the row as text, E why it cannot be read. `annotation.importers.parquet` reads this. Imports nothing of
the project.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import date, time
from pathlib import Path
from typing import Any

BATCH = 16
MOST_SHOWN = 1000
"""Characters of each cell of a row that JSON cannot hold, as its sender is shown it."""


def bound(mebibytes: int, seconds: int) -> None:
    """Allow so much above what the libraries have taken already; where the system has no such limit, none."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + mebibytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    except (ImportError, OSError, ValueError):
        return


def say(letter: str, value: Any) -> None:
    sys.stdout.write(f"{letter}{as_json(value)}\n")


def as_json(value: Any) -> str:
    """JSON, in which dates and times are ISO 8601 text."""
    return json.dumps(value, ensure_ascii=False, default=_moment)


def _moment(value: object) -> str:
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    raise TypeError


def say_row(row: dict[str, Any]) -> None:
    try:
        say("R", row)
    except TypeError:
        for name, cell in row.items():
            try:
                as_json(cell)
            except TypeError:
                shown = {key: str(part)[:MOST_SHOWN] for key, part in row.items()}
                say("B", [name, type(cell).__name__, shown])
                return


def say_batches(batches: Iterable[Any]) -> None:
    for batch in batches:
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            say_row(row)
        sys.stdout.flush()


def after(batches: Iterable[Any], n: int) -> Iterator[Any]:
    """The batches without their first `n` rows."""
    for batch in batches:
        if batch.num_rows > n:
            yield batch.slice(n)
        n = max(n - batch.num_rows, 0)


def main(path: str, mebibytes: int, seconds: int, n_after: int) -> None:
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet as parquet

    sys.stdout.reconfigure(encoding="utf-8", errors="surrogatepass")  # type: ignore[union-attr]
    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    bound(mebibytes, seconds)
    try:
        if path.lower().endswith(".arrow"):
            # Read, not mapped: what is mapped counts as memory.
            with pyarrow.OSFile(path) as file, pyarrow.ipc.open_stream(file) as stream:
                say("H", list(stream.schema.names))
                for whole in after(stream, n_after):
                    say_batches(whole.slice(start, BATCH) for start in range(0, whole.num_rows, BATCH))
            return
        with parquet.ParquetFile(path, buffer_size=2**20) as file:
            say("H", list(file.schema_arrow.names))
            groups = list(range(file.num_row_groups))
            while groups and (rows := file.metadata.row_group(groups[0]).num_rows) <= n_after:
                n_after -= rows
                del groups[0]
            batches = file.iter_batches(batch_size=BATCH, row_groups=groups, use_threads=False)
            say_batches(after(batches, n_after) if groups else ())
    except MemoryError:
        raise
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, KeyError, RecursionError) as error:
        say("E", str(error).splitlines()[0] if str(error) else type(error).__name__)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
