"""Tests that something is not worse by more than a margin."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from metaeval.stats.noninferiority import noninferiority_test


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=3, max_size=30).filter(
        lambda d: len(set(d)) > 1
    )
)
def test_t_is_that_of_scipy(differences):
    found = noninferiority_test(differences, margin=0.15, test="t")
    assert found == pytest.approx(stats.ttest_1samp(differences, 0.15, alternative="less").pvalue, abs=1e-12)


@pytest.mark.parametrize(
    ("worse", "same", "better"), [(3, 25, 2), (5, 30, 0), (12, 20, 8), (1, 40, 3), (0, 30, 0)]
)
def test_score_is_tangos(worse, same, better):
    # The restricted likelihood is maximised by brute force over the share that is better; the other two follow.
    n, margin = worse + same + better, 0.2

    def unlikely(share):
        shares = np.array([share + margin, 1 - 2 * share - margin, share])
        return -np.sum(np.array([worse, same, better]) * np.log(np.maximum(shares, 1e-300)))

    best = optimize.minimize_scalar(
        unlikely, bounds=(0, (1 - margin) / 2), method="bounded", options={"xatol": 1e-12}
    ).x
    variance = 2 * best + margin - margin**2
    z = ((worse - better) / n - margin) / math.sqrt(variance / n)
    found = noninferiority_test([1] * worse + [0] * same + [-1] * better, margin=margin)
    assert found == pytest.approx(stats.t.cdf(z, n - 1), rel=1e-4)


def test_clusters_of_copies_are_one_observation():
    # Ten answers, each five times over: the clustered test is that of the ten.
    answers = np.array([1.0, 1, 0, 0, 0, 0, 0, -1, 0, 0])
    for test in ("t", "score"):
        once = noninferiority_test(answers, margin=0.4, test=test)
        copies = noninferiority_test(
            np.repeat(answers, 5), margin=0.4, clusters=np.repeat(np.arange(10), 5), test=test
        )
        assert copies == pytest.approx(once)
        assert noninferiority_test(np.repeat(answers, 5), margin=0.4, test=test) < once


@pytest.mark.parametrize(("margin", "score", "t"), [(0.2, 0.044, 0.123), (0.1, 0.042, 0.184)])
def test_the_score_test_holds_its_level_where_t_does_not(margin, score, t):
    # A judge exactly `margin` worse that is never the better one: 30 items, nominal 5%. Exact, from the binomial.
    sizes = {"t": 0.0, "score": 0.0}
    for losses in range(31):
        chance = stats.binom.pmf(losses, 30, margin)
        for test in sizes:
            found = noninferiority_test([1.0] * losses + [0.0] * (30 - losses), margin=margin, test=test)
            sizes[test] += chance * (found <= 0.05)
    assert sizes == pytest.approx({"score": score, "t": t}, abs=0.001)


@pytest.mark.slow
def test_size_with_clusters():
    # 40 instructions of 5 items, 3 of 5 of which share one outcome; the judge is exactly 0.2 worse.
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(40), 5)
    draw = {"size": 200, "p": [0.3, 0.6, 0.1]}
    wins = {"clustered": 0, "as if independent": 0}
    for _ in range(1000):
        own = rng.choice([1.0, 0.0, -1.0], **draw)[codes]
        found = np.where(rng.random(200) < 0.6, own, rng.choice([1.0, 0.0, -1.0], **draw))
        wins["clustered"] += noninferiority_test(found, margin=0.2, clusters=codes) <= 0.05
        wins["as if independent"] += noninferiority_test(found, margin=0.2) <= 0.05
    assert wins["clustered"] <= 70
    assert wins["as if independent"] >= 90
