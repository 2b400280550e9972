"""Power: against statsmodels, sums over all outcomes, and simulated datasets."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.hypothesis_tests import paired_permutation_test, paired_t_test
from metaeval.stats.power import labels_needed, labels_needed_from, power_of_difference


# Reference: statsmodels 0.15.0, TTestPower().power(difference / variance ** 0.5, n, alpha, alternative=...), with
# 'larger' for "greater" and 'smaller' for "less".
@pytest.mark.parametrize(
    ("difference", "variance", "n", "alpha", "alternative", "expected"),
    [
        (0.1, 0.5, 200, 0.05, "two-sided", 0.5121567595235924),
        (0.3, 1, 30, 0.01, "two-sided", 0.15267885957955055),
        (0.2, 2, 100, 0.05, "greater", 0.40504539084843194),
        (0.2, 2, 100, 0.05, "less", 0.0011462133963815735),
    ],
)
def test_the_t_test_is_statsmodels(difference, variance, n, alpha, alternative, expected):
    found = power_of_difference(difference, n, variance=variance, alpha=alpha, alternative=alternative)
    assert found == pytest.approx(expected, abs=1e-9)


def test_labels_needed_is_statsmodels():
    # TTestPower().solve_power(0.1 / 0.5 ** 0.5, power=0.8, alpha=0.05): 394.368.
    assert labels_needed(0.1, variance=0.5) == 395


def exact_power(difference, n, discordance, alpha, alternative):
    """Over all numbers of wins and losses, by scipy's binomial test."""
    shares = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    total = 0.0
    for wins, losses in itertools.product(range(n + 1), repeat=2):
        whole = wins + losses
        if 0 < whole <= n and stats.binomtest(wins, whole, alternative=alternative).pvalue <= alpha + 1e-9:
            total += stats.multinomial.pmf([wins, losses, n - whole], n, shares)
    return total


@settings(deadline=None, max_examples=10)
@given(
    st.integers(1, 14),
    st.sampled_from([(0.3, 0.5), (-0.2, 0.9), (0.1, 0.1), (0, 0.4), (0.5, 1)]),
    st.sampled_from([0.05, 0.2, 0.5]),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_right_and_wrong_is_the_sum_over_all_outcomes(n, effect, alpha, alternative):
    difference, discordance = effect
    found = power_of_difference(difference, n, discordance=discordance, alpha=alpha, alternative=alternative)
    assert found == pytest.approx(exact_power(difference, n, discordance, alpha, alternative), abs=1e-9)


def test_by_hand():
    # All five items differ; only 5 to 0 has a p-value of at most 1/16, either way: 0.8 ** 5 + 0.2 ** 5.
    assert power_of_difference(0.6, 5, discordance=1, alpha=1 / 16) == pytest.approx(0.8**5 + 0.2**5)


def test_exact_and_t_meet_where_many_are_discordant():
    exact = power_of_difference(0.004, 49_900, discordance=0.2)
    approximate = power_of_difference(0.004, 49_900, variance=0.2 - 0.004**2)
    assert exact == pytest.approx(approximate, abs=0.01)


def test_the_ends():
    assert power_of_difference(0.1, 1, variance=1) == 0
    assert power_of_difference(0.1, 10, discordance=0.1) < 0.01
    assert power_of_difference(0, 10, discordance=0) == 0
    assert power_of_difference(0.5, 10, variance=0) == 1
    assert power_of_difference(0.5, 10, variance=0, alternative="less") == 0
    assert power_of_difference(5, 10_000, variance=1) == 1
    assert power_of_difference(0, 400, variance=1) == pytest.approx(0.05)


def test_more_items_more_power_and_clusters_cost_some():
    powers = [power_of_difference(0.05, n, discordance=0.2) for n in (100, 200, 400, 800)]
    assert powers == sorted(powers)
    assert power_of_difference(0.05, 400, discordance=0.2, design_effect=2) == pytest.approx(powers[1])
    assert labels_needed(0.1, variance=0.5, design_effect=3) == pytest.approx(3 * 394.4, abs=1)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("effect", [{"discordance": 0.12}, {"variance": 0.2}])
def test_the_number_is_the_first_that_is_enough(power, effect):
    n = labels_needed(0.06, power=power, **effect)
    assert power_of_difference(0.06, n, **effect) >= power > power_of_difference(0.06, n - 1, **effect)


class TestSimulated:
    """The number of items said to give 80% gives 77 to 83%."""

    def test_right_and_wrong_with_sign_flips(self):
        n = labels_needed(0.1, discordance=0.2)
        rng = np.random.default_rng(1)
        outcomes = rng.multinomial(n, [0.15, 0.05, 0.8], size=4_000)
        rejects = {}
        for wins, losses, _ in outcomes:
            if (wins, losses) not in rejects:
                first = [1] * wins + [0] * losses + [1] * (n - wins - losses)
                second = [0] * wins + [1] * losses + [1] * (n - wins - losses)
                rejects[wins, losses] = paired_permutation_test(first, second).p_value <= 0.05
        share = np.mean([rejects[wins, losses] for wins, losses, _ in outcomes])
        assert share == pytest.approx(0.8, abs=0.03)

    def test_ratings_in_clusters(self):
        # Five items a cluster, intraclass correlation 0.5: design effect 3.
        n = labels_needed(0.3, variance=1, design_effect=3)
        clusters = math.ceil(n / 5)
        rng = np.random.default_rng(2)
        codes = np.repeat(np.arange(clusters), 5)
        found = 0
        for _ in range(1_500):
            gap = 0.3 + rng.normal(0, 0.5**0.5, clusters)[codes] + rng.normal(0, 0.5**0.5, len(codes))
            found += paired_t_test(gap, np.zeros(len(codes)), clusters=codes).p_value <= 0.05
        assert found / 1_500 == pytest.approx(0.8, abs=0.03)

    def test_from_a_pilot(self):
        rng = np.random.default_rng(3)
        codes = np.repeat(np.arange(2_000), 4)
        gap = rng.normal(0, 1, 2_000)[codes] + rng.normal(0, 1, 8_000)
        pilot = labels_needed_from(gap, np.zeros(8_000), clusters=codes, difference=0.25)
        # Variance 2, design effect 1 + 3 / 2.
        assert pilot.design_effect == pytest.approx(2.5, rel=0.05)
        truth = labels_needed(0.25, variance=2, design_effect=2.5)
        assert pilot.items.low <= truth <= pilot.items.high
        assert pilot.items.value == pytest.approx(truth, rel=0.1)
        assert pilot.clusters == math.ceil(pilot.items.value / 4)

    @pytest.mark.slow
    def test_the_interval_of_a_pilot_covers(self):
        truth = labels_needed(0.1, discordance=0.3)
        rng = np.random.default_rng(4)
        covered = 0
        for _ in range(120):
            gap = rng.choice([1.0, -1.0, 0.0], size=150, p=[0.2, 0.1, 0.7])
            pilot = labels_needed_from(
                np.maximum(gap, 0), np.maximum(-gap, 0), difference=0.1, n_resamples=200
            )
            covered += pilot.items.low <= truth <= pilot.items.high
        assert covered / 120 >= 0.88


class TestPilot:
    FIRST, SECOND = [1, 1, 0, 1, 1, 0] * 20, [1, 0, 0, 1, 1, 1] * 20

    def test_right_and_wrong(self):
        pilot = labels_needed_from(self.FIRST, self.SECOND, difference=0.05)
        assert pilot.items.value == labels_needed(0.05, discordance=1 / 3)
        assert pilot.power_now == pytest.approx(power_of_difference(0.05, 120, discordance=1 / 3))
        assert (pilot.items.n, pilot.items.n_clusters, pilot.design_effect) == (120, 120, 1)

    def test_the_pilots_own_difference(self):
        pilot = labels_needed_from([4, 5, 3, 4, 5], [3, 3, 3, 4, 4])
        assert (pilot.difference, pilot.variance) == (pytest.approx(0.8), pytest.approx(0.7))
        assert pilot.items.value == labels_needed(0.8, variance=0.7)

    def test_without_an_interval(self):
        pilot = labels_needed_from(self.FIRST, self.SECOND, difference=0.05, n_resamples=0)
        assert math.isnan(pilot.items.low)
        assert pilot.items.method == "none"

    @pytest.mark.parametrize(
        ("first", "second", "clusters", "reason"),
        [
            ([math.nan], [1], None, "no item is scored for both"),
            ([1, 0], [0, 1], ["a", "a"], "one cluster"),
            ([1, 0], [0, 1], None, "shows no difference"),
            ([1, 1], [0, 0], None, "nothing varies"),
        ],
    )
    def test_undefined(self, first, second, clusters, reason):
        with pytest.warns(StatisticsWarning, match=reason):
            pilot = labels_needed_from(first, second, clusters=clusters)
        assert math.isnan(pilot.items.value)
        assert reason in pilot.items.reason


def test_bad_input():
    for call, match in [
        (lambda: power_of_difference(0.1, 10), "one of the two"),
        (lambda: power_of_difference(0.1, 10, variance=1, discordance=1), "one of the two"),
        (lambda: power_of_difference(0.1, 10, discordance=0.05), "at least the difference"),
        (lambda: power_of_difference(0.1, 10, variance=-1), "variance"),
        (lambda: power_of_difference(math.nan, 10, variance=1), "difference"),
        (lambda: power_of_difference(0.1, 0, variance=1), "n: "),
        (lambda: power_of_difference(0.1, 10, variance=1, design_effect=0), "design_effect"),
        (lambda: power_of_difference(0.1, 10, variance=1, alpha=0), "alpha"),
        (lambda: power_of_difference(0.1, 10, variance=1, alternative="both"), "alternative"),
        (lambda: labels_needed(0, variance=1), "no number of items"),
        (lambda: labels_needed(0.1, variance=1, alternative="less"), "no number of items"),
        (lambda: labels_needed(0.1, variance=1, power=0.01), "power"),
        (lambda: labels_needed(1e-9, variance=1), "too small"),
    ]:
        with pytest.raises(InvalidInputError, match=match):
            call()
