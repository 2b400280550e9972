"""One-way ANOVA: by hand, scipy, permutations within blocks, degenerate input, size."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway

from metaeval.stats import InvalidInputError, StatisticsWarning
from metaeval.stats.anova import one_way_anova

samples = st.lists(
    st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=6), min_size=2, max_size=5
).filter(lambda groups: any(len(set(group)) > 1 for group in groups))


def test_by_hand():
    # Means 2, 3, 6, grand mean 11/3: between 3 (25/9 + 4/9 + 49/9) = 26, within 6: F = (26 / 2) / (6 / 6) = 13.
    found = one_way_anova([[1, 2, 3], [2, 3, 4], [5, 6, 7]])
    assert (found.statistic, found.df_between, found.df_within) == (pytest.approx(13), 2, 6)
    assert found.eta_squared == pytest.approx(26 / 32)


@settings(deadline=None)
@given(samples)
def test_as_scipy(groups):
    found = one_way_anova(groups)
    slow = f_oneway(*groups)
    assert found.statistic == pytest.approx(slow.statistic, abs=1e-9)
    # Where F is 0, scipy's is a rounding error below it now and then, and its p then NaN.
    expected = slow.pvalue if slow.statistic >= 0 else 1.0
    assert found.p_value == pytest.approx(expected, abs=1e-9)


def test_large_values_keep_their_digits():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=20) for _ in range(3)]
    far = one_way_anova([group + 1e8 for group in groups])
    assert far.statistic == pytest.approx(one_way_anova(groups).statistic, rel=1e-5)


def test_permutations_by_hand():
    # Two models on two blocks, differences 1 and 1: of four ways to exchange them two are as far apart as seen.
    found = one_way_anova([[1, 2], [2, 3]], blocks=[0, 1], n_permutations=4_000, rng=1)
    assert found.permutation_p_value == pytest.approx(0.5, abs=0.03)
    # In one cluster they move together, and both ways are as far apart.
    assert one_way_anova([[1, 2], [2, 3]], blocks=[0, 0], n_permutations=99).permutation_p_value == 1


def test_paired_differences_need_blocks():
    """Questions differ far more than models: F sees nothing, permutations within questions do."""
    rng = np.random.default_rng(2)
    easy = 5 * rng.normal(size=60)
    models = [easy + shift + 0.3 * rng.normal(size=60) for shift in (0, 0.2, 0.4)]
    found = one_way_anova(models, blocks=np.arange(60), n_permutations=999)
    assert found.p_value > 0.5
    assert found.permutation_p_value < 0.01


def test_size():
    """Under the hypothesis one test in twenty is below 0.05, with clusters whose items move together."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(15), 3)
    p = []
    for _ in range(200):
        shared = rng.normal(size=(15, 3))[clusters]  # each model's own level on each cluster
        p.append(
            one_way_anova(
                shared + 0.2 * rng.normal(size=(45, 3)), blocks=clusters, n_permutations=99
            ).permutation_p_value
        )
    assert 0.01 <= np.mean(np.array(p) <= 0.05) <= 0.1


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ([[1, 2]], "fewer than two"),
        ([[1], [2]], "no group has two"),
        ([[1, 1], [1, 1]], "the same"),
        ([], "fewer"),
    ],
)
def test_undefined(groups, reason):
    with pytest.warns(StatisticsWarning, match=reason):
        found = one_way_anova(groups)
    assert math.isnan(found.statistic)
    assert reason in found.reason


def test_nothing_varies_inside():
    found = one_way_anova([[1, 1], [2, 2]])
    assert (found.statistic, found.p_value, found.eta_squared) == (math.inf, 0, 1)


def test_refused():
    with pytest.raises(InvalidInputError, match="one length"):
        one_way_anova([[1, 2], [1, 2, 3]], blocks=[0, 1])
    with pytest.raises(InvalidInputError, match="n_permutations"):
        one_way_anova([[1, 2], [1, 3]], blocks=[0, 1], n_permutations=0)
    assert one_way_anova([[1, 2, math.nan], [1, 3, 4]]).n == 5
