"""Length-controlled win rates: how often a model would be preferred to the baseline if it wrote no more than it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned, columns_matched
from metaeval.stats.arrays import Booleans, Floats, as_floats, as_items, as_list, as_matrix, check_option
from metaeval.stats.difficulty import joint_difficulty
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, finish, item_weights, mean_estimate, resolve, why_none
from metaeval.stats.options import as_number
from metaeval.stats.penalised_logistic import cross_validated_penalty, fit_logistic
from metaeval.stats.resampling import Resamples
from metaeval.stats.results import Result
from metaeval.stats.tie_models import logistic

Penalty: TypeAlias = float | Literal["cross_validated"]

_RESAMPLES = 1_000
# One over the ten values of C that scikit-learn's LogisticRegressionCV tries.
_CANDIDATES = 1 / np.logspace(-4, 4, 10)
_BATCH = 4_000_000
NO_ITEM = "no item has a preference and both lengths"
SEPARATED = "no finite coefficients: lengths and difficulty separate the outcomes, or all are the same"


@dataclass(frozen=True, slots=True, eq=False)
class RegularisingRows:
    """Pseudo-observations that hold the coefficients of length and difficulty.

    AlpacaEval's are the baseline itself, prompted to be verbose and to be concise, against the baseline
    (``df_gamed.csv``). They say nothing about a model's own coefficient.

    Attributes
    ----------
    preferences : ndarray of shape (n_rows,)
        In [1, 2]; AlpacaEval's file has them in [0, 1].
    length : ndarray of shape (n_rows,)
        Difference in length, baseline minus the other, over its standard deviation (``std_delta_len``).
    difficulty : ndarray of shape (n_rows,)
    weight : float
        What each row counts beside a preference of the model; 0.1 is AlpacaEval's 0.2 over two models.
    """

    preferences: Floats
    length: Floats
    difficulty: Floats
    weight: float = 0.1


@dataclass(frozen=True, slots=True)
class LengthControlled(Estimate):
    """A length-controlled win rate in [0, 1], and what it was made from.

    Attributes
    ----------
    win_rate : Estimate
        Without the correction: the mean preference.
    discrete_win_rate : Estimate
        The share of preferences above one half, exactly one half counting half.
    standard_error : float
        Of the win rate, rows being independent, as AlpacaEval prints it.
    coefficients : dict
        Of ``"length"`` (the hyperbolic tangent of the standardized difference), ``"difficulty"`` and ``"model"``; a
        term that is not in the regression is missing.
    penalty : float
        Of the absolute coefficients: 1 / C.
    """

    win_rate: Estimate | None = None
    discrete_win_rate: Estimate | None = None
    standard_error: float = math.nan
    coefficients: Mapping[str, float] = field(default_factory=dict)
    penalty: float = math.nan


@aligned()
def length_controlled_win_rate(
    preferences: ArrayLike,
    length_baseline: ArrayLike,
    length_model: ArrayLike,
    difficulty: ArrayLike | None = None,
    *,
    regularising: RegularisingRows | None = None,
    penalty: Penalty = "cross_validated",
    **options: Unpack[Sampling],
) -> LengthControlled:
    """Win rate of a model against a baseline, had their responses been of one length.

    Parameters
    ----------
    preferences : array_like of shape (n_items,)
        1 (the baseline is better) to 2 (the model is), anything between for a judge that says how sure it is; 0 is
        a tie, as 1.5 is. NaN is left out.
    length_baseline, length_model : array_like of shape (n_items,)
        Lengths of the two responses, in characters usually.
    difficulty : array_like of shape (n_items,), optional
        How well models do on the instruction, as estimated beforehand. None leaves the term out; of a single model it
        cannot be estimated (`length_controlled_win_rates` does, from several).
    regularising : RegularisingRows, optional
    penalty : float or "cross_validated"
        Of the sum of the absolute coefficients (1 / C). By default the one of ten that predicts held-out rows best, as
        AlpacaEval chooses it. 0 is maximum likelihood.
    **options
        See `metaeval.stats.intervals.Sampling`; ``n_resamples`` is 1,000 by default, each a regression of its own.

    Returns
    -------
    LengthControlled

    Raises
    ------
    InvalidInputError
        A preference that is neither 0, nor NaN, nor within [1, 2]; wrong shapes; a negative penalty.

    Notes
    -----
    Each resample draws instructions and fits the coefficients anew. The unit of length, the difficulties, the penalty
    and the regularising rows stay what they are.

    References
    ----------
    Y. Dubois, B. Galambosi, P. Liang and T. Hashimoto, "Length-controlled AlpacaEval: a simple way to debias
    automatic evaluators", COLM 2024.

    Examples
    --------
    A model that wins only where it writes more:

    >>> preferences = [2, 2, 2, 1, 1, 2, 2, 1] * 20
    >>> longer = [300, 280, 260, -50, -90, 250, 310, -20] * 20
    >>> result = length_controlled_win_rate(preferences, [500] * 160, 500 + np.array(longer), penalty=1)
    >>> round(result.win_rate.value, 3), result.value < 0.4
    (0.625, True)
    """
    target = _targets(preferences, "preferences")
    if target.ndim != 1:
        raise InvalidInputError(f"preferences: expected shape (n_items,), got {target.shape}")
    n_items = len(target)
    gap = as_items(length_baseline, "length_baseline", n_items) - as_items(
        length_model, "length_model", n_items
    )
    hard = None if difficulty is None else as_items(difficulty, "difficulty", n_items)
    if isinstance(penalty, str):
        check_option(penalty, ("cross_validated",), "penalty")
    else:
        penalty = as_number(penalty, "penalty", 0)
    if options.get("resamples") is None:
        options.setdefault("n_resamples", _RESAMPLES)
    resamples, mask, confidence = resolve(n_items, options, weighted=True)
    weights = item_weights(n_items, options)
    size = np.ones(n_items) if weights is None else weights
    counted = ~np.isnan(target) & ~np.isnan(gap) & (size > 0)
    if hard is not None:
        counted &= ~np.isnan(hard)
    if mask is not None:
        counted &= mask
    if not counted.any():
        return _without(why_none(NO_ITEM, weights))
    raw: Sampling = {"resamples": resamples, "where": counted, "confidence": confidence, "weights": weights}
    rates: dict[str, Any] = {
        "win_rate": mean_estimate(np.where(counted, target, np.nan), **raw),
        "discrete_win_rate": mean_estimate(np.where(counted, _discrete(target), np.nan), **raw),
        "standard_error": _standard_error(target[counted]),
    }
    regression = _Regression.of(gap, hard, target, size, counted, regularising)
    strength = regression.choose() if penalty == "cross_validated" else float(penalty)
    point, converged = regression.fit(regression.weights[:, np.newaxis], strength)
    if not converged[0]:
        return _without(SEPARATED, **rates, penalty=strength)
    value = float(regression.win_rates(point, size[counted][:, np.newaxis])[0])
    drawn = _resampled(regression, point[0], strength, size[counted], counted, resamples)
    whole = finish(value, drawn, counted, resamples, confidence, (0.0, 1.0))
    return LengthControlled(
        **{name: getattr(whole, name) for name in Estimate.__slots__},
        **rates,
        coefficients=dict(zip(regression.names, point[0].tolist(), strict=True)),
        penalty=strength,
    )


@dataclass(frozen=True, slots=True, eq=False)
class LengthControlledTable(Result):
    """Length-controlled win rates of several models, best first in `table`.

    Attributes
    ----------
    names : tuple
    results : tuple of LengthControlled
    difficulty : ndarray of shape (n_items, n_models)
        What each model's regression took for the difficulty of the instructions.
    """

    _axes: ClassVar[Mapping[str, tuple[str, ...]]] = {"difficulty": ()}  # of items

    names: tuple[Any, ...]
    results: tuple[LengthControlled, ...]
    difficulty: Floats

    def table(self) -> list[tuple[Any, LengthControlled]]:
        """(name, result), the highest first and those without a figure last."""
        rows = list(zip(self.names, self.results, strict=True))
        return sorted(rows, key=lambda row: -row[1].value if row[1].defined else math.inf)


@aligned(apart=("names",))
def length_controlled_win_rates(
    preferences: ArrayLike,
    length_baseline: ArrayLike,
    length_models: ArrayLike,
    *,
    names: Sequence[Any] | None = None,
    regularising: RegularisingRows | None = None,
    penalty: Penalty = "cross_validated",
    **options: Unpack[Sampling],
) -> LengthControlledTable:
    """Length-controlled win rates of several models, with the difficulty of instructions estimated from them.

    The difficulty that enters a model's regression is estimated from the *other* models' preferences: one that had
    seen the model's own would explain its wins by themselves. With a single model the term is left out.

    Parameters
    ----------
    preferences : array_like of shape (n_items, n_models)
        Each model against the baseline, as in `length_controlled_win_rate`; NaN where missing.
    length_baseline : array_like of shape (n_items,) or (n_items, n_models)
        With a column a model where the baseline answered anew for each.
    length_models : array_like of shape (n_items, n_models)
    names : sequence, optional
        Of the models; by default the columns of a frame of preferences, else numbers. Columns of several frames are
        matched by their names.
    regularising, penalty, **options
        See `length_controlled_win_rate`; all models are resampled together.

    Returns
    -------
    LengthControlledTable

    Raises
    ------
    InvalidInputError
        For lengths or names of another number of models or items than the preferences.

    References
    ----------
    As of `length_controlled_win_rate`; that the difficulty is estimated from the other models is ours.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> lengths = rng.integers(200, 900, size=(300, 3))
    >>> preferences = rng.integers(1, 3, size=(300, 3))
    >>> result = length_controlled_win_rates(preferences, np.full(300, 500), lengths, n_resamples=100)
    >>> [0.4 < each.value < 0.6 for each in result.results]
    [True, True, True]
    """
    length_models = columns_matched(length_models, "length_models", preferences, "preferences")
    length_baseline = columns_matched(length_baseline, "length_baseline", preferences, "preferences")
    if names is None and hasattr(preferences, "columns"):
        names = list(preferences.columns)
    target = as_matrix(_targets(preferences, "preferences"), "preferences")
    n_items, n_models = target.shape
    lengths = as_matrix(length_models, "length_models")
    if lengths.shape != target.shape:
        raise InvalidInputError(f"length_models: expected shape {target.shape}, got {lengths.shape}")
    baseline = as_matrix(length_baseline, "length_baseline")
    if baseline.shape not in ((n_items, 1), target.shape):
        raise InvalidInputError(f"length_baseline: expected {n_items} items, got {baseline.shape}")
    gaps = baseline - lengths
    labels = tuple(range(n_models)) if names is None else tuple(as_list(names, "names"))
    if len(labels) != n_models:
        raise InvalidInputError(f"names: expected {n_models}, got {len(labels)}")
    if options.get("resamples") is None:
        options.setdefault("n_resamples", _RESAMPLES)
    resamples, mask, confidence = resolve(n_items, options, weighted=True)
    seen = np.where(np.isnan(gaps), np.nan, target)
    if mask is not None:
        seen[~mask] = np.nan
    feature = np.stack(
        [_length_feature(gap, ~np.isnan(own)) for gap, own in zip(gaps.T, seen.T, strict=True)], axis=1
    )
    shared: Sampling = {
        "resamples": resamples,
        "where": mask,
        "confidence": confidence,
        "weights": options.get("weights"),
    }
    results, difficulties = [], []
    for model in range(n_models):
        others = np.arange(n_models) != model
        hard = joint_difficulty(seen[:, others], feature[:, others]) if others.any() else None
        difficulties.append(np.zeros(n_items) if hard is None else hard)
        results.append(
            length_controlled_win_rate(
                target[:, model] + 1,
                np.zeros(n_items),
                -gaps[:, model],
                hard,
                regularising=regularising,
                penalty=penalty,
                **shared,
            )
        )
    return LengthControlledTable(labels, tuple(results), np.stack(difficulties, axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Regression:
    """The rows of a regression: those of the model first, then the regularising ones."""

    names: tuple[str, ...]
    features: Floats
    target: Floats
    weights: Floats
    n_own: int

    @classmethod
    def of(
        cls,
        gap: Floats,
        hard: Floats | None,
        target: Floats,
        size: Floats,
        counted: Booleans,
        regularising: RegularisingRows | None,
    ) -> "_Regression":
        n = int(counted.sum())
        columns = {"length": _length_feature(gap, counted)[counted], "model": np.ones(n)}
        if hard is not None:
            columns["difficulty"] = hard[counted]
        goal, weights = target[counted], size[counted]
        if regularising is not None:
            if not isinstance(regularising, RegularisingRows):
                raise InvalidInputError(
                    f"regularising: expected RegularisingRows, got {type(regularising).__name__}"
                )
            rows = len(as_items(regularising.preferences, "regularising.preferences"))
            more = {
                "length": np.tanh(as_items(regularising.length, "regularising.length", rows)),
                "difficulty": as_items(regularising.difficulty, "regularising.difficulty", rows),
                "model": np.zeros(rows),
            }
            columns = {name: np.r_[column, more[name]] for name, column in columns.items()}
            goal = np.r_[goal, _targets(regularising.preferences, "regularising.preferences")]
            weights = np.r_[weights, np.full(rows, float(regularising.weight))]
        # A column of zeros (the baseline's own lengths) has no coefficient.
        kept = {name: column for name, column in columns.items() if column.any()}
        return cls(tuple(kept), np.stack(list(kept.values()), axis=1), goal, weights, n)

    def choose(self) -> float:
        return cross_validated_penalty(self.features, self.target, self.weights, _CANDIDATES)

    def fit(self, weights: Floats, penalty: float, start: Floats | None = None) -> tuple[Floats, Booleans]:
        return fit_logistic(self.features, self.target, weights, np.full(weights.shape[1], penalty), start)

    def win_rates(self, coefficients: Floats, weights: Floats) -> Floats:
        """Mean chance over the model's rows at no difference in length; weights are (n_own, n_fits)."""
        features = self.features[: self.n_own].copy()
        if "length" in self.names:
            features[:, self.names.index("length")] = 0.0
        chances = logistic(features @ coefficients.T)
        result: Floats = (chances * weights).sum(axis=0) / weights.sum(axis=0)
        return result


def _resampled(
    regression: _Regression,
    point: Floats,
    penalty: float,
    size: Floats,
    counted: Booleans,
    resamples: Resamples,
) -> Floats:
    """The figure in each resample; NaN where its regression has no finite coefficients."""
    drawn = [np.zeros(0)]
    n_rows = len(regression.target)
    most = max(1, _BATCH // n_rows)
    prior = regression.weights[regression.n_own :]
    for draws in resamples.item_draws():
        for start in range(0, len(draws), most):
            own = draws[start : start + most, counted].T * size[:, np.newaxis]
            empty = own.sum(axis=0) == 0
            own[:, empty] = size[:, np.newaxis]
            weights = np.concatenate([own, np.tile(prior[:, np.newaxis], own.shape[1])])
            coefficients, converged = regression.fit(weights, penalty, point)
            rates = regression.win_rates(coefficients, own)
            drawn.append(np.where(converged & ~empty, rates, np.nan))
    return np.concatenate(drawn)


def _targets(preferences: ArrayLike, name: str) -> Floats:
    """Preferences as shares of the model, in [0, 1]."""
    array = as_floats(preferences, name)
    right = np.isnan(array) | (array == 0) | ((array >= 1) & (array <= 2))
    if not right.all():
        raise InvalidInputError(f"{name}: expected 0 (tie), NaN, or from 1 to 2, found {array[~right][0]:g}")
    return np.where(array == 0, 0.5, array - 1)


def _discrete(target: Floats) -> Floats:
    return np.where(target == 0.5, 0.5, (target > 0.5).astype(np.float64))


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _length_feature(gap: Floats, counted: Booleans) -> Floats:
    """tanh of the difference over its standard deviation; 0 where all responses differ by the same."""
    known = gap[counted]
    spread = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    return np.tanh(gap / spread) if spread > 0 else np.zeros(len(gap))


def _without(reason: str, **rest: Any) -> LengthControlled:
    warn(reason)
    return LengthControlled(math.nan, math.nan, math.nan, n=0, reason=reason, **rest)
