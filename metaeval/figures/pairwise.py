"""The figures of pairs of responses."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from metaeval.figures.binary import BinaryAnswers, binary_figures, certainty_of, read_once
from metaeval.figures.figure import CORRELATION, GROUPS, UNPARSED, Convention, Figure, KindFigures, ScoreWords
from metaeval.figures.graded import JUDGES as GRADED_JUDGES
from metaeval.figures.graded import PEOPLE as GRADED_PEOPLE
from metaeval.figures.graded import GradedJudge, GradedSample
from metaeval.figures.response_sets import JUDGES as SET_JUDGES
from metaeval.figures.response_sets import PEOPLE as SET_PEOPLE
from metaeval.figures.response_sets import PRIMARIES as SET_PRIMARIES
from metaeval.figures.response_sets import SO_FAR as SETS_SO_FAR
from metaeval.figures.response_sets import SetJudge, SetSample, set_scores
from metaeval.figures.retest import RETEST
from metaeval.figures.sample import (
    RISK,
    ByGroup,
    Crossed,
    CrossedRatio,
    Part,
    Ratio,
    mean_of,
    share_of,
)
from metaeval.inputs import GOLD, Booleans, Floats, Integers, JudgeAnswers, TieBreak, baseline_judge
from metaeval.stats import (
    Estimate,
    LeaveOneOut,
    PairedDifference,
    accuracy_contributions,
    feature_contributions,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    leave_one_out_contributions,
    pairwise_agreement_contributions,
    positional_agreement_contributions,
)
from metaeval.stats.arrays import row_sums, slots_of
from metaeval.stats.counts import LongLabels, read_labels
from metaeval.stats.crossed import CrossedScores
from metaeval.stats.crossed_pairs import pair_sums
from metaeval.stats.distributions import Distance, answer_shares, distance_bounds, distances
from metaeval.stats.label_models import LabelShares, label_shares
from metaeval.stats.leave_one_out_scores import leave_one_out_scores
from metaeval.stats.preference import expected_win_contributions

# AlpacaEval compares lengths only where they differ by more than this many characters.
ALPACA_LENGTH_DIFFERENCE = 30
# All that can be said of a pair, so that a distance does not depend on whether anybody said it.
_CHOICES = np.array([0.0, 1.0, 2.0])
_ONLY_THESE = "they are distances from the labels of these annotators"
_NO_PAIR = "no item has two labels"
_NO_JUDGED_LABEL = "no judged item has a label"
_NO_JUDGED_PAIR = "no judged item has two labels"
_NO_LABELS = "no labels"
_NO_VERDICT = "no parsed verdict"
_ONE_ORDER = "judged in one presentation order only"
_NOT_MEASURED = "not measured: the verdicts were imported"
_SAME_LENGTH = "no labeled pair whose responses differ in length"
_NO_JUDGED = "no judged pair whose responses differ in length"


class PairJudge(GradedJudge, SetJudge):
    """A judge of pairs; it scores an item by the mean of the orders in which it judged."""

    sample: PairSample

    def __init__(self, sample: Any, judge: JudgeAnswers) -> None:
        super().__init__(sample, judge)
        self.verdicts, self.judged = judge.verdicts, judge.judged
        self.parsed: Booleans = judge.judged & ~np.isnan(judge.verdicts)

    def score(self, primary: str) -> Floats:
        return self.set_score(primary)

    def alike(self, primary: str) -> CrossedRatio | None:
        return self.set_coverage_sums() if primary == "set_coverage" else None

    @cached_property
    def agreement(self) -> Ratio:
        """Leave-one-out agreement of its verdicts with the labels."""
        options, slots = self.sample.options, self.sample.slots
        reason = _NO_JUDGED_PAIR
        if not slots.shape[1]:
            return self._nothing(reason)
        score = partial(
            leave_one_out_contributions,
            slots,
            tie_break=options.tie_break,
            unparsed=options.unparsed,
            rng=options.seed,
        )
        return mean_of(self.over_orders(score), reason)

    @cached_property
    def crossed(self) -> CrossedScores:
        """Leave-one-out scores of items and labels."""
        return self.sample.crossed().judge(self.verdicts, self.judged)

    def with_alike(self) -> Crossed | None:
        """Agreement, of annotators like these too."""
        return self.sample.of_crossed(lambda labels: Crossed(labels, self.crossed))

    def minus_people(self) -> Part:
        """Its agreement minus people's own."""
        return self.sample.of_crossed(
            lambda labels: Crossed(labels, self.crossed, labels.people())
        ) or self._nothing(_NO_LABELS)

    def below_best(self) -> Part:
        """The upper bound minus its agreement."""
        return self.sample.of_crossed(
            lambda labels: Crossed(labels, labels.best_reachable(), self.crossed)
        ) or self._nothing(_NO_LABELS)

    def at_equal_overlap(self) -> Crossed | None:
        """Agreement as if every pair had as few labels as the one that has fewest."""
        k = self.sample.equal_overlap
        if k is None:
            return None
        return self.sample.of_crossed(
            lambda labels: Crossed(labels, labels.judge(self.verdicts, self.judged)), k
        )

    @cached_property
    def accuracy(self) -> Ratio:
        """Its verdicts beside the gold answers."""
        gold, reason = self.sample.items.gold[:, 0], "no judged item has a gold answer"
        if np.isnan(gold).all():
            return self._nothing(reason)
        unparsed = self.sample.options.unparsed
        return mean_of(
            self.over_orders(lambda verdicts: accuracy_contributions(verdicts, gold, unparsed=unparsed)),
            reason,
        )

    @cached_property
    def shares(self) -> Floats:
        """The share of each choice among its verdicts of an item; what is unparsed went to none."""
        return answer_shares(self.verdicts, _CHOICES, self.judged)

    def distance(self, measure: Distance) -> Ratio:
        """How far its shares are from those of the labels."""
        reason = _NO_JUDGED_PAIR if measure == "squared" else _NO_JUDGED_LABEL
        if not self.sample.slots.shape[1]:
            return self._nothing(reason)
        found = distances(
            self.sample.label_shares, self.shares, measure=measure, unparsed=self.sample.options.unparsed
        )
        return mean_of(found, reason)

    def _nothing(self, reason: str) -> Ratio:
        return mean_of(np.full(self.sample.n_items, np.nan), reason)

    def over_orders(self, score: Any) -> Floats:
        """The mean over the orders in which it judged each item: (n_items,)."""
        if self.judged.all():
            return np.asarray(score(self.verdicts))
        # Not judged is not the same as unparsed: what was not judged takes no part.
        scores = np.stack([score(column) for column in self.verdicts.T], axis=1)
        counted = self.judged & ~np.isnan(scores)
        n, total = row_sums(counted), row_sums(np.where(counted, scores, 0.0))
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    def positional(self, *, unparsed_agree: bool) -> Ratio:
        """The same verdict in both orders."""
        both: Booleans = np.all(self.judged, axis=1)
        # A judge that never gives a readable verdict is not a consistent one.
        readable = bool((self.parsed & both[:, np.newaxis]).any())
        same = positional_agreement_contributions(self.verdicts, unparsed_agree=unparsed_agree)
        # An answer that never came agrees with nothing; it says more of the endpoint than of the judge.
        same[self.judge.failed.any(axis=1)] = 0.0
        reason = _NO_VERDICT if both.any() else _ONE_ORDER
        return mean_of(np.where(both & readable, same, np.nan), reason)

    @read_once
    def binary(self, *, gold: bool) -> BinaryAnswers | None:
        """Its verdicts as answers: is the first response better?"""
        sample = self.sample
        right = sample.items.gold[:, :1] if gold else sample.slots
        if not right.shape[1] or np.isnan(right).all():
            return None
        said = np.where(self.verdicts == 2, 0.0, np.where(self.verdicts == 0, -1.0, self.verdicts))
        return BinaryAnswers(
            item=np.arange(sample.n_items),
            cluster=sample.clusters,
            said=said,
            asked=self.judged,
            shares=_mean_known(np.where(np.isnan(right), np.nan, _credit(right))),
            chance=self.chance,
            weights=None if gold else sample.drawn,
            n_items=sample.n_items,
        )

    def threshold(self, risk: float = RISK) -> dict[str, Any] | None:
        """Beside gold or people, whichever more items have."""
        targets = self.sample.inputs.targets()
        answers = self.binary(gold=targets[0] == GOLD) if targets else None
        return None if answers is None else answers.threshold(self.sample.options.confidence, risk)

    @cached_property
    def chance(self) -> Floats | None:
        """Its probability of a preference for the first response, over orders.

        Where none is stored the verdicts of both orders are votes; those of one order say nothing of certainty.
        """
        votes = np.where(self.parsed, _credit(self.verdicts), np.nan)
        stored = self.judge.probability
        if stored is None:
            both = self.judged.all(axis=1)
            return _mean_known(votes) if both.any() and not self.judge.baseline else None
        return _mean_known(np.where(self.parsed & ~np.isnan(stored[:, :, 0]), stored[:, :, 0], votes))

    def certainties(self) -> tuple[Integers, Floats] | None:
        rows = np.flatnonzero(self.judged.any(axis=1))
        return None if self.chance is None else (rows, certainty_of(self.chance)[rows])

    def first_shown(self) -> Ratio:
        """The response shown first, among decided verdicts of items parsed in both orders."""
        decided = self.parsed & (self.verdicts != 0) & np.all(self.parsed, axis=1, keepdims=True)
        reason = "no item with a parsed verdict in both orders"
        return share_of(self.verdicts == np.array([1.0, 2.0]), decided, reason)

    def amount(self, name: str, scale: float) -> Ratio:
        """US dollars or seconds of a judgment."""
        amounts = getattr(self.judge, name)
        measured = self.judged & ~np.isnan(amounts)
        return Ratio(row_sums(np.where(measured, amounts, 0.0)), row_sums(measured), _NOT_MEASURED, scale)

    def ties(self) -> Ratio:
        """Ties among parsed verdicts."""
        return share_of(self.verdicts == 0, self.parsed, _NO_VERDICT)

    def wins(self) -> Ratio:
        """Wins of the first response."""
        return mean_of(expected_win_contributions(self.verdicts), _NO_VERDICT)

    def length_bias(self) -> Ratio:
        """As that of labels; an unparsed verdict prefers neither."""
        return length_bias(self.sample, self.verdicts, self.judged, _NO_JUDGED)

    def prefers_longer(self) -> Ratio:
        """As that of labels; unparsed verdicts are left out."""
        return prefers_longer(self.sample, self.verdicts, self.judged, _NO_JUDGED)


class PairSample(GradedSample, SetSample):
    """Pairs: labels in slots, (n_items, most labels of an item)."""

    judge_type = PairJudge

    @property
    def represents(self) -> Literal["match", "negative_rmse"]:
        """How the authors' alternative annotator test scores an answer against the labels of others."""
        return "match"

    @cached_property
    def slots(self) -> Floats:
        """The labels of each item, in the order in which they were given; NaN beyond its own."""
        return slots_of(self.labels.item, self.labels.choice, self.n_items)

    @cached_property
    def label_shares(self) -> LabelShares:
        """The share of each choice among the labels of an item."""
        return label_shares(self.slots, _CHOICES)

    @cached_property
    def given(self) -> Booleans:
        """Where there is a label."""
        return np.asarray(~np.isnan(self.slots))

    def difference_alike(
        self, primary: str, first: int, second: int, where: Booleans, confidence: float
    ) -> PairedDifference | None:
        if primary in SET_PRIMARIES:
            return super().difference_alike(primary, first, second, where, confidence)
        if primary != "agreement":
            return None
        options: Any = {"where": where, "weights": self.drawn, "resamples": self.resamples}
        one, two = (self.judges[place].crossed for place in (first, second))
        return self.crossed().difference(one, two, people="sampled", confidence=confidence, **options)

    def has_target(self, primary: str) -> Booleans:
        if primary in SET_PRIMARIES:
            return self.has_set()
        return self.items.has_gold if primary == "accuracy" else np.asarray(self.given.sum(axis=1) > 1)

    @property
    def set_offered(self) -> Booleans:
        said = (self.label_sets == 1).any(axis=(0, 1))
        return np.asarray(np.isin(self.set_answers, self.labels.possible) | said)[np.newaxis, np.newaxis]

    def crossed(self, n_labels: int | None = None) -> LeaveOneOut:
        """The labels with who gave them, in the convention of the report or at a number of labels."""
        if n_labels not in self._crossed:
            labels = (self.labels.item, self.labels.annotator, self.labels.choice)
            self._crossed[n_labels] = LeaveOneOut(
                labels,
                self.n_items,
                tie_break="expected" if n_labels else self.options.tie_break,
                unparsed=self.options.unparsed,
                rng=self.options.seed,
                n_labels=n_labels,
            )
        return self._crossed[n_labels]

    @cached_property
    def _crossed(self) -> dict[int | None, LeaveOneOut]:
        return {}

    def of_crossed(
        self, make: Callable[[LeaveOneOut], Crossed], n_labels: int | None = None
    ) -> Crossed | None:
        """A figure of the labels; None where there are none."""
        return make(self.crossed(n_labels)) if self.slots.shape[1] else None

    @cached_property
    def equal_overlap(self) -> int | None:
        """The fewest labels, two or more, of an item, where items differ in that; None where all have as many."""
        numbers = np.unique(self.given.sum(axis=1))
        numbers = numbers[numbers > 1]
        return int(numbers[0]) if len(numbers) > 1 and self.options.tie_break == "expected" else None

    def at_equal_overlap(self) -> Crossed | None:
        """Leave-one-out agreement as if every pair had as few labels as the one that has fewest."""
        if self.equal_overlap is None:
            return None
        return self.of_crossed(lambda labels: Crossed(labels, labels.people()), self.equal_overlap)

    def remarks_on_people(self) -> tuple[str, ...]:
        if self.equal_overlap is None:
            return ()
        return (
            f"Overlap varies: items have {self.equal_overlap:,} to {int(self.given.sum(axis=1).max()):,} labels. "
            "Leave-one-out agreement rises with the number of labels, so compare groups of items, and other datasets, "
            f"at equal overlap only: {self.equal_overlap:,} labels an item here.",
        )

    def leave_one_out(self) -> Ratio:
        """Each label beside the modes of the others."""
        options = self.options
        return self._of_slots(
            lambda: leave_one_out_contributions(self.slots, tie_break=options.tie_break, rng=options.seed)
        )

    def best_reachable(self) -> Ratio:
        """The most that one verdict can score on each item, under the convention of the report.

        With random tie-breaks the best verdict is the one that is best in expectation.
        """
        return self._of_slots(lambda: self.crossed().best_reachable().items)

    def percent_agreement(self) -> Ratio:
        """Pairs of people who say the same."""
        return self._of_slots(lambda: pairwise_agreement_contributions(self.slots))

    def squared_distance(self) -> Ratio:
        """Of one person's label from the shares of people like the others: what `pairwise_agreement` lacks to 1."""
        return self._of_slots(lambda: 1.0 - pairwise_agreement_contributions(self.slots))

    def _of_slots(self, contributions: Any) -> Ratio:
        if not self.slots.shape[1]:
            return mean_of(np.full(self.n_items, np.nan), _NO_LABELS)
        return mean_of(contributions(), _NO_PAIR)

    def beyond_chance(self, function: Any, **options: Any) -> ByGroup:
        """Agreement beyond chance, by what chance is."""
        if not self.slots.shape[1]:
            return ByGroup(lambda _: Estimate(np.nan, np.nan, np.nan, n=0, reason=_NO_PAIR))
        how = options | {"resamples": self.resamples, "confidence": self.options.confidence}
        return ByGroup(lambda members: function(self.slots, where=members, **how))

    @cached_property
    def read(self) -> LongLabels:
        """The labels with who gave them."""
        return read_labels((self.labels.item, self.labels.annotator, self.labels.choice), self.n_items)

    def beyond_chance_alike(self, function: Any, **options: Any) -> ByGroup | None:
        """The same of annotators like these."""
        if not self.slots.shape[1]:
            return None
        how = options | {"resamples": self.resamples, "confidence": self.options.confidence}
        return ByGroup(lambda members: function(self.read, where=members, people="sampled", **how))

    def pairs_alike(self, factor: float = 1.0, shift: float = 0.0) -> CrossedRatio | None:
        """Pairs of people who say the same, of annotators like these; times a factor, plus a shift."""
        if not self.slots.shape[1]:
            return None
        return CrossedRatio(pair_sums(self.read, self.crossing).scaled(factor, shift), self.crossing)

    @cached_property
    def longer(self) -> Floats:
        """1 for a label that prefers the longer response, 0 for the shorter, 1/2 for a tie; NaN for equal lengths."""
        first, second = self.items.lengths[self.labels.item].T
        credit = _credit(self.labels.choice)
        return np.where(first == second, np.nan, np.where(first > second, credit, 1 - credit))

    def ties(self) -> Ratio:
        """Labels that are ties."""
        return share_of(self.slots == 0, self.given, _NO_LABELS)

    def prefers_first(self) -> Ratio:
        """Labels for the first response."""
        wins = row_sums(self.slots == 1) + row_sums(self.slots == 0) / 2
        return Ratio(wins, row_sums(self.given), _NO_LABELS)

    def first_shown(self) -> Ratio | None:
        """Labels for the response shown first, of labels that prefer one and whose order is known."""
        if self.labels.shown_first is None:
            return None
        first = slots_of(self.labels.item, self.labels.shown_first, self.n_items)
        decided = (self.slots > 0) & ~np.isnan(first)
        return share_of(self.slots == first, decided, "no preference with a known order")

    def first_shown_alike(self) -> ByGroup | None:
        """The same of annotators like these."""
        first, choice = self.labels.shown_first, self.labels.choice
        if first is None:
            return None
        return self.mean_alike(np.where((choice > 0) & ~np.isnan(first), choice == first, np.nan))

    def with_others(self) -> Floats:
        """How often the label is the mode of the others, ties between modes by expectation (or at random)."""
        tie_break: TieBreak = "random" if self.options.tie_break == "random" else "expected"
        labels = (self.labels.item, np.arange(len(self.labels)), self.labels.choice)
        read = read_labels(labels, self.n_items)
        return leave_one_out_scores(read, tie_break=tie_break, rng=self.options.seed)

    def first_label(self) -> Ratio:
        """AlpacaEval's preference for the longer response."""
        if not self.slots.shape[1]:
            return self._of_slots(None)
        first, second = self.items.lengths.T
        counted = (np.abs(first - second) > ALPACA_LENGTH_DIFFERENCE) & self.given[:, 0]
        reason = f"no labeled pair whose responses differ by more than {ALPACA_LENGTH_DIFFERENCE} characters"
        return share_of(self.slots[:, 0] == _longer(self)[:, 0], counted, reason)

    def length_bias(self) -> Ratio:
        """Longer preferred minus shorter preferred."""
        return length_bias(self, self.slots, self.given, self._no_length)

    def prefers_longer(self) -> Ratio:
        """Longer preferred, ties counting as not."""
        return prefers_longer(self, self.slots, self.given, self._no_length)

    def baselines(self) -> tuple[JudgeAnswers, ...]:
        """From lengths and order alone, in both orders, but for the strategies that a real judge has.

        They say what the strategies of the same names say (a test holds them together).
        """
        first, second = self.items.lengths.T
        # Equal lengths go to the second response, as published for AlpacaEval's judge of that name.
        longer, shorter = (np.where(one, 1.0, 2.0) for one in (first > second, first < second))
        found = {
            "longest": ("longest", (longer, longer)),
            "shortest": ("shortest", (shorter, shorter)),
            "always_a": ("always first", (np.ones(self.n_items), np.full(self.n_items, 2.0))),
        }
        present = {judge.strategy for judge in self.inputs.judges}
        return tuple(
            baseline_judge(strategy, name, np.stack(orders, axis=1)[:, :, np.newaxis])
            for strategy, (name, orders) in found.items()
            if strategy not in present
        )

    @property
    def _no_length(self) -> str:
        return _SAME_LENGTH if self.slots.shape[1] else _NO_LABELS


def _credit(choices: Floats) -> Floats:
    """1 for the first response, 0 for the second, one half for a tie."""
    return np.where(choices == 0, 0.5, (choices == 1).astype(np.float64))


def _mean_known(values: Floats) -> Floats:
    known = ~np.isnan(values)
    n, total = row_sums(known), row_sums(np.where(known, values, 0.0))
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _longer(sample: PairSample) -> Floats:
    first, second = sample.items.lengths.T
    return np.where(first > second, 1.0, 2.0)[:, np.newaxis]


def length_bias(sample: PairSample, answers: Floats, asked: Booleans, reason: str) -> Ratio:
    """`metaeval.stats.length_bias_rate` of labels or verdicts, (n_items, n_answers); a mean over items.

    ``asked`` says whether there is an answer, readable or not: one that cannot be read prefers neither response.
    """
    if not answers.shape[1]:
        return mean_of(np.full(sample.n_items, np.nan), reason)
    first, second = sample.items.lengths.T
    prefers = np.where(asked, np.nan_to_num(answers), np.nan)
    return mean_of(feature_contributions(prefers, first, second, unparsed="omit"), reason)


def prefers_longer(sample: PairSample, answers: Floats, asked: Booleans, reason: str) -> Ratio:
    """`metaeval.stats.longer_preference_share` of labels or verdicts, pooled; what cannot be read is left out."""
    first, second = sample.items.lengths.T
    counted = ~np.isnan(answers) & asked & (first != second)[:, np.newaxis]
    return share_of(answers == _longer(sample), counted, reason)


def _beyond_chance(function: Any, options: Callable[[PairSample], dict[str, Any]]) -> dict[str, Any]:
    """A coefficient of these annotators, and of annotators like these."""
    return {
        "function": lambda sample: sample.beyond_chance(function, **options(sample)),
        "unit": "number",
        "bounds": CORRELATION,
        "alike": lambda sample: sample.beyond_chance_alike(function, **options(sample)),
    }


def _weighted(sample: PairSample) -> dict[str, Any]:
    return {"weights": sample.drawn}


def _of_possible(sample: PairSample) -> dict[str, Any]:
    """Gwet's depends on all that could be said, said or not."""
    return {"sampling_weights": sample.drawn, "values": sample.labels.possible}


PEOPLE = (
    Figure(
        "leave_one_out",
        "Leave-one-out agreement",
        "Chance that a human annotator's label is the mode of the other labels of the same pair.",
        PairSample.leave_one_out,
        axes=GROUPS,
        gap=True,
        alike=lambda sample: sample.of_crossed(lambda labels: Crossed(labels, labels.people())),
    ),
    Figure(
        "best_reachable",
        "Upper bound (majority oracle)",
        "Leave-one-out agreement of a judge that gives the best possible verdict on every pair.",
        PairSample.best_reachable,
        axes=GROUPS,
        short="Upper bound",
        gap=True,
        alike=lambda sample: sample.of_crossed(lambda labels: Crossed(labels, labels.best_reachable())),
    ),
    Figure(
        "leave_one_out_equal_overlap",
        "Leave-one-out agreement at equal overlap",
        "Leave-one-out agreement as if every pair had as few labels as the pair that has the fewest.",
        PairSample.at_equal_overlap,
        axes=GROUPS,
        short="At equal overlap",
    ),
    Figure(
        "percent_agreement",
        "Pairwise agreement",
        "Share of the pairs of human annotators who give the same label, averaged over items.",
        PairSample.percent_agreement,
        gap=True,
        alike=PairSample.pairs_alike,
    ),
    Figure(
        "squared_distance",
        "Squared distance from label shares (Brier)",
        "Expected squared distance of one human annotator's label from the shares of the labels of all annotators like "
        "these: one minus pairwise agreement.",
        PairSample.squared_distance,
        "number",
        short="Brier distance",
        in_pages=False,
        alike=lambda sample: sample.pairs_alike(-1.0, 1.0),
    ),
    Figure(
        "krippendorff_alpha",
        "Krippendorff's alpha",
        "Agreement beyond chance, nominal: one minus observed over expected disagreement of labels.",
        **_beyond_chance(krippendorff_alpha, _weighted),
        axes=GROUPS,
    ),
    Figure(
        "fleiss_kappa",
        "Fleiss' kappa",
        "Pairwise agreement beyond what the shares of the values give by chance.",
        **_beyond_chance(fleiss_kappa, _weighted),
    ),
    Figure(
        "gwet_ac1",
        "Gwet's AC1",
        "Pairwise agreement beyond chance, where only some labels are guesses.",
        **_beyond_chance(gwet_ac, _of_possible),
    ),
    Figure(
        "tie_rate",
        "Ties",
        "Share of the labels that are ties.",
        PairSample.ties,
        axes=GROUPS,
        gap=True,
        alike=lambda sample: sample.mean_alike((sample.labels.choice == 0).astype(np.float64)),
    ),
    Figure(
        "first_shown_rate",
        "Position bias (first-position rate)",
        "Share of the labels with a preference that prefer the response shown first, where the order is known.",
        PairSample.first_shown,
        short="First-position rate",
        neutral=0.5,
        alike=PairSample.first_shown_alike,
    ),
    Figure(
        "prefers_first",
        "Prefers the first response",
        "Share of the labels that prefer the first response in stored order, a tie counting one half.",
        PairSample.prefers_first,
        gap=True,
        alike=lambda sample: sample.mean_alike(_credit(sample.labels.choice)),
    ),
    Figure(
        "prefers_longer",
        "Prefers the longer response",
        "Share of the labels that prefer the longer response, of pairs whose lengths differ.",
        PairSample.prefers_longer,
        gap=True,
        alike=lambda sample: sample.mean_alike(np.where(np.isnan(sample.longer), np.nan, sample.longer == 1)),
    ),
    Figure(
        "length_bias",
        "Length bias",
        "Share that prefers the longer response minus share that prefers the shorter, averaged over items whose "
        "lengths differ.",
        PairSample.length_bias,
        "points",
        CORRELATION,
        gap=True,
        alike=lambda sample: sample.mean_alike(sample.longer, pooled=False, scale=2.0, shift=-1.0),
    ),
    Figure(
        "first_label_prefers_longer",
        "First label prefers the longer (by more than 30 characters)",
        "AlpacaEval's probability to prefer the longer response: first label of each pair that differs by more than "
        "30 characters.",
        PairSample.first_label,
        gap=True,
        only_these="the order of an item's labels is arbitrary",
    ),
    *GRADED_PEOPLE,
    *SET_PEOPLE,
)
JUDGES = (
    Figure(
        "agreement",
        "Agreement with human annotators",
        "Leave-one-out agreement of the judge's verdict with human labels, averaged over presentation orders and "
        "items.",
        lambda judge: judge.agreement,
        axes=GROUPS,
        compares=True,
        gap=True,
        # Not "of items": agreement is a mean over the labels left out.
        lead="{name} agrees with human annotators on {value}",
        lacking="No judged item has two labels, so leave-one-out agreement is undefined so far.",
        alike=PairJudge.with_alike,
    ),
    Figure(
        "minus_people",
        "Judge minus human annotators",
        "Agreement of the judge minus leave-one-out agreement of human annotators, on the same pairs.",
        PairJudge.minus_people,
        "points",
        CORRELATION,
        compares=True,
        short="Judge − human",
    ),
    Figure(
        "below_best",
        "Upper bound minus judge",
        "The upper bound (majority oracle) minus agreement of the judge, on the same pairs.",
        PairJudge.below_best,
        "points",
        CORRELATION,
        compares=True,
    ),
    Figure(
        "agreement_equal_overlap",
        "Agreement at equal overlap",
        "Agreement of the judge as if every pair had as few labels as the pair that has the fewest.",
        PairJudge.at_equal_overlap,
        compares=True,
        in_pages=False,
    ),
    Figure(
        "accuracy",
        "Accuracy",
        "Share of the verdicts that are the gold answer, averaged over presentation orders and items.",
        lambda judge: judge.accuracy,
        axes=GROUPS,
        gap=True,
        of_gold=True,
        lead="{name} gives the gold answer on {value} of items",
        lacking="No judged item has a gold answer.",
    ),
    Figure(
        "positional_agreement",
        "Positional agreement",
        "Share of the items with the same verdict in both presentation orders; an unparsed verdict agrees with none.",
        partial(PairJudge.positional, unparsed_agree=False),
        axes=("subset",),
    ),
    Figure(
        "positional_agreement_llmbar",
        "Positional agreement (LLMBar's convention)",
        "Positional agreement where two unparsed verdicts count as the same, as in LLMBar's published tables.",
        partial(PairJudge.positional, unparsed_agree=True),
        in_pages=False,
    ),
    Figure(
        "squared_distance",
        "Squared distance from label shares (Brier)",
        "Squared distance between the judge's shares of verdicts and the shares of human labels, summed over the "
        "choices and averaged over items, corrected for the bias of few labels; 0 is the same distribution.",
        partial(PairJudge.distance, measure="squared"),
        "number",
        distance_bounds("squared"),
        compares=True,
        only_these=_ONLY_THESE,
        short="Brier distance",
    ),
    Figure(
        "total_variation",
        "Total variation from label shares",
        "Share of the judge's verdicts of an item that would have to change to match the shares of human labels, "
        "averaged over items; biased upward with few labels.",
        partial(PairJudge.distance, measure="total_variation"),
        "number",
        distance_bounds("total_variation"),
        compares=True,
        only_these=_ONLY_THESE,
        in_pages=False,
    ),
    Figure(
        "js_divergence",
        "Jensen-Shannon divergence from label shares",
        "Jensen-Shannon divergence, in bits, between the judge's shares of verdicts and the shares of human labels, "
        "averaged over items; biased upward with few labels.",
        partial(PairJudge.distance, measure="jensen_shannon"),
        "number",
        distance_bounds("jensen_shannon"),
        compares=True,
        only_these=_ONLY_THESE,
        in_pages=False,
    ),
    Figure(
        "cross_entropy",
        "Cross-entropy of human labels",
        "Cross-entropy, in nats, of human labels under the judge's shares of verdicts, 1% of which is spread over all "
        "choices, averaged over items.",
        partial(PairJudge.distance, measure="cross_entropy"),
        "number",
        distance_bounds("cross_entropy", n_values=len(_CHOICES)),
        compares=True,
        only_these=_ONLY_THESE,
        in_pages=False,
    ),
    *RETEST,
    UNPARSED,
    Figure("tie_rate", "Ties", "Share of ties among the parsed verdicts.", PairJudge.ties),
    Figure(
        "length_bias",
        "Length bias",
        "Share that prefers the longer response minus share that prefers the shorter, averaged over items whose "
        "lengths differ; an unparsed verdict prefers neither.",
        PairJudge.length_bias,
        "points",
        CORRELATION,
    ),
    Figure(
        "first_shown_rate",
        "Position bias (first-position rate)",
        "Share of the decided verdicts that prefer the response shown first, of items parsed in both orders.",
        PairJudge.first_shown,
        short="First-position rate",
    ),
    Figure(
        "expected_win_rate",
        "Expected win rate of the first response",
        "Wins of the first response plus half of the ties, averaged over items; unparsed verdicts are left out.",
        PairJudge.wins,
        in_pages=False,
    ),
    Figure(
        "prefers_longer",
        "Prefers the longer response",
        "Share of the parsed verdicts that prefer the longer response, of pairs whose lengths differ.",
        PairJudge.prefers_longer,
        in_pages=False,
    ),
    Figure(
        "cost_per_1000",
        "Cost of 1,000 judgments",
        "US dollars of 1,000 judgments.",
        partial(PairJudge.amount, name="cost", scale=1000.0),
        "money",
        None,
    ),
    Figure(
        "seconds_each",
        "Seconds each",
        "Model time of one judgment, in seconds.",
        partial(PairJudge.amount, name="seconds", scale=1.0),
        "seconds",
        None,
    ),
    *GRADED_JUDGES,
    *SET_JUDGES,
    *binary_figures(
        partial(PairJudge.binary, gold=False), "better in the first response", "most human annotators"
    ),
    *binary_figures(partial(PairJudge.binary, gold=True), "better in the first response", "gold", gold=True),
)
KIND = KindFigures(
    sample=PairSample,
    people=PEOPLE,
    judges=JUDGES,
    primaries=("agreement", "accuracy"),
    further=SET_PRIMARIES,
    beside_names={"agreement": "leave_one_out"},
    so_far=(
        "leave_one_out",
        "best_reachable",
        "krippendorff_alpha",
        "graded_alpha",
        "tie_rate",
        "first_shown_rate",
        *SETS_SO_FAR,
    ),
    of_one_person=Figure(
        "agreement",
        "Leave-one-out agreement",
        "Chance that this annotator's label is the mode of the other labels of the same pair.",
        PairSample.leave_one_out,
    ),
    conventions=(
        Convention(("leave_one_out",), "leave_one_out_agreement"),
        Convention(("accuracy",), "accuracy", {"hedge": 0.5}),  # a tie is half an answer, whatever is chosen
    ),
    of_everyone="leave_one_out",
    options=(
        "tie_break",
        "unparsed",
        "confidence",
        "n_resamples",
        "seed",
        "epsilon",
        "margin",
        "annotators",
        "preset",
    ),
    n_resamples=10_000,
    quick=15_000,
    quick_rows=30_000,
    shows_baselines=True,
    has_replacement=True,
    says_undefined=True,
    sides=("First response better", "Second response better"),
    counted="n counts pairs.",
    scores={
        "agreement": ScoreWords("pairs", "agreement with human annotators", "accuracy against gold answers"),
        **set_scores("pairs"),
    },
)
