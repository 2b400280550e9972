"""Judgments as CSV and JSONL, a row a judgment, streamed so that memory does not grow with the dataset."""

from collections.abc import Iterator
from datetime import UTC
from typing import Any

from django.db.models import QuerySet

from annotation.services.exports import jsonl_lines
from judges.backends.answerers import answerers_words
from judges.models import Judgment
from web.csv_text import CONTENT_TYPE, csv_lines

CHUNK = 2_000
COLUMNS = (
    "item", "judge", "order", "choice", "value", "raw_text", "fingerprint", "kind", "sample", "status", "probability",
    "category", "subset", "gold", "requests", "cost", "latency_ms", "source", "created_at",
    "answered_by",
)  # fmt: skip
FORMATS = {"csv": CONTENT_TYPE, "jsonl": "application/jsonl; charset=utf-8"}

_READ = {
    "item": "item__external_id",
    "judge": "judge__name",
    "fingerprint": "judge__fingerprint",
    "kind": "item__kind",
    "category": "item__instruction__category",
    "subset": "item__instruction__subset",
    "gold": "item__gold",
}


def judgment_rows(judgments: QuerySet[Judgment]) -> Iterator[dict[str, Any]]:
    """A row a judgment, in their order; one query."""
    names = [_READ.get(name, name) for name in COLUMNS]
    for values in judgments.values_list(*names).iterator(chunk_size=CHUNK):
        row = dict(zip(COLUMNS, values, strict=True))
        row["answered_by"] = answerers_words(row["answered_by"])
        row["created_at"] = row["created_at"].astimezone(UTC).isoformat(timespec="seconds")
        yield row


def judgment_lines(judgments: QuerySet[Judgment], *, format: str) -> Iterator[str]:
    """The lines of an export in "csv" or "jsonl"; `ValueError` for another format."""
    if format not in FORMATS:
        raise ValueError(f"format: expected {' or '.join(FORMATS)}, got {format!r}")
    rows = judgment_rows(judgments)
    if format == "jsonl":
        return jsonl_lines(rows)
    return csv_lines(COLUMNS, ([row[name] for name in COLUMNS] for row in rows))
