"""Labels as CSV and JSONL, one row a label, streamed so that memory does not grow with the study.

`docs/exports.md` says what each column means. Annotators are pseudonyms unless the caller asks otherwise, and the
caller is who checks that it may.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from annotation.models import ItemResponse, Label

CHUNK = 1_000
COLUMNS = (
    "label_id",
    "study",
    "dataset",
    "item",
    "instruction",
    "category",
    "subset",
    "kind",
    "annotator",
    "is_simulated",
    "value",
    "choice",
    "chosen_system",
    "systems",
    "shown_order",
    "guidelines_version",
    "active_ms",
    "wall_ms",
    "probability",
    "created_at",
    "superseded",
    "is_surplus",
)
IDENTITY_COLUMNS = ("annotator_source", "annotator_external_id", "source")
FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}

_READ = (
    "pk",
    "item_id",
    "study__slug",
    "item__dataset__name",
    "item__external_id",
    "item__instruction__external_id",
    "item__instruction__category",
    "item__instruction__subset",
    "kind",
    "annotator__public_id",
    "annotator__is_simulated",
    "annotator__source",
    "annotator__external_id",
    "value",
    "choice",
    "shown_order",
    "guidelines_version",
    "active_ms",
    "wall_ms",
    "probability",
    "created_at",
    "superseded_by",
    "is_surplus",
    "source",
)

# What makes a spreadsheet read a cell as a formula; the wide forms are read as their ASCII ones by some.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def columns_of(*, identify: bool) -> tuple[str, ...]:
    return COLUMNS + IDENTITY_COLUMNS if identify else COLUMNS


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


class _Line:
    """What csv.writer writes to: hands the line back instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> Iterator[str]:
    """A header and a line a row, RFC 4180 (lines end with CR LF)."""
    names = list(columns)
    writer = csv.writer(_Line())
    yield writer.writerow(names)
    for row in rows:
        yield writer.writerow([csv_cell(row[name]) for name in names])


def jsonl_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A JSON object a line; text is not escaped here, since JSON is not run by anybody."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def export_lines(labels: QuerySet[Label], *, format: str, history: bool, identify: bool) -> Iterator[str]:
    """The lines of an export in "csv" or "jsonl"; `ValueError` for another format."""
    if format not in FORMATS:
        raise ValueError(f"format: expected {' or '.join(FORMATS)}, got {format!r}")
    rows = label_rows(labels, history=history, identify=identify)
    return csv_lines(rows, columns_of(identify=identify)) if format == "csv" else jsonl_lines(rows)


def label_rows(
    labels: QuerySet[Label], *, history: bool = False, identify: bool = False
) -> Iterator[dict[str, Any]]:
    """One dictionary a label with the columns of `columns_of`, in the order of the items' source.

    Parameters
    ----------
    labels : queryset
        Which labels; the caller has filtered it by what may be seen.
    history : bool
        Also labels that were superseded, and surplus ones; else only those that count.
    identify : bool
        Also where an annotator comes from and their identifier there.

    Notes
    -----
    One server-side cursor, and one further query for every 1,000 labels, for the names of the systems.
    """
    chosen = labels if history else labels.filter(superseded_by__isnull=True, is_surplus=False)
    rows = (
        chosen.order_by("item__dataset_id", "item__position", "item_id", "pk")
        .values(*_READ)
        .iterator(chunk_size=CHUNK)
    )
    while chunk := list(islice(rows, CHUNK)):
        systems = _systems({row["item_id"] for row in chunk})
        for row in chunk:
            yield _row(row, systems.get(row["item_id"], []), identify=identify)


def _systems(item_ids: set[int]) -> dict[int, list[str]]:
    """Item id to the systems of its responses in canonical order."""
    found: dict[int, list[str]] = {}
    links = ItemResponse.objects.filter(item__in=item_ids).order_by("item_id", "position")
    for item_id, system in links.values_list("item_id", "response__system"):
        found.setdefault(item_id, []).append(system)
    return found


def _row(read: Mapping[str, Any], systems: list[str], *, identify: bool) -> dict[str, Any]:
    choice = read["choice"]
    row: dict[str, Any] = {
        "label_id": read["pk"],
        "study": read["study__slug"],
        "dataset": read["item__dataset__name"],
        "item": read["item__external_id"],
        "instruction": read["item__instruction__external_id"],
        "category": read["item__instruction__category"],
        "subset": read["item__instruction__subset"],
        "kind": read["kind"],
        "annotator": str(read["annotator__public_id"]),
        "is_simulated": read["annotator__is_simulated"],
        "value": read["value"],
        "choice": choice,
        "chosen_system": systems[choice - 1] if choice and len(systems) >= choice else None,
        "systems": systems,
        "shown_order": read["shown_order"],
        "guidelines_version": read["guidelines_version"],
        "active_ms": read["active_ms"],
        "wall_ms": read["wall_ms"],
        "probability": read["probability"],
        "created_at": read["created_at"].astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "superseded": read["superseded_by"] is not None,
        "is_surplus": read["is_surplus"],
    }
    if identify:
        row |= {
            "annotator_source": read["annotator__source"],
            "annotator_external_id": read["annotator__external_id"],
            "source": read["source"],
        }
    return row
