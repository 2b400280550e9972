"""Our scores of systems against someone else's: an arena's ratings, another leaderboard's scores."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.arrays import Floats, Seed, as_floats, as_items, as_mapping, check_option
from metaeval.stats.correlation import correlation
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.ids import is_missing
from metaeval.stats.options import as_count
from metaeval.stats.resampling import DEFAULT_RESAMPLES
from metaeval.stats.systems import SystemCorrelation, correlation_of_means
from metaeval.stats.weighted_correlation import METHODS, Method

Unit: TypeAlias = Literal["instructions", "systems"]

# Names at least this alike are shown as near misses.
_ALIKE = 0.8


@dataclass(frozen=True, slots=True)
class OutsideCorrelation(SystemCorrelation):
    """A correlation with an outside table; ``systems`` are those in both, under our names.

    Attributes
    ----------
    unmatched_ours, unmatched_outside : tuple of str
        Systems that only one table has: they take no part.
    near_misses : tuple of (str, str)
        Unmatched names, ours and theirs, that look alike: rename one if they are the same system.
    unit : str
        What was resampled: ``"instructions"`` or ``"systems"``.
    """

    unmatched_ours: tuple[str, ...] = ()
    unmatched_outside: tuple[str, ...] = ()
    near_misses: tuple[tuple[str, str], ...] = ()
    unit: str = "systems"


def outside_correlation(
    ours: Mapping[str, float],
    outside: Mapping[str, float],
    *,
    method: Method = "spearman",
    unit: Unit | None = None,
    draws: ArrayLike | None = None,
    n_clusters: int | None = None,
    confidence: float = 0.95,
    n_resamples: int = DEFAULT_RESAMPLES,
    rng: Seed = None,
) -> OutsideCorrelation:
    """Correlation over systems of our scores with those of an outside table.

    Parameters
    ----------
    ours, outside : mapping of str to float
        The score of each system; NaN for none. Names match without regard to case and outer blanks.
    method : {"spearman", "pearson", "kendall"}
    unit : {"instructions", "systems"}, optional
        What is resampled. Instructions: how far the correlation *of these systems* depends on which instructions our
        scores come from; takes ``draws``. Systems: how far it depends on which systems are compared. Default: as
        ``draws`` are given or not. The outside scores are taken as they are: their own error is in neither.
    draws : array_like of shape (n_resamples, n_systems), optional
        Our scores in each resample, columns in the order of ``ours``.
    n_clusters : int, optional
        How many instructions the draws are of. Default: so many that it makes no difference.
    confidence, n_resamples, rng
        As in `metaeval.stats.intervals.Sampling`; the last two for ``unit="systems"``.

    Returns
    -------
    OutsideCorrelation
        In [-1, 1], ``n`` counting the systems matched; NaN with fewer than three of them.

    Raises
    ------
    InvalidInputError
        For draws that are not our scores in each resample.

    References
    ----------
    M. Gritta, G. Lampouras and I. Iacobacci, "HumanRankEval", NAACL 2024 (correlation of its scores with other
    evaluations of the same models); Y. Dubois et al., "Length-controlled AlpacaEval", COLM 2024 (with the Arena's).

    Examples
    --------
    >>> ours = {"Alpha": 0.9, "beta ": 0.7, "gamma": 0.6, "delta": 0.3, "Epsilon-7B": 0.2, "zeta": 0.1}
    >>> arena = {"alpha": 1200, "beta": 1210, "gamma": 1100, "delta": 1000, "epsilon_7b": 990, "zeta": 950}
    >>> found = outside_correlation(ours, arena, n_resamples=200)
    >>> round(found.value, 6), found.n, found.unmatched_ours, found.near_misses
    (0.9, 5, ('Epsilon-7B',), (('Epsilon-7B', 'epsilon_7b'),))
    """
    check_option(method, METHODS, "method")
    unit = unit or ("systems" if draws is None else "instructions")
    check_option(unit, ("instructions", "systems"), "unit")
    n_clusters = None if n_clusters is None else as_count(n_clusters, "n_clusters", 1)
    if unit == "instructions" and draws is None:
        raise InvalidInputError("draws: expected our scores in each resample of the instructions")
    ours, outside = as_mapping(ours, "ours"), as_mapping(outside, "outside")
    mine, theirs = _named(ours, "ours"), _named(outside, "outside")
    matched = [key for key in mine if key in theirs]
    columns = [list(ours).index(mine[key]) for key in matched]
    first = as_items([ours[mine[key]] for key in matched], "ours")
    second = as_items([outside[theirs[key]] for key in matched], "outside")
    systems = tuple(mine[key] for key in matched)
    if unit == "instructions":
        sampled = _draws(draws, len(ours))[:, columns]
        found = correlation_of_means(
            first,
            second,
            (sampled, np.broadcast_to(second, sampled.shape)),
            systems,
            method=method,
            n_clusters=10_000 if n_clusters is None else n_clusters,
            confidence=confidence,
        )
        found = replace(found, n_clusters=n_clusters or 0)
    else:
        found = _of_systems(first, second, systems, method, confidence, n_resamples, rng)
    left = tuple(mine[key] for key in mine if key not in theirs)
    right = tuple(theirs[key] for key in theirs if key not in mine)
    plain = {each.name: getattr(found, each.name) for each in fields(SystemCorrelation)}
    return OutsideCorrelation(
        **plain,
        unmatched_ours=left,
        unmatched_outside=right,
        near_misses=_near_misses(left, right),
        unit=unit,
    )


def _of_systems(
    first: Floats,
    second: Floats,
    systems: tuple[str, ...],
    method: Method,
    confidence: float,
    n_resamples: int,
    rng: Seed,
) -> SystemCorrelation:
    plain = correlation(first, second, method=method, confidence=confidence, n_resamples=n_resamples, rng=rng)
    known = {
        each: getattr(plain, each) for each in ("value", "low", "high", "n", "n_clusters", "method", "reason")
    }
    return SystemCorrelation(**known, systems=systems, first=first, second=second)


def _named(scores: Mapping[str, float], name: str) -> dict[str, str]:
    """The names that have a score, by what they are matched by."""
    found: dict[str, str] = {}
    for system, score in scores.items():
        if not isinstance(system, str):
            raise InvalidInputError(f"{name}: expected names of systems, found {system!r}")
        key = str(system).strip().casefold()
        if key in found:
            raise InvalidInputError(
                f"{name}: {found[key]!r} and {system!r} are one name but for case and blanks"
            )
        if not is_missing(score):
            found[key] = system
    return found


def _draws(draws: Any, n_systems: int) -> Floats:
    array = as_floats(draws, "draws")
    if array.ndim != 2 or array.shape[1] != n_systems:
        raise InvalidInputError(f"draws: expected shape (n_resamples, {n_systems}), got {array.shape}")
    return array


def _near_misses(ours: tuple[str, ...], outside: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of unmatched names that are alike once marks and blanks are gone, the most alike first."""

    def bare(name: str) -> str:
        return re.sub(r"[\W_]+", "", name.casefold())

    pairs = [
        (difflib.SequenceMatcher(None, bare(one), bare(other)).ratio(), one, other)
        for one in ours
        for other in outside
    ]
    return tuple(
        (one, other) for alike, one, other in sorted(pairs, key=lambda each: -each[0]) if alike >= _ALIKE
    )
