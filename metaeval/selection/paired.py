"""Which judge leads, and whether it can be told apart from the others."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from metaeval.stats import PairedDifference, Resamples, StatisticsWarning, paired_difference


@dataclass(frozen=True, slots=True)
class Comparison:
    """Judges against the best of them, on the items that both were scored on.

    Attributes
    ----------
    leader : str or None
        The judge with the highest mean; None when there is none to compare.
    ranking : tuple of str
        All judges that have a mean, best first; equal means in the order given.
    differences : mapping of str to PairedDifference
        The leader's mean minus each other judge's.
    tied : tuple of str
        Judges that cannot be told apart from the leader: the interval of the difference holds 0, or there is none.
    """

    leader: str | None = None
    ranking: tuple[str, ...] = ()
    differences: Mapping[str, PairedDifference] = field(default_factory=dict)
    tied: tuple[str, ...] = ()

    @property
    def clear(self) -> bool:
        """Whether the leader is better than every other judge, by the interval of each difference."""
        return self.leader is not None and bool(self.differences) and not self.tied


def compare(
    scores: Mapping[str, NDArray[np.float64]], *, resamples: Resamples, confidence: float = 0.95
) -> Comparison:
    """Find the judge with the highest mean and compare every other one with it, paired.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (n_items,)
        What each item contributes to the judge's mean; NaN where it does not count.
    resamples : Resamples
        The same for all, so that differences are paired.
    confidence : float
        Level of the intervals. They are not corrected for choosing the best of many, which favours the leader:
        a clear winner here is clear on these items, and its figure on new ones will be a little lower.

    Examples
    --------
    >>> right, wrong = np.ones(40), np.zeros(40)
    >>> found = compare({"a": wrong, "b": right}, resamples=Resamples(40, 1000))
    >>> found.leader, found.clear, found.differences["a"].value
    ('b', True, 1.0)
    >>> compare({"a": right, "b": right.copy()}, resamples=Resamples(40, 1000)).tied
    ('b',)
    """
    means = {name: float(np.nanmean(column)) for name, column in scores.items() if not np.isnan(column).all()}
    ranking = tuple(sorted(means, key=lambda name: -means[name]))
    if not ranking:
        return Comparison()
    leader = ranking[0]
    differences = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # the reason is kept with the estimate
        for name in ranking[1:]:
            differences[name] = paired_difference(
                scores[leader], scores[name], resamples=resamples, confidence=confidence
            )
    tied = tuple(name for name, difference in differences.items() if not difference.low > 0)
    return Comparison(leader, ranking, differences, tied)
