"""The figures of response sets: how often a judge's answer is one that people find reasonable, and how near its shares
of verdicts are to the shares of people who include each answer.

Inputs without a set have none of these figures, and neither have comparisons with gold answers. Computed by
`metaeval.stats.response_sets` (Guerdan et al., NeurIPS 2025).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from annotation.kinds import kind_of
from metaeval.figures.figure import GROUPS, Figure, ScoreWords
from metaeval.figures.sample import (
    ByGroup,
    CrossedRatio,
    JudgeSample,
    Ratio,
    Sample,
    item_means,
    mean_of,
    means_by,
)
from metaeval.inputs import Booleans, Floats, Inputs, JudgeAnswers, set_answers
from metaeval.stats import (
    response_set_coverage_contributions,
    response_set_distance_contributions,
    response_set_shares,
)
from metaeval.stats.arrays import slots_of
from metaeval.stats.crossed_sums import CrossedSums, mean_effects

HALF = 0.5
"""An answer is reasonable in the hit rate if at least this share of people include it, in decisions if more do."""
PRIMARIES = ("set_coverage", "set_hit_rate", "set_closeness")
"""By which judges may be ranked where labels have sets."""
TABLE = "Response sets"
_NO_SET = "no judged item has a response set"
_NO_TWO = "no judged item has two response sets"
_NO_OTHERS = "no item has two response sets"
_NONE = "no label has a response set"
_TARGET = "what these annotators find reasonable is the target"
_OF_OTHERS = "a label's score depends on the other labels of its item"


class SetJudge(JudgeSample):
    """A judge, by the sets of answers that people find reasonable."""

    sample: SetSample

    @cached_property
    def set_verdicts(self) -> Floats:
        """The place of each verdict among the answers: (n_items, n_orders, n_parts); NaN where it could not be read."""
        return self.sample.set_places(self.sample.set_answers_of(self.judge))

    @cached_property
    def _counted(self) -> Booleans:
        """Judgments that count, (n_items, n_orders, n_parts): all, or those that could be read."""
        judged = np.broadcast_to(self.judge.judged[:, :, np.newaxis], self.set_verdicts.shape)
        return judged & ~np.isnan(self.set_verdicts) if self.sample.leaves_out_unread else judged

    @cached_property
    def set_shares(self) -> Floats:
        """The share of its verdicts of an item with each answer, (n_items, n_parts, n_answers); NaN without any."""
        n = self._counted.sum(axis=1)[:, :, np.newaxis]
        places = np.arange(self.sample.n_set_answers)
        said = (self.set_verdicts[..., np.newaxis] == places) & self._counted[..., np.newaxis]
        return np.where(n > 0, said.sum(axis=1) / np.maximum(n, 1), np.nan)

    def _over_parts(self, of_part: Any) -> Floats:
        """The mean over an item's parts of what each contributes, NaN taking no part."""
        found = np.stack([of_part(place) for place in range(self.set_verdicts.shape[2])], axis=1)
        known = ~np.isnan(found)
        total, n = np.where(known, found, 0.0).sum(axis=1), known.sum(axis=1)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    def set_coverage(self, threshold: float | None = None) -> Ratio | None:
        """How often its answer is one that people find reasonable."""
        if not self.sample.compares_sets:
            return None

        def of_part(place: int) -> Floats:
            sets = self.sample.sets_by_answer(place)
            scores = [
                response_set_coverage_contributions(sets, column, threshold=threshold)
                for column in self.set_verdicts[:, :, place].T
            ]
            # Not judged is not the same as unparsed: what was not judged takes no part.
            each, counted = np.stack(scores, axis=1), self._counted[:, :, place]
            counted = counted & ~np.isnan(each)
            n = counted.sum(axis=1)
            return np.where(n > 0, np.where(counted, each, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)

        return mean_of(self._over_parts(of_part), _NO_SET)

    def set_coverage_sums(self) -> CrossedRatio | None:
        """Coverage, of annotators like these too: it is a mean over an item's labels."""
        sample = self.sample
        if not sample.compares_sets:
            return None
        sums = mean_effects(self._label_scores, sample.crossing, sample.n_items)
        mean, effects = sums
        known = ~np.isnan(mean)
        return CrossedRatio(
            CrossedSums(np.where(known, mean, 0.0), known.astype(np.float64), np.nan_to_num(effects)),
            sample.crossing,
        )

    @property
    def _label_scores(self) -> Floats:
        """The share of its verdicts that each label's set has, over its parts: NaN of a label without a set."""
        sample = self.sample
        shares = self.set_shares[sample.labels.item]
        each = (shares * sample.label_sets).sum(axis=2)
        known = ~np.isnan(each)
        return np.where(
            known.any(axis=1), np.nan_to_num(each).sum(axis=1) / np.maximum(known.sum(axis=1), 1), np.nan
        )

    def set_distance(self) -> Ratio | None:
        """Squared distance of its shares of verdicts from the shares of people who include each answer."""
        if not self.sample.compares_sets:
            return None

        def of_part(place: int) -> Floats:
            shares = {
                answer: self.set_shares[:, place, answer] for answer in range(self.sample.n_set_answers)
            }
            return response_set_distance_contributions(self.sample.sets_by_answer(place), shares)

        return mean_of(self._over_parts(of_part), _NO_TWO)

    def set_closeness(self) -> Ratio | None:
        """One minus that distance over the number of answers, an unparsed verdict being as far as can be.

        It is not corrected for few annotators: what they add is the same for every judge, so a choice is as by the
        corrected distance, and items with one set count too.
        """
        sample = self.sample
        if not sample.compares_sets:
            return None
        counted, read = (
            each.sum(axis=1) for each in (self._counted, self._counted & ~np.isnan(self.set_verdicts))
        )
        share_read = np.where(counted > 0, read / np.maximum(counted, 1), np.nan)
        own = self.set_shares / np.where(share_read > 0, share_read, 1.0)[:, :, np.newaxis]
        far = ((sample.people_shares - own) ** 2).sum(axis=2) / np.maximum(sample.set_offered.sum(axis=2), 1)
        close = share_read * (1 - far).clip(min=0)
        return mean_of(self._over_parts(lambda place: close[:, place]), _NO_SET)

    def set_consistency(self) -> Ratio | None:
        """Share of the answers of which it says as people whether more than half include it."""
        sample = self.sample
        if not sample.compares_sets:
            return None
        people, own = sample.people_shares, self.set_shares
        known = ~np.isnan(people) & ~np.isnan(own) & sample.set_offered
        same = known & ((people > HALF) == (own > HALF))
        return Ratio(
            same.sum(axis=(1, 2)).astype(np.float64), known.sum(axis=(1, 2)).astype(np.float64), _NO_SET
        )

    def set_score(self, primary: str) -> Floats:
        """By one of `PRIMARIES`, as a choice between judges needs it."""
        if primary == "set_closeness":
            found = self.set_closeness()
        else:
            found = self.set_coverage(HALF if primary == "set_hit_rate" else None)
        return np.full(self.sample.n_items, np.nan) if found is None else item_means(found)


class SetSample(Sample):
    """Labels with response sets."""

    @property
    def has_sets(self) -> bool:
        """Whether any label has a set."""
        return self.labels.sets is not None

    def ranks_by(self, primary: str) -> bool:
        return super().ranks_by(primary) and (primary not in PRIMARIES or self.compares_sets)

    def has_set(self) -> Booleans:
        """The items that have a set: (n_items,)."""
        if not self.has_sets:
            return np.zeros(self.n_items, dtype=np.bool_)
        given = (~np.isnan(self.label_sets)).any(axis=(1, 2))
        return np.bincount(self.labels.item[given], minlength=self.n_items) > 0

    @property
    def compares_sets(self) -> bool:
        """Whether judges are compared with sets."""
        return self.has_sets and not self.against_gold

    @property
    def leaves_out_unread(self) -> bool:
        """Whether an unparsed verdict takes no part."""
        return self.options.unparsed == "omit"

    @property
    def set_inputs(self) -> Inputs:
        """The inputs with values as they are stored."""
        return self.inputs

    @cached_property
    def set_answers(self) -> Floats:
        """What a set can have, as the numbers of values."""
        inputs = self.set_inputs
        return np.array(set_answers(kind_of(inputs.kind), inputs.scales), dtype=np.float64)

    @property
    def n_set_answers(self) -> int:
        """How many answers there are."""
        return len(self.set_answers)

    @property
    def label_sets(self) -> Floats:
        """Who includes what: (n_labels, n_parts, n_answers)."""
        assert self.labels.sets is not None
        return self.labels.sets

    @property
    def set_choices(self) -> Floats:
        """The forced choice of each label, (n_labels, n_parts), as the numbers of answers."""
        return self.set_inputs.labels.values

    def set_answers_of(self, judge: JudgeAnswers) -> Floats:
        """What a judge said, (n_items, n_orders, n_parts), as the numbers of answers."""
        return judge.values

    @property
    def set_offered(self) -> Booleans:
        """Which answers could be given: (n_items, n_parts, n_answers) or what fits it."""
        return np.ones((1, 1, self.n_set_answers), dtype=np.bool_)

    def set_places(self, values: Floats) -> Floats:
        """The place of each number among the answers; NaN of one that is none of them."""
        same = values[..., np.newaxis] == self.set_answers
        return np.where(same.any(axis=-1), same.argmax(axis=-1), np.nan)

    def sets_by_answer(self, place: int) -> Mapping[int, Floats]:
        """The sets of one part as `metaeval.stats.response_sets` takes them, by the place of the answer."""
        if place not in self._by_answer:
            item, sets = self.labels.item, self.label_sets
            self._by_answer[place] = {
                answer: slots_of(item, sets[:, place, answer], self.n_items)
                for answer in range(self.n_set_answers)
            }
        return self._by_answer[place]

    @cached_property
    def _by_answer(self) -> dict[int, dict[int, Floats]]:
        return {}

    @cached_property
    def people_shares(self) -> Floats:
        """The share of people who include each answer: (n_items, n_parts, n_answers)."""
        parts = range(self.label_sets.shape[1])
        return np.stack([response_set_shares(self.sets_by_answer(place)) for place in parts], axis=1)

    @cached_property
    def _sizes(self) -> Floats:
        """Answers in each label's set, the mean over its parts: (n_labels,)."""
        sizes = self.label_sets.sum(axis=2)
        known = ~np.isnan(sizes)
        total = np.where(known, sizes, 0.0).sum(axis=1)
        return np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)

    @cached_property
    def _several(self) -> Floats:
        """Share of the parts of each label whose set has more than one answer: (n_labels,)."""
        sizes = self.label_sets.sum(axis=2)
        known = ~np.isnan(sizes)
        return np.where(known.any(axis=1), (sizes > 1).sum(axis=1) / np.maximum(known.sum(axis=1), 1), np.nan)

    def _of_labels(self, scores: Floats) -> Ratio:
        item, known = self.labels.item, (~np.isnan(scores)).astype(np.float64)
        top = np.bincount(item, weights=np.nan_to_num(scores), minlength=self.n_items)
        bottom = np.bincount(item, weights=known, minlength=self.n_items)
        return Ratio(top.astype(np.float64), bottom.astype(np.float64), _NONE)

    def set_size(self) -> Ratio | None:
        """Answers in a set."""
        return self._of_labels(self._sizes) if self.has_sets else None

    def set_size_alike(self) -> ByGroup | None:
        """The same of annotators like these."""
        if not self.has_sets:
            return None
        most = float(self.n_set_answers)
        return self.mean_alike(self._sizes / most, scale=most)

    def set_several(self) -> Ratio | None:
        """Sets with more than one answer."""
        return self._of_labels(self._several) if self.has_sets else None

    def set_several_alike(self) -> ByGroup | None:
        """The same of annotators like these."""
        return self.mean_alike(self._several) if self.has_sets else None

    def set_coverage(self, threshold: float | None = None) -> Ratio | None:
        """How often an annotator's own answer is in the sets of the others of its item."""
        if not self.has_sets:
            return None
        item, sets = self.labels.item, self.label_sets
        given = ~np.isnan(sets).any(axis=2)  # (n_labels, n_parts)
        n = np.zeros((self.n_items, sets.shape[1]))
        included = np.zeros((self.n_items, *sets.shape[1:]))
        np.add.at(n, item, given)
        np.add.at(included, item, np.nan_to_num(sets))
        place = self.set_places(self.set_choices)
        known = ~np.isnan(place)
        at = np.nan_to_num(place).astype(np.intp)[..., np.newaxis]
        own = np.take_along_axis(np.nan_to_num(sets), at, axis=2)[..., 0]
        others = n[item] - given
        share = np.take_along_axis(included[item], at, axis=2)[..., 0] - own
        counted = known & (others > 0)
        share = share / np.maximum(others, 1)
        credit = share if threshold is None else (share >= threshold).astype(np.float64)
        total, parts = np.where(counted, credit, 0.0).sum(axis=1), counted.sum(axis=1)
        scores = np.where(parts > 0, total / np.maximum(parts, 1), np.nan)
        return mean_of(means_by(item, scores, self.n_items), _NO_OTHERS)


PEOPLE = (
    Figure(
        "set_coverage",
        "Response-set coverage",
        "Share of the other human annotators of an item who find an annotator's own answer reasonable, averaged over "
        "labels and items.",
        SetSample.set_coverage,
        axes=GROUPS,
        table=TABLE,
        short="Coverage",
        only_these=_OF_OTHERS,
    ),
    Figure(
        "set_hit_rate",
        "Response-set hit rate",
        "Share of the labels whose answer at least half of the other human annotators of the item find reasonable, "
        "averaged over items.",
        partial(SetSample.set_coverage, threshold=HALF),
        axes=GROUPS,
        table=TABLE,
        short="Hit rate",
        only_these=_OF_OTHERS,
    ),
    Figure(
        "set_size",
        "Answers in a response set",
        "Mean number of answers that a human annotator finds reasonable; 1 is the forced choice alone.",
        SetSample.set_size,
        "number",
        None,
        GROUPS,
        table=TABLE,
        short="Answers in a set",
        alike=SetSample.set_size_alike,
    ),
    Figure(
        "set_several",
        "Response sets with several answers",
        "Share of the response sets that have more than one answer.",
        SetSample.set_several,
        axes=GROUPS,
        table=TABLE,
        short="Several answers",
        alike=SetSample.set_several_alike,
    ),
)
SO_FAR = tuple(figure.name for figure in PEOPLE)
"""What the page of a study shows while it fills."""
JUDGES = (
    Figure(
        "set_coverage",
        "Response-set coverage",
        "Share of human annotators who find the judge's answer reasonable, averaged over presentation orders, criteria "
        "and items.",
        SetJudge.set_coverage,
        axes=GROUPS,
        compares=True,
        table=TABLE,
        short="Coverage",
        lead="{name} gives an answer that {value} of human annotators find reasonable",
        lacking="No judged item has a response set.",
        alike=SetJudge.set_coverage_sums,
    ),
    Figure(
        "set_hit_rate",
        "Response-set hit rate",
        "Share of the judge's answers that at least half of the human annotators of the item find reasonable, averaged "
        "over presentation orders, criteria and items.",
        partial(SetJudge.set_coverage, threshold=HALF),
        axes=GROUPS,
        compares=True,
        table=TABLE,
        short="Hit rate",
        lead="{name} gives a reasonable answer on {value}",
        lacking="No judged item has a response set.",
        only_these=_TARGET,
    ),
    Figure(
        "set_distance",
        "Squared distance from response sets",
        "Squared distance between the judge's shares of verdicts and the shares of human annotators who include each "
        "answer, summed over answers and averaged over items, corrected for the bias of few annotators.",
        SetJudge.set_distance,
        "number",
        None,
        compares=True,
        table=TABLE,
        short="Squared distance",
        only_these=_TARGET,
    ),
    Figure(
        "set_closeness",
        "Closeness to response sets",
        "One minus the squared distance between the judge's shares of verdicts and the shares of human annotators who "
        "include each answer, over the number of answers; an unparsed verdict counts as 0. Averaged over criteria and "
        "items.",
        SetJudge.set_closeness,
        axes=GROUPS,
        compares=True,
        table=TABLE,
        short="Closeness",
        lead="{name} is closest to human response sets: {value}",
        lacking="No judged item has a response set.",
        only_these=_TARGET,
    ),
    Figure(
        "set_consistency",
        "Decision consistency",
        "Share of the answers of an item of which the judge's verdicts and human annotators' sets say the same: that "
        "more than half include it, or not.",
        SetJudge.set_consistency,
        axes=GROUPS,
        compares=True,
        table=TABLE,
        short="Consistency",
        only_these=_TARGET,
    ),
)
_GOLD = "accuracy against gold answers"


def set_scores(items: str, gold: str = _GOLD) -> dict[str, ScoreWords]:
    """The words of a choice by response sets; ``gold`` is the score on a dataset that is used for its gold answers."""
    return {
        "set_coverage": ScoreWords(
            items,
            "coverage of human response sets",
            gold,
            "",
            "Coverage is the share of human annotators who find a judge's answer reasonable, on items with response "
            "sets. It is higher where annotators find more answers reasonable, so compare judges on the same items.",
        ),
        "set_hit_rate": ScoreWords(
            items,
            "hit rate of human response sets",
            gold,
            "",
            "The hit rate is the share of a judge's answers that at least half of the human annotators of an item find "
            "reasonable.",
        ),
        "set_closeness": ScoreWords(
            items,
            "closeness to human response sets",
            gold,
            "",
            "Closeness is 1 minus the squared distance between a judge's verdicts and the shares of human annotators "
            "who find each answer reasonable, over the number of answers. Judges rank by it as by the least distance; "
            "an unparsed verdict counts as 0.",
        ),
    }
