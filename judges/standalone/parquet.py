"""Verdicts as Parquet: the lines of a finished file, in groups of rows, so that memory does not grow with it."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from judges.backends.errors import BackendUnavailableError

ROWS = 20_000
"""Verdicts in one group."""
_TEXTS = (
    "item", "kind", "status", "value", "reason", "raw_text", "thought", "judge", "fingerprint", "strategy", "model",
    "answered_by", "category", "subset", "content",
)  # fmt: skip
_NUMBERS = (
    "order", "sample", "choice", "requests", "prompt_tokens", "completion_tokens", "reasoning_tokens",
)  # fmt: skip
_FRACTIONS = ("probability", "cost", "latency_ms")


def parquet_of_lines(lines: Path, out: Path) -> None:
    """Write a file of verdicts as Parquet; it is at its place once it is whole.

    Raises
    ------
    BackendUnavailableError
        pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet as pq
    except ImportError:
        raise BackendUnavailableError(
            f"Parquet needs the package 'pyarrow', which is not installed; the verdicts are in {lines}."
        ) from None
    schema = pa.schema(
        [
            *((name, pa.string()) for name in _TEXTS),
            *((name, pa.int64()) for name in _NUMBERS),
            *((name, pa.float64()) for name in _FRACTIONS),
            ("shown_order", pa.list_(pa.int64())),
        ]
    )
    part = out.with_name(f"{out.name}.part")
    try:
        with lines.open("rb") as read, pq.ParquetWriter(part, schema) as write:
            rows = (json.loads(line) for line in read)
            while group := list(islice(rows, ROWS)):
                write.write_table(pa.Table.from_pylist(list(_cells(group)), schema=schema))
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _cells(group: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in group:
        value = row.get("value")
        yield row | {"value": None if value is None else json.dumps(value, sort_keys=True)}
