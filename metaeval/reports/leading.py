"""Who leads by a figure, on the items that all judges judged, and who is not significantly different."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from metaeval.figures.estimates import plain
from metaeval.inputs import Booleans, Floats
from metaeval.reports.report import EstimateJson, LeaderRanking
from metaeval.selection import compare
from metaeval.selection.table import comparable_judges
from metaeval.stats import PairedDifference, Resamples


def comparable(covered: Mapping[int, Booleans]) -> tuple[list[int], Booleans]:
    """Which judges can be compared with one another, and on which items: those that all of them judged.

    Judges join from the one that judged most items downwards, as long as at least half of its items stay. So one
    that has hardly begun does not take the ground from under the others.

    Parameters
    ----------
    covered : mapping of int to ndarray of shape (n_items,)
        The items that each judged.

    Examples
    --------
    >>> whole, most, few = np.ones(4, bool), np.array([True, True, True, False]), np.array([True, False, False, False])
    >>> judges, common = comparable({0: few, 1: whole, 2: most})
    >>> judges, common.tolist()
    ([1, 2], [True, True, True, False])
    """
    places = sorted(covered)
    if not places:
        return [], np.zeros(0, dtype=np.bool_)
    columns = np.stack([covered[place] for place in places], axis=1)
    n_items, n_judges = columns.shape
    joined, common = comparable_judges(
        columns, np.zeros(n_items, dtype=np.intp), np.ones(1, np.bool_), np.ones(n_judges, np.bool_)
    )
    return [places[column] for column in np.flatnonzero(joined)], common


def select_means(
    columns: Mapping[int, Floats],
    covered: Mapping[int, Booleans],
    *,
    resamples: Resamples,
    confidence: float,
    bounds: tuple[float, float] = (0.0, 1.0),
    floors: Mapping[int | str, Floats] | None = None,
    names: Mapping[int, str] | None = None,
    weights: Floats | None = None,
) -> LeaderRanking:
    """Who leads by a mean over items, on the items that all judged; differences are paired.

    Parameters
    ----------
    columns : mapping of int to ndarray of shape (n_items,)
        What each item adds to the mean of the judge with that index; NaN where it does not count. Judges without any
        are no candidates.
    covered : mapping of int to ndarray of shape (n_items,)
        The items that each judged, be the answer readable or not.
    bounds : (float, float)
        Range of an item's value.
    floors : mapping to ndarray of shape (n_items,)
        The same of baselines: by index where they are judges of the report, else by name.
    names : mapping of int to str
        Names of the baselines that have an index.
    weights : ndarray of shape (n_items,), optional
        One over the chance with which each item was drawn, or what else it weighs.
    """
    candidates = {index: covered[index] for index in columns if not np.isnan(columns[index]).all()}
    # A judge that has judged a part only may look better for the part that it was given.
    complete, common = comparable(candidates)
    low, width = bounds[0], bounds[1] - bounds[0]
    below = {str(key): (key, column) for key, column in (floors or {}).items()} if complete else {}

    def shares(column: Floats) -> Floats:
        return np.where(common, (column - low) / width, np.nan)

    found = compare(
        {str(index): shares(columns[index]) for index in complete},
        resamples=resamples,
        confidence=confidence,
        floors={key: shares(column) for key, (_, column) in below.items()},
        weights=weights,
    )
    floor = None
    if found.floor is not None and found.above_floor is not None:
        key = below[found.floor][0]
        about = {"name": key} if isinstance(key, str) else {"judge": key, "name": (names or {}).get(key, "")}
        floor = {**about, **plain(_scaled(found.above_floor, width))}
    return selection_of(
        ranking=[int(name) for name in found.ranking],
        differences={int(name): _scaled(gap, width) for name, gap in found.differences.items()},
        incomplete=[index for index in candidates if index not in complete],
        n_compared=int(common.sum()),
        floor=floor,
    )


def selection_of(
    *,
    ranking: list[int],
    differences: Mapping[int, PairedDifference],
    incomplete: list[int],
    n_compared: int,
    floor: Any = None,
) -> LeaderRanking:
    """Who leads, and who is not significantly different: the interval of the difference holds 0, or there is none."""
    tied = [index for index, gap in differences.items() if not gap.low > 0]
    return LeaderRanking(
        leader=ranking[0] if ranking else None,
        ranking=ranking,
        tied=tied,
        clear=bool(differences) and not tied,
        incomplete=incomplete,
        n_compared=n_compared,
        differences=[
            cast("EstimateJson", {"judge": index, **plain(gap)}) for index, gap in differences.items()
        ],
        best_baseline=floor,
    )


def _scaled(gap: PairedDifference, width: float) -> PairedDifference:
    return replace(gap, value=gap.value * width, low=gap.low * width, high=gap.high * width)
