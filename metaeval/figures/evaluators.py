"""How alike evaluators are: correlations of human annotators, gold answers and judges, and how many items tell judges
apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from annotation.kinds import kind_of
from metaeval.figures.sample import Sample, means_by
from metaeval.inputs import GOLD, NOT_APPLICABLE, PEOPLE, UNSURE, Booleans, Floats, Integers
from metaeval.stats import EvaluatorCorrelations, capacity_curve, evaluator_correlations
from metaeval.stats.errors import quiet

MOST_JUDGES = 30
"""A table of more is too large to read, and to compute while somebody waits."""
ALPHA, QUANTILE = 0.05, 0.8
_FEWEST_CLUSTERS, _SIZES = 20, 8
# Samples of each size: fewer of a large dataset, where they take long and differ little.
_DRAWS, _FEWEST_DRAWS, _DRAWN_CLUSTERS = 20, 4, 40_000
_DIGITS = 12


def evaluators_section(sample: Sample, ranking: Sequence[int]) -> dict[str, Any] | None:
    """Correlations of all evaluators with one another, judges by their fingerprints; None with fewer than two.

    An evaluator's number of an item's part: of a pair 1, 0, or one half for a tie; of a question 1 for yes; a rating;
    of a ranking how high the part stands in it. Human annotators are the mean of their labels, a judge the mean of both
    orders. The correlation is Pearson's, over parts of all items; of ratings the mean over criteria, of rankings
    Spearman's, averaged over items. ``ranking`` is of judges, the best first.
    """
    inputs = sample.inputs  # as values of labels: a sample may read them as other numbers
    judges = [inputs.judges[place] for place in ranking[:MOST_JUDGES]]
    scale, shape = kind_of(inputs.kind).scale, inputs.items.gold.shape
    given: dict[str, Floats] = {}
    if len(inputs.labels):
        given[PEOPLE] = means_by(inputs.labels.item, _numbers(scale, inputs.labels.values), shape[0])
    if inputs.items.has_gold.any():
        given[GOLD] = _numbers(scale, inputs.items.gold)
    given |= {judge.fingerprint: _mean(_numbers(scale, judge.values)) for judge in judges}
    if len(given) < 2:
        return None
    rows = {key: (_standing(values) if scale == "ranks" else values).ravel() for key, values in given.items()}
    criteria = np.tile(np.arange(shape[1]), shape[0]) if scale == "ordinal" and shape[1] > 1 else None
    found = _correlations(rows, criteria)
    drawn = sample.drawn
    if drawn is not None and PEOPLE in rows:  # what rests on labels is of items that were drawn
        weighed = _correlations(rows, criteria, np.repeat(drawn, shape[1]))
    pairs: dict[str, dict[str, Any]] = {}
    for place, one in enumerate(rows):
        for other in list(rows)[place + 1 :]:
            table = weighed if drawn is not None and one == PEOPLE else found
            pairs.setdefault(one, {})[other] = _plain(table, one, other)
    return {
        "method": "spearman" if scale == "ranks" else "pearson",
        "judges": [judge.fingerprint for judge in judges],
        "n_judges": len(ranking),
        "correlations": pairs,
    }


def _numbers(scale: str, values: Floats) -> Floats:
    """Values as numbers of which more is more."""
    if scale == "preference":
        return np.select([values == 1, values == 2, values == 0], [1.0, 0.0, 0.5], np.nan)
    if scale == "nominal":
        return np.where(values == UNSURE, np.nan, values)
    if scale == "ordinal":
        return np.where(values == NOT_APPLICABLE, np.nan, values)
    return -values if scale == "ranks" else values


def _mean(values: Floats) -> Floats:
    """Over presentation orders, (n_items, n_orders, n_parts), NaN taking no part."""
    known = ~np.isnan(values)
    total, n = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _standing(values: Floats) -> Floats:
    """Ranks within each item, around 0 and of length 1: the pooled correlation of two is then the mean of rho by item.

    Examples
    --------
    >>> _standing(np.array([[-1.0, -2.0, np.nan], [-1.0, -1.0, np.nan]])).round(3).tolist()
    [[0.707, -0.707, nan], [nan, nan, nan]]
    """
    ranks = np.asarray(stats.rankdata(values, axis=1, nan_policy="omit"), dtype=np.float64)
    ranks[np.isnan(values)] = np.nan
    n = np.maximum((~np.isnan(ranks)).sum(axis=1, keepdims=True), 1)
    centered = ranks - np.nansum(ranks, axis=1, keepdims=True) / n
    length = np.sqrt(np.nansum(centered**2, axis=1, keepdims=True))
    return np.where(length > 0, centered / np.where(length > 0, length, 1.0), np.nan)


def _correlations(
    rows: Mapping[str, Floats], criteria: Integers | None, weights: Floats | None = None
) -> EvaluatorCorrelations:
    options: Any = {} if weights is None else {"weights": weights}
    with quiet():
        return evaluator_correlations(
            dict(rows), method="pearson", scenarios=criteria, n_resamples=0, **options
        )


def _plain(table: EvaluatorCorrelations, one: str, other: str) -> dict[str, Any]:
    estimate = table.estimate(one, other)
    if np.isnan(estimate.value):
        return {"value": None, "n": int(estimate.n), "reason": estimate.reason or "undefined"}
    return {"value": _rounded(estimate.value), "n": int(estimate.n)}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}") + 0.0  # no negative zero


def capacity_section(
    scores: Floats, clusters: Integers, where: Booleans | None = None, seed: int = 0
) -> dict[str, Any] | None:
    """How many pairs of columns of scores are significantly different on samples of instructions of several sizes.

    Of (n_items, n) scores; None with fewer than two columns or 20 instructions. Nothing allows for many comparisons, as
    in HREF.
    """
    rows = np.ones(len(scores), dtype=np.bool_) if where is None else where
    n = len(np.unique(clusters[rows]))
    if scores.shape[1] < 2 or n < _FEWEST_CLUSTERS:
        return None
    sizes = np.unique(np.geomspace(10, n, _SIZES).round().astype(np.intp)).tolist()
    with quiet():
        curve = capacity_curve(
            scores,
            sizes=sizes,
            n_draws=max(_FEWEST_DRAWS, min(_DRAWS, _DRAWN_CLUSTERS // n)),
            quantiles=(QUANTILE,),
            capacity_quantile=QUANTILE,
            alpha=ALPHA,
            clusters=clusters,
            where=rows,
            rng=seed,
        )
    known = ~np.isnan(curve.share_significant)
    if known.sum() < 2:
        return None
    return {
        "sizes": curve.sizes[known].tolist(),
        "share_significant": [_rounded(one) for one in curve.share_significant[known].tolist()],
        "p_values": [_rounded(one) for one in curve.p_values[known, 0].tolist()],
        "capacity": None if np.isnan(curve.capacity) else int(curve.capacity),
        "n_pairs": curve.n_pairs,
        "n_draws": curve.n_draws,
    }
