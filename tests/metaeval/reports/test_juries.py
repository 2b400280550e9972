"""What a fitted jury is worth: the figures of its report are those of the comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metaeval.inputs import Options
from metaeval.reports.errors import ReportError, UnknownNameError
from metaeval.reports.juries import jury_report
from metaeval.selection.juries import cross_fit
from metaeval.stats import leave_one_out_agreement, mean_estimate
from tests.metaeval.reports.arrays import inputs_make, judge_make

N = 120
NAMES = ("good", "fair", "poor")


@pytest.fixture(scope="module")
def pairs():
    """Three judges, three annotators and gold answers of 60 instructions of two items."""
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 3, N)

    def right_in(share, *more):
        shape = (N, *more)
        own = truth.reshape(N, *(1 for _ in more))
        return np.where(rng.random(shape) < share, own, 3 - own).astype(float)

    said = {name: right_in(share, 2) for name, share in zip(NAMES, (0.95, 0.65, 0.6), strict=True)}
    said["fair"][5] = np.nan
    labels = right_in(0.85, 3)
    inputs = inputs_make(
        lengths=[(1, 1)] * N,
        gold=truth,
        cluster=[str(k // 2) for k in range(N)],
        labels=[(i, j, labels[i, j]) for i in range(N) for j in range(3)],
        judges=tuple(judge_make(name, values) for name, values in said.items()),
    )
    return inputs, said, labels, truth


def test_accuracy_is_that_of_the_held_out_verdicts_and_their_interval(pairs):
    inputs, said, _, truth = pairs
    found = jury_report(inputs, NAMES, Options(against="gold", n_resamples=200))
    clusters = inputs.items.cluster
    jury = cross_fit(np.stack(list(said.values())), np.eye(3)[truth], clusters)
    right = (jury.verdicts == truth[:, np.newaxis]).mean(axis=1)
    assert (found.figure, found.held_out.n) == ("accuracy", N)
    assert found.held_out.value == pytest.approx(right.mean())
    own = mean_estimate(right, clusters=clusters, n_resamples=200, rng=0)
    assert (found.held_out.low, found.held_out.high) == pytest.approx((own.low, own.high))
    fitted = (jury.in_sample == truth[:, np.newaxis]).mean()
    assert found.optimism == pytest.approx(fitted - right.mean())
    assert found.beyond_majority.value == pytest.approx(found.held_out.value - found.majority.value)
    assert list(found.weights.values()) == jury.fit.weights.tolist()
    for name, (low, high) in found.spread.items():
        assert np.isfinite(found.weights[name])
        assert low <= high


def test_a_member_that_always_leads_has_the_comparisons_own_agreement(pairs):
    inputs, said, labels, _ = pairs
    found = jury_report(inputs, NAMES, Options(n_resamples=0))
    of_orders = [leave_one_out_agreement(labels, column, n_resamples=0).value for column in said["good"].T]
    assert found.figure == "agreement"
    assert found.best_member.value == pytest.approx(np.mean(of_orders))


def test_items_that_a_member_did_not_judge_take_no_part(pairs):
    inputs, *_ = pairs
    judged = np.ones((N, 2), bool)
    judged[:20] = False
    good, *others = inputs.judges
    part = replace(inputs, judges=(replace(good, judged=judged), *others))
    assert jury_report(part, NAMES, Options(against="gold", n_resamples=0)).held_out.n == N - 20


@pytest.mark.parametrize(
    ("change", "names", "error", "words"),
    [
        ({}, ("good",), ReportError, "two members or more"),
        ({}, ("good", "good"), ReportError, "two members or more"),
        ({}, ("good", "fare"), UnknownNameError, "fair"),
        ({"kind": "rubric"}, NAMES, ReportError, "pairs only"),
    ],
)
def test_what_is_no_jury_is_refused(pairs, change, names, error, words):
    with pytest.raises(error, match=words):
        jury_report(replace(pairs[0], **change), names, Options())


def test_without_gold_answers_there_is_nothing_to_fit(pairs):
    inputs = pairs[0]
    bare = replace(inputs, items=replace(inputs.items, gold=np.full((N, 1), np.nan)))
    with pytest.raises(ReportError, match="needs gold answers and verdicts of all members"):
        jury_report(bare, NAMES, Options(against="gold"))
