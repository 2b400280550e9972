"""Agreement so far: the labels of a study as arrays, and what `metaeval.stats` says of them.

The figures are computed by `agreement_compute`, a function of arrays alone. Labels are append-only, so their number
and the latest of them say whether anything is new: figures are kept in the cache until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max
from numpy.typing import NDArray

from annotation.models import Kind, Label, Study
from metaeval.stats import (
    Estimate,
    Resamples,
    best_reachable_agreement,
    krippendorff_alpha,
    leave_one_out_agreement,
    preference_share,
    tie_rate,
    wilson_interval,
)

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

# Part of the cache key: goes up when what is computed changes.
VERSION = 1
CACHE_SECONDS = 24 * 60 * 60
# Below this many items with two labels, the page says that it is early.
FEW_ITEMS = 20
NO_PAIR = "no item has two labels"
ONE_VALUE = "all labels are the same"
NO_LABELS = "no labels"
NO_CHOICE = "no preference with a known order"


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Pairwise labels, one entry each, in equal-length arrays.

    Attributes
    ----------
    item, instruction, annotator : ndarray of int64
        Primary keys.
    choice : ndarray of float64
        1, 2, or 0 for a tie; canonical order.
    shown_first : ndarray of float64
        The response (1 or 2) that was shown first; NaN where unknown.
    seconds : ndarray of float64
        Active time; NaN where unknown.
    category : ndarray of str
    """

    item: Integers
    instruction: Integers
    annotator: Integers
    choice: Floats
    shown_first: Floats
    seconds: Floats
    category: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.item)


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """A category's figures; `items` with a label, `pairs` of them with two or more."""

    name: str
    items: int
    labels: int
    people: Estimate
    best: Estimate
    ties: Estimate


@dataclass(frozen=True, slots=True)
class AnnotatorRow:
    """One annotator: agreement with the mode of the others' labels, on items that others labelled too."""

    short_id: str
    is_simulated: bool
    labels: int
    seconds: float | None
    agreement: Estimate


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the labels of a study say so far."""

    labels: int
    items: int
    items_with_two: int
    annotators: int
    simulated: int
    people: Estimate
    best: Estimate
    alpha: Estimate
    ties: Estimate
    shown_first: Estimate
    seconds: float | None
    categories: tuple[CategoryRow, ...]
    by_annotator: tuple[AnnotatorRow, ...]

    @property
    def is_early(self) -> bool:
        return self.items_with_two < FEW_ITEMS


@dataclass(frozen=True, slots=True)
class LabelStamp:
    """Identifies the labels of a study at a moment."""

    count: int
    latest: int

    def __str__(self) -> str:
        return f"{self.count}-{self.latest}"


def label_stamp(study: Study) -> LabelStamp:
    row = Label.objects.filter(study=study).aggregate(count=Count("pk"), latest=Max("pk"))
    return LabelStamp(row["count"], row["latest"] or 0)


def agreement_so_far(study: Study, stamp: LabelStamp | None = None) -> Agreement | None:
    """Agreement of the people of a study; None where the kind of its items is not compared in pairs."""
    if study.kind != Kind.PAIRWISE:
        return None
    stamp = stamp or label_stamp(study)
    key = f"agreement:{VERSION}:{study.pk}:{study.created_at.timestamp()}:{stamp}"
    known: Agreement | None = cache.get(key)
    if known is None:
        columns, people = label_columns(study)
        known = agreement_compute(columns, people)
        cache.set(key, known, CACHE_SECONDS)
    return known


def label_columns(study: Study) -> tuple[LabelColumns, dict[int, tuple[str, bool]]]:
    """The labels that count, and (short id, simulated?) of each annotator's primary key. One query."""
    rows = (
        Label.objects.current()
        .filter(study=study, kind=Kind.PAIRWISE)
        .order_by("item__position", "item_id", "pk")
        .values_list(
            "item_id",
            "item__instruction_id",
            "annotator_id",
            "choice",
            "shown_order",
            "active_ms",
            "item__instruction__category",
            "annotator__public_id",
            "annotator__is_simulated",
        )
    )
    people: dict[int, tuple[str, bool]] = {}
    table: list[tuple[Any, ...]] = []
    row: tuple[Any, ...]
    for row in rows.iterator(chunk_size=5_000):
        *values, public_id, is_simulated = row
        people[row[2]] = (str(public_id)[:8], is_simulated)
        table.append(tuple(values))
    columns = list(zip(*table, strict=True)) if table else [()] * 7
    item, instruction, annotator, choice, orders, active, category = columns
    return LabelColumns(
        item=np.array(item, dtype=np.int64),
        instruction=np.array(instruction, dtype=np.int64),
        annotator=np.array(annotator, dtype=np.int64),
        choice=np.array(choice, dtype=np.float64),
        shown_first=np.array([order[0] + 1 if order else np.nan for order in orders], dtype=np.float64),
        seconds=np.array([np.nan if ms is None else ms / 1000 for ms in active], dtype=np.float64),
        category=np.array(category, dtype=np.str_),
    ), people


def agreement_compute(columns: LabelColumns, people: dict[int, tuple[str, bool]]) -> Agreement:
    """The figures of these labels; all intervals resample instructions, and all on the same resamples."""
    items, first, row = np.unique(columns.item, return_index=True, return_inverse=True)
    slots = _slots(row, columns.choice, len(items))
    resamples = Resamples(columns.instruction[first])
    as_shown = np.where(
        (columns.choice == 0) | np.isnan(columns.shown_first),
        columns.shown_first * 0,  # a tie stays a tie, unknown stays unknown
        np.where(columns.choice == columns.shown_first, 1.0, 2.0),
    )
    per_item = np.bincount(row, minlength=len(items))
    return Agreement(
        labels=len(columns),
        items=len(items),
        items_with_two=int((per_item >= 2).sum()),
        annotators=len(people),
        simulated=sum(is_simulated for _, is_simulated in people.values()),
        people=_leave_one_out(slots, resamples),
        best=_best(slots, resamples),
        alpha=_alpha(slots, resamples),
        ties=_ties(slots, resamples),
        shown_first=_prefers_first(_slots(row, as_shown, len(items)), resamples),
        seconds=_median(columns.seconds),
        categories=_categories(columns.category[first], per_item, slots, resamples),
        by_annotator=_annotators(columns, row, slots, people),
    )


def _slots(row: Integers, values: Floats, n_items: int) -> Floats:
    """Values as (n_items, most values of an item), NaN where an item has fewer. Rows come sorted by item."""
    counts = np.bincount(row, minlength=n_items)
    order = np.argsort(row, kind="stable")
    starts = np.cumsum(counts) - counts
    slots = np.full((n_items, int(counts.max(initial=0))), np.nan)
    ordered = row[order]
    slots[ordered, np.arange(len(row)) - starts[ordered]] = values[order]
    return slots


def _undefined(reason: str) -> Estimate:
    return Estimate(np.nan, np.nan, np.nan, n=0, reason=reason)


def _paired(slots: Floats) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (~np.isnan(slots)).sum(axis=1) >= 2
    return found


def _leave_one_out(slots: Floats, resamples: Resamples, where: NDArray[np.bool_] | None = None) -> Estimate:
    chosen = _paired(slots) if where is None else _paired(slots) & where
    if not chosen.any():
        return _undefined(NO_PAIR)
    return leave_one_out_agreement(slots, resamples=resamples, where=where)


def _best(slots: Floats, resamples: Resamples, where: NDArray[np.bool_] | None = None) -> Estimate:
    chosen = _paired(slots) if where is None else _paired(slots) & where
    if not chosen.any():
        return _undefined(NO_PAIR)
    return best_reachable_agreement(slots, resamples=resamples, where=where)


def _alpha(slots: Floats, resamples: Resamples) -> Estimate:
    where = _paired(slots)
    paired = slots[where]
    if not len(paired):
        return _undefined(NO_PAIR)
    if np.nanmin(paired) == np.nanmax(paired):
        return _undefined(ONE_VALUE)
    if resamples.codes is not None and len(np.unique(resamples.codes[where])) == 1:
        return krippendorff_alpha(slots, n_resamples=0)  # one instruction says nothing of others: no interval
    return krippendorff_alpha(slots, resamples=resamples)


def _ties(slots: Floats, resamples: Resamples, where: NDArray[np.bool_] | None = None) -> Estimate:
    given = ~np.isnan(slots).all(axis=1) if where is None else where
    if not given.any():
        return _undefined(NO_LABELS)
    return tie_rate(slots, resamples=resamples, where=where)


def _prefers_first(slots: Floats, resamples: Resamples) -> Estimate:
    """Share of preferences for the response that was shown first; ties prefer neither and are left out."""
    if not (slots > 0).any():
        return _undefined(NO_CHOICE)
    return preference_share(slots, response=1, ties="omit", resamples=resamples)


def _median(seconds: Floats) -> float | None:
    known = seconds[~np.isnan(seconds)]
    return float(np.median(known)) if len(known) else None


def _categories(
    category: NDArray[np.str_], per_item: Integers, slots: Floats, resamples: Resamples
) -> tuple[CategoryRow, ...]:
    rows = []
    for name in np.unique(category):
        where = category == name
        rows.append(
            CategoryRow(
                name=str(name),
                items=int(where.sum()),
                labels=int(per_item[where].sum()),
                people=_leave_one_out(slots, resamples, where),
                best=_best(slots, resamples, where),
                ties=_ties(slots, resamples, where),
            )
        )
    return tuple(rows)


def matches_with_others(row: Integers, choice: Floats, slots: Floats) -> Floats:
    """For each label, the chance that it is the mode of the *other* labels of its item (modes drawn at random).

    NaN where the item has no other label. The mean over an item's labels is the item's part in the
    leave-one-out agreement.

    Examples
    --------
    >>> matches_with_others(np.array([0, 0, 0]), np.array([1.0, 1.0, 2.0]), np.array([[1.0, 1.0, 2.0]])).tolist()
    [0.5, 0.5, 0.0]
    """
    counts = np.stack([(slots == value).sum(axis=1) for value in (0, 1, 2)], axis=1)[row]
    own = choice.astype(np.intp)
    index = np.arange(len(row))
    counts[index, own] -= 1
    top = counts.max(axis=1, initial=0)
    modes = (counts == top[:, np.newaxis]).sum(axis=1)
    return np.where(top > 0, (counts[index, own] == top) / np.maximum(modes, 1), np.nan)


def _annotators(
    columns: LabelColumns, row: Integers, slots: Floats, people: dict[int, tuple[str, bool]]
) -> tuple[AnnotatorRow, ...]:
    matches = matches_with_others(row, columns.choice, slots)
    keys, code = np.unique(columns.annotator, return_inverse=True)
    order = np.argsort(code, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(code, minlength=len(keys)))[:-1]) if len(keys) else []
    rows = []
    for key, mine in zip(keys.tolist(), groups, strict=True):
        short_id, is_simulated = people[key]
        rows.append(
            AnnotatorRow(
                short_id=short_id,
                is_simulated=is_simulated,
                labels=len(mine),
                seconds=_median(columns.seconds[mine]),
                agreement=_share(matches[mine]),
            )
        )
    return tuple(sorted(rows, key=lambda annotator: (-annotator.labels, annotator.short_id)))


def _share(matches: Floats) -> Estimate:
    """Mean with Wilson's interval: one person's labels are on different items, hence taken as independent."""
    known = matches[~np.isnan(matches)]
    if not len(known):
        return _undefined("no item shared with others")
    value = float(known.mean())
    low, high = wilson_interval(value, len(known))
    return Estimate(value, low, high, n=len(known), n_clusters=len(known), method="wilson")
