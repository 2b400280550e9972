"""The alternative annotator test as its authors make it, by whom a judge would replace: of pairs and of categories."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from metaeval.figures.figure import Figure, PublishedConvention
from metaeval.figures.pairwise import PairJudge, PairSample
from metaeval.figures.sample import ByGroup
from metaeval.inputs import Booleans
from metaeval.selection.replacement import orders_judged
from metaeval.stats import AlternativeAnnotatorTest, Estimate, alternative_annotator_test, preset
from metaeval.stats.estimate import no_estimate

_NO_LABELS = "no labels"
_NO_INTERVAL = "no interval: a share of annotators"
_PEOPLE = {"experts": "experts", "skilled": "skilled annotators", "crowd": "crowdworkers"}


def _test(name: str, one: PairJudge, members: Booleans) -> AlternativeAnnotatorTest | None:
    sample: PairSample = one.sample
    labels = sample.labels
    if not len(labels):
        return None
    said, where = orders_judged(one.verdicts, one.judged)
    return alternative_annotator_test(
        (labels.item, labels.annotator, labels.choice),
        said,
        score=sample.represents,
        where=where & members,
        resamples=sample.resamples,
        confidence=sample.options.confidence,
        **preset(name).of("alternative_annotator_test"),
    )


def _winning_rate(name: str, one: PairJudge) -> ByGroup:
    def figure(members: Booleans) -> Estimate:
        found = _test(name, one, members)
        if found is None or np.isnan(found.winning_rate):
            return no_estimate(_NO_LABELS if found is None else found.reason or "no test")
        return Estimate(found.winning_rate, np.nan, np.nan, found.n_tested, reason=_NO_INTERVAL)

    return ByGroup(figure)


def _advantage(name: str, one: PairJudge) -> ByGroup:
    def figure(members: Booleans) -> Estimate:
        found = _test(name, one, members)
        return no_estimate(_NO_LABELS) if found is None else found.advantage_probability

    return ByGroup(figure)


def _alternative(who: str, epsilon: float, represents: str) -> PublishedConvention:
    name = f"alt_test_{who}"
    title = f"Alternative annotator test of {_PEOPLE[who]}"
    why = "the test is of these annotators"
    return PublishedConvention(
        title,
        f"The alternative annotator test is the authors': a t test of each annotator with 30 items or more with "
        f"epsilon {epsilon:g}, corrected by Benjamini and Yekutieli; unparsed verdicts are left out, and the winning "
        f"rate is passed at 50%. {represents}",
        ("calderon2025", "benjamini2001"),
        (
            Figure(
                f"{name}_winning_rate",
                f"Winning rate (epsilon {epsilon:g})",
                "Share of the annotators tested against whom the judge is shown to be less than epsilon worse.",
                partial(_winning_rate, name),
                short="Winning rate",
                compares=True,
                only_these=why,
            ),
            Figure(
                f"{name}_advantage",
                f"Advantage probability (epsilon {epsilon:g})",
                "Mean over the annotators tested of the share of items on which the judge represents the others at "
                "least as well.",
                partial(_advantage, name),
                short="Advantage probability",
                compares=True,
                only_these=why,
            ),
        ),
    )


def _of_all(represents: str) -> Mapping[str, PublishedConvention]:
    """By the name of a preset."""
    each = (("experts", 0.2), ("skilled", 0.15), ("crowd", 0.1))
    return {f"alt_test_{who}": _alternative(who, epsilon, represents) for who, epsilon in each}


OF_PAIRS = _of_all("An answer represents the other annotators by how many of them gave the same.")
OF_CATEGORIES = _of_all(
    "An answer represents the other annotators by how many of them gave the same; of categories that are numbers, by "
    "minus the root mean squared distance from theirs."
)
