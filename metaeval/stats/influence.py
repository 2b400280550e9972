"""What each cluster adds to a figure that is a smooth function of totals: its influence, by linearisation."""

from collections.abc import Callable

import numpy as np

from metaeval.stats.arrays import Booleans, Floats
from metaeval.stats.resampling import Resamples
from metaeval.stats.spread import Spread, spread_of

# Totals are moved by this share of the number of items: small against them, large against rounding.
_STEP = 1e-4


def spread_of_totals(
    columns: Floats, figure: Callable[[Floats], Floats], counted: Booleans, resamples: Resamples
) -> Spread:
    """Over how many clusters a function of totals and its variance are spread (see `Spread`).

    Parameters
    ----------
    columns : ndarray of shape (n_items, k)
        What is added up.
    figure : callable
        Totals, (m, k), to the figure, (m,).
    counted : ndarray of shape (n_items,)
        The items that count.

    References
    ----------
    A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 2.7.

    Examples
    --------
    >>> columns = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    >>> found = spread_of_totals(columns, lambda t: t[:, 0] / t[:, 1], columns[:, 1] > 0, Resamples(4))
    >>> found.clusters, round(found.carriers, 6)
    (4.0, 4.0)
    """
    totals = columns.sum(axis=0)
    step = _STEP * max(1, int(np.count_nonzero(counted)))
    moves = step * np.eye(len(totals))
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = (figure(totals + moves) - figure(totals - moves)) / (2 * step)
    deviations = columns @ np.nan_to_num(slopes)
    rows = resamples.cluster_totals(np.column_stack([deviations, counted]))
    rows = rows[rows[:, 1] > 0]
    return spread_of(rows[:, 0], rows[:, 1])
