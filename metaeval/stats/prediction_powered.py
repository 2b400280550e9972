"""Few labels, many judgments: a mean of what people would say, from people's labels of some items and a judge's
verdicts on all.

The judge's mean over all items is corrected by how far it is from people where both answered. That is right
whatever the judge is like; a good judge makes the interval shorter, a useless one is given no weight.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import (
    Floats,
    as_matrix,
    check_choices,
    check_option,
    mean_of_orders,
)
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, fields_of, undefined
from metaeval.stats.options import as_level, as_number, as_range
from metaeval.stats.rectified import Interval, Target, cross_fitted, estimate, imbalance, optimal, read

Tuning: TypeAlias = Literal["cross_fitted", "optimal"] | float

_NO_LABELS = "no item has a label"


@dataclass(frozen=True, slots=True)
class PredictionPowered(Estimate):
    """A mean from few labels and many judgments.

    ``n`` and ``n_clusters`` count labeled items and their clusters; ``method`` is ``"t"``, ``"wilson"`` (with
    bounds) or ``"normal"``.

    Attributes
    ----------
    n_unlabelled : int
        Items that only the judge answered.
    tuning : float
        The weight of the judge, lambda, or the mean of the cross-fitted ones: 0 is the labels alone, 1 takes the
        judge at its word and corrects it. As in PPI++, the weight of the unlabeled items' judgments; with
        ``weights`` that of all judgments.
    classical : Estimate or None
        The same from the labels alone.
    gain : float
        Width of the classical interval over the width of this one: 2 is worth four times as many labels.
    imbalance : float
        How far the labeled items are from the others in the judge's eyes, in standard errors. Beyond 3 or so they
        were hardly drawn with the chances that the weights say.
    """

    n_unlabelled: int = 0
    tuning: float = math.nan
    classical: Estimate | None = None
    gain: float = math.nan
    imbalance: float = math.nan

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None."""
        added = {name: getattr(self, name) for name in ("tuning", "gain", "imbalance")}
        return {
            **Estimate.as_dict(self),
            "n_unlabelled": self.n_unlabelled,
            **{name: None if math.isnan(value) else value for name, value in added.items()},
            "classical": None if self.classical is None else self.classical.as_dict(),
        }


@aligned(apart=("judgments_unlabelled",))
def ppi_mean(
    labels: ArrayLike,
    judgments: ArrayLike,
    judgments_unlabelled: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    clusters: Any = None,
    where: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    tuning: Tuning = "cross_fitted",
    target: Target = "population",
    interval: Interval = "t",
    confidence: float = 0.95,
) -> PredictionPowered:
    """Mean of people's answers over items, from some labels and all judgments.

    Parameters
    ----------
    labels : array_like of shape (n_items,) or (n_items, n_annotators)
        Ratings, NaN where missing; an item's label is the mean of those it has.
    judgments : array_like of shape (n_items,) or (n_items, n_answers)
        The judge's, of all items, labeled or not, on any scale; several answers are averaged. An item without a
        judgment is given the judge's mean, so that it stays.
    judgments_unlabelled : array_like of shape (n_more,) or (n_more, n_answers), optional
        Judgments of more items, without labels, which follow the others in all that is aligned with items.
    weights : array_like of shape (n_items,), optional
        Inverse of the chance with which each item was picked for labeling, for the labeled ones at least.
        Default: all with equal chance.
    clusters : array_like of shape (n_items,), optional
        Items that share an instruction are one piece of evidence. Default: each item by itself.
    where : array_like of shape (n_items,), optional
        Booleans, the items that the mean is over. Default: all.
    bounds : (float, float), optional
        Ends of the scale. With them the interval is Wilson's, which stays inside and covers near the ends.
    tuning : "cross_fitted", "optimal" or float in [0, 1]
        The weight of the judge. ``"optimal"`` is PPI++'s: the one that makes the variance least, estimated from the
        same labels. That biases the mean by up to half a standard error where disagreements are rare.
        ``"cross_fitted"`` estimates it for each item without the labels of its own cluster, which does not.
        1 is plain prediction-powered inference, 0 the labels alone.
    target : {"population", "items"}
        The mean over instructions of this kind, of which these are a sample; or over these very items, then only
        the choice of those labeled is by chance. With ``"items"`` give clusters only if they were picked as wholes.
    interval : {"t", "normal"}
        ``"normal"`` is the large-sample interval of the papers and covers too little with few labels.
    confidence : float

    Returns
    -------
    PredictionPowered
        NaN if there is no label.

    Raises
    ------
    InvalidInputError
        For judgments of another number of items than the labels.

    Notes
    -----
    The labeled items must have been picked by chance (equal, or known through ``weights``), never because they
    were easy, disputed or first. No formula repairs that; see ``imbalance``.

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: Efficient Prediction-Powered Inference", 2023, section 6;
    T. Zrnic and E. J. Candes, "Active Statistical Inference", ICML 2024, section 3, here with weights that are
    normalized to the number of items (J. Hajek, 1971).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> people = rng.normal(3, 1, 1000)
    >>> judge = people + rng.normal(0.5, 0.5, 1000)
    >>> labels = np.where(np.arange(1000) < 100, people, np.nan)
    >>> found = ppi_mean(labels, judge)
    >>> found.low < 3 < found.high, found.gain > 1.5
    (True, True)
    """
    check_option(target, ("population", "items"), "target")
    check_option(interval, ("t", "normal"), "interval")
    if isinstance(tuning, str):
        check_option(tuning, ("cross_fitted", "optimal"), "tuning")
    else:
        tuning = as_number(tuning, "tuning", 0, 1)
    confidence = as_level(confidence, "confidence")
    answers, judged = (
        mean_of_orders(as_matrix(labels, "labels")),
        mean_of_orders(as_matrix(judgments, "judgments")),
    )
    if len(answers) != len(judged):
        raise InvalidInputError(f"judgments: expected {len(answers)} items, got {len(judged)}")
    if judgments_unlabelled is not None:
        more = mean_of_orders(as_matrix(judgments_unlabelled, "judgments_unlabelled"))
        answers = np.concatenate([answers, np.full(len(more), np.nan)])
        judged = np.concatenate([judged, more])
    if bounds is not None:
        _check_bounds(answers, bounds)
    data = read(answers, judged, weights, clusters, where, target)
    if data is None:
        return PredictionPowered(**fields_of(undefined(_NO_LABELS)))
    chosen: float | Floats = tuning if not isinstance(tuning, str) else 0.0
    if isinstance(tuning, str):
        chosen = optimal(data) if tuning == "optimal" else cross_fitted(data)
    weight = float(data.share @ (chosen * np.ones(len(data.label))))
    tuned = isinstance(tuning, str) and weight > 0
    classical = estimate(data, 0.0, False, bounds, interval, confidence)
    found = classical if weight == 0 else estimate(data, chosen, tuned, bounds, interval, confidence)
    if found.reason is not None:
        warn(found.reason)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = float(np.divide(classical.high - classical.low, found.high - found.low))
    return PredictionPowered(
        **fields_of(found),
        n_unlabelled=len(data.label) - data.n_labelled,
        tuning=weight,
        classical=classical,
        gain=gain,
        imbalance=imbalance(data),
    )


@aligned(apart=("verdicts_unlabelled",))
def ppi_win_rate(
    labels: ArrayLike,
    verdicts: ArrayLike,
    verdicts_unlabelled: ArrayLike | None = None,
    *,
    response: Literal[1, 2] = 1,
    ties: Literal["half", "win", "loss"] = "half",
    weights: ArrayLike | None = None,
    clusters: Any = None,
    where: ArrayLike | None = None,
    tuning: Tuning = "cross_fitted",
    target: Target = "population",
    confidence: float = 0.95,
) -> PredictionPowered:
    """The win rate that people would give, from some labels and a judge's verdicts on all items.

    Parameters
    ----------
    labels : array_like of shape (n_items,) or (n_items, n_annotators)
        1, 2, 0 (tie), NaN where missing.
    verdicts : array_like of shape (n_items,) or (n_items, n_orders)
        The judge's: 1, 2, 0 (tie), NaN (unparsed: given the judge's mean). A judge that gives a probability
        instead: `ppi_mean` with ``bounds=(0, 1)``.
    verdicts_unlabelled : array_like of shape (n_more,) or (n_more, n_orders), optional
        As ``judgments_unlabelled`` of `ppi_mean`.
    response : {1, 2}
        Whose wins.
    ties : {"half", "win", "loss"}
        What a tie counts.
    weights, clusters, where, tuning, target, confidence
        See `ppi_mean`.

    Returns
    -------
    PredictionPowered
        In [0, 1], with Wilson's interval.

    Raises
    ------
    InvalidInputError
        For another response than 1 and 2.

    References
    ----------
    As of `ppi_mean`.

    Examples
    --------
    >>> labels = [1, 1, 2, 0, 1, 2] * 10 + [float("nan")] * 300
    >>> verdicts = [1, 1, 2, 1, 1, 2] * 60
    >>> found = ppi_win_rate(labels, verdicts)
    >>> round(found.value, 2), found.classical.high - found.classical.low > found.high - found.low
    (0.58, True)
    """
    check_option(ties, ("half", "win", "loss"), "ties")
    if response not in (1, 2):
        raise InvalidInputError(f"response: expected 1 or 2, got {response!r}")
    tie = {"half": 0.5, "win": 1.0, "loss": 0.0}[ties]
    more = verdicts_unlabelled
    return ppi_mean(
        _credit(labels, "labels", response, tie),
        _credit(verdicts, "verdicts", response, tie),
        None if more is None else _credit(more, "verdicts_unlabelled", response, tie),
        weights=weights,
        clusters=clusters,
        where=where,
        bounds=(0.0, 1.0),
        tuning=tuning,
        target=target,
        confidence=confidence,
    )


def _credit(values: ArrayLike, name: str, response: int, tie: float) -> Floats:
    array = as_matrix(values, name)
    check_choices(array, name)
    credit = np.where(array == 0, tie, (array == response).astype(np.float64))
    return mean_of_orders(np.where(np.isnan(array), np.nan, credit))


def _check_bounds(answers: Floats, bounds: tuple[float, float]) -> None:
    bounds = as_range(bounds, "bounds")
    known = answers[~np.isnan(answers)]
    if ((known < bounds[0]) | (known > bounds[1])).any():
        raise InvalidInputError(f"labels: outside of the bounds {bounds}")
