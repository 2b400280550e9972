"""What may be chosen about a report. The options are part of its inputs, hence of its hash."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from metaeval.reports.errors import ReportError
from metaeval.selection.replacement import EPSILON

TieBreak = Literal["expected", "random", "alpaca_eval"]
Unparsed = Literal["wrong", "omit"]

CONVENTIONS: tuple[TieBreak, ...] = ("expected", "random", "alpaca_eval")
UNPARSED: tuple[Unparsed, ...] = ("wrong", "omit")
MOST_RESAMPLES = 200_000


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How the figures of a report are computed.

    Attributes
    ----------
    tie_break : {"expected", "random", "alpaca_eval"}
        Convention of the leave-one-out agreement: the exact expectation, a seeded random choice among tied modes,
        or AlpacaEval's published one.
    unparsed : {"wrong", "omit"}
        Whether an unparsed verdict counts as wrong or is left out of agreement and accuracy.
    confidence : float
        Level of every interval, between 0 and 1.
    n_resamples : int
        Bootstrap resamples over instructions; 0 leaves the intervals out.
    seed : int
        Of the resamples, of ``tie_break="random"`` and of what is held out.
    epsilon : float
        Of the alternative annotator test: how much worse than an annotator a judge may be. The authors advise 0.1 in
        place of crowdworkers, 0.15 of skilled annotators, 0.2 of experts.
    """

    tie_break: TieBreak = "expected"
    unparsed: Unparsed = "wrong"
    confidence: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    epsilon: float = EPSILON

    def __post_init__(self) -> None:
        _one_of("tie_break", self.tie_break, CONVENTIONS)
        _one_of("unparsed", self.unparsed, UNPARSED)
        if not 0 < self.confidence < 1:
            raise ReportError(f"confidence: expected a level between 0 and 1, got {self.confidence}.")
        if not 0 <= self.n_resamples <= MOST_RESAMPLES:
            raise ReportError(f"resamples: expected 0 to {MOST_RESAMPLES:,}, got {self.n_resamples}.")
        if self.seed < 0:
            raise ReportError(f"seed: expected 0 or more, got {self.seed}.")
        if not 0 <= self.epsilon < 1:
            raise ReportError(f"epsilon: expected 0 or more and below 1, got {self.epsilon}.")

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def tie_break(value: str) -> TieBreak:
    """Check the name of a convention that came as text."""
    _one_of("convention", value, CONVENTIONS)
    return cast("TieBreak", value)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ReportError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}.")
