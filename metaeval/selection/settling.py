"""What data would settle what is open: how many instructions would show the lead there is."""

import math

import numpy as np
from scipy import special

from metaeval.selection.objective import GapVariance, Objective
from metaeval.selection.types import Floats, Settling


def settling_of(
    objective: Objective, rival: str, gaps: Floats, *, critical: float, power: float
) -> tuple[Settling, ...]:
    """How many instructions would show the leader's lead over one rival, if it is as large as it looks.

    The lead Δ shows with the power where Δ ≥ (critical + z_power) × standard error. The squared standard error is
    a sum over datasets of what the clusters of each bring, and each part falls with the number of its clusters. More
    instructions of one dataset do where the others leave room; the one that takes fewest is named. Where none does
    alone, all must grow by the same factor.

    Parameters
    ----------
    gaps : ndarray of shape (n_items,)
        The leader's scores minus the rival's.
    critical : float
        Standard errors that the interval of the lead allows for.
    """
    spread = objective.gap_variance(gaps)
    if spread is None:
        return ()
    names, sizes = objective.table.datasets, spread.sizes
    places = [int(place) for place in np.flatnonzero(spread.variances > 0)]
    if not places:
        return ()
    if spread.value <= 1e-12:
        most = max(places, key=lambda place: float(spread.variances[place]))
        return (Settling(rival, 0.0, names[most], int(sizes[most]), 0, power),)
    target = (spread.value / (critical + float(special.ndtri(power)))) ** 2
    alone = {place: _needed(spread, place, target) for place in places}
    possible = [place for place in places if alone[place] < math.inf]
    if possible:
        best = min(possible, key=lambda place: alone[place] - sizes[place])
        needed = max(math.ceil(alone[best]), int(sizes[best]) + 1)
        return (Settling(rival, spread.value, names[best], int(sizes[best]), needed, power),)
    factor = spread.variance / target
    return tuple(
        Settling(
            rival,
            spread.value,
            names[place],
            int(sizes[place]),
            math.ceil(sizes[place] * factor),
            power,
            together=True,
        )
        for place in places
    )


def _needed(spread: GapVariance, place: int, target: float) -> float:
    """Clusters that one dataset would need if the others stay as they are."""
    room = target - (spread.variance - float(spread.variances[place]))
    return float(spread.variances[place]) * int(spread.sizes[place]) / room if room > 0 else math.inf
