"""Risk against coverage, and thresholds with a guarantee."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats import InvalidInputError, StatisticsWarning, abstention_threshold, risk_coverage

nan = float("nan")


def test_curve_by_hand():
    found = risk_coverage([0.9, 0.8, 0.7, 0.6], [0, 0, 1, 1])
    assert found.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert found.risk == pytest.approx([0, 0, 1 / 3, 1 / 2])
    assert found.area == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.5, 0.6, 0.8, 1.0]), st.integers(0, 1)), min_size=1, max_size=30))
def test_curve_against_counting(rows):
    sure, wrong = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = risk_coverage(sure, wrong)
    for level, coverage, risk in zip(found.thresholds, found.coverage, found.risk, strict=True):
        kept = sure >= level
        assert (coverage, risk) == pytest.approx((kept.mean(), wrong[kept].mean()))


def naive_fixed_sequence(sure, wrong, risk, alpha):
    """Trust or Escalate: down the grid while the binomial upper bound is below the risk; scipy's test."""

    def passes(level, alpha, errors=None):
        kept = sure >= level
        n = int(kept.sum())
        seen = int(wrong[kept].sum()) if errors is None else math.ceil(errors * n)
        return n > 0 and stats.binomtest(seen, n, risk, alternative="less").pvalue <= alpha

    grid = [round(k / 200, 3) for k in range(200, -1, -1)]
    starts = set()
    for errors in (risk / 2, 0):
        starts |= set([k for k, level in enumerate(grid) if passes(level, alpha / 2, errors)][:1])
    found = []
    for start in starts:
        for level in grid[start:]:
            if not passes(level, alpha / len(starts)):
                break
            found.append(level)
    return min(found, default=nan)


@pytest.mark.parametrize("seed", range(12))
def test_fixed_sequence_is_the_naive_one(seed):
    rng = np.random.default_rng(seed)
    sure = rng.uniform(0.5, 1, 150)
    wrong = (rng.random(150) < 0.6 * (1 - sure)).astype(float)
    expected = naive_fixed_sequence(sure, wrong, 0.15, 0.1)
    if math.isnan(expected):
        with pytest.warns(StatisticsWarning):
            found = abstention_threshold(sure, wrong, risk=0.15, confidence=0.9)
        assert not found.defined
        return
    found = abstention_threshold(sure, wrong, risk=0.15, confidence=0.9)
    assert found.threshold == expected
    kept = sure >= expected
    upper = stats.binomtest(int(wrong[kept].sum()), int(kept.sum())).proportion_ci(0.8, "exact").high
    assert found.bound == pytest.approx(upper)
    assert found.bound <= 0.15
    assert found.coverage.value == pytest.approx(kept.mean())


def test_conformal_risk_by_hand():
    # Nine items, the two least certain wrong: (0 + 1) / 10, (1 + 1) / 10 and (2 + 1) / 10 as they come in.
    sure = np.arange(9, 0, -1) / 10
    wrong = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1])
    thresholds = [
        abstention_threshold(sure, wrong, risk=risk, method="conformal_risk", grid=sure).threshold
        for risk in (0.1, 0.2, 0.3)
    ]
    assert thresholds == [0.3, 0.2, 0.1]
    with pytest.warns(StatisticsWarning, match="too few"):
        abstention_threshold(sure, wrong, risk=0.05, method="conformal_risk")


def test_linear_expectation_by_hand():
    # Risk 0.5: errors minus half of those kept, plus half for one more, must not be above 0.
    sure, wrong = np.array([0.9, 0.8, 0.7, 0.6, 0.5]), np.array([0, 0, 1, 1, 1])
    found = abstention_threshold(sure, wrong, risk=0.5, method="linear_expectation", grid=sure)
    assert found.threshold == 0.7  # at 0.6: 2 - 4 / 2 + 1 / 2 > 0


def test_clusters_are_tested_as_wholes_and_pay_for_it():
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, 600)
    wrong = (rng.random(600) < 0.3 * (1 - sure)).astype(float)
    alone = abstention_threshold(sure, wrong, risk=0.2)
    pairs = abstention_threshold(sure, wrong, risk=0.2, clusters=np.arange(600) // 2)
    copies = abstention_threshold(
        np.repeat(sure, 2), np.repeat(wrong, 2), risk=0.2, clusters=np.repeat(np.arange(600), 2)
    )
    assert pairs.defined
    assert pairs.bound <= 0.2
    assert copies.coverage.value <= alone.coverage.value


def test_no_verdict_is_never_kept_and_unlabelled_items_count_for_the_coverage():
    sure = np.concatenate([np.full(100, 0.9), np.full(100, nan), np.full(200, 0.9)])
    wrong = np.concatenate([np.zeros(100), np.ones(100), np.full(200, nan)])
    found = abstention_threshold(sure, wrong, risk=0.1)
    assert found.threshold == 0
    assert found.coverage.value == 0.75
    assert found.risk.value == 0


def test_what_cannot_be_shown_is_said():
    with pytest.warns(StatisticsWarning, match="too few labeled items"):
        found = abstention_threshold(np.full(10, 0.9), np.zeros(10), risk=0.1)
    assert not found.defined
    assert found.as_dict()["threshold"] is None
    with pytest.warns(StatisticsWarning, match="no threshold"):
        abstention_threshold(np.full(100, 0.9), np.ones(100), risk=0.1)
    with pytest.raises(InvalidInputError, match="weights"):
        abstention_threshold([0.9], [0], method="conformal_risk", weights=[2.0])


@pytest.mark.filterwarnings("ignore::metaeval.stats.errors.StatisticsWarning")
def test_the_guarantee_holds_in_simulation():
    # Risk at certainty c is 1 - c on [0.5, 1]: among those kept above t it is (1 - t) / 2, so 0.15 at t = 0.7.
    rng = np.random.default_rng(5)
    broken = []
    for _ in range(300):
        sure = rng.uniform(0.5, 1, 250)
        wrong = (rng.random(250) < 1 - sure).astype(float)
        found = abstention_threshold(sure, wrong, risk=0.15, confidence=0.9)
        broken.append(found.defined and found.threshold < 0.7)
    assert np.mean(broken) < 0.14  # 10% and three standard errors


def test_a_step_down_that_fails_does_not_hide_what_holds_above():
    # Ninety sure ones without an error; all 120, of which 15 are wrong, would be where half the risk begins to show.
    sure = np.repeat([0.95, 0.55], [90, 30])
    found = abstention_threshold(sure, np.repeat([0.0, 1.0], [105, 15]), risk=0.1)
    assert found.threshold == 0.555


def test_votes_of_llmbar(llmbar):
    """The example of docs/choosing-a-judge.md: how sure GPT-4 is, by the votes of six prompts in two orders."""
    prompts = ("Vanilla_NoRules", "Vanilla", "CoT", "Metrics", "Reference", "Metrics_Reference")
    gold = llmbar["GPT-4", "Vanilla"].gold
    for names, kept, wrong_kept, bound in (
        (prompts, 0.783, 0.082, 0.134),
        (prompts[-1:], 0.916, 0.094, 0.144),
    ):
        votes = np.concatenate([llmbar["GPT-4", name].verdicts for name in names], axis=1)
        first = (votes == 1).sum(axis=1) / (~np.isnan(votes)).sum(axis=1)
        wrong = np.where(first == 0.5, 0.5, (np.where(first > 0.5, 1, 2) != gold).astype(float))
        found = abstention_threshold(np.maximum(first, 1 - first), wrong, risk=0.15)
        assert found.coverage.value == pytest.approx(kept, abs=5e-4)
        assert (found.risk.value, found.bound) == pytest.approx((wrong_kept, bound), abs=5e-4)
