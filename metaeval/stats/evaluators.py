"""All evaluators against all: correlations, means and deviations of people's and judges' ratings of one criterion."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, as_mapping, as_matrix, check_option
from metaeval.stats.combined import mean_of_strata
from metaeval.stats.correlation import finish_correlation, is_flat, why_not
from metaeval.stats.errors import InvalidInputError, quiet
from metaeval.stats.estimate import Estimate
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import (
    Sampling,
    clusters_counted,
    item_weights,
    mean_estimate,
    percentiles,
    resolve,
    why_none,
)
from metaeval.stats.resampling import Resamples
from metaeval.stats.results import Result
from metaeval.stats.sharing import with_resamples
from metaeval.stats.systems import correlations_by_system
from metaeval.stats.weighted_correlation import (
    METHODS,
    Columns,
    Method,
    resampled_correlations,
    weighted_correlation,
)

Missing: TypeAlias = Literal["pairwise", "listwise"]
Level: TypeAlias = Literal["instance", "scenario"]

_SHARED = "no interval: a cluster lies in several scenarios"
_ONE_VALUE = "no interval: the ratings are all the same"


@dataclass(frozen=True, slots=True)
class EvaluatorCorrelations(Result):
    """Correlations between evaluators, and the mean and standard deviation of each one's ratings.

    Attributes
    ----------
    names : tuple of str
        The evaluators: pools of people, judges.
    matrix, low, high : ndarray of float, shape (n_evaluators, n_evaluators)
        Correlations and their intervals, symmetric; 1 on the diagonal; NaN where there is none.
    n : ndarray of int, shape (n_evaluators, n_evaluators)
        Items that both rated; on the diagonal, that the evaluator rated.
    means, deviations : ndarray of float, shape (n_evaluators,)
        Of the ratings that the diagonal counts; the deviation with one degree of freedom less.
    method : str
        The correlation.
    estimates : mapping of pairs of str to Estimate
        Each correlation with its interval, as `estimate` finds it.
    mean_estimates, deviation_estimates : mapping of str to Estimate
        Each mean and deviation with its interval.
    by_scenario : mapping of EvaluatorCorrelations
        The table of each scenario, where there are scenarios.
    """

    _intervals: ClassVar[Mapping[str, tuple[str, str]]] = {"matrix": ("low", "high")}
    _chart: ClassVar[str] = "heat_map"

    names: tuple[str, ...]
    matrix: Floats = field(compare=False)
    low: Floats = field(compare=False, repr=False)
    high: Floats = field(compare=False, repr=False)
    n: Integers = field(compare=False, repr=False)
    means: Floats = field(compare=False)
    deviations: Floats = field(compare=False)
    method: str
    estimates: Mapping[tuple[str, str], Estimate] = field(compare=False, repr=False)
    mean_estimates: Mapping[str, Estimate] = field(compare=False, repr=False)
    deviation_estimates: Mapping[str, Estimate] = field(compare=False, repr=False)
    by_scenario: Mapping[Any, "EvaluatorCorrelations"] = field(
        default_factory=dict, compare=False, repr=False
    )

    def estimate(self, first: str, second: str) -> Estimate:
        """The correlation of two evaluators, with its interval."""
        found = self.estimates.get((first, second)) or self.estimates.get((second, first))
        if found is None:
            raise KeyError(f"no correlation of {first!r} and {second!r}")
        return found


@aligned()
def evaluator_correlations(
    ratings: Mapping[str, ArrayLike],
    *,
    method: Method = "pearson",
    missing: Missing = "pairwise",
    scenarios: Any = None,
    level: Level = "instance",
    **options: Unpack[Sampling],
) -> EvaluatorCorrelations:
    """Correlations between all evaluators of one criterion, as in HELM Instruct's Tables 4 and 5.

    Parameters
    ----------
    ratings : mapping of str to array_like of shape (n_items,) or (n_items, n_people)
        The ratings of each evaluator, NaN where there is none. Of several people the mean of those who rated the item.
    method : {"pearson", "spearman", "kendall"}
    missing : {"pairwise", "listwise"}
        A pair of evaluators is compared on the items that both rated, or all on the items that all rated.
    scenarios : array_like of shape (n_items,), optional
        The scenario of each item. Default: all items are pooled.
    level : {"instance", "scenario"}
        With scenarios: the unweighted mean over scenarios of the correlations over their items, or the correlation
        over scenarios of the evaluators' means (pass scenario and system as one id to have a mean for each of both).
        Means and deviations of ratings are of all items.
    **options
        See `metaeval.stats.intervals.Sampling`. All cells are computed on the same resamples.

    Returns
    -------
    EvaluatorCorrelations
        A pair with fewer than three items in common, or where one of the two gave a single value, has NaN and its
        `estimate` says why. (No warning: a matrix with holes is common.) A mean over scenarios is undefined where one
        of them is. Scenarios are held fixed, and the mean's interval is put together from theirs as those of
        independent strata; there is none where a cluster lies in several.

    Raises
    ------
    InvalidInputError
        For fewer than two evaluators, and for the level "scenario" without scenarios.

    References
    ----------
    Y. Zhang et al., "HELM Instruct: A Multidimensional Instruction Following Evaluation Framework with Absolute
    Ratings", 2024, Tables 4 and 5.

    Examples
    --------
    >>> ratings = {"people": [[1, 2], [3, 3], [4, 5], [5, 5]], "judge": [1, 3, 3, 5], "other": [2, 2, 2, 2]}
    >>> found = evaluator_correlations(ratings, n_resamples=200)
    >>> round(found.estimate("people", "judge").value, 3), found.means.tolist()
    (0.904, [3.5, 3.0, 2.0])
    >>> found.estimate("judge", "other").reason
    'what they are compared with is all the same'
    >>> ratings = {"people": [1, 2, 3, 3, 4, 5], "judge": [1, 2, 3, 5, 4, 3]}
    >>> by = {"scenarios": ["chat"] * 3 + ["code"] * 3, "n_resamples": 0}
    >>> evaluator_correlations(ratings, **by).matrix[0].tolist()     # 1 and -1
    [1.0, 0.0]
    """
    check_option(method, METHODS, "method")
    check_option(missing, ("pairwise", "listwise"), "missing")
    check_option(level, ("instance", "scenario"), "level")
    if scenarios is None and level == "scenario":
        raise InvalidInputError("level: 'scenario' needs scenarios")
    columns = _columns(ratings)
    n_items = len(next(iter(columns.values())))
    resamples, mask, confidence = resolve(n_items, with_resamples(options, n_items), weighted=True)
    weights = item_weights(n_items, options)
    given = weights
    weights = np.ones(n_items) if weights is None else weights
    if mask is not None:
        weights = np.where(mask, weights, 0.0)
    if missing == "listwise":
        whole = np.all([~np.isnan(column) for column in columns.values()], axis=0)
        weights = np.where(whole, weights, 0.0)
    pooled = _table(columns, weights, given, resamples, confidence, method)
    if scenarios is None:
        return pooled
    distinct, codes = as_ids(scenarios, "scenarios", n_items)
    tables = {
        name: _table(columns, np.where(codes == code, weights, 0.0), given, resamples, confidence, method)
        for code, name in enumerate(distinct.tolist())
        if (weights[codes == code] > 0).any()
    }

    pairs = [pair for pair in pooled.estimates if pair[0] != pair[1]]
    estimates = dict(pooled.estimates)
    if level == "instance":
        shared = _share_clusters(codes[weights > 0], resamples, weights > 0)
        for first, second in pairs:
            parts = [each.estimate(first, second) for each in tables.values()]
            found = mean_of_strata(parts, bounds=(-1.0, 1.0))
            estimates[first, second] = _without_interval(found) if shared else found
    else:
        everywhere = np.ones(n_items) if given is None else given
        sides = [(columns[first], columns[second]) for first, second in pairs]
        with quiet():
            means = correlations_by_system(
                sides, distinct.tolist(), codes, everywhere, weights > 0, resamples, confidence, method=method
            )
            estimates |= zip(pairs, map(_plain, means), strict=True)
    return replace(pooled, **_arrays(pooled.names, estimates), estimates=estimates, by_scenario=tables)


def _share_clusters(codes: Integers, resamples: Resamples, counted: Booleans) -> bool:
    clusters = np.flatnonzero(counted) if resamples.codes is None else resamples.codes[counted]
    return len(np.unique(np.stack([clusters, codes]), axis=1).T) > len(np.unique(clusters))


def _without_interval(found: Estimate) -> Estimate:
    return replace(found, low=math.nan, high=math.nan, method="none", reason=found.reason or _SHARED)


def _plain(found: Estimate) -> Estimate:
    return Estimate(**{each.name: getattr(found, each.name) for each in fields(Estimate)})


def _arrays(names: tuple[str, ...], estimates: Mapping[tuple[str, str], Estimate]) -> dict[str, Any]:
    """Values, ends and numbers of items as symmetric matrices."""
    matrix, low, high = (np.full((len(names), len(names)), np.nan) for _ in range(3))
    n = np.zeros((len(names), len(names)), dtype=np.intp)
    place = {name: row for row, name in enumerate(names)}
    for (first, second), found in estimates.items():
        a, b = place[first], place[second]
        for array, value in ((matrix, found.value), (low, found.low), (high, found.high), (n, found.n)):
            array[a, b] = array[b, a] = value
    return {"matrix": matrix, "low": low, "high": high, "n": n}


@aligned()
def evaluator_correlations_by(
    ratings: Mapping[str, ArrayLike],
    criteria: Any,
    *,
    method: Method = "pearson",
    missing: Missing = "pairwise",
    scenarios: Any = None,
    level: Level = "instance",
    **options: Unpack[Sampling],
) -> dict[Any, EvaluatorCorrelations]:
    """`evaluator_correlations` of each criterion, all on the same resamples.

    Parameters
    ----------
    ratings : mapping of str to array_like of shape (n_ratings,) or (n_ratings, n_people)
        One row for each item and criterion.
    criteria : array_like of shape (n_ratings,)
        The criterion of each row. Rows of one item belong to one cluster: pass ``clusters``.
    method, missing, scenarios, level
        As of `evaluator_correlations`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    dict
        Criterion to `EvaluatorCorrelations`, in sorted order.

    Raises
    ------
    InvalidInputError
        For fewer than two evaluators.

    References
    ----------
    As of `evaluator_correlations`.

    Examples
    --------
    >>> ratings = {"people": [1, 2, 4, 5, 3, 1], "judge": [1, 3, 4, 5, 4, 1]}
    >>> found = evaluator_correlations_by(ratings, ["clear"] * 3 + ["true"] * 3, n_resamples=100)
    >>> {name: round(float(table.matrix[0, 1]), 3) for name, table in found.items()}
    {'clear': 0.929, 'true': 0.961}
    """
    columns = _columns(ratings)
    n_items = len(next(iter(columns.values())))
    distinct, codes = as_ids(criteria, "criteria", n_items)
    shared = with_resamples(options, n_items)
    mask = resolve(n_items, shared, weighted=True)[1]
    where = np.ones(n_items, dtype=np.bool_) if mask is None else mask
    found = {}
    for place, name in enumerate(distinct.tolist()):
        chosen: Sampling = {**shared, "where": where & (codes == place)}
        found[name] = evaluator_correlations(
            columns, method=method, missing=missing, scenarios=scenarios, level=level, **chosen
        )
    return found


def _columns(ratings: Mapping[str, ArrayLike]) -> dict[str, Floats]:
    ratings = as_mapping(ratings, "ratings")
    if len(ratings) < 2:
        raise InvalidInputError("ratings: expected two evaluators or more")
    columns = {}
    for name, values in ratings.items():
        matrix = as_matrix(values, f"ratings[{name!r}]")
        known = ~np.isnan(matrix)
        count = known.sum(axis=1)
        total = np.where(known, matrix, 0.0).sum(axis=1)
        columns[str(name)] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InvalidInputError(f"ratings: expected columns of one length, got {sorted(lengths)}")
    return columns


def _table(
    columns: dict[str, Floats],
    weights: Floats,
    given: Floats | None,
    resamples: Resamples,
    confidence: float,
    method: Method,
) -> EvaluatorCorrelations:
    names = tuple(columns)
    size = len(names)
    estimates: dict[tuple[str, str], Estimate] = {}
    asked: dict[tuple[int, int], Columns] = {}
    for a in range(size):
        for b in range(a, size):
            one, two = columns[names[a]], columns[names[b]]
            both = np.where(np.isnan(one) | np.isnan(two), 0.0, weights)
            counted = both > 0
            n = int(counted.sum())
            reason = why_not(one[counted], two[counted])
            if reason is not None:
                reason = why_none(reason, given)
            if reason is not None:
                estimates[names[a], names[b]] = Estimate(math.nan, math.nan, math.nan, n, reason=reason)
            elif a == b:
                estimates[names[a], names[b]] = Estimate(1.0, 1.0, 1.0, n)
            else:
                asked[a, b] = Columns(one, two, both)
    draws = resampled_correlations(list(asked.values()), resamples, method)
    for place, ((a, b), pair) in enumerate(asked.items()):
        estimates[names[a], names[b]] = finish_correlation(
            weighted_correlation(pair, method), draws[:, place], pair.weights > 0, resamples, confidence
        )
    means, deviations = {}, {}
    for name, column in columns.items():
        rated = np.where(weights > 0, column, np.nan)
        if np.isnan(rated).all():
            nothing = Estimate(math.nan, math.nan, math.nan, 0, reason=why_none("no ratings", given))
            means[name], deviations[name] = nothing, nothing
        else:
            means[name], deviations[name] = _mean_and_deviation(rated, weights, resamples, confidence)
    return EvaluatorCorrelations(
        names=names,
        **_arrays(names, estimates),
        means=np.array([means[name].value for name in names]),
        deviations=np.array([deviations[name].value for name in names]),
        method=method,
        estimates=estimates,
        mean_estimates=means,
        deviation_estimates=deviations,
    )


def _mean_and_deviation(
    rated: Floats, weights: Floats, resamples: Resamples, confidence: float
) -> tuple[Estimate, Estimate]:
    """Mean and standard deviation, with intervals: percentiles, as neither has an upper bound."""
    known = ~np.isnan(rated)
    n = int(known.sum())
    counted = known & (weights > 0)
    if n > 1 and counted.any() and is_flat(rated[known]):
        # Resamples of one value are that value, which is no evidence that there are no others.
        size, n_clusters = int(counted.sum()), clusters_counted(counted, resamples)
        mean = Estimate(
            float(rated[counted].mean()), math.nan, math.nan, size, n_clusters, "none", _ONE_VALUE
        )
        return mean, replace(mean, value=0.0)
    mean = mean_estimate(rated, bounds=None, resamples=resamples, confidence=confidence, weights=weights)
    if n < 2:
        return mean, Estimate(math.nan, math.nan, math.nan, n, mean.n_clusters, reason="fewer than 2 ratings")
    centred = np.where(known, rated - mean.value, 0.0)
    used = np.where(known, weights, 0.0)
    columns = np.stack([used, used * centred, used * centred**2], axis=1)

    def deviation(totals: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = totals[:, 2] / totals[:, 0] - (totals[:, 1] / totals[:, 0]) ** 2
        found: Floats = np.sqrt(np.maximum(variance, 0.0) * n / (n - 1))
        return found

    value = float(deviation(columns.sum(axis=0)[np.newaxis])[0])
    low = high = math.nan
    if resamples.n_resamples and mean.n_clusters > 1:
        drawn = deviation(resamples.totals(columns))
        drawn = drawn[~np.isnan(drawn)]
        if len(drawn):
            low, high = percentiles(value, drawn, confidence)
    method = "none" if math.isnan(low) else "percentile"
    return mean, Estimate(value, low, high, n, mean.n_clusters, method, mean.reason)
