"""What the comparisons of all kinds share: groups and resamples, figures in groups, who leads."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from metaeval.reports.estimates import Breakdown, Measure, breakdowns, weighted
from metaeval.reports.groups import Layout, layout_of
from metaeval.reports.inputs import Booleans, Floats, Integers
from metaeval.reports.kinds.inputs import PEOPLE, KindInputs, KindJudge, KindOptions
from metaeval.reports.report import LeaderRanking
from metaeval.stats import Resamples, StatisticsWarning


@dataclass(frozen=True, slots=True)
class Setting:
    """What all figures of one comparison are computed in."""

    inputs: KindInputs
    options: KindOptions
    layout: Layout
    resamples: Resamples
    rules: tuple[KindJudge, ...] = ()
    """Baselines that the leading judge must beat: what is said without reading anything."""

    @classmethod
    def of(cls, inputs: KindInputs, options: KindOptions, rules: tuple[KindJudge, ...] = ()) -> Setting:
        """Lay out the items of a comparison."""
        columns = inputs.columns()
        return cls(
            inputs,
            options,
            layout_of(columns),
            Resamples(columns.cluster, options.n_resamples, options.seed),
            rules,
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.inputs.items)

    def resamples_of(self, item: Integers) -> Resamples:
        """The resamples of rows that belong to these items: questions, say. Instructions still move together."""
        clusters = np.array([self.inputs.items[row].cluster for row in item.tolist()], dtype=np.str_)
        return Resamples(clusters, self.options.n_resamples, self.options.seed)

    @property
    def drawn(self) -> Floats | None:
        """Sampling weights of figures that rest on people's labels; None where all items were certain."""
        return self.inputs.weights

    @property
    def compared(self) -> Floats | None:
        """Sampling weights of what compares judges with their target: gold answers rest on no labels."""
        return self.inputs.weights if self.options.against == PEOPLE else None

    def figures(self, measures: Iterable[Measure], weights: Floats | None = None) -> dict[str, Breakdown]:
        """Each measure overall, by category and by subset; the gap is of pairs alone."""
        measures = [weighted(one, weights) for one in measures]
        found = breakdowns(measures, self.layout, self.resamples, self.options.confidence)
        for breakdown in found.values():
            breakdown.pop("gap", None)
        return found

    def judged(self, judge: KindJudge) -> Booleans:
        """Items with a judgment of this judge."""
        return mask_of(judge.judged, self.n_items)

    def unparsed(self, judge: KindJudge) -> Measure:
        """Share of the judgments that could not be read or never came."""
        judged = self.judged(judge)
        unread = mask_of(judge.unparsed | judge.failed, self.n_items)
        return Measure(
            "unparsed_rate", unread.astype(float), judged.astype(float), reason="nothing was judged"
        )


@dataclass(frozen=True, slots=True)
class KindResults:
    """The figures of one kind: people's own, those of the gold answers, each judge's, and who leads.

    ``n_target`` is the number of items that judges are compared on; ``with_others``, shape (n_labels,), how far each
    label agrees with the others of its item, NaN where there are none; ``remarks`` what a reader has to know.
    """

    people: dict[str, Breakdown]
    gold: dict[str, Breakdown]
    judges: list[dict[str, Breakdown]]
    selection: LeaderRanking
    n_target: int
    with_others: Floats
    remarks: tuple[str, ...] = field(default=())


@contextmanager
def quiet() -> Iterator[None]:
    """What is undefined says so in its reason; a page needs no warnings beside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        yield


def mask_of(rows: frozenset[int] | set[int], n_items: int) -> Booleans:
    """Rows as booleans, (n_items,)."""
    mask = np.zeros(n_items, dtype=np.bool_)
    mask[list(rows)] = True
    return mask


def means_by(row: Integers, values: Floats, n_rows: int) -> Floats:
    """Mean of the values of each row, NaN taking no part: shape (n_rows,), NaN where there is none.

    Examples
    --------
    >>> means_by(np.array([0, 0, 1]), np.array([1.0, 0.0, np.nan]), 2).tolist()
    [0.5, nan]
    """
    known = ~np.isnan(values)
    total = np.bincount(row[known], weights=values[known], minlength=n_rows)
    count = np.bincount(row[known], minlength=n_rows)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
