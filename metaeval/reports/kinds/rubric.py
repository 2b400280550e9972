"""Judges of rubrics: how far their ratings follow people's mean rating, or the gold ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metaeval.reports.estimates import Breakdown, plain
from metaeval.reports.inputs import Booleans, Floats, Integers
from metaeval.reports.kinds.common import KindResults, Setting, means_by, quiet
from metaeval.reports.kinds.inputs import GOLD, KindJudge, Value
from metaeval.reports.leading import comparable, selection_of
from metaeval.reports.progress import told
from metaeval.reports.report import LeaderRanking
from metaeval.stats import (
    Estimate,
    Resamples,
    correlation,
    correlation_difference,
    krippendorff_alpha,
    pairwise_agreement_contributions,
    person_correlation,
    ratio_estimate,
)
from metaeval.stats.arrays import slots_of
from metaeval.stats.correlation import Method, mean_of_others

NEAR = 1.0
"""Tolerant accuracy: within one point (HELM Instruct)."""
# People's means are sums of floats.
_GRAIN = 1e-9
_WIDEST = (0.0, 4.0)
_METHODS: tuple[Method, ...] = ("spearman", "pearson")
_NO_TARGET = "no judged item has a rating to compare with"
_NO_PAIR = "no item has two labels"


@dataclass(frozen=True, slots=True)
class Ratings:
    """The labels of a rubric: a row each; ``table`` is (n_labels, n_criteria + 1), the last column their mean."""

    item: Integers
    person: Integers
    table: Floats


def rubric_figures(setting: Setting) -> KindResults:
    """Compute all figures of a rubric's comparison."""
    inputs = setting.inputs
    ratings = _ratings(setting)
    people = np.stack([means_by(ratings.item, column, setting.n_items) for column in ratings.table.T], axis=1)
    others = np.stack(
        [mean_of_others(ratings.item, column, setting.n_items) for column in ratings.table.T], axis=1
    )
    gold = ratings_table((item.gold for item in inputs.items), inputs.criteria, "ratings")
    target = gold if setting.options.against == GOLD else people
    n_judges = len(inputs.judges)
    tables = [_said(setting, judge, "ratings") for judge in told("Verdicts", n_judges, inputs.judges)]
    with quiet():
        judges = [
            _judge(setting, judge, table, target)
            for judge, table in told("Judges", n_judges, zip(inputs.judges, tables, strict=True))
        ]
        return KindResults(
            people=_people(setting, ratings, people, others) if len(ratings.item) else {},
            gold={"mean_rating": _by_part(setting, _mean_rating(setting, gold))}
            if setting.options.against == GOLD
            else {},
            judges=judges,
            selection=_selection(setting, tables, target),
            n_target=int((~np.isnan(target)).any(axis=1).sum()),
            with_others=_with_others(ratings, others),
        )


def ratings_table(values: Iterable[Value | None], criteria: tuple[str, ...], field: str) -> Floats:
    """Ratings as (n_values, n_criteria + 1): the last column is the mean, NaN where a criterion has no rating.

    Examples
    --------
    >>> ratings_table([{"ratings": {"a": 1, "b": 4}}, None, {"ratings": {"a": 2}}], ("a", "b"), "ratings").tolist()
    [[1.0, 4.0, 2.5], [nan, nan, nan], [2.0, nan, nan]]
    """
    rows = [_numbers(value, criteria, field) for value in values]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(criteria))
    overall = table.mean(axis=1) if criteria else np.full(len(rows), np.nan)
    return np.column_stack([table, overall])


def _numbers(value: Value | None, criteria: tuple[str, ...], field: str) -> list[float]:
    found: Any = (value or {}).get(field)
    given = found if isinstance(found, Mapping) else {}
    numbers = [given.get(name) for name in criteria]
    return [
        float(number) if isinstance(number, int | float) and not isinstance(number, bool) else np.nan
        for number in numbers
    ]


def _ratings(setting: Setting) -> Ratings:
    labels = setting.inputs.labels
    return Ratings(
        item=np.array([label.item for label in labels], dtype=np.intp),
        person=np.array([label.annotator for label in labels], dtype=np.intp),
        table=ratings_table((label.value for label in labels), setting.inputs.criteria, "ratings"),
    )


def _said(setting: Setting, judge: KindJudge, field: str) -> Floats:
    rows = (judge.values.get(row) for row in range(setting.n_items))
    return ratings_table(rows, setting.inputs.criteria, field)


def _by_part(setting: Setting, figure: Callable[[int | None], Estimate]) -> Breakdown:
    """A figure of all criteria (None) and of each."""
    found: Breakdown = {"overall": plain(figure(None))}
    found["criterion"] = {name: plain(figure(place)) for place, name in enumerate(setting.inputs.criteria)}
    return found


def _judge(setting: Setting, judge: KindJudge, table: Floats, target: Floats) -> dict[str, Breakdown]:
    tables = {"": table}
    expected = _said(setting, judge, "expected")
    if not np.isnan(expected).all():
        # Where a rating has no probabilities, the rating itself stands in.
        tables["_expected"] = np.where(np.isnan(expected), table, expected)
        tables["_expected"][:, -1] = tables["_expected"][:, :-1].mean(axis=1)
    found = {
        f"{method}{suffix}": _by_part(setting, _correlated(setting, said, target, method))
        for suffix, said in tables.items()
        for method in _METHODS
    }
    covered = setting.judged(judge)[:, np.newaxis] & ~np.isnan(target)
    distance = np.abs(table - target)
    near = (distance <= NEAR + _GRAIN).astype(np.float64)
    known = ~np.isnan(distance)
    found["mean_absolute_error"] = _by_part(
        setting, _pooled(setting, np.where(known, distance, 0.0), known, _WIDEST, weights=setting.compared)
    )
    # What could not be read is not near: it stays in the denominator.
    found["within_one"] = _by_part(
        setting, _pooled(setting, np.where(covered, near, 0.0), covered, (0.0, 1.0), weights=setting.compared)
    )
    found["mean_rating"] = _by_part(setting, _mean_rating(setting, table))
    return found | setting.figures([setting.unparsed(judge)])


def _column(place: int | None) -> int:
    return -1 if place is None else place


def _correlated(
    setting: Setting, said: Floats, target: Floats, method: Method
) -> Callable[[int | None], Estimate]:
    return lambda place: correlation(
        said[:, _column(place)],
        target[:, _column(place)],
        method=method,
        resamples=setting.resamples,
        confidence=setting.options.confidence,
        weights=setting.compared,
    )


def _pooled(
    setting: Setting,
    top: Floats,
    counted: Booleans,
    bounds: tuple[float, float],
    reason: str = _NO_TARGET,
    weights: Floats | None = None,
) -> Callable[[int | None], Estimate]:
    """A mean over ratings: those of a criterion, or of all criteria together."""

    def figure(place: int | None) -> Estimate:
        columns = slice(0, -1) if place is None else slice(place, place + 1)
        return ratio_estimate(
            top[:, columns].sum(axis=1),
            counted[:, columns].sum(axis=1).astype(np.float64),
            bounds=bounds,
            reason=reason,
            resamples=setting.resamples,
            confidence=setting.options.confidence,
            weights=weights,
        )

    return figure


def _mean_rating(
    setting: Setting, table: Floats, weights: Floats | None = None
) -> Callable[[int | None], Estimate]:
    known = ~np.isnan(table)
    return _pooled(setting, np.where(known, table, 0.0), known, (1.0, 5.0), weights=weights)


def _people(setting: Setting, ratings: Ratings, means: Floats, others: Floats) -> dict[str, Breakdown]:
    """One person against the mean of the others, for each figure that a judge has against the mean of all; and every
    two people against each other.
    """
    found: dict[str, Breakdown] = {
        method: _by_part(setting, _person(setting, ratings, method)) for method in _METHODS
    }
    distance = np.abs(ratings.table - others)
    for name, values, bounds in (
        ("mean_absolute_error", distance, _WIDEST),
        ("within_one", _near(distance), (0.0, 1.0)),
    ):
        per_item = np.stack([means_by(ratings.item, column, setting.n_items) for column in values.T], axis=1)
        found[name] = _by_part(setting, _mean_of(setting, per_item, bounds))
    for name, tolerance in (("pair_exact", 0.0), ("pair_near", NEAR)):
        found[name] = _by_part(setting, _mean_of(setting, _pairs(setting, ratings, tolerance), (0.0, 1.0)))
    found["mean_rating"] = _by_part(setting, _mean_rating(setting, means, setting.drawn))
    found["alpha"] = _by_part(setting, _alpha(setting, ratings))
    return found


def _mean_of(
    setting: Setting, per_item: Floats, bounds: tuple[float, float]
) -> Callable[[int | None], Estimate]:
    known = ~np.isnan(per_item)
    return _pooled(setting, np.where(known, per_item, 0.0), known, bounds, _NO_PAIR, setting.drawn)


def _near(distance: Floats) -> Floats:
    return np.where(np.isnan(distance), np.nan, (distance <= NEAR + _GRAIN).astype(np.float64))


def _pairs(setting: Setting, ratings: Ratings, tolerance: float) -> Floats:
    """Share of the pairs of people within a distance, of each item and criterion; the last column is not used."""
    found = np.full((setting.n_items, ratings.table.shape[1]), np.nan)
    for place in range(ratings.table.shape[1] - 1):
        slots = _slots(setting, ratings, place)
        if slots.shape[1]:
            found[:, place] = pairwise_agreement_contributions(slots, tolerance=tolerance)
    return found


def _with_others(ratings: Ratings, others: Floats) -> Floats:
    """Share of the ratings of each label that are within one point of the mean of the others'."""
    near = _near(np.abs(ratings.table - others)[:, :-1])
    label = np.repeat(np.arange(len(near)), near.shape[1])
    return means_by(label, near.ravel(), len(near))


def _slots(setting: Setting, ratings: Ratings, place: int) -> Floats:
    """The ratings of one criterion as (n_items, most labels of an item)."""
    known = ~np.isnan(ratings.table[:, place])
    return slots_of(ratings.item[known], ratings.table[known, place], setting.n_items)


def _person(setting: Setting, ratings: Ratings, method: Method) -> Callable[[int | None], Estimate]:
    return lambda place: person_correlation(
        (ratings.item, ratings.person, ratings.table[:, _column(place)]),
        n_items=setting.n_items,
        method=method,
        resamples=setting.resamples,
        confidence=setting.options.confidence,
        weights=setting.drawn,
    )


def _alpha(setting: Setting, ratings: Ratings) -> Callable[[int | None], Estimate]:
    n_criteria = len(setting.inputs.criteria)

    def figure(place: int | None) -> Estimate:
        places = range(n_criteria) if place is None else (place,)
        parts = [_slots(setting, ratings, each) for each in places]
        width = max((part.shape[1] for part in parts), default=0)
        padded = [
            np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan) for part in parts
        ]
        table = np.concatenate(padded) if padded else np.zeros((0, 0))
        if not width:
            return Estimate(np.nan, np.nan, np.nan, n=0, reason="no labels")
        rows = np.tile(np.arange(setting.n_items), len(parts))
        resamples: Resamples = setting.resamples if len(parts) == 1 else setting.resamples_of(rows)
        return krippendorff_alpha(
            table,
            level="ordinal",
            resamples=resamples,
            confidence=setting.options.confidence,
            weights=None if setting.drawn is None else setting.drawn[rows],
        )

    return figure


def _selection(setting: Setting, tables: list[Floats], target: Floats) -> LeaderRanking:
    """By Spearman's correlation of the mean ratings, on the items that all judged.

    The leader was chosen for it, so with k rivals each difference has an interval of level 1 - (1 - level) / k.
    """
    known = ~np.isnan(target[:, -1])
    candidates = {
        place: setting.judged(judge) & known
        for place, judge in enumerate(setting.inputs.judges)
        if (~np.isnan(tables[place][:, -1]) & known).any()
    }
    complete, common = comparable(candidates)
    ranks = {place: _rho(tables[place][:, -1], target[:, -1], common, setting.compared) for place in complete}
    ranking = sorted(
        (place for place in ranks if not np.isnan(ranks[place])), key=lambda place: -ranks[place]
    )
    rivals = max(1, len(ranking) - 1)
    differences = {
        place: correlation_difference(
            tables[ranking[0]][:, -1],
            tables[place][:, -1],
            target[:, -1],
            method="spearman",
            where=common,
            resamples=setting.resamples,
            confidence=1 - (1 - setting.options.confidence) / rivals,
            weights=setting.compared,
        )
        for place in ranking[1:]
    }
    return selection_of(
        ranking=ranking,
        differences=differences,
        incomplete=[place for place in candidates if place not in complete],
        n_compared=int(common.sum()),
    )


def _rho(said: Floats, target: Floats, where: Booleans, weights: Floats | None) -> float:
    return correlation(said, target, method="spearman", where=where, weights=weights, n_resamples=0).value
