"""How the judges stand: their order, what they are behind the leader, the front, and how often each is chosen."""

import math

import numpy as np
from scipy import special

from metaeval.selection.confidence_set import ConfidenceSet
from metaeval.selection.evidence import Evidence
from metaeval.selection.objective import estimate_of
from metaeval.selection.table import COST, POSITIONAL, SECONDS, UNPARSED
from metaeval.selection.types import Floats, Standing
from metaeval.selection.verdict import Alike, Lead
from metaeval.stats import Estimate
from metaeval.stats.intervals import AMOUNT

NOTHING_SCORED = "no dataset can be scored"
_PART_ONLY = "it judged a part of the items only, so it is not ranked"
_NOT_MEASURED = "not measured"


def ranking(evidence: Evidence) -> list[int]:
    """Best first; then those that may not be chosen, those that judged a part only, and baselines."""

    def place_of(place: int) -> tuple[int, float, int]:
        group = 0 if evidence.admitted[place] else 1 if evidence.table.ranked[place] else 2
        group = 3 if evidence.candidates[place].is_baseline else group
        value = float(evidence.objectives[place])
        return group, math.inf if math.isnan(value) else -round(value, 10), place

    return sorted(range(len(evidence.objectives)), key=place_of)


def leads_of(
    evidence: Evidence, found: ConfidenceSet, *, margin: float = 0.0, alike: Alike | None = None
) -> dict[int, Lead]:
    """The leader against every other judge that has an objective; a judge that may not be chosen or a baseline too."""
    table, leader = evidence.table, found.kept[0]
    compared = table.ranked | np.array([one.is_baseline for one in evidence.candidates], dtype=np.bool_)
    compared &= ~np.isnan(evidence.objectives)
    confidence, names = evidence.objective.confidence, table.judges

    def lead(place: int) -> Lead:
        columns = table.scores[:, leader], table.scores[:, place]
        critical = found.critical.get(place, found.widest)
        gap = evidence.objective.difference(*columns, critical=critical)
        each = 2 * confidence - 1
        practical = evidence.objective.difference(*columns, level=each) if margin else None
        if alike is None or evidence.candidates[place].is_baseline:
            return Lead(gap, practical)
        level = 2 * float(special.stdtr(max(1, (gap.n_clusters or 1) - 1), critical)) - 1
        both = alike(names[leader], names[place], level)
        return Lead(gap, practical, both, alike(names[leader], names[place], each) if margin else None)

    return {place: lead(place) for place in np.flatnonzero(compared).tolist() if place != leader}


def pareto_front(evidence: Evidence, eligible: list[int]) -> list[int]:
    """Judges that no other beats in both, cheapest first; a judge whose cost is not known is on no front."""
    objective, costs = evidence.objectives, evidence.values[len(evidence.table.datasets) + COST]
    known = [place for place in eligible if not math.isnan(costs[place])]

    def beaten(one: int) -> bool:
        return any(
            costs[other] <= costs[one]
            and objective[other] >= objective[one]
            and (costs[other] < costs[one] or objective[other] > objective[one])
            for other in known
        )

    return sorted((one for one in known if not beaten(one)), key=lambda one: float(costs[one]))


def chosen_shares(evidence: Evidence) -> Floats:
    """In how many resamples each judge would be chosen; equally good ones share it. NaN for what is not ranked."""
    table = evidence.table
    share = np.full(len(table.judges), np.nan)
    objective = np.round(table.objective(evidence.resampled), 10)
    defined = ~np.isnan(objective[:, table.ranked]).any(axis=1)
    if not table.ranked.any() or not defined.any():
        return share
    objective = objective[defined]
    admitted = evidence.requirements.admitted(evidence.resampled[defined])
    best = np.where(admitted, objective, -np.inf)
    first = admitted & (best == best.max(axis=1, keepdims=True))
    shared = first / np.maximum(first.sum(axis=1, keepdims=True), 1)
    share[table.ranked] = shared.mean(axis=0)[table.ranked]
    return share


def standing_of(
    evidence: Evidence,
    place: int,
    chosen_share: float,
    lead: Lead | None,
    in_confidence_set: bool,
    on_front: bool,
) -> Standing:
    """How one judge stands."""
    table, candidate = evidence.table, evidence.candidates[place]
    n_datasets = len(table.datasets)

    def figure(which: int, bounds: tuple[float, float] | None, reason: str) -> Estimate:
        value, bottoms = float(evidence.values[which, place]), table.bottoms[:, which, place]
        return estimate_of(
            value,
            evidence.resampled[:, which, place],
            table.tops[:, which, place] - value * bottoms,
            bottoms,
            n=int(table.counts[which, place]),
            confidence=evidence.objective.confidence,
            bounds=bounds,
            reason=reason,
        )

    share = (0.0, 1.0)
    is_ranked = bool(table.ranked[place] or candidate.is_baseline) and not math.isnan(
        evidence.objectives[place]
    )
    if is_ranked:
        column = table.scores[:, place]
        resampled = table.objective(evidence.resampled)[:, place]
        objective = evidence.objective.estimate(column, resampled)
    else:
        reason = _PART_ONLY if table.shares.any() else NOTHING_SCORED
        objective = Estimate(math.nan, math.nan, math.nan, n=0, reason=reason)
    return Standing(
        key=table.judges[place],
        objective=objective,
        scores={
            name: figure(which, share, "no judged item can be scored")
            for which, name in enumerate(table.datasets)
        },
        positional_agreement=figure(n_datasets + POSITIONAL, share, "judged in one presentation order only"),
        unparsed=figure(n_datasets + UNPARSED, share, "nothing was judged"),
        cost_per_1000=figure(n_datasets + COST, AMOUNT, _NOT_MEASURED),
        seconds=figure(n_datasets + SECONDS, AMOUNT, _NOT_MEASURED),
        violations=evidence.requirements.violations(evidence.values, place),
        chosen_share=chosen_share,
        behind=None if lead is None else lead.difference,
        practical=None if lead is None else lead.practical,
        alike=None if lead is None else lead.alike,
        practical_alike=None if lead is None else lead.practical_alike,
        in_confidence_set=in_confidence_set,
        on_front=on_front,
        is_ranked=is_ranked,
    )
