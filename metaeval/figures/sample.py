"""What the figures of one report are computed in: its inputs, its groups of items, its resamples, its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from metaeval.figures.groups import Layout, layout_of
from metaeval.inputs import PEOPLE, Booleans, Floats, Inputs, Integers, JudgeAnswers, Options
from metaeval.stats import Estimate, LeaveOneOut, PairedDifference, Resamples, crossed_mean_estimate
from metaeval.stats.arrays import row_sums
from metaeval.stats.crossed import CrossedScores, Crossing
from metaeval.stats.crossed_sums import CrossedSums, sums_difference

# The share of errors that a judge may make where it decides by itself, where nothing else is asked for.
RISK = 0.1
# Groups of items kept at a time; kinds whose figures are of other labels each have some for each of these.
_MOST_WITHIN = 256


@dataclass(frozen=True, slots=True)
class Ratio:
    """What each item adds to the two sums of a figure: (n_items,) each, or (n_items, n_criteria), which are pooled and
    stand by criterion too. ``reason`` is said where no item counts; ``scale`` multiplies the figure.
    """

    top: Floats
    bottom: Floats
    reason: str
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class ByGroup:
    """A figure that is no ratio, of the items in a mask, (n_items,)."""

    function: Callable[[Booleans], Estimate]


@dataclass(frozen=True, slots=True)
class ByCriterion:
    """A figure that is no ratio, of the criterion at an index, or of all criteria: None.

    ``in_group`` gives it of all criteria and the items in a mask, where it has groups of items.
    """

    function: Callable[[int | None], Estimate]
    in_group: Callable[[Booleans], Estimate] | None = None


@dataclass(frozen=True, slots=True)
class Crossed:
    """Leave-one-out scores of items and labels, or the difference of two: of these people, and of people like these.

    ``resamples`` and ``item`` are those of the scores where these are not of items, but of their questions, say.
    """

    labels: LeaveOneOut
    scores: CrossedScores
    minus: CrossedScores | None = None
    resamples: Resamples | None = None
    item: Integers | None = None


@dataclass(frozen=True, slots=True)
class CrossedRatio:
    """A figure as sums over items, with what each label does to them: of annotators like these too.

    With ``minus`` it is the difference of two figures, of both populations.
    """

    sums: CrossedSums
    crossing: Crossing
    bounds: tuple[float, float] = (0.0, 1.0)
    minus: CrossedSums | None = None


Part = Ratio | ByGroup | ByCriterion | Crossed | CrossedRatio


@dataclass(frozen=True, slots=True, eq=False)
class GroupRows:
    """A group of items alone: their rows, the rows of their labels, and the clusters and annotators of these.

    What is computed of each group costs what the group is large, and not what all items are.
    """

    rows: Integers
    labels: Integers
    resamples: Resamples
    crossing: Crossing


class JudgeSample:
    """What a judge said, as the figures of its kind need it. Subclasses keep what several figures share."""

    def __init__(self, sample: Any, judge: JudgeAnswers) -> None:
        self.sample, self.judge = sample, judge
        self.answers_read: dict[bool, Any] = {}
        self._once: dict[str, Any] = {}

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What several figures of the judge are parts of, made once."""
        if name not in self._once:
            self._once[name] = make()
        return self._once[name]

    def unparsed(self) -> Ratio:
        """Share of the judgments that could not be read or never came."""
        unread, judged = row_sums(self.judge.unparsed), row_sums(self.judge.judged)
        return Ratio(unread, judged, "nothing was judged")

    def threshold(self, risk: float = RISK) -> dict[str, Any] | None:  # noqa: ARG002
        """From which certainty on it may decide by itself; None where nothing says how sure it is."""
        return None

    def certainties(self) -> tuple[Integers, Floats] | None:
        """The item of each pair or question that it judged, and how certain it was there, NaN where it gave no verdict;
        None where nothing says that.
        """
        return None

    def score(self, primary: str) -> Floats:
        """How good it is on each item by a figure, from 0 to 1: what a choice between judges rests on; NaN: nothing."""
        raise NotImplementedError

    def alike(self, primary: str) -> CrossedRatio | None:  # noqa: ARG002
        """That figure's sums over items, with what each label does to them; None where people play no part."""
        return None

    def beside_people(self) -> CrossedRatio | None:
        """Its agreement with each annotator minus that of annotators with one another; None where there is none."""
        return None

    def beside_best(self) -> CrossedRatio | None:
        """The upper bound minus its agreement with each annotator; None where there is none."""
        return None


class Sample:
    """The inputs and options of one report; a subclass a kind keeps what several figures share."""

    judge_type: ClassVar[type[JudgeSample]] = JudgeSample

    def __init__(self, inputs: Inputs, options: Options) -> None:
        self.inputs, self.options = inputs, options
        self.items, self.labels = inputs.items, inputs.labels
        self.resamples = Resamples(self.items.cluster, options.n_resamples, options.seed)
        self._within: dict[tuple[int, ...], tuple[GroupRows, object]] = {}

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def clusters(self) -> Integers:
        """The instruction of each item as a number: texts would be sorted again by every figure."""
        codes = self.resamples.codes
        assert codes is not None
        return codes

    @cached_property
    def layout(self) -> Layout:
        """The groups of items that figures are broken down by."""
        return layout_of(self.items)

    @cached_property
    def judges(self) -> tuple[Any, ...]:
        """The judges, each as the figures of the kind need it."""
        return tuple(self.judge_type(self, judge) for judge in self.inputs.judges)

    @property
    def drawn(self) -> Floats | None:
        """Sampling weights of figures that rest on people's labels; None where all items were certain."""
        return self.inputs.weights

    @property
    def against_gold(self) -> bool:
        """Whether judges are compared with gold answers."""
        return self.options.against != PEOPLE

    @property
    def compared(self) -> Floats | None:
        """Sampling weights of what compares judges with their target: gold answers rest on no labels."""
        return None if self.against_gold else self.inputs.weights

    def has_target(self, primary: str) -> Booleans:
        """The items that judges can be compared on by a figure: (n_items,)."""
        raise NotImplementedError

    def ranks_by(self, primary: str) -> bool:  # noqa: ARG002
        """Whether these inputs have what a figure that ranks judges compares them with."""
        return True

    @property
    def scorable(self) -> Booleans:
        """The items on which a judge can be scored: (n_items,)."""
        raise NotImplementedError

    @property
    def size(self) -> Floats | None:
        """What an item weighs in a choice between judges beside its sampling weight: (n_items,); None: all the same."""
        return None

    @property
    def most(self) -> Floats:
        """The most that an item can weigh in a mean over its parts, whatever is labeled: (n_items,)."""
        return np.ones(self.n_items)

    @cached_property
    def crossing(self) -> Crossing:
        """Who gave which label."""
        return Crossing.of(self.labels.item, self.labels.annotator)

    def within(
        self,
        members: Booleans,
        crossing: Crossing,
        item: Integers | None = None,
        resamples: Resamples | None = None,
    ) -> GroupRows:
        """A group of items, (n_items,), of the labels of a crossing; the same for every judge.

        ``item`` and ``resamples`` are those of the crossing's rows where these are not items, but their questions, say.
        """
        whole = resamples or self.resamples
        asked = members, crossing, item, whole
        key = tuple(map(id, asked))
        if key not in self._within:
            inside = members if item is None else members[item]
            rows, labels = np.flatnonzero(inside), np.flatnonzero(inside[crossing.item])
            number = (np.cumsum(inside) - 1)[crossing.item[labels]]
            found = GroupRows(rows, labels, whole.among(rows), crossing.among(labels, number))
            if len(self._within) >= _MOST_WITHIN:
                self._within.clear()
            self._within[key] = found, asked  # which keeps what the key is of from becoming something else
        return self._within[key][0]

    def difference_alike(
        self, primary: str, first: int, second: int, where: Booleans, confidence: float
    ) -> PairedDifference | None:
        """One judge minus another by a figure, with new annotators like these too; None where people play no part."""
        one, two = (self.judges[place].alike(primary) for place in (first, second))
        if one is None or two is None:
            return None
        options: Any = {"where": where, "weights": self.compared, "resamples": self.resamples}
        return sums_difference(
            one.sums, two.sums, one.crossing, bounds=one.bounds, confidence=confidence, **options
        )

    def resamples_of(self, item: Integers) -> Resamples:
        """The resamples of rows that belong to these items: questions, say. Instructions still move together."""
        return Resamples(self.clusters[item], self.options.n_resamples, self.options.seed)

    def mean_alike(
        self, values: Floats, *, pooled: bool = True, scale: float = 1.0, shift: float = 0.0
    ) -> ByGroup:
        """A mean over labels, of annotators like these, from a score of each label in [0, 1], NaN for none.

        Each label counts once, or each item; the mean times the scale, plus the shift.
        """
        labels, known = self.labels, ~np.isnan(values)
        size = np.bincount(labels.item, weights=known, minlength=self.n_items)[labels.item]
        how: dict[str, Any] = {
            "n_items": self.n_items,
            "shares": None if pooled else 1 / np.maximum(size, 1),
            "resamples": self.resamples,
            "confidence": self.options.confidence,
            "weights": self.drawn,
        }

        def figure(members: Booleans) -> Estimate:
            found = crossed_mean_estimate(values, labels.item, labels.annotator, where=members, **how)
            value, low, high = (scale * each + shift for each in (found.value, found.low, found.high))
            return replace(found, value=value, low=low, high=high)

        return ByGroup(figure)

    def with_others(self) -> Floats:
        """How far each label agrees with the others of its item: (n_labels,), NaN where there are none."""
        raise NotImplementedError

    def baselines(self) -> tuple[JudgeAnswers, ...]:
        """What is had without reading anything, as judges: the floor that a judge must beat."""
        return ()

    def remarks_on_people(self) -> tuple[str, ...]:
        """What a reader of the figures of people has to know of these items and labels."""
        return ()

    def remarks(self) -> tuple[str, ...]:
        """What a reader of a report has to know of these items and labels."""
        return self.remarks_on_people()


def mean_of(contributions: Floats, reason: str) -> Ratio:
    """A mean over items of contributions (or over items and criteria), NaN taking no part."""
    counted = ~np.isnan(contributions)
    return Ratio(np.where(counted, contributions, 0.0), counted.astype(np.float64), reason)


def item_means(part: Part | None) -> Floats:
    """What each item adds to a mean over items, (n_items,): NaN where it does not count."""
    assert isinstance(part, Ratio)
    top, bottom = (side if side.ndim == 1 else row_sums(side) for side in (part.top, part.bottom))
    return np.where(bottom > 0, top / np.maximum(bottom, 1), np.nan)


def share_of(part: Booleans, whole: Booleans, reason: str) -> Ratio:
    """The share of some items, or of some of their answers, (n_items,) or (n_items, n_answers)."""
    if part.ndim == 1:
        part, whole = part[:, np.newaxis], whole[:, np.newaxis]
    return Ratio(row_sums(part & whole), row_sums(whole), reason)


def means_by(row: Integers, values: Floats, n_rows: int) -> Floats:
    """Mean of the values of each row, NaN taking no part: NaN where there is none. Columns one by one.

    Examples
    --------
    >>> means_by(np.array([0, 0, 1]), np.array([1.0, 0.0, np.nan]), 2).tolist()
    [0.5, nan]
    """
    if values.ndim == 2:
        return np.stack([means_by(row, column, n_rows) for column in values.T], axis=1)
    known = ~np.isnan(values)
    total = np.bincount(row[known], weights=values[known], minlength=n_rows)
    count = np.bincount(row[known], minlength=n_rows)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def best_of_several(best: Floats, n_labels: Floats, effects: Floats, item: Integers) -> CrossedSums:
    """An upper bound of items that have two labels: one label is met by whatever says the same."""
    counts = n_labels > 1
    return CrossedSums(
        np.where(counts, best, 0.0),
        counts.astype(np.float64),
        np.where(counts[item], effects, 0.0),
        is_curved=True,
    )


def part_mask(parts: Sequence[Sequence[str]], width: int) -> Booleans:
    """Whether an item has a part of this index: (n_items, width)."""
    n_parts = np.array([len(names) for names in parts], dtype=np.intp)
    return np.asarray(np.arange(width) < n_parts[:, np.newaxis])
