"""Whether several systems differ at all: one-way analysis of variance, and its permutation test within blocks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import align
from metaeval.stats.arrays import Floats, Seed, as_columns, as_items, generator
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.ids import as_codes
from metaeval.stats.options import as_count
from metaeval.stats.results import Result

# Draws of one number kept at once.
_CHUNK = 2_000_000
# Sums that differ by less than this share are the same sum, added in another order.
_GRAIN = 1e-9


@dataclass(frozen=True, slots=True)
class OneWayAnova(Result):
    """The result of `one_way_anova`.

    Attributes
    ----------
    statistic : float
        F; infinite where the groups differ and nothing varies inside them, NaN where nothing varies at all.
    p_value : float
        Of Fisher's F distribution: values independent, of one variance, near normal.
    df_between, df_within : int
    eta_squared : float
        Share of the sum of squares that lies between the groups, in [0, 1].
    n, n_groups : int
    permutation_p_value : float
        Of permutations within blocks; NaN without blocks.
    reason : str or None
        Why F is undefined.
    """

    statistic: float
    p_value: float
    df_between: int
    df_within: int
    eta_squared: float
    n: int
    n_groups: int
    permutation_p_value: float = math.nan
    reason: str | None = None


def one_way_anova(
    groups: Sequence[ArrayLike] | Mapping[Any, ArrayLike] | ArrayLike,
    *,
    blocks: Any = None,
    n_permutations: int = 9_999,
    rng: Seed = None,
) -> OneWayAnova:
    """One-way analysis of variance: do the groups have one mean?

    Parameters
    ----------
    groups : sequence or mapping of array_like of shape (n_k,), or array or frame of shape (n_items, n_groups)
        The values of each group: of each model, its score on every question. NaN takes no part.
    blocks : array_like of shape (n_items,), optional
        If all groups are scored on the same items, item *i* being row *i* of every group: the instruction (cluster) of
        each item. Then a permutation test is made too.
    n_permutations : int, default 9,999
    rng : int, numpy.random.Generator or None

    Returns
    -------
    OneWayAnova
        F is NaN, with a `StatisticsWarning`, with fewer than two groups, no group of two values, or a single value.

    Notes
    -----
    Models that answer the same questions are *not* independent groups: easy questions are easy for all of them. The F
    test then has too little power, and with clustered questions it may be too sure. The permutation test
    exchanges the models within each block, a cluster's items together, and asks how often F is as large: it is exact
    whatever the distribution, if under the hypothesis the models are exchangeable on every instruction. Items with NaN
    in any group take no part in it.

    References
    ----------
    R. A. Fisher, "Statistical Methods for Research Workers", 1925, ch. 7; M. Gritta et al., "HumanRankEval", NAACL 2024
    (separation of models); P. Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005, ch. 5.

    Examples
    --------
    >>> found = one_way_anova([[1, 2, 3], [2, 3, 4], [5, 6, 7]])
    >>> round(found.statistic, 6), found.df_between, found.df_within, round(found.p_value, 4)
    (13.0, 2, 6, 0.0066)
    """
    parts = as_columns(groups, "groups")
    if blocks is not None:  # the same items in every group
        given = align({"groups": parts, "blocks": blocks})
        parts, blocks = given["groups"], given["blocks"]
    columns = [as_items(values, f"groups[{place}]") for place, values in enumerate(parts)]
    samples = [column[~np.isnan(column)] for column in columns]
    samples = [sample for sample in samples if len(sample)]
    n, size = sum(map(len, samples)), len(samples)
    reason = None
    if size < 2:
        reason = "fewer than two groups have a value"
    elif n <= size:
        reason = "no group has two values"
    elif np.ptp(np.concatenate(samples)) == 0:
        reason = "all values are the same"
    if reason is not None:
        warn(reason)
        return OneWayAnova(
            math.nan, math.nan, max(size - 1, 0), max(n - size, 0), math.nan, n, size, reason=reason
        )
    # Centred first: the sums of squares of large values with small differences lose their digits otherwise.
    grand = float(np.concatenate(samples).mean())
    between = sum(len(sample) * (float(sample.mean()) - grand) ** 2 for sample in samples)
    within = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in samples)
    df_between, df_within = size - 1, n - size
    constant = all(np.ptp(sample) == 0 for sample in samples)
    statistic = math.inf if constant else (between / df_between) / (within / df_within)
    p_value = 0.0 if constant else float(special.fdtrc(df_between, df_within, statistic))
    permuted = math.nan
    if blocks is not None:
        permuted = _permutation(columns, blocks, n_permutations, rng)
    share = 1.0 if constant else between / (between + within)
    return OneWayAnova(statistic, p_value, df_between, df_within, share, n, size, permuted)


def _permutation(columns: list[Floats], blocks: Any, n_permutations: int, rng: Seed) -> float:
    """Share of the permutations, the one seen among them, in which the groups' means lie as far apart."""
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InvalidInputError("blocks: expected groups of one length, item i being row i of every group")
    n_permutations = as_count(n_permutations, "n_permutations", 1)
    table = np.stack(columns, axis=1)
    codes, n_blocks = as_codes(blocks, "blocks", len(table))
    whole = np.asarray(~np.isnan(table).any(axis=1))
    table = np.where(whole[:, np.newaxis], table, 0.0)
    rows = np.stack([np.bincount(codes, weights=column, minlength=n_blocks) for column in table.T], axis=1)
    rows -= rows.mean(axis=1, keepdims=True)
    # All groups have the same items, and their total is fixed: F grows with the squares of the groups' sums.
    seen = float((rows.sum(axis=0) ** 2).sum())
    draw = generator(rng)
    step = max(1, _CHUNK // max(1, rows.size))
    as_far = 0
    for start in range(0, n_permutations, step):
        many = min(step, n_permutations - start)
        shuffled = draw.permuted(np.broadcast_to(rows, (many, *rows.shape)), axis=2)
        sums = (shuffled.sum(axis=1) ** 2).sum(axis=1)
        as_far += int((sums >= seen * (1 - _GRAIN)).sum())
    return (as_far + 1) / (n_permutations + 1)
