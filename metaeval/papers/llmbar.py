"""LLMBar: accuracy and positional agreement of judges on pairs with an objectively better output."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.figures import FIGURES
from metaeval.figures.groups import AVERAGE, is_adversarial
from metaeval.figures.measures import judge_measures
from metaeval.figures.pairwise import PairJudge, PairSample
from metaeval.papers.data import PaperData
from metaeval.papers.llmbar_evaluators import Evaluator, evaluator_of
from metaeval.papers.paper import PaperPart
from metaeval.papers.tables import (
    PaperCell,
    PaperTable,
    count_cell,
    number_cell,
    word_cell,
)

ACCURACY, AGREEMENT = "accuracy", "positional_agreement_llmbar"
_FIGURES = FIGURES["pairwise"].only(ACCURACY, AGREEMENT)
# The paper's order of adversarial subsets; others follow as the dataset has them.
_ORDER = ("Natural", "Neighbor", "GPTInst", "GPTOut", "Manual")
_PRINTED = {"GPT-4": "2", "ChatGPT": "5", "ChatGPT-0301": "6", "LLaMA2": "7", "PaLM2": "8", "Falcon": "9"}


@dataclass(frozen=True, slots=True)
class SubsetColumn:
    """A column of the paper: a subset, or the mean of several."""

    head: str
    above: str
    kind: str
    name: str


def parts(data: PaperData) -> Iterator[PaperPart]:
    """The tables and figures of the paper that the data carries, in its order."""
    sample = PairSample(data.inputs["pairwise"], data.options)
    columns = subset_columns_of(sample)
    yield _composition(sample, columns)
    evaluators = [
        evaluator_of(judge, data.specification(judge.judge))
        for judge in sample.judges
        if not judge.judge.baseline
    ]
    yield from _accuracy_tables(evaluators, columns)


def subset_columns_of(sample: PairSample) -> list[SubsetColumn]:
    """Natural subsets, adversarial ones and their mean, the mean of all."""
    names = [group.name for group in sample.layout.groups if group.kind == "subset"]
    leaves = [name for name in names if not any(other.startswith(f"{name}/") for other in names)]
    leaves.sort(key=lambda name: _ORDER.index(_short(name)) if _short(name) in _ORDER else len(_ORDER))
    means = {one.name for one in sample.layout.combinations if one.kind == "macro"}
    hard = [name for name in leaves if is_adversarial(name)]
    found = [SubsetColumn(_short(name), "", "subset", name) for name in leaves if not is_adversarial(name)]
    found += [SubsetColumn(_short(name), "Adversarial", "subset", name) for name in hard]
    above = hard[0].partition("/")[0] if hard else ""
    if above in means:
        found.append(SubsetColumn("Average", "Adversarial", "macro", above))
    if AVERAGE in means:
        found.append(SubsetColumn("Average", "", "macro", AVERAGE))
    return found or [SubsetColumn("All", "", "overall", "")]


def _short(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _composition(sample: PairSample, columns: Sequence[SubsetColumn]) -> PaperTable:
    """Table 1: how many pairs each subset has."""
    sizes = {(group.kind, group.name): int(group.members.sum()) for group in sample.layout.groups}
    rows = []
    subsets = [column for column in columns if column.kind == "subset"]
    hard = [column for column in subsets if column.above]
    for column in subsets:
        if hard and column is hard[0]:
            total = sum(sizes[one.kind, one.name] for one in hard)
            rows.append((word_cell("Adversarial"), count_cell(total)))
        rows.append((word_cell(column.head), count_cell(sizes[column.kind, column.name])))
    rows.append((word_cell("Total"), count_cell(sample.n_items)))
    return PaperTable(
        "t1-composition", "Table 1: composition", "Pairs in each subset.", ("Subset", "Pairs"), tuple(rows)
    )


def _accuracy_tables(evaluators: Sequence[Evaluator], columns: Sequence[SubsetColumn]) -> Iterator[PaperPart]:
    """Tables 2 and 5 to 9: one a model, a row an evaluator."""
    chosen = [one for one in evaluators if one.design in ("verdict", "other")]
    models = sorted({one.model for one in chosen}, key=lambda model: (_PRINTED.get(model, "99"), model))
    for model in models:
        rows = sorted((one for one in chosen if one.model == model), key=lambda one: one.rank)
        number = _PRINTED.get(model)
        yield PaperTable(
            f"t{number or 'x'}-{_slug(model)}",
            f"Table {number}: {model}" if number else f"As table 2: {model}",
            "Accuracy (Acc.), averaged over both presentation orders, and positional agreement (Agr.), in percent. "
            "Averages are unweighted means of subsets.",
            ("Strategy", *(word for _ in columns for word in ("Acc.", "Agr."))),
            tuple((word_cell(one.method), *accuracy_cells(one.judge, columns)) for one in rows),
            notes=tuple(_notes(rows)),
            spans=tuple(
                (f"{column.above}: {column.head}" if column.above else column.head, 2) for column in columns
            ),
        )


def accuracy_cells(judge: PairJudge, columns: Sequence[SubsetColumn]) -> list[PaperCell]:
    """Accuracy and positional agreement of each column."""
    found = judge_measures(_FIGURES, judge)
    return [
        number_cell(_value(found.get(name), column)) for column in columns for name in (ACCURACY, AGREEMENT)
    ]


def _value(breakdown: Any, column: SubsetColumn) -> float | None:
    part = (breakdown or {}).get(column.kind)
    estimate = part if column.kind == "overall" else (part or {}).get(column.name)
    return None if estimate is None else estimate["value"]


def _notes(rows: Sequence[Evaluator]) -> Iterator[str]:
    for one in rows:
        asked, n_items = int(one.judge.judge.asked.sum()), len(one.judge.judge.judged)
        if asked < n_items:
            yield f"{one.method} judged {asked:,} of {n_items:,} pairs."


def _slug(name: str) -> str:
    return "-".join(
        "".join(sign if sign.isalnum() and sign.isascii() else " " for sign in name.lower()).split()
    )
