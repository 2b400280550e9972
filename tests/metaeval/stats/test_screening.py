"""Units that differ from what is usual: by hand, against naive oracles, invariants, degenerate input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    adjust_p_values,
    excess_p_values,
    outlier_p_values,
    screening,
)

NAN = math.nan
_values = st.lists(st.integers(-50, 50), min_size=7, max_size=15).map(
    lambda found: np.array(found, dtype=float)
)


class TestOutliers:
    def test_by_hand(self):
        # The others of 60 are 10 to 16: their median is 13, the deviations 3 2 1 0 1 2 3, of which the median is 2.
        found = outlier_p_values([10, 11, 12, 13, 14, 15, 16, 60])
        distance = 47 / (2 * 1.482602218505602 * math.sqrt(1 + math.pi / 14))
        assert found[-1] == pytest.approx(2 * scipy_stats.t.sf(distance, 0.3675 * 6))
        assert (found[:-1] > 0.3).all()

    @given(_values, st.sampled_from(["two-sided", "greater", "less"]))
    def test_as_one_would_write_it_down(self, values, alternative):
        found = _quietly(outlier_p_values, values, alternative=alternative)
        for place, value in enumerate(values):
            others = [each for at, each in enumerate(values) if at != place]
            middle = float(np.median(others))
            spread = 1.482602218505602 * float(np.median([abs(each - middle) for each in others]))
            if spread == 0:
                assert math.isnan(found[place])
                continue
            n = len(others)
            t = (value - middle) / (spread * math.sqrt(1 + math.pi / (2 * n)))
            above = scipy_stats.t.sf(t, 0.3675 * (n - 1))
            expected = {"greater": above, "less": 1 - above, "two-sided": min(1, 2 * min(above, 1 - above))}
            assert found[place] == pytest.approx(expected[alternative], abs=1e-9)

    @given(_values, st.integers(1, 9), st.integers(-99, 99))
    def test_neither_unit_nor_origin_matters(self, values, unit, origin):
        first, second = (_quietly(outlier_p_values, each) for each in (values, unit * values + origin))
        assert first == pytest.approx(second, nan_ok=True)
        mirrored = _quietly(outlier_p_values, -values, alternative="less")
        assert mirrored == pytest.approx(
            _quietly(outlier_p_values, values, alternative="greater"), nan_ok=True
        )

    def test_a_third_of_the_others_may_be_anything(self):
        usual = np.linspace(-1, 1, 20)
        found = outlier_p_values([*usual, *[40.0 + k for k in range(9)]])
        assert (found[:20] > 0.05).all()
        assert (found[20:] < 1e-4).all()

    @pytest.mark.parametrize("values", [[], [1.0], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, NAN], [NAN] * 9])
    def test_too_few_others(self, values):
        with pytest.warns(StatisticsWarning, match="fewer than six"):
            assert np.isnan(outlier_p_values(values)).all()

    def test_no_spread(self):
        with pytest.warns(StatisticsWarning, match="don't differ"):
            assert np.isnan(outlier_p_values([1.0] * 9)).all()

    def test_a_missing_value_stays_missing_and_changes_nothing(self):
        values = [3.0, 5, 4, 8, 6, 2, 9, 30]
        assert outlier_p_values([*values, NAN]).tolist()[:-1] == outlier_p_values(values).tolist()

    def test_its_size(self):
        rng = np.random.default_rng(4)
        found = np.concatenate([outlier_p_values(rng.normal(size=30)) for _ in range(150)])
        assert np.mean(found <= 0.05) == pytest.approx(0.05, abs=0.012)


class TestExcess:
    def test_the_tail_by_hand(self):
        # Beta(1, 1) makes every number of events as likely: 3 or more of 4 have the chance 2 / 5.
        assert screening.beta_binomial_tail(3, 4, 1.0, 1.0) == pytest.approx(0.4)
        assert screening.beta_binomial_tail(0, 4, 1.0, 1.0) == 1.0

    @given(st.integers(0, 12), st.integers(0, 12), st.floats(0.2, 9), st.floats(0.2, 9))
    def test_the_tail_as_scipy_has_it(self, events, more, first, second):
        expected = scipy_stats.betabinom.sf(events - 1, events + more, first, second)
        assert screening.beta_binomial_tail(events, events + more, first, second) == pytest.approx(
            expected, abs=1e-9
        )

    @given(st.lists(st.integers(0, 10), min_size=8, max_size=12))
    def test_the_fit_is_as_good_as_any_on_a_grid(self, events):
        trials = [10] * len(events)
        pairs = np.array(sorted(set(events)), dtype=float)
        counts = np.array([events.count(each) for each in sorted(set(events))], dtype=float)
        first, second = screening.usual_beta(pairs, np.full(len(pairs), 10.0), counts)
        correlation, share = 1 / (1 + first + second), first / (first + second)
        assert 0.0099 < correlation < 0.351
        best = max(
            _likelihood(events, trials, share, correlation, unusual)
            for unusual in np.linspace(0.0001, 0.3, 61)
        )
        grid = max(
            _likelihood(events, trials, m, r, unusual)
            for m in np.linspace(0.02, 0.98, 9)
            for r in (0.01, 0.05, 0.2, 0.35)
            for unusual in (0.0001, 0.1, 0.3)
        )
        assert best >= grid - 0.05  # the share of the unusual is one of a grid here

    def test_a_crowd_of_unusual_people_does_not_hide_itself(self):
        rng = np.random.default_rng(2)
        events = np.concatenate([rng.binomial(20, rng.beta(1, 15, 40)), rng.binomial(20, 0.95, 8)])
        found = adjust_p_values(excess_p_values(events, np.full(48, 20)), method="benjamini_hochberg")
        assert (found[40:] <= 0.05).all()
        assert (found[:40] <= 0.05).mean() <= 0.05

    def test_more_events_are_never_more_usual(self):
        found = excess_p_values([0, 1, 2, 3, 4, 5, 1, 0, 1], [10] * 9)
        assert (np.diff(found[:6]) <= 0).all()
        assert found[0] == 1.0

    def test_the_order_of_people_does_not_matter(self):
        events, trials = np.array([0.0, 3, 1, 9, 2, 0, 1, 4]), np.array([9.0, 9, 12, 10, 9, 3, 9, 10])
        shuffled = [4, 2, 7, 0, 1, 6, 5, 3]
        assert (
            excess_p_values(events[shuffled], trials[shuffled]).tolist()
            == excess_p_values(events, trials)[shuffled].tolist()
        )

    def test_who_takes_no_part(self):
        found = excess_p_values([0, 1, 0, 2, 1, 0, 1, 9, 0, NAN], [10] * 8 + [0, 10])
        assert np.isnan(found[8:]).all()
        assert found[:8].tolist() == excess_p_values([0, 1, 0, 2, 1, 0, 1, 9], [10] * 8).tolist()

    @pytest.mark.parametrize("events", [[], [1, 2, 3, 4, 5, 6]])
    def test_too_few(self, events):
        with pytest.warns(StatisticsWarning, match="fewer than six"):
            assert np.isnan(excess_p_values(events, [10] * len(events))).all()

    def test_nobody_has_any(self):
        assert excess_p_values([0] * 9, [10] * 9).tolist() == [1.0] * 9

    def test_all_have_all(self):
        assert (excess_p_values([10] * 9, [10] * 9) > 0.5).all()

    @pytest.mark.parametrize(
        ("events", "trials", "said"),
        [
            ([1.5] * 9, [10] * 9, "events: expected whole"),
            ([-1] * 9, [10] * 9, "events: expected whole"),
            ([1] * 9, [0.5] * 9, "trials: expected whole"),
            ([11] * 9, [10] * 9, "more than trials"),
            ([1] * 9, [10] * 8, "trials: expected 9"),
        ],
    )
    def test_what_is_refused(self, events, trials, said):
        with pytest.raises(InvalidInputError, match=said):
            excess_p_values(events, trials)


def _likelihood(events, trials, share, correlation, unusual):
    size = (1 - correlation) / correlation
    first, second = share * size, (1 - share) * size
    total = 0.0
    for k, n in zip(events, trials, strict=True):
        total += math.log((1 - unusual) * scipy_stats.betabinom.pmf(k, n, first, second) + unusual / (n + 1))
    return total


def _quietly(function, *args, **options):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return function(*args, **options)
