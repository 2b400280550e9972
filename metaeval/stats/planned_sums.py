"""Planning of figures that are means of items' scores, of any kind: closeness of ratings, correlations, majorities.

What a study with other numbers of labels will have is carried over from what a pilot has with fewer labels of the same
items, or from three guesses: the spread between items, between annotators, and of one label within an item.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metaeval.stats.arrays import Booleans, Floats
from metaeval.stats.crossed import FEWEST_PEOPLE, Crossing, between_clusters
from metaeval.stats.crossed_sums import CrossedSums, sums_variance
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.options import as_number, as_range, as_switch
from metaeval.stats.planned_intervals import ExpectedScores, StudyDesign, pairs_part
from metaeval.stats.planned_scores import PlannedFigure
from metaeval.stats.planning import PAIRS
from metaeval.stats.resampling import Resamples
from metaeval.stats.spread import ratio_spread

# A variance that is carried over to more labels than the pilot has is no less than this share of the pilot's.
_LEAST = 0.25
_NORMAL = math.sqrt(2 / math.pi)


@dataclass(frozen=True, slots=True)
class ScoreLevel:
    """What items' scores are like with so many labels each, as shares of the figure's range.

    Attributes
    ----------
    n_labels : int
    scores : ExpectedScores
        As a study has it; variances between people are of one person.
    n_people : float
        How many people of equal workload those are that ``scores.person`` is estimated from; infinite of a guess.
    """

    n_labels: int
    scores: ExpectedScores
    n_people: float = math.inf

    @classmethod
    def mean(cls, levels: "Sequence[ScoreLevel]") -> "ScoreLevel":
        """Of several draws of as many labels."""
        means: dict[str, Any] = {
            name: float(np.mean([getattr(level.scores, name) for level in levels]))
            for name in ExpectedScores.__dataclass_fields__
            if name != "curved"
        }
        found = replace(levels[0].scores, **means)
        return cls(levels[0].n_labels, found, float(np.mean([level.n_people for level in levels])))


@dataclass(frozen=True, slots=True)
class ScoreModel:
    """What is assumed of a figure that is a mean of items' scores.

    Attributes
    ----------
    levels : tuple of ScoreLevel
        By the number of labels, ascending.
    low, width : float
        The lower end of the figure's range, and how wide that is: of a correlation -1 and 2.
    ties : bool
        Whether an even number of labels may leave an item undecided, so that even and odd numbers differ.
    curved : bool
        Whether a label's effect is no part of a mean (`metaeval.stats.crossed_sums.CrossedSums`).
    """

    levels: tuple[ScoreLevel, ...]
    low: float = 0.0
    width: float = 1.0
    ties: bool = False
    curved: bool = False

    @property
    def stated(self) -> dict[str, float]:
        """What is assumed, in units of the figure, at the most labels that are known of."""
        last = self.levels[-1]
        scores, width = last.scores, self.width
        return {
            "labels_per_item": last.n_labels,
            "value": self.low + width * scores.value,
            "items_sd": width * math.sqrt(scores.variance),
            "within_sd": width * math.sqrt(scores.within * last.n_labels),
            "person_sd": width * math.sqrt(scores.person),
        }

    def expected(self, figure: PlannedFigure, design: StudyDesign) -> ExpectedScores:
        """What items will score in a design."""
        n_labels, last = design.labels_per_item, self.levels[-1]
        near = min(self.levels, key=lambda level: (abs(level.n_labels - n_labels), level.n_labels)).scores
        with_pairs = figure in ("people", "judge_minus_people")
        carried = _Carried(self.levels, n_labels, with_pairs=with_pairs, ties=self.ties)
        variance = carried.mean("variance")
        person, pairs = carried.person(), 0.0
        if with_pairs and not math.isnan(person):
            # What of the pilot's is of pairs of people, as a share of theirs that is assumed.
            many = math.isinf(last.n_people)
            person /= 1 + (0.0 if many else 4 * PAIRS * pairs_part(last.n_labels, last.n_people))
            pairs = PAIRS * person
        return replace(
            near,
            value=carried.mean("value"),
            variance=max(variance, _LEAST * min(level.scores.variance for level in self.levels)),
            person=person,
            pairs=pairs,
            within=max(0.0, carried.within()),
            curved=self.curved,
        )


@dataclass(frozen=True, slots=True)
class _Carried:
    """What levels say of a number of labels that need not be one of them.

    A mean over labels varies by one over their number; a mean over pairs of them by one over the others of a label, and
    is the same whatever their number; of a majority even and odd numbers differ. Simulated pilots of seven labels
    showed these to hold from two or three labels on.
    """

    levels: tuple[ScoreLevel, ...]
    n_labels: int
    with_pairs: bool
    ties: bool

    def mean(self, name: str) -> float:
        """Of the scores' mean, or their variance."""
        levels, last = self.levels, self.levels[-1].n_labels
        if self.with_pairs and self.ties and name == "variance" and self.n_labels > last > 2:
            # A majority of the others is a clearer one than the label of one or two: nothing is carried from these.
            same = [one for one in levels if one.n_labels > 3 and (one.n_labels - self.n_labels) % 2 == 0]
            return float((same or levels)[-1].scores.variance)
        if self.ties and not self.with_pairs and len(levels) == 2:
            # A tie is undecided: two levels don't tell what is of their number, and what of its being even.
            levels = tuple(one for one in levels if (one.n_labels - self.n_labels) % 2 == 0) or levels
        if self.with_pairs and name == "value" and not self.ties:
            return float(levels[-1].scores.value)
        numbers = np.array([level.n_labels for level in levels], dtype=np.float64)
        values = np.array([getattr(level.scores, name) for level in levels])
        if self.n_labels in numbers:
            return float(values[numbers == self.n_labels][0])
        if self.with_pairs and name == "value":
            return float(values[-1])
        if len(levels) == 1:
            if not self.with_pairs or last != 2:
                return float(values[0])
            # One pair of labels an item: what varies is taken for what is of the labels.
            return float(values[0] / ((min(3, self.n_labels) if self.ties else self.n_labels) - 1))
        fit, *_ = np.linalg.lstsq(self._basis(numbers), values, rcond=None)
        return float((self._basis(np.array([float(self.n_labels)])) @ fit)[0])

    def _basis(self, numbers: Floats) -> Floats:
        if self.with_pairs:
            others = np.maximum(numbers - 1, 1)
            columns = [1 / others, 1 / (others * numbers)]
        else:
            columns = [1 / numbers, (numbers % 2 == 0) / numbers][: 2 if self.ties else 1]
        return np.stack([np.ones(len(numbers)), *columns[: len(self.levels) - 1]], axis=1)

    def within(self) -> float:
        """Of one label within an item."""
        levels = self._telling()
        same = [one for one in levels if self.ties and (one.n_labels - self.n_labels) % 2 == 0]
        near = min(same or levels, key=lambda one: abs(one.n_labels - self.n_labels))
        at, asked = (self._labels_power(number) for number in (near.n_labels, self.n_labels))
        return near.scores.within * at / asked

    def _labels_power(self, number: int) -> float:
        return number * max(1, number - 1) if self.with_pairs and not self.ties else number

    def person(self) -> float:
        """Of people: a clearer target may enlarge what one does to a judge."""
        levels = self._telling()
        whole = levels[-1].scores.person
        if len(levels) == 1 or self.with_pairs or math.isnan(whole):
            return whole
        numbers = np.array([one.n_labels for one in levels], dtype=np.float64)
        basis = np.stack([np.ones(len(numbers)), 1 / numbers], axis=1)
        values = np.array([one.scores.person for one in levels])
        fit, *_ = np.linalg.lstsq(basis, values, rcond=None)
        return float(np.clip(fit[0] + fit[1] / self.n_labels, whole / 2, whole * 2))

    def _telling(self) -> list[ScoreLevel]:
        """One label an item shows nothing of what labels do, and one pair little."""
        least = 3 if self.with_pairs else 2
        return [one for one in self.levels if one.n_labels >= least] or [self.levels[-1]]


def score_level(
    sums: CrossedSums,
    crossing: Crossing,
    n_labels: int,
    *,
    resamples: Resamples,
    there: Booleans,
    weights: Floats | None = None,
    low: float = 0.0,
    width: float = 1.0,
) -> ScoreLevel | None:
    """What a pilot shows of a figure with so many labels of each item; None where no two clusters count.

    Parameters
    ----------
    sums, crossing
        The figure's, and who gave which label (`metaeval.stats.crossed_sums`).
    n_labels : int
    resamples : Resamples
        Whose clusters are those of the items.
    there : ndarray of bool
        The items that a study of this size would have: those that do not count are part of it.
    weights : ndarray, optional
        What each item weighs.
    low, width : float
        As of `ScoreModel`; of a difference the lower end is 0, and the width that of either side.
    """
    each = np.where(there, 1.0 if weights is None else weights, 0.0)
    counted = (each > 0) & (sums.bottom > 0)
    if len(np.unique(_codes(resamples)[counted])) < 2:
        return None
    means = sums.mean
    value = float((each * sums.top).sum() / (each * sums.bottom).sum())
    bottom = each * sums.bottom
    n_items = int(there.sum())
    of_items, _ = between_clusters(value, means, bottom, resamples)
    share = bottom / bottom.sum()
    about, at_zero = (
        _item_kurtosis(np.where(counted, np.nan_to_num(means) - centre, 0.0) * share, share, resamples)
        for centre in (value, 0.0)
    )
    people = sums_variance(sums, value, crossing, each, resamples)
    n_people = int(np.count_nonzero(np.bincount(crossing.person))) if len(crossing.person) else 0
    known = people.reason is None and n_people >= FEWEST_PEOPLE
    clusters = len(np.unique(_codes(resamples)[counted]))
    scores = ExpectedScores(
        value=(value - low) / width,
        variance=of_items * n_items / width**2,
        kurtosis=about,
        kurtosis_at_zero=at_zero,
        size=float((np.abs(np.nan_to_num(means)) * share).sum()) / width,
        other_than_zero=float(share[np.abs(np.nan_to_num(means)) > 1e-12].sum()),
        person=max(0.0, people.between - people.within) * people.worth / width**2 if known else math.nan,
        within=people.within * n_items / width**2 if known else 0.0,
        within_spread=max(1.0, clusters / people.within_freedom) if known else 1.0,
    )
    return ScoreLevel(n_labels, scores, people.worth if known else math.inf)


def _codes(resamples: Resamples) -> np.ndarray:
    return np.arange(resamples.n_items) if resamples.codes is None else resamples.codes


def _item_kurtosis(parts: Floats, share: Floats, resamples: Resamples) -> float:
    """Of an item, from what carries the variance between clusters."""
    rows = resamples.cluster_totals(np.stack([parts, share, (share > 0) * 1.0], axis=1))
    rows = rows[rows[:, 1] > 0]
    carriers = ratio_spread(rows[:, 0], rows[:, 1]).carriers
    if carriers <= 0:
        return math.inf
    return max(1.0, 3 + (len(rows) / carriers - 3) * float(rows[:, 2].mean()))


def score_model(
    *,
    value: float,
    items_sd: float,
    within_sd: float,
    person_sd: float,
    bounds: tuple[float, float] = (0.0, 1.0),
    intraclass: float = 0.0,
    cluster_size: float = 1.0,
    is_difference: bool = False,
) -> ScoreModel:
    """What is assumed of a figure from guesses, each in units of the figure.

    Parameters
    ----------
    value : float
        What the figure is.
    items_sd : float
        Spread between items: standard deviation of an item's score, were very many asked.
    within_sd : float
        Spread within an item: standard deviation of the score that one label gives it.
    person_sd : float
        Spread between annotators: standard deviation of what each of them alone would make of the figure.
    bounds : (float, float), default (0, 1)
        The range of the figure; of a difference that of either side.
    intraclass, cluster_size : float
        Correlation of the scores of two items of an instruction, and how many it has.
    is_difference : bool, default False

    Returns
    -------
    ScoreModel
        One of the ``figures`` of an `AgreementModel`.

    Raises
    ------
    InvalidInputError
        If scores of this range and this mean cannot vary so much.

    Notes
    -----
    An item's score from L labels varies by ``items_sd**2 + within_sd**2 / L``, and annotators add ``person_sd**2 / P``.

    References
    ----------
    R. L. Brennan, "Generalizability theory", Springer 2001, chapter 4 (decision studies).

    Examples
    --------
    >>> from metaeval.stats import StudyDesign
    >>> from metaeval.stats import AgreementModel
    >>> model = AgreementModel({"judge": score_model(value=0.8, items_sd=0.1, within_sd=0.15, person_sd=0.03)})
    >>> found = model.interval("judge", StudyDesign(200, 3, 12))
    >>> round(found.value, 2), round(found.half_width, 3), found.half_width < found.half_width_alike
    (0.8, 0.018, True)
    """
    low, high = as_range(bounds, "bounds")
    width = high - low
    is_difference = as_switch(is_difference, "is_difference")
    least = -width if is_difference else low
    said = as_number(value, "value", least, width if is_difference else high)
    between, within, person = (
        as_number(sd, name, 0, width) / width
        for name, sd in (("items_sd", items_sd), ("within_sd", within_sd), ("person_sd", person_sd))
    )
    effect = 1 + (as_number(cluster_size, "cluster_size", 1) - 1) * as_number(intraclass, "intraclass", 0, 1)
    share = said / width if is_difference else (said - low) / width
    most = 1.0 if is_difference else share * (1 - share)
    levels = []
    for n_labels in (1, 2):
        plain = between**2 + within**2 / n_labels
        if n_labels == 2 and plain > most + 1e-12:
            raise InvalidInputError(
                f"items_sd, within_sd: scores within {low:g} and {high:g} whose mean is {said:g} cannot vary so much"
            )
        scores = ExpectedScores(
            value=share,
            variance=plain * effect,
            size=max(abs(share), _NORMAL * math.sqrt(plain)),
            person=person**2,
            within=within**2 / n_labels,
        )
        levels.append(ScoreLevel(n_labels, scores))
    return ScoreModel(tuple(levels), 0.0 if is_difference else low, width)
