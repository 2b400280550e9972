"""A generic table of verdicts for a dataset that is stored already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.cells import MAX_STRATEGY, read_scores, readable
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.records import VerdictRecord
from annotation.importers.rows import MAX_JUDGE, Row
from annotation.importers.tables import ColumnTypes, table_rows
from annotation.importers.values import read_value
from annotation.kinds import ValueRules

GENERIC_FIELDS = ("item", "judge", "order", "verdict", "raw", "model", "strategy", "score_1", "score_2")
GENERIC_COLUMNS = ColumnTypes(
    known=lambda name: name in GENERIC_FIELDS,
    names=GENERIC_FIELDS,
    required=("item", "judge", "verdict"),
    value=lambda name: name in ("order", "verdict", "score_1", "score_2"),
)
Progress = Callable[[str, int], None]


def read_verdicts(
    path: str | Path, rules_by_item: Mapping[str, ValueRules], progress: Progress | None = None
) -> tuple[VerdictRecord, ...]:
    """Read a generic table of verdicts (JSONL, CSV or Parquet), one row a verdict.

    Parameters
    ----------
    rules_by_item : mapping
        The dataset's items by external id, with what decides which values are right.
    """
    file = Path(path)
    builder = BundleBuilder("generic")

    def add(row: Row) -> None:
        item = row.identifier("item")
        if item not in rules_by_item:
            row.fail("item", f"expected the id of an item of the dataset, found {quoted(item)}.")
        if "verdict" not in row.data:
            row.fail("verdict", "expected a verdict, or null where the judge's answer could not be read.")
        raw_value = readable(row.get("verdict"))
        value = None if raw_value is None else read_value(row, "verdict", raw_value, rules_by_item[item])
        pair = [row.get("score_1"), row.get("score_2")]
        scores = read_scores(row, None if pair == [None, None] else pair, rules_by_item[item].n_responses)
        builder.verdict(
            row,
            item=item,
            judge=row.identifier("judge", limit=MAX_JUDGE),
            order=0 if row.get("order") is None else row.number_in("order", (0, 1)),
            value=value if scores is None else (value or {}) | {"scores": scores},
            status="unparsed" if value is None else "parsed",
            field="verdict",
            raw=row.text("raw"),
            model=row.text("model", limit=MAX_JUDGE),
            strategy=row.text("strategy", limit=MAX_STRATEGY) or "imported",
        )

    faults = Faults()
    with faults:
        for number, row in enumerate(table_rows(file, GENERIC_COLUMNS, faults), start=1):
            with faults:
                add(row)
            if progress is not None and number % 10_000 == 0:
                progress("rows", number)
    faults.check()
    if not builder.verdicts:
        raise ImportFileError(file, None, None, "there is nothing in it; expected at least one verdict.")
    return builder.verdicts
