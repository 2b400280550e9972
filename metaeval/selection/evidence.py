"""What a choice reads: the figures of all judges, in all data and in each resample, and the constraints on them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.selection.objective import Draws, Objective
from metaeval.selection.table import COST, POSITIONAL, SECONDS, UNPARSED, ItemTable
from metaeval.selection.types import Booleans, Candidate, Constraints, Floats, Violation
from metaeval.stats.options import as_number

# A figure that is the limit satisfies it, however it was added up.
_GRAIN = 1e-9
_SHARES = ("min_positional_agreement", "min_accuracy", "max_unparsed")


@dataclass(frozen=True, slots=True)
class _Limit:
    name: str
    figure: int
    limit: float
    at_least: bool
    dataset: str = ""

    def holds(self, values: Floats) -> Booleans:
        """Whether it is satisfied; what is undefined does not satisfy it."""
        found = values[..., self.figure, :]
        with np.errstate(invalid="ignore"):
            return np.asarray(found >= self.limit - _GRAIN if self.at_least else found <= self.limit + _GRAIN)


@dataclass(frozen=True, slots=True, eq=False)
class Requirements:
    """What a judge must satisfy: facts about it, and limits of figures that follow from the data."""

    facts: tuple[tuple[Violation, ...], ...]
    limits: tuple[_Limit, ...]
    candidates: Booleans

    @property
    def by_fact(self) -> Booleans:
        """Which judges could be chosen, whatever the figures are, (n_judges,)."""
        return self.candidates & np.array([not found for found in self.facts], dtype=np.bool_)

    def admitted(self, values: Floats) -> Booleans:
        """Which judges may be chosen by these figures: (..., n_figures, n_judges) to (..., n_judges)."""
        result = np.broadcast_to(self.by_fact, (*values.shape[:-2], values.shape[-1]))
        for limit in self.limits:
            result = result & limit.holds(values)
        return result

    def violations(self, values: Floats, judge: int) -> tuple[Violation, ...]:
        """What one judge does not satisfy, by the figures of all data."""
        return self.facts[judge] + tuple(
            Violation(one.name, one.limit, float(values[one.figure, judge]), one.dataset)
            for one in self.limits
            if not one.holds(values)[judge]
        )


def requirements_of(
    constraints: Constraints,
    candidates: Sequence[Candidate],
    table: ItemTable,
    gold: Sequence[bool],
) -> Requirements:
    """Read the constraints; ``gold`` says which datasets of the table have that role.

    Raises
    ------
    InvalidInputError
        A limit is not a number, or a share not between 0 and 1.
    """
    n_datasets = len(table.datasets)
    limits: list[_Limit] = []
    for name, figure, at_least in (
        ("max_cost_per_1000", COST, False),
        ("max_seconds", SECONDS, False),
        ("min_positional_agreement", POSITIONAL, True),
        ("max_unparsed", UNPARSED, False),
    ):
        limit = _limit(constraints, name)
        if limit is not None:
            limits.append(_Limit(name, n_datasets + figure, limit, at_least))
    accuracy = _limit(constraints, "min_accuracy")
    if accuracy is not None:
        limits += [
            _Limit("min_accuracy", place, accuracy, True, name)
            for place, name in enumerate(table.datasets)
            if gold[place]
        ]
    facts = tuple(
        tuple(
            Violation(name, 1.0, math.nan if known is None else 0.0)
            for name, asked, known in (
                ("open_weights", constraints.open_weights, candidate.is_open),
                ("local", constraints.local, candidate.is_local),
            )
            if asked and not known
        )
        for candidate in candidates
    )
    return Requirements(facts, tuple(limits), table.ranked)


def _limit(constraints: Constraints, name: str) -> float | None:
    value: float | None = getattr(constraints, name)
    if value is None:
        return None
    return as_number(value, f"constraints: {name}", 0, 1 if name in _SHARES else math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Everything that the parts of a `Selection` are computed from.

    Attributes
    ----------
    objective : Objective
    requirements : Requirements
    candidates : tuple of Candidate
        In the order of the table's judges.
    values : ndarray of shape (n_figures, n_judges)
    resampled : ndarray of shape (n_resamples, n_figures, n_judges)
    objectives : ndarray of shape (n_judges,)
        NaN for a judge that judged nothing of some dataset that decides.
    admitted : ndarray of bool, shape (n_judges,)
        The judges that may be chosen.
    """

    objective: Objective
    requirements: Requirements
    candidates: tuple[Candidate, ...]
    values: Floats
    resampled: Floats
    objectives: Floats
    admitted: Booleans

    @property
    def table(self) -> ItemTable:
        """The items."""
        return self.objective.table


def evidence_of(
    table: ItemTable,
    requirements: Requirements,
    candidates: Sequence[Candidate],
    draws: Draws,
    confidence: float,
) -> Evidence:
    """Every figure of every judge, in all data and in every resample."""
    values = table.values(table.tops.sum(axis=0), table.bottoms.sum(axis=0))
    objectives = table.objective(values)
    n_figures, n_judges = values.shape
    columns = np.concatenate([table.tops, table.bottoms], axis=1).reshape(
        table.n_clusters, 2 * n_figures * n_judges
    )
    totals = draws.totals(columns).reshape(draws.n_resamples, 2 * n_figures, n_judges)
    return Evidence(
        Objective(table, draws, confidence),
        requirements,
        tuple(candidates),
        values,
        table.values(totals[:, :n_figures], totals[:, n_figures:]),
        objectives,
        requirements.admitted(values) & ~np.isnan(objectives),
    )
