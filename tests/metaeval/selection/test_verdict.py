"""The rule of verdicts, by hand."""

import math

import numpy as np
import pytest

from metaeval.selection import Candidate, choose, compare
from metaeval.selection.verdict import Lead, verdict_of_leads
from metaeval.stats import InvalidInputError, PairedDifference, Resamples
from tests.metaeval.selection.build import dataset, judges, said


def gap(low, high):
    return PairedDifference((low + high) / 2, low, high, 100)


AHEAD, LEVEL, UNKNOWN = gap(0.03, 0.07), gap(-0.01, 0.03), gap(math.nan, math.nan)


@pytest.mark.parametrize(
    ("leads", "floors", "asked", "kind"),
    [
        ({}, [], {}, "single"),
        ({}, [LEVEL], {}, "floor"),
        ({"b": Lead(AHEAD)}, [AHEAD], {}, "clear"),
        ({"b": Lead(AHEAD)}, [UNKNOWN], {}, "floor"),
        ({"b": Lead(AHEAD), "c": Lead(LEVEL)}, [], {}, "open"),
        ({"b": Lead(UNKNOWN)}, [], {}, "open"),
        # A rule that was run as a judge binds like any baseline, unless all are rules.
        ({"b": Lead(AHEAD), "c": Lead(LEVEL)}, [], {"rules": {"c"}}, "floor"),
        ({"b": Lead(AHEAD)}, [], {"rules": {"a"}}, "floor"),
        ({"b": Lead(AHEAD)}, [], {"rules": {"a", "b"}}, "clear"),
        # The ends on the margin are not beyond it.
        ({"b": Lead(AHEAD)}, [], {"margin": 0.03}, "open"),
        ({"b": Lead(AHEAD, practical=gap(0.03, 0.069))}, [], {"margin": 0.07}, "equivalent"),
        ({"b": Lead(AHEAD, practical=gap(0.03, 0.07))}, [], {"margin": 0.07}, "open"),
        ({"b": Lead(AHEAD, alike=AHEAD)}, [], {}, "clear"),
        ({"b": Lead(AHEAD, alike=LEVEL)}, [], {}, "clear_here"),
        ({"b": Lead(AHEAD, alike=UNKNOWN)}, [], {}, "clear_here"),
        ({"b": Lead(AHEAD, alike=UNKNOWN)}, [], {"annotators": "these"}, "clear"),
        ({"b": Lead(LEVEL, gap(0, 0.02), LEVEL, LEVEL)}, [], {"margin": 0.025}, "equivalent_here"),
        ({"b": Lead(LEVEL, gap(0, 0.02), LEVEL, gap(0, 0.02))}, [], {"margin": 0.025}, "equivalent"),
    ],
)
def test_by_hand(leads, floors, asked, kind):
    assert verdict_of_leads(leads, floors, leader="a", **asked) == kind


def test_a_rule_among_the_candidates_is_a_floor():
    rng = np.random.default_rng(3)
    verdicts = {"model": said(rng, 200, 0.8), "rule": said(rng, 200, 0.8), "poor": said(rng, 200, 0.5)}
    candidates = [*judges("model", "poor"), Candidate("rule", "Rule", takes_no_llm=True)]
    assert choose([dataset(verdicts)], candidates, n_resamples=0, n_repeats=1).verdict == "floor"
    scores = {key: np.mean(one == 1, axis=1) for key, one in verdicts.items()}
    found = compare(scores, resamples=Resamples(200, 1), rules={"rule"})
    assert found.verdict == "floor"


@pytest.mark.parametrize("asked", [{"margin": -0.1}, {"margin": 2}, {"annotators": "all"}])
def test_what_cannot_be_asked(asked):
    with pytest.raises(InvalidInputError, match=next(iter(asked))):
        compare({"a": np.ones(9), "b": np.zeros(9)}, resamples=Resamples(9, 1), **asked)
