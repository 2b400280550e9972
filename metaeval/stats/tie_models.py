"""What a comparison tells of the difference of two strengths, with and without a parameter for ties.

A pair of systems has the counts (wins of the first, wins of the second, ties) and the difference ``d`` of their
log strengths (with whatever else favors the first). Every model gives the log-likelihood's slope and curvature
in ``d`` and in the tie parameter ``k``; the solver needs nothing else.

====================  =========================================================  =================
model                 chances of (first, second, tie), proportional to            ``k``
====================  =========================================================  =================
half, omit            s(d), s(-d); a tie is half a win of each, or left out       none
davidson              exp(d/2), exp(-d/2), v                                      log v
rao_kupper            s(d - k), s(-d - k), the rest                               log of theta, > 0
====================  =========================================================  =================

where s is the logistic function. R. R. Davidson, JASA 65 (1970); P. V. Rao and L. L. Kupper, JASA 62 (1967).
"""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import special

from metaeval.stats.arrays import Floats

TieModel: TypeAlias = Literal["half", "omit", "davidson", "rao_kupper"]

TIE_MODELS = ("half", "omit", "davidson", "rao_kupper")
WITH_PARAMETER = ("davidson", "rao_kupper")


class Slopes(NamedTuple):
    """First derivatives and negative second derivatives, each of the shape of ``d``; those of ``k`` may be None."""

    d: Floats
    dd: Floats
    k: Floats | None = None
    kk: Floats | None = None
    dk: Floats | None = None


def logistic(d: Floats) -> Floats:
    """The logistic function, several times as fast as scipy's and exact to the last bits where it matters."""
    with np.errstate(over="ignore"):
        result: Floats = 1.0 / (1.0 + np.exp(-d))
    return result


def slopes(model: TieModel, d: Floats, k: Floats, one: Floats, two: Floats, tie: Floats) -> Slopes:
    """Derivatives of the log-likelihood of each pair.

    Parameters
    ----------
    d : ndarray of shape (n_fits, n_pairs)
    k : ndarray of shape (n_fits, 1)
    one, two, tie : ndarray of shape (n_fits, n_pairs) or (n_pairs,)
        Counts of the three outcomes.
    """
    if model == "davidson":
        return _davidson(d, k, one, two, tie)
    if model == "rao_kupper":
        return _rao_kupper(d, k, one, two, tie)
    half = 0.5 if model == "half" else 0.0
    chance = logistic(d)
    whole = one + two + 2 * half * tie
    expected = whole * chance
    return Slopes(one + half * tie - expected, expected * (1 - chance))


def _davidson(d: Floats, k: Floats, one: Floats, two: Floats, tie: Floats) -> Slopes:
    first, second, drawn = outcome_chances("davidson", d, k)
    whole = one + two + tie
    lead = first - second
    return Slopes(
        (one - two - whole * lead) / 2,
        whole * (first + second - lead**2) / 4,
        tie - whole * drawn,
        whole * drawn * (1 - drawn),
        -whole * drawn * lead / 2,
    )


def _rao_kupper(d: Floats, k: Floats, one: Floats, two: Floats, tie: Floats) -> Slopes:
    # A tie's chance is (theta^2 - 1) s(d - k) s(-d - k): it counts as a win of each, and one factor in theta.
    ones, twos = one + tie, two + tie
    first, second = logistic(d - k), logistic(-d - k)
    bend_1, bend_2 = ones * first * (1 - first), twos * second * (1 - second)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = -np.expm1(-2 * k)
        factor = np.where(tie > 0, 2 * tie / rest, 0.0)
        bend = np.where(tie > 0, 4 * tie * np.exp(-2 * k) / rest**2, 0.0)
    pull_1, pull_2 = ones * (1 - first), twos * (1 - second)
    return Slopes(
        pull_1 - pull_2, bend_1 + bend_2, factor - pull_1 - pull_2, bend + bend_1 + bend_2, bend_2 - bend_1
    )


def outcome_chances(model: TieModel, d: Floats, k: Floats) -> tuple[Floats, Floats, Floats]:
    """Chances that the first is preferred, the second is, and that they tie."""
    if model == "davidson":
        top = np.abs(d) / 2
        first, second, drawn = np.exp(d / 2 - top), np.exp(-d / 2 - top), np.exp(k - top)
        whole = first + second + drawn
        return first / whole, second / whole, drawn / whole
    if model == "rao_kupper":
        first, second = logistic(d - k), logistic(-d - k)
        return first, second, 1 - first - second
    first = logistic(d)
    return first, 1 - first, np.zeros_like(first)


def log_likelihood(model: TieModel, d: Floats, k: float, counts: Floats) -> float:
    """Log-likelihood of counts of shape (3, n_pairs); with ties as halves it is a quasi-likelihood."""
    one, two, tie = counts
    if model in ("half", "omit"):
        half = tie / 2 if model == "half" else 0.0
        return float(np.sum((one + half) * special.log_expit(d) + (two + half) * special.log_expit(-d)))
    chances = outcome_chances(model, d, np.array(k))
    with np.errstate(divide="ignore"):
        return float(sum(np.sum(special.xlogy(n, p)) for n, p in zip(counts, chances, strict=True)))


def start_of(model: TieModel, counts: Floats) -> Floats:
    """A first guess of ``k`` from counts of shape (n_fits, 3, n_pairs): as if all systems were equal.

    Without a single tie the estimate lies at the edge, where ties have no chance: -inf (Davidson) or 0.
    """
    ties = counts[:, 2].sum(axis=1)
    decided = counts[:, :2].sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ties / decided
        # Rao and Kupper: s(-k) is half of the share of decided ones.
        guess: Floats = np.log(2 * ratio) if model == "davidson" else np.log1p(2 * ratio)
    return guess
