"""Resamples and intervals: exactness of the cheap ways, pairing, coverage, and the edges."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats import (
    InvalidInputError,
    Resamples,
    StatisticsWarning,
    accuracy,
    accuracy_contributions,
    leave_one_out_agreement,
    macro_mean,
    mean_estimate,
    paired_difference,
    ratio_estimate,
    wilson_interval,
)
from metaeval.stats.arrays import row_sums
from metaeval.stats.intervals import AMOUNT, interval
from metaeval.stats.resampling import draw_counts, draw_totals, group_rows
from metaeval.stats.spread import Spread, effective_sample_size, resampled_spread, spread_of, variance_freedom

NAN = math.nan


class TestResamples:
    @settings(deadline=None)
    @given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.5, 1.0])), min_size=1, max_size=30))
    def test_groups_are_the_equal_rows(self, rows):
        array = np.array(rows, dtype=float)
        representatives, sizes, groups = group_rows(array)
        np.testing.assert_array_equal(array[representatives][groups], array)
        assert len(sizes) == len(set(rows))
        np.testing.assert_array_equal(np.bincount(groups), sizes)

    def test_groups_are_in_the_order_of_their_rows(self):
        # Many columns of many values, whose codes have to be made dense on the way.
        array = np.random.default_rng(1).integers(0, 90, size=(300, 5)).astype(float)[:, [0, 1, 2, 3, 4, 0]]
        representatives, _, _ = group_rows(array)
        rows = [tuple(row) for row in array[representatives].tolist()]
        assert rows == sorted(set(map(tuple, array.tolist())))

    def test_totals_asked_for_again_are_the_same_and_cannot_be_changed(self):
        resamples, columns = Resamples(20, 30, rng=1), np.arange(40.0).reshape(20, 2)
        first = resamples.totals(columns)
        np.testing.assert_array_equal(Resamples(20, 30, rng=1).totals(columns), first)
        assert resamples.totals(columns.copy()) is first
        with pytest.raises(ValueError, match="read-only"):
            first[0, 0] = 0.0
        # Of other columns, and of some of the items, the totals are their own.
        np.testing.assert_array_equal(resamples.totals(columns[:, :1])[:, 0], first[:, 0])
        part = resamples.among(np.arange(5))
        assert part.totals(np.ones((5, 1))).max() == 5.0

    @given(st.integers(0, 10), st.integers(0, 6))
    def test_row_sums_are_those_of_numpy_to_the_last_bit(self, width, n_rows):
        table = np.random.default_rng(width).normal(size=(n_rows, width))
        np.testing.assert_array_equal(row_sums(table), table.sum(axis=1))
        np.testing.assert_array_equal(row_sums(table > 0), (table > 0).sum(axis=1))

    def test_every_resample_draws_as_many_clusters_as_there_are(self):
        counts = draw_counts(37, 500, np.random.default_rng(0))
        assert (counts.sum(axis=0, dtype=int) == 37).all()
        # Each cluster is drawn once on average, with variance 1 - 1/37.
        assert counts.mean(axis=1) == pytest.approx(np.ones(37), abs=0.25)
        assert counts.var() == pytest.approx(1 - 1 / 37, abs=0.05)

    @pytest.mark.parametrize("distinct", [3, 200])
    def test_grouped_and_direct_and_shared_have_one_distribution(self, distinct):
        # 3 distinct rows go the grouped way, 200 the direct way.
        rng = np.random.default_rng(3)
        rows = rng.integers(0, distinct, size=(400, 1)).astype(float)
        alone = draw_totals(rows, 4000, np.random.default_rng(1))[:, 0]
        shared = Resamples(400, 4000, rng=2).totals(rows)[:, 0]
        assert stats.ks_2samp(alone, shared).pvalue > 0.001
        assert alone.std() == pytest.approx(rows.std() * math.sqrt(400), rel=0.06)

    def test_shared_totals_are_those_of_the_draws(self):
        resamples = Resamples(["a", "b", "a", "c", "d"], 50, rng=4)
        columns = np.arange(10.0).reshape(5, 2)
        draws = draw_counts(4, 50, np.random.default_rng(resamples._seed))
        by_hand = draws.T.astype(float) @ np.array(
            [columns[0] + columns[2], columns[1], columns[3], columns[4]]
        )
        np.testing.assert_allclose(resamples.totals(columns), by_hand)

    def test_what_is_asked_first_does_not_matter(self):
        one, two = Resamples(100, rng=1), Resamples(100, rng=1)
        x, y = np.eye(100)[:, :1], np.arange(100.0)[:, np.newaxis]
        one.totals(x)
        np.testing.assert_array_equal(one.totals(y), two.totals(y))

    def test_many_clusters_are_not_kept(self):
        resamples = Resamples(100_000)
        resamples.totals(np.ones((100_000, 1)))
        assert resamples._draws is None

    def test_bad_clusters(self):
        with pytest.raises(InvalidInputError, match="NaN"):
            Resamples([1.0, NAN])
        with pytest.raises(InvalidInputError, match="None"):
            Resamples(["a", None])
        with pytest.raises(InvalidInputError, match="expected shape"):
            Resamples([[1, 2]])
        with pytest.raises(InvalidInputError, match="expected 2 items"):
            Resamples(2).totals(np.ones((3, 1)))


class TestIntervals:
    def test_wilson_by_hand(self):
        # 8 of 10 at 95%: z = 1.95996, z² = 3.8415. Centre (0.8 + 0.19207) / 1.38415 = 0.71674; spread
        # 1.95996 sqrt(0.016 + 0.0096037) / 1.38415 = 0.22657.
        assert wilson_interval(0.8, 10) == pytest.approx((0.49016, 0.94331), abs=2e-5)
        reference = stats.binomtest(8, 10).proportion_ci(method="wilson")
        assert wilson_interval(0.8, 10) == pytest.approx((reference.low, reference.high))

    def test_spread_by_hand(self):
        # Sizes 1, 1, 2: (1 + 1 + 2)² / (1 + 1 + 4). Deviations 1, -1, 0: (1 + 1)² / (1 + 1) carry the variance.
        spread = spread_of(np.array([1.0, -1.0, 0.0]), np.array([1.0, 1.0, 2.0]))
        assert (spread.clusters, spread.carriers) == pytest.approx((16 / 6, 2))
        assert spread_of(np.zeros(3), np.ones(3)) == Spread(3, 0)

    @pytest.mark.slow
    @settings(deadline=None)
    @given(st.lists(st.integers(-3, 3), min_size=4, max_size=30).filter(lambda rows: len(set(rows)) > 1))
    def test_resamples_show_how_many_carry_the_variance(self, rows):
        deviations = np.array(rows) - np.mean(rows)
        n = len(rows)
        exact = spread_of(deviations, np.ones(n))
        drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=20_000) @ deviations
        found = resampled_spread(drawn, n)
        # A fourth moment of 20,000 draws from few clusters: near, not equal.
        assert 1 / found.carriers == pytest.approx(1 / exact.carriers, abs=0.15, rel=0.5)

    def test_freedom_of_a_variance_by_hand(self):
        # Two of 100 carry it: 2 / (1/2 - 1/100) - 1. If all do it is known as well as 99 degrees say.
        assert variance_freedom(2, 100) == pytest.approx(2 / 0.49 - 1)
        assert variance_freedom(100, 100) == 99
        # Of normal clusters a third does, and 2 / (3/C - 1/C) - 1 = C - 1.
        rows = np.random.default_rng(0).standard_normal(40_000)
        assert variance_freedom(spread_of(rows, rows).carriers, 40_000) == pytest.approx(39_999, rel=0.05)

    def test_effective_sample_size_by_hand(self):
        # 0.25 / 0.01 = 25 answers. Two of 10 clusters carry the variance: 2 / (1/2 - 1/10) - 1 = 4 degrees of freedom,
        # quantile 2.77645; 25 (1.95996 / 2.77645)² = 12.4585, and 10 clusters are worth 10 at least.
        assert effective_sample_size(0.5, 0.01, 10, Spread(10, 2)) == pytest.approx(12.4585, abs=1e-3)
        assert effective_sample_size(0.5, 0.01, 10, Spread(14, 2)) == pytest.approx(14)
        # Less than the clusters only if they vary more than wholes can.
        assert effective_sample_size(0.5, 0.05, 10, Spread(10, 2)) == pytest.approx(5)
        assert effective_sample_size(1.0, 0.0, 10, Spread(8, 0)) == 8
        assert effective_sample_size(0.5, 0.01, 1, Spread(1, 1)) == 1

    def test_few_clusters_lose_one_to_the_mean(self):
        # 12 of 20: the unbiased variance 0.24 / 19 is that of 19 answers.
        estimate = mean_estimate([1] * 12 + [0] * 8, n_resamples=200_000)
        assert estimate.method == "wilson"
        assert (estimate.low, estimate.high) == pytest.approx(wilson_interval(0.6, 19), abs=0.0015)

    def test_single_answers_have_wilsons_interval(self):
        rng = np.random.default_rng(0)
        for share in (0.5, 0.8, 0.97):
            values = (rng.random(300) < share).astype(float)
            estimate = mean_estimate(values, n_resamples=100_000)
            expected = wilson_interval(values.mean(), 299)
            assert (estimate.low, estimate.high) == pytest.approx(expected, abs=0.0005)

    def test_many_answers_agree_with_scipy(self):
        values = np.random.default_rng(0).choice([0.0, 0.5, 1.0], 300)
        ours = mean_estimate(values)
        theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=10_000, rng=1)
        assert ours.method == "wilson"
        assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.005)
        assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.005)

    def test_without_bounds_it_is_students(self):
        costs = np.random.default_rng(0).exponential(size=300)
        ours = mean_estimate(costs, bounds=None)
        theirs = stats.bootstrap((costs,), np.mean, method="percentile", n_resamples=10_000, rng=1)
        assert ours.method == "t"
        assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.01)
        assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.01)
        assert ours == mean_estimate(costs, bounds=None, n_resamples=7, rng=8)  # of the data alone

    def test_an_amount_is_not_below_nothing(self):
        costs = [0.0] * 9 + [10.0]
        assert mean_estimate(costs, bounds=None).low < 0
        found = mean_estimate(costs, bounds=AMOUNT)
        assert (found.low, found.high) == (0, mean_estimate(costs, bounds=None).high)

    @pytest.mark.parametrize(("n", "percentiles"), [(8, 0.78), (30, 0.87), (100, 0.925)])
    def test_skewed_amounts_are_covered_better_than_by_percentiles(self, n, percentiles):
        rng = np.random.default_rng(5)
        covered = [
            found.low <= math.exp(0.5) <= found.high
            for found in (
                mean_estimate(rng.lognormal(size=n), bounds=AMOUNT, n_resamples=2) for _ in range(1000)
            )
        ]
        assert np.mean(covered) > percentiles

    def test_graded_answers_are_worth_more_than_yes_or_no(self):
        # Between 0.6 and 0.8 a mean of 100 is known to 0.012 or so; a share of 100 answers would be known to 0.09.
        values = np.random.default_rng(0).uniform(0.6, 0.8, 100)
        estimate = mean_estimate(values)
        assert estimate.high - estimate.low == pytest.approx(2 * 1.98 * values.std() / 10, rel=0.05)

    def test_the_same_answer_everywhere_is_no_proof(self):
        for value in (0.0, 0.3, 1 / 3, 1.0):
            estimate = mean_estimate(np.full(50, value), clusters=np.arange(50) // 2)
            assert (estimate.low, estimate.high) == pytest.approx(wilson_interval(value, 25))

    def test_one_that_differs_a_little_is_no_proof(self):
        # Nine tenths everywhere but once. The standard error is 0.002, with hardly a degree of freedom.
        estimate = mean_estimate(np.r_[np.full(49, 0.9), 0.8])
        assert 0.85 < estimate.low < 0.88

    @settings(deadline=None)
    @given(
        st.lists(
            st.tuples(st.sampled_from([0, 0.25, 1 / 3, 0.5, 1]), st.integers(0, 5)), min_size=1, max_size=20
        ),
        st.sampled_from([0.8, 0.95, 0.99]),
    )
    def test_whatever_the_contributions(self, rows, confidence):
        values, clusters = np.array(rows).T
        options = {"resamples": Resamples(clusters, 50), "confidence": confidence}
        one, other = mean_estimate(values, **options), mean_estimate(1 - values, **options)
        assert 0 <= one.low <= one.value + 1e-12 <= one.high + 1e-11 <= 1 + 1e-11
        assert one.high - one.low > 0.0001
        # Right and wrong are two names of one thing, and so are [0, 1] and [-1, 1].
        assert (1 - other.high, 1 - other.low) == pytest.approx((one.low, one.high), abs=1e-9)
        wide = mean_estimate(2 * values - 1, bounds=(-1.0, 1.0), **options)
        assert ((wide.low + 1) / 2, (wide.high + 1) / 2) == pytest.approx((one.low, one.high), abs=1e-9)

    def test_of_other_figures_the_resamples_tell(self):
        rng = np.random.default_rng(0)
        far, near = rng.normal(0.6, 0.04, 2000), rng.normal(0.98, 0.01, 2000)
        assert interval(0.6, far, n_clusters=100, confidence=0.95, bounds=(0, 1))[2] == "percentile"
        assert interval(0.98, near, n_clusters=100, confidence=0.95, bounds=(0, 1))[2] == "wilson"
        assert interval(0.6, far, n_clusters=20, confidence=0.95, bounds=(0, 1))[2] == "wilson"
        assert interval(1.0, np.ones(99), n_clusters=40, confidence=0.95, bounds=(0, 1))[:2] == pytest.approx(
            wilson_interval(1.0, 40)
        )
        nothing = interval(0.6, np.full(9, NAN), n_clusters=20, confidence=0.95, bounds=None)
        assert math.isnan(nothing[0])

    def test_clusters_widen_the_interval(self):
        values = np.repeat(np.random.default_rng(0).integers(0, 2, 60), 10).astype(float)
        apart = mean_estimate(values)
        together = mean_estimate(values, clusters=np.repeat(np.arange(60), 10))
        # Ten copies of each answer: the interval must be about sqrt(10) times as wide.
        ratio = (together.high - together.low) / (apart.high - apart.low)
        assert ratio == pytest.approx(math.sqrt(10), rel=0.1)
        assert (together.n, together.n_clusters) == (600, 60)

    def test_near_the_bounds_it_is_wilson_with_the_clusters_that_there_are(self):
        all_right = mean_estimate(np.ones(200), clusters=np.repeat(np.arange(40), 5))
        assert all_right.method == "wilson"
        assert (all_right.low, all_right.high) == pytest.approx(wilson_interval(1.0, 40))
        nearly = mean_estimate(np.r_[np.ones(197), np.zeros(3)])
        assert nearly.method == "wilson"
        assert nearly.low < 0.985 < nearly.high < 1

    @pytest.mark.parametrize(("share", "n_clusters", "size"), [(0.97, 60, 1), (0.6, 20, 3), (0.7, 100, 2)])
    def test_coverage(self, share, n_clusters, size):
        # Nominal 95%. A cluster's items agree wholly half of the time, which makes them count for less.
        rng = np.random.default_rng(12)
        covered = 0
        for _ in range(300):
            own = rng.random((n_clusters, size)) < share
            common = np.repeat(rng.random((n_clusters, 1)) < share, size, axis=1)
            values = np.where(rng.random((n_clusters, 1)) < 0.5, common, own).astype(float)
            estimate = mean_estimate(
                values.ravel(), clusters=np.repeat(np.arange(n_clusters), size), n_resamples=500
            )
            covered += estimate.low <= share <= estimate.high
        assert covered / 300 > 0.91

    def test_no_resamples_no_interval(self):
        estimate = mean_estimate([1.0, 0.0], n_resamples=0)
        assert estimate.as_dict() == {"value": 0.5, "low": None, "high": None, "n": 2}
        assert estimate.method == "none"

    def test_a_selection(self):
        resamples = Resamples(["a", "a", "b", "c"])
        estimate = mean_estimate(
            [1, 0, 1, NAN], resamples=resamples, where=np.array([True, False, True, True])
        )
        assert (estimate.value, estimate.n, estimate.n_clusters) == (1, 2, 2)
        with pytest.raises(InvalidInputError, match="where"):
            mean_estimate([1, 0], where=[1, 0])

    def test_nothing_counts(self):
        with pytest.warns(StatisticsWarning, match="no item counts"):
            assert not mean_estimate([NAN, NAN]).defined
        with pytest.warns(StatisticsWarning, match="no item counts"):
            assert not ratio_estimate([0.0], [0.0]).defined
        with pytest.warns(StatisticsWarning, match="no item counts"):
            assert not mean_estimate([]).defined

    def test_unknown_arguments_are_refused(self):
        with pytest.raises(TypeError, match="cluster"):
            mean_estimate([1.0], cluster=[1])


class TestMacroMean:
    def test_by_hand(self):
        # easy: (1 + 1 + 0) / 3 = 2/3; hard: 0. Unweighted mean 1/3, whereas the pooled mean is 2/4.
        estimate = macro_mean([1, 1, 0, 0], ["easy", "easy", "easy", "hard"])
        assert estimate.value == pytest.approx(1 / 3)
        assert macro_mean(
            [1, 1, 0, 0], ["easy", "easy", "easy", "hard"], among=["easy"]
        ).value == pytest.approx(2 / 3)

    def test_with_one_group_it_is_the_mean(self):
        values = np.random.default_rng(0).integers(0, 2, 200).astype(float)
        resamples = Resamples(200)
        one, all_groups = (
            mean_estimate(values, resamples=resamples),
            macro_mean(values, ["g"] * 200, resamples=resamples),
        )
        # The variance of one is of the resamples, of the other between the items.
        assert (one.low, one.high) == pytest.approx((all_groups.low, all_groups.high), rel=2e-3)

    def test_its_spread_is_that_of_the_groups(self):
        rng = np.random.default_rng(0)
        values, groups = rng.integers(0, 2, 600).astype(float), np.repeat([0, 1, 2], [100, 200, 300])
        estimate = macro_mean(values, groups)
        variance = sum(values[groups == g].var() / (groups == g).sum() for g in range(3)) / 9
        assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * math.sqrt(variance), rel=0.07)

    def test_an_empty_group_leaves_it_undefined(self):
        with pytest.warns(StatisticsWarning, match="no item counts in group hard"):
            assert not macro_mean([1, NAN], ["easy", "hard"]).defined
        with pytest.warns(StatisticsWarning, match="group absent"):
            assert not macro_mean([1, 1], ["easy", "hard"], among=["easy", "absent"]).defined
        with pytest.warns(StatisticsWarning, match="no item counts"):
            assert not macro_mean([], []).defined
        with pytest.raises(InvalidInputError, match="groups"):
            macro_mean([1, 0], ["easy"])


class TestPairedDifference:
    def test_the_difference_of_two_alike_judges_is_surer_than_either(self):
        rng = np.random.default_rng(0)
        base = rng.integers(0, 2, 500).astype(float)
        other = np.where(rng.random(500) < 0.03, 1 - base, base)
        difference = paired_difference(base, other)
        alone = mean_estimate(base)
        assert difference.high - difference.low < (alone.high - alone.low) / 2
        assert difference.value == pytest.approx(base.mean() - other.mean())

    def test_it_is_the_difference_on_the_same_resamples(self):
        rng = np.random.default_rng(1)
        one, two = rng.random(50), rng.random(50)
        resamples = Resamples(50, 2000)
        ones = np.ones(50)
        left = resamples.totals(np.stack([one, ones], axis=1))
        right = resamples.totals(np.stack([two, ones], axis=1))
        gap = (left[:, 0] - right[:, 0]) / 50
        found = paired_difference(one, two, resamples=resamples)
        assert found.share_better == pytest.approx(np.mean(gap > 0), abs=0.02)
        assert found == paired_difference(one, two, n_resamples=7, rng=8)  # of the data alone
        # Student's interval from the clusters' variance is what the percentiles estimate.
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(gap, [0.025, 0.975])), abs=0.01)

    def test_a_judge_against_itself(self):
        found = paired_difference([1, 0, 1] * 20, [1, 0, 1] * 20)
        assert (found.value, found.share_better) == (0, 0.5)
        # No difference on 60 items is no proof of none: two more, one either way, would make 2 sqrt(2) / 62.
        assert found.high == pytest.approx(stats.t.ppf(0.975, 59) * math.sqrt(2 * 62 / 61) / 62)
        assert found.low == -found.high
        assert found.as_dict()["share_better"] == 0.5

    @pytest.mark.parametrize(("n", "ahead", "sure"), [(2, 2, False), (5, 5, False), (7, 7, True)])
    @pytest.mark.parametrize("others", [0, 400])
    def test_few_that_differ_all_one_way(self, n, ahead, sure, others):
        # By the sign test 5 to 0 has p = 0.0625 and 7 to 0 has 0.016, whatever the number of items.
        one = np.r_[np.ones(n), np.ones(others)]
        two = np.r_[np.zeros(ahead), np.ones(n - ahead + others)]
        found = paired_difference(one, two)
        assert (found.low > 0) == sure
        assert found.low < found.value <= found.high

    def test_turned_round(self):
        rng = np.random.default_rng(2)
        one, two = rng.integers(0, 2, (2, 90)).astype(float)
        there, back = paired_difference(one, two), paired_difference(two, one)
        assert there.value == -back.value
        assert there.share_better == pytest.approx(1 - back.share_better, abs=0.02)
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low))

    def test_only_items_scored_for_both(self):
        found = paired_difference([1, NAN, 1, 0], [0, 1, NAN, 0])
        assert (found.value, found.n, found.method) == (0.5, 2, "t")
        with pytest.warns(StatisticsWarning, match="scored for both"):
            nothing = paired_difference([NAN, 1], [1, NAN])
        assert nothing.as_dict()["share_better"] is None

    def test_one_cluster_has_no_interval(self):
        with pytest.warns(StatisticsWarning, match="one cluster"):
            found = paired_difference([1, 0], [0, 0], clusters=["a", "a"])
        assert found.value == 0.5
        assert found.as_dict()["reason"] == "no interval: the items are one cluster"

    def test_scores_that_are_no_shares_are_not_cut_off(self):
        """Ratings from 1 to 5 that differ by 2 had an interval that ended at 1, below the difference itself."""
        rng = np.random.default_rng(4)
        one, two = rng.integers(3, 6, 80).astype(float), rng.integers(1, 4, 80).astype(float)
        for name, columns in {"first": (one, two / 5), "second": (one / 5, two)}.items():
            with pytest.raises(InvalidInputError, match=name):
                paired_difference(*columns)
        with pytest.raises(InvalidInputError, match="first"):
            paired_difference(one + 1, two, bounds=(1, 5))
        found = paired_difference(one, two, bounds=(1, 5))
        shares = paired_difference((one - 1) / 4, (two - 1) / 4)
        assert (found.value, found.low, found.high) == pytest.approx(
            (4 * shares.value, 4 * shares.low, 4 * shares.high)
        )
        assert found.low < found.value < found.high
        free = paired_difference(one, two, bounds=None)
        assert (free.value, free.low, free.high) == pytest.approx(
            (found.value, found.low, found.high), abs=0.05
        )
        assert paired_difference([5, 1], [1, 1], bounds=(1, 5)).high == 4
        assert paired_difference(one * 100, two * 100, bounds=None).low == pytest.approx(100 * free.low)

    def test_without_bounds_no_difference_has_no_interval(self):
        with pytest.warns(StatisticsWarning, match="all items are the same"):
            found = paired_difference([3, 4, 5], [3, 4, 5], bounds=None)
        assert (found.value, found.share_better) == (0, 0.5)
        assert math.isnan(found.low)

    def test_judges_of_one_report_share_their_resamples(self):
        rng = np.random.default_rng(3)
        gold = rng.integers(1, 3, 120)
        verdicts = np.where(rng.random(120) < 0.8, gold, 3 - gold)
        resamples = Resamples(np.repeat(np.arange(40), 3))
        labels = np.stack([gold] * 3, axis=1)
        # The same quantity twice, by two statistics: on the same resamples the intervals are the same.
        by_accuracy = accuracy(verdicts, gold, resamples=resamples)
        by_agreement = leave_one_out_agreement(labels, verdicts, resamples=resamples)
        assert (by_accuracy.low, by_accuracy.high) == (by_agreement.low, by_agreement.high)
        assert paired_difference(
            accuracy_contributions(verdicts, gold), np.zeros(120), resamples=resamples
        ).value == pytest.approx(by_accuracy.value)


@pytest.mark.parametrize("value", [0.0, 0.1, 250.0])
def test_what_is_all_the_same_without_bounds_has_no_interval(value):
    """Ten answers of 250 ms each do not say that the next takes 250 ms; bounds would say how far it could be off."""
    with pytest.warns(StatisticsWarning, match="all items are the same"):
        found = mean_estimate([value] * 10, bounds=None)
    assert found.value == pytest.approx(value)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert "no bounds say" in found.reason
    assert mean_estimate([value] * 10, bounds=None, n_resamples=0).reason is None
    bounded = mean_estimate([value] * 10, bounds=(0.0, 1000.0))
    assert bounded.low < bounded.high
    some = mean_estimate([*[value] * 9, value + 1], bounds=None)
    assert some.low < some.high
