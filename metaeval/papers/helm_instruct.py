"""HELM Instruct: rater groups against each other by criterion, their means and deviations, models by rater group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import shorten
from typing import Any

import numpy as np

from metaeval.figures.ratings import RubricSample
from metaeval.figures.rubric import KIND
from metaeval.figures.sample import Ratio, means_by
from metaeval.inputs import Booleans, Floats, Inputs
from metaeval.papers.data import PaperData
from metaeval.papers.matrix import matrix_table
from metaeval.papers.names import distinct_names
from metaeval.papers.paper import PaperPart
from metaeval.papers.table_pictures import matrix_panels, with_bars
from metaeval.papers.tables import (
    MissingPart,
    PaperCell,
    PaperTable,
    count_cell,
    number_cell,
    slug,
    with_best_marked,
    word_cell,
)
from metaeval.stats import Estimate, evaluator_correlations, macro_mean, preset
from metaeval.stats.errors import quiet
from metaeval.stats.evaluators import EvaluatorCorrelations

OVERALL = "Overall"
_EXAMPLE = 80
PEOPLE = "Human annotators"
IMPORTED = "Imported labels"
_TABLE_4 = "Pearson's correlation between rater groups"
_MERGED = (
    "The mean of a group's annotators of an item counts as its one rating: how the paper merges the two annotations of "
    "a response is not stated."
)
_POOLED = "Items of all scenarios are pooled; whether the paper pools them is not stated."
_ONE_GROUP = "It compares rater groups, and only {name} rated these items."
_ADD_GROUP = "Run a judge of the strategy rubric_each, or collect labels in a second study of the dataset."
_NOBODY = "Nobody has rated these items yet."
_RATE = "Open a study of the dataset, import labels, or run a judge of the strategy rubric_each."


@dataclass(frozen=True, slots=True, eq=False)
class Rater:
    """Human annotators of one study or import, or a judge: ratings are (n_items, n_criteria), NaN for none."""

    name: str
    ratings: Floats
    n_labels: int


class Ratings:
    """What every rater group said of every item, beside the items' scenarios and models."""

    def __init__(self, data: PaperData) -> None:
        self.data, self.inputs = data, data.inputs["rubric"]
        self.criteria = tuple(distinct_names(map(_worded, self.inputs.criteria)))

    @cached_property
    def scenario(self) -> tuple[str, ...]:
        """By item its category; its subset where items have no more than one category."""
        items = self.inputs.items
        return items.subset if len(set(items.category)) < 2 <= len(set(items.subset)) else items.category

    def example(self, scenario: str) -> str:
        """The beginning of a scenario's first instruction."""
        place = 1 if self.scenario is self.inputs.items.subset else 0
        return next((text for key, text in self.data.examples.items() if key[place] == scenario), "")

    @cached_property
    def scenarios(self) -> tuple[str, ...]:
        """In the order of the items; items without one are of none."""
        return tuple(name for name in dict.fromkeys(self.scenario) if name)

    @cached_property
    def system(self) -> tuple[str, ...]:
        """By item the model whose response it is; empty where that is unknown."""
        return tuple(
            next(iter(self.data.systems.get(name, ())), "") for name in self.inputs.items.external_id
        )

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """In the order of the items."""
        return tuple(name for name in dict.fromkeys(self.system) if name)

    @cached_property
    def raters(self) -> tuple[Rater, ...]:
        """Human annotators, then judges."""
        found = [_people(self, name, kept) for name, kept in _groups(self.inputs).items()]
        figure = KIND.of_judges("mean_rating")
        for judge in RubricSample(self.inputs, self.data.options).judges:
            if not judge.judge.baseline:
                name, n = judge.judge.name, int(judge.judge.judged.sum())
                found.append(Rater(name, _ratings(figure.function(judge)), n))
        names = distinct_names(rater.name for rater in found)
        return tuple(replace(rater, name=name) for rater, name in zip(found, names, strict=True))

    @cached_property
    def pooled(self) -> dict[str, EvaluatorCorrelations]:
        """The correlations of every two rater groups over the items of all scenarios."""
        return self.by_criterion()

    def by_criterion(self, **how: Any) -> dict[str, EvaluatorCorrelations]:
        """The correlations of every two rater groups, by criterion and over all ratings."""
        found = {name: self._correlations([place], **how) for place, name in enumerate(self.criteria)}
        return found | {OVERALL: self._correlations(range(len(self.criteria)), **how)}

    def _correlations(self, places: Sequence[int], **how: Any) -> EvaluatorCorrelations:
        """Over the ratings by some criteria, one criterion after the other."""
        flat = {rater.name: rater.ratings[:, places].T.ravel() for rater in self.raters}
        if len(flat) == 1:  # means and deviations it has all the same
            flat[""] = np.full(len(self.inputs.items) * len(places), np.nan)
        options = preset("helm_instruct").of(evaluator_correlations) | how | {"n_resamples": 0}
        if self.inputs.weights is not None:
            options["weights"] = np.tile(self.inputs.weights, len(places))
        if "scenarios" in how:
            options["scenarios"] = np.tile(np.array(how["scenarios"], dtype=np.str_), len(places))
        with quiet():
            return evaluator_correlations(flat, **options)

    def macro(self, rater: Rater, place: int, where: Booleans) -> Estimate:
        """The mean over scenarios of the mean rating of some items by one criterion."""
        with quiet():
            return macro_mean(
                rater.ratings[:, place],
                np.array(self.scenario, dtype=np.str_),
                where=where,
                bounds=KIND.of_judges("mean_rating").range,
                n_resamples=0,
                weights=self.inputs.weights,
            )


def _worded(criterion: str) -> str:
    """A criterion's key as the paper writes it: "Factual accuracy"."""
    return criterion.replace("_", " ").capitalize()


def _groups(inputs: Inputs) -> dict[str, Booleans]:
    """The labels of each group of human annotators: of one study, or imported under one name."""
    labels = inputs.labels
    if not len(labels):
        return {}
    group = np.array(labels.group or [""] * len(labels), dtype=np.str_)
    names = list(dict.fromkeys(group.tolist()))
    if len(names) == 1:
        return {PEOPLE: np.ones(len(labels), dtype=np.bool_)}
    return {name or IMPORTED: group == name for name in names}


def _people(ratings: Ratings, name: str, kept: Booleans) -> Rater:
    """The mean rating of a group's annotators, as reports have it."""
    labels = ratings.inputs.labels
    own = replace(
        labels,
        item=labels.item[kept],
        annotator=labels.annotator[kept],
        values=labels.values[kept],
        simulated=labels.simulated[kept],
        group=(),
    )
    sample = RubricSample(replace(ratings.inputs, labels=own), ratings.data.options)
    return Rater(name, _ratings(KIND.of_people("mean_rating").function(sample)), int(kept.sum()))


def _ratings(part: Any) -> Floats:
    """The ratings that a mean rating is the mean of: (n_items, n_criteria), NaN where there is none."""
    assert isinstance(part, Ratio)
    return np.where(part.bottom > 0, part.top / np.where(part.bottom > 0, part.bottom, 1.0), np.nan)


def helm_instruct_parts(data: PaperData) -> Iterator[PaperPart]:
    """HELM Instruct's tables and figures, in the order of the paper."""
    ratings = Ratings(data)
    yield _table_2(ratings)
    yield from _figure_3(ratings)
    yield from _table_4(ratings)
    yield from _scenario_level(ratings)
    yield (
        _table_5(ratings)
        if ratings.raters
        else MissingPart(
            "t5", "Table 5: Mean and standard deviation by criterion and rater group", _NOBODY, _RATE
        )
    )


# --- Table 2 ---------------------------------------------------------------------------------------------------------


def _table_2(ratings: Ratings) -> PaperTable:
    items, scenario = ratings.inputs.items, np.array(ratings.scenario, dtype=np.str_)
    cluster, labels = np.array(items.cluster, dtype=np.str_), ratings.inputs.labels

    def row(name: str, members: Booleans, example: str = "") -> tuple[PaperCell, ...]:
        return (
            word_cell(name),
            word_cell(_shortened(example)),
            count_cell(len(np.unique(cluster[members]))),
            count_cell(int(members.sum())),
            count_cell(int(members[labels.item].sum())),
        )

    rows = [
        row(name or "No scenario", scenario == name, ratings.example(name))
        for name in dict.fromkeys(ratings.scenario)
    ]
    if len(rows) > 1:
        rows.append(row("Total", np.ones(len(items), dtype=np.bool_)))
    notes = ["Example: the beginning of the scenario's first instruction."]
    if not ratings.scenarios:
        notes.append("No item has a category or subset, which are the scenarios here.")
    return PaperTable(
        "t2",
        "Table 2: Scenarios",
        "Instructions, responses and human labels (each with a rating by every criterion) of each scenario.",
        ("Scenario", "Example", "Instructions", "Responses", "Labels"),
        tuple(rows),
        tuple(notes),
    )


def _shortened(text: str) -> str:
    return shorten(text, _EXAMPLE, placeholder="…") if text else ""


# --- Table 4 ---------------------------------------------------------------------------------------------------------


def _table_4(ratings: Ratings) -> Iterator[PaperPart]:
    title = "Table 4: Instance-level correlation of rater groups"
    if len(ratings.raters) < 2:
        yield MissingPart("t4", title, *_one_group(ratings))
        return
    pooled = [_POOLED] if len(ratings.scenarios) > 1 else []
    tables = []
    for name, (criterion, found) in zip(_names(ratings), ratings.pooled.items(), strict=True):
        over = "all ratings of all criteria together" if criterion == OVERALL else "all items"
        table = matrix_table(
            f"t4-{name}",
            f"{title}: {criterion}",
            f"{_TABLE_4}, instance level, {_of(criterion)}: over {over}.",
            found,
            (_MERGED, *pooled),
        )
        tables.append((criterion, table))
        yield table
    yield from matrix_panels(
        "t4-panels",
        title,
        f"{_TABLE_4}, instance level: a panel for each criterion, and over all ratings.",
        tables,
    )
    if len(ratings.scenarios) < 2:
        return
    by_scenario = ratings.by_criterion(scenarios=ratings.scenario)
    for name, (criterion, found) in zip(_names(ratings), by_scenario.items(), strict=True):
        yield matrix_table(
            f"t4-{name}-mean-of-scenarios",
            f"{title}: {criterion}, mean of scenarios",
            f"{_TABLE_4}, instance level, {_of(criterion)}: the unweighted mean of the scenarios' correlations.",
            found,
            (_MERGED,),
        )


def _one_group(ratings: Ratings) -> tuple[str, str]:
    """Why there is nothing to correlate, and what to bring."""
    name = next((rater.name for rater in ratings.raters), "")
    return (_ONE_GROUP.format(name=name), _ADD_GROUP) if name else (_NOBODY, _RATE)


def _names(ratings: Ratings) -> list[str]:
    """Parts of the names of files, of each criterion and of all together."""
    return [slug(name) for name in (*ratings.criteria, OVERALL)]


def _of(criterion: str) -> str:
    return "all criteria" if criterion == OVERALL else criterion


# --- means of scenarios ----------------------------------------------------------------------------------------------


def _scenario_level(ratings: Ratings) -> Iterator[PaperPart]:
    title = "Scenario-level correlation of rater groups"
    if len(ratings.raters) < 2:
        yield MissingPart("scenario-level", title, *_one_group(ratings))
        return
    by_system = len(ratings.systems) > 1
    unit = "scenario and model" if by_system else "scenario"
    units = [
        f"{scenario}\n{system}" if by_system else scenario
        for scenario, system in zip(ratings.scenario, ratings.system, strict=True)
    ]
    if len(set(units)) < 3:
        yield MissingPart(
            "scenario-level",
            title,
            f"It correlates the means of each {unit}, which takes three or more; these items have {len(set(units))}.",
            "Scenarios are the categories of the items, or their subsets: give the items a category and import the "
            "file again.",
        )
        return
    of_means = ratings.by_criterion(scenarios=units, level="scenario")
    for name, (criterion, found) in zip(_names(ratings), of_means.items(), strict=True):
        yield matrix_table(
            f"scenario-level-{name}",
            f"{title}: {criterion}",
            f"{_TABLE_4}, {_of(criterion)}: of the mean rating of each {unit} ({len(set(units))}).",
            found,
            (
                "The paper takes means per scenario first; of what units the correlation is, it doesn't state.",
            ),
        )


# --- Table 5 ---------------------------------------------------------------------------------------------------------


def _table_5(ratings: Ratings) -> PaperTable:
    raters = ratings.raters
    rows = []
    for criterion, found in ratings.pooled.items():
        cells = [
            number_cell(value, 2, percent=False)
            for pair in zip(found.means.tolist(), found.deviations.tolist(), strict=True)
            for value in pair
        ]
        rows.append((word_cell(criterion), *cells[: 2 * len(raters)]))
    several = any(rater.n_labels > (~np.isnan(rater.ratings)).any(axis=1).sum() for rater in raters)
    notes = [_MERGED]
    if several:
        notes.append(
            "A mean of several annotators varies less than one rating: compare deviations of groups with as many "
            "annotators an item."
        )
    return PaperTable(
        "t5",
        "Table 5: Mean and standard deviation by criterion and rater group",
        "Mean rating and standard deviation (one degree of freedom less) of all items.",
        ("Criterion", *(["Mean", "SD"] * len(raters))),
        tuple(rows),
        tuple(notes),
        tuple((rater.name, 2) for rater in raters),
    )


# --- Figure 3 --------------------------------------------------------------------------------------------------------


def _figure_3(ratings: Ratings) -> Iterator[PaperPart]:
    title = "Figure 3: Mean rating by model and rater group"
    if not ratings.raters or len(ratings.systems) < 2:
        lacking = (_NOBODY, _RATE)
        if ratings.raters:
            lacking = (
                "It compares models, and the responses of these items name fewer than two systems.",
                "Give each response a system and import the file again.",
            )
        yield MissingPart("f3", title, *lacking)
        return
    means = _means_by_model(ratings)
    notes = [] if ratings.scenarios else ["No item has a category or subset: the mean is over all items."]
    unnamed = ratings.system.count("")
    if unnamed:
        notes.append(f"{unnamed:,} responses name no system and take no part.")
    for place, (criterion, name) in enumerate(zip(ratings.criteria, _names(ratings), strict=False)):
        rows = [
            (word_cell(system), *(number_cell(each.value, 2, percent=False) for each in line))
            for system, line in zip(ratings.systems, means[place], strict=True)
        ]
        table = PaperTable(
            f"f3-{name}",
            f"{title}: {criterion}",
            f"Mean rating of each model by the criterion {criterion}, a column a rater group: the unweighted mean of "
            "the scenarios' means. The highest of each group is marked.",
            ("Model", *(rater.name for rater in ratings.raters)),
            with_best_marked(rows),
            (*notes, *_holes(ratings, means[place])),
        )
        yield from with_bars(table, ("Rater group", "Model", "Mean rating"), columns_first=True)
    yield _leaders(ratings, means)


def _means_by_model(ratings: Ratings) -> list[list[list[Estimate]]]:
    """By criterion, model and rater group."""
    system = np.array(ratings.system, dtype=np.str_)
    return [
        [
            [ratings.macro(rater, place, system == name) for rater in ratings.raters]
            for name in ratings.systems
        ]
        for place in range(len(ratings.criteria))
    ]


def _holes(ratings: Ratings, lines: Sequence[Sequence[Estimate]]) -> tuple[str, ...]:
    return tuple(
        f"{rater.name} has no mean of {system}: {estimate.reason}."
        for system, line in zip(ratings.systems, lines, strict=True)
        for rater, estimate in zip(ratings.raters, line, strict=True)
        if not estimate.defined
    )


def _leaders(ratings: Ratings, means: Sequence[Sequence[Sequence[Estimate]]]) -> PaperTable:
    """How often each model is rated highest."""
    bars = np.array([[[each.value for each in line] for line in criterion] for criterion in means])
    by_scenario = _means_by_scenario(ratings)
    groups = [_leads(bars.transpose(0, 2, 1)), _leads(by_scenario)]
    rows = [
        (word_cell(system), *(count_cell(int(leads[place])) for leads, _ in groups))
        for place, system in enumerate(ratings.systems)
    ]
    (_, n_bars), (_, n_settings) = groups
    return PaperTable(
        "f3-highest",
        "Figure 3: How often each model is rated highest",
        f"Of {n_bars:,} bar groups (criterion and rater group), and of {n_settings:,} settings (scenario and rater "
        "group, the mean of the criteria's means), those in which the model has the highest mean rating.",
        ("Model", "Bar groups", "Settings"),
        with_best_marked(rows),
        (
            "Models that share the highest mean rating all count. Differences may be within the margin of error.",
        ),
    )


def _means_by_scenario(ratings: Ratings) -> Floats:
    """Mean of the criteria's means: (n_scenarios, n_raters, n_systems)."""
    scenarios, systems = ratings.scenarios or ("",), ratings.systems
    places = {
        (scenario, system): row * len(systems) + column
        for row, scenario in enumerate(scenarios)
        for column, system in enumerate(systems)
    }
    n = len(places)  # where items of no scenario, or of no system, are counted
    unit = np.array([places.get(key, n) for key in zip(ratings.scenario, ratings.system, strict=True)])
    weights = ratings.inputs.weights
    found = []
    for rater in ratings.raters:
        size = (~np.isnan(rater.ratings)) * (1.0 if weights is None else weights[:, np.newaxis])
        total = means_by(unit, size * np.nan_to_num(rater.ratings), n + 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = total / means_by(unit, size, n + 1)
        found.append(means[:n].mean(axis=1).reshape(len(scenarios), len(systems)))
    return np.stack(found, axis=1)


def _leads(values: Floats) -> tuple[Floats, int]:
    """(how often each of the last axis is the highest, of how many)."""
    table = values.reshape(-1, values.shape[-1])
    table = table[~np.isnan(table).any(axis=1)]
    return np.isclose(table, table.max(axis=1, keepdims=True, initial=-np.inf)).sum(axis=0), len(table)
