"""Judges that rank: aspects by importance, answers by quality."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata

from metaeval.figures import ANSWER_RANKING, FIGURES
from metaeval.reports.estimates import Breakdown, Measure, mean_of
from metaeval.reports.inputs import Booleans, Floats
from metaeval.reports.kinds.common import KindResults, Setting, means_by, quiet
from metaeval.reports.kinds.inputs import GOLD, KindItem, KindJudge, Value
from metaeval.reports.leading import select_means
from metaeval.reports.progress import told
from metaeval.stats import RankPairs, rank_pairs

RHO = (-1.0, 1.0)
# What a judge says of answers beside their order, the finest first.
_FINER = ("normalised", "expected", "scores")
_NO_RHO = "no item on which both a judge and those it is compared with order the parts"
_NO_PAIR = "no item has two rankings that are not constant"
_NOT_TWO = "no item has two rankings"


def ranking_figures(setting: Setting) -> KindResults:
    """Compute all figures of a comparison of rankings."""
    inputs = setting.inputs
    (people, whose), targets = _people_rows(setting), targets_of(setting)
    pairs = rank_pairs([np.array(rows, ndmin=2) for rows in people])
    has_target = np.array([bool(rows) for rows in targets], dtype=np.bool_)
    n_judges = len(inputs.judges)
    found = [correlations_of(setting, judge, targets) for judge in told("Verdicts", n_judges, inputs.judges)]
    primary = FIGURES[inputs.kind].primaries[0]
    with quiet():
        return KindResults(
            people=_people(setting, people, pairs) if inputs.labels else {},
            gold={},
            judges=[
                _judge(setting, judge, rho, has_target)
                for judge, rho in told("Judges", n_judges, zip(inputs.judges, found, strict=True))
            ],
            selection=select_means(
                {place: rho[primary] for place, rho in enumerate(found)},
                {place: setting.judged(judge) & has_target for place, judge in enumerate(inputs.judges)},
                resamples=setting.resamples,
                confidence=setting.options.confidence,
                bounds=RHO,
                floors={
                    rule.name: correlations_of(setting, rule, targets)[primary] for rule in setting.rules
                },
                weights=setting.compared,
            ),
            n_target=int(has_target.sum()),
            with_others=_with_others(pairs, whose, len(inputs.labels)),
            remarks=_remarks(setting, has_target),
        )


def targets_of(setting: Setting) -> list[list[list[float]]]:
    """What judges are compared with, by item: one list a person, or the gold one; higher is better."""
    if setting.options.against == GOLD:
        return [_gold_rows(item) for item in setting.inputs.items]
    return [[[-rank for rank in row] for row in rows] for rows in _people_rows(setting)[0]]


def ranks_of(value: Value | None, item: KindItem) -> list[float] | None:
    """Ranks in the order of the item's parts; None where they are not of these parts.

    Examples
    --------
    >>> ranks_of({"ranks": {"1": 1, "0": 2}}, KindItem("x", "i", n_responses=2))
    [2.0, 1.0]
    """
    return _in_order((value or {}).get("ranks"), item)


def _in_order(given: Any, item: KindItem) -> list[float] | None:
    parts = item.parts
    if not isinstance(given, Mapping) or not given or len(given) != len(parts):
        return None
    found: list[Any] = [given.get(name) for name in parts]
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in found):
        return None
    return [float(each) for each in found]


def scores_of(value: Value, item: KindItem) -> list[float] | None:
    """How good each answer is to a judge: its finest number where there is one (a log-likelihood), else minus the rank.

    Examples
    --------
    >>> item = KindItem("x", "i", n_responses=2)
    >>> scores_of({"ranks": {"0": 2, "1": 1}, "normalised": {"0": -1.5, "1": -0.5}}, item)
    [-1.5, -0.5]
    >>> scores_of({"ranks": {"0": 2, "1": 1}}, item)
    [-2.0, -1.0]
    """
    for name in _FINER:
        if name in value and (found := _in_order(value[name], item)) is not None:
            return found
    ranks = ranks_of(value, item)
    return None if ranks is None else [-rank for rank in ranks]


def _people_rows(setting: Setting) -> tuple[list[list[list[float]]], list[list[int]]]:
    """What people ranked, by item: ranks in the order of the parts, and the label that each ranking is of. Rankings of
    other parts are left out.
    """
    found: list[list[list[float]]] = [[] for _ in setting.inputs.items]
    whose: list[list[int]] = [[] for _ in setting.inputs.items]
    for number, label in enumerate(setting.inputs.labels):
        ranks = ranks_of(label.value, setting.inputs.items[label.item])
        if ranks is not None:
            found[label.item].append(ranks)
            whose[label.item].append(number)
    return found, whose


def _gold_rows(item: KindItem) -> list[list[float]]:
    """Votes where there are, else minus the gold ranks: higher is better."""
    if item.votes is not None and len(item.votes) == len(item.parts):
        return [list(item.votes)]
    ranks = ranks_of(item.gold, item)
    return [] if ranks is None else [[-rank for rank in ranks]]


def correlations_of(
    setting: Setting, judge: KindJudge, targets: list[list[list[float]]]
) -> dict[str, Floats]:
    """Rho and r of a judge with each target of each item, averaged; NaN where there is none."""
    # Items of as many parts are computed together: each row is a judge's answer beside one target.
    alike: dict[int, list[tuple[int, list[float], list[float], list[float]]]] = defaultdict(list)
    for row, value in judge.values.items():
        item = setting.inputs.items[row]
        ranks, scores = ranks_of(value, item), scores_of(value, item)
        if ranks is not None and scores is not None and targets[row]:
            order = [-rank for rank in ranks]
            alike[len(ranks)] += [(row, order, scores, target) for target in targets[row]]
    rows: list[int] = []
    found: dict[str, list[Floats]] = {"spearman": [], "pearson": []}
    for group in alike.values():
        place, orders, scored, target = zip(*group, strict=True)
        rows += place
        found["spearman"].append(_row_correlations(rankdata(orders, axis=1), rankdata(target, axis=1)))
        found["pearson"].append(_row_correlations(np.array(scored), np.array(target)))
    whose = np.array(rows, dtype=np.intp)
    return {
        name: means_by(whose, np.concatenate(values) if values else np.zeros(0), setting.n_items)
        for name, values in found.items()
    }


def _row_correlations(first: Floats, second: Floats) -> Floats:
    """Pearson's correlation of each row with its partner: (n, parts) twice to (n,); NaN where one is constant."""
    one, two = (rows - rows.mean(axis=1, keepdims=True) for rows in (first, second))
    # Of a constant row rounding may leave something.
    varies = (np.ptp(first, axis=1) > 0) & (np.ptp(second, axis=1) > 0)
    scale = np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(varies & (scale > 0), (one * two).sum(axis=1) / scale, np.nan)
    return np.clip(found, -1.0, 1.0)


def _judge(
    setting: Setting, judge: KindJudge, rho: Mapping[str, Floats], has_target: Booleans
) -> dict[str, Breakdown]:
    compared = np.zeros(setting.n_items, dtype=np.bool_)
    compared[list(judge.values)] = True
    compared &= has_target
    measures = [mean_of("spearman", rho["spearman"], bounds=RHO, reason=_NO_RHO)]
    if setting.inputs.kind == ANSWER_RANKING:
        measures.append(mean_of("pearson", rho["pearson"], bounds=RHO, reason=_NO_RHO))
    undefined = compared & np.isnan(rho["spearman"])
    measures.append(_share("undefined_rate", undefined, compared))
    return setting.figures(measures, setting.compared) | setting.figures([setting.unparsed(judge)])


def _people(setting: Setting, people: list[list[list[float]]], pairs: RankPairs) -> dict[str, Breakdown]:
    """Mean rho of every two people: each of them compared with another, as a judge is with each of them."""
    rho = means_by(pairs.item, pairs.rho, setting.n_items)
    two = np.array([len(rows) >= 2 for rows in people], dtype=np.bool_)
    orders = [rankdata(rows, method="dense", axis=1) if rows else np.zeros((0, 0)) for rows in people]
    order = np.array([_same(each) for each in orders])
    first = np.array([_same(each == 1) for each in orders])
    return setting.figures(
        [
            mean_of("spearman", rho, bounds=RHO, reason=_NO_PAIR),
            mean_of("pair_exact", order, reason=_NOT_TWO),
            mean_of("same_first", first, reason=_NOT_TWO),
            _share("undefined_rate", two & np.isnan(rho), two, _NOT_TWO),
        ],
        setting.drawn,
    )


def _same(rows: Any) -> float:
    """Share of the pairs of rows of a matrix that are equal; NaN without a pair.

    Examples
    --------
    >>> _same(np.array([[1, 2], [1, 2], [2, 1]]))
    0.3333333333333333
    """
    n = len(rows)
    if n < 2:
        return math.nan
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    return float((counts * (counts - 1)).sum() / (n * (n - 1)))


def _with_others(pairs: RankPairs, whose: list[list[int]], n_labels: int) -> Floats:
    """The mean rho of each label with the others of its item."""
    sides = [
        [whose[item][row] for item, row in zip(pairs.item.tolist(), side.tolist(), strict=True)]
        for side in (pairs.first, pairs.second)
    ]
    label = np.array([*sides[0], *sides[1]], dtype=np.intp)
    return means_by(label, np.concatenate([pairs.rho, pairs.rho]), n_labels)


def _share(name: str, part: Booleans, whole: Booleans, reason: str = _NO_RHO) -> Measure:
    return Measure(name, part.astype(np.float64), whole.astype(np.float64), reason=reason)


def _remarks(setting: Setting, has_target: Booleans) -> tuple[str, ...]:
    found = []
    two = sum(bool(has_target[row]) and len(item.parts) == 2 for row, item in enumerate(setting.inputs.items))
    if two:
        found.append(
            f"{two:,} of {int(has_target.sum()):,} items have two parts, where a correlation can only be −1 or 1."
        )
    if setting.inputs.kind == ANSWER_RANKING and setting.options.against == GOLD:
        votes = sum(item.votes is not None for item in setting.inputs.items)
        found.append(
            f"{votes:,} of {int(has_target.sum()):,} items are compared with people's votes, the others with the "
            "gold ranks."
        )
    if setting.inputs.kind == ANSWER_RANKING:
        found.append(
            "Pearson's correlation is of the log-likelihood for its length, or of the score, where a judge gives one; "
            "else of minus the rank."
        )
    return tuple(found)
