"""Who leads by a figure, on the items that all judges judged, and who is not significantly different."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from metaeval.figures.estimates import plain
from metaeval.inputs import Booleans, Floats
from metaeval.reports.report import EstimateJson, LeaderRanking
from metaeval.selection import Lead, compare
from metaeval.selection.table import comparable_judges
from metaeval.selection.verdict import Annotators, VerdictKind
from metaeval.stats import PairedDifference, Resamples

AlikeOf: TypeAlias = Callable[[int, int, Booleans, float], PairedDifference | None]


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
    margin: float = 0.0,
    annotators: Annotators = "alike",
    rules: Collection[int] = (),
    alike: AlikeOf | None = None,
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
    margin, annotators, rules
        As of `metaeval.selection.compare`; the margin is a share of the range.
    alike : callable, optional
        ``alike(first, second, where, confidence)``: the difference of two judges on these items, with new annotators
        like these; None where people play no part.
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
        margin=margin,
        annotators=annotators,
        rules={str(index) for index in rules},
        alike=None if alike is None else partial(_alike, alike, common, width),
    )
    floor = None
    if found.floor is not None and found.above_floor is not None:
        key = below[found.floor][0]
        about = {"name": key} if isinstance(key, str) else {"judge": key, "name": (names or {}).get(key, "")}
        floor = {**about, **plain(_scaled(found.above_floor, width))}
    return selection_of(
        ranking=[int(name) for name in found.ranking],
        leads={int(name): _scaled_lead(lead, width) for name, lead in found.leads.items()},
        incomplete=[index for index in candidates if index not in complete],
        n_compared=int(common.sum()),
        floor=floor,
        verdict=found.verdict,
    )


def selection_of(
    *,
    ranking: list[int],
    leads: Mapping[int, Lead],
    incomplete: list[int],
    n_compared: int,
    verdict: VerdictKind,
    floor: Any = None,
) -> LeaderRanking:
    """Who leads, and who is not significantly different: the interval of the difference holds 0, or there is none."""
    tied = [index for index, lead in leads.items() if not lead.difference.low > 0]
    return LeaderRanking(
        leader=ranking[0] if ranking else None,
        ranking=ranking,
        tied=tied,
        clear=bool(leads) and not tied,
        incomplete=incomplete,
        n_compared=n_compared,
        differences=[cast("EstimateJson", {"judge": index, **_row(lead)}) for index, lead in leads.items()],
        best_baseline=floor,
        verdict=verdict,
    )


def _alike(
    alike: AlikeOf, common: Booleans, width: float, first: str, second: str, confidence: float
) -> PairedDifference | None:
    found = alike(int(first), int(second), common, confidence)
    return None if found is None else _scaled(found, 1 / width)


def _row(lead: Lead) -> dict[str, Any]:
    """A lead as JSON: the difference, and beside it what else the verdict rests on where it is there."""
    others = ((name, getattr(lead, name)) for name in ("practical", "alike", "practical_alike"))
    return plain(lead.difference) | {name: plain(gap) for name, gap in others if gap is not None}


def _scaled_lead(lead: Lead, width: float) -> Lead:
    beside = (lead.practical, lead.alike, lead.practical_alike)
    return Lead(
        _scaled(lead.difference, width), *(None if gap is None else _scaled(gap, width) for gap in beside)
    )


def _scaled(gap: PairedDifference, width: float) -> PairedDifference:
    return replace(gap, value=gap.value * width, low=gap.low * width, high=gap.high * width)
