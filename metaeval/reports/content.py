"""One report from the inputs of any kind: people, judges, and which judge leads."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from annotation.kinds import kind_of
from metaeval.figures import FIGURES, JudgeSample, KindFigures, Sample
from metaeval.figures.estimates import plain, rounded
from metaeval.figures.evaluators import MOST_JUDGES, capacity_section, evaluators_section
from metaeval.figures.groups import Layout
from metaeval.figures.measures import annotator_agreements, gold_measures, judge_measures, people_measures
from metaeval.figures.rating_scales import RatingScales
from metaeval.figures.sample import Part, item_means
from metaeval.inputs import Booleans, Floats, Inputs, JudgeAnswers, Options
from metaeval.progress import told
from metaeval.reports.errors import ReportError
from metaeval.reports.leading import select_means
from metaeval.reports.replacement import choice_section, corrected, labels_by_person, replacement_section
from metaeval.reports.report import (
    HEURISTIC,
    AnnotatorFigures,
    EstimateJson,
    JudgeFigures,
    LeaderRanking,
    PeopleFigures,
    ReportContent,
    ReportedItems,
)
from metaeval.stats.counts import LongLabels
from metaeval.stats.errors import quiet
from web.version import software_version


def build(inputs: Inputs, options: Options, *, inputs_hash: str | None = None) -> ReportContent:
    """Compute a report. The same inputs and options give the same report.

    Raises
    ------
    ReportError
        There are no items to report on.
    """
    if not len(inputs.items):
        raise ReportError(f"{inputs.name} has no items of the kind {kind_of(inputs.kind).label.lower()}.")
    kind = FIGURES[inputs.kind].on(inputs.scales).under(options.preset)
    if "pass_mark" in kind.options and (fault := RatingScales.of(inputs).mark_fault(options.pass_mark)):
        raise ReportError(fault)
    sample = kind.sample(inputs, options)
    judges, n = sample.judges, len(sample.judges)
    ranking_figures = [name for name in kind.ranking if sample.ranks_by(name)]
    with quiet():
        ranked = [
            {name: kind.of_judges(name).function(judge) for name in ranking_figures}
            for judge in told("Verdicts", n, judges)
        ]
        by_person = labels_by_person(inputs) if kind.has_replacement else None
        sections = corrected([_judge(kind, judge, by_person) for judge in told("Judges", n, judges)])
        selections = {
            name: _selection(kind, sample, name, [parts[name] for parts in ranked])
            for name in told("Comparison of judges", len(ranking_figures), ranking_figures)
        }
        replacement = None
        if kind.has_replacement:
            primary = kind.primaries[0]
            compared = {place: item_means(ranked[place][primary]) for place in selections[primary].ranking}
            replacement = choice_section(sample, compared, by_person)
        targets = {name: sample.has_target(name) for name in kind.primaries}
        # The first, unless more items can be compared by another.
        leading = max(kind.primaries, key=lambda name: int(targets[name].sum()))
        ranking = _by_rank(selections[leading], judges)
        return ReportContent(
            kind=inputs.kind,
            name=inputs.name,
            inputs_hash=inputs_hash or inputs.hash(options),
            software={"name": "touchstone", "version": software_version()},
            options=options.as_dict(kind.options),
            **{name: inputs.facts[name] for name in ("dataset", "study", "sweep")},
            targets=list(inputs.targets()) if "against" in kind.options else [],
            criteria=list(inputs.criteria),
            scales=inputs.scales_json() or None,
            dimension=inputs.facts.get("dimension"),
            items=_items(kind, sample, targets),
            people=_people(kind, sample),
            gold=gold_measures(kind, sample),
            judges=sections,
            primary=leading,
            selections=selections,
            replacement=replacement,
            remarks=sample.remarks(),
            parts=inputs.parts(),
            evaluators=evaluators_section(sample, ranking),
            capacity=_capacity(
                sample, leading, [item_means(ranked[place][leading]) for place in ranking], targets[leading]
            ),
        )


def _by_rank(selection: LeaderRanking, judges: Sequence[JudgeSample]) -> list[int]:
    """The judges but the baselines, the best first; those without a rank last."""
    ranked = [place for place in selection.ranking if not judges[place].judge.baseline]
    return ranked + [
        place for place, one in enumerate(judges) if place not in ranked and not one.judge.baseline
    ]


def _capacity(
    sample: Sample, figure: str, columns: Sequence[Floats], target: Booleans
) -> dict[str, Any] | None:
    """Of the best judges by the figure that ranks them; None where items were drawn by unequal chances."""
    if sample.compared is not None or not columns:
        return None
    scores = np.stack(columns[:MOST_JUDGES], axis=1)
    found = capacity_section(scores, sample.clusters, target, sample.options.seed)
    return None if found is None else {"figure": figure} | found


def _items(kind: KindFigures, sample: Sample, targets: dict[str, Booleans]) -> ReportedItems:
    return ReportedItems(
        n_items=sample.n_items,
        n_instructions=sample.resamples.n_clusters,
        n_gold=0 if "against" in kind.options else int(sample.items.has_gold.sum()),
        n_with_target=max(int(target.sum()) for target in targets.values()),
        categories=_sizes(sample.layout, "category"),
        subsets=_sizes(sample.layout, "subset"),
    )


def _sizes(layout: Layout, axis: str) -> list[dict[str, Any]]:
    """How many items each category, or each subset, has."""
    groups = [group for group in layout.groups if group.kind == axis]
    return [{"name": group.name, "n_items": int(group.members.sum())} for group in groups]


def _people(kind: KindFigures, sample: Sample) -> PeopleFigures:
    """The part of the report that is about people; they are numbered by first appearance, never named."""
    labels = sample.labels
    per_item = np.bincount(labels.item, minlength=sample.n_items)
    labelled = per_item[per_item > 0]
    drawn = 0 if sample.drawn is None else int(((per_item > 0) & (sample.drawn > 1)).sum())
    return PeopleFigures(
        n_labels=len(labels),
        n_annotators=len(np.unique(labels.annotator)),
        n_items_labelled=len(labelled),
        n_items_with_two_labels=int((per_item > 1).sum()),
        labels_per_item={
            "min": int(labelled.min()) if len(labelled) else 0,
            "max": int(labelled.max(initial=0)),
        },
        n_repeated_left_out=labels.n_repeated,
        n_drawn_by_chance=drawn,
        simulated_share=round(int(labels.simulated.sum()) / len(labels), 12) if len(labels) else None,
        measures=people_measures(kind, sample),
        annotators=_annotators(kind, sample),
    )


def _annotators(kind: KindFigures, sample: Sample) -> tuple[AnnotatorFigures, ...]:
    """A row a person: labels, and how far these agree with the others' of the same items."""
    labels = sample.labels
    return tuple(
        AnnotatorFigures(
            number=int(labels.annotator[own[0]]) + 1,
            n_labels=len(own),
            is_simulated=bool(labels.simulated[own[0]]),
            agreement=cast("EstimateJson", plain(estimate)),
        )
        for own, estimate in annotator_agreements(kind, sample)
    )


def _judge(kind: KindFigures, one: JudgeSample, by_person: LongLabels | None) -> JudgeFigures:
    judge = one.judge
    return JudgeFigures(
        name=judge.name,
        fingerprint=judge.fingerprint,
        backend=judge.backend,
        model=judge.model,
        strategy=judge.strategy,
        baseline=judge.baseline,
        n_judgments=int(judge.judged.sum()),
        n_items_judged=int(judge.asked.sum()),
        n_unparsed=int(judge.unparsed.sum()),
        n_failed=int(judge.failed.sum()),
        orders=_orders(judge.judged),
        measures=judge_measures(kind, one),
        replaces=replacement_section(one, by_person) if kind.has_replacement else None,
        abstention=rounded(one.threshold())
        if one.sample.options.n_resamples and not judge.baseline
        else None,
    )


def _orders(judged: Booleans) -> str:
    if judged.shape[1] == 1:
        return "original"
    first, second = bool(judged[:, 0].any()), bool(judged[:, 1].any())
    if first and second and not judged.all(axis=1).any():
        return "random"  # one order an item, not the same one for all
    return {(True, True): "both", (True, False): "original", (False, True): "swapped"}.get(
        (first, second), "none"
    )


# --- who leads -----------------------------------------------------------------------------------------------------


def _selection(kind: KindFigures, sample: Sample, name: str, parts: list[Part | None]) -> LeaderRanking:
    figure, target = kind.of_judges(name), sample.has_target(name)
    judges = sample.inputs.judges
    covered = {place: judge.asked & target for place, judge in enumerate(judges)}
    weights = sample.compared if figure.compares else None
    columns = {place: item_means(part) for place, part in enumerate(parts)}
    baselines = {place: judge.name for place, judge in enumerate(judges) if judge.baseline}
    floors: dict[int | str, Floats] = {place: columns[place] for place in baselines}
    if not kind.shows_baselines and judges:
        floors |= {
            floor.name: item_means(figure.function(sample.judge_type(sample, floor)))
            for floor in sample.baselines()
        }
    if sample.size is not None:
        weights = sample.size if weights is None else sample.size * weights
    return select_means(
        {place: column for place, column in columns.items() if place not in baselines},
        covered,
        resamples=sample.resamples,
        confidence=sample.options.confidence,
        bounds=figure.bounds or (0.0, 1.0),
        floors=floors,
        names=baselines,
        weights=weights,
        margin=sample.options.margin,
        annotators=sample.options.annotators,
        rules=_rules(judges),
        alike=partial(sample.difference_alike, name),
    )


def _rules(judges: Sequence[JudgeAnswers]) -> list[int]:
    """Judges that take no LLM, run like any other."""
    return [place for place, judge in enumerate(judges) if judge.backend == HEURISTIC]
