"""Juries of pairs whose members' weights are fitted to labels, and how good they are where they were not fitted.

A verdict of the jury on an item comes from weights that were fitted without the item's instruction (cross-fitting): its
agreement is that of a jury fitted on so many labels, on new instructions. The weights to use come from all labels; how
much better these look on the labels that they were fitted to is the optimism, which is reported and never subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats import InvalidInputError
from metaeval.stats.arrays import Floats, Integers, Seed, generator
from metaeval.stats.errors import warn
from metaeval.stats.penalised_logistic import fit_logistic

Method = Literal["logistic", "log_odds", "best_member"]
METHODS: tuple[Method, ...] = get_args(Method)
N_FOLDS = 10
PENALTY = 1.0
"""Of the logistic regression, L1: what liblinear has by default."""
MOST_MARGINS = 50
"""Tie margins that are tried."""
_DECIMALS = 6
"""Of weights: enough, and the same in a file as in memory."""
SCORE_DECIMALS = 9


@dataclass(frozen=True, slots=True, eq=False)
class JuryWeights:
    """How much each member's verdict counts.

    Attributes
    ----------
    weights : ndarray of shape (n_members,)
        Added for a verdict for the first response, subtracted for one for the second; in log-odds. Below 0: the member
        is wrong more often than right.
    tie_margin : float
        A sum at most so far from 0 is a tie, >= 0.
    """

    weights: Floats
    tie_margin: float = 0.0

    def scores(self, verdicts: Floats) -> Floats:
        """Return the sums of each request, (n_requests,), from verdicts, (n_requests, n_members).

        Rounded as in `judges.strategies.combining`: noise of floats must not decide whether equal votes are a tie.
        """
        return np.round(_signs(verdicts) @ self.weights, SCORE_DECIMALS)

    def verdicts(self, verdicts: Floats) -> Floats:
        """Return the jury's verdict on each request; NaN where no member has one."""
        said = _decided(self.scores(verdicts), self.tie_margin)
        return np.where(np.isnan(verdicts).all(axis=1), np.nan, said)


@dataclass(frozen=True, slots=True, eq=False)
class CrossFittedJury:
    """A jury, and what it says of each item by weights that were fitted without it.

    Attributes
    ----------
    fit : JuryWeights
        From all labels: those to use.
    verdicts : ndarray of shape (n_items, n_orders)
        Each by weights of the other folds.
    in_sample : ndarray of shape (n_items, n_orders)
        By `fit`, on what it was fitted to.
    by_fold : ndarray of shape (n_folds, n_members)
        How stable the weights are.
    """

    fit: JuryWeights
    verdicts: Floats
    in_sample: Floats
    by_fold: Floats


def cross_fit(
    verdicts: ArrayLike,
    shares: ArrayLike,
    clusters: ArrayLike,
    *,
    method: Method = "logistic",
    weights: ArrayLike | None = None,
    n_folds: int = N_FOLDS,
    rng: Seed = 0,
) -> CrossFittedJury:
    """Fit the weights of a jury of pairs, and judge each item by weights fitted without its cluster.

    Parameters
    ----------
    verdicts : array_like of shape (n_members, n_items, n_orders)
        1, 2, 0 for a tie, NaN for unparsed or not judged; canonical.
    shares : array_like of shape (n_items, 3)
        Of an item's labels the shares of ties, of the first and of the second response; NaN without labels. A gold
        answer has a share of 1.
    clusters : array_like of shape (n_items,)
        The instruction of each item: items that share one are never on both sides of a fold.
    method : {"logistic", "log_odds", "best_member"}
        How weights are fitted: together, by logistic regression with an L1 penalty of 1; each by itself, as the
        log-odds of how often the member is right (the best weights of independent members); or 1 for the member that
        agrees most, which a jury has to beat.
    weights : array_like of shape (n_items,), optional
        Sampling weights.
    n_folds : int
        At least 2; fewer where there are fewer clusters with labels.

    Returns
    -------
    CrossFittedJury
        All NaN, with a `StatisticsWarning`, where fewer than two clusters have labels and verdicts.

    Raises
    ------
    InvalidInputError
        Shapes do not fit, or a value or a method is unknown.

    Notes
    -----
    Log-odds: S. Nitzan, J. Paroush, "Optimal decision rules in uncertain dichotomous choice situations",
    International Economic Review 23 (1982), shares smoothed by Laplace's rule. Ties of labels count half for either
    side; a jury calls a tie where the margin that agrees best with the labels of the fit is above 0.

    Examples
    --------
    >>> said = [[[1], [1], [2], [2]], [[2], [1], [1], [2]]]
    >>> labels = [[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    >>> jury = cross_fit(said, labels, [0, 1, 2, 3], method="log_odds", n_folds=2)
    >>> jury.fit.weights.round(3).tolist(), jury.verdicts[:, 0].tolist()
    ([1.609, 0.0], [1.0, 1.0, 2.0, 2.0])
    """
    said, label = np.asarray(verdicts, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    if said.ndim != 3 or label.shape != (said.shape[1], 3):
        raise InvalidInputError(
            f"verdicts: expected shape (n_members, n_items, n_orders) and shares of (n_items, 3), "
            f"got {said.shape} and {label.shape}"
        )
    if not (np.isnan(said) | np.isin(said, (0, 1, 2))).all():
        raise InvalidInputError("verdicts: expected 0, 1, 2 or NaN")
    if method not in METHODS:
        raise InvalidInputError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if n_folds < 2:
        raise InvalidInputError(f"n_folds: expected 2 or more, got {n_folds}")
    n_members, n_items, n_orders = said.shape
    own = np.ones(n_items) if weights is None else np.asarray(weights, dtype=np.float64)
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    rows = _Rows(said.reshape(n_members, -1).T, np.repeat(label, n_orders, axis=0))
    # An item counts once, however many orders were judged; without a label or a verdict it doesn't.
    asked = ~np.isnan(said).all(axis=0)
    shared = asked * (own / np.maximum(asked.sum(axis=1), 1))[:, np.newaxis]
    shared[np.isnan(label).any(axis=1)] = 0.0
    if len(np.unique(codes[shared.any(axis=1)])) < 2:
        warn("labels and verdicts of fewer than two instructions: there is nothing to fit weights on")
        nothing = np.full((n_items, n_orders), np.nan)
        unknown = np.full((1, n_members), np.nan)
        return CrossFittedJury(JuryWeights(unknown[0], np.nan), nothing, nothing.copy(), unknown)
    fold = np.repeat(_folds(codes, shared.any(axis=1), n_folds, rng), n_orders)
    # One fit without each fold, and one of everything: the last.
    inside = np.column_stack([fold[:, np.newaxis] != np.arange(fold.max() + 1), np.ones(len(fold), np.bool_)])
    *others, fit = _fits(rows, inside * shared.reshape(-1)[:, np.newaxis], method)
    found = np.full(len(fold), np.nan)
    for one, fitted in enumerate(others):
        found[fold == one] = fitted.verdicts(rows.verdicts[fold == one])
    shape = (n_items, n_orders)
    return CrossFittedJury(
        fit,
        found.reshape(shape),
        fit.verdicts(rows.verdicts).reshape(shape),
        np.array([one.weights for one in others]),
    )


def majority_verdicts(verdicts: ArrayLike) -> Floats:
    """Return what most members say, (n_items, n_orders), from verdicts, (n_members, n_items, n_orders).

    Of 1, 2 and 0 for a tie the most frequent; equal votes are a tie; NaN where no member has a verdict.

    Examples
    --------
    >>> majority_verdicts([[[1], [1]], [[0], [2]], [[0], [np.nan]]])[:, 0].tolist()
    [0.0, 0.0]
    """
    said = np.asarray(verdicts, dtype=np.float64)
    votes = np.stack([(said == choice).sum(axis=0) for choice in (0, 1, 2)])
    most = votes.max(axis=0)
    clear = (votes == most).sum(axis=0) == 1
    return np.where(most == 0, np.nan, np.where(clear, votes.argmax(axis=0), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Requests: what members said, (n_rows, n_members), and the shares of labels, (n_rows, 3)."""

    verdicts: Floats
    shares: Floats

    @property
    def for_first(self) -> Floats:
        """The share of labels for the first response, a tie counting half; one half without labels."""
        return np.nan_to_num(self.shares[:, 1] + self.shares[:, 0] / 2, nan=0.5)


def _folds(codes: Integers, counts: Any, n_folds: int, rng: Seed) -> Integers:
    """The fold of each item; items of a cluster are in one, and clusters with labels are spread evenly."""
    labelled = np.unique(codes[counts])
    n_folds = min(n_folds, len(labelled))
    fold = np.zeros(int(codes.max()) + 1, dtype=np.intp)
    fold[labelled] = generator(rng).permutation(len(labelled)) % n_folds
    return fold[codes]


def _fits(rows: _Rows, weights: Floats, method: Method) -> list[JuryWeights]:
    """One fit for each column of weights of rows, (n_rows, n_fits)."""
    found = np.round(_WEIGHTINGS[method](rows, weights), _DECIMALS)
    return [
        JuryWeights(own, 0.0 if method == "best_member" else _best_margin(JuryWeights(own), rows, column))
        for own, column in zip(found, weights.T, strict=True)
    ]


def _best_member(rows: _Rows, weights: Floats) -> Floats:
    """All weight on the member whose verdicts agree with most labels; of equals, the first."""
    agreement = np.stack([_agreement(column, rows.shares) for column in rows.verdicts.T], axis=1)
    best = np.argmax(np.round(weights.T @ agreement, 9), axis=1)
    return np.asarray(np.eye(rows.verdicts.shape[1])[best], dtype=np.float64)


def _log_odds(rows: _Rows, weights: Floats) -> Floats:
    """Each member's log-odds of being right where it decides, a tie of labels being half right."""
    decided = (rows.verdicts == 1) | (rows.verdicts == 2)
    first = rows.for_first[:, np.newaxis]
    credit = np.where(rows.verdicts == 1, first, 1 - first) * decided
    share = (weights.T @ credit + 1) / (weights.T @ decided + 2)
    return np.asarray(np.log(share / (1 - share)), dtype=np.float64)


def _logistic(rows: _Rows, weights: Floats) -> Floats:
    """The coefficients of a regression without intercept: it does not matter which response is called the first."""
    penalty = np.full(weights.shape[1], PENALTY)
    return fit_logistic(_signs(rows.verdicts), rows.for_first, weights, penalty)[0]


_WEIGHTINGS = {
    "logistic": _logistic,
    "log_odds": _log_odds,
    "best_member": _best_member,
}


def _signs(verdicts: Floats) -> Floats:
    """1 for the first response, -1 for the second, 0 for a tie and where there is no verdict."""
    return np.asarray((verdicts == 1).astype(np.float64) - (verdicts == 2), dtype=np.float64)


def _decided(scores: Floats, margin: float) -> Floats:
    said = np.where(np.abs(scores) <= margin, 0.0, np.where(scores > 0, 1.0, 2.0))
    return np.asarray(said, dtype=np.float64)


def _agreement(verdicts: Floats, shares: Floats) -> Floats:
    """The share of an item's labels that a verdict is, 0 where there is none."""
    place = np.nan_to_num(verdicts).astype(np.intp)
    found = np.nan_to_num(shares[np.arange(len(shares)), place])
    return np.asarray(np.where(np.isnan(verdicts), 0.0, found), dtype=np.float64)


def _best_margin(fit: JuryWeights, rows: _Rows, weights: Floats) -> float:
    """The smallest margin whose verdicts agree with most labels; 0 where no label is a tie."""
    counted = weights > 0
    if not (rows.shares[counted, 0] > 0).any():
        return 0.0
    scores, shares, own = fit.scores(rows.verdicts[counted]), rows.shares[counted], weights[counted]
    tried = np.unique(np.quantile(np.abs(scores), np.linspace(0, 1, MOST_MARGINS), method="lower"))
    margins = np.concatenate([[0.0], tried[tried > 0]])
    found = [own @ _agreement(_decided(scores, margin), shares) for margin in margins]
    # Rounding must not decide between margins that agree alike.
    return float(margins[int(np.argmax(np.round(found, 9)))])
