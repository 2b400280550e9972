"""Logistic regression with an L1 penalty, for shares as well as for yes and no: many sets of weights at once.

Minimised is the sum over rows of weight times log loss, plus ``penalty`` times the sum of the absolute coefficients:
what liblinear minimises with C = 1 / penalty. Each step solves the quadratic model by coordinate descent and is
shortened as in `metaeval.stats.bradley_terry_fit`.
"""

import numpy as np

from metaeval.stats.arrays import Booleans, Floats
from metaeval.stats.tie_models import logistic

_STEPS = 200
_SWEEPS = 500
_TOLERANCE = 1e-9
_WHOLE_STEP = 0.1


def fit_logistic(
    features: Floats, target: Floats, weights: Floats, penalty: Floats, start: Floats | None = None
) -> tuple[Floats, Booleans]:
    """Coefficients of each set of weights, (n_fits, k), and whether each has converged.

    Parameters
    ----------
    features : ndarray of shape (n_rows, k)
    target : ndarray of shape (n_rows,)
        In [0, 1].
    weights : ndarray of shape (n_rows, n_fits)
    penalty : ndarray of shape (n_fits,)
    start : ndarray of shape (k,), optional
    """
    n_fits, size = weights.shape[1], features.shape[1]
    coefficients = np.zeros((n_fits, size)) if start is None else np.tile(start, (n_fits, 1))
    products = np.einsum("nk,nl->nkl", features, features).reshape(len(features), -1)
    converged = np.zeros(n_fits, dtype=bool)
    left = np.arange(n_fits)
    for _ in range(_STEPS):
        chance = logistic(features @ coefficients[left].T)
        weight = weights if len(left) == n_fits else weights[:, left]
        gradient = (features.T @ (weight * (target[:, np.newaxis] - chance))).T
        information = (products.T @ (weight * chance * (1 - chance))).T.reshape(-1, size, size)
        # Where all chances are 0 or 1 there is no curvature left: steps stay finite, and do not converge.
        information[:, np.arange(size), np.arange(size)] += 1e-12
        step = _minimise(coefficients[left], gradient, information, penalty[left]) - coefficients[left]
        moved = np.abs(features @ step.T).max(axis=0, initial=0.0)
        small = moved < _WHOLE_STEP
        scale = np.where(small, 1.0, np.log1p(moved) / np.where(small, 1.0, moved))
        coefficients[left] += scale[:, np.newaxis] * step
        done = np.abs(step).max(axis=1, initial=0.0) < _TOLERANCE
        converged[left[done]] = True
        left = left[~done]
        if not len(left):
            break
    return coefficients, converged


def _minimise(at: Floats, gradient: Floats, information: Floats, penalty: Floats) -> Floats:
    """Where the penalised quadratic model is least, by coordinate descent: (n_fits, k)."""
    if not penalty.any():
        solved = np.linalg.solve(information, gradient[:, :, np.newaxis])[:, :, 0]
        return np.asarray(at + solved, dtype=np.float64)
    place = at.copy()
    slope = gradient + np.einsum("bkl,bl->bk", information, at)
    for _ in range(_SWEEPS):
        before = place.copy()
        for column in range(at.shape[1]):
            own = information[:, column, column]
            rest = (
                slope[:, column]
                - np.einsum("bl,bl->b", information[:, column], place)
                + own * place[:, column]
            )
            place[:, column] = np.sign(rest) * np.maximum(np.abs(rest) - penalty, 0.0) / own
        if np.abs(place - before).max(initial=0.0) < _TOLERANCE / 10:
            break
    return place


def cross_validated_penalty(
    features: Floats, target: Floats, weights: Floats, candidates: Floats, n_folds: int = 5
) -> float:
    """The candidate with the least log loss on rows that had no part in the fit; every n-th row is a fold."""
    n_folds = min(n_folds, len(target))
    fold = np.arange(len(target)) % n_folds
    inside = (fold[:, np.newaxis] != np.arange(n_folds)).astype(np.float64)
    losses = np.zeros(len(candidates))
    training = np.repeat(inside * weights[:, np.newaxis], len(candidates), axis=1)
    coefficients, _ = fit_logistic(features, target, training, np.tile(candidates, n_folds))
    for held_out in range(n_folds):
        rows = fold == held_out
        own = coefficients[held_out * len(candidates) : (held_out + 1) * len(candidates)]
        losses += log_loss(features[rows], target[rows], weights[rows], own) / n_folds
    return float(candidates[int(np.argmin(losses))])


def log_loss(features: Floats, target: Floats, weights: Floats, coefficients: Floats) -> Floats:
    """Weighted mean log loss of each set of coefficients, (n_fits,)."""
    d = features @ coefficients.T
    loss = np.logaddexp(0.0, d) - target[:, np.newaxis] * d
    result: Floats = weights @ loss / len(target)
    return result
