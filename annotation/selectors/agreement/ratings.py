"""Agreement of people who rate criteria or answer checklists: each answer is a number of one unit.

A unit is an (item, criterion) or an (item, aspect). Units of one instruction are resampled together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.kinds import kind_of
from annotation.models import Criterion, Study
from annotation.selectors.agreement.common import (
    NO_PAIR,
    AnnotatorRow,
    Floats,
    Integers,
    People,
    alpha_of,
    annotator_rows,
    median_known,
    one_cluster,
    paired,
    scores_of_labels,
    share_of,
)
from annotation.selectors.agreement.parts import LabelRow, PartFigure, PartRow, PartsAgreement, label_values
from metaeval.stats import Estimate, Resamples, pairwise_agreement
from metaeval.stats.arrays import slots_of
from metaeval.stats.estimate import no_estimate

# "Cannot tell" beside 0 and 1: on a nominal scale numbers are names, and alpha takes them as such.
UNTOLD = 2.0


@dataclass(frozen=True, slots=True)
class Units:
    """One entry an answer: its unit, value and annotator; and of each unit its item, part, cluster, category."""

    row: Integers
    value: Floats
    label: Integers  # index of the label that the answer belongs to
    slots: Floats
    item: Integers
    part: NDArray[np.str_]
    instruction: Integers
    category: NDArray[np.str_]


def ratings_agreement_so_far(study: Study) -> PartsAgreement:
    people: People = {}
    labels = list(label_values(study, people))
    order = list(Criterion.objects.filter(dataset_id=study.dataset_id).values_list("key", flat=True))
    return ratings_compute(study.kind, labels, people, order)


def ratings_compute(kind: str, labels: list[LabelRow], people: People, criteria: list[str]) -> PartsAgreement:
    """The figures of these labels; ``criteria`` is the order in which criteria are listed."""
    units = units_of(kind, labels)
    resamples = Resamples(units.instruction)
    is_ordinal, by_part = kind_of(kind).scale == "ordinal", kind_of(kind).parts == "criteria"
    figures = _figures(units, resamples, None, is_ordinal=is_ordinal)
    item_annotators = np.unique(
        [(label.item, label.annotator) for label in labels] or np.zeros((0, 2)), axis=0
    )
    per_item = np.unique(item_annotators[:, 0], return_counts=True)[1]
    return PartsAgreement(
        kind=kind,
        labels=len(labels),
        items=len(per_item),
        items_with_two=int((per_item >= 2).sum()),
        annotators=len(people),
        simulated=sum(simulated for _, simulated in people.values()),
        seconds=median_known(np.array([label.seconds for label in labels], dtype=np.float64)),
        figures=figures,
        rows_of="Criterion" if by_part else "Category",
        rows=_rows(units, resamples, criteria, by_part=by_part, is_ordinal=is_ordinal),
        by_annotator=_annotators(units, labels, people, is_ordinal=is_ordinal),
        agreement_means="ratings within one point of the mean of the others'"
        if is_ordinal
        else "answers that most of the others gave too",
    )


def units_of(kind: str, labels: list[LabelRow]) -> Units:
    code: dict[tuple[int, str], int] = {}
    unit: list[tuple[int, str, int, str]] = []
    row, value, index = [], [], []
    for place, label in enumerate(labels):
        for part, number in _numbers(kind, label):
            key = (label.item, part)
            if key not in code:
                code[key] = len(unit)
                unit.append((label.item, part, label.instruction, label.category))
            row.append(code[key])
            value.append(number)
            index.append(place)
    rows = np.array(row, dtype=np.int64)
    values = np.array(value, dtype=np.float64)
    return Units(
        row=rows,
        value=values,
        label=np.array(index, dtype=np.int64),
        slots=slots_of(rows, values, len(unit)),
        item=np.array([item for item, *_ in unit], dtype=np.int64),
        part=np.array([part for _, part, *_ in unit], dtype=np.str_),
        instruction=np.array([instruction for *_, instruction, _ in unit], dtype=np.int64),
        category=np.array([category for *_, category in unit], dtype=np.str_),
    )


def _numbers(kind: str, label: LabelRow) -> list[tuple[str, float]]:
    return [
        (part, UNTOLD if number is None else number)
        for part, number in kind_of(kind).numbers(label.value).items()
    ]


def _figures(
    units: Units, resamples: Resamples, where: NDArray[np.bool_] | None, *, is_ordinal: bool
) -> tuple[PartFigure, ...]:
    same = PartFigure("Same answer", "of two people, mean over all pairs", _same(units, resamples, where, 0))
    level = "ordinal" if is_ordinal else "nominal"
    slots = units.slots if where is None else np.where(where[:, np.newaxis], units.slots, np.nan)
    alpha = PartFigure(
        "Krippendorff's alpha",
        f"{level}; 0 is chance, 1 is complete",
        alpha_of(slots, resamples, "ordinal" if is_ordinal else "nominal"),
        unit="number",
        low=-1.0,
        mark=0.0,
    )
    if not is_ordinal:
        return same, alpha
    near = PartFigure(
        "Within one point", "of two people, mean over all pairs", _same(units, resamples, where, 1)
    )
    return same, near, alpha


def _same(units: Units, resamples: Resamples, where: NDArray[np.bool_] | None, tolerance: float) -> Estimate:
    counted = paired(units.slots) if where is None else paired(units.slots) & where
    if not counted.any():
        return no_estimate(NO_PAIR)
    if one_cluster(resamples, counted):
        return pairwise_agreement(units.slots, tolerance=tolerance, where=where, n_resamples=0)
    return pairwise_agreement(units.slots, tolerance=tolerance, resamples=resamples, where=where)


def _rows(
    units: Units, resamples: Resamples, criteria: list[str], *, by_part: bool, is_ordinal: bool
) -> tuple[PartRow, ...]:
    groups = units.part if by_part else units.category
    names = np.unique(groups).tolist()
    if by_part:
        place = {name: k for k, name in enumerate(criteria)}
        names.sort(key=lambda name: (place.get(name, len(place)), name))
    rows = []
    for name in names:
        where = groups == name
        mine = where[units.row]
        rows.append(
            PartRow(
                name=name,
                items=len(np.unique(units.item[where])),
                labels=len(np.unique(units.label[mine])),
                mean=_mean(units.value[mine], is_ordinal=is_ordinal),
                figures=_figures(units, resamples, where, is_ordinal=is_ordinal),
            )
        )
    return tuple(rows)


def _mean(values: Floats, *, is_ordinal: bool) -> float | None:
    """The mean rating; of a checklist the share of yes among yes and no."""
    told = values if is_ordinal else values[values != UNTOLD]
    return float(told.mean()) if len(told) else None


def _annotators(
    units: Units, labels: list[LabelRow], people: People, *, is_ordinal: bool
) -> tuple[AnnotatorRow, ...]:
    annotator = np.array([label.annotator for label in labels], dtype=np.int64)
    seconds = np.array([label.seconds for label in labels], dtype=np.float64)
    near = near_others(units) if is_ordinal else scores_of_labels(units.row, units.value, len(units.slots))
    # Mean over the parts of a label: the label is what is independent of the person's other ones.
    known = ~np.isnan(near)
    total = np.bincount(units.label[known], weights=near[known], minlength=len(labels))
    count = np.bincount(units.label[known], minlength=len(labels))
    per_label = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return annotator_rows(annotator, seconds, people, lambda mine: share_of(per_label[mine]))


def near_others(units: Units) -> Floats:
    """For each rating, whether it is within one point of the mean of the others' of its unit; NaN without others."""
    total = np.nansum(units.slots, axis=1)[units.row]
    count = (~np.isnan(units.slots)).sum(axis=1)[units.row]
    with np.errstate(invalid="ignore", divide="ignore"):
        others = (total - units.value) / (count - 1)
        near = (np.abs(units.value - others) <= 1 + 1e-9).astype(np.float64)
    result: Floats = np.where(count > 1, near, np.nan)
    return result
