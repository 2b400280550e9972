"""Paired t, McNemar and sign flips: by hand, against scipy and statsmodels, and how often they reject."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bench.simulations_tests import rejections
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.hypothesis_tests import (
    TestResult,
    mcnemar_test,
    paired_permutation_test,
    paired_t_test,
)
from metaeval.stats.sign_flips import sign_flip_p_value

NAN = math.nan
ALTERNATIVES = ["two-sided", "greater", "less"]


def flips_by_enumeration(gaps, alternative="two-sided"):
    """All 2 ** C ways to choose the signs, one by one."""
    observed = math.fsum(gaps)
    extreme = 0
    for signs in itertools.product((1, -1), repeat=len(gaps)):
        total = math.fsum(sign * gap for sign, gap in zip(signs, gaps, strict=True))
        extreme += {
            "two-sided": abs(total) >= abs(observed) - 1e-9,
            "greater": total >= observed - 1e-9,
            "less": total <= observed + 1e-9,
        }[alternative]
    return extreme / 2 ** len(gaps)


def right_and_wrong(wins, losses, ties=10):
    return [1] * wins + [0] * losses + [1] * ties, [0] * wins + [1] * losses + [1] * ties


class TestPairedT:
    def test_by_hand(self):
        # Differences 1, 2, 1, 0: mean 1, variance 2/3, standard error sqrt(1/6), t = sqrt(6) with 3 degrees.
        result = paired_t_test([3, 4, 5, 4], [2, 2, 4, 4])
        assert result.statistic == pytest.approx(math.sqrt(6))
        assert (result.n, result.n_clusters, result.estimate.value) == (4, 4, 1)
        assert result.estimate.high == pytest.approx(1 + stats.t.ppf(0.975, 3) / math.sqrt(6))

    @pytest.mark.parametrize("alternative", ALTERNATIVES)
    def test_is_scipys_without_clusters(self, alternative):
        rng = np.random.default_rng(1)
        first, second = rng.random(40), rng.random(40) - 0.1
        expected = stats.ttest_rel(first, second, alternative=alternative)
        found = paired_t_test(first, second, alternative=alternative)
        assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
        low, high = stats.ttest_rel(first, second).confidence_interval(0.9)
        wide = paired_t_test(first, second, confidence=0.9).estimate
        assert (wide.low, wide.high) == pytest.approx((low, high))

    def test_with_equal_clusters_it_is_the_t_test_of_their_means(self):
        rng = np.random.default_rng(2)
        gap = rng.normal(0.3, 1, (15, 4)) + rng.normal(0, 1, (15, 1))
        found = paired_t_test(gap.ravel(), np.zeros(60), clusters=np.repeat(np.arange(15), 4))
        expected = stats.ttest_1samp(gap.mean(axis=1), 0)
        assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
        assert (found.n, found.n_clusters, found.method) == (60, 15, "paired t, clustered")

    def test_unequal_clusters_by_hand(self):
        # Clusters a (1, 1, 0) and b (0): sums 2 and 0, sizes 3 and 1, mean 1/2. Residuals 2 - 3/2 and 0 - 1/2;
        # variance (1/4 + 1/4) * 2 / 1 / 4 ** 2 = 1/16, so t = 2 with one degree of freedom.
        found = paired_t_test([1, 1, 0, 0], [0, 0, 0, 0], clusters=list("aaab"))
        assert found.statistic == pytest.approx(2)
        assert found.p_value == pytest.approx(2 * stats.t.sf(2, 1))

    def test_weights_are_copies(self):
        first, second = [1, 0, 1, 1, 0], [0, 0, 1, 0, 1]
        found = paired_t_test(first, second, weights=[2, 1, 1, 1, 1])
        copied = paired_t_test([1, *first], [0, *second], clusters=[0, 0, 1, 2, 3, 4])
        assert found.statistic == pytest.approx(copied.statistic)
        assert (found.n, copied.n) == (5, 6)

    @pytest.mark.parametrize(
        ("first", "clusters", "reason"),
        [
            ([1, 1, 1], None, "differs by the same"),
            ([0.1, 0.1], None, "same"),
            ([1, 2], ["a", "a"], "one cluster"),
        ],
    )
    def test_undefined(self, first, clusters, reason):
        with pytest.warns(StatisticsWarning, match=reason):
            result = paired_t_test(first, np.zeros(len(first)), clusters=clusters)
        assert not result.defined
        assert result.as_dict()["p_value"] is None
        assert reason in result.as_dict()["reason"]

    def test_nothing_in_common(self):
        for test in (paired_t_test, paired_permutation_test, mcnemar_test):
            with pytest.warns(StatisticsWarning, match="no item is scored for both"):
                assert not test([1, NAN], [NAN, 0]).defined


class TestMcNemar:
    # Reference: statsmodels 0.15.0, mcnemar([[20, b], [c, 7]], exact=True) and (exact=False, correction=False).
    @pytest.mark.parametrize(
        ("b", "c", "exact", "chi_square", "asymptotic"),
        [
            (9, 2, 0.0654296875, 4.454545454545454, 0.03480847881186725),
            (30, 14, 0.022628841205914796, 5.818181818181818, 0.015861332739773026),
            (5, 0, 0.0625, 5.0, 0.025347318677468325),
            (12, 12, 1.0, 0.0, 1.0),
        ],
    )
    def test_is_statsmodels(self, b, c, exact, chi_square, asymptotic):
        first, second = right_and_wrong(b, c)
        assert mcnemar_test(first, second, exact=True).p_value == pytest.approx(exact)
        found = mcnemar_test(first, second, exact=False)
        assert (found.statistic, found.p_value) == pytest.approx((chi_square, asymptotic))
        default = mcnemar_test(first, second)
        assert default.p_value == pytest.approx(exact if b + c < 25 else asymptotic)

    def test_mid_p_by_hand(self):
        # 2 (P(X < 2) + P(X = 2) / 2) of a binomial of 11: 2 (12 + 55 / 2) / 2 ** 11.
        first, second = right_and_wrong(9, 2)
        assert mcnemar_test(first, second, mid_p=True).p_value == pytest.approx(2 * (12 + 27.5) / 2**11)
        assert mcnemar_test(*right_and_wrong(4, 4), mid_p=True).p_value == pytest.approx(1)

    @pytest.mark.parametrize(("wins", "losses"), [(9, 2), (2, 9), (0, 0), (5, 5), (0, 6)])
    def test_one_sided_is_scipys_binomial(self, wins, losses):
        first, second = right_and_wrong(wins, losses)
        for alternative in ALTERNATIVES:
            found = mcnemar_test(first, second, exact=True, alternative=alternative).p_value
            whole = wins + losses
            expected = stats.binomtest(wins, whole, alternative=alternative).pvalue if whole else 1.0
            assert found == pytest.approx(expected)

    def test_one_sided_chi_square(self):
        first, second = right_and_wrong(30, 14)
        z = 16 / math.sqrt(44)
        assert mcnemar_test(first, second, alternative="greater").p_value == pytest.approx(stats.norm.sf(z))
        assert mcnemar_test(first, second, alternative="less").p_value == pytest.approx(stats.norm.cdf(z))

    def test_clusters_of_one_are_fine_and_larger_ones_are_refused(self):
        first, second = [1, 1, 0, 1], [0, 1, 1, 1]
        assert mcnemar_test(first, second, clusters=list("abcd")).p_value == 1
        with pytest.raises(InvalidInputError, match="paired_permutation_test"):
            mcnemar_test(first, second, clusters=list("aabc"))
        # The second item of the cluster does not count, so nothing is clustered.
        assert mcnemar_test([1, NAN, 0], [0, 1, 1], clusters=list("aab")).n == 2

    def test_only_right_and_wrong(self):
        with pytest.raises(InvalidInputError, match="0 \\(wrong\\)"):
            mcnemar_test([0.5, 1], [1, 1])
        with pytest.raises(InvalidInputError, match="mid_p"):
            mcnemar_test([1, 0], [0, 1], exact=False, mid_p=True)

    def test_identical_judges(self):
        result = mcnemar_test([1, 0, 1], [1, 0, 1])
        assert (result.p_value, result.estimate.value) == (1, 0)
        assert result.estimate.low < 0 < result.estimate.high


class TestSignFlips:
    def test_by_hand(self):
        # Cluster sums 2, 2, 1 of one sign: 2 of 8 ways are as far out. Items by themselves: 2 of 32.
        first, second = [1] * 5, [0] * 5
        clustered = paired_permutation_test(first, second, clusters=list("aabbc"))
        assert (clustered.p_value, clustered.statistic, clustered.n_clusters) == (0.25, 1, 3)
        assert paired_permutation_test(first, second).p_value == pytest.approx(2 / 32)
        assert clustered.method == "sign flips, exact"

    @settings(deadline=None, max_examples=25)
    @given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.sampled_from(ALTERNATIVES))
    def test_exact_is_enumeration(self, gaps, alternative):
        found, exact = sign_flip_p_value(
            np.array(gaps, dtype=float),
            n_permutations=1,
            alternative=alternative,
            rng=np.random.default_rng(0),
        )
        assert exact
        assert found == pytest.approx(flips_by_enumeration(gaps, alternative))

    @pytest.mark.parametrize("alternative", ALTERNATIVES)
    def test_is_scipys(self, alternative):
        rng = np.random.default_rng(4)
        first, second = rng.normal(0.3, 1, 12), rng.normal(0, 1, 12)
        expected = stats.permutation_test(
            (first, second),
            lambda one, two, axis: np.mean(one - two, axis=axis),
            permutation_type="samples",
            alternative=alternative,
            n_resamples=np.inf,
        )
        found = paired_permutation_test(first, second, alternative=alternative)
        assert found.p_value == pytest.approx(expected.pvalue)

    def test_of_right_and_wrong_it_is_mcnemars_exact_test(self):
        for wins, losses in ((9, 2), (300, 250), (5_000, 5_300)):
            first, second = right_and_wrong(wins, losses)
            found = paired_permutation_test(first, second)
            assert found.p_value == pytest.approx(mcnemar_test(first, second, exact=True).p_value, rel=1e-8)
            assert found.method == "sign flips, exact"

    def test_drawn_is_near_exact(self):
        rng = np.random.default_rng(5)
        gaps = np.r_[rng.integers(-2, 4, 300), rng.normal(0, 1, 100)]
        drawn, exact = sign_flip_p_value(gaps, n_permutations=40_000, alternative="greater", rng=rng)
        assert not exact
        # For 400 clusters the total under flips is normal.
        expected = stats.norm.sf(gaps.sum() / np.sqrt((gaps**2).sum()))
        assert drawn == pytest.approx(expected, abs=4 * math.sqrt(expected / 40_000) + 1 / 40_000)

    def test_many_distinct_sums_are_rounded_and_keep_their_p_value(self):
        gaps = np.random.default_rng(6).normal(0.006, 1, 30_000)
        drawn, exact = sign_flip_p_value(
            gaps, n_permutations=20_000, alternative="two-sided", rng=np.random.default_rng(7)
        )
        assert not exact
        expected = 2 * stats.norm.sf(abs(gaps.sum()) / np.sqrt((gaps**2).sum()))
        assert drawn == pytest.approx(expected, abs=4 * math.sqrt(expected / 20_000))

    def test_never_zero(self):
        rng = np.random.default_rng(8)
        drawn = paired_permutation_test(rng.random(100) + 1, rng.random(100), n_permutations=99)
        assert drawn.p_value == pytest.approx(1 / 100)
        assert drawn.method == "sign flips, 99 drawn"
        assert paired_permutation_test(np.ones(5_000), np.zeros(5_000)).p_value > 0

    def test_invariants(self):
        rng = np.random.default_rng(9)
        first, second = rng.integers(1, 6, 60).astype(float), rng.integers(1, 6, 60).astype(float)
        clusters = rng.integers(0, 9, 60)
        found = paired_permutation_test(first, second, clusters=clusters)
        assert found.method == "sign flips, exact"
        swapped = paired_permutation_test(second, first, clusters=clusters)
        scaled = paired_permutation_test(first / 10 + 0.7, second / 10 + 0.7, clusters=clusters)
        order = rng.permutation(60)
        shuffled = paired_permutation_test(first[order], second[order], clusters=clusters[order])
        for other in (swapped, scaled, shuffled):
            assert other.p_value == pytest.approx(found.p_value)
        assert swapped.estimate.value == pytest.approx(-found.estimate.value)
        half = [
            paired_permutation_test(first, second, clusters=clusters, alternative=side).p_value
            for side in ("greater", "less")
        ]
        assert sum(half) >= 1
        weighted = paired_permutation_test(first, second, clusters=clusters, weights=np.full(60, 3.0))
        assert weighted.p_value == pytest.approx(found.p_value)

    def test_same_input_same_p_value(self):
        rng = np.random.default_rng(10)
        first, second = rng.random(50), rng.random(50)
        assert paired_permutation_test(first, second) == paired_permutation_test(first, second)

    def test_identical_judges_are_no_proof_of_anything(self):
        result = paired_permutation_test([1, 0, 1], [1, 0, 1])
        assert (result.p_value, result.estimate.value) == (1, 0)
        assert result.estimate.low < 0 < result.estimate.high
        with pytest.warns(StatisticsWarning, match="nothing varies"):
            assert paired_permutation_test([3, 4], [3, 4]).p_value == 1

    def test_the_selection_counts(self):
        result = paired_permutation_test([1, 1, 0], [0, 0, 1], where=[True, True, False])
        assert (result.n, result.p_value) == (2, 0.5)

    def test_bad_input(self):
        for call, match in [
            (lambda: paired_permutation_test([1], [1, 2]), "second"),
            (lambda: paired_permutation_test([1], [1], n_permutations=0), "n_permutations"),
            (lambda: paired_permutation_test([1], [1], alternative="both"), "alternative"),
            (lambda: paired_permutation_test([1], [1], clusters=["a", "b"]), "clusters"),
            (lambda: paired_t_test([1], [1], confidence=1), "confidence"),
            (lambda: paired_t_test([1], [1], weights=[-1]), "weights"),
            (lambda: paired_t_test([np.inf], [1]), "first"),
        ]:
            with pytest.raises(InvalidInputError, match=match):
                call()


def test_results_as_json():
    plain = paired_permutation_test([1, 1, 0], [0, 1, 0]).as_dict()
    assert plain["p_value"] == 1
    assert plain["estimate"]["n"] == 3
    assert "reason" not in plain
    assert TestResult.__test__ is False


class TestSizes:
    """Seeded simulations; the full table is printed by bench/simulations_tests.py."""

    DATASETS = 160
    ALLOWED = 0.05 + 2 * math.sqrt(0.05 * 0.95 / DATASETS)

    @pytest.mark.parametrize(("n_clusters", "discordance"), [(20, 0.3), (60, 0.1)])
    def test_clustered_tests_reject_no_more_than_they_may(self, n_clusters, discordance):
        rng = np.random.default_rng(11)
        found = rejections(n_clusters, discordance, self.DATASETS, clustered=True, rng=rng)
        assert found["sign flips, by cluster"] <= self.ALLOWED
        assert found["t, by cluster"] <= self.ALLOWED

    def test_tests_by_item_reject_far_too_often_in_clusters(self):
        rng = np.random.default_rng(12)
        found = rejections(60, 0.3, self.DATASETS, clustered=True, rng=rng)
        assert found["t, by item"] > 0.10
        assert found["sign flips, by item"] > 0.10

    def test_unclustered(self):
        rng = np.random.default_rng(13)
        found = rejections(60, 0.2, self.DATASETS, clustered=False, rng=rng)
        assert max(found.values()) <= self.ALLOWED
        assert found["sign flips, by item"] <= found["McNemar, mid-p"]
