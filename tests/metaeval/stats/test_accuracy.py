"""Accuracy, positional agreement and the rates: by hand, against loops, and at the edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    accuracy,
    accuracy_contributions,
    hedging_rate,
    positional_agreement,
    rating_verdicts,
    unparsed_rate,
)

NAN = math.nan
verdict = st.sampled_from([0.0, 1.0, 2.0, NAN])
pairs = st.lists(st.tuples(verdict, verdict), min_size=1, max_size=20)


class TestAccuracy:
    def test_by_hand(self):
        # Both right 1; one right 1/2; one right, one unparsed 1/2; both wrong 0: mean 1/2.
        assert accuracy([[1, 1], [1, 2], [2, NAN], [1, 1]], [1, 1, 2, 2]).value == 0.5
        assert accuracy([1, 2, 2], [1, 1, 2]).value == pytest.approx(2 / 3)

    def test_ties(self):
        # A tie against gold 1 is a hedge: one half, or nothing if told so. Against gold 0 it is right.
        assert accuracy([0, 1], [1, 1]).value == 0.75
        assert accuracy([0, 1], [1, 1], hedge=0).value == 0.5
        assert accuracy([0, 1], [0, 0]).value == 0.5

    def test_unparsed(self):
        verdicts, gold = [1, NAN, NAN, 2], [1, 1, 1, 1]
        assert accuracy(verdicts, gold).value == 0.25
        assert accuracy(verdicts, gold, unparsed="hedge").value == 0.5
        omitted = accuracy(verdicts, gold, unparsed="omit")
        assert (omitted.value, omitted.n) == (0.5, 2)

    def test_items_without_gold_do_not_count(self):
        estimate = accuracy([1, 2, 1], [1, NAN, 2])
        assert (estimate.value, estimate.n) == (0.5, 2)

    @given(pairs, st.data(), st.sampled_from(["wrong", "hedge", "omit"]), st.sampled_from([0.0, 0.25, 0.5]))
    def test_against_a_loop(self, verdicts, data, unparsed, hedge):
        gold = data.draw(
            st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=len(verdicts), max_size=len(verdicts))
        )
        expected = []
        for pair, right in zip(verdicts, gold, strict=True):
            parts = []
            for one in pair:
                if math.isnan(one):
                    if unparsed != "omit":
                        parts.append(hedge if unparsed == "hedge" else 0)
                elif one == right:
                    parts.append(1)
                else:
                    parts.append(hedge if one == 0 else 0)
            expected.append(sum(parts) / len(parts) if parts else NAN)
        found = accuracy_contributions(verdicts, gold, unparsed=unparsed, hedge=hedge)
        np.testing.assert_allclose(found, expected)

    def test_swapping_the_responses_changes_nothing(self):
        rng = np.random.default_rng(0)
        verdicts, gold = rng.choice([0, 1, 2, NAN], (50, 2)), rng.integers(1, 3, 50)
        swapped = np.where((verdicts == 1) | (verdicts == 2), 3 - verdicts, verdicts)
        assert accuracy(verdicts, gold) == accuracy(swapped, 3 - gold)
        assert accuracy(verdicts, gold) == accuracy(verdicts[:, ::-1], gold)

    def test_undefined(self):
        for verdicts, gold in (([], []), ([1, 2], [NAN, NAN])):
            with pytest.warns(StatisticsWarning, match="gold"):
                assert not accuracy(verdicts, gold).defined

    @pytest.mark.parametrize(
        ("verdicts", "gold", "options", "message"),
        [
            ([3], [1], {}, "verdicts: expected 0 .tie., 1, 2 or NaN, found 3"),
            ([1], [5], {}, "gold"),
            ([1, 2], [1], {}, "gold: expected shape"),
            ([1], [1], {"hedge": 2}, "hedge"),
            ([1], [1], {"unparsed": "guess"}, "unparsed"),
        ],
    )
    def test_bad_input(self, verdicts, gold, options, message):
        with pytest.raises(InvalidInputError, match=message):
            accuracy(verdicts, gold, **options)


class TestPositionalAgreement:
    def test_by_hand(self):
        # Same, different, both ties, one unparsed, both unparsed: 2 of 5, or 3 of 5 by the published
        # convention.
        verdicts = [[1, 1], [1, 2], [0, 0], [2, NAN], [NAN, NAN]]
        assert positional_agreement(verdicts).value == 0.4
        assert positional_agreement(verdicts, unparsed_agree=True).value == 0.6

    @given(pairs)
    def test_against_a_loop(self, verdicts):
        expected = sum(one == two for one, two in verdicts) / len(verdicts)
        assert positional_agreement(verdicts, n_resamples=0).value == pytest.approx(expected)

    def test_edges(self):
        with pytest.raises(InvalidInputError, match="both orders"):
            positional_agreement([1, 2])
        with pytest.warns(StatisticsWarning, match="both orders"):
            assert not positional_agreement(np.zeros((0, 2))).defined


class TestRates:
    def test_unparsed(self):
        assert unparsed_rate([[1, NAN], [NAN, NAN], [0, 2]]).value == 0.5
        with pytest.warns(StatisticsWarning, match="no verdicts"):
            assert not unparsed_rate([]).defined

    def test_ratings(self):
        np.testing.assert_array_equal(rating_verdicts([3, 1, 2, NAN], [1, 3, 2, 5]), [1, 2, 0, NAN])
        with pytest.raises(InvalidInputError, match="score_2"):
            rating_verdicts([1, 2], [1])

    def test_hedging(self):
        # Equal, different, missing: 1/3; the missing one as a hedge 2/3; left out 1/2.
        verdicts = rating_verdicts([2, 3, NAN], [2, 1, 4])
        assert hedging_rate(verdicts).value == pytest.approx(1 / 3)
        assert hedging_rate(verdicts, unparsed="hedge").value == pytest.approx(2 / 3)
        assert hedging_rate(verdicts, unparsed="omit").value == 0.5
        with pytest.warns(StatisticsWarning, match="no verdicts"):
            assert not hedging_rate([NAN], unparsed="omit").defined
