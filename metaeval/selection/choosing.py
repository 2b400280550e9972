"""The choice of a judge over several datasets, and how far it holds on new data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metaeval.selection.alike import beside_labels, objective_alike
from metaeval.selection.confidence_set import confidence_set
from metaeval.selection.evidence import Evidence, evidence_of, requirements_of
from metaeval.selection.objective import Draws
from metaeval.selection.overlap import overlap_notes
from metaeval.selection.procedure import MIN_FOLDS, procedure_run
from metaeval.selection.replacement import EPSILON, replacement_test
from metaeval.selection.scoring import in_one_order, judged_verdicts
from metaeval.selection.settling import settling_of
from metaeval.selection.standings import chosen_shares, leads_of, pareto_front, ranking, standing_of
from metaeval.selection.table import COST, table_build
from metaeval.selection.types import Candidate, Constraints, JudgedDataset, Selection, Settling
from metaeval.selection.verdict import ANNOTATORS, Annotators, VerdictKind, as_margin, verdict_of_leads
from metaeval.stats import Resamples
from metaeval.stats.arrays import Integers, Seed, as_list, check_option, generator
from metaeval.stats.errors import quiet
from metaeval.stats.options import as_count, as_level

_NO_CONSTRAINTS = Constraints()


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
    epsilon: float = EPSILON,
    margin: float = 0.0,
    annotators: Annotators = "alike",
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
    epsilon : float, default 0.1
        For `Selection.replaces`: how much worse than an annotator a judge may be, as `alternative_annotator_test`
        explains. The default is the authors' advice for crowdworkers.
    margin : float, default 0
        How much better is better in practice, on the scale of the objective: 0.02 is 2 points.
    annotators : {"alike", "these"}
        Whether a winner must win with new annotators like these as well as on new items.
    rng : int, numpy.random.Generator or None
        Seed of resamples and folds; None is a fixed seed.

    Returns
    -------
    Selection

    Raises
    ------
    InvalidInputError
        Naming the dataset and the judge, or the argument.

    References
    ----------
    S. Varma and R. Simon, "Bias in error estimation when using cross-validation for model selection", BMC
    Bioinformatics 7 (2006); G. C. Cawley and N. L. C. Talbot, "On over-fitting in model selection and subsequent
    selection bias in performance evaluation", JMLR 11 (2010); P. R. Hansen, A. Lunde and J. M. Nason, "The
    model confidence set", Econometrica 79 (2011).

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
    margin = as_margin(margin)
    check_option(annotators, ANNOTATORS, "annotators")
    datasets = [in_one_order(dataset) for dataset in as_list(datasets, "datasets")]
    candidates = as_list(candidates, "candidates")
    table, notes = table_build(datasets, candidates)
    requirements = requirements_of(constraints, candidates, table, [one.role == "gold" for one in datasets])
    draws = Draws(table.n_clusters, n_resamples, generator(rng))
    with quiet():
        # What is undefined says so in its own reason.
        evidence = evidence_of(table, requirements, candidates, draws, confidence)
        asked = _Asked(n_folds, n_repeats, power, epsilon, margin, annotators)
        return _select(evidence, datasets, notes, asked, generator(rng, 1))


def _check(confidence: float, n_folds: int, n_repeats: int, power: float) -> None:
    as_level(confidence, "confidence")
    as_level(power, "power")
    as_count(n_folds, "n_folds", MIN_FOLDS)
    as_count(n_repeats, "n_repeats", 1)


@dataclass(frozen=True, slots=True)
class _Asked:
    n_folds: int
    n_repeats: int
    power: float
    epsilon: float
    margin: float
    annotators: Annotators


def _select(
    evidence: Evidence,
    datasets: Sequence[JudgedDataset],
    notes: list[str],
    asked: _Asked,
    rng: np.random.Generator,
) -> Selection:
    table, judges = evidence.table, evidence.table.judges
    order = ranking(evidence)
    eligible = [place for place in order if evidence.admitted[place]]
    leader = eligible[0] if eligible else None
    found = confidence_set(evidence.objective, eligible) if eligible else None
    leads = (
        {}
        if found is None
        else leads_of(
            evidence, found, margin=asked.margin, alike=objective_alike(evidence.objective, datasets)
        )
    )
    kept, critical = ((), {}) if found is None else (found.kept, found.critical)
    verdict: VerdictKind = "none"
    if eligible:
        candidates = evidence.candidates
        verdict = verdict_of_leads(
            {judges[place]: leads[place] for place in eligible[1:]},
            [lead.difference for place, lead in leads.items() if candidates[place].is_baseline],
            leader=judges[eligible[0]],
            margin=asked.margin,
            annotators=asked.annotators,
            rules={judges[place] for place in eligible if candidates[place].takes_no_llm},
        )
    front = pareto_front(evidence, eligible)
    chosen_share = chosen_shares(evidence)
    standings = tuple(
        standing_of(
            evidence,
            place,
            float(chosen_share[place]),
            leads.get(place),
            place in kept,
            place in front,
        )
        for place in order
    )
    composite, outcome = procedure_run(evidence, leader, eligible, asked.n_folds, asked.n_repeats, rng, notes)
    settling: list[Settling] = []
    for place in kept[1:]:
        gaps = table.scores[:, leader] - table.scores[:, place]
        settling += settling_of(
            evidence.objective, judges[place], gaps, critical=critical[place], power=asked.power
        )
    beside = {} if leader is None else beside_labels(evidence.objective, datasets, judges[leader])
    replaces = {} if leader is None else _replaces(evidence, outcome.judges, datasets, asked.epsilon, notes)
    notes += _remarks(evidence, leader, datasets)
    return Selection(
        verdict=verdict,
        winner=judges[leader] if leader is not None and verdict in ("clear", "single") else None,
        leader=None if leader is None else judges[leader],
        standings=standings,
        held_out=outcome.held_out,
        naive=outcome.naive,
        optimism=outcome.optimism,
        confidence_set=tuple(judges[place] for place in kept),
        confidence=evidence.objective.confidence,
        front=tuple(judges[place] for place in front),
        composite=composite,
        replaces=replaces,
        settling=tuple(settling),
        n_folds=outcome.n_folds,
        n_repeats=asked.n_repeats if outcome.n_folds else 0,
        notes=tuple(notes),
        chosen=outcome.chosen,
        margin=asked.margin,
        annotators=asked.annotators,
        **beside,
    )


def _replaces(
    evidence: Evidence,
    chosen: Integers | None,
    datasets: Sequence[JudgedDataset],
    epsilon: float,
    notes: list[str],
) -> dict[str, Any]:
    """The alternative annotator test, on every dataset with enough annotators, of what was chosen without its fold."""
    found = {}
    table = evidence.table
    for place, dataset in enumerate(datasets):
        if dataset.role != "people" or dataset.labels is None:
            continue
        if chosen is None:
            notes.append(
                f"{dataset.name}: the alternative annotator test was not made: nothing can be held out."
            )
            continue
        asked = chosen[table.dataset == place]
        test = replacement_test(
            dataset.labels,
            {
                one: judged_verdicts(dataset, table.judges[one])
                for one in np.unique(asked[asked >= 0]).tolist()
            },
            asked,
            clusters=Resamples(np.asarray(dataset.clusters).astype(str), 0),
            epsilon=epsilon,
            confidence=evidence.objective.confidence,
        )
        if test.reason is None:
            found[dataset.name] = test
        else:
            notes.append(f"{dataset.name}: the alternative annotator test was not made ({test.reason}).")
    return found


def _orders(evidence: Evidence, place: int, dataset: JudgedDataset) -> list[str]:
    """A note where some judges were asked in one presentation order and others in both."""
    table = evidence.table
    items = table.decides[table.dataset == place]
    if not items.any():
        return []
    ranked = np.flatnonzero(table.ranked)
    both = [judged_verdicts(dataset, table.judges[one])[1][items].all(axis=1).mean() for one in ranked]
    fewer = [evidence.candidates[one].name for one, share in zip(ranked, both, strict=True) if share < 0.5]
    if not fewer or len(fewer) == len(ranked):
        return []
    return [
        f"{dataset.name}: judged mostly in one presentation order, where others judged both: "
        f"{', '.join(fewer)}. Position bias can then count for or against it."
    ]


def _remarks(evidence: Evidence, leader: int | None, datasets: Sequence[JudgedDataset]) -> list[str]:
    """What a reader should know of the figures."""
    table = evidence.table
    notes = []
    for place, dataset in enumerate(datasets):
        notes += _orders(evidence, place, dataset)
        if (
            table.shares[place]
            and len(np.unique(table.cluster[table.decides & (table.dataset == place)])) == 1
        ):
            notes.append(f"{dataset.name} has only one instruction, so its variance is unknown.")
    judge = None if leader is None else table.judges[leader]
    notes += overlap_notes(evidence.objective, datasets, judge)
    if leader is not None:
        costs = evidence.values[len(table.datasets) + COST]
        without = [place for place in np.flatnonzero(table.ranked) if math.isnan(costs[place])]
        if len(without) == int(table.ranked.sum()):
            notes.append("No judge has a known cost, so there is no Pareto front of score against cost.")
        elif without:
            names = ", ".join(evidence.candidates[place].name for place in without)
            notes.append(f"Not on the Pareto front, because the cost is unknown: {names}.")
    return notes
