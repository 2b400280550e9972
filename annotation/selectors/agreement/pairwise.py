"""Agreement of people who compare pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.models import Study
from annotation.selectors.agreement.common import (
    FEW_ITEMS,
    NO_LABELS,
    NO_PAIR,
    AnnotatorRow,
    Floats,
    Integers,
    People,
    alpha_of,
    annotator_rows,
    labels_read,
    median_known,
    paired,
    scores_of_labels,
    share_of,
)
from metaeval.stats import (
    Estimate,
    Resamples,
    best_reachable_agreement,
    leave_one_out_agreement,
    preference_share,
    tie_rate,
)
from metaeval.stats.arrays import slots_of
from metaeval.stats.estimate import no_estimate

NO_CHOICE = "no preference with a known order"


@dataclass(frozen=True, slots=True)
class PairwiseColumns:
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
        Active time; NaN where unknown, and of a changed answer.
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


def pairwise_agreement_so_far(study: Study) -> Agreement:
    return agreement_compute(*label_columns(study))


def label_columns(study: Study) -> tuple[PairwiseColumns, People]:
    """The labels that count, and (short id, simulated?) of each annotator's primary key. One query."""
    people: People = {}
    table = list(labels_read(study, people, "choice", "shown_order"))
    columns = list(zip(*table, strict=True)) if table else [()] * 7
    item, instruction, category, annotator, seconds, choice, orders = columns
    return PairwiseColumns(
        item=np.array(item, dtype=np.int64),
        instruction=np.array(instruction, dtype=np.int64),
        annotator=np.array(annotator, dtype=np.int64),
        choice=np.array(choice, dtype=np.float64),
        shown_first=np.array([order[0] + 1 if order else np.nan for order in orders], dtype=np.float64),
        seconds=np.array(seconds, dtype=np.float64),
        category=np.array(category, dtype=np.str_),
    ), people


def agreement_compute(columns: PairwiseColumns, people: People) -> Agreement:
    """The figures of these labels; all intervals resample instructions, and all on the same resamples."""
    items, first, row = np.unique(columns.item, return_index=True, return_inverse=True)
    slots = slots_of(row, columns.choice, len(items))
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
        people=_pairs(leave_one_out_agreement, slots, resamples),
        best=_pairs(best_reachable_agreement, slots, resamples),
        alpha=alpha_of(slots, resamples),
        ties=_ties(slots, resamples),
        shown_first=_prefers_first(slots_of(row, as_shown, len(items)), resamples),
        seconds=median_known(columns.seconds),
        categories=_categories(columns.category[first], per_item, slots, resamples),
        by_annotator=_annotators(columns, row, slots, people),
    )


def _pairs(
    figure: Callable[..., Estimate],
    slots: Floats,
    resamples: Resamples,
    where: NDArray[np.bool_] | None = None,
) -> Estimate:
    """A figure of items with two labels or more."""
    chosen = paired(slots) if where is None else paired(slots) & where
    return figure(slots, resamples=resamples, where=where) if chosen.any() else no_estimate(NO_PAIR)


def _ties(slots: Floats, resamples: Resamples, where: NDArray[np.bool_] | None = None) -> Estimate:
    given = ~np.isnan(slots).all(axis=1) if where is None else where
    return tie_rate(slots, resamples=resamples, where=where) if given.any() else no_estimate(NO_LABELS)


def _prefers_first(slots: Floats, resamples: Resamples) -> Estimate:
    """Share of preferences for the response that was shown first; ties prefer neither and are left out."""
    if not (slots > 0).any():
        return no_estimate(NO_CHOICE)
    return preference_share(slots, response=1, ties="omit", resamples=resamples)


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
                people=_pairs(leave_one_out_agreement, slots, resamples, where),
                best=_pairs(best_reachable_agreement, slots, resamples, where),
                ties=_ties(slots, resamples, where),
            )
        )
    return tuple(rows)


def _annotators(
    columns: PairwiseColumns, row: Integers, slots: Floats, people: People
) -> tuple[AnnotatorRow, ...]:
    matches = scores_of_labels(row, columns.choice, len(slots))
    return annotator_rows(columns.annotator, columns.seconds, people, lambda mine: share_of(matches[mine]))
