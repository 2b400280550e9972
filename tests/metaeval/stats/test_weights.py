"""Sampling weights: Hajek's estimates by hand, by repetition, by simulation, and refused where they are not read."""

import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import (
    InvalidInputError,
    Resamples,
    StatisticsWarning,
    accuracy,
    elo_ratings,
    expected_win_rate,
    macro_mean,
    mean_estimate,
    paired_difference,
    preference_share,
    ratio_estimate,
)
from metaeval.stats.arrays import as_weights
from metaeval.stats.intervals import resolve
from tests.cases import over
from tests.metaeval.stats.every_call import CASES, CLUSTERS, N
from tests.metaeval.stats.test_every_function import estimates, n_rows

NAN = math.nan


class TestValues:
    def test_by_hand(self):
        # Picked with chances 1/2, 1/4, 1/4: weights 2, 4, 4. (2·1 + 4·0 + 4·1) / 10.
        assert mean_estimate([1, 0, 1], weights=[2, 4, 4]).value == pytest.approx(0.6)
        # Answers 1 of 2 and 3 of 3: (2·1 + 4·3) / (2·2 + 4·3).
        assert ratio_estimate([1, 3], [2, 3], weights=[2, 4]).value == pytest.approx(14 / 16)
        # easy: (1·1 + 3·0) / 4; hard: 1. Groups weigh the same, whatever their items' weights.
        assert macro_mean([1, 0, 1], ["e", "e", "h"], weights=[1, 3, 9]).value == pytest.approx(0.625)
        # Gaps 1, 0, -1 with weights 1, 2, 3: -2/6.
        assert paired_difference([1, 1, 0], [0, 1, 1], weights=[1, 2, 3]).value == pytest.approx(-1 / 3)

    def test_figures_made_of_them_are_weighted(self):
        assert accuracy([1, 2], [1, 1], weights=[3, 1]).value == pytest.approx(0.75)
        assert expected_win_rate([1, 0], weights=[3, 1]).value == pytest.approx(0.875)
        assert preference_share([[1, 1], [2, NAN]], weights=[1, 2]).value == pytest.approx(0.5)

    @settings(deadline=None)
    @given(
        st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, NAN]), st.integers(1, 4)), min_size=2, max_size=12)
    )
    def test_whole_weights_are_items_that_came_more_often(self, rows):
        # An item of weight 3 is a cluster of three copies of it: the same sums, hence the same estimate.
        values, weights = np.array(rows).T
        if np.isnan(values).all() or np.count_nonzero(~np.isnan(values)) < 2:
            return
        times = weights.astype(int)
        clusters = np.repeat(np.arange(len(values)), times)
        copied = mean_estimate(np.repeat(values, times), clusters=clusters, n_resamples=200)
        weighted = mean_estimate(values, clusters=np.arange(len(values)), weights=weights, n_resamples=200)
        assert weighted.value == pytest.approx(copied.value)
        assert weighted.n == np.count_nonzero(~np.isnan(values))
        assert weighted.n_clusters == copied.n_clusters
        gap = paired_difference(values, np.zeros(len(values)), weights=weights, n_resamples=50)
        of_copies = paired_difference(
            np.repeat(values, times), np.zeros(len(clusters)), clusters=clusters, n_resamples=50
        )
        assert (gap.value, gap.low, gap.high) == pytest.approx(
            (of_copies.value, of_copies.low, of_copies.high)
        )

    def test_equal_weights_change_nothing(self):
        values = np.random.default_rng(0).integers(0, 2, 90).astype(float)
        groups = np.repeat(["a", "b", "c"], 30)
        weights = np.full(90, 0.3)
        assert mean_estimate(values, weights=weights) == mean_estimate(values)
        assert macro_mean(values, groups, weights=weights) == macro_mean(values, groups)
        assert paired_difference(values, 1 - values, weights=weights) == paired_difference(values, 1 - values)

    @pytest.mark.parametrize("factor", [1e-15, 1e15])
    def test_their_scale_changes_nothing(self, factor):
        rng = np.random.default_rng(0)
        values, weights = rng.integers(0, 2, 90).astype(float), rng.integers(1, 4, 90).astype(float)
        one, other = mean_estimate(values, weights=weights), mean_estimate(values, weights=weights * factor)
        assert (one.low, one.value, one.high) == pytest.approx((other.low, other.value, other.high))

    def test_weight_0_does_not_count(self):
        estimate = mean_estimate([1, 0, 1, 0], weights=[1, 1, 1, 0])
        assert (estimate.value, estimate.n, estimate.n_clusters) == (pytest.approx(2 / 3), 3, 3)
        with pytest.warns(StatisticsWarning, match="no item counts"):
            assert not mean_estimate([1, 0], weights=[0, 0]).defined
        with pytest.warns(StatisticsWarning, match="weight 0"):  # one of weight 1 has no gold answer
            assert not accuracy([1, 2], [1, NAN], weights=[0, 1]).defined
        with pytest.warns(StatisticsWarning, match="group b"):
            assert not macro_mean([1, 0], ["a", "b"], weights=[1, 0]).defined


# Of these, `weights` are no weights of the items, or they are asked for in another form.
OF_VALUES = {"agreement_weights", "cohen_kappa", "gwet_ac"}
REFUSED = "cannot be weighted|inverse of each item|above 0"


def weighting(each):
    return "sampling_weights" if "sampling_weights" in each.parameters else "weights"


def of_zeros(each):
    """What a function says with weights that are all zero; None if it takes none."""
    rows = n_rows(each) if each.items else N
    for size in dict.fromkeys([N, rows, N // 2, len(np.unique(CLUSTERS))]):
        try:
            return each.call(**{weighting(each): np.zeros(size)})
        except InvalidInputError as error:
            if re.search(REFUSED, str(error)):
                return None
            if "expected shape" not in str(error):
                raise
    raise AssertionError(f"{each.name}: no number of weights fits")


WEIGHTED = [
    each
    for each in CASES
    if weighting(each) in each.parameters or "options" in each.parameters
    if each.name not in OF_VALUES or weighting(each) == "sampling_weights"
]


@over(WEIGHTED)
def test_weights_that_are_all_zero_are_the_reason(each):
    """Not that no item had a label, a gold answer, a second judge."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = of_zeros(each)
    told = {str(one.message) for one in said}
    reasons = {part.reason for _, part in estimates(found) if not part.defined}
    assert {reason for reason in told | reasons if "all weights are zero" not in str(reason)} == set()
    if found is not None and estimates(found):
        assert reasons, "nothing is undefined"


class TestIntervals:
    def test_unequal_weights_are_worth_fewer_items(self):
        # All right: one answer of weight 99 and 99 of weight 1 are worth 198² / (99² + 99) = 3.96 answers.
        flat = mean_estimate(np.ones(100))
        uneven = mean_estimate(np.ones(100), weights=np.r_[99.0, np.ones(99)])
        assert uneven.low < 0.55 < 0.9 < flat.low

    @pytest.mark.slow
    def test_coverage_with_known_chances(self):
        # Hard items are labelled four times as often; unweighted, the mean is far off.
        rng = np.random.default_rng(3)
        hard = np.arange(4000) % 2 == 0
        truth = np.where(hard, 0.6, 0.95)
        chance = np.where(hard, 0.08, 0.02)
        population = (rng.random(4000) < truth).astype(float)
        covered, values, plain = 0, [], []
        for _ in range(300):
            picked = rng.random(4000) < chance
            estimate = mean_estimate(population[picked], weights=1 / chance[picked], n_resamples=300)
            covered += estimate.low <= population.mean() <= estimate.high
            values.append(estimate.value)
            plain.append(population[picked].mean())
        assert np.mean(values) == pytest.approx(population.mean(), abs=0.006)
        assert np.mean(plain) < population.mean() - 0.08
        assert 0.92 < covered / 300 < 0.98


class TestRefused:
    @pytest.mark.parametrize(
        ("weights", "why"),
        [
            ([1, -1, 1], "at least 0"),
            ([1, NAN, 1], "at least 0"),
            ([1, math.inf, 1], "infinite"),
            ([1, 1], r"shape \(3,\)"),
            ([[1, 1, 1]], r"shape \(3,\)"),
            (["a", "b", "c"], "numbers"),
        ],
    )
    def test_what_is_no_weight(self, weights, why):
        for figure in (
            lambda: mean_estimate([1, 0, 1], weights=weights),
            lambda: macro_mean([1, 0, 1], [1, 1, 2], weights=weights),
            lambda: paired_difference([1, 0, 1], [0, 0, 0], weights=weights),
        ):
            with pytest.raises(InvalidInputError, match=f"weights.*{why}"):
                figure()

    def test_figures_that_do_not_read_them(self):
        with pytest.raises(InvalidInputError, match="cannot be weighted"):
            elo_ratings(["a", "b"], ["b", "a"], [1, 2], weights=[1, 1])
        with pytest.raises(InvalidInputError, match="cannot be weighted"):
            resolve(2, {"weights": [1, 1]})

    def test_none_is_none(self):
        assert as_weights(None, 3) is None
        assert resolve(2, {"weights": None, "resamples": Resamples(2)})[1] is None
