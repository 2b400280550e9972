"""From figures to estimates: in every group of items, on the same resamples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from metaeval.figures.estimates import Breakdown, Measure, breakdowns, plain, weighted
from metaeval.figures.figure import Figure, KindFigures
from metaeval.figures.sample import (
    ByCriterion,
    ByGroup,
    Crossed,
    CrossedRatio,
    JudgeSample,
    Ratio,
    Sample,
)
from metaeval.inputs import Booleans, Floats, Integers
from metaeval.stats import Estimate, PairedDifference, mean_estimate, ratio_estimate
from metaeval.stats.combined import mean_of_strata
from metaeval.stats.crossed import People
from metaeval.stats.crossed_sums import sums_difference, sums_estimate
from metaeval.stats.errors import quiet

_ACROSS = "no interval: an instruction lies in several of the groups"
_NOT_SHARED = "no item shared with others"


def people_measures(kind: KindFigures, sample: Sample) -> dict[str, Breakdown]:
    """The figures of people; none without labels, but for kinds that say of each why it is undefined."""
    if not (len(sample.labels) or kind.says_undefined):
        return {}
    return measured(sample, kind.people, sample, lambda _: sample.drawn)


def annotator_agreements(kind: KindFigures, sample: Sample) -> Iterator[tuple[Integers, Estimate]]:
    """The labels of each annotator, and the mean agreement of these with the others' of the same items."""
    figure, labels, options = kind.of_one_person, sample.labels, sample.options
    if not len(labels):
        return
    with_others = sample.with_others()
    cluster = sample.clusters[labels.item]
    order = np.argsort(labels.annotator, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(labels.annotator[order])) + 1):
        # Each person's items by themselves: to resample all items for each would cost people times items.
        with quiet():
            estimate = mean_estimate(
                with_others[own],
                bounds=figure.bounds,
                reason=_NOT_SHARED,
                clusters=cluster[own],
                # Of a bounded mean the ends depend on the data alone; one resample says that they are asked for.
                n_resamples=min(1, options.n_resamples),
                weights=None if sample.drawn is None else sample.drawn[labels.item[own]],
                confidence=options.confidence,
                rng=options.seed,
            )
        yield own, estimate


def gold_measures(kind: KindFigures, sample: Sample) -> dict[str, Breakdown]:
    """The figures of the gold answers, where judges are compared with them."""
    return measured(sample, kind.gold, sample, lambda _: None) if sample.against_gold else {}


def judge_measures(kind: KindFigures, judge: JudgeSample) -> dict[str, Breakdown]:
    """The figures of a judge."""
    sample: Sample = judge.sample

    def weights(figure: Figure) -> Floats | None:
        return sample.compared if figure.compares else None

    found = measured(sample, kind.judges, judge, weights)
    for breakdown in found.values():
        if "gap" in breakdown and breakdown["gap"]["value"] is None:
            del breakdown["gap"]
    return found


def measured(
    sample: Sample, figures: Collection[Figure], subject: Any, weights: Callable[[Figure], Floats | None]
) -> dict[str, Breakdown]:
    """Each figure that the subject (a sample, or a judge of it) has: overall, and in groups or by criterion."""
    found: dict[str, Breakdown] = {}
    ratios = []
    criteria: dict[str, Breakdown] = {}
    with quiet():
        for figure in figures:
            part = figure.function(subject)
            if isinstance(part, Ratio):
                if part.top.ndim == 2:
                    criteria[figure.name] = _by_criterion(
                        sample, _ratio(sample, figure, part, weights(figure))
                    )
                    part = replace(part, top=part.top.sum(axis=1), bottom=part.bottom.sum(axis=1))
                ratios.append(weighted(_measure(figure, part), weights(figure)))
            elif isinstance(part, ByGroup):
                found[figure.name] = _by_group(sample, part.function)
            elif isinstance(part, Crossed | CrossedRatio):
                found[figure.name] = _by_group(
                    sample,
                    partial(_crossed, sample, part, weights(figure)),
                    _alike_of(sample, part, weights(figure)),
                )
            elif part is not None:
                overall: Breakdown = {"overall": plain(part.function(None))}
                found[figure.name] = overall | _by_criterion(sample, part.function)
                if part.in_group is not None:
                    found[figure.name] |= _of_strata(sample, figure, part.in_group)
        found |= breakdowns(ratios, sample.layout, sample.resamples, sample.options.confidence)
        for name, by_criterion in criteria.items():
            found[name] |= by_criterion
        for figure in figures:
            other = figure.alike(subject) if figure.alike is not None and figure.name in found else None
            if isinstance(other, ByCriterion):
                _add_by_criterion(sample, found[figure.name], other.function)
            elif isinstance(other, ByGroup):
                _add_by_group(sample, found[figure.name], other.function)
            elif other is not None:
                _add_by_group(sample, found[figure.name], _alike_of(sample, other, weights(figure)))
        return found


def _add_by_group(sample: Sample, found: Breakdown, alike: Callable[[Booleans], Estimate]) -> None:
    """Beside each figure its interval of annotators like these."""
    for group in sample.layout.groups:
        # Some figures by criterion have no other groups.
        place = found.get(group.kind)
        place = place if group.kind == "overall" or place is None else place[group.name]
        if place is not None and place["value"] is not None:
            place["alike"] = plain(alike(group.members))


def _add_by_criterion(sample: Sample, found: Breakdown, alike: Callable[[int | None], Estimate]) -> None:
    places: list[tuple[Any, int | None]] = [(found["overall"], None)]
    places += [(found["criterion"][name], place) for place, name in enumerate(sample.inputs.criteria)]
    for place, criterion in places:
        if place["value"] is not None:
            place["alike"] = plain(alike(criterion))


def _measure(figure: Figure, part: Ratio) -> Measure:
    return Measure(figure.name, part.top, part.bottom, figure.range, part.reason, part.scale, gap=figure.gap)


def _crossed(
    sample: Sample,
    part: Crossed | CrossedRatio,
    weights: Floats | None,
    members: Booleans,
    people: People = "fixed",
) -> Estimate:
    """Of a population of annotators, these or others like them; of a group from its items and labels alone."""
    if isinstance(part, CrossedRatio):
        return _crossed_ratio(sample, part, weights, members, people)
    within = sample.within(members, part.labels.crossing, part.item, part.resamples)
    rows, labels = within.rows, within.labels
    item = rows if part.item is None else part.item[rows]
    options: Any = {
        "weights": None if weights is None else weights[item],
        "resamples": within.resamples,
        "confidence": sample.options.confidence,
        "people": people,
        "crossing": within.crossing,
    }
    scores = part.scores.among(rows, labels)
    if part.minus is None:
        return part.labels.estimate(scores, **options)
    return _plain_gap(part.labels.difference(scores, part.minus.among(rows, labels), **options))


def _crossed_ratio(
    sample: Sample, part: CrossedRatio, weights: Floats | None, members: Booleans, people: People
) -> Estimate:
    within = sample.within(members, part.crossing)
    rows, labels = within.rows, within.labels
    options: Any = {
        "weights": None if weights is None else weights[rows],
        "resamples": within.resamples,
        "confidence": sample.options.confidence,
        "bounds": part.bounds,
    }
    sums = part.sums.among(rows, labels)
    if part.minus is not None:
        minus = part.minus.among(rows, labels)
        return _plain_gap(sums_difference(sums, minus, within.crossing, people=people, **options))
    return sums_estimate(sums, within.crossing, **options)


def _plain_gap(gap: PairedDifference) -> Estimate:
    """How sure it is that one is ahead is for lists of rivals, which figures are not."""
    return Estimate(gap.value, gap.low, gap.high, gap.n, gap.n_clusters, gap.method, gap.reason)


def _alike_of(
    sample: Sample, part: Crossed | CrossedRatio, weights: Floats | None
) -> Callable[[Booleans], Estimate]:
    return partial(_crossed, sample, part, weights, people="sampled")


def _by_group(
    sample: Sample,
    function: Callable[[Booleans], Estimate],
    alike: Callable[[Booleans], Estimate] | None = None,
) -> Breakdown:
    found: Breakdown = {}
    for group in sample.layout.groups:
        estimate = plain(function(group.members))
        if alike is not None and estimate["value"] is not None:
            estimate["alike"] = plain(alike(group.members))
        if group.kind == "overall":
            found["overall"] = estimate
        else:
            found.setdefault(group.kind, {})[group.name] = estimate
    return found


def _by_criterion(sample: Sample, function: Callable[[int | None], Estimate]) -> Breakdown:
    criteria = enumerate(sample.inputs.criteria)
    return {"criterion": {name: plain(function(place)) for place, name in criteria}}


def _of_strata(sample: Sample, figure: Figure, function: Callable[[Booleans], Estimate]) -> Breakdown:
    """Of the groups that the figure has tables of, and the unweighted means over these, which share no instruction."""
    found: Breakdown = {}
    groups = sample.layout.groups
    estimates = {
        place: function(group.members) for place, group in enumerate(groups) if group.kind in figure.axes
    }
    for place, estimate in estimates.items():
        found.setdefault(groups[place].kind, {})[groups[place].name] = plain(estimate)
    for combination in sample.layout.combinations:
        used = np.flatnonzero(combination.weights).tolist()
        if combination.is_difference or not set(used) <= set(estimates):
            continue
        mean = mean_of_strata([estimates[place] for place in used], bounds=figure.bounds or (-1.0, 1.0))
        if _share_clusters(sample, [groups[place].members for place in used]):
            mean = Estimate(mean.value, np.nan, np.nan, mean.n, reason=mean.reason or _ACROSS)
        found.setdefault(combination.kind, {})[combination.name] = plain(mean)
    return found


def _share_clusters(sample: Sample, members: Sequence[Booleans]) -> bool:
    seen = [set(sample.clusters[each].tolist()) for each in members]
    return len(set[int]().union(*seen)) < sum(len(each) for each in seen)


def _ratio(
    sample: Sample, figure: Figure, part: Ratio, weights: Floats | None
) -> Callable[[int | None], Estimate]:
    """Of one criterion."""
    top, bottom, reason = part.top, part.bottom, part.reason
    options: Any = {
        "resamples": sample.resamples,
        "confidence": sample.options.confidence,
        "weights": weights,
    }

    def ratio(place: int | None) -> Estimate:
        return ratio_estimate(top[:, place], bottom[:, place], bounds=figure.range, reason=reason, **options)

    return ratio
