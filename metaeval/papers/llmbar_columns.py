"""The columns of LLMBar's tables: subsets and means of subsets, and what stands in them for one judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypedDict

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.groups import AVERAGE, is_adversarial
from metaeval.figures.measures import judge_measures
from metaeval.figures.pairwise import PairJudge, PairSample
from metaeval.papers.tables import PaperCell, Span, number_cell
from metaeval.stats import preset, subset_accuracy
from metaeval.stats.adversarial import SubsetTable
from metaeval.stats.errors import quiet

ACCURACY, AGREEMENT = "accuracy", "positional_agreement_llmbar"
_FIGURES = FIGURES["pairwise"].only(ACCURACY, AGREEMENT)
# The paper's order; other subsets follow as the dataset has them.
_ORDER = ("Natural", "Neighbor", "GPTInst", "GPTOut", "Manual")
# Sets that the paper has apart from LLMBar: of table 14 and of figure 5.
CASES = ("Constraint", "Negation", "Normal", "Base-9", "Base-10")
OTHER_SETS = ("FairEval", "LLMEval2", "MT-Bench")


@dataclass(frozen=True, slots=True)
class SubsetColumn:
    """A column: a subset, or the mean of several; ``above`` is what heads it with others."""

    head: str
    above: str
    kind: str
    name: str

    @property
    def span(self) -> str:
        """Its head in full: "Adversarial: Neighbor"."""
        return f"{self.above}: {self.head}" if self.above else self.head


def short_subset(path: str) -> str:
    """The last name of a path, as the paper writes it.

    Examples
    --------
    >>> short_subset("CaseStudy/Base_9"), short_subset("Adversarial/GPTInst"), short_subset("Processed/LLMEval^2")
    ('Base-9', 'GPTInst', 'LLMEval2')
    """
    return path.rstrip("/").rpartition("/")[2].replace("_", "-").replace("^", "")


def is_case(path: str) -> bool:
    """Whether a subset is of the case study; an adversarial one of the same name isn't."""
    return short_subset(path) in CASES and not _above(path)


def is_other_set(path: str) -> bool:
    """Whether a subset is one of the sets that LLMBar is compared with."""
    return short_subset(path) in OTHER_SETS and not _above(path)


def subset_columns_of(sample: PairSample) -> list[SubsetColumn]:
    """Natural subsets, adversarial ones and their mean, the mean of all; one column of all where there are none."""
    names = [group.name for group in sample.layout.groups if group.kind == "subset"]
    leaves = [name for name in names if not any(other.startswith(f"{name}/") for other in names)]
    leaves.sort(
        key=lambda name: _ORDER.index(short_subset(name)) if short_subset(name) in _ORDER else len(_ORDER)
    )
    means = {one.name for one in sample.layout.combinations if one.kind == "macro"}
    hard = [name for name in leaves if _above(name)]
    found = [SubsetColumn(short_subset(name), "", "subset", name) for name in leaves if name not in hard]
    found += [SubsetColumn(short_subset(name), "Adversarial", "subset", name) for name in hard]
    if hard and _above(hard[0]) in means:
        found.append(SubsetColumn("Average", "Adversarial", "macro", _above(hard[0])))
    if AVERAGE in means:
        found.append(SubsetColumn("Average", "", "macro", AVERAGE))
    return found or [SubsetColumn("All", "", "overall", "")]


class _Heads(TypedDict):
    spans: tuple[Span, ...]
    upper_spans: tuple[Span, ...]


def spans_of(columns: Sequence[SubsetColumn]) -> _Heads:
    """The heads above two columns for each subset: its name, and "Adversarial" over those that are."""
    upper = [(text, 2 * len(list(own))) for text, own in groupby(columns, key=lambda column: column.above)]
    return {
        "spans": tuple((column.head, 2) for column in columns),
        "upper_spans": tuple(upper) if any(text for text, _ in upper) else (),
    }


def _above(path: str) -> str:
    """The path down to its adversarial part; empty where it has none."""
    names = path.split("/")
    place = next((place for place, name in enumerate(names) if is_adversarial(name)), None)
    return "" if place is None else "/".join(names[: place + 1])


def accuracy_cells(
    judge: PairJudge, columns: Sequence[SubsetColumn], *, agreement: bool = True
) -> list[PaperCell]:
    """Accuracy and positional agreement of each column, by the registered figures."""
    found = judge_measures(_FIGURES, judge)
    return [
        number_cell(_value(found.get(name), column) if agreement or name == ACCURACY else None)
        for column in columns
        for name in (ACCURACY, AGREEMENT)
    ]


def accuracy_values(judge: PairJudge, columns: Sequence[SubsetColumn]) -> list[float | None]:
    """Accuracy of each column."""
    found = judge_measures(_FIGURES, judge).get(ACCURACY)
    return [_value(found, column) for column in columns]


def _value(breakdown: Any, column: SubsetColumn) -> float | None:
    part = (breakdown or {}).get(column.kind)
    estimate = part if column.kind == "overall" else (part or {}).get(column.name)
    return None if estimate is None else estimate["value"]


def rating_cells(judge: PairJudge, columns: Sequence[SubsetColumn]) -> list[PaperCell]:
    """Accuracy, an equal or a missing score counting one half, and the share of pairs with two scores that differ."""
    table = _rated(judge, missing="hedge")
    found = []
    for column in columns:
        accuracy, hedging = _of_column(table, column)
        found += [number_cell(accuracy), number_cell(1 - hedging)]
    return found


def hedging_cells(judge: PairJudge, columns: Sequence[SubsetColumn]) -> list[PaperCell]:
    """The share of pairs whose two scores are equal; a missing score is no hedge."""
    table = _rated(judge, missing="other")
    return [number_cell(_of_column(table, column)[1]) for column in columns]


def _rated(judge: PairJudge, *, missing: Any) -> SubsetTable:
    options = preset("llmbar").of(subset_accuracy) | {"unparsed": "hedge", "unparsed_hedging": missing}
    # Where one order was judged, it is the mean of the orders: the other one is not unparsed.
    verdicts = np.where(judge.judged, judge.verdicts, judge.verdicts[:, ::-1])
    with quiet():
        return subset_accuracy(
            verdicts,
            judge.sample.items.gold[:, 0],
            judge.sample.items.subset,
            where=judge.judge.asked,
            n_resamples=0,
            **options,
        )


def _of_column(table: SubsetTable, column: SubsetColumn) -> tuple[float, float]:
    """Accuracy and hedging rate; NaN where the judge was asked nothing of it."""
    path = "" if column.kind == "overall" or column.name == AVERAGE else column.name.strip("/")
    try:
        row = table.row(path)
    except KeyError:
        return np.nan, np.nan
    if column.kind == "macro":
        return row.accuracy_macro.value, row.hedging_macro.value
    return row.accuracy.value, row.hedging.value
