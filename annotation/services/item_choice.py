"""Chosen samples and priorities: which items a study offers, which come first, how many labels each needs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Min

from annotation.domain.errors import StudyRuleError
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.rows import Row
from annotation.importers.tables import ColumnTypes, table_rows
from annotation.models import (
    Enrollment,
    Item,
    ItemRole,
    QualificationQuestion,
    Study,
    StudyItem,
    StudyState,
)
from annotation.selectors.datasets import version_condition
from annotation.services.sampling import order_for
from annotation.services.studies import study_items_make
from web.batches import batched
from web.csv_text import csv_cell_text

CHUNK = 5_000
MAX_OVERLAP = 1_000
MAX_PRIORITY = 10**9
COLUMNS_KNOWN = ("item", "priority", "probability", "overlap")
NUMBERS = COLUMNS_KNOWN[1:]
COLUMNS = ColumnTypes(
    known=lambda name: name in COLUMNS_KNOWN,
    names=COLUMNS_KNOWN,
    required=("item",),
    value=lambda name: name in NUMBERS,
)


@dataclass(frozen=True, slots=True)
class ChosenItem:
    """An item by its identifier in the dataset. None: no priority; what it has, or the study's own rule.

    `row` is where it was written, for refusals.
    """

    item: str
    priority: float | None = None
    probability: float | None = None
    overlap: int | None = None
    row: Row | None = None

    def refuse(self, field: str, message: str) -> None:
        if self.row is not None:
            self.row.fail(field, message)
        raise StudyRuleError(field, f"item {self.item!r}: {message}")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a choice did: items added, and items that were there and are prioritised or wanted more often."""

    added: int
    changed: int


def chosen_items_read(path: Path) -> list[ChosenItem]:
    """Read a `.csv`, `.jsonl` or `.parquet` file with the columns item, priority, probability, overlap.

    Raises
    ------
    ImportFileError
        With everything that is wrong, an item named twice included, up to `MAX_ERRORS`.
    """
    chosen: dict[str, ChosenItem] = {}

    def add(row: Row) -> None:
        one = ChosenItem(
            item=row.identifier("item"),
            priority=_number(row, "priority", -MAX_PRIORITY, MAX_PRIORITY),
            probability=_probability(row),
            overlap=_overlap(row),
            row=row,
        )
        if one.item in chosen:
            row.fail("item", f"{quoted(one.item)} is named a second time.")
        chosen[one.item] = one

    faults = Faults()
    faults.each(table_rows(path, COLUMNS, faults), add)
    faults.check()
    if not chosen:
        raise ImportFileError(path, None, None, "expected at least one item, found none.")
    return list(chosen.values())


def _number(row: Row, field: str, least: float, most: float) -> float | None:
    value = row.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        row.fail(field, f"expected a number from {least:g} to {most:g}, found {quoted(value)}.")
    return float(value)


def _probability(row: Row) -> float | None:
    value = _number(row, "probability", 0, 1)
    if value == 0:
        row.fail("probability", "expected more than 0: an item that was sampled had a positive probability.")
    return value


def _overlap(row: Row) -> int | None:
    value = _number(row, "overlap", 1, MAX_OVERLAP)
    if value is not None and not value.is_integer():
        row.fail("overlap", f"expected a whole number, found {quoted(value)}.")
    return None if value is None else int(value)


@transaction.atomic
def items_choose(*, study: Study, rows: Sequence[ChosenItem]) -> Choice:
    """Let a draft offer exactly these items (none: what its rules say again); of an open study, put those with a
    priority before all others, the highest first, change how many labels they need, and add those that it does not
    have. All of it or nothing.

    A priority decides the order alone. A probability is the chance with which the item was picked, and is kept on
    its labels, so that estimates can weigh by its inverse; it cannot change once an item has labels.

    Raises
    ------
    ImportFileError
        Of rows that were read from a file; it names file, row and field.
    StudyRuleError
        Otherwise.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if locked.state == StudyState.CLOSED:
        raise StudyRuleError("state", "nothing can be added to a closed study")
    items = _items_find(locked, rows)
    if locked.state == StudyState.DRAFT:
        return _draft_set(locked, rows, items)
    return _open_change(locked, rows, items)


def _items_find(study: Study, rows: Sequence[ChosenItem]) -> dict[str, tuple[int, str]]:
    """External id to (item, category) of what is named; refuses what the study cannot offer."""
    found: dict[str, tuple[int, str]] = {}
    for chunk in batched(rows, CHUNK):
        named = Item.objects.filter(
            version_condition(study),
            dataset=study.dataset_id,
            kind=study.kind,
            # A name that begins as a formula has been escaped by whatever wrote the file.
            external_id__in={name for one in chunk for name in (one.item, csv_cell_text(one.item))},
        )
        found |= {
            name: (pk, category)
            for name, pk, category in named.values_list("external_id", "pk", "instruction__category")
        }
        for one in chunk:
            if one.item not in found and (known := found.get(csv_cell_text(one.item))) is not None:
                found[one.item] = known
    asked = set(
        QualificationQuestion.objects.filter(study=study.test_study).values_list("item_id", flat=True)
    )
    asked |= set(QualificationQuestion.objects.filter(study=study).values_list("item_id", flat=True))
    checks = StudyItem.objects.filter(study=study, role=ItemRole.CHECK)
    asked |= set(checks.values_list("item_id", flat=True))
    seen: set[int] = set()
    faults = Faults()

    def check(one: ChosenItem) -> None:
        if one.item not in found:
            one.refuse(
                "item", f"the dataset has no {study.get_kind_display().lower()} item {quoted(one.item)}."
            )
        if found[one.item][0] in asked:
            one.refuse(
                "item", f"{quoted(one.item)} is part of the test, of the training or of the hidden checks."
            )
        pk, _ = found[one.item]
        if pk in seen:
            one.refuse("item", f"{quoted(one.item)} is named a second time.")
        seen.add(pk)

    faults.each(rows, check)
    faults.check()
    return found


def _by_priority(rows: Sequence[ChosenItem]) -> list[ChosenItem]:
    """Those with a priority, the highest first; equals in the order of the file."""
    return sorted(
        (one for one in rows if one.priority is not None), key=lambda one: one.priority or 0, reverse=True
    )


def _in_order(
    study: Study, rows: Sequence[ChosenItem], items: dict[str, tuple[int, str]]
) -> list[ChosenItem]:
    """First by priority, then the others as the study would give them out."""
    rest = {items[one.item][0]: one for one in rows if one.priority is None}
    order = order_for(study, [items[one.item] for one in rest.values()])
    return _by_priority(rows) + [rest[pk] for pk in order]


def _draft_set(study: Study, rows: Sequence[ChosenItem], items: dict[str, tuple[int, str]]) -> Choice:
    StudyItem.objects.filter(study=study).delete()
    study_items_make(
        _study_item(study, one, items, position) for position, one in enumerate(_in_order(study, rows, items))
    )
    return Choice(added=len(rows), changed=0)


def _study_item(study: Study, one: ChosenItem, items: dict[str, tuple[int, str]], position: int) -> StudyItem:
    return StudyItem(
        study=study,
        item_id=items[one.item][0],
        position=position,
        overlap=one.overlap or study.overlap,
        probability=one.probability or 1.0,
    )


def _open_change(study: Study, rows: Sequence[ChosenItem], items: dict[str, tuple[int, str]]) -> Choice:
    pks = {items[one.item][0]: one for one in rows}
    there: dict[int, dict[str, Any]] = {}
    for chunk in batched(list(pks), CHUNK):
        known = StudyItem.objects.filter(study=study, item__in=chunk)
        there |= {
            row["item_id"]: dict(row) for row in known.values("pk", "item_id", "n_accepted", "probability")
        }
    old = [one for pk, one in pks.items() if pk in there]
    new = [one for pk, one in pks.items() if pk not in there]
    places = {one.item: there[items[one.item][0]] for one in old}
    _probabilities_change(old, places)
    _overlaps_change(old, places)
    first = _by_priority(rows)
    ends = StudyItem.objects.filter(study=study, role=ItemRole.WORK).aggregate(
        low=Min("position"), high=Max("position")
    )
    low = (ends["low"] or 0) - len(first)
    position = {one.item: low + k for k, one in enumerate(first)}
    _positions_change([one for one in old if one.item in position], places, position)
    later = [one for one in _in_order(study, new, items) if one.item not in position]
    position |= {one.item: (ends["high"] or 0) + 1 + k for k, one in enumerate(later)}
    study_items_make(_study_item(study, one, items, position[one.item]) for one in new)
    # Last, since locks are taken in the order study item, enrollment: everybody's search starts from the front.
    Enrollment.objects.filter(study=study, cursor__isnull=False).update(cursor=None)
    return Choice(added=len(new), changed=len(old))


def _probabilities_change(old: Sequence[ChosenItem], places: dict[str, dict[str, Any]]) -> None:
    by_value: dict[float, list[int]] = defaultdict(list)
    for one in old:
        place = places[one.item]
        if one.probability is None or one.probability == place["probability"]:
            continue
        if place["n_accepted"]:
            one.refuse("probability", f"it has labels, picked with {place['probability']:g}.")
        by_value[one.probability].append(place["pk"])
    for value, pks in by_value.items():
        for chunk in batched(sorted(pks), CHUNK):
            StudyItem.objects.filter(pk__in=chunk).update(probability=value)


def _overlaps_change(old: Sequence[ChosenItem], places: dict[str, dict[str, Any]]) -> None:
    by_value: dict[int, list[ChosenItem]] = defaultdict(list)
    for one in old:
        if one.overlap is not None:
            by_value[one.overlap].append(one)
    for value, chosen in by_value.items():
        for chunk in batched(chosen, CHUNK):
            rows = StudyItem.objects.filter(pk__in=[places[one.item]["pk"] for one in chunk])
            # Counted by the UPDATE itself, which sees what a claim has taken while it waited for the row.
            if rows.filter(n_open__lte=value - F("n_accepted")).update(overlap=value) < len(chunk):
                taken = dict(rows.values_list("pk", F("n_open") + F("n_accepted")))
                for one in chunk:
                    if (most := taken[places[one.item]["pk"]]) > value:
                        one.refuse("overlap", f"it has {most} labels or is open already.")


def _positions_change(
    chosen: Sequence[ChosenItem], places: dict[str, dict[str, Any]], position: dict[str, int]
) -> None:
    for chunk in batched(chosen, CHUNK):
        StudyItem.objects.bulk_update(
            [StudyItem(pk=places[one.item]["pk"], position=position[one.item]) for one in chunk],
            ["position"],
            batch_size=400,
        )
