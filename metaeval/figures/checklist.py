"""The figures of checklists: questions about aspects, answered with yes, no or cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from metaeval.figures.binary import BinaryAnswers, binary_figures, certainty_of, read_once
from metaeval.figures.figure import (
    CORRELATION,
    GROUPS,
    OPTIONS,
    UNPARSED,
    Convention,
    Figure,
    KindFigures,
    ScoreWords,
)
from metaeval.figures.retest import RETEST
from metaeval.figures.sample import (
    RISK,
    ByGroup,
    Crossed,
    CrossedRatio,
    JudgeSample,
    Part,
    Ratio,
    Sample,
    mean_of,
    means_by,
    part_mask,
    share_of,
)
from metaeval.inputs import UNSURE, Booleans, Floats, Integers, Items, JudgeAnswers, baseline_judge
from metaeval.stats import (
    Estimate,
    InvalidInputError,
    LeaveOneOut,
    Resamples,
    aspect_levels,
    krippendorff_alpha,
    leave_one_out_contributions,
    pairwise_agreement_contributions,
)
from metaeval.stats.arrays import row_sums, slots_of
from metaeval.stats.counts import read_labels
from metaeval.stats.crossed import CrossedScores, Crossing
from metaeval.stats.crossed_sums import (
    CrossedSums,
    mean_effects,
    mean_with_others,
    pair_effects,
    replaced_effects,
)
from metaeval.stats.leave_one_out_scores import leave_one_out_scores

YES, NO = 1.0, 0.0
_NO_QUESTION = "no judged question has an answer to compare with"
_NO_PAIR = "no question has two labels"
_NO_CHECKLIST = "no readable checklist"


@dataclass(frozen=True, slots=True)
class FollowedShares:
    """How much of each item was followed, and how much there was to follow: (n_items,), NaN where it is not known."""

    followed: Floats
    total: Floats

    def mean(self) -> Ratio:
        """The mean of the items' shares."""
        return mean_of(self.followed / self.total, _NO_CHECKLIST)

    def pooled(self) -> Ratio:
        """All items together."""
        known = ~np.isnan(self.followed)
        return Ratio(np.where(known, self.followed, 0.0), np.where(known, self.total, 0.0), _NO_CHECKLIST)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers of people, an entry an answer: its question, its value, the label that it is of, who gave it."""

    question: Integers
    value: Floats
    label: Integers
    crossing: Crossing

    def by_label(self, effects: Floats, n_labels: int) -> Floats:
        """Sums over the answers of each label."""
        return np.asarray(np.bincount(self.label, weights=effects, minlength=n_labels), dtype=np.float64)


def tower_weights(items: Items) -> Floats:
    """TOWER's weight of each aspect, one over its level: (n_items, n_parts), NaN where an item's are no tree."""
    found = np.full((len(items), items.width), np.nan)
    for row, (keys, parents) in enumerate(zip(items.parts, items.parents, strict=True)):
        try:
            levels = aspect_levels(dict(zip(keys, parents, strict=True)))
        except InvalidInputError:
            continue
        found[row] = 0.0
        found[row, : len(keys)] = [1.0 / levels[key] for key in keys]
    return found


class ChecklistJudge(JudgeSample):
    """A judge's answers, by question."""

    sample: ChecklistSample

    @property
    def read(self) -> Booleans:
        """Items with a checklist that could be read."""
        return np.asarray((self.judge.judged & ~self.judge.unparsed)[:, 0])

    @cached_property
    def answers(self) -> Floats:
        """By question: NaN where it was not asked or could not be read; a question that it left out it cannot tell."""
        given = self.judge.values[:, 0]
        whole = np.where(self.read[:, np.newaxis] & np.isnan(given), UNSURE, given)
        return np.asarray(whole[self.sample.is_question])

    @cached_property
    def matches(self) -> Floats:
        """By question, 1 where it answers as the target and 0 where it doesn't; NaN where nothing is compared."""
        sample = self.sample
        compared = self.judge.asked[sample.item] & ~np.isnan(sample.target)
        return np.where(compared, self.answers == sample.target, np.nan)

    def agreement(self) -> Ratio:
        """Questions answered as the target."""
        return self.sample.over_questions(self.matches, _NO_QUESTION)

    def alike(self, primary: str) -> CrossedRatio | None:  # noqa: ARG002
        """Questions answered as most of annotators like these too."""
        sample = self.sample
        if sample.against_gold:
            return None
        compared = self.judge.asked[sample.item]

        def outcome(question: Integers, yes: Any, no: Any) -> tuple[Booleans, Booleans]:
            """Whether it is counted as right, and whether it is counted."""
            majority = np.where(yes > no, YES, np.where(no > yes, NO, np.nan))
            counted = compared[question] & ~np.isnan(majority)
            return np.asarray(counted & (self.answers[question] == majority)), counted

        answers = sample.by_answer
        yes, no = (np.bincount(answers.question, answers.value == one, len(sample.item)) for one in (YES, NO))

        def after(place: int) -> Callable[[Integers, Integers], Floats]:
            def moved(one: Integers, two: Integers) -> Floats:
                question = answers.question[one]
                counts = (
                    count[question] + (answers.value[two] == value) - (answers.value[one] == value)
                    for count, value in ((yes, YES), (no, NO))
                )
                return np.asarray(outcome(question, *counts)[place], dtype=np.float64)

            return moved

        now = outcome(np.arange(len(sample.item)), yes, no)
        top, bottom = (
            answers.by_label(
                replaced_effects(one.astype(np.float64), answers.crossing, after(place)), len(sample.labels)
            )
            for place, one in enumerate(now)
        )
        agreed = self.agreement()
        sums = CrossedSums(agreed.top, agreed.bottom, top, bottom, is_curved=True)
        return CrossedRatio(sums, sample.crossing)

    @cached_property
    def _crossed(self) -> CrossedScores | None:
        """Leave-one-out scores of its answers; None where nobody answered."""
        sample = self.sample
        if sample.against_gold or sample.leave_one_out is None:
            return None
        return sample.leave_one_out.judge(self.answers, self.judge.asked[sample.item][:, np.newaxis])

    def minus_people(self) -> Part | None:
        """Its leave-one-out agreement per question minus that of people."""
        crossed = self._crossed
        return None if crossed is None else self.sample.of_questions(crossed, "people")

    def below_best(self) -> Part | None:
        """The upper bound minus its leave-one-out agreement."""
        crossed = self._crossed
        return None if crossed is None else self.sample.of_questions(crossed, "best")

    def beside_people(self) -> CrossedRatio | None:
        """The same by item, for a choice between judges."""
        own, labels = self._crossed, self.sample.leave_one_out
        return None if own is None or labels is None else self._by_item(own, labels.people())

    def beside_best(self) -> CrossedRatio | None:
        own, labels = self._crossed, self.sample.leave_one_out
        return None if own is None or labels is None else self._by_item(labels.best_reachable(), own)

    def _by_item(self, first: CrossedScores, second: CrossedScores) -> CrossedRatio:
        sample = self.sample
        one, two = sample.by_item(first, second), sample.by_item(second, first)
        return CrossedRatio(one, sample.crossing, minus=two)

    def difference_alike(self) -> CrossedRatio | None:
        """DRFR minus that of annotators like these too."""
        sample = self.sample
        if sample.against_gold:
            return None
        own = self.followed(sample.plain)
        items = sample.labels.item
        whole = sample.plain[items].sum(axis=1)
        shares = ((sample.labels.values == YES) & sample.is_question[items]).sum(axis=1)
        gap = (own.followed / own.total)[items] - np.where(whole > 0, shares / np.maximum(whole, 1), np.nan)
        mean, effects = mean_effects(gap, sample.crossing, sample.n_items)
        known = ~np.isnan(mean)
        sums = CrossedSums(np.where(known, mean, 0.0), known.astype(np.float64), effects)
        return CrossedRatio(sums, sample.crossing, (-1.0, 1.0))

    @read_once
    def binary(self, *, gold: bool) -> BinaryAnswers:  # noqa: ARG002
        """Its answers, yes or no, by question; the options of the sample say beside what."""
        sample = self.sample
        return BinaryAnswers(
            item=sample.item,
            cluster=sample.clusters[sample.item],
            said=self.answers[:, np.newaxis],
            asked=self.judge.asked[sample.item][:, np.newaxis],
            shares=sample.target,
            chance=self.chance,
            weights=None if sample.compared is None else sample.compared[sample.item],
            n_items=sample.n_items,
        )

    @property
    def chance(self) -> Floats | None:
        """Its probability of yes, by question; None where none is stored."""
        stored = self.judge.probability
        return None if stored is None else stored[:, 0][self.sample.is_question]

    def certainties(self) -> tuple[Integers, Floats] | None:
        if self.chance is None:
            return None
        asked = self.judge.asked[self.sample.item]
        return self.sample.item[asked], certainty_of(self.chance)[asked]

    def threshold(self, risk: float = RISK) -> dict[str, Any] | None:
        answers: BinaryAnswers = self.binary(gold=self.sample.against_gold)
        return answers.threshold(self.sample.options.confidence, risk)

    def unsure(self) -> Ratio:
        """Answers that are cannot tell."""
        known = np.where(np.isnan(self.answers), np.nan, self.answers == UNSURE)
        return self.sample.over_questions(known, _NO_CHECKLIST)

    def followed(self, weights: Floats) -> FollowedShares:
        """Of each item that it answered."""
        return self.sample.followed_by(np.flatnonzero(self.read), self.judge.values[self.read, 0], weights)

    @property
    def difference(self) -> Ratio:
        """DRFR minus the target's."""
        sample = self.sample
        own, target = self.followed(sample.plain), sample.of_target(sample.plain)
        return mean_of(own.followed / own.total - target.followed / target.total, _NO_QUESTION)

    def score(self, primary: str) -> Floats:  # noqa: ARG002
        """Share of the decided questions that it answers as the target."""
        agreed = self.agreement()
        return np.where(agreed.bottom > 0, agreed.top / np.maximum(agreed.bottom, 1), np.nan)


class ChecklistSample(Sample):
    """Checklists by question: the item that each is of, what people answered, the target.

    ``target`` is yes or no; NaN where people are divided, nobody could tell, or there is no gold answer.
    """

    judge_type = ChecklistJudge

    @cached_property
    def is_question(self) -> Booleans:
        """Where an item has a question: (n_items, n_parts)."""
        return part_mask(self.items.parts, self.items.width)

    @cached_property
    def item(self) -> Integers:
        """By question, the item."""
        return np.nonzero(self.is_question)[0]

    @cached_property
    def _given(self) -> tuple[Floats, Integers]:
        """What people answered, (n_questions, most labels), and the label that each answer is of, -1 for none."""
        rows = np.full(self.is_question.shape, -1, dtype=np.intp)
        rows[self.is_question] = np.arange(len(self.item))
        label, part = np.nonzero(~np.isnan(self.labels.values) & self.is_question[self.labels.item])
        question = rows[self.labels.item[label], part]
        answers = slots_of(question, self.labels.values[label, part], len(self.item))
        whose = slots_of(question, label.astype(np.float64), len(self.item))
        return answers, np.where(np.isnan(whose), -1, whose).astype(np.intp)

    @property
    def slots(self) -> Floats:
        """What people answered: (n_questions, most labels)."""
        return self._given[0]

    @cached_property
    def target(self) -> Floats:
        """By question."""
        if self.against_gold:
            gold = self.items.gold[self.is_question]
            return np.where(gold == UNSURE, np.nan, gold)
        yes, no = (self.slots == YES).sum(axis=1), (self.slots == NO).sum(axis=1)
        return np.where(yes > no, YES, np.where(no > yes, NO, np.nan))

    @property
    def size(self) -> Floats:
        """Questions of each item that have a target, at least one: the mean over items is then that of questions."""
        return np.maximum(self._per_item(~np.isnan(self.target)), 1.0)

    @property
    def most(self) -> Floats:
        return np.maximum(row_sums(self.is_question), 1.0)

    def has_target(self, primary: str) -> Booleans:  # noqa: ARG002
        return np.asarray(self._per_item(~np.isnan(self.target)) > 0)

    @property
    def scorable(self) -> Booleans:
        return self.has_target("agreement")

    def _per_item(self, values: Floats | Booleans) -> Floats:
        found = np.bincount(self.item, weights=values.astype(np.float64), minlength=self.n_items)
        return found.astype(np.float64)

    def over_questions(self, values: Floats, reason: str) -> Ratio:
        """A mean over questions, NaN taking no part."""
        known = ~np.isnan(values)
        return Ratio(self._per_item(np.where(known, values, 0.0)), self._per_item(known), reason)

    # --- how much was followed ---------------------------------------------------------------------------------------

    @cached_property
    def plain(self) -> Floats:
        """DRFR's weight of each question: one. (n_items, n_parts), 0 beyond an item's own."""
        return self.is_question.astype(np.float64)

    @cached_property
    def has_tree(self) -> Booleans:
        """Whether an item's aspects depend on one another; without that TOWER is DRFR."""
        return np.array([any(parents) for parents in self.items.parents], dtype=np.bool_)

    @cached_property
    def tower(self) -> Floats:
        """`tower_weights` of the items."""
        return tower_weights(self.items)

    def followed_by(self, item: Integers, answers: Floats, weights: Floats) -> FollowedShares:
        """The mean over the answers of each item: of people, of a judge, of gold. A row of answers an entry of item."""
        rows = self.is_question[item].any(axis=1)
        item = item[rows]
        followed = ((answers[rows] == YES) * weights[item]).sum(axis=1)
        means = means_by(item, followed, self.n_items)
        return FollowedShares(means, np.where(np.isnan(means), np.nan, weights.sum(axis=1)))

    def of_people(self, weights: Floats) -> FollowedShares:
        """The mean over an item's labels."""
        return self.followed_by(self.labels.item, self.labels.values, weights)

    def of_gold(self, weights: Floats) -> FollowedShares:
        """Of the gold answers."""
        rows = np.flatnonzero(self.items.has_gold)
        return self.followed_by(rows, self.items.gold[rows], weights)

    def of_target(self, weights: Floats) -> FollowedShares:
        """Of what judges are compared with."""
        return self.of_gold(weights) if self.against_gold else self.of_people(weights)

    # --- people ------------------------------------------------------------------------------------------------------

    def of_slots(self, contributions: Callable[[Floats], Floats]) -> Ratio:
        """A mean over the questions that two people answered."""
        nothing = np.full(len(self.item), np.nan)
        return self.over_questions(contributions(self.slots) if self.slots.shape[1] else nothing, _NO_PAIR)

    @cached_property
    def by_answer(self) -> Answers:
        """What people answered, an entry an answer."""
        answers, label = self._given
        question, slot = np.nonzero(~np.isnan(answers))
        whose = label[question, slot]
        people = Crossing.of(question, self.labels.annotator[whose])
        return Answers(question, answers[question, slot], whose, people)

    @cached_property
    def leave_one_out(self) -> LeaveOneOut | None:
        """The answers, each beside the others of its question; None where there is none."""
        found = self.by_answer
        if not len(found.question):
            return None
        labels = found.question, found.crossing.person, found.value
        return LeaveOneOut(labels, len(self.item))

    def of_questions(self, scores: CrossedScores | None, other: str = "") -> Crossed | None:
        """Leave-one-out scores by question, of people by default; beside people or the best that there could be."""
        labels = self.leave_one_out
        if labels is None:
            return None
        one, two = labels.people() if scores is None else scores, None
        if other == "people":
            two = labels.people()
        elif other:
            one, two = labels.best_reachable(), one
        return Crossed(labels, one, two, self._questions, self.item)

    @cached_property
    def _questions(self) -> Resamples:
        return self.resamples_of(self.item)

    def by_item(self, scores: CrossedScores, beside: CrossedScores) -> CrossedSums:
        """Scores of questions summed over those of an item that both have, and of answers over those of a label."""
        known = ~np.isnan(scores.items) & ~np.isnan(beside.items)
        found, shown = self.by_answer, known[self.by_answer.question]
        effects = found.by_label(np.where(shown, np.nan_to_num(scores.labels), 0.0), len(self.labels))
        sums = self.over_questions(np.where(known, scores.items, np.nan), _NO_PAIR)
        return CrossedSums(sums.top, sums.bottom, effects)

    def pairs_alike(self) -> CrossedRatio | None:
        """Pairs of people who answer the same, of annotators like these too."""
        found = self.by_answer
        if not len(found.question):
            return None
        same = mean_with_others(
            found.question, lambda one, two: (found.value[one] == found.value[two]).astype(np.float64)
        )
        mean, effects = pair_effects(same, found.crossing, len(self.item))
        sums = self.over_questions(mean, _NO_PAIR)
        return CrossedRatio(
            CrossedSums(sums.top, sums.bottom, found.by_label(effects, len(self.labels))), self.crossing
        )

    def unsure(self) -> Ratio:
        """Answers that are cannot tell."""
        found = share_of(self.slots == UNSURE, ~np.isnan(self.slots), "no labels")
        return Ratio(self._per_item(found.top), self._per_item(found.bottom), found.reason)

    def alpha(self) -> ByGroup:
        """Nominal, over questions: cannot tell is an answer of its own."""
        if not self.slots.shape[1]:
            return ByGroup(lambda _: Estimate(np.nan, np.nan, np.nan, n=0, reason="no labels"))
        return ByGroup(
            lambda members: krippendorff_alpha(
                self.slots,
                where=members[self.item],
                resamples=self._questions,
                confidence=self.options.confidence,
                weights=None if self.drawn is None else self.drawn[self.item],
            )
        )

    def alpha_alike(self) -> ByGroup | None:
        """The same of annotators like these."""
        found = self.by_answer
        if not len(found.question):
            return None
        read = read_labels((found.question, found.crossing.person, found.value), len(self.item))
        return ByGroup(
            lambda members: krippendorff_alpha(
                read,
                people="sampled",
                where=members[self.item],
                resamples=self._questions,
                confidence=self.options.confidence,
                weights=None if self.drawn is None else self.drawn[self.item],
            )
        )

    def with_others(self) -> Floats:
        """Share of the answers of each label that most of the others gave too, ties between modes by expectation."""
        answers, label = self._given
        if not answers.shape[1]:
            return np.full(len(self.labels), np.nan)
        scores = leave_one_out_scores(read_labels(answers))
        return means_by(label[~np.isnan(answers)], scores, len(self.labels))

    def baselines(self) -> tuple[JudgeAnswers, ...]:
        """Always yes."""
        values = np.where(self.is_question, YES, np.nan)[:, np.newaxis]
        return (baseline_judge("checklist always_yes", "always yes", values),)

    def remarks(self) -> tuple[str, ...]:
        found = []
        labelled = (~np.isnan(self.slots)).any(axis=1)
        divided = int((np.isnan(self.target) & labelled).sum())
        if divided and not self.against_gold:
            found.append(
                f"On {divided:,} of {int(labelled.sum()):,} labeled questions annotators are divided or could not "
                "tell: "
                "these are left out of the agreement of judges."
            )
        if not self.has_tree.any():
            found.append("No aspect depends on another, so TOWER would be the same as DRFR and is left out.")
        elif broken := int((self.has_tree & np.isnan(self.tower).any(axis=1)).sum()):
            found.append(f"The aspects of {broken:,} items are no tree: these have no TOWER.")
        return tuple(found)


def _drfr(subject: ChecklistSample | ChecklistJudge, of: str, average: str) -> Part:
    sample = subject.sample if isinstance(subject, ChecklistJudge) else subject
    found: FollowedShares = getattr(subject, of)(sample.plain)
    return found.mean() if average == "macro" else found.pooled()


def _tower(subject: ChecklistSample | ChecklistJudge, of: str, average: str) -> Part | None:
    sample = subject.sample if isinstance(subject, ChecklistJudge) else subject
    if not sample.has_tree.any():
        return None
    found: FollowedShares = getattr(subject, of)(sample.tower)
    return found.mean() if average == "macro" else found.pooled()


def _followed(of: str, pooled: tuple[str, ...]) -> tuple[Figure, ...]:
    """DRFR and TOWER of people, gold or a judge; ``pooled`` are the ways to group the pooled figures."""
    return (
        Figure(
            "drfr",
            "DRFR, mean of instructions",
            "Share of an item's questions answered with yes, cannot tell counting as no, averaged over items.",
            partial(_drfr, of=of, average="macro"),
            axes=GROUPS,
        ),
        Figure(
            "drfr_micro",
            "DRFR, pooled",
            "Share of all questions answered with yes, cannot tell counting as no.",
            partial(_drfr, of=of, average="micro"),
            axes=pooled,
        ),
        Figure(
            "tower",
            "TOWER, mean of instructions",
            "Share of an item's aspects followed, each weighing one over its level in the tree, averaged over items.",
            partial(_tower, of=of, average="macro"),
            axes=GROUPS,
        ),
        Figure(
            "tower_micro",
            "TOWER, pooled",
            "Weight of the aspects followed over the weight of all aspects, all items together.",
            partial(_tower, of=of, average="micro"),
            axes=pooled,
        ),
    )


_UNSURE = "Share of the answers that are cannot tell."
PEOPLE = (
    Figure(
        "alpha",
        "Krippendorff's alpha, nominal",
        "Agreement beyond chance over questions, cannot tell being an answer of its own.",
        ChecklistSample.alpha,
        "number",
        CORRELATION,
        GROUPS,
        alike=ChecklistSample.alpha_alike,
    ),
    Figure(
        "pair_exact",
        "Pairwise agreement",
        "Share of the pairs of human annotators who give the same answer, averaged over questions.",
        partial(ChecklistSample.of_slots, contributions=pairwise_agreement_contributions),
        axes=GROUPS,
        alike=ChecklistSample.pairs_alike,
    ),
    Figure(
        "agreement",
        "Leave-one-out agreement per question",
        "Chance that a human annotator's answer is the mode of the other answers to the question.",
        partial(ChecklistSample.of_slots, contributions=leave_one_out_contributions),
        axes=GROUPS,
        alike=partial(ChecklistSample.of_questions, scores=None),
    ),
    Figure("cannot_tell_rate", "Cannot tell", _UNSURE, ChecklistSample.unsure, axes=GROUPS),
    *_followed("of_people", ()),
)
GOLD = _followed("of_gold", ())
JUDGES = (
    Figure(
        "agreement",
        "Agreement per question",
        "Share of the decided questions that the judge answers as the target does.",
        ChecklistJudge.agreement,
        axes=GROUPS,
        compares=True,
        alike=partial(ChecklistJudge.alike, primary="agreement"),
    ),
    Figure(
        "minus_people",
        "Judge minus human annotators",
        "Leave-one-out agreement of the judge per question minus that of human annotators, on the same questions.",
        ChecklistJudge.minus_people,
        "points",
        CORRELATION,
        compares=True,
        short="Judge − human",
    ),
    Figure(
        "below_best",
        "Upper bound minus judge",
        "The upper bound (majority oracle) minus leave-one-out agreement of the judge, on the same questions.",
        ChecklistJudge.below_best,
        "points",
        CORRELATION,
        compares=True,
    ),
    Figure("cannot_tell_rate", "Cannot tell", _UNSURE, ChecklistJudge.unsure),
    *_followed("followed", GROUPS),
    Figure(
        "drfr_difference",
        "DRFR bias (judge − target)",
        "DRFR of the judge minus DRFR of the target, averaged over items.",
        lambda judge: judge.difference,
        "points",
        CORRELATION,
        compares=True,
        alike=ChecklistJudge.difference_alike,
    ),
    *RETEST,
    UNPARSED,
    *binary_figures(partial(ChecklistJudge.binary, gold=False), "yes", "the target"),
)
KIND = KindFigures(
    sample=ChecklistSample,
    people=PEOPLE,
    judges=JUDGES,
    gold=GOLD,
    primaries=("agreement",),
    majority=True,
    options=(*OPTIONS, "preset"),
    so_far=("alpha", "pair_exact", "agreement", "cannot_tell_rate", "drfr"),
    of_everyone="agreement",
    of_one_person=Figure(
        "agreement",
        "Answers that most of the others gave too",
        "Share of this annotator's answers that are the mode of the others'.",
        partial(ChecklistSample.of_slots, contributions=leave_one_out_contributions),
    ),
    of_responses="drfr_micro",
    sides=("Yes", "No"),
    counted="n counts items; of alpha, questions.",
    methods=(
        "Krippendorff's alpha is nominal, over questions, with cannot tell as an answer of its own.",
        "Leave-one-out agreement compares each answer with the mode of the other annotators' answers to the same "
        "question, ties between modes by expectation; it and pairwise agreement are means over questions.",
        "DRFR is the share of an item's questions answered with yes, cannot tell counting as no; TOWER weighs a "
        "question by one over its level in the tree of aspects.",
    ),
    conventions=(
        Convention(("drfr",), "drfr", {"average": "macro", "unsure": "not_followed"}),
        Convention(("tower",), "tower_score", {"average": "macro", "unsure": "not_followed"}),
    ),
    ranked="Judges are ranked by the share of questions that they answer as {against}.",
    against={"people": "most human annotators did", "gold": "the gold answers"},
    scores={
        "agreement": ScoreWords(
            "checklists",
            "agreement with human annotators per question",
            "agreement with gold answers per question",
            "agreement per question",
            "Agreement per question is the share of questions that a judge answers as most annotators do (or as the "
            "gold answers do), pooled over all questions. Questions on which annotators are evenly divided are "
            "excluded; “cannot tell” is wrong. Guessing reaches 50%; the row of the baseline shows what always “yes” "
            "reaches.",
        ),
    },
)
