"""How good a judge is on each item of a kind other than pairs, from 0 to 1: what a choice between judges rests on.

An answer that could not be read, never came, or is not about what was asked scores 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from metaeval.figures import ANSWER_RANKING, CHECKLIST, IMPORTANCE, RUBRIC
from metaeval.reports.inputs import Booleans, Floats
from metaeval.reports.kinds.checklist import matches_of, questions_of
from metaeval.reports.kinds.common import Setting, mask_of
from metaeval.reports.kinds.inputs import GOLD, Against, KindInputs, KindItem, KindJudge, KindOptions, Value
from metaeval.reports.kinds.rankings import correlations_of, ranks_of, targets_of
from metaeval.reports.kinds.rubric import ratings_table

WIDEST = 4.0
"""The largest distance of two ratings: from 1 to 5."""
NO_ORDER = 0.5
"""What a ranking scores that puts everything on one rank: broken by chance, its ties have a mean rho of 0."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """Scores of one dataset's items; arrays have n_items rows, mappings are by the judge's fingerprint.

    Attributes
    ----------
    scores : mapping of str to ndarray
        In [0, 1]; NaN where the judge judged nothing, or there is nothing to score against.
    judged, unparsed : mapping of str to ndarray of bool
        Whether there is a judgment, and whether it could not be read or never came.
    scorable : ndarray of bool
        Whether there is something to score against.
    weights : ndarray or None
        What each item counts; None weighs all the same.
    """

    scores: Mapping[str, Floats]
    judged: Mapping[str, Booleans]
    unparsed: Mapping[str, Booleans]
    scorable: Booleans
    weights: Floats | None = None


_Scored = tuple[list[Floats], Booleans, Floats | None]


def item_scores(inputs: KindInputs, against: Against) -> ItemScores:
    """Score the judges of a kind on each item.

    *Rubric*: 1 minus the mean over criteria of the distance from people's mean (or the gold) rating, as a share of the
    widest one. *Checklist*: the share of the decided questions that are answered as the target; items weigh as many
    as they have, so that the mean is that of all questions. *Importance*: (1 + rho) / 2 with Spearman's rho, averaged
    over people. *Answer ranking*: (1 + r) / 2 with Pearson's r, as in the comparison.

    Parameters
    ----------
    against : {"people", "gold"}
        What answers are compared with.

    Examples
    --------
    >>> judge = KindJudge("a", "f", "", "", "", {0: {"ratings": {"clear": 4}}})
    >>> items = (KindItem("x", "i", gold={"ratings": {"clear": 5}}),)
    >>> found = item_scores(KindInputs("rubric", "d", {}, items, (), (judge,), ("clear",)), "gold")
    >>> found.scores["f"].tolist()
    [0.75]
    """
    setting = Setting.of(inputs, KindOptions(against=against, n_resamples=0))
    columns, scorable, weights = _SCORED[inputs.kind](setting)
    if setting.compared is not None:
        weights = setting.compared if weights is None else weights * setting.compared
    n = setting.n_items
    judged = [setting.judged(judge) for judge in inputs.judges]
    unparsed = [mask_of(judge.unparsed | judge.failed, n) for judge in inputs.judges]
    keys = [judge.fingerprint for judge in inputs.judges]
    scores = [
        np.where(asked & scorable, np.where(unread, 0.0, column), np.nan)
        for column, asked, unread in zip(columns, judged, unparsed, strict=True)
    ]
    return ItemScores(
        dict(zip(keys, scores, strict=True)),
        dict(zip(keys, judged, strict=True)),
        dict(zip(keys, unparsed, strict=True)),
        scorable,
        weights,
    )


def _rubric(setting: Setting) -> _Scored:
    target = _target_ratings(setting)
    known = ~np.isnan(target)
    n_known = known.sum(axis=1)
    columns = []
    for judge in setting.inputs.judges:
        said = _ratings(setting, [judge.values.get(row) for row in range(setting.n_items)])
        close = 1.0 - np.abs(said - target) / WIDEST
        # A criterion that it left out is as far off as can be.
        total = np.where(known & ~np.isnan(close), close, 0.0).sum(axis=1)
        columns.append(total / np.maximum(n_known, 1))
    return columns, n_known > 0, None


def _target_ratings(setting: Setting) -> Floats:
    """People's mean ratings or the gold ones, (n_items, n_criteria); NaN where there is none."""
    inputs = setting.inputs
    if setting.options.against == GOLD:
        return _ratings(setting, [item.gold for item in inputs.items])
    given = _ratings(setting, [label.value for label in inputs.labels])
    item = np.array([label.item for label in inputs.labels], dtype=np.intp)
    known = ~np.isnan(given)
    total, count = np.zeros((2, setting.n_items, len(inputs.criteria)))
    np.add.at(total, item, np.where(known, given, 0.0))
    np.add.at(count, item, known)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _ratings(setting: Setting, values: Sequence[Value | None]) -> Floats:
    return ratings_table(values, setting.inputs.criteria, "ratings")[:, :-1]


def _checklist(setting: Setting) -> _Scored:
    questions, n = questions_of(setting), setting.n_items
    decided = questions.n_decided(n)
    columns = [questions.shares(matches_of(setting, questions, judge), n) for judge in setting.inputs.judges]
    return columns, decided > 0, np.maximum(decided, 1.0)


def _ranking(figure: str) -> Callable[[Setting], _Scored]:
    def scored(setting: Setting) -> _Scored:
        targets = targets_of(setting)
        # With a target of one rank, or of one part, there is no order to find.
        scorable = np.array([any(min(row) < max(row) for row in rows) for rows in targets], dtype=np.bool_)
        columns = []
        for judge in setting.inputs.judges:
            found = correlations_of(setting, judge, targets)[figure]
            column = np.where(np.isnan(found), NO_ORDER, (1.0 + found) / 2)
            column[_of_other_parts(setting, judge, np.isnan(found))] = 0.0
            columns.append(column)
        return columns, scorable, None

    return scored


def _of_other_parts(setting: Setting, judge: KindJudge, among: Booleans) -> Booleans:
    """Which of these items have a ranking that is not one of their parts: the aspects have changed, say."""
    items, values = setting.inputs.items, judge.values
    rows = [row for row in np.flatnonzero(among).tolist() if row in values]
    return mask_of({row for row in rows if ranks_of(values[row], items[row]) is None}, len(items))


_SCORED: dict[str, Callable[[Setting], _Scored]] = {
    RUBRIC: _rubric,
    CHECKLIST: _checklist,
    IMPORTANCE: _ranking("spearman"),
    ANSWER_RANKING: _ranking("pearson"),
}


# --- rules without a model -----------------------------------------------------------------------------------------


def rules_of(
    inputs: KindInputs, against: Against, lengths: Sequence[Sequence[int]] | None = None
) -> tuple[KindJudge, ...]:
    """The rule that a judge of the kind must beat, as a judge: what is had without reading anything.

    *Rubric*: on each criterion always the median of what judges are compared with, the best that can be done without
    reading. *Checklist*: always yes. *Importance*: the order given. *Answer ranking*: the longer the better.

    Parameters
    ----------
    lengths : sequence of sequences of int, optional
        By item, characters of its responses in canonical order; without them answers have no rule.
    """
    if inputs.kind == RUBRIC:
        return (_always_median(inputs, against),)
    if inputs.kind == CHECKLIST:
        yes = [{"answers": dict.fromkeys(item.parts, True)} for item in inputs.items]
        return (_rule(inputs, "always_yes", "always yes", yes),)
    if inputs.kind == IMPORTANCE:
        given = [_ranked(item, range(len(item.parts))) for item in inputs.items]
        return (_rule(inputs, "given", "order given", given),)
    if lengths is None:
        return ()
    longest = [
        _ranked(item, [-length for length in row]) for item, row in zip(inputs.items, lengths, strict=True)
    ]
    return (_rule(inputs, "longest", "longest", longest),)


def _always_median(inputs: KindInputs, against: Against) -> KindJudge:
    target = _target_ratings(Setting.of(inputs, KindOptions(against=against, n_resamples=0)))
    medians = {
        name: float(np.median(column[~np.isnan(column)]))
        for name, column in zip(inputs.criteria, target.T, strict=True)
        if not np.isnan(column).all()
    }
    values = [{"ratings": medians} for _ in inputs.items]
    return _rule(inputs, "median", "always the median", values)


def _ranked(item: KindItem, keys: Sequence[int]) -> Value:
    """Ranks by keys, lower is better; equal keys share a rank."""
    return {
        "ranks": {
            part: 1 + sum(other < key for other in keys) for part, key in zip(item.parts, keys, strict=True)
        }
    }


def _rule(inputs: KindInputs, strategy: str, name: str, values: Sequence[Value]) -> KindJudge:
    return KindJudge(
        name=name,
        fingerprint=sha256(f"baseline {inputs.kind} {strategy}".encode()).hexdigest(),
        backend="heuristic",
        model="",
        strategy=strategy,
        values=dict(enumerate(values)),
    )
