"""TOWER: whose order of importance people share, DRFR against TOWER by model, what is followed by level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from metaeval.figures.checklist import tower_weights
from metaeval.figures.rankings import RankingSample
from metaeval.inputs import Floats, Items
from metaeval.papers.data import PaperData
from metaeval.papers.names import distinct_names
from metaeval.papers.paper import PaperPart
from metaeval.papers.table_pictures import level_panels
from metaeval.papers.tables import MissingPart, PaperCell, PaperTable, number_cell, slug, word_cell
from metaeval.papers.tower_checklists import PEOPLE, Answered, ModelChecklists
from metaeval.papers.tower_preferences import NAME, TITLE, preference_test
from metaeval.stats import (
    Estimate,
    ImportanceTable,
    importance_agreement_by_annotator,
    preset,
)
from metaeval.stats.errors import quiet

_EQUAL, _TREE = "Standard DRFR", "Tree of the dataset"
# As the paper's rows call our strategies, in its order.
_METHODS = {
    "importance_ranking": "Ranking",
    "importance_direct": "Direct Scoring",
    "importance_tree": "Tree-Based",
}
_MOST_ANNOTATORS = 12
_NO_IMPORTANCE = (
    "There are no items in which annotators order an instruction's requirements by importance.",
    "Add items of the kind importance with the same aspects.",
)
_NO_RANKING = (
    "Nobody has ordered these requirements by importance yet.",
    "Open a study of the kind importance with an overlap of 4, or import labels with the items.",
)
_NO_CHECKLIST = (
    "There are no checklists, in which the requirements are answered with yes or no.",
    "Add items of the kind checklist, one for each response.",
)
_NOBODY = (
    "Nobody has answered these checklists yet.",
    "Run a judge of the strategy checklist_each, open a study, or import answers.",
)
_NO_TREE = "No requirement depends on another, so TOWER would be the same as DRFR."
_ADD_TREE = "Give each aspect the parent that it depends on and import the file again."


def tower_parts(data: PaperData) -> Iterator[PaperPart]:
    """TOWER's tables and its figure, in the order of the paper."""
    if "importance" in data.inputs:
        yield from _table_1(data)
    else:
        yield MissingPart("t1", "Table 1: Agreement on importance", *_NO_IMPORTANCE)
    if "checklist" in data.inputs:
        followed = ModelChecklists(data)
        yield from _table_2(followed)
        yield from _figure_2(followed)
        yield from preference_test(followed, data.inputs.get("pairwise"))
    else:
        yield MissingPart("t2", "Table 2: DRFR and TOWER by model", *_NO_CHECKLIST)
        yield MissingPart("f2", "Figure 2: Follow rate by level", *_NO_CHECKLIST)
        yield MissingPart(NAME, TITLE, *_NO_CHECKLIST)


# --- Table 1 ---------------------------------------------------------------------------------------------------------


class ImportanceOrders:
    """Everybody's ranks of every instruction's requirements; None where there are none."""

    def __init__(self, data: PaperData) -> None:
        self.data = data
        self.sample = RankingSample(data.inputs["importance"], data.options)

    @cached_property
    def people(self) -> dict[str, list[Floats | None]]:
        """By annotator, numbered by first appearance."""
        sample, labels = self.sample, self.sample.labels
        found: dict[str, list[Floats | None]] = {}
        for row in sample.ranked.tolist():
            own = found.setdefault(f"Annotator {labels.annotator[row] + 1}", [None] * sample.n_items)
            item = int(labels.item[row])
            own[item] = labels.values[row, : sample.n_parts[item]]
        return found

    @cached_property
    def methods(self) -> dict[str, list[Floats | None]]:
        """Equal weights, judges in the paper's order, then the dataset's own tree."""
        sample = self.sample
        found: dict[str, list[Floats | None]] = {
            _EQUAL: [np.ones(n) if n else None for n in sample.n_parts.tolist()]
        }
        order = list(_METHODS)
        judges = [judge for judge in sample.judges if not judge.judge.baseline]
        judges.sort(
            key=lambda one: order.index(one.judge.strategy) if one.judge.strategy in order else len(order)
        )
        strategies = [judge.judge.strategy for judge in judges]
        names = []
        for judge in judges:
            word = _METHODS.get(judge.judge.strategy, "")
            alone = word and strategies.count(judge.judge.strategy) == 1
            names.append(word if alone else f"{word} ({judge.judge.name})" if word else judge.judge.name)
        for name, judge in zip(distinct_names(names), judges, strict=True):
            found[name] = [
                None if np.isnan(ranks).all() else ranks[:n]
                for ranks, n in zip(judge.ranks, sample.n_parts.tolist(), strict=True)
            ]
        if any(any(parents) for parents in sample.items.parents):
            found[_TREE] = _levels_by_item(self.data.inputs["importance"].items)
        return found

    def table(self, convention: str | None) -> ImportanceTable:
        """All correlations, by average ranks or by the paper's formula."""
        options: dict[str, Any] = {"n_resamples": 0, "weights": self.sample.drawn}
        if convention is not None:
            options |= preset(convention).of(importance_agreement_by_annotator)
        with quiet():
            return importance_agreement_by_annotator(
                self.people, self.methods, methods_are="ranks", **options
            )


def _levels_by_item(items: Items) -> list[Floats | None]:
    """The levels of each item's requirements: None where they are no tree."""
    found: list[Floats | None] = []
    for weights, names in zip(tower_weights(items), items.parts, strict=True):
        own = weights[: len(names)]
        found.append(None if not len(names) or np.isnan(own).any() else 1.0 / own)
    return found


def _table_1(data: PaperData) -> Iterator[PaperPart]:
    title = "Table 1: Agreement on importance"
    importance = ImportanceOrders(data)
    if not importance.people:
        yield MissingPart("t1", title, *_NO_RANKING)
        return
    caption = "Spearman's correlation of each method's order of importance with each annotator's, mean of instructions"
    plain = importance.table(None)
    yield _importance_table(
        "t1",
        title,
        f"{caption}; tied requirements share their average rank.",
        importance,
        plain,
        (
            "Human annotators: of each annotator with each of the others.",
            f"{_EQUAL} weighs all requirements the same: constant ranks have no correlation.",
        ),
    )
    yield _importance_table(
        "t1-printed-formula",
        f"{title}, by the printed formula",
        f"{caption}, by 1 − 6 Σd² / (n (n² − 1)).",
        importance,
        importance.table("tower"),
        ("The formula has no ties: equal requirements rank in the order in which they are stated.",),
    )


def _importance_table(
    name: str,
    title: str,
    caption: str,
    importance: ImportanceOrders,
    found: ImportanceTable,
    notes: Sequence[str],
) -> PaperTable:
    people = list(importance.people)
    shown = _most_active(importance.people)
    average = Estimate(np.nan, np.nan, np.nan, 0) if found.people is None else found.people
    rows = [
        (
            word_cell(PEOPLE),
            *(_rho(found.annotators.get(person)) for person in shown),
            _rho(average),
        )
    ]
    rows += [
        (
            word_cell(method),
            *(_rho(found.cells[method, person]) for person in shown),
            _rho(found.methods[method]),
        )
        for method in importance.methods
    ]
    notes = [*notes]
    if len(people) == 1:
        notes.append("One annotator alone has no agreement.")
    if len(shown) < len(people):
        notes.append(
            f"Columns are the {len(shown)} annotators with most rankings; Avg is of all {len(people):,} annotators."
        )
    notes += _coverage(found, importance)
    return PaperTable(name, title, caption, ("", *shown, "Avg"), tuple(rows), tuple(notes))


def _most_active(people: Mapping[str, Sequence[Floats | None]]) -> list[str]:
    """The annotators with most rankings, in their order."""
    n = {name: sum(ranks is not None for ranks in own) for name, own in people.items()}
    chosen = sorted(n, key=lambda name: -n[name])[:_MOST_ANNOTATORS]
    return sorted(chosen, key=lambda name: int(name.rpartition(" ")[2]))


def _rho(found: Estimate | None) -> PaperCell:
    return number_cell(None if found is None else found.value, 2, percent=False)


def _coverage(found: ImportanceTable, importance: ImportanceOrders) -> Iterator[str]:
    """How many instructions the correlations are of, and how many have none."""
    n_items = importance.sample.n_items
    for method in importance.methods:
        cells = [cell for (name, _), cell in found.cells.items() if name == method]
        asked = sum(ranks is not None for ranks in importance.methods[method])
        if asked < n_items:
            yield f"{method} has an order of {asked:,} of {n_items:,} instructions."
        constant = sum(cell.n_undefined for cell in cells)
        if constant and method != _EQUAL:
            yield f"{method}: {constant:,} pairs of rankings have no correlation (a constant side) and are left out."
    pairs = [*found.cells.values(), *found.pairs.values()]
    two = max((cell.share_two for cell in pairs if not np.isnan(cell.share_two)), default=0.0)
    if two:
        n = int((importance.sample.n_parts == 2).sum())
        yield f"{n:,} of {n_items:,} instructions have two requirements, where a correlation can only be −1 or 1."


# --- Table 2 and Figure 2 --------------------------------------------------------------------------------------------


def _table_2(found: ModelChecklists) -> Iterator[PaperPart]:
    title = "Table 2: DRFR and TOWER by model"
    if not found.answered:
        yield MissingPart("t2", title, *_NOBODY)
        return
    for who in found.answered:
        for suffix, micro, how in (
            ("", "_micro", "All requirements are pooled: DRFR is the share of those answered with yes"),
            ("-mean-of-instructions", "", "Means of the instructions' shares"),
        ):
            yield _model_table(
                f"t2-{slug(who.name)}{suffix}",
                f"{title}: {who.name}" + (", mean of instructions" if suffix else ""),
                f"Answers of {_whose(who)}, in percent. {how}; TOWER weighs each by one over its level in the tree. "
                "Sorted by DRFR.",
                found,
                who,
                micro,
            )


def _whose(who: Answered) -> str:
    return "human annotators" if who.name == PEOPLE else who.name


def _model_table(
    name: str, title: str, caption: str, found: ModelChecklists, who: Answered, micro: str
) -> PaperTable:
    values = {
        model: [found.value(who, f"{metric}{micro}", members) for metric in ("drfr", "tower")]
        for model, members in found.models.items()
    }
    ordered = sorted(values, key=lambda model: -np.nan_to_num(values[model][0], nan=-1.0))
    rows = [
        (
            word_cell(model or "All responses"),
            number_cell(values[model][0], 2),
            number_cell(values[model][1], 2),
            number_cell(values[model][1] - values[model][0], 2, sign=True),
        )
        for model in ordered
    ]
    notes = list(found.notes)
    if not found.sample.has_tree.any():
        notes.insert(0, f"{_NO_TREE} {_ADD_TREE}")
    else:
        notes.insert(
            0, "Difference: TOWER minus DRFR, in points. The paper does not state how TOWER averages."
        )
    if "" in values:
        notes.append("No response names its system: name it to have a row a model.")
    undecided = [model for model in values if np.isnan(values[model][0])]
    if undecided:
        notes.append(f"{_whose(who).capitalize()} answered no checklist of {', '.join(undecided)}.")
    return PaperTable(
        name, title, caption, ("Model", "DRFR", "TOWER", "Difference"), tuple(rows), tuple(notes)
    )


def _figure_2(found: ModelChecklists) -> Iterator[PaperPart]:
    title = "Figure 2: Follow rate by level"
    if not found.answered:
        yield MissingPart("f2", title, *_NOBODY)
        return
    if not found.sample.has_tree.any():
        yield MissingPart("f2", title, _NO_TREE, _ADD_TREE)
        return
    levels = found.levels
    known = np.unique(np.round(levels[levels > 0])).astype(int).tolist()
    for who in found.answered:
        rows = [
            (word_cell(level), *(number_cell(rate, 1) for rate in _rates(found, who, level)))
            for level in known
        ]
        table = PaperTable(
            f"f2-{slug(who.name)}",
            f"{title}: {who.name}",
            f"Share of the requirements at each level of the tree that are followed, in percent, a column a model: "
            f"answers of {_whose(who)}, all responses of a model pooled.",
            ("Level", *(model or "All responses" for model in found.models)),
            tuple(rows),
            found.notes,
        )
        yield from level_panels(table, ("Model", "Level", "Requirements followed"))


def _rates(found: ModelChecklists, who: Answered, level: int) -> list[float]:
    """DRFR of the requirements at a level, by model."""
    at_level = np.isclose(found.levels, level).astype(np.float64)
    part = who.followed(at_level).pooled()
    return [found.ratio(who, part, members) for members in found.models.values()]
