"""The choice of a judge over several datasets, and how far it holds on new data."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from metaeval.selection.held_out import (
    MIN_CLUSTERS,
    HeldOut,
    choose_on,
    cross_validate,
    scored,
    sums_by_fold,
)
from metaeval.selection.objective import Objective, critical_values, estimate_of
from metaeval.selection.requirements import Requirements, requirements_of
from metaeval.selection.settling import settling_of
from metaeval.selection.table import COST, POSITIONAL, SECONDS, UNPARSED, Table, judged_verdicts, table_build
from metaeval.selection.types import (
    COMPOSITE,
    Booleans,
    Candidate,
    CompositeFinding,
    Constraints,
    Floats,
    JudgedDataset,
    Selection,
    Settling,
    Standing,
)
from metaeval.stats import Estimate, InvalidInputError, PairedDifference, Resamples, StatisticsWarning
from metaeval.stats.alternative_annotator import alternative_annotator_test
from metaeval.stats.arrays import Seed, generator

_PART_ONLY = "it judged a part of the items only, so it is not ranked"
_NOTHING = "no dataset can be scored"
_NO_CHOICE = "no judge satisfies the constraints"
_TOO_FEW = "fewer than three instructions cannot be held out in turn"
_NOT_MEASURED = "nobody measured it"
_NO_CONSTRAINTS = Constraints()
# The least folds: one held out, one to try a composite on, one to choose it on.
_MIN_FOLDS = 3


def choose(
    datasets: Sequence[JudgedDataset],
    candidates: Sequence[Candidate],
    constraints: Constraints = _NO_CONSTRAINTS,
    *,
    confidence: float = 0.95,
    n_resamples: int = 2_000,
    n_folds: int = 5,
    n_repeats: int = 5,
    power: float = 0.8,
    rng: Seed = None,
) -> Selection:
    """Choose a judge by several datasets with declared roles, and say how far the choice holds.

    The objective is the weighted mean of the datasets' scores: leave-one-out agreement on those of role "people",
    accuracy on those of role "gold". Judges are compared on the items that all of them judged. What ``held_out``
    says is what the *procedure* that chose is worth on instructions that it has not seen, by repeated nested
    cross-validation: constraints, choice and the composite are done anew without each fold.

    Parameters
    ----------
    datasets : sequence of JudgedDataset
    candidates : sequence of Candidate
        Judges that may be chosen, and baselines that they are compared with. Of equally good ones the first leads.
    constraints : Constraints
    confidence : float, default 0.95
        Level of all intervals and of the confidence set.
    n_resamples : int, default 2,000
        Of instructions, the same for all judges and datasets; 0 leaves out what comes from resampling.
    n_folds : int, default 5
        At least 3; fewer where there are fewer instructions.
    n_repeats : int, default 5
        With other folds; figures are means over them.
    power : float, default 0.8
        For `Selection.settling`.
    rng : int, numpy.random.Generator or None
        Seed of resamples and folds; None is a fixed seed.

    Raises
    ------
    InvalidInputError
        Naming the dataset and the judge, or the argument.

    References
    ----------
    S. Varma and R. Simon, "Bias in error estimation when using cross-validation for model selection", BMC
    Bioinformatics 7 (2006); G. C. Cawley and N. L. C. Talbot, "On over-fitting in model selection and subsequent
    selection bias in performance evaluation", JMLR 11 (2010); J. C. Hsu, "Multiple Comparisons: Theory and
    Methods", 1996, ch. 4.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> gold = rng.integers(1, 3, 200).astype(float)
    >>> def judge(accuracy):
    ...     return np.where(rng.random((200, 2)) < accuracy, gold[:, None], 3 - gold[:, None])
    >>> verdicts = {"good": judge(0.9), "poor": judge(0.6)}
    >>> items = JudgedDataset(
    ...     "Traps", "gold", verdicts, judged={}, gold=gold,
    ...     clusters=np.arange(200), categories=np.full(200, ""),
    ... )
    >>> found = choose([items], [Candidate("poor", "Poor"), Candidate("good", "Good")])
    >>> found.verdict, found.winner, round(found.held_out.value, 2)
    ('clear', 'good', 0.9)
    """
    _check(confidence, n_folds, n_repeats, power)
    table, notes = table_build(datasets, candidates)
    requirements = requirements_of(constraints, candidates, table, [one.role == "gold" for one in datasets])
    resamples = Resamples(table.n_clusters, n_resamples, generator(rng))
    with warnings.catch_warnings():
        # What is undefined says so in its own reason.
        warnings.simplefilter("ignore", StatisticsWarning)
        work = _Work(
            Objective(table, resamples, confidence),
            requirements,
            tuple(candidates),
            table.values(table.tops.sum(axis=0), table.bottoms.sum(axis=0)),
            _resampled(table, resamples),
        )
        return _select(work, datasets, notes, n_folds, n_repeats, power, generator(rng, 1))


def _check(confidence: float, n_folds: int, n_repeats: int, power: float) -> None:
    for name, value in (("confidence", confidence), ("power", power)):
        if not 0 < value < 1:
            raise InvalidInputError(f"{name}: expected a number between 0 and 1, got {value}")
    if n_folds < _MIN_FOLDS:
        raise InvalidInputError(f"n_folds: expected {_MIN_FOLDS} or more, got {n_folds}")
    if n_repeats < 1:
        raise InvalidInputError(f"n_repeats: expected 1 or more, got {n_repeats}")


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """What everything below reads: figures of all judges in all data, (n_figures, n_judges), and in each resample."""

    objective: Objective
    requirements: Requirements
    candidates: tuple[Candidate, ...]
    values: Floats
    resampled: Floats

    @property
    def table(self) -> Table:
        return self.objective.table


def _resampled(table: Table, resamples: Resamples) -> Floats:
    """Every figure of every judge in every resample, from one pass over the draws."""
    n_clusters, n_figures, n_judges = table.tops.shape
    if not resamples.n_resamples:
        return np.zeros((0, n_figures, n_judges))
    columns = np.concatenate([table.tops, table.bottoms], axis=1).reshape(n_clusters, -1)
    totals = resamples.totals(columns).reshape(-1, 2 * n_figures, n_judges)
    return table.values(totals[:, :n_figures], totals[:, n_figures:])


def _select(
    work: _Work,
    datasets: Sequence[JudgedDataset],
    notes: list[str],
    n_folds: int,
    n_repeats: int,
    power: float,
    rng: np.random.Generator,
) -> Selection:
    table, judges = work.table, work.table.judges
    objective = work.table.objective(work.values)
    admitted = work.requirements.admitted(work.values) & ~np.isnan(objective)
    order = _order(objective, admitted, work)
    eligible = [place for place in order if admitted[place]]
    leader = eligible[0] if eligible else None
    behind, critical = _behind(work, leader, eligible)
    tied = [place for place in eligible[1:] if not behind[place].low > 0]
    confidence_set = [] if leader is None else [leader, *tied]
    verdict: Literal["clear", "open", "single", "none"] = "none"
    if leader is not None:
        verdict = "single" if len(eligible) == 1 else "open" if tied else "clear"
    front = _front(eligible, objective, work.values[len(table.datasets) + COST])
    chosen_share = _chosen_share(work)
    standings = tuple(
        _standing(
            work,
            place,
            float(chosen_share[place]),
            behind.get(place),
            place in confidence_set,
            place in front,
        )
        for place in order
    )
    composite, outcome = _held_out(work, leader, eligible, n_folds, n_repeats, rng, notes)
    settling: list[Settling] = []
    for place in tied:
        gaps = table.scores[:, leader] - table.scores[:, place]
        settling += settling_of(work.objective, judges[place], gaps, critical=critical[place], power=power)
    replaces = {} if leader is None else _replaces(work.candidates[leader], datasets, notes)
    notes += _remarks(work, leader, datasets)
    return Selection(
        verdict=verdict,
        winner=judges[leader] if leader is not None and verdict in ("clear", "single") else None,
        leader=None if leader is None else judges[leader],
        standings=standings,
        held_out=outcome.held_out,
        naive=outcome.naive,
        optimism=outcome.optimism,
        confidence_set=tuple(judges[place] for place in confidence_set),
        confidence=work.objective.confidence,
        front=tuple(judges[place] for place in front),
        composite=composite,
        replaces=replaces,
        settling=tuple(settling),
        n_folds=outcome.n_folds,
        n_repeats=n_repeats if outcome.n_folds else 0,
        notes=tuple(notes),
        chosen=outcome.chosen,
    )


def _order(objective: Floats, admitted: Booleans, work: _Work) -> list[int]:
    """Best first; then those that may not be chosen, those that judged a part only, and baselines."""

    def place_of(place: int) -> tuple[int, float, int]:
        group = 0 if admitted[place] else 1 if work.table.ranked[place] else 2
        group = 3 if work.candidates[place].is_baseline else group
        value = float(objective[place])
        return group, math.inf if math.isnan(value) else -round(value, 10), place

    return sorted(range(len(objective)), key=place_of)


def _behind(
    work: _Work, leader: int | None, eligible: list[int]
) -> tuple[dict[int, PairedDifference], dict[int, float]]:
    """The leader against every other judge that has an objective, and the standard errors allowed for."""
    if leader is None:
        return {}, {}
    table = work.table
    objective = table.objective(work.values)
    ranked = table.ranked | np.array([one.is_baseline for one in work.candidates], dtype=np.bool_)
    others = [
        place
        for place in range(len(objective))
        if ranked[place] and not np.isnan(objective[place]) and place not in eligible
    ]
    places = np.array(eligible + others, dtype=np.intp)
    critical = dict(zip(places.tolist(), critical_values(work.objective, places, len(eligible)), strict=True))
    resampled = table.objective(work.resampled)
    return {
        place: work.objective.difference(
            table.scores[:, leader],
            table.scores[:, place],
            critical=critical[place],
            resampled=resampled[:, leader] - resampled[:, place],
        )
        for place in places.tolist()
        if place != leader
    }, critical


def _front(eligible: list[int], objective: Floats, costs: Floats) -> list[int]:
    """Judges that no other beats in both, cheapest first; a judge whose cost is not known is on no front."""
    known = [place for place in eligible if not math.isnan(costs[place])]

    def beaten(one: int) -> bool:
        return any(
            costs[other] <= costs[one]
            and objective[other] >= objective[one]
            and (costs[other] < costs[one] or objective[other] > objective[one])
            for other in known
        )

    return sorted((one for one in known if not beaten(one)), key=lambda one: float(costs[one]))


def _chosen_share(work: _Work) -> Floats:
    """In how many resamples each judge would be chosen; equally good ones share it. NaN for what is not ranked."""
    table = work.table
    share = np.full(len(table.judges), np.nan)
    objective = np.round(table.objective(work.resampled), 10)
    defined = ~np.isnan(objective[:, table.ranked]).any(axis=1)
    if not table.ranked.any() or not defined.any():
        return share
    objective = objective[defined]
    admitted = work.requirements.admitted(work.resampled[defined])
    best = np.where(admitted, objective, -np.inf)
    first = admitted & (best == best.max(axis=1, keepdims=True))
    shared = first / np.maximum(first.sum(axis=1, keepdims=True), 1)
    share[table.ranked] = shared.mean(axis=0)[table.ranked]
    return share


def _standing(
    work: _Work,
    place: int,
    chosen_share: float,
    behind: PairedDifference | None,
    in_confidence_set: bool,
    on_front: bool,
) -> Standing:
    table, candidate = work.table, work.candidates[place]
    n_datasets = len(table.datasets)

    def figure(which: int, bounds: tuple[float, float] | None, reason: str) -> Estimate:
        value, bottoms = float(work.values[which, place]), table.bottoms[:, which, place]
        return estimate_of(
            value,
            work.resampled[:, which, place],
            table.tops[:, which, place] - value * bottoms,
            bottoms,
            n=int(table.counts[which, place]),
            confidence=work.objective.confidence,
            bounds=bounds,
            reason=reason,
        )

    share = (0.0, 1.0)
    is_ranked = bool(table.ranked[place]) or (candidate.is_baseline and bool(table.shares.any()))
    if is_ranked:
        column = table.scores[:, place]
        resampled = table.objective(work.resampled)[:, place]
        objective = replace(
            work.objective.estimate(column, resampled), value=float(table.objective(work.values)[place])
        )
    else:
        reason = _PART_ONLY if table.shares.any() else _NOTHING
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
        cost_per_1000=figure(n_datasets + COST, None, _NOT_MEASURED),
        seconds=figure(n_datasets + SECONDS, None, _NOT_MEASURED),
        violations=work.requirements.violations(work.values, place),
        chosen_share=chosen_share,
        behind=behind,
        in_confidence_set=in_confidence_set,
        on_front=on_front,
        is_ranked=is_ranked,
    )


@dataclass(frozen=True, slots=True)
class _Outcome:
    held_out: Estimate
    naive: float = math.nan
    optimism: PairedDifference | None = None
    chosen: str | None = None
    n_folds: int = 0


def _held_out(
    work: _Work,
    leader: int | None,
    eligible: list[int],
    n_folds: int,
    n_repeats: int,
    rng: np.random.Generator,
    notes: list[str],
) -> tuple[CompositeFinding | None, _Outcome]:
    """What the procedure is worth on new instructions, and what it arrives at."""
    table, objective = work.table, work.objective
    if leader is None:
        reason = _NO_CHOICE if table.shares.any() else _NOTHING
        return None, _Outcome(Estimate(math.nan, math.nan, math.nan, n=0, reason=reason))
    parts = _parts(work)
    with_composite = len(eligible) > 1 and len(parts) > 1
    best = np.full(len(table.scores), leader)
    chosen, naive_column = table.judges[leader], scored(table, best)
    n_decide = len(np.unique(table.cluster[table.decides]))
    folds = min(n_folds, n_decide)
    if folds < _MIN_FOLDS:
        notes.append("There are fewer than three instructions: nothing can be held out.")
        nothing = Estimate(math.nan, math.nan, math.nan, n=0, reason=_TOO_FEW)
        return None, _Outcome(nothing, objective.mean(naive_column), None, chosen)
    if folds < n_folds:
        notes.append(f"There are {folds} instructions, so there are {folds} folds.")
    found = cross_validate(
        objective,
        work.requirements,
        n_folds=folds,
        n_repeats=n_repeats,
        rng=rng,
        with_composite=with_composite,
    )
    composite = None
    if with_composite:
        by_category = best.copy()
        for category, judge in parts.items():
            by_category[table.category == category] = judge
        in_sample = scored(table, by_category)
        composite = _composite(work, parts, in_sample, found)
        if composite.worth_it:
            chosen, naive_column = COMPOSITE, in_sample
    if found.nothing_chosen:
        notes.append(
            f"In {found.nothing_chosen} of the {folds * n_repeats} parts of the data that a judge was chosen on, none "
            f"satisfied the constraints."
        )
    pair = np.stack([naive_column, found.procedure], axis=1)
    resampled = objective.resampled(pair)
    held_out = objective.estimate(
        found.procedure, resampled[:, 1], reason="no judge satisfied the constraints in any part of the data"
    )
    optimism = objective.difference(*pair.T, resampled=resampled[:, 0] - resampled[:, 1])
    return composite, _Outcome(held_out, objective.mean(naive_column), optimism, chosen, folds)


def _parts(work: _Work) -> dict[int, int]:
    """The judge for each category that has enough instructions, by all data."""
    table = work.table
    whole = sums_by_fold(table, np.zeros(table.n_clusters, dtype=np.intp), 1)
    choice = choose_on(table, work.requirements, whole)
    enough = whole.clusters[0] >= MIN_CLUSTERS
    return {
        category: int(choice.parts[0, category])
        for category in range(1, len(table.categories))
        if enough[category]
    }


def _composite(work: _Work, parts: dict[int, int], in_sample: Floats, found: HeldOut) -> CompositeFinding:
    table, objective = work.table, work.objective
    pair = np.stack([found.composite, found.single], axis=1)
    resampled = objective.resampled(pair)
    gain = objective.difference(*pair.T, resampled=resampled[:, 0] - resampled[:, 1])
    return CompositeFinding(
        parts={table.categories[category]: table.judges[judge] for category, judge in parts.items()},
        naive=objective.mean(in_sample),
        held_out=objective.estimate(found.composite, resampled[:, 0]),
        gain=gain,
        worth_it=gain.low > 0,
    )


def _replaces(leader: Candidate, datasets: Sequence[JudgedDataset], notes: list[str]) -> dict[str, Any]:
    """The alternative annotator test of the leader on every dataset with enough people."""
    found = {}
    for dataset in datasets:
        if dataset.role != "people" or dataset.labels is None or leader.key not in dataset.verdicts:
            continue
        verdicts, judged = judged_verdicts(dataset, leader.key)
        # With both orders an item counts where it was judged in both; with one order, whichever it was.
        where = judged.all(axis=1)
        if not where.any():
            where = judged.any(axis=1)
            verdicts = np.where(judged[:, 0], verdicts[:, 0], verdicts[:, 1])
        test = alternative_annotator_test(
            dataset.labels, verdicts, where=where, clusters=np.asarray(dataset.clusters).astype(str)
        )
        if test.reason is None:
            found[dataset.name] = test
        else:
            notes.append(
                f"{dataset.name}: whether {leader.name} may replace a person was not tested ({test.reason})."
            )
    return found


def _remarks(work: _Work, leader: int | None, datasets: Sequence[JudgedDataset]) -> list[str]:
    """What a reader should know of the figures."""
    table = work.table
    notes = []
    for place, dataset in enumerate(datasets):
        if (
            table.shares[place]
            and len(np.unique(table.cluster[table.decides & (table.dataset == place)])) == 1
        ):
            notes.append(f"{dataset.name} has one instruction only: nothing tells how much it could vary.")
    if leader is not None:
        costs = work.values[len(table.datasets) + COST]
        without = [place for place in np.flatnonzero(table.ranked) if math.isnan(costs[place])]
        if len(without) == int(table.ranked.sum()):
            notes.append("The cost of no judge is known, so there is no front of score against cost.")
        elif without:
            names = ", ".join(work.candidates[place].name for place in without)
            notes.append(f"Not on the front of score against cost, as the cost is not known: {names}.")
    return notes
