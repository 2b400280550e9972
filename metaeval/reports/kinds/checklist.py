"""Judges of checklists: agreement per question, DRFR and TOWER as they see them and as people or gold do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from judges.strategies.scores import has_tree
from metaeval.reports.estimates import Breakdown, Measure, mean_of, plain
from metaeval.reports.inputs import Booleans, Floats, Integers
from metaeval.reports.kinds.common import KindResults, Setting, means_by, quiet
from metaeval.reports.kinds.inputs import GOLD, KindItem, KindJudge, Value
from metaeval.reports.leading import select_means
from metaeval.reports.progress import told
from metaeval.stats import (
    Estimate,
    InvalidInputError,
    aspect_levels,
    krippendorff_alpha,
    leave_one_out_contributions,
    pairwise_agreement_contributions,
)
from metaeval.stats.arrays import slots_of
from metaeval.stats.counts import read_labels
from metaeval.stats.following import followed_by_item
from metaeval.stats.leave_one_out import leave_one_out_scores

# As the statistics know answers: they are names. "Cannot tell" is one of them.
CANNOT_TELL, YES, NO = 0.0, 1.0, 2.0
_NO_QUESTION = "no judged question has an answer to compare with"
_NO_PAIR = "no question has two labels"


@dataclass(frozen=True, slots=True)
class Questions:
    """One row a question: the item that it is of, what people answered (n_questions, most labels), the target.

    ``target`` is yes or no; NaN where people are divided, nobody could tell, or there is no gold answer. ``label`` has
    the shape of ``slots``: whose label each answer belongs to, -1 where there is none.
    """

    item: Integers
    keys: tuple[str, ...]
    slots: Floats
    label: Integers
    target: Floats

    def per_item(self, values: Floats | Integers | Booleans, n_items: int) -> Floats:
        """Sum over the questions of each item."""
        found = np.bincount(self.item, weights=values.astype(np.float64), minlength=n_items)
        return found.astype(np.float64)

    def n_decided(self, n_items: int) -> Floats:
        """Questions of each item that have a target: what the item weighs, so that the mean is that of questions."""
        return self.per_item(~np.isnan(self.target), n_items)

    def shares(self, match: Floats, n_items: int) -> Floats:
        """Share of the decided questions of each item that match; NaN where nothing is compared."""
        decided = self.n_decided(n_items)
        compared = self.per_item(~np.isnan(match), n_items) > 0
        share = self.per_item(np.nan_to_num(match), n_items) / np.maximum(decided, 1)
        return np.where(compared, share, np.nan)


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of each item was followed: (n_items,) each, NaN where it is not known. TOWER only with a tree."""

    drfr: tuple[Floats, Floats]
    tower: tuple[Floats, Floats]

    def measures(self, *, trees: bool) -> list[Measure]:
        """DRFR and TOWER: mean of the instructions, and pooled."""
        found = _both("drfr", *self.drfr)
        return found + _both("tower", *self.tower) if trees else found

    def score(self) -> Floats:
        """DRFR of each item."""
        return self.drfr[0] / self.drfr[1]


def checklist_figures(setting: Setting) -> KindResults:
    """Compute all figures of a checklist's comparison."""
    inputs, against_gold = setting.inputs, setting.options.against == GOLD
    questions = questions_of(setting)
    trees = any(tree_of(item) for item in inputs.items)
    people = _shares(
        setting, {k: [_answers(label.value) for label in rows] for k, rows in _labelled(setting)}
    )
    gold = _shares(
        setting, {k: [_answers(item.gold)] for k, item in enumerate(inputs.items) if item.gold is not None}
    )
    target = gold if against_gold else people
    n_judges = len(inputs.judges)
    said = [_said(questions, judge) for judge in told("Verdicts", n_judges, inputs.judges)]
    judged = [setting.judged(judge) for judge in inputs.judges]
    matches = [matches_of(setting, questions, judge) for judge in inputs.judges]
    with quiet():
        return KindResults(
            people=_people(setting, questions, people, trees=trees) if inputs.labels else {},
            gold=setting.figures(gold.measures(trees=trees)) if against_gold else {},
            judges=[
                _judge(setting, judge, questions, answers, match, target, trees=trees)
                for judge, answers, match in told(
                    "Judges", n_judges, zip(inputs.judges, said, matches, strict=True)
                )
            ],
            # By item, as a decision takes them: what the questions of one item cancel is no difference of the item.
            selection=select_means(
                {place: questions.shares(match, setting.n_items) for place, match in enumerate(matches)},
                {place: mask & _decided(questions, setting.n_items) for place, mask in enumerate(judged)},
                resamples=setting.resamples,
                confidence=setting.options.confidence,
                floors={
                    rule.name: questions.shares(matches_of(setting, questions, rule), setting.n_items)
                    for rule in setting.rules
                },
                weights=questions.n_decided(setting.n_items)
                * (1.0 if setting.compared is None else setting.compared),
            ),
            n_target=int(_decided(questions, setting.n_items).sum()),
            with_others=_with_others(questions, len(inputs.labels)),
            remarks=_remarks(setting, questions, trees=trees),
        )


def questions_of(setting: Setting) -> Questions:
    """One row a question, in the order of items and aspects."""
    inputs = setting.inputs
    place: dict[tuple[int, str], int] = {}
    for row, item in enumerate(inputs.items):
        for key in item.parts:
            place[row, key] = len(place)
    rows, values, whose = [], [], []
    for number, label in enumerate(inputs.labels):
        for key, answer in _answers(label.value).items():
            if (label.item, key) in place:
                rows.append(place[label.item, key])
                values.append(_code(answer))
                whose.append(float(number))
    asked = np.array(rows, dtype=np.intp)
    slots, label_of = (slots_of(asked, np.array(column), len(place)) for column in (values, whose))
    if setting.options.against == GOLD:
        golds = [inputs.items[item].gold for item, _ in place]
        target = np.array(
            [_decision(_answers(gold).get(key)) for gold, (_, key) in zip(golds, place, strict=True)]
        )
    else:
        yes, no = (slots == YES).sum(axis=1), (slots == NO).sum(axis=1)
        target = np.where(yes > no, YES, np.where(no > yes, NO, np.nan))
    return Questions(
        item=np.array([item for item, _ in place], dtype=np.intp),
        keys=tuple(key for _, key in place),
        slots=slots,
        label=np.where(np.isnan(label_of), -1, label_of).astype(np.intp),
        target=target.astype(np.float64),
    )


def tree_of(item: KindItem) -> bool:
    """Whether the item's aspects depend on one another; without that TOWER is DRFR."""
    return has_tree(item.aspects)


def _labelled(setting: Setting) -> list[tuple[int, list[Any]]]:
    found: dict[int, list[Any]] = {}
    for label in setting.inputs.labels:
        found.setdefault(label.item, []).append(label)
    return list(found.items())


def _answers(value: Value | None) -> dict[str, bool | None]:
    given = (value or {}).get("answers")
    return dict(given) if isinstance(given, Mapping) else {}


def _code(answer: bool | None) -> float:
    return CANNOT_TELL if answer is None else YES if answer else NO


def _decision(answer: bool | None) -> float:
    return np.nan if answer is None else _code(answer)


def matches_of(setting: Setting, questions: Questions, judge: KindJudge) -> Floats:
    """By question, 1 where the judge answers as the target and 0 where it does not; NaN where nothing is compared."""
    compared = setting.judged(judge)[questions.item] & ~np.isnan(questions.target)
    return np.where(compared, _said(questions, judge) == questions.target, np.nan)


def _said(questions: Questions, judge: KindJudge) -> Floats:
    """A judge's answers by question: NaN where it was not asked or could not be read."""
    found = np.full(len(questions.item), np.nan)
    for place, (row, key) in enumerate(zip(questions.item.tolist(), questions.keys, strict=True)):
        if row in judge.values:
            found[place] = _code(_answers(judge.values[row]).get(key))
    return found


def _decided(questions: Questions, n_items: int) -> Booleans:
    found: Booleans = questions.n_decided(n_items) > 0
    return found


def _shares(setting: Setting, said: Mapping[int, list[dict[str, bool | None]]]) -> Shares:
    """Means over the answers of each item: of people, of a judge, of gold."""
    columns = np.full((4, setting.n_items), np.nan)
    for row, answers in said.items():
        item = setting.inputs.items[row]
        if not item.aspects or not answers:
            continue
        cells = np.array([[given.get(key) is True for key in item.parts] for given in answers], dtype=float)
        whose = np.repeat(np.arange(len(answers)), len(item.parts))
        for place, weights in enumerate((np.ones(len(item.parts)), _tower_weights(item))):
            if weights is not None:
                found = followed_by_item(cells.ravel(), whose, np.tile(weights, len(answers)))
                columns[2 * place, row] = found.followed.mean()
                columns[2 * place + 1, row] = found.total[0]
    return Shares((columns[0], columns[1]), (columns[2], columns[3]))


def _tower_weights(item: KindItem) -> Floats | None:
    """TOWER's weight of each aspect; None where they are no tree, and the item has no TOWER."""
    try:
        levels = aspect_levels({aspect.key: aspect.parent for aspect in item.aspects})
    except InvalidInputError:
        return None
    return 1.0 / np.array([levels[key] for key in item.parts], dtype=np.float64)


def _both(name: str, followed: Floats, total: Floats) -> list[Measure]:
    known = ~np.isnan(followed)
    return [
        mean_of(name, followed / total, reason="no readable checklist"),
        Measure(
            f"{name}_micro",
            np.where(known, followed, 0.0),
            np.where(known, total, 0.0),
            reason="no readable checklist",
        ),
    ]


def _judge(
    setting: Setting,
    judge: KindJudge,
    questions: Questions,
    answers: Floats,
    match: Floats,
    target: Shares,
    *,
    trees: bool,
) -> dict[str, Breakdown]:
    own = _shares(setting, {row: [_answers(value)] for row, value in judge.values.items()})
    counted, read = ~np.isnan(match), ~np.isnan(answers)
    n = setting.n_items
    compared = setting.figures(
        [
            Measure(
                "agreement",
                questions.per_item(np.where(counted, match, 0.0), n),
                questions.per_item(counted, n),
                reason=_NO_QUESTION,
            ),
            mean_of("drfr_difference", own.score() - target.score(), bounds=(-1.0, 1.0), reason=_NO_QUESTION),
        ],
        setting.compared,
    )
    of_answers = setting.figures(
        [
            Measure(
                "cannot_tell_rate",
                questions.per_item(answers == CANNOT_TELL, n),
                questions.per_item(read, n),
                reason="no readable checklist",
            ),
            *own.measures(trees=trees),
            setting.unparsed(judge),
        ]
    )
    return compared | of_answers


def _people(setting: Setting, questions: Questions, shares: Shares, *, trees: bool) -> dict[str, Breakdown]:
    n = setting.n_items
    told = ~np.isnan(questions.slots)
    found = setting.figures(
        [
            _over_questions("agreement", questions, leave_one_out_contributions, n),
            _over_questions("pair_exact", questions, pairwise_agreement_contributions, n),
            Measure(
                "cannot_tell_rate",
                questions.per_item((questions.slots == CANNOT_TELL).sum(axis=1), n),
                questions.per_item(told.sum(axis=1), n),
                reason="no labels",
            ),
            *shares.measures(trees=trees),
        ],
        setting.drawn,
    )
    found["alpha"] = _alpha(setting, questions)
    return found


def _over_questions(
    name: str, questions: Questions, contributions: Callable[[Floats], Floats], n_items: int
) -> Measure:
    """A mean over the questions that two people answered."""
    same = (
        contributions(questions.slots) if questions.slots.shape[1] else np.full(len(questions.item), np.nan)
    )
    known = ~np.isnan(same)
    return Measure(
        name,
        questions.per_item(np.where(known, same, 0.0), n_items),
        questions.per_item(known, n_items),
        reason=_NO_PAIR,
    )


def _alpha(setting: Setting, questions: Questions) -> Breakdown:
    """Alpha over questions: of all, and of each category and subset."""
    found: Breakdown = {}
    resamples = setting.resamples_of(questions.item)
    for group in setting.layout.groups:
        estimate = plain(
            krippendorff_alpha(
                questions.slots,
                where=group.members[questions.item],
                resamples=resamples,
                confidence=setting.options.confidence,
                weights=None if setting.drawn is None else setting.drawn[questions.item],
            )
            if questions.slots.shape[1]
            else Estimate(np.nan, np.nan, np.nan, n=0, reason="no labels")
        )
        if group.kind == "overall":
            found["overall"] = estimate
        else:
            found.setdefault(group.kind, {})[group.name] = estimate
    return found


def _with_others(questions: Questions, n_labels: int) -> Floats:
    """Share of the answers of each label that most of the others gave too, ties between modes by expectation."""
    if not questions.slots.shape[1]:
        return np.full(n_labels, np.nan)
    scores = leave_one_out_scores(read_labels(questions.slots))
    return means_by(questions.label[~np.isnan(questions.slots)], scores, n_labels)


def _remarks(setting: Setting, questions: Questions, *, trees: bool) -> tuple[str, ...]:
    found = []
    labelled = (~np.isnan(questions.slots)).any(axis=1)
    divided = int((np.isnan(questions.target) & labelled).sum())
    if divided and setting.options.against != GOLD:
        found.append(
            f"On {divided:,} of {int(labelled.sum()):,} labelled questions people are divided or could not tell: "
            "these take no part in the agreement of judges."
        )
    if not trees:
        found.append("No aspect depends on another, so TOWER would be the same as DRFR and is left out.")
    elif broken := sum(tree_of(item) and _tower_weights(item) is None for item in setting.inputs.items):
        found.append(f"The aspects of {broken:,} items are no tree: these have no TOWER.")
    return tuple(found)
