"""The share that people would pass, corrected for a judge's errors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats import StatisticsWarning, corrected_rate, ppi_mean, rogan_gladen_interval

nan = float("nan")


def published(p, q0, q1, n, m0, m1, alpha=0.05):
    """The interval of Lee et al., arXiv 2511.21140, section 3, written from the paper's formulas."""
    z = stats.norm.ppf(1 - alpha / 2)
    p, q0, q1 = (n * p + z**2 / 2) / (n + z**2), (m0 * q0 + 1) / (m0 + 2), (m1 * q1 + 1) / (m1 + 2)
    n, m0, m1 = n + z**2, m0 + 2, m1 + 2
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    shift = 2 * z**2 * (-(1 - theta) * q0 * (1 - q0) / m0 + theta * q1 * (1 - q1) / m1)
    variance = p * (1 - p) / n + (1 - theta) ** 2 * q0 * (1 - q0) / m0 + theta**2 * q1 * (1 - q1) / m1
    reach = z * math.sqrt(variance) / (q0 + q1 - 1)
    return [min(1.0, max(0.0, theta + shift + sign * reach)) for sign in (-1, 1)]


def test_the_example_of_the_paper():
    # README of UW-Madison-Lee-Lab/LLM-judge-reporting: p 0.4 of 1,000, q0 0.7 and q1 0.9 of 200 each; estimate 0.1667.
    verdicts = [0] * 140 + [1] * 60 + [1] * 180 + [0] * 20
    found = corrected_rate([0] * 200 + [1] * 200, verdicts, [1] * 400 + [0] * 600, calibration="elsewhere")
    assert found.judged.value == 0.4
    assert (found.true_negative_rate.value, found.true_positive_rate.value) == pytest.approx((0.7, 0.9))
    assert found.value == pytest.approx(0.1 / 0.6)
    theirs = published(0.4, 0.7, 0.9, 1000, 200, 200)
    assert theirs == pytest.approx([0.05635, 0.26273], abs=1e-5)
    assert [found.low, found.high] == pytest.approx(theirs, abs=2e-3)  # our variances divide by n - 1


@settings(deadline=None)
@given(
    st.floats(0, 1),
    st.floats(0.55, 1),
    st.floats(0.55, 1),
    st.integers(20, 500),
    st.integers(10, 200),
    st.integers(10, 200),
)
def test_the_interval_is_the_papers(p, q0, q1, n, m0, m1):
    assert rogan_gladen_interval(p, q0, q1, n, m0, m1) == pytest.approx(published(p, q0, q1, n, m0, m1))


def test_with_all_items_labelled_it_is_the_share_of_labels():
    # p, q1 and q0 are of the same items, so the correction is exact, and what they tell twice leaves a binomial.
    rng = np.random.default_rng(1)
    labels = (rng.random(400) < 0.7).astype(float)
    verdicts = np.where(rng.random(400) < 0.85, labels, 1 - labels)
    found = corrected_rate(labels, verdicts)
    assert found.value == pytest.approx(labels.mean())
    plain = 1.96 * math.sqrt(0.21 / 400)
    assert (found.high - found.low) / 2 == pytest.approx(plain, rel=0.08)


def test_several_people_and_orders_are_shares_and_the_identity_still_holds():
    rng = np.random.default_rng(2)
    labels = (rng.random((300, 3)) < rng.random((300, 1))).astype(float)
    verdicts = np.clip(labels.mean(axis=1, keepdims=True) + rng.normal(0, 0.2, (300, 2)), 0, 1).round()
    assert corrected_rate(labels, verdicts).value == pytest.approx(labels.mean())


def test_labels_of_another_mix_bias_ppi_and_not_this():
    # Half of the labelled items are good, of the others 90%; the judge errs alike on both.
    rng = np.random.default_rng(3)
    truth = np.concatenate([np.resize([1.0, 0.0], 2_000), (rng.random(20_000) < 0.9).astype(float)])
    verdicts = np.where(rng.random(len(truth)) < np.where(truth == 1, 0.9, 0.8), truth, 1 - truth)
    labels = np.where(np.arange(len(truth)) < 2_000, truth, nan)
    found = corrected_rate(labels, verdicts, calibration="elsewhere")
    biased = ppi_mean(labels, verdicts, bounds=(0, 1))
    assert found.low < 0.9 < found.high
    assert biased.high < 0.85


def test_a_judge_no_better_than_chance_corrects_nothing():
    labels, verdicts = [1, 1, 0, 0] * 10, [1, 0, 1, 0] * 10
    with pytest.warns(StatisticsWarning, match="not better than chance"):
        assert math.isnan(corrected_rate(labels, verdicts).value)
    with pytest.warns(StatisticsWarning, match="not shown to be better"):
        found = corrected_rate([*labels, 1], [*verdicts, 1])
    assert (found.low, found.high) == (0, 1)


def test_clusters_and_weights_widen_it_and_the_scale_of_weights_says_nothing():
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(60), 5)
    truth = (rng.random(60) < 0.6)[codes].astype(float)
    verdicts = np.where(rng.random(300) < 0.9, truth, 1 - truth)
    alone, together = corrected_rate(truth, verdicts), corrected_rate(truth, verdicts, clusters=codes)
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    weights = rng.uniform(1, 9, 300)
    once, scaled = (corrected_rate(truth, verdicts, weights=by * weights) for by in (1, 7))
    assert (once.value, once.low) == pytest.approx((scaled.value, scaled.low))


def test_extreme_weights_are_told():
    weights = np.where(np.arange(100) < 3, 300.0, 1.0)
    with pytest.warns(StatisticsWarning, match="carry most of the sampling weight"):
        corrected_rate(np.resize([1.0, 0.0], 100), np.resize([1.0, 0.0], 100), weights=weights)
