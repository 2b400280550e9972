"""Notes on labels an item: leave-one-out agreement rises with them."""

from collections.abc import Sequence

import numpy as np

from metaeval.selection.objective import Objective
from metaeval.selection.scoring import judged_verdicts
from metaeval.selection.types import JudgedDataset
from metaeval.stats.leave_one_out import LeaveOneOut

# People must be two to agree.
_FEWEST = 2


def overlap_notes(objective: Objective, datasets: Sequence[JudgedDataset], judge: str | None) -> list[str]:
    """Where datasets, or items of one, have different numbers of labels: that, and the judge's agreement at as many.

    Parameters
    ----------
    judge : str or None
        The one that leads.
    """
    table = objective.table
    found = {}
    for place, dataset in enumerate(datasets):
        if dataset.role != "people" or dataset.labels is None:
            continue
        n_labels = (~np.isnan(dataset.labels)).sum(axis=1)[table.decides[table.dataset == place]]
        n_labels = n_labels[n_labels >= _FEWEST]
        if len(n_labels):
            found[place] = int(n_labels.min()), int(n_labels.max())
    if len({number for ends in found.values() for number in ends}) < 2:
        return []
    words = "; ".join(f"{datasets[place].name}: {_range(*ends)}" for place, ends in found.items())
    where = "between datasets" if len(found) > 1 else "between items"
    note = (
        f"Labels per item differ {where} ({words}). Leave-one-out agreement rises with the number of labels, so "
        "compare judges on the same items, and not the scores of one judge on items of different overlap."
    )
    fewest = min(low for low, _ in found.values())
    at_fewest = [] if judge is None else [
        f"{value} on {datasets[place].name}"
        for place in found
        if (value := _at(objective, datasets[place], place, judge, fewest))
    ]  # fmt: skip
    if at_fewest:
        note += (
            f" At {fewest} labels an item, the agreement of the leading judge is {' and '.join(at_fewest)}."
        )
    return [note]


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def _at(objective: Objective, dataset: JudgedDataset, place: int, judge: str, n_labels: int) -> str:
    """Agreement at a number of labels of the items that decide; empty where none has so many."""
    table = objective.table
    items = table.dataset == place
    sample = LeaveOneOut(dataset.labels, n_labels=n_labels)
    found = sample.estimate(
        sample.judge(*judged_verdicts(dataset, judge)),
        where=table.decides[items],
        weights=dataset.weights,
        clusters=table.cluster[items],
        confidence=objective.confidence,
    )
    if not found.defined:
        return ""
    return f"{100 * found.value:.1f}% [{100 * found.low:.1f}, {100 * found.high:.1f}]"
