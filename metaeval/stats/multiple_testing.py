"""Many tests at once: p-values adjusted for their number, and all judges compared with each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Seed, as_floats, as_items, as_mapping, check_option
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.hypothesis_tests import TestResult, paired_permutation_test
from metaeval.stats.options import as_count
from metaeval.stats.results import Result
from metaeval.stats.sign_flips import Alternative

Adjustment: TypeAlias = Literal["holm", "bonferroni", "benjamini_hochberg", "benjamini_yekutieli"]

_HOCHBERG: Adjustment = "benjamini_hochberg"
_ADJUSTMENTS = ("holm", "bonferroni", _HOCHBERG, "benjamini_yekutieli")
# So many permutations for each test of a family: then even the first step of Holm can reach 0.01.
_PERMUTATIONS_PER_TEST = 100


def adjust_p_values(p_values: ArrayLike, *, method: Adjustment = "holm") -> Floats:
    """P-values of a family of tests, adjusted for how many there are.

    Parameters
    ----------
    p_values : array_like, any shape
        In [0, 1]; NaN (a test that could not be made) takes no part, is not counted and stays NaN.
    method : {"holm", "bonferroni", "benjamini_hochberg", "benjamini_yekutieli"}
        The first two control the chance of any false finding, whatever the dependence; the latter two the expected
        share of false findings among the findings, under positive dependence and under any.

    Returns
    -------
    ndarray, same shape
        Compare with the level: an adjusted p-value of at most 0.05 is a finding.

    Raises
    ------
    InvalidInputError
        Of what is no p-value, or an unknown method.

    References
    ----------
    S. Holm, Scand. J. Stat. 6 (1979); Y. Benjamini and Y. Hochberg, JRSS B 57 (1995); Y. Benjamini and
    D. Yekutieli, Ann. Stat. 29 (2001).

    Examples
    --------
    >>> [round(p, 6) for p in adjust_p_values([0.01, 0.04, 0.03]).tolist()]
    [0.03, 0.06, 0.06]
    """
    check_option(method, _ADJUSTMENTS, "method")
    values = as_floats(p_values, "p_values")
    known = ~np.isnan(values)
    found = values[known]
    if ((found < 0) | (found > 1)).any():
        raise InvalidInputError("p_values: expected numbers between 0 and 1, or NaN")
    result: Floats = np.full(values.shape, np.nan)
    size = len(found)
    if size == 0:
        return result
    if method == "bonferroni":
        result[known] = np.minimum(found * size, 1.0)
    elif method == "holm":
        order = np.argsort(found, kind="stable")
        found[order] = np.maximum.accumulate(found[order] * np.arange(size, 0, -1))
        result[known] = np.minimum(found, 1.0)
    else:
        order, ranks = np.argsort(found, kind="stable"), np.arange(1, size + 1)
        raised = found[order] * (size / ranks)
        if method != _HOCHBERG:
            raised *= np.sum(1 / ranks)
        found[order] = np.minimum.accumulate(raised[::-1])[::-1]
        result[known] = np.minimum(found, 1.0)
    return result


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """One test of a family.

    Attributes
    ----------
    first, second : str
        The two judges; the difference is first minus second.
    test : TestResult
        As if it were the only one.
    adjusted_p_value : float
        Allowing for the other tests of the family.
    """

    first: str
    second: str
    test: TestResult
    adjusted_p_value: float


@aligned()
def compare_all(
    scores: Mapping[str, ArrayLike],
    *,
    against: str | None = None,
    method: Adjustment = "holm",
    clusters: Any = None,
    n_permutations: int = 10_000,
    alternative: Alternative = "two-sided",
    where: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
    rng: Seed = None,
) -> tuple[Comparison, ...]:
    """Compare every two judges, or all with one, by `paired_permutation_test`, adjusted for the family.

    Parameters
    ----------
    scores : mapping of str to array_like of shape (n_items,)
        By judge, what each item contributes to its mean; each pair is compared on the items that both have.
    against : str, optional
        The judge that all others are compared with; each is the first, this one the second. Default: all pairs.
    method : {"holm", "bonferroni", "benjamini_hochberg", "benjamini_yekutieli"}
        See `adjust_p_values`.
    clusters
        As in `paired_permutation_test`.
    n_permutations : int, default 10_000
        At least 100 for each test of the family are drawn, else a large family could find nothing.
    alternative, where, weights, confidence, rng
        As in `paired_permutation_test`. The intervals are not adjusted.

    Returns
    -------
    tuple of Comparison
        In the order of ``scores``.

    Raises
    ------
    InvalidInputError
        Where judges have different numbers of items, and for a judge to compare with that has no scores.

    References
    ----------
    As of `paired_permutation_test` and `adjust_p_values`.

    Examples
    --------
    >>> good, bad = [1] * 20, [1, 0] * 10
    >>> [(found.first, found.second, round(found.adjusted_p_value, 4))
    ...  for found in compare_all({"a": good, "b": bad, "c": good})]
    [('a', 'b', 0.0059), ('a', 'c', 1.0), ('b', 'c', 0.0059)]
    """
    check_option(method, _ADJUSTMENTS, "method")
    n_permutations = as_count(n_permutations, "n_permutations", 1)
    columns = {
        name: as_items(column, f"scores[{name!r}]") for name, column in as_mapping(scores, "scores").items()
    }
    if len({len(column) for column in columns.values()}) > 1:
        raise InvalidInputError("scores: judges with different numbers of items")
    if against is not None and against not in list(columns):
        raise InvalidInputError(f"against: no scores of {against!r}")
    names = [
        (one, two)
        for one, two in (
            combinations(columns, 2) if against is None else ((name, against) for name in columns)
        )
        if one != two
    ]
    tests = [
        paired_permutation_test(
            columns[one],
            columns[two],
            clusters=clusters,
            n_permutations=max(n_permutations, _PERMUTATIONS_PER_TEST * len(names)),
            alternative=alternative,
            where=where,
            weights=weights,
            confidence=confidence,
            rng=rng,
        )
        for one, two in names
    ]
    adjusted = adjust_p_values([test.p_value for test in tests], method=method)
    return tuple(
        Comparison(one, two, test, float(p_value))
        for (one, two), test, p_value in zip(names, tests, adjusted, strict=True)
    )
