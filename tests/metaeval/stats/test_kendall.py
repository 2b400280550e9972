"""Kendall's tau-b: by hand, scipy, weights as repetitions, both ways of counting pairs, speed."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from metaeval.stats import StatisticsWarning, kendall
from metaeval.stats.correlation import correlation, correlation_difference
from metaeval.stats.grouped_correlation import sums_within_groups
from metaeval.stats.kendall import kendall_sums
from metaeval.stats.resampling import Resamples
from metaeval.stats.weighted_correlation import Columns, correlation_of, resampled_correlations

weighted = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=15
)


def test_by_hand():
    # Pairs of (1, 1), (2, 3), (3, 2), (3, 4): 5 of 6 differ on the first side (3, 3 tied), 6 on the second; in the
    # same order (1,2) (1,3) (1,4) (2,4), opposite (2,3): balance 3. tau-b = 3 / sqrt(5 * 6).
    found = correlation([1, 2, 3, 3], [1, 3, 2, 4], method="kendall", n_resamples=0)
    assert found.value == pytest.approx(3 / np.sqrt(30))


@settings(deadline=None)
@given(weighted)
def test_weights_are_repetitions(rows):
    one, two, times = np.array(rows).T
    a, b = np.repeat(one, times), np.repeat(two, times)
    found = correlation_of(kendall_sums(one, two, times[np.newaxis].astype(float)))[0]
    if len(set(a)) < 2 or len(set(b)) < 2:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(kendalltau(a, b).statistic)


@pytest.mark.parametrize("fractional", [False, True])
def test_both_ways_of_counting_pairs_agree(monkeypatch, fractional):
    rng = np.random.default_rng(3)
    one, two = rng.integers(0, 40, 300), rng.integers(0, 300, 300)
    weights = rng.integers(0, 4, (5, 300)) * (0.37 if fractional else 1.0)
    by_matrix = kendall_sums(one, two, weights)
    monkeypatch.setattr(kendall, "MATRIX_LIMIT", 10)
    assert kendall_sums(one, two, weights) == pytest.approx(by_matrix)


def test_many_small_groups_and_one_large(monkeypatch):
    rng = np.random.default_rng(5)
    groups = np.sort(np.concatenate([rng.integers(0, 40, 200), np.full(250, 40)]))
    one, two = rng.integers(0, 5, len(groups)) * 1.0, rng.integers(0, 4, len(groups)) * 1.0
    shuffled = rng.permutation(len(groups))
    found = correlation_of(sums_within_groups(one[shuffled], two[shuffled], groups[shuffled], 41, "kendall"))
    slow = [
        kendalltau(one[groups == k], two[groups == k]).statistic if (groups == k).sum() > 1 else np.nan
        for k in range(41)
    ]
    assert found == pytest.approx(np.array(slow), nan_ok=True)


def test_a_monotone_change_of_either_side_changes_nothing():
    rng = np.random.default_rng(6)
    one, two = rng.normal(size=60), rng.normal(size=60)
    found = correlation(one, two, method="kendall", n_resamples=200)
    assert correlation(np.exp(one), 3 * two - 7, method="kendall", n_resamples=200) == found


def test_differences_are_of_the_same_resamples():
    rng = np.random.default_rng(7)
    people = rng.integers(1, 6, 80).astype(float)
    good, bad = people + rng.integers(0, 2, 80), rng.integers(1, 6, 80).astype(float)
    found = correlation_difference(good, bad, people, method="kendall", n_resamples=300)
    resamples = Resamples(80, 300, shared=False)
    asked = [Columns(each, people, np.ones(80)) for each in (good, bad)]
    both = resampled_correlations(asked, resamples, "kendall")
    assert found.value == pytest.approx(
        kendalltau(good, people).statistic - kendalltau(bad, people).statistic
    )
    assert found.low > 0
    assert found.share_better == pytest.approx(np.mean(both[:, 0] > both[:, 1]), abs=0.02)


def test_undefined():
    with pytest.warns(StatisticsWarning, match="all the same"):
        assert np.isnan(correlation([1, 1, 1], [1, 2, 3], method="kendall").value)


def test_two_thousand_items_and_a_thousand_resamples():
    """Beside one scipy call a resample, timed here for 50 of them."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=2_000)
    two = one + rng.normal(size=2_000)
    start = time.perf_counter()
    correlation(one, two, method="kendall", n_resamples=1_000)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(50):
        drawn = rng.integers(0, 2_000, 2_000)
        kendalltau(one[drawn], two[drawn])
    peer = (time.perf_counter() - start) * 20
    assert ours < 2 * peer
