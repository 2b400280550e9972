"""Verdicts as Touchstone writes them: lines of `touchstone judge`, and exports of judgments.

Both name the fingerprint of the judge. Lines have a hash of the texts that were judged, which is compared with those of
the items; exports don't, and a note says so.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from annotation.importers import ImportFileError, VerdictRecord
from annotation.importers.build import BundleBuilder
from annotation.importers.cells import MAX_STRATEGY, read_value
from annotation.importers.errors import Faults, quoted
from annotation.importers.records import Origin, Status
from annotation.importers.rows import MAX_JUDGE, Row, counted_rows, whole
from annotation.importers.tables import ColumnTypes, table_open, table_rows
from annotation.kinds import ValueRules, kind_of
from annotation.kinds.parts import PartsKind
from annotation.models import Dataset
from annotation.selectors.datasets import item_value_rules
from judges.backends.answerers import answerers_of_words
from judges.models import Judge, ParseStatus
from judges.selectors.items import item_views
from judges.selectors.judges import reference_systems_of
from judges.strategies.contents import item_content_hash
from judges.strategies.types import ItemView
from web.csv_text import csv_cell_text

MOST_SAMPLES = 2**15 - 1
_COUNTS = {
    "requests": 2**15 - 1,
    "prompt_tokens": 2**31 - 1,
    "completion_tokens": 2**31 - 1,
    "reasoning_tokens": 2**31 - 1,
}
"""Columns of a judgment that count something, and their largest number."""
_AMOUNTS = ("cost", "latency_ms")
_MARKS = ("fingerprint", "status")
_REQUIRED = ("item", "order", "sample", "judge", *_MARKS)
LINE_FIELDS = (
    *_REQUIRED,
    *(
        "content",
        "kind",
        "choice",
        "probability",
        "value",
        "reason",
        "raw_text",
        "thought",
        "strategy",
        "model",
    ),
    *("answered_by", "shown_order", "category", "subset", *_COUNTS, *_AMOUNTS),
    *("dataset", "instruction", "gold", "source", "created_at"),
)
_COLUMNS = ColumnTypes(
    known=lambda name: name in LINE_FIELDS,
    names=LINE_FIELDS,
    required=_REQUIRED,
    json=lambda name: name in ("value", "shown_order", "gold"),
    value=lambda name: name in ("order", "sample", "choice", "probability", *_COUNTS, *_AMOUNTS),
    text=lambda name: name in ("raw_text", "thought"),
)
_TEXTS = ("item", "judge", "model", "strategy", "raw_text", "thought", "answered_by")
_SMALL = re.compile(r"[0-9](\.[0-9]{1,20})?e-[0-9]{1,3}\Z")
"""A small number as an export to CSV writes it."""


def has_verdict_lines(path: Path) -> bool:
    """Whether a file of verdicts is one that Touchstone wrote; what can't be read is none."""
    try:
        header = table_open(path, Faults(1), _COLUMNS.known).header
    except ImportFileError:
        return False
    return all(name in header for name in _MARKS)


def read_verdict_lines(
    path: Path,
    dataset: Dataset,
    progress: Callable[[str, int], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> tuple[VerdictRecord, ...]:
    """Read verdicts of `touchstone judge`, or exported judgments, on items of a dataset.

    Parameters
    ----------
    note : callable, optional
        Called with a sentence on rows in which a judge failed, and on texts that can't be compared.

    Raises
    ------
    ImportFileError
        Also where an item of the dataset has other texts than those that were judged.
    """
    rules = item_value_rules(dataset.pk)
    builder = BundleBuilder("touchstone")
    contents: dict[str, dict[str, tuple[str, Origin]]] = defaultdict(dict)
    n: Counter[str] = Counter()

    def add(row: Row) -> None:
        item = row.identifier("item")
        if item not in rules:
            row.fail("item", f"expected the id of an item of the dataset, found {quoted(item)}.")
        fingerprint = row.identifier("fingerprint", limit=64)
        is_export = row.get("content") is None
        if is_export:
            _kind_check(row, rules[item])
            n["not compared"] += 1
        else:
            content = row.identifier("content", limit=64)
            before, _ = contents[fingerprint].setdefault(item, (content, row.origin))
            if content != before:
                row.fail("content", f"expected {before!r} as in another row of this item, found {content!r}.")
        status = _status(row)
        if status == "failed":
            n["failed"] += 1
            if not is_export:  # the command can ask again
                n["left out"] += 1
                return
        _add(builder, row, item, fingerprint, rules[item], status)

    faults = Faults()
    rows = table_rows(path, _COLUMNS, faults)
    if path.suffix.lower() == ".csv":
        rows = map(_unescaped, rows)
    faults.each(counted_rows(rows, progress), add)
    faults.check()
    _contents_check(dataset, {rule.kind for rule in rules.values()}, contents)
    if not builder.verdicts:
        failed = f" The judge failed in all {n['failed']:,} rows: {_AGAIN}" if n["failed"] else ""
        raise ImportFileError(path, None, None, f"expected at least one verdict, found none.{failed}")
    if note is not None:
        for sentence in _notes(n):
            note(sentence)
    return builder.verdicts


_AGAIN = "give `touchstone judge` the option --retry-failed, and import its file again."


def _notes(n: Counter[str]) -> Iterator[str]:
    if left_out := n["left out"]:
        yield f"{_rows(left_out)} left out in which the judge failed: {_AGAIN}"
    if kept := n["failed"] - left_out:
        yield f"{_rows(kept)} in which the judge failed, imported as failed judgments."
    if not_compared := n["not compared"]:
        yield (
            f"{_rows(not_compared)} without a hash of the texts that were judged: they weren't compared with those "
            "of the items here."
        )


def _rows(n: int) -> str:
    return f"{n:,} {'row' if n == 1 else 'rows'}"


def _unescaped(row: Row) -> Row:
    """Without the apostrophe that keeps a spreadsheet from running a text."""
    texts = {name: csv_cell_text(cell) for name in _TEXTS if isinstance(cell := row.get(name), str)}
    return replace(row, data={**row.data, **texts})


def _kind_check(row: Row, rules: ValueRules) -> None:
    kind = row.get("kind")
    if kind is not None and kind != rules.kind:
        row.fail("kind", f"expected {rules.kind!r} as of the item here, found {quoted(kind)}.")


def _status(row: Row) -> Status:
    status = row.require("status")
    if status not in ParseStatus.values:
        row.fail("status", f"expected parsed, unparsed or failed, found {quoted(status)}.")
    return cast("Status", status)


def _add(
    builder: BundleBuilder, row: Row, item: str, fingerprint: str, rules: ValueRules, status: Status
) -> None:
    model = row.text("model")[:MAX_JUDGE]
    builder.verdict(
        row,
        item=item,
        judge=row.identifier("judge", limit=MAX_JUDGE),
        order=row.number_in("order", (0, 1)),
        status=status,
        value=_value(row, rules) if status == "parsed" else row.mapping("value") or None,
        field="item",
        raw=row.text("raw_text"),
        model=model,
        strategy=row.text("strategy", limit=MAX_STRATEGY) or "imported",
        sample=_count(row, "sample", MOST_SAMPLES) or 0,
        fingerprint=fingerprint,
        details=_details(row, model, is_parsed=status == "parsed"),
    )


def _value(row: Row, rules: ValueRules) -> dict[str, Any]:
    """The verdict in the form of a label, with what else the strategy found out beside it."""
    kind = kind_of(rules.kind)
    name = kind.field if isinstance(kind, PartsKind) else kind.column
    row.require("value")
    given = row.mapping("value")
    if given.get(name) is None:
        row.fail("value", f"expected an object with {name!r}, found {quoted(given)}.")
    said = read_value(row, "value", {name: given[name]}, rules)
    if row.get("choice") is not None and row.get("choice") != said.get("choice"):
        row.fail("choice", f"expected {said.get('choice')} as in value, found {quoted(row.get('choice'))}.")
    return {**given, **said}


def _details(row: Row, model: str, *, is_parsed: bool) -> Mapping[str, Any]:
    counts = {name: _count(row, name, most) for name, most in _COUNTS.items()}
    return {
        **counts,
        "requests": counts["requests"] or 0,
        **{name: _amount(row, name) or 0.0 for name in _AMOUNTS},
        "probability": _amount(row, "probability", most=1.0) if is_parsed else None,
        "thought": row.text("thought"),
        "answered_by": answerers_of_words(row.text("answered_by"), "" if "," in model else model),
    }


def _count(row: Row, field: str, most: int) -> int | None:
    value = row.get(field)
    if value is None:
        return None
    number = whole(value)
    if number is None or not 0 <= number <= most:
        row.fail(field, f"expected a whole number from 0 to {most:,}, found {quoted(value)}.")
    return number


def _amount(row: Row, field: str, most: float = 1e12) -> float | None:
    value = row.get(field)
    if value is None:
        return None
    if isinstance(value, str) and _SMALL.match(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        row.fail(field, f"expected a number from 0 to {most:g}, found {quoted(value)}.")
    return float(value)


def _contents_check(
    dataset: Dataset, kinds: Collection[str], contents: Mapping[str, Mapping[str, tuple[str, Origin]]]
) -> None:
    """Refuse verdicts on texts that are not those of the items with these ids."""
    judges = {judge.fingerprint: judge for judge in Judge.objects.filter(fingerprint__in=list(contents))}
    by_systems: dict[frozenset[str], list[str]] = defaultdict(list)
    for fingerprint in contents:
        known = [judges[fingerprint]] if fingerprint in judges else []
        by_systems[frozenset(reference_systems_of(known))].append(fingerprint)
    faults = Faults()
    for systems, fingerprints in by_systems.items():
        for kind in sorted(kinds):
            for view in item_views(dataset_id=dataset.pk, kind=kind, reference_systems=systems):
                for fingerprint in fingerprints:
                    if told := contents[fingerprint].get(view.external_id):
                        with faults:
                            _content_check(view, *told)
    faults.check()


def _content_check(view: ItemView, content: str, origin: Origin) -> None:
    if content != (here := item_content_hash(view)):
        raise ImportFileError(
            origin.file,
            origin.row,
            "content",
            f"expected {here!r}, found {content!r}: the texts of item {quoted(view.external_id)} are others here than "
            "those that were judged. Export the items again and judge these. If the judge reads a system's responses "
            "as references, import its judge.json first.",
        )
