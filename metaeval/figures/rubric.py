"""The figures of ratings by criteria: how far they follow people's mean rating, or the gold ratings.

Their words and bounds depend on the scales of the criteria (`rubric_figures`); `KIND` is that of 1 to 5.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from annotation.domain.scales import Scale
from metaeval.figures.binary import binary_figures
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
from metaeval.figures.rating_scales import RatingScales, tolerance_rule, tolerance_words
from metaeval.figures.ratings import NEAR, RubricJudge, RubricSample
from metaeval.figures.response_sets import JUDGES as SET_JUDGES
from metaeval.figures.response_sets import PEOPLE as SET_PEOPLE
from metaeval.figures.response_sets import PRIMARIES as SET_PRIMARIES
from metaeval.figures.response_sets import SO_FAR as SETS_SO_FAR
from metaeval.figures.response_sets import set_scores
from metaeval.figures.retest import RETEST
from metaeval.stats.crossed_sums import Linear

_PARTS = ("criterion",)
# HELM Instruct's scenarios are categories here, or subsets.
_SCENARIOS = ("criterion", *GROUPS)
_OF_EACH = "they are means of these annotators' own correlations"
_MAJORITY = "the majority of these annotators counts as right"


def _correlation(
    name: str, label: str, what: str, function: Any, axes: tuple[str, ...] = _SCENARIOS, **populations: Any
) -> Figure:
    return Figure(name, label, what, function, "number", CORRELATION, axes, compares=True, **populations)


def _of_judge(name: str, label: str, what: str, method: Linear, *, expected: bool = False) -> Figure:
    how: dict[str, Any] = {"method": method, "expected": expected}
    return _correlation(
        name,
        label,
        what,
        partial(RubricJudge.correlated, **how),
        _PARTS if expected else _SCENARIOS,
        alike=partial(RubricJudge.correlated_alike, **how),
    )


class _Words:
    """What the scales of the criteria make of names, estimands and bounds."""

    def __init__(self, scales: tuple[Scale, ...]) -> None:
        self.read = RatingScales(scales)
        self.near = tolerance_words(scales)
        self.rule = tolerance_rule(scales)
        self.pooled = (
            " Criteria have several scales: each rating is its position on its own, from 0 (lowest) to 1 (highest)."
            if self.read.is_mixed
            else ""
        )
        self.without = " “Not applicable” takes no part." if self.read.has_not_applicable else ""
        self.range = self.read.range
        self.distance = (0.0, self.read.width)

    @property
    def more(self) -> str:
        """What sentences about numbers end with."""
        return self.pooled + self.without

    @property
    def closeness(self) -> str:
        """What closeness is a share of, with an example."""
        if self.read.is_mixed:
            return "the range of each criterion's scale: 100% is the same rating on every criterion, 0% the other end"
        low, high = (f"{end:g}" for end in self.range)
        off = f"{100 * (1 - 1 / self.read.width):.0f}% is one point off"
        points = "point" if self.read.width == 1 else f"{self.read.width:g} points"
        same = "100% is the same rating on every criterion"
        return f"the {points} between {low} and {high}: {same}, {off}"


def _mean_rating(words: _Words, function: Any, alike: Any = None) -> Figure:
    return Figure(
        "mean_rating",
        "Mean rating",
        f"Mean of all ratings.{words.more}",
        function,
        "number",
        words.range,
        _SCENARIOS,
        alike=alike,
    )


def _people(words: _Words) -> tuple[Figure, ...]:
    near, more = words.near, words.more
    within = f"within {near}"
    figures = (
        _correlation(
            "alpha",
            "Krippendorff's alpha, ordinal",
            f"Agreement beyond chance of ordered ratings, over all items and criteria.{more}",
            RubricSample.alpha,
            _PARTS,
            alike=RubricSample.alpha_alike,
        ),
        Figure(
            "pair_exact",
            "Pairwise agreement",
            "Share of the pairs of human annotators who give the same rating, averaged over items and criteria."
            f"{words.without}",
            partial(RubricSample.pairs, tolerance=0.0),
            axes=_PARTS,
            alike=partial(RubricSample.pairs_alike, tolerance=0.0),
        ),
        Figure(
            "pair_near",
            f"Pairwise agreement {within}",
            f"Share of the pairs of human annotators whose ratings differ by {near} at most."
            f"{words.rule}{words.without}",
            partial(RubricSample.pairs, tolerance=NEAR),
            axes=_PARTS,
            alike=partial(RubricSample.pairs_alike, tolerance=NEAR),
        ),
        Figure(
            "within_one",
            f"{within.capitalize()} of the mean of the others",
            f"Share of the ratings {within} of the mean of the other annotators' ratings of the item."
            f"{words.rule}{words.without}",
            RubricSample.within_one,
            axes=_SCENARIOS,
            alike=partial(RubricSample.beside_others_alike, primary="within_one"),
        ),
        _correlation(
            "spearman",
            "Spearman with the mean of the others",
            "Spearman's correlation of an annotator's ratings with the mean of the others', averaged over annotators."
            f"{more}",
            partial(RubricSample.person, method="spearman"),
            only_these=_OF_EACH,
        ),
        _correlation(
            "pearson",
            "Pearson with the mean of the others",
            "Pearson's correlation of an annotator's ratings with the mean of the others', averaged over annotators."
            f"{more}",
            partial(RubricSample.person, method="pearson"),
            only_these=_OF_EACH,
        ),
        Figure(
            "mean_absolute_error",
            "Mean distance to the mean of the others",
            f"Mean distance of a rating to the mean of the other annotators' ratings of the item.{more}",
            RubricSample.mean_distance,
            "number",
            words.distance,
            _SCENARIOS,
            alike=partial(RubricSample.beside_others_alike, primary="mean_absolute_error"),
        ),
        _mean_rating(words, RubricSample.mean_rating, alike=RubricSample.mean_rating_alike),
    )
    if not words.read.has_not_applicable:
        return figures
    return (
        *figures,
        Figure(
            "not_applicable_rate",
            "Not applicable",
            "Share of the answers that are “not applicable”, to the criteria that may be answered so.",
            RubricSample.not_applicable,
            axes=_PARTS,
        ),
        Figure(
            "applicability",
            "Pairwise agreement on applicability",
            "Share of the pairs of human annotators who say the same of whether a criterion applies, averaged over "
            "items and the criteria that may be answered with “not applicable”.",
            RubricSample.pairs_applicable,
            axes=_PARTS,
        ),
    )


def _judges(words: _Words) -> tuple[Figure, ...]:
    near, more = words.near, words.more
    lost = (
        "; “not applicable” where the target has a rating does too" if words.read.has_not_applicable else ""
    )
    nor = (
        ", and neither is “not applicable” where the target has one" if words.read.has_not_applicable else ""
    )
    figures: tuple[Figure, ...] = (
        Figure(
            "closeness",
            "Closeness of ratings",
            "One minus the mean distance of the judge's rating to the target's as a share of the widest one; an "
            f"unparsed rating counts as the maximum distance{lost}.{words.pooled}",
            partial(RubricJudge.agreement, primary="closeness"),
            axes=_SCENARIOS,
            compares=True,
            alike=partial(RubricJudge.of_criterion_alike, primary="closeness"),
            short="Closeness",
        ),
        Figure(
            "within_one",
            f"Within {near}",
            f"Share of the ratings within {near} of the target's; an unparsed rating is not{nor}.{words.rule}",
            partial(RubricJudge.agreement, primary="within_one"),
            axes=_PARTS,
            compares=True,
            alike=partial(RubricJudge.of_criterion_alike, primary="within_one"),
        ),
        Figure(
            "minus_people",
            "Judge minus human annotators",
            "Closeness of the judge to each annotator of an item minus that of two annotators, on the same items."
            f"{words.pooled}",
            RubricJudge.beside_people,
            "points",
            CORRELATION,
            compares=True,
            short="Judge − human",
        ),
        Figure(
            "below_best",
            "Upper bound minus judge",
            "Closeness of the best rating of each criterion (the annotators' median) to each annotator of an item "
            f"minus that of the judge, on the same items.{words.pooled}",
            RubricJudge.beside_best,
            "points",
            CORRELATION,
            compares=True,
        ),
        _of_judge(
            "spearman",
            "Spearman",
            f"Spearman's correlation of the judge's mean rating with the target's.{more}",
            "spearman",
        ),
        _of_judge(
            "pearson",
            "Pearson",
            f"Pearson's correlation of the judge's mean rating with the target's.{more}",
            "pearson",
        ),
        _of_judge(
            "spearman_expected",
            "Spearman, expected ratings",
            f"Spearman's correlation of the judge's probability-weighted rating with the target's.{more}",
            "spearman",
            expected=True,
        ),
        _of_judge(
            "pearson_expected",
            "Pearson, expected ratings",
            f"Pearson's correlation of the judge's probability-weighted rating with the target's.{more}",
            "pearson",
            expected=True,
        ),
        Figure(
            "mean_absolute_error",
            "Mean absolute error",
            f"Mean distance of the judge's rating to the target's, over items and criteria.{more}",
            RubricJudge.mean_distance,
            "number",
            words.distance,
            _PARTS,
            compares=True,
            alike=partial(RubricJudge.of_criterion_alike, primary="mean_absolute_error"),
        ),
        _mean_rating(words, RubricJudge.mean_rating),
    )
    if words.read.has_not_applicable:
        figures += (
            Figure(
                "not_applicable_rate",
                "Not applicable",
                "Share of the judge's answers that are “not applicable”, to the criteria that may be answered so.",
                RubricJudge.not_applicable,
                axes=_PARTS,
            ),
            Figure(
                "applicability",
                "Agreement on applicability",
                "Share of the criteria that may not apply of which the judge says as the target (most human "
                "annotators, or gold) whether they do; unparsed is wrong, and divided annotators are no target.",
                RubricJudge.applies_alike,
                axes=_PARTS,
                compares=True,
                only_these=_MAJORITY,
            ),
        )
    return (
        *figures,
        *RETEST,
        UNPARSED,
        *SET_JUDGES,
        *binary_figures(partial(RubricJudge.binary, gold=False), "at or above the pass mark", "the target"),
    )


@lru_cache(maxsize=64)
def rubric_figures(scales: tuple[Scale, ...]) -> KindFigures:
    """The figures of ratings on these scales, one a criterion, without their words; of none, of 1 to 5."""
    words = _Words(scales)
    near = words.near
    so_far = ("alpha", "pair_exact", "pair_near", "within_one", "mean_rating", *SETS_SO_FAR)
    has_none = words.read.has_not_applicable
    return KindFigures(
        sample=RubricSample,
        people=(*_people(words), *SET_PEOPLE),
        judges=_judges(words),
        gold=(_mean_rating(words, RubricSample.gold_rating),),
        primaries=("closeness", "within_one"),
        further=SET_PRIMARIES,
        options=(*OPTIONS, "pass_mark"),
        sides=("Pass", "Fail"),
        so_far=(*so_far, "not_applicable_rate", "applicability") if has_none else so_far,
        of_everyone="within_one",
        of_one_person=Figure(
            "agreement",
            f"Ratings within {near} of the mean of the others",
            f"Share of this annotator's ratings within {near} of the mean of the others'.{words.rule}",
            RubricSample.within_one,
        ),
        of_responses="mean_rating",
        finer=("expected",),
        counted="n counts items; of alpha over all criteria, items times criteria.",
        methods=(*_methods(words), *_METHODS),
        conventions=(
            Convention(("pair_near",), "pairwise_agreement", {"tolerance": NEAR}),
            Convention(("within_one",), "tolerant_accuracy", {"tolerance": NEAR}),
            Convention(("alpha",), "krippendorff_alpha", {"level": "ordinal"}),
            Convention(("pearson", "pearson_expected"), "evaluator_correlations", {"method": "pearson"}),
        )
        if near == "one point"
        else (
            Convention(("alpha",), "krippendorff_alpha", {"level": "ordinal"}),
            Convention(("pearson", "pearson_expected"), "evaluator_correlations", {"method": "pearson"}),
        ),
        ranked="Judges are ranked by how close their ratings are to {against}.",
        against={"people": "human annotators' mean ratings", "gold": "the gold ratings"},
        scores={
            "closeness": ScoreWords(
                "rated responses",
                "closeness to human ratings",
                "closeness to the gold ratings",
                "closeness",
                "Closeness is 1 minus the mean distance of a judge's ratings from the mean human rating (or from the "
                f"gold one), as a share of {words.closeness}. It has no fixed chance level: the baseline "
                "that always gives the median shows what can be reached without reading.",
            ),
            "within_one": ScoreWords(
                "rated responses",
                f"ratings within {near} of human ratings",
                f"ratings within {near} of the gold ratings",
                f"within {near}",
                f"Within {near} is the share of a judge's ratings that are at most {near} from the mean human rating "
                f"(or from the gold one), over criteria{_HELM if near == 'one point' else ''}. It has no fixed chance "
                "level: the baseline that always gives the median shows what can be reached without reading.",
            ),
            **set_scores("rated responses", "closeness to the gold ratings"),
        },
        on_scales=rubric_figures,
    )


_HELM = ": the tolerant accuracy of HELM Instruct"
_METHODS = (
    "Krippendorff's alpha is ordinal; over all criteria together it is of all ratings. Two annotators are compared "
    "pair by pair within an item, then items are averaged.",
    "Leave-one-out figures compare each rating with the mean of the other annotators' ratings of the same item: "
    "correlations are of each annotator who shares at least five items with others, averaged over annotators; "
    "distances and shares are averaged over an item's labels, then over items.",
    "Figures of all items pool the items of all subsets and categories; means over subsets or categories are the "
    "unweighted means of their figures (HELM Instruct's means over scenarios), with the interval of independent "
    "strata.",
)


def _methods(words: _Words) -> tuple[str, ...]:
    """What the scales add to the methods of a report."""
    found = []
    if words.read.is_mixed:
        found.append(
            "Criteria are rated on several scales. All figures of ratings, over all criteria and of each, use the "
            "position of a rating on its own scale, from 0 (lowest) to 1 (highest); a pass mark is such a position."
        )
    if words.rule:
        found.append(f"A rating is near another within {words.near}.{words.rule}")
    if words.read.has_not_applicable:
        found.append(
            "“Not applicable” is an answer of its own: no part of means, distances, correlations or alpha. A "
            "response's mean rating is that of the criteria that apply. Where more annotators say “not applicable” "
            "than rate, a criterion has no target; where there is one, a judge that says “not applicable” counts as "
            "far off in the figures that rank judges, so that no judge gains by it."
        )
    return tuple(found)


KIND = rubric_figures(())
