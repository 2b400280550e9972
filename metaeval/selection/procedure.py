"""The whole procedure of choosing: what it arrives at on all data, and what it is worth on new instructions."""

import math
from dataclasses import dataclass

import numpy as np

from metaeval.selection.evidence import Evidence
from metaeval.selection.held_out import (
    MIN_CLUSTERS,
    HeldOut,
    choose_on,
    cross_validate,
    scored,
    sums_by_fold,
)
from metaeval.selection.objective import Objective
from metaeval.selection.standings import NOTHING_SCORED
from metaeval.selection.types import COMPOSITE, CompositeFinding, Floats
from metaeval.stats import Estimate, PairedDifference
from metaeval.stats.arrays import Integers

MIN_FOLDS = 3
"""One is held out, one to try a composite on, one to choose it on."""

_OFTEN = 0.1
"""Share of the training parts that decide otherwise from which on a reader should know of it."""

_NO_CHOICE = "no judge satisfies the constraints"
_TOO_FEW = "fewer than three instructions cannot be held out in turn"


@dataclass(frozen=True, slots=True)
class ProcedureOutcome:
    """What the whole procedure arrives at, and what that is worth."""

    held_out: Estimate
    naive: float = math.nan
    optimism: PairedDifference | None = None
    chosen: str | None = None
    n_folds: int = 0
    judges: Integers | None = None
    """The judge asked about each item when it was held out (`HeldOut.judges`)."""


def procedure_run(
    evidence: Evidence,
    leader: int | None,
    eligible: list[int],
    n_folds: int,
    n_repeats: int,
    rng: np.random.Generator,
    notes: list[str],
) -> tuple[CompositeFinding | None, ProcedureOutcome]:
    """What the procedure is worth on new instructions, and what it arrives at."""
    table, objective = evidence.table, evidence.objective
    if leader is None:
        reason = _NO_CHOICE if table.shares.any() else NOTHING_SCORED
        return None, ProcedureOutcome(Estimate(math.nan, math.nan, math.nan, n=0, reason=reason))
    parts = _parts(evidence)
    # Whether composites are tried at all must not depend on which judges pass on the instructions held out.
    tried = int(evidence.requirements.by_fact.sum()) > 1 and len(parts) > 1
    with_composite = tried and len(eligible) > 1
    best = np.full(len(table.scores), leader)
    chosen, naive_column = table.judges[leader], scored(table, best)
    n_decide = len(np.unique(table.cluster[table.decides]))
    folds = min(n_folds, n_decide)
    if folds < MIN_FOLDS:
        notes.append("There are fewer than three instructions: nothing can be held out.")
        nothing = Estimate(math.nan, math.nan, math.nan, n=0, reason=_TOO_FEW)
        return None, ProcedureOutcome(nothing, objective.mean(naive_column), None, chosen)
    if folds < n_folds:
        notes.append(f"There are {folds} instructions, so there are {folds} folds.")
    found = cross_validate(
        objective,
        evidence.requirements,
        n_folds=folds,
        n_repeats=n_repeats,
        rng=rng,
        with_composite=tried,
    )
    composite = None
    if with_composite:
        by_category = best.copy()
        for category, judge in parts.items():
            by_category[table.category == category] = judge
        in_sample = scored(table, by_category)
        composite = _composite(evidence, parts, in_sample, found)
        if composite.worth_it:
            chosen, naive_column = COMPOSITE, in_sample
        notes += _mixed(objective, found, composite.worth_it)
    if found.nothing_chosen:
        notes.append(
            f"In {found.nothing_chosen} of the {folds * n_repeats} parts of the data that a judge was chosen on, none "
            f"satisfied the constraints."
        )
    pair = np.stack([naive_column, found.procedure], axis=1)
    resampled = objective.resampled(pair)
    held_out = _estimate(
        objective,
        found.procedure,
        resampled[:, 1],
        found.variance,
        "no judge satisfied the constraints in any part of the data",
    )
    # Means over repeats vary less from item to item than any repeat does, and their doubt is that of a repeat.
    plain = objective.variance(naive_column - found.procedure)
    each = np.mean([objective.variance(naive_column - column) for column in found.by_repeat])
    optimism = objective.difference(
        *pair.T,
        widen=math.sqrt(each / plain) if plain > 0 else 1.0,
    )
    return composite, ProcedureOutcome(
        held_out, objective.mean(naive_column), optimism, chosen, folds, found.judges
    )


def _mixed(objective: Objective, found: HeldOut, worth_it: bool) -> list[str]:
    """A note where parts of the data decide otherwise about the composite than all of it: the figure is of neither."""
    other = 1 - found.composite_used if worth_it else found.composite_used
    if other < _OFTEN:
        return []
    single, composite = (objective.mean(column) for column in (found.single, found.composite))
    return [
        f"The composite was found worth it on {100 * found.composite_used:.0f}% of the parts of the data that were "
        f"chosen on, so the held-out figure is of a mixture: held out, composites reach {100 * composite:.1f}% and "
        f"single judges {100 * single:.1f}%."
    ]


def _parts(evidence: Evidence) -> dict[int, int]:
    """The judge for each category that has enough instructions, by all data."""
    table = evidence.table
    whole = sums_by_fold(table, np.zeros(table.n_clusters, dtype=np.intp), 1)
    choice = choose_on(table, evidence.requirements, whole)
    enough = whole.clusters[0] >= MIN_CLUSTERS
    return {
        category: int(choice.parts[0, category])
        for category in range(1, len(table.categories))
        if enough[category]
    }


def _composite(
    evidence: Evidence, parts: dict[int, int], in_sample: Floats, found: HeldOut
) -> CompositeFinding:
    table, objective = evidence.table, evidence.objective
    pair = np.stack([found.composite, found.single], axis=1)
    resampled = objective.resampled(pair)
    plain = objective.variance(found.composite - found.single)
    gain = objective.difference(
        *pair.T,
        widen=math.sqrt(found.gain_variance / plain) if plain > 0 else 1.0,
    )
    return CompositeFinding(
        parts={table.categories[category]: table.judges[judge] for category, judge in parts.items()},
        naive=objective.mean(in_sample),
        held_out=_estimate(objective, found.composite, resampled[:, 0], found.composite_variance),
        gain=gain,
        worth_it=gain.low > 0,
    )


def _estimate(
    objective: Objective, column: Floats, resampled: Floats, variance: float, reason: str = "no item counts"
) -> Estimate:
    """A held-out figure; its interval is widened to the variance that the unsteady choice gives it."""
    plain = objective.variance(column) if not np.isnan(column).all() else 0.0
    widen = math.sqrt(variance / plain) if plain > 0 else 1.0
    return objective.estimate(column, resampled, widen=widen, reason=reason)
