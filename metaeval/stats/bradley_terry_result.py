"""What a Bradley-Terry fit says: strengths on a scale, ranks, chances, each with its interval."""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import special

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import ONE_CLUSTER
from metaeval.stats.results import Result
from metaeval.stats.tie_models import WITH_PARAMETER, TieModel, outcome_chances

Scale: TypeAlias = Literal["elo", "log", "probability"]

ELO = 400 / math.log(10)
_CENTRE = {"elo": 1000.0, "log": 0.0, "probability": math.nan}
OFTEN_APART = "no interval: in {} of {} resamples some strength has no finite estimate"
NO_ANCHOR = "the anchor has no finite strength"
NO_TIE = "no interval: no tie occurred"
_AT_ONCE = 4_000_000
# Share of the resamples that may be without a finite estimate: beyond it their spread says too little.
_MOST_LOST = 0.05

Link: TypeAlias = Callable[[float], float]


@dataclass(frozen=True, slots=True, eq=False)
class Uncertain:
    """The estimate of a fit and of its resamples, in natural log odds.

    Attributes
    ----------
    point : ndarray of shape (n_parameters,)
        Strengths (summing to 0), coefficients, and the tie parameter if there is one.
    resampled : ndarray of shape (n_resamples, n_parameters)
        NaN where a resample has no finite estimate.
    numbers : ndarray of shape (n_fitted,)
        Which of all systems the strengths are of.
    n_fitted, n_clusters : int
    confidence : float
    """

    point: Floats
    resampled: Floats
    numbers: Integers
    n_fitted: int
    n_clusters: int
    confidence: float

    def estimate(self, value: float, resampled: Floats, n: int, back: Link = float) -> Estimate:
        """A figure with its interval, both computed on an unbounded scale and then taken ``back``.

        Student's interval with the standard deviation over the resamples. Strengths from few comparisons are too
        large on average, and those of resamples doubly so: percentiles of these cover too little.
        """
        finite = resampled[np.isfinite(resampled)]
        n_lost = len(resampled) - len(finite)
        figure, few = back(value), self.n_clusters <= 1
        if not len(resampled) or few or n_lost > _MOST_LOST * len(resampled):
            reason = ONE_CLUSTER if few else OFTEN_APART.format(n_lost, len(resampled))
            reason_or_none = reason if len(resampled) else None
            return Estimate(figure, math.nan, math.nan, n, self.n_clusters, "none", reason_or_none)
        reach = self.reach(finite)
        return Estimate(figure, back(value - reach), back(value + reach), n, self.n_clusters, "t")

    def reach(self, resampled: Floats) -> float:
        """Half the width of Student's interval."""
        spread = float(resampled.std()) * math.sqrt(self.n_clusters / (self.n_clusters - 1))
        return spread * float(special.stdtrit(self.n_clusters - 1, (1 + self.confidence) / 2))


@dataclass(frozen=True, slots=True, eq=False)
class BradleyTerry(Result):
    """Strengths of systems.

    Attributes
    ----------
    names : tuple
        The systems, sorted.
    strengths : tuple of Estimate
        One a system, on `scale`; ``n`` is the system's comparisons.
    ranks : tuple of Estimate
        1 for the strongest. The interval holds every rank that the differences to all other systems leave open,
        at the confidence asked for (Mogstad et al., "Inference for ranks", Rev. Econ. Stud. 91 (2024)).
    ties : str
        The tie model.
    tie_parameter : Estimate or None
        Davidson's nu or Rao and Kupper's theta; None for the models without.
    coefficients : dict
        Natural log odds for a covariate of 1, by name; ``"position"`` is being shown first.
    scale, anchor, regularization, confidence
        As asked for.
    log_likelihood : float
        At the estimate; with ties as halves that of two halves.
    converged : bool
    n, n_clusters : int
        Comparisons that the fit saw, and their clusters.
    reason : str or None
        Why there are no strengths at all.
    uncertain : object or None
        What differences are computed from: all parameters in each resample.
    """

    _drawn: ClassVar[tuple[str, ...]] = ("strengths",)

    names: tuple[Any, ...]
    strengths: tuple[Estimate, ...]
    ranks: tuple[Estimate, ...]
    ties: TieModel
    scale: Scale
    regularization: float
    confidence: float
    anchor: Any = None
    tie_parameter: Estimate | None = None
    coefficients: dict[str, Estimate] = field(default_factory=dict)
    log_likelihood: float = math.nan
    converged: bool = False
    n: int = 0
    n_clusters: int = 0
    reason: str | None = None
    uncertain: Uncertain | None = field(default=None, repr=False)

    @classmethod
    def empty(
        cls,
        names: tuple[Any, ...],
        *,
        scale: Scale,
        ties: TieModel,
        regularization: float,
        confidence: float,
        anchor: Any,
    ) -> "BradleyTerry":
        """The shape of a result, before there are any figures; checks the anchor."""
        system, _ = _anchor(anchor, scale)
        if system is not None and system not in names:
            raise InvalidInputError(f"anchor: {system!r} is none of the systems")
        if system is not None and scale == "probability":
            raise InvalidInputError("anchor: the scale of probabilities has no anchor")
        return cls(names, (), (), ties, scale, regularization, confidence, anchor)

    def without(self, reason: str) -> "BradleyTerry":
        """No strengths, and why."""
        nothing = tuple(Estimate(math.nan, math.nan, math.nan, n=0, reason=reason) for _ in self.names)
        return replace(self, strengths=nothing, ranks=nothing, reason=reason)

    def filled(
        self, uncertain: Uncertain, extra: list[str], *, games: Integers, log_likelihood: float, apart: str
    ) -> "BradleyTerry":
        """The result of a fit; systems that it left out have ``apart`` as their reason."""
        numbers, size = uncertain.numbers, uncertain.n_fitted
        logs, resampled = uncertain.point[:size], uncertain.resampled[:, :size]
        k, all_k = _tie_parameters(self.ties, uncertain)
        place = {int(number): column for column, number in enumerate(numbers)}
        shown, shown_resampled = (
            self._scaled(logs[np.newaxis], k, place),
            self._scaled(resampled, all_k, place),
        )
        if np.isnan(shown).any():
            return self.without(NO_ANCHOR)
        missing = Estimate(math.nan, math.nan, math.nan, n=0, reason=apart)
        strengths, ranks = [], []
        back: Link = _chance if self.scale == "probability" else float
        for number, count in enumerate(games.tolist()):
            column = place.get(number)
            if column is None:
                strengths.append(missing)
                ranks.append(missing)
                continue
            strengths.append(
                uncertain.estimate(float(shown[0, column]), shown_resampled[:, column], count, back)
            )
            ranks.append(_rank(uncertain, column, count))
        n = int(games.sum()) // 2
        tie = None
        if self.ties in WITH_PARAMETER:
            tie = _tie_estimate(self.ties, uncertain, n)
        coefficients = {
            name: uncertain.estimate(
                float(uncertain.point[size + column]), uncertain.resampled[:, size + column], n
            )
            for column, name in enumerate(extra)
        }
        return replace(
            self,
            strengths=tuple(strengths),
            ranks=tuple(ranks),
            tie_parameter=tie,
            coefficients=coefficients,
            log_likelihood=log_likelihood,
            converged=True,
            n=n,
            n_clusters=uncertain.n_clusters,
            uncertain=uncertain,
        )

    def table(self) -> list[tuple[Any, Estimate]]:
        """(name, strength), the strongest first and those without a strength last."""
        rows = list(zip(self.names, self.strengths, strict=True))
        return sorted(rows, key=lambda row: (math.isnan(row[1].value), -row[1].value))

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None, and what is undefined brings its reason."""
        systems = zip(self.names, self.strengths, self.ranks, strict=True)
        return {
            "systems": [
                {"name": name, "strength": strength.as_dict(), "rank": rank.as_dict()}
                for name, strength, rank in systems
            ],
            "ties": self.ties,
            "tie_parameter": None if self.tie_parameter is None else self.tie_parameter.as_dict(),
            "coefficients": {name: each.as_dict() for name, each in self.coefficients.items()},
            "scale": self.scale,
            "regularization": self.regularization,
            "n": self.n,
            "reason": self.reason,
        }

    def strength(self, name: Any) -> Estimate:
        """The strength of one system."""
        return self.strengths[self._place(name)]

    def rank(self, name: Any) -> Estimate:
        """The rank of one system."""
        return self.ranks[self._place(name)]

    def win_probability(self, first: Any, second: Any) -> Estimate:
        """Chance that ``first`` is preferred to ``second``, a tie as one half, nothing else favoring either."""
        one, two = self._place(first), self._place(second)
        if self.uncertain is None:
            return Estimate(math.nan, math.nan, math.nan, n=0, reason=self.reason)
        place = {int(number): column for column, number in enumerate(self.uncertain.numbers)}
        for system in (one, two):
            if system not in place:
                return Estimate(math.nan, math.nan, math.nan, n=0, reason=self.strengths[system].reason)
        k, all_k = _tie_parameters(self.ties, self.uncertain)
        one, two = place[one], place[two]
        point, resampled = self.uncertain.point, self.uncertain.resampled
        value = _expected(self.ties, point[[one]] - point[[two]], k)
        chances = _expected(self.ties, resampled[:, one] - resampled[:, two], all_k)
        return self.uncertain.estimate(
            float(special.logit(value[0])), special.logit(chances), self.n, _chance
        )

    def _place(self, name: Any) -> int:
        if name not in self.names:
            raise InvalidInputError(f"{name!r} is none of the systems")
        return self.names.index(name)

    def _scaled(self, logs: Floats, k: Floats, place: dict[int, int]) -> Floats:
        """Natural log odds, (n_fits, n_fitted), on the scale asked for; log odds again for probabilities."""
        if self.scale == "probability":
            return special.logit(_against_the_field(self.ties, logs, k))
        factor = ELO if self.scale == "elo" else 1.0
        system, rating = _anchor(self.anchor, self.scale)
        if system is not None:
            column = place.get(self.names.index(system))
            logs = logs - (math.nan if column is None else logs[:, [column]])
        return logs * factor + rating


def _anchor(anchor: Any, scale: Scale) -> tuple[Any, float]:
    """The system whose strength is fixed, or None for the mean of all; and its rating."""
    if isinstance(anchor, tuple):
        if len(anchor) != 2 or not isinstance(anchor[1], int | float) or not math.isfinite(anchor[1]):
            raise InvalidInputError(f"anchor: expected a system, or (system, rating), got {anchor!r}")
        return anchor[0], float(anchor[1])
    if not isinstance(anchor, Hashable):
        raise InvalidInputError(f"anchor: expected a system, or (system, rating), got {anchor!r}")
    return anchor, _CENTRE[scale]


def _tie_parameters(ties: TieModel, uncertain: Uncertain) -> tuple[Floats, Floats]:
    """The tie parameter of the fit and of each resample; zeros for a model without."""
    if ties in WITH_PARAMETER:
        return uncertain.point[-1:], uncertain.resampled[:, -1]
    return np.zeros(1), np.zeros(len(uncertain.resampled))


def _tie_estimate(ties: TieModel, uncertain: Uncertain, n: int) -> Estimate:
    """Davidson's nu, whose log is unbounded; Rao and Kupper's theta, the log of whose log is."""
    k, all_k = _tie_parameters(ties, uncertain)
    edge = -math.inf if ties == "davidson" else 0.0
    if k[0] == edge:
        reason = NO_TIE if len(all_k) else None
        return Estimate(math.exp(edge), math.nan, math.nan, n, uncertain.n_clusters, "none", reason)
    if ties == "davidson":
        return uncertain.estimate(float(k[0]), all_k, n, math.exp)
    with np.errstate(divide="ignore"):
        return uncertain.estimate(
            float(np.log(k[0])), np.log(all_k), n, lambda unbounded: math.exp(math.exp(unbounded))
        )


def _chance(log_odds: float) -> float:
    return float(special.expit(log_odds))


def _expected(ties: TieModel, d: Floats, k: Floats) -> Floats:
    """Chance of being preferred, plus half of the chance of a tie."""
    win, _, tie = outcome_chances(ties, d, k)
    return win + tie / 2


def _against_the_field(ties: TieModel, logs: Floats, k: Floats) -> Floats:
    """Mean chance to be preferred to each of the other systems, (n_fits, n_fitted)."""
    size = logs.shape[1]
    step = max(1, _AT_ONCE // size**2)
    parts = []
    for start in range(0, len(logs), step):
        part = logs[start : start + step]
        d = part[:, :, np.newaxis] - part[:, np.newaxis, :]
        chances = _expected(ties, d, k[start : start + step, np.newaxis, np.newaxis])
        # Of itself it is one half.
        parts.append((chances.sum(axis=2) - 0.5) / (size - 1))
    return np.concatenate(parts) if parts else np.zeros((0, size))


def _rank(uncertain: Uncertain, column: int, games: int) -> Estimate:
    """Rank among the systems fitted, with all ranks that the differences to the others leave open.

    The differences to all others get intervals that hold at once, from the largest of the studentised differences in
    each resample. Those surely ahead and those surely behind bound the rank.
    """
    size = uncertain.n_fitted
    point = uncertain.point[:size]
    lead = point - point[column]
    value = 1.0 + int(np.count_nonzero(lead > 0)) + (int(np.count_nonzero(lead == 0)) - 1) / 2
    whole = replace(
        uncertain.estimate(value, uncertain.resampled[:, column], games), low=math.nan, high=math.nan
    )
    if whole.method == "none":
        return whole
    others = np.arange(size) != column
    sane = uncertain.resampled[~np.isnan(uncertain.resampled[:, column])]
    gaps = sane[:, :size][:, others] - sane[:, [column]]
    errors = gaps.std(axis=0)
    errors[errors == 0] = math.inf
    furthest = np.abs((gaps - gaps.mean(axis=0)) / errors).max(axis=1)
    # Few clusters tell little of their own spread: widened as Student's interval is beside the normal one.
    few = uncertain.reach(np.array([-1.0, 1.0])) / float(special.ndtri((1 + uncertain.confidence) / 2))
    critical = few * float(np.quantile(furthest, uncertain.confidence))
    # A gap that no resample moved says nothing of its error.
    reach = np.where(np.isinf(errors), math.inf, critical * np.where(np.isinf(errors), 0.0, errors))
    ahead = int(np.count_nonzero(lead[others] > reach))
    behind = int(np.count_nonzero(lead[others] < -reach))
    return replace(whole, low=1.0 + ahead, high=float(size - behind), method="simultaneous")
