"""What scores the items of a study that is planned will have: how often people side with a judge, as a distribution.

The share of people who say what a judge says differs between items. Here the shares of three answers (the judge's, the
other one, any third) have a Dirichlet distribution, so that the counts of an item's labels are Dirichlet-multinomial,
and every moment of an item's score is a sum over a few counts.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.label_effects import judge_of, people_of

PlannedFigure: TypeAlias = Literal["people", "judge", "judge_minus_people", "judge_minus_judge"]
FIGURES: tuple[PlannedFigure, ...] = ("people", "judge", "judge_minus_people", "judge_minus_judge")
MOST_LABELS = 50
# Beyond this all items have the same shares; below it all people say the same of an item.
_MOST_CONCENTRATED, _LEAST_CONCENTRATED = 1e4, 1e-4


@dataclass(frozen=True, slots=True)
class Shares:
    """How the shares of people's answers differ between items: a Dirichlet distribution.

    Attributes
    ----------
    first, second : float
        The mean shares of the two answers that matter; the rest is any third.
    concentration : float
        The sum of the parameters: the larger, the more alike items are.
    """

    first: float
    second: float
    concentration: float

    @classmethod
    def of(cls, first: float, second: float, same: float) -> "Shares":
        """With the chance that two people give an item the same answer.

        Examples
        --------
        >>> round(Shares.of(0.5, 0.5, 2 / 3).concentration, 6)         # a uniform share
        2.0
        """
        squares = first**2 + second**2 + (1 - first - second) ** 2
        room = same - squares
        found = (1 - same) / room if room > 0 else _MOST_CONCENTRATED
        return cls(first, second, float(np.clip(found, _LEAST_CONCENTRATED, _MOST_CONCENTRATED)))

    @property
    def split(self) -> float:
        """The mean of the first share times what is left of it."""
        return self.first * (1 - self.first) * self.concentration / (self.concentration + 1)

    def chances(self, counts: Integers) -> Floats:
        """The chance of each row of counts of the three answers, of items with as many labels each.

        Examples
        --------
        >>> Shares(0.5, 0.5, 2.0).chances(np.array([[0, 2, 0], [1, 1, 0], [2, 0, 0]])).round(3).tolist()
        [0.333, 0.333, 0.333]
        """
        shares = np.array([self.first, self.second, 1 - self.first - self.second])
        parts = np.maximum(self.concentration * shares, 1e-12)
        logs = (special.gammaln(counts + parts) - special.gammaln(parts) - special.gammaln(counts + 1.0)).sum(
            axis=1
        )
        likely = np.exp(logs - logs.max())
        found: Floats = likely / likely.sum()
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PlannedScores:
    """The scores that items have with so many labels each.

    Attributes
    ----------
    scores, chances : ndarray
        Each score that there can be, and its chance.
    within : float
        The sum of the squared effects of an item's labels, on average: what is of one person on one item.
    within_squares : float
        The mean of its square.
    shared : float
        The mean of the squared sum of an item's effects: what everyone does alike is no difference between people.
    slope : float
        What a person who sides with the judge more often does to the figure, per unit of one label's.
    """

    scores: Floats
    chances: Floats
    within: float
    within_squares: float
    shared: float
    slope: float

    @property
    def value(self) -> float:
        """The figure."""
        return float(self.scores @ self.chances)

    def moment(self, power: int, about: float = 0.0) -> float:
        """The mean of a power of the distance from a number."""
        return float(((self.scores - about) ** power) @ self.chances)

    @property
    def size(self) -> float:
        """The mean of the absolute scores."""
        return float(np.abs(self.scores) @ self.chances)

    @property
    def other_than_zero(self) -> float:
        """The share of items with a score that is not 0."""
        return float(self.chances[np.abs(self.scores) > 1e-12].sum())


@lru_cache(maxsize=512)
def planned_item_scores(
    figure: PlannedFigure, shares: Shares, n_labels: int, discordance: float = 1.0
) -> PlannedScores:
    """The scores of items with this many labels each.

    Parameters
    ----------
    figure : str
        One of `FIGURES`.
    shares : Shares
        Of people's answers: the judge's is the first. Of two judges: on the items on which they differ the first
        judge's, the second judge's, any third.
    discordance : float
        Of two judges: the share of items on which they differ. On the others neither is ahead.

    Examples
    --------
    >>> two = planned_item_scores("judge", Shares(0.7, 0.3, 2.0), 2)          # with two labels it is the share itself
    >>> round(two.value, 6), round(two.slope, 6)
    (0.7, 1.0)
    """
    counts, moved = _counts(n_labels, shares.first + shares.second < 1 - 1e-9)
    scores, chances = _scores(figure, counts), shares.chances(counts)
    # A label is replaced by those of the others of its item (`metaeval.stats.label_effects`).
    effects = np.zeros(counts.shape)
    for taken in range(3):
        there = counts[:, taken] > 0
        for put in range(3):
            others = counts[:, put] - (put == taken)
            used = there & (others > 0)
            after = scores[moved[used, taken, put]]
            effects[used, taken] += others[used] / (n_labels - 1) * (scores[used] - after)
    mean = float((counts * effects).sum(axis=1) @ chances) / n_labels
    squares = (counts * (effects - mean) ** 2).sum(axis=1)
    sums = (counts * (effects - mean)).sum(axis=1) ** 2
    total = shares.concentration
    expected = n_labels * (total * shares.first + counts[:, 0]) / (total + n_labels)
    slope = float(chances @ (scores * (counts[:, 0] - expected))) / max(shares.split, 1e-12)
    if figure == "judge_minus_judge":
        scores, chances = np.r_[scores, 0.0], np.r_[chances * discordance, 1 - discordance]
        squares, sums = np.r_[squares, 0.0], np.r_[sums, 0.0]
    return PlannedScores(
        scores, chances, float(squares @ chances), float(squares**2 @ chances), float(sums @ chances), slope
    )


@lru_cache(maxsize=64)
def _counts(n_labels: int, three: bool) -> tuple[Integers, Integers]:
    """(all counts of two or three answers, the place of each after one label was moved from an answer to another)."""
    first, second = np.indices((n_labels + 1, n_labels + 1)).reshape(2, -1)
    third = n_labels - first - second
    kept = third >= 0 if three else third == 0
    counts = np.stack([first, second, third], axis=1)[kept]
    place = np.zeros((n_labels + 2, n_labels + 2), dtype=np.intp)
    place[counts[:, 0], counts[:, 1]] = np.arange(len(counts))
    moved = np.zeros((len(counts), 3, 3), dtype=np.intp)
    for taken in range(3):
        for put in range(3):
            after = counts.copy()
            after[:, taken] -= 1
            after[:, put] += 1
            there = (after >= 0).all(axis=1)
            moved[there, taken, put] = place[after[there, 0], after[there, 1]]
    return counts, moved


def _scores(figure: PlannedFigure, counts: Integers) -> Floats:
    if figure == "people":
        return people_of(counts)
    if figure == "judge":
        return judge_of(counts)
    if figure == "judge_minus_people":
        return judge_of(counts) - people_of(counts)
    return judge_of(counts) - judge_of(counts[:, [1, 0, 2]])
