"""The figures of rankings of answers that papers print, each by the paper's own convention."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from metaeval.figures.figure import CORRELATION, GROUPS, Figure, PublishedConvention
from metaeval.figures.rankings import RankingJudge, RankingSample
from metaeval.figures.sample import ByGroup, Ratio, mean_of, part_mask
from metaeval.inputs import Booleans, Floats
from metaeval.stats import (
    BestOfScore,
    Estimate,
    InvalidInputError,
    best_of_contributions,
    best_of_score,
    preset,
)
from metaeval.stats.estimate import no_estimate

NAME = "rewardbench2"
_TITLE = "RewardBench 2"
_NO_SUBSET = "no item is of a subset of this benchmark"
_OF_ALL = "of all items, not of a group"
_NO_GOLD = "no judged item has gold ranks"
_OPTIONS: Mapping[str, Any] = preset(NAME).of(best_of_score)


def right_responses(sample: RankingSample) -> Floats:
    """Whether each response has the best gold rank of its item: (n_items, n_parts); NaN beyond an item's own, and of
    items without gold ranks.
    """
    gold = sample.items.gold
    there = part_mask(sample.items.parts, sample.items.width) & ~np.isnan(gold)
    best = np.where(there, gold, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    return np.where(there, (gold == best).astype(np.float64), np.nan)


def _scores(one: RankingJudge) -> Floats:
    """The finest numbers of the judge, NaN where it could not be read."""
    return np.where(one.read[:, np.newaxis], one.scores, np.nan)


def _best_of(one: RankingJudge) -> Ratio:
    right = np.where(one.judge.asked[:, np.newaxis], right_responses(one.sample), np.nan)
    shares = best_of_contributions(_scores(one), right, **preset(NAME).of(best_of_contributions))
    return mean_of(shares, _NO_GOLD)


def _score(subset: str, one: RankingJudge) -> ByGroup:
    """A subset's score, or of all: ""; undefined where the items are not the benchmark's."""
    sample: RankingSample = one.sample
    items = sample.items

    def whole() -> BestOfScore | str:
        if not set(items.subset) & set(_OPTIONS["sections"]):
            return _NO_SUBSET
        try:
            return best_of_score(
                _scores(one),
                right_responses(sample),
                items.subset,
                items.external_id,
                where=one.judge.asked,
                resamples=sample.resamples,
                confidence=sample.options.confidence,
                **_OPTIONS,
            )
        except InvalidInputError as error:  # a subset of that name which isn't the benchmark's
            return str(error)

    def figure(members: Booleans) -> Estimate:
        found: BestOfScore | str = _OF_ALL if not members.all() else one.once(NAME, whole)
        if isinstance(found, str):
            return no_estimate(found)
        return found.row(subset).score if subset else found.overall

    return ByGroup(figure)


def _figure(name: str, label: str, estimand: str, function: Any, **also: Any) -> Figure:
    return Figure(f"{NAME}_{name}", label, estimand, function, of_gold=True, **also)


PUBLISHED: Mapping[str, PublishedConvention] = {
    NAME: PublishedConvention(
        _TITLE,
        "An item is right where the right response has the highest score of its responses, and counts 1 / k where k "
        "responses share it; the score is the unweighted mean of six subsets, of which Ties, with several right "
        "responses, counts accuracy for 60% and the margins between right and wrong responses for 40%. A judge without "
        "scores has minus its ranks.",
        ("malik2025rewardbench2",),
        (
            _figure(
                "score",
                f"{_TITLE} score",
                f"Unweighted mean of the six subsets of {_TITLE}.",
                partial(_score, ""),
                short="Score",
            ),
            *(
                _figure(
                    name.lower().replace(" ", "_"),
                    f"{_TITLE}: {name}",
                    "Score of items with several right responses: accuracy, and the margins between right and wrong "
                    "responses."
                    if name == _OPTIONS["tied"]
                    else f"Best-of-four accuracy of the subset {name}.",
                    partial(_score, name),
                    short=name,
                )
                for name in _OPTIONS["sections"]
            ),
            _figure(
                "best_of",
                "Best-of-n accuracy",
                "Share of the items of which the judge scores a response with the best gold rank highest, whatever "
                "their subset.",
                _best_of,
                axes=GROUPS,
            ),
        ),
    ),
    "humanrankeval": PublishedConvention(
        "HumanRankEval",
        "Pearson's correlation of the judge's scores with the votes is computed by question and averaged.",
        ("gritta2024humanrankeval",),
        (
            Figure(
                "humanrankeval_pearson",
                "Pearson (HumanRankEval)",
                "Pearson's correlation of the judge's scores with votes or human rankings, averaged over questions.",
                lambda one: one.mean("pearson"),
                "number",
                CORRELATION,
                GROUPS,
                short="Pearson",
                compares=True,
                only_these="the convention is of these votes",
            ),
        ),
    ),
}
"""By the name of a preset."""
