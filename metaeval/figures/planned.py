"""A pilot's figures as a plan needs them: of each figure that chooses judges, by how many labels items have.

The figures are those of the registry (`KindFigures.primaries`, `JudgeSample.alike`, `JudgeSample.beside_people`), so a
kind that can be compared with people of its kind can be planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.sample import CrossedRatio, Sample
from metaeval.inputs import Booleans, Inputs, Integers, Labels, Options
from metaeval.stats import AgreementModel
from metaeval.stats.crossed_sums import difference_sums
from metaeval.stats.planned_scores import PlannedFigure
from metaeval.stats.planned_sums import ScoreLevel, ScoreModel, score_level

# Fewer labels than the pilot has are drawn so many times, and of so many numbers.
_DRAWS, _LEVELS = 4, 5


def planned_figures(inputs: Inputs, judge: str = "", rival: str = "") -> AgreementModel:
    """What a pilot of any kind but pairs says of a study to come, with its judges by fingerprint.

    What labels of fewer people would have said is read from the same items with fewer of their labels. Without a judge
    only people's own agreement is known.
    """
    kind = FIGURES[inputs.kind].on(inputs.scales)
    chosen = [one for key in (judge, rival) for one in inputs.judges if one.fingerprint == key]
    judged = replace(inputs, judges=tuple(chosen))
    if not chosen:
        # People's own agreement stands beside a judge's: a baseline is one.
        judged = kind.with_baselines(judged)
    size = np.bincount(inputs.labels.item, minlength=len(inputs.items))
    top = _usual(size)
    if top < 2:
        return AgreementModel({})
    there = np.asarray(size >= top)
    found: dict[PlannedFigure, list[ScoreLevel]] = {}
    shapes: dict[PlannedFigure, tuple[CrossedRatio, float, float]] = {}
    for n_labels in _numbers(top):
        drawn: dict[PlannedFigure, list[ScoreLevel]] = {}
        for labels in _thinned(inputs.labels, size, there, n_labels, _DRAWS if n_labels < top else 1):
            sample = kind.sample(replace(judged, labels=labels), Options(n_resamples=0))
            for figure, part in plan_parts(sample, kind.primaries[0], known=bool(chosen)):
                low, width = part.bounds[0], part.bounds[1] - part.bounds[0]
                sums = (
                    part.sums if part.minus is None else difference_sums(part.sums, part.minus, part.crossing)
                )
                low = low if part.minus is None else 0.0
                shapes[figure] = replace(part, sums=sums), low, width
                level = score_level(
                    sums,
                    part.crossing,
                    n_labels,
                    resamples=sample.resamples,
                    there=there,
                    weights=sample.compared,
                    low=low,
                    width=width,
                )
                if level is not None:
                    drawn.setdefault(figure, []).append(level)
        for figure, levels in drawn.items():
            found.setdefault(figure, []).append(ScoreLevel.mean(levels))
    per_instruction = there.sum() / max(1, len(set(np.array(inputs.items.cluster)[there].tolist())))
    return AgreementModel(
        {
            figure: ScoreModel(tuple(levels), low, width, ties=kind.majority, curved=part.sums.is_curved)
            for figure, levels in found.items()
            for part, low, width in (shapes[figure],)
            if levels[-1].n_labels == top
        },
        float(per_instruction),
    )


def _usual(size: Integers) -> int:
    """The most labels that at least half of the labeled items have."""
    labeled = np.sort(size[size > 0])
    return int(labeled[len(labeled) // 2]) if len(labeled) else 0


def _numbers(top: int) -> list[int]:
    """Up to how many labels the pilot is looked at: few of them, and all."""
    return sorted({*range(1, min(top, _LEVELS - 1) + 1), top})


def _thinned(labels: Labels, size: Integers, there: Booleans, n_labels: int, times: int) -> Iterator[Labels]:
    """The labels of the items that are there, so many drawn of each; the same draws each time."""
    rng = np.random.default_rng(0)
    for _ in range(times):
        order = np.lexsort((rng.random(len(labels)), labels.item))
        place = np.empty(len(labels), dtype=np.intp)
        starts = np.cumsum(size) - size
        place[order] = np.arange(len(labels)) - starts[labels.item[order]]
        rows = np.flatnonzero(there[labels.item] & (place < n_labels))
        annotator = np.unique(labels.annotator[rows], return_inverse=True)[1].reshape(-1)
        yield replace(
            labels,
            item=labels.item[rows],
            annotator=annotator,
            values=labels.values[rows],
            simulated=labels.simulated[rows],
            shown_first=None if labels.shown_first is None else labels.shown_first[rows],
        )


def plan_parts(sample: Sample, primary: str, *, known: bool) -> Iterator[tuple[PlannedFigure, CrossedRatio]]:
    """The figures that can be planned."""
    first = sample.judges[0]
    own, beside = first.alike(primary), first.beside_people()
    if beside is not None and beside.minus is not None:
        yield "people", replace(beside, sums=beside.minus, minus=None)
        if known:
            yield "judge_minus_people", beside
    if own is None or not known:
        return
    yield "judge", own
    if len(sample.judges) > 1:
        other = sample.judges[1].alike(primary)
        if other is not None:
            yield "judge_minus_judge", replace(own, minus=other.sums)
