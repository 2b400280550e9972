"""Checklists on which weighing by importance changes the score most: what to send to people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.models import Dataset, Kind
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.kinds.inputs import KindInputs, KindJudge
from metaeval.selectors.kind_inputs import kind_inputs
from metaeval.selectors.sweeps import SweepView
from metaeval.stats import InvalidInputError, aspect_levels, tower_drfr_differences
from web.csv_text import csv_text

MOST_ITEMS = 200


@dataclass(frozen=True, slots=True)
class TowerItem:
    """An item, with both scores in [0, 1] by one judge and TOWER minus DRFR."""

    item: str
    drfr: float
    tower: float
    difference: float


def tower_items(*, dataset: Dataset, sweep: SweepView, n: int = MOST_ITEMS) -> tuple[str, list[TowerItem]]:
    """The judge that answered most checklists, and the items on which its TOWER and DRFR differ most.

    Raises
    ------
    ReportError
        There are no checklists, nobody judged one, or no aspect depends on another.
    """
    inputs = kind_inputs(dataset=dataset, kind=Kind.CHECKLIST.value, sweep=sweep)
    if not inputs.judges:
        raise NothingJudgedError("No judge has judged a checklist yet.")
    judge = max(inputs.judges, key=lambda one: len(one.values))
    items, answers, levels = _flat(inputs, judge)
    if not levels or max(levels) == 1:
        raise ReportError("No aspect of these checklists depends on another: TOWER is DRFR there.")
    found = tower_drfr_differences(
        np.array(answers), np.array(items), np.array(levels, dtype=np.float64), n=n
    )
    return judge.name, [
        TowerItem(inputs.items[row].external_id, *map(float, figures))
        for row, *figures in zip(found.item, found.drfr, found.tower, found.difference, strict=True)
    ]


def tower_csv(items: list[TowerItem]) -> str:
    """As the file that a study takes: the largest difference first."""
    return csv_text(("item", "priority"), ((one.item, f"{abs(one.difference):.6f}") for one in items))


def _flat(inputs: KindInputs, judge: KindJudge) -> tuple[list[int], list[float], list[int]]:
    """One entry an aspect: its item, the judge's answer, its level. Items whose aspects are no tree are left out."""
    items: list[int] = []
    answers: list[float] = []
    levels: list[int] = []
    for row, value in sorted(judge.values.items()):
        aspects = inputs.items[row].aspects
        try:
            level = aspect_levels({aspect.key: aspect.parent for aspect in aspects})
        except InvalidInputError:
            continue
        said = value.get("answers", {})
        for aspect in aspects:
            answer = said.get(aspect.key)
            items.append(row)
            answers.append(np.nan if answer is None else float(answer))
            levels.append(level[aspect.key])
    return items, answers, levels
