"""Which judges cannot be told apart from the best: a model confidence set of the objective.

Hansen, Lunde and Nason's scheme. As long as the judges left are not equally good by a test at the level, the one
that is worst by it is dropped. The test statistic is the largest studentised lead of the leader over another judge
left. Its null distribution is simulated: where all are equally good, the one that leads is the one that chance
favoured, and the means vary together as the clusters say (a multivariate t).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from metaeval.selection.objective import Objective, satterthwaite
from metaeval.selection.table import sums_by_code
from metaeval.selection.types import Floats

# The level is met to about 0.2 points; the seed is fixed because quantiles are constants.
_DRAWS = 10_000
_SEED = 20_240_601
_GRAIN = 1e-9


@dataclass(frozen=True, slots=True)
class ConfidenceSet:
    """The judges kept, and how many standard errors the lead over each had to exceed.

    Attributes
    ----------
    kept : tuple of int
        The leader first. All judges that are equally best are among them with the confidence.
    critical : mapping of int to float
        For every judge but the leader, that of the step at which it was dropped, or of the last.
    widest : float
        That of the first step, when all were left: enough for any judge that the leader is compared with besides.
    """

    kept: tuple[int, ...]
    critical: dict[int, float]
    widest: float


def confidence_set(objective: Objective, judges: Sequence[int]) -> ConfidenceSet:
    """Find the set.

    Parameters
    ----------
    objective : Objective
    judges : sequence of int
        Those that may be chosen, places in the table; the leader first.

    References
    ----------
    P. R. Hansen, A. Lunde and J. M. Nason, "The model confidence set", Econometrica 79 (2011).
    """
    draws, errors, least = _null(objective, judges)
    leads = np.array([_studentised(objective, judges[0], judge) for judge in judges])
    left = list(range(len(judges)))
    critical: dict[int, float] = {}
    widest = last = max(least, _quantile(draws, errors, left, objective.confidence))
    while len(left) > 1:
        worst = max(left[1:], key=lambda place: leads[place])
        if not leads[worst] > last:
            break
        critical[judges[worst]] = last
        left.remove(worst)
        last = max(least, _quantile(draws, errors, left, objective.confidence))
    kept = tuple(judges[place] for place in left)
    return ConfidenceSet(kept, critical | dict.fromkeys(kept[1:], last), widest)


def _studentised(objective: Objective, leader: int, judge: int) -> float:
    """The lead in standard errors, both adjusted for few clusters as in `Objective.difference`."""
    scores = objective.table.scores
    spread = objective.gap_variance(scores[:, leader] - scores[:, judge])
    if spread is None or spread.variance <= 0:
        return 0.0
    return spread.centre / float(np.sqrt(spread.variance))


def _null(objective: Objective, judges: Sequence[int]) -> tuple[Floats, Floats, float]:
    """Draws of the judges' objectives where all are equally good, the standard errors of their differences, and
    Student's quantile: what a single comparison takes, and so the least that any takes.
    """
    table = objective.table
    parts = [objective.linear(table.scores[:, judge]) for judge in judges]
    rows = np.stack([deviations for deviations, _ in parts], axis=1)
    there = np.any([weights > 0 for _, weights in parts], axis=0)
    n_datasets = len(table.shares)
    by_home = sums_by_code(table.homes, (rows**2).sum(axis=1, keepdims=True), n_datasets)[:, 0]
    freedom = satterthwaite(by_home, np.bincount(table.homes[there], minlength=n_datasets))
    covariance = rows.T @ rows
    scale = float(np.trace(covariance)) / len(judges)
    variances = np.diag(covariance)
    errors = np.sqrt(np.maximum(variances[:, np.newaxis] + variances - 2 * covariance, 0.0))
    # Judges that say the same make the matrix singular; the grain is far below any standard error.
    errors[errors <= np.sqrt(scale * _GRAIN) * 10] = np.inf
    rng = np.random.default_rng(_SEED)
    draws = rng.standard_normal((_DRAWS, len(judges)))
    if scale > 0:
        draws = draws @ np.linalg.cholesky(covariance + np.eye(len(judges)) * scale * _GRAIN).T
    draws /= np.sqrt(rng.chisquare(freedom, _DRAWS) / freedom)[:, np.newaxis]
    return draws, errors, float(special.stdtrit(freedom, (1 + objective.confidence) / 2))


def _quantile(draws: Floats, errors: Floats, left: list[int], confidence: float) -> float:
    """What the largest lead of the leader exceeds with a chance of 1 - confidence where all left are equal."""
    means = draws[:, left]
    ahead = means.argmax(axis=1)
    leads = (means.max(axis=1, keepdims=True) - means) / errors[np.ix_(left, left)][ahead]
    return float(np.quantile(leads.max(axis=1), confidence))
