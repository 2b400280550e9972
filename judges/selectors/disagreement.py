"""Whether a judgment contradicts what people said, or the gold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are first used: `scipy.stats` takes half a second

from annotation.domain.scales import STANDARD, Scale
from annotation.kinds import kind_of
from annotation.selectors.judging_labels import UNDECIDED, PeopleSaid, parts_of


def against_people(
    kind: str, choice: int | None, value: Mapping[str, Any] | None, people: PeopleSaid | None
) -> bool | None:
    """Whether a parsed judgment contradicts what most people said; None where there is nothing to compare.

    A pair: another choice than the majority's; without a majority nothing can be contradicted. A rubric: a rating
    farther from people's mean than its scale holds near (on 1 to 5 more than one point). A checklist: an aspect
    answered against the majority. A ranking: a rank correlation (Spearman) with people's mean ranks below 0.
    """
    if people is None or people.kind != kind:
        return None
    scale = kind_of(kind).scale
    if scale == "preference":
        majority = people.majority
        return None if choice is None or majority is None else choice != majority
    said = parts_of(kind, value or {})
    shared = [key for key in said if key in people.parts]
    if not shared:
        return None
    if scale == "ranks":
        correlation = rank_correlation_of(
            [said[key] for key in shared], [people.parts[key] for key in shared]
        )
        return None if correlation is None else correlation < 0.0
    return any(is_far(kind, said[key], people.parts[key], people.scales.get(key, STANDARD)) for key in shared)


def is_far(kind: str, mine: float | None, people: float | None, on: Scale = STANDARD) -> bool:
    """Whether what a judge says of one part contradicts people's mean, `on` the scale of a criterion. Of a
    ranking no single rank does.
    """
    scale = kind_of(kind).scale
    if mine is None or people is None or scale == "ranks":
        return False
    if scale == "ordinal":
        return abs(mine - people) > on.near
    return people != UNDECIDED and (mine == 1.0) != (people > UNDECIDED)


def against_gold(
    kind: str, choice: int | None, value: Mapping[str, Any] | None, gold: Mapping[str, Any] | None
) -> bool | None:
    """Whether a parsed judgment says something else than the gold; None where there is nothing to compare."""
    if gold is None:
        return None
    of_kind = kind_of(kind)
    said = of_kind.stored(choice, value)
    if not parts_of(kind, said) or not parts_of(kind, gold):
        return None
    return not of_kind.agrees(said, gold)


def rank_correlation_of(first: list[float], second: list[float]) -> float | None:
    """Rank correlation of two lists of equal length, in [-1, 1]; None where it is not defined (one value, all tied).

    >>> spearman([1, 2, 3], [3, 2, 1])
    -1.0
    """
    if len(first) < 2:
        return None
    a, b = (scipy.stats.rankdata(each) - (len(each) + 1) / 2 for each in (first, second))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else None
