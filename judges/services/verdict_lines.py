"""Verdicts as `touchstone judge` writes them: read with their fingerprint, and held against the texts they are on."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from annotation.importers import ImportFileError, VerdictRecord
from annotation.importers.build import BundleBuilder
from annotation.importers.cells import MAX_STRATEGY, read_value
from annotation.importers.errors import Faults, quoted
from annotation.importers.records import Origin
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

MOST_SAMPLES = 2**15 - 1
_COUNTS = {
    "requests": 2**15 - 1,
    "prompt_tokens": 2**31 - 1,
    "completion_tokens": 2**31 - 1,
    "reasoning_tokens": 2**31 - 1,
}
"""Columns of a judgment that count something, and their largest number."""
_AMOUNTS = ("cost", "latency_ms")
_MARKS = ("fingerprint", "content")
_REQUIRED = ("item", "order", "sample", "status", "judge", *_MARKS)
LINE_FIELDS = (
    *_REQUIRED,
    *("kind", "choice", "probability", "value", "reason", "raw_text", "thought", "strategy", "model"),
    *("answered_by", "shown_order", "category", "subset", *_COUNTS, *_AMOUNTS),
)
_COLUMNS = ColumnTypes(
    known=lambda name: name in LINE_FIELDS,
    names=LINE_FIELDS,
    required=_REQUIRED,
    json=lambda name: name in ("value", "shown_order"),
    value=lambda name: name in ("order", "sample", "choice", "probability", *_COUNTS, *_AMOUNTS),
    text=lambda name: name in ("raw_text", "thought"),
)


def has_verdict_lines(path: Path) -> bool:
    """Whether a file of verdicts is one that `touchstone judge` wrote; what can't be read is none."""
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
    """Read the verdicts of a command on items of a dataset.

    Parameters
    ----------
    note : callable, optional
        Called with a sentence on what is left out: rows in which a judge failed.

    Raises
    ------
    ImportFileError
        Also where an item of the dataset has other texts than those that were judged.
    """
    rules = item_value_rules(dataset.pk)
    builder = BundleBuilder("touchstone judge")
    contents: dict[str, dict[str, tuple[str, Origin]]] = defaultdict(dict)
    n_failed = 0

    def add(row: Row) -> None:
        nonlocal n_failed
        item = row.identifier("item")
        if item not in rules:
            row.fail("item", f"expected the id of an item of the dataset, found {quoted(item)}.")
        fingerprint = row.identifier("fingerprint", limit=64)
        content = row.identifier("content", limit=64)
        before, _ = contents[fingerprint].setdefault(item, (content, row.origin))
        if content != before:
            row.fail("content", f"expected {before!r} as in another row of this item, found {content!r}.")
        if row.require("status") == ParseStatus.FAILED:
            n_failed += 1
        else:
            _add(builder, row, item, fingerprint, rules[item])

    faults = Faults()
    faults.each(counted_rows(table_rows(path, _COLUMNS, faults), progress), add)
    faults.check()
    _contents_check(dataset, {rule.kind for rule in rules.values()}, contents)
    if not builder.verdicts:
        failed = f" The judge failed in all {n_failed:,} rows: {_AGAIN}" if n_failed else ""
        raise ImportFileError(path, None, None, f"expected at least one verdict, found none.{failed}")
    if n_failed and note is not None:
        note(
            f"{n_failed:,} {'row' if n_failed == 1 else 'rows'} left out in which the judge failed: {_AGAIN}"
        )
    return builder.verdicts


_AGAIN = "give `touchstone judge` the option --retry-failed, and import its file again."


def _add(builder: BundleBuilder, row: Row, item: str, fingerprint: str, rules: ValueRules) -> None:
    status = row.get("status")
    if status not in (ParseStatus.PARSED, ParseStatus.UNPARSED):
        row.fail("status", f"expected parsed, unparsed or failed, found {quoted(status)}.")
    model = row.text("model")[:MAX_JUDGE]
    builder.verdict(
        row,
        item=item,
        judge=row.identifier("judge", limit=MAX_JUDGE),
        order=row.number_in("order", (0, 1)),
        status="parsed" if status == ParseStatus.PARSED else "unparsed",
        value=_value(row, rules) if status == ParseStatus.PARSED else row.mapping("value") or None,
        field="item",
        raw=row.text("raw_text"),
        model=model,
        strategy=row.text("strategy", limit=MAX_STRATEGY) or "imported",
        sample=_count(row, "sample", MOST_SAMPLES) or 0,
        fingerprint=fingerprint,
        details=_details(row, model, is_parsed=status == ParseStatus.PARSED),
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
