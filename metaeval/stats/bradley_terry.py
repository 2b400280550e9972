"""Bradley-Terry strengths of many systems from pairwise comparisons, with intervals resampled by instruction."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, as_floats, as_items, as_mapping, check_option
from metaeval.stats.bradley_terry_fit import (
    Design,
    components,
    differences_at,
    fit_strengths,
    identified,
    newman,
    separated,
)
from metaeval.stats.bradley_terry_result import BradleyTerry, Scale, Uncertain
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.intervals import ONE_CLUSTER, Sampling, clusters_counted, item_weights, resolve, why_none
from metaeval.stats.options import as_number, as_switch
from metaeval.stats.pair_resampling import one_step_parameters, resampled_counts
from metaeval.stats.resampling import Resamples
from metaeval.stats.tie_models import TIE_MODELS, WITH_PARAMETER, TieModel, log_likelihood
from metaeval.stats.win_matrix import Comparisons, read_comparisons

Solver: TypeAlias = Literal["newton", "newman"]

# Each resample is a fit of its own; a thousand give the ends of a 95% interval to a few hundredths of its width.
_RESAMPLES = 1_000
POSITION = "position"
NO_ROW = "no comparison counts"
APART = "no finite strength: not both ahead of and behind the rest, directly or through others"
NO_CORE = "no finite strengths: no more than half of the systems are both ahead of and behind each other"
ALL_TIES = "no finite tie parameter: every comparison is a tie"
COLLINEAR = "the covariates say no more than the systems do: no unique strengths"
UNSETTLED = "no finite strengths: the covariates separate the outcomes"


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows that a fit sees: which pair, which outcome, what each counts."""

    design: Design
    pair: Integers
    outcome: Integers  # 0 first, 1 second, 2 tie: as the rows of counts
    amount: Floats | None
    items: Integers

    @property
    def cell(self) -> Integers:
        result: Integers = self.outcome * len(self.design.first) + self.pair
        return result

    def counts(self) -> Floats:
        """(3, n_pairs)."""
        n_pairs = len(self.design.first)
        return np.bincount(self.cell, self.amount, 3 * n_pairs).astype(np.float64).reshape(3, n_pairs)


@aligned()
def bradley_terry(
    first: Any,
    second: Any,
    outcome: ArrayLike,
    *,
    ties: TieModel = "half",
    position: bool = False,
    covariates: Mapping[str, ArrayLike] | ArrayLike | None = None,
    scale: Scale = "elo",
    anchor: Any = None,
    regularization: float = 0.0,
    solver: Solver = "newton",
    **options: Unpack[Sampling],
) -> BradleyTerry:
    """Strengths of systems: the chance that one is preferred to another is logistic in their difference.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        Names or numbers of the two systems of each row, in the order in which they were shown.
    outcome : array_like of shape (n_items,)
        1 (first better), 2 (second), 0 (tie), NaN (unparsed: left out).
    ties : {"half", "davidson", "rao_kupper", "omit"}
        A tie is half a win of each, or has a chance of its own with a parameter that is estimated (Davidson's nu, Rao
        and Kupper's theta), or is left out.
    position : bool, default False
        Whether being shown first has an effect of its own, which is then estimated and taken out of the strengths.
    covariates : mapping of names to array_like of shape (n_items,), or array_like of shape (n_items, k), optional
        What else may favor the first response: differences of style, first minus second (`style_covariates`).
    scale : {"elo", "log", "probability"}
        400 log10 of the odds around 1000, natural log odds around 0, or the mean chance to be preferred to each other
        system (ties as half).
    anchor : name or (name, rating), optional
        The system whose strength is fixed, at 1000 (elo) or 0 (log) unless a rating is given; by default the mean
        of the systems is.
    regularization : float, default 0
        Precision of a normal prior around 0 on every strength and coefficient, in natural log odds. 0 is maximum
        likelihood. With a prior, a system that always wins has a finite strength, which depends on the prior.
    solver : {"newton", "newman"}
        How the strengths are found; the resamples are always solved by Newton's method. Newman's iteration knows
        neither covariates nor a prior.
    **options
        See `metaeval.stats.intervals.Sampling`; ``n_resamples`` is 1,000 by default. ``clusters`` names the
        instruction of each row.

    Returns
    -------
    BradleyTerry
        Strengths, ranks, the parameters of ties, position and covariates, and chances of winning.

    Raises
    ------
    InvalidInputError
        Another outcome or option, wrong shapes, a system compared with itself, an anchor that is no system.

    Warns
    -----
    StatisticsWarning
        Strengths without a finite estimate are NaN: a system that always or never wins, systems that were not
        compared with the others, covariates that separate the outcomes.

    Notes
    -----
    Rows with covariates are resampled in one step: each resample moves the estimate by the inverse of the information
    times the resample's score, which gives the cluster-robust variance. All others are fitted anew in each resample.

    References
    ----------
    R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952).
    W.-L. Chiang et al., "Chatbot Arena", ICML 2024.

    Examples
    --------
    >>> first, second = ["a", "a", "b"] * 40, ["b", "c", "c"] * 40
    >>> outcome = [1, 1, 1] * 20 + [2, 1, 1] * 10 + [1, 2, 2] * 10
    >>> result = bradley_terry(first, second, outcome, n_resamples=200)
    >>> [(name, round(strength.value)) for name, strength in result.table()]
    [('a', 1131), ('b', 1000), ('c', 869)]
    >>> round(result.win_probability("a", "c").value, 3)
    0.819
    """
    check_option(ties, TIE_MODELS, "ties")
    check_option(scale, ("elo", "log", "probability"), "scale")
    check_option(solver, ("newton", "newman"), "solver")
    regularization, position = as_number(regularization, "regularization", 0), as_switch(position, "position")
    rows = read_comparisons(first, second, outcome, options.get("where"))
    names, extra = _covariates(covariates, len(rows.outcome))
    if solver == "newman" and (position or names or regularization):
        raise InvalidInputError("solver: Newman's iteration knows neither covariates nor a prior")
    if position:
        names, extra = [POSITION, *names], np.c_[np.ones(len(extra)), extra]
    if options.get("resamples") is None:
        options.setdefault("n_resamples", _RESAMPLES)
    resamples, _, confidence = resolve(len(rows.outcome), options, weighted=True)
    weights = item_weights(len(rows.outcome), options)
    counted = rows.counted & ~np.isnan(extra).any(axis=1)
    if ties == "omit":
        counted &= rows.outcome != 0
    if weights is not None:
        counted &= weights > 0
    result = BradleyTerry.empty(
        rows.names,
        scale=scale,
        ties=ties,
        regularization=regularization,
        confidence=confidence,
        anchor=anchor,
    )
    by_row = len(names) > position
    data = _rows(rows, counted, weights, extra, ties, regularization, by_row=by_row)
    numbers, reason = _core(data, len(rows.names))
    if not reason:
        data = _within(data, numbers)
        reason = _why_not(data)
    if reason:
        return _undefined(result, why_none(reason, weights))
    counts = data.counts()
    fits = (
        newman(data.design, counts) if solver == "newman" else fit_strengths(data.design, counts[np.newaxis])
    )
    if not fits.converged[0]:
        return _undefined(result, UNSETTLED)
    point = fits.parameters[0]
    resampled = _resampled(data, point, resamples, by_row=by_row)
    chosen = np.zeros(len(rows.outcome), dtype=bool)
    chosen[data.items] = True
    n_clusters = clusters_counted(chosen, resamples)
    uncertain = Uncertain(point, resampled, numbers, data.design.n_systems, n_clusters, confidence)
    if resamples.n_resamples and n_clusters <= 1:
        warn(ONE_CLUSTER)
    if len(numbers) < len(rows.names):
        warn(f"{_missing(rows.names, numbers)}: {APART}")
    return result.filled(
        uncertain,
        names,
        games=_games(data, numbers, len(rows.names)),
        log_likelihood=_log_likelihood(data.design, counts, point),
        apart=APART,
    )


def _covariates(
    covariates: Mapping[str, ArrayLike] | ArrayLike | None, n_items: int
) -> tuple[list[str], Floats]:
    """Names and columns, (n_items, k)."""
    if covariates is None:
        return [], np.zeros((n_items, 0))
    if isinstance(covariates, Mapping) or hasattr(covariates, "columns"):
        covariates = as_mapping(covariates, "covariates")
        names = [str(name) for name in covariates]
        columns = [as_items(column, f"covariates[{name!r}]", n_items) for name, column in covariates.items()]
        return names, np.stack(columns, axis=1) if columns else np.zeros((n_items, 0))
    array = as_floats(covariates, "covariates")
    if array.ndim != 2 or len(array) != n_items:
        raise InvalidInputError(f"covariates: expected shape ({n_items}, k), got {array.shape}")
    columns = [as_items(column, "covariates", n_items) for column in array.T]
    return [f"covariate {k + 1}" for k in range(len(columns))], np.stack(columns, axis=1)


def _rows(
    rows: Comparisons,
    counted: Booleans,
    weights: Floats | None,
    extra: Floats,
    ties: TieModel,
    ridge: float,
    *,
    by_row: bool,
) -> _Rows:
    """Number the pairs: each row its own with covariates; else ordered pairs where the order matters."""
    items = np.flatnonzero(counted)
    one, two = rows.first[items], rows.second[items]
    outcome = np.array([2, 0, 1])[rows.outcome[items].astype(np.intp)]
    amount = None if weights is None else weights[items]
    size = len(rows.names)
    if by_row:
        design = Design(one, two, size, extra[items], ties, ridge)
        return _Rows(design, np.arange(len(items)), outcome, amount, items)
    if not extra.shape[1]:
        turned = one > two
        one, two = np.where(turned, two, one), np.where(turned, one, two)
        outcome = np.where(turned & (outcome < 2), 1 - outcome, outcome)
    code = one * size + two
    seen = np.flatnonzero(np.bincount(code, minlength=1)) if size < 5_000 else np.unique(code)
    pair = np.searchsorted(seen, code)
    design = Design(seen // size, seen % size, size, np.ones((len(seen), extra.shape[1])), ties, ridge)
    return _Rows(design, pair, outcome, amount, items)


def _core(data: _Rows, n_systems: int) -> tuple[Integers, str]:
    """The systems whose strengths can be told apart, as numbers; and why there are none."""
    if not len(data.items):
        return np.zeros(0, np.intp), NO_ROW
    if data.design.ridge:
        return np.arange(n_systems), ""
    labels = components(data.design, data.counts())
    sizes = np.bincount(labels)
    largest = int(np.argmax(sizes))
    if 2 * sizes[largest] <= n_systems or sizes[largest] < 2:
        return np.zeros(0, np.intp), NO_CORE
    return np.flatnonzero(labels == largest), ""


def _within(data: _Rows, core: Integers) -> _Rows:
    """The comparisons among the systems of the core, which are numbered anew."""
    design = data.design
    if len(core) == design.n_systems:
        return data
    place = np.full(design.n_systems, -1)
    place[core] = np.arange(len(core))
    kept = (place[design.first] >= 0) & (place[design.second] >= 0)
    number = np.cumsum(kept) - 1
    row = kept[data.pair]
    smaller = replace(
        design,
        first=place[design.first[kept]],
        second=place[design.second[kept]],
        n_systems=len(core),
        extra=design.extra[kept],
    )
    amount = None if data.amount is None else data.amount[row]
    return _Rows(smaller, number[data.pair[row]], data.outcome[row], amount, data.items[row])


def _why_not(data: _Rows) -> str:
    counts = data.counts()
    if data.design.model in WITH_PARAMETER and not counts[:2].any():
        return ALL_TIES
    if data.design.extra.shape[1] and not identified(data.design, counts):
        return COLLINEAR
    return ""


def _resampled(data: _Rows, point: Floats, resamples: Resamples, *, by_row: bool) -> Floats:
    """(n_resamples, n_parameters); a resample without a finite estimate is NaN."""
    if not resamples.n_resamples:
        return np.zeros((0, len(point)))
    if by_row:
        cluster = data.items if resamples.codes is None else resamples.codes[data.items]
        return one_step_parameters(data.design, data.counts(), point, cluster, resamples)
    parts = []
    for counts in _count_batches(data, resamples):
        finite = ~separated(data.design, counts)
        fits = fit_strengths(data.design, counts[finite] if not finite.all() else counts, point)
        fits.parameters[~fits.converged] = np.nan
        parameters = np.full((len(counts), len(point)), np.nan)
        parameters[finite] = fits.parameters
        parts.append(parameters)
    return np.concatenate(parts)


def _count_batches(data: _Rows, resamples: Resamples) -> Iterator[Floats]:
    n_pairs = len(data.design.first)
    # The information matrices of a batch are in memory at once.
    most = max(1, 4_000_000 // data.design.n_parameters**2)
    for counts in resampled_counts(data.cell, data.amount, data.items, 3 * n_pairs, resamples):
        for start in range(0, len(counts), most):
            yield counts[start : start + most].reshape(-1, 3, n_pairs)


def _games(data: _Rows, numbers: Integers, n_systems: int) -> Integers:
    """Comparisons of each system."""
    games = np.zeros(n_systems, dtype=np.intp)
    design = data.design
    per_pair = np.bincount(data.pair, minlength=len(design.first))
    for side in (design.first, design.second):
        games[numbers] += np.bincount(side, per_pair, len(numbers)).astype(np.intp)
    return games


def _log_likelihood(design: Design, counts: Floats, point: Floats) -> float:
    return log_likelihood(design.model, differences_at(design, point), float(point[-1]), counts)


def _missing(names: tuple[Any, ...], numbers: Integers) -> str:
    absent = [str(name) for place, name in enumerate(names) if place not in set(numbers.tolist())]
    return ", ".join(absent[:5]) + (" and others" if len(absent) > 5 else "")


def _undefined(result: BradleyTerry, reason: str) -> BradleyTerry:
    warn(reason)
    return result.without(reason)
