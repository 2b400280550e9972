"""Checklists on which weighing by importance changes the score most: what to send to people."""

from dataclasses import dataclass

import numpy as np

from annotation.models import Dataset
from metaeval.figures.checklist import ChecklistJudge, ChecklistSample
from metaeval.inputs import UNSURE, Options
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.sweeps import SweepView
from metaeval.stats import tower_drfr_differences
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
    inputs = inputs_read(dataset=dataset, kind="checklist", sweep=sweep)
    if not inputs.judges:
        raise NothingJudgedError("No judge has judged a checklist yet.")
    sample = ChecklistSample(inputs, Options(n_resamples=0))
    judge: ChecklistJudge = max(sample.judges, key=lambda one: int(one.read.sum()))
    # Items whose aspects are no tree are left out.
    weights = sample.tower[sample.is_question]
    used = judge.read[sample.item] & ~np.isnan(weights)
    answers = np.where(judge.answers == UNSURE, np.nan, judge.answers)[used]
    levels = np.round(1 / weights[used])
    if not len(levels) or levels.max() == 1:
        raise ReportError("No aspect of these checklists depends on another: TOWER is DRFR there.")
    found = tower_drfr_differences(answers, sample.item[used], levels, n=n)
    return judge.judge.name, [
        TowerItem(inputs.items.external_id[row], *map(float, figures))
        for row, *figures in zip(found.item, found.drfr, found.tower, found.difference, strict=True)
    ]


def tower_csv(items: list[TowerItem]) -> str:
    """As the file that a study takes: the largest difference first."""
    return csv_text(("item", "priority"), ((one.item, f"{abs(one.difference):.6f}") for one in items))
