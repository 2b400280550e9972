"""The figures of classification: one or several categories from a list.

A label is read as one number: the place (or value) of its category, or the number of its set of categories. What is
known of pairs by single numbers, leave-one-out agreement and what is beyond chance, is then the same here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from annotation.kinds.classification import Level
from metaeval.figures.figure import CORRELATION, GROUPS, OPTIONS, UNPARSED, Figure, KindFigures, ScoreWords
from metaeval.figures.pairwise import PairJudge, PairSample
from metaeval.figures.response_sets import JUDGES as SET_JUDGES
from metaeval.figures.response_sets import PEOPLE as SET_PEOPLE
from metaeval.figures.response_sets import PRIMARIES as SET_PRIMARIES
from metaeval.figures.response_sets import SO_FAR as SETS_SO_FAR
from metaeval.figures.response_sets import set_scores
from metaeval.figures.retest import RETEST
from metaeval.figures.sample import RISK, ByGroup, Crossed, CrossedRatio, Ratio, mean_of, means_by
from metaeval.inputs import (
    Booleans,
    Floats,
    Inputs,
    Integers,
    JudgeAnswers,
    Labels,
    Options,
    Parts,
    baseline_judge,
)
from metaeval.stats import Estimate, krippendorff_alpha, tolerant_accuracy_contributions
from metaeval.stats.categories import macro_scores, masi_distances, set_codes
from metaeval.stats.crossed import CrossedScores
from metaeval.stats.crossed_sums import CrossedSums


class ClassificationJudge(PairJudge):
    """A judge's categories."""

    sample: ClassificationSample

    def __init__(self, sample: Any, judge: JudgeAnswers) -> None:
        super().__init__(sample, sample.answers_of(judge))

    def agreed(self) -> Ratio:
        """With annotators, each left out in turn, or with gold."""
        return self.accuracy if self.sample.against_gold else self.agreement

    @cached_property
    def accuracy(self) -> Ratio:
        """Its categories beside the gold ones: right or wrong, since no category is a tie, as 0 is among pairs."""
        gold, unparsed = self.sample.items.gold[:, 0], self.sample.options.unparsed

        def score(verdicts: Floats) -> Floats:
            return tolerant_accuracy_contributions(verdicts, gold, tolerance=0, unparsed=unparsed)

        return mean_of(self.over_orders(score), "no judged item has a gold answer")

    def agreed_alike(self) -> Crossed | None:
        """With annotators like these too."""
        return None if self.sample.against_gold else self.with_alike()

    def score(self, primary: str) -> Floats:
        if primary in SET_PRIMARIES:
            return self.set_score(primary)
        agreed = self.agreed()
        return np.where(agreed.bottom > 0, agreed.top / np.maximum(agreed.bottom, 1), np.nan)

    def alike(self, primary: str) -> CrossedRatio | None:
        if primary in SET_PRIMARIES:
            return super().alike(primary)
        if self.sample.against_gold or not len(self.sample.labels):
            return None
        # The mode of the others is no mean of their labels.
        sums = replace(self._sums(self.crossed, self.crossed), is_curved=True)
        return CrossedRatio(sums, self.sample.crossing)

    def beside_people(self) -> CrossedRatio | None:
        return self._beside(lambda: (self.crossed, self.sample.crossed().people()))

    def beside_best(self) -> CrossedRatio | None:
        return self._beside(lambda: (self.sample.crossed().best_reachable(), self.crossed))

    def _beside(self, make: Any) -> CrossedRatio | None:
        if self.sample.against_gold or not len(self.sample.labels):
            return None
        first, second = make()
        one, two = self._sums(first, second), self._sums(second, first)
        return CrossedRatio(one, self.sample.crossing, minus=two)

    def _sums(self, scores: CrossedScores, beside: CrossedScores) -> CrossedSums:
        """Scores as sums over the items that both have."""
        known = ~np.isnan(scores.items) & ~np.isnan(beside.items)
        effects = np.where(known[self.sample.labels.item], np.nan_to_num(scores.labels), 0.0)
        return CrossedSums(np.where(known, scores.items, 0.0), known.astype(np.float64), effects)

    def threshold(self, risk: float = RISK) -> dict[str, Any] | None:  # noqa: ARG002
        return None

    def macro(self, name: str) -> ByGroup:
        """Precision, recall or F1, averaged over categories."""
        return ByGroup(partial(self._macro, name))

    def _macro(self, name: str, members: Booleans) -> Estimate:
        sample, asked = self.sample, self.judge.asked[:, np.newaxis]
        said = sample.sets_of(self.verdicts[:, 0])
        truth = np.where(asked, sample.truth, np.nan)
        found = macro_scores(
            said,
            truth,
            where=members,
            resamples=sample.resamples,
            confidence=sample.options.confidence,
            weights=sample.compared,
        )
        estimate: Estimate = getattr(found, name)
        return estimate

    def chosen(self) -> Ratio | None:
        """Categories that it chose of an item; None where it is always one."""
        sample = self.sample
        if not sample.several:
            return None
        sizes = sample.sets_of(self.verdicts[:, 0]).sum(axis=1)
        known = ~np.isnan(sizes)
        return Ratio(np.where(known, sizes, 0.0), known.astype(np.float64), "no parsed verdict")


class ClassificationSample(PairSample):
    """Labels as single numbers, and the sets of categories that they stand for.

    Attributes
    ----------
    categories : tuple of str
        All that items offer: those of the scheme in its order, then others as they come.
    sets : ndarray of shape (n_values, n_categories)
        Whether the value at a place in `values` has a category.
    values : ndarray of shape (n_values,)
        The numbers that labels, verdicts and gold answers are read as, ascending.
    several : bool
        Whether any label, verdict or gold answer has more than one category, or the scheme allows it.
    """

    judge_type = ClassificationJudge

    def __init__(self, inputs: Inputs, options: Options) -> None:
        super().__init__(inputs, options)
        self.scheme = inputs.scheme
        names = dict.fromkeys(self.scheme.order)
        for parts in dict.fromkeys(inputs.items.parts):
            names |= dict.fromkeys(parts)
        self.categories = tuple(names)
        column = {name: place for place, name in enumerate(self.categories)}
        self._columns = _columns(inputs.items.parts, column, inputs.items.width)
        labels = self._chosen(inputs.labels.values, self._columns[inputs.labels.item])
        gold = self._chosen(inputs.items.gold, self._columns)
        judges = [self._chosen(judge.values[:, 0], self._columns) for judge in inputs.judges]
        again = [self._sampled(judge.samples) for judge in inputs.judges if judge.samples is not None]
        every = np.concatenate([labels, gold, *judges, *(one.reshape(-1, one.shape[-1]) for one in again)])
        every = every[every.any(axis=1)]
        self.several = self.scheme.several or bool((every.sum(axis=1) > 1).any())
        distinct = set_codes(every)[1]
        numbers = np.arange(len(distinct), dtype=np.float64)
        if not self.several:
            of_names = np.array(self.scheme.numbers(self.categories), dtype=np.float64)
            numbers = of_names[distinct.argmax(axis=1)] if len(distinct) else np.zeros(0)
        order = np.argsort(numbers)
        self.values, self.sets = numbers[order], distinct[order]
        self._numbers = {row.tobytes(): number for row, number in zip(self.sets, self.values, strict=True)}
        one_part = (("",),) * len(gold)
        right = self._read(gold)[:, np.newaxis]
        self.items = replace(self.items, parts=one_part, parents=one_part, gold=right)
        said = self._read(labels)
        self.labels = _among(replace(self.labels, values=said[:, np.newaxis]), ~np.isnan(said))

    def _chosen(self, values: Floats, columns: Integers) -> Booleans:
        """Whether each row has chosen each category of all, (n_rows, n_categories)."""
        found = np.zeros((len(values), len(self.categories)), dtype=np.bool_)
        row, place = np.nonzero((values == 1) & (columns >= 0))
        found[row, columns[row, place]] = True
        return found

    def _read(self, chosen: Booleans) -> Floats:
        """The number of each row's categories; NaN where it has chosen none."""
        rows, code = np.unique(chosen, axis=0, return_inverse=True)
        numbers = np.array([self._numbers.get(row.tobytes(), np.nan) for row in rows], dtype=np.float64)
        found: Floats = numbers[code.reshape(-1)]
        return found

    def _sampled(self, samples: Floats) -> Booleans:
        """The same of what each sample said, (n_items, n_orders, n_samples, n_categories)."""
        shape = samples.shape[:3]
        columns = np.broadcast_to(self._columns[:, np.newaxis, np.newaxis], samples.shape)
        chosen = self._chosen(samples.reshape(-1, samples.shape[3]), columns.reshape(-1, samples.shape[3]))
        return chosen.reshape(*shape, -1)

    def answers_of(self, judge: JudgeAnswers) -> JudgeAnswers:
        """The judge with one number for what it says of an item, in each of its samples too."""
        said = self._read(self._chosen(judge.values[:, 0], self._columns))
        samples = judge.samples
        if samples is not None:
            chosen = self._sampled(samples)
            samples = self._read(chosen.reshape(-1, chosen.shape[-1])).reshape(*samples.shape[:3], 1)
        values = said[:, np.newaxis, np.newaxis]
        return replace(judge, values=values, samples=samples, finer=None, probability=None)

    def sets_of(self, values: Floats) -> Floats:
        """The categories of values as 1 and 0, (n_values, n_categories); NaN of a value that is NaN."""
        found = np.full((len(values), len(self.categories)), np.nan)
        known = ~np.isnan(values)
        found[known] = self.sets[np.searchsorted(self.values, values[known])]
        return found

    @cached_property
    def truth(self) -> Floats:
        """By item and category, 1 and 0, what is right: gold, or what most annotators chose.

        Of labels with one category that is the most frequent one, NaN where several are; of sets each category is
        decided by itself, NaN where half of the annotators chose it.
        """
        if self.against_gold:
            return self.sets_of(self.items.gold[:, 0])
        shares = means_by(self.labels.item, self.sets_of(self.labels.choice), self.n_items)
        if self.several:
            return np.where(np.isnan(shares) | (shares == 0.5), np.nan, shares > 0.5)
        most = np.where(np.isnan(shares), -1.0, shares).max(axis=1, keepdims=True, initial=-1.0)
        leads = (shares == most) & (most >= 0)
        is_decided = leads.sum(axis=1, keepdims=True) == 1
        return np.where(is_decided, leads.astype(np.float64), np.nan)

    @property
    def represents(self) -> Literal["match", "negative_rmse"]:
        return "match" if self.several or self.scheme.level != "interval" else "negative_rmse"

    @property
    def scorable(self) -> Booleans:
        return self.has_target("agreement")

    @property
    def has_sets(self) -> bool:
        return super().has_sets and not self.several

    @property
    def set_answers(self) -> Floats:
        return np.arange(len(self.categories), dtype=np.float64)

    @cached_property
    def label_sets(self) -> Floats:
        given = super().label_sets[:, 0]
        columns = self._columns[self.labels.item]
        found = np.zeros((len(given), 1, len(self.categories)))
        row, place = np.nonzero((given == 1) & (columns >= 0))
        found[row, 0, columns[row, place]] = 1.0
        found[np.isnan(given).all(axis=1)] = np.nan
        return found

    @property
    def set_choices(self) -> Floats:
        return self._one_of(self.labels.choice)[:, np.newaxis]

    def set_answers_of(self, judge: JudgeAnswers) -> Floats:
        return self._one_of(judge.values[:, 0, 0])[:, np.newaxis, np.newaxis]

    @property
    def set_offered(self) -> Booleans:
        found = np.zeros((self.n_items, 1, len(self.categories)), dtype=np.bool_)
        row, place = np.nonzero(self._columns >= 0)
        found[row, 0, self._columns[row, place]] = True
        return found

    def _one_of(self, values: Floats) -> Floats:
        """The place of the category of each value; NaN of a value that is NaN."""
        sets = self.sets_of(values)
        return np.where(np.isnan(values), np.nan, np.nan_to_num(sets).argmax(axis=1))

    def has_target(self, primary: str) -> Booleans:
        if primary in SET_PRIMARIES:
            return self.has_set()
        return self.items.has_gold if self.against_gold else np.asarray(self.given.sum(axis=1) > 1)

    def difference_alike(self, primary: str, *rest: Any) -> Any:
        return None if self.against_gold else super().difference_alike(primary, *rest)

    def alpha(self, level: Level) -> ByGroup | None:
        """Of single categories; None of sets, and of a level that the list does not have."""
        is_known = level == "nominal" or self.scheme.level in (level, "interval")
        if self.several or not is_known:
            return None
        return self.beyond_chance(krippendorff_alpha, level=level, weights=self.drawn)

    def alpha_alike(self, level: Level) -> ByGroup | None:
        if self.alpha(level) is None:
            return None
        return self.beyond_chance_alike(krippendorff_alpha, level=level, weights=self.drawn)

    def masi(self) -> ByGroup | None:
        """Of sets of categories; None of single ones."""
        if not self.several:
            return None
        return self.beyond_chance(krippendorff_alpha, level=self._apart, weights=self.drawn)

    def masi_alike(self) -> ByGroup | None:
        if not self.several:
            return None
        return self.beyond_chance_alike(krippendorff_alpha, level=self._apart, weights=self.drawn)

    @cached_property
    def _distances(self) -> Floats:
        return masi_distances(self.sets)

    def _apart(self, one: Floats, two: Floats) -> Floats:
        return self._distances[one.astype(np.intp), two.astype(np.intp)]

    def chosen(self) -> Ratio | None:
        """Categories of a label; None where it is always one."""
        if not self.several:
            return None
        sizes = self.sets_of(self.labels.choice).sum(axis=1)
        n = np.bincount(self.labels.item, minlength=self.n_items).astype(np.float64)
        whole = np.bincount(self.labels.item, weights=sizes, minlength=self.n_items).astype(np.float64)
        return Ratio(whole, n, "no labels")

    def baselines(self) -> tuple[JudgeAnswers, ...]:
        """Always the category (or set) that annotators, or gold, have most often."""
        target = self.items.gold[:, 0] if self.against_gold else self.labels.choice
        values, n = np.unique(target[~np.isnan(target)], return_counts=True)
        said = np.full((self.n_items, 1, self._columns.shape[1]), np.nan)
        if len(n):
            chosen = self.sets_of(values[[n.argmax()]])[0]
            said[:, 0] = np.where(self._columns >= 0, chosen[self._columns], np.nan)
        return (baseline_judge("classification most_frequent", "most frequent category", said),)

    def remarks_on_people(self) -> tuple[str, ...]:
        return ()


def _columns(parts: Parts, column: Mapping[str, int], width: int) -> Integers:
    """The column of each category of each item, (n_items, width); -1 beyond its own."""
    known: dict[Any, list[int]] = {}
    found = np.full((len(parts), width), -1, dtype=np.intp)
    for row, names in enumerate(parts):
        if names not in known:
            known[names] = [column[name] for name in names]
        found[row, : len(names)] = known[names]
    return found


def _among(labels: Labels, kept: Booleans) -> Labels:
    """The labels that say anything of these categories."""
    if kept.all():
        return labels
    of_rows = ("item", "annotator", "values", "simulated")
    shown = None if labels.shown_first is None else labels.shown_first[kept]
    group = tuple(name for name, one in zip(labels.group, kept, strict=False) if one)
    sets = None if labels.sets is None else labels.sets[kept]
    return replace(
        labels,
        shown_first=shown,
        group=group,
        sets=sets,
        **{name: getattr(labels, name)[kept] for name in of_rows},
    )


def _alpha(level: Level, about: str) -> Figure:
    return Figure(
        f"alpha_{level}",
        f"Krippendorff's alpha, {level}",
        f"Agreement beyond chance, {about}: one minus observed over expected disagreement of labels.",
        partial(ClassificationSample.alpha, level=level),
        "number",
        CORRELATION,
        GROUPS,
        alike=partial(ClassificationSample.alpha_alike, level=level),
    )


def _macro(name: str, label: str, about: str) -> Figure:
    return Figure(
        f"macro_{name}",
        f"Macro {label}",
        f"{about}, averaged over the categories that occur, each counting the same; unparsed verdicts choose none.",
        partial(ClassificationJudge.macro, name=name),
        axes=GROUPS,
        compares=True,
        only_these="what most of these annotators chose counts as right",
    )


PEOPLE = (
    Figure(
        "agreement",
        "Leave-one-out agreement",
        "Chance that a human annotator's label is the mode of the other labels of the same item.",
        PairSample.leave_one_out,
        axes=GROUPS,
        alike=lambda sample: sample.of_crossed(lambda labels: Crossed(labels, labels.people())),
    ),
    Figure(
        "best_reachable",
        "Upper bound (majority oracle)",
        "Leave-one-out agreement of a judge that gives the best possible verdict on every item.",
        PairSample.best_reachable,
        axes=GROUPS,
        short="Upper bound",
        alike=lambda sample: sample.of_crossed(lambda labels: Crossed(labels, labels.best_reachable())),
    ),
    Figure(
        "percent_agreement",
        "Pairwise agreement",
        "Share of the pairs of human annotators who give the same label, averaged over items.",
        PairSample.percent_agreement,
        axes=GROUPS,
        alike=PairSample.pairs_alike,
    ),
    _alpha("nominal", "every two categories being equally far apart"),
    _alpha("ordinal", "two categories being as far apart as there are labels between them"),
    _alpha("interval", "two categories being as far apart as the square of their difference"),
    Figure(
        "alpha_masi",
        "Krippendorff's alpha, MASI",
        "Agreement beyond chance on sets of categories: one minus observed over expected MASI distance of labels.",
        ClassificationSample.masi,
        "number",
        CORRELATION,
        GROUPS,
        alike=ClassificationSample.masi_alike,
    ),
    Figure(
        "categories_per_label",
        "Categories per label",
        "Mean number of categories that a label has.",
        ClassificationSample.chosen,
        "number",
        None,
        only_these="it compares no annotators",
    ),
    *SET_PEOPLE,
)
JUDGES = (
    Figure(
        "agreement",
        "Agreement",
        "Leave-one-out agreement of the judge's verdict with human labels, or the share that is the gold answer.",
        ClassificationJudge.agreed,
        axes=GROUPS,
        compares=True,
        lacking="No judged item has two labels or a gold answer, so agreement is undefined so far.",
        alike=ClassificationJudge.agreed_alike,
    ),
    Figure(
        "minus_people",
        "Judge minus human annotators",
        "Agreement of the judge minus leave-one-out agreement of human annotators, on the same items.",
        PairJudge.minus_people,
        "points",
        CORRELATION,
        compares=True,
        short="Judge − human",
    ),
    Figure(
        "below_best",
        "Upper bound minus judge",
        "The upper bound (majority oracle) minus agreement of the judge, on the same items.",
        PairJudge.below_best,
        "points",
        CORRELATION,
        compares=True,
    ),
    _macro("f1", "F1", "Harmonic mean of a category's precision and recall"),
    _macro(
        "precision",
        "precision",
        "Of the items for which the judge chose a category, the share for which it is right",
    ),
    _macro(
        "recall",
        "recall",
        "Of the items for which a category is right, the share for which the judge chose it",
    ),
    UNPARSED,
    *RETEST,
    *SET_JUDGES,
    Figure(
        "categories_per_label",
        "Categories per verdict",
        "Mean number of categories that a verdict has.",
        ClassificationJudge.chosen,
        "number",
        None,
    ),
    Figure(
        "cost_per_1000",
        "Cost of 1,000 judgments",
        "US dollars of 1,000 judgments.",
        partial(PairJudge.amount, name="cost", scale=1000.0),
        "money",
        None,
    ),
)
KIND = KindFigures(
    sample=ClassificationSample,
    people=PEOPLE,
    judges=JUDGES,
    primaries=("agreement",),
    further=SET_PRIMARIES,
    options=(*OPTIONS, "preset"),
    so_far=(
        *("agreement", "best_reachable", "percent_agreement", "alpha_nominal", "alpha_ordinal"),
        *("alpha_interval", "alpha_masi"),
        *SETS_SO_FAR,
    ),
    of_everyone="agreement",
    of_one_person=Figure(
        "agreement",
        "Leave-one-out agreement",
        "Chance that this annotator's label is the mode of the other labels of the same item.",
        PairSample.leave_one_out,
    ),
    counted="n counts items.",
    methods=(
        "Labels with one category are compared as equal or not, and by Krippendorff's alpha at the level of the list: "
        "nominal, ordinal or interval; labels with several as sets, equal or not, and by alpha with the MASI distance.",
        "Macro precision, recall and F1 are means over the categories that occur. Without gold answers the right "
        "category of an item is the one that most annotators chose; of sets each category is decided by itself.",
    ),
    ranked="Judges are ranked by how often they choose what {against}.",
    against={
        "people": "other human annotators chose, each left out in turn",
        "gold": "the gold answers have",
    },
    scores={
        "agreement": ScoreWords(
            "items to classify",
            "agreement with human annotators",
            "accuracy against gold answers",
            "agreement",
            "Agreement is the share of items on which a judge chooses what most other annotators chose, each annotator "
            "being left out in turn (or what the gold answer is); of several categories all have to be the same. The "
            "row of the baseline shows what always choosing the most frequent category reaches.",
        ),
        **set_scores("items to classify"),
    },
)
