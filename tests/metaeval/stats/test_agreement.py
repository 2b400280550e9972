"""Percent agreement, tolerant accuracy, self-consistency: by hand, an oracle, invariants, degenerate input."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.agreement import (
    percent_agreement,
    self_consistency,
    self_consistency_contributions,
    tolerant_accuracy,
    tolerant_accuracy_contributions,
)
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.pairs import pairwise_agreement
from tests.metaeval.stats.test_kappa import people
from tests.metaeval.stats.test_pairs import FLEISS

NAN = math.nan
rows = st.lists(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, NAN]), min_size=4, max_size=4), min_size=1, max_size=7
)


class TestPercentAgreement:
    def test_by_hand(self):
        # 1 1 1 2: 3 of 6 pairs; 1 1: 1 of 1.
        labels = [[1, 1, 1, 2], [1, 1, NAN, NAN], [3, NAN, NAN, NAN]]
        found = percent_agreement(labels)
        assert (found.value, found.n) == (0.75, 2)
        assert percent_agreement(labels, average="pairs").value == pytest.approx(4 / 7)

    def test_the_published_observed_agreement_of_fleiss(self):
        labels = np.array([np.repeat([1, 2, 3, 4, 5], counts) for counts in FLEISS])
        assert percent_agreement(labels).value == pytest.approx(0.378, abs=5e-4)

    def test_as_in_irrcac(self):
        # irrCAC 0.4.4: CAC(pd.DataFrame(people("some missing")), digits=12).gwet()["est"]["pa"].
        assert percent_agreement(people("some missing")).value == pytest.approx(0.638095238095, abs=1e-11)

    @given(rows)
    @settings(deadline=None)
    def test_against_the_oracle(self, items):
        pairs = [list(combinations([x for x in row if not math.isnan(x)], 2)) for row in items]
        pairs = [one for one in pairs if one]
        if not pairs:
            with pytest.warns(StatisticsWarning, match="no item has two labels"):
                assert math.isnan(percent_agreement(items).value)
            return
        shares = [sum(a == b for a, b in one) / len(one) for one in pairs]
        assert percent_agreement(items, n_resamples=0).value == pytest.approx(np.mean(shares))
        every = [a == b for one in pairs for a, b in one]
        assert percent_agreement(items, average="pairs", n_resamples=0).value == pytest.approx(np.mean(every))

    def test_it_is_pairwise_agreement_without_a_tolerance(self):
        assert percent_agreement(people()) == pairwise_agreement(people(), tolerance=0)

    def test_bad_input(self):
        with pytest.raises(InvalidInputError, match="average"):
            percent_agreement([[1, 1]], average="labels")


class TestTolerantAccuracy:
    def test_by_hand(self):
        # 5 against 4 and 3 against 3 are within one, 1 against 4 is not, an unparsed one is wrong; no gold, no part.
        verdicts, gold = [5, 3, 1, NAN, 2], [4, 3, 4, 2, NAN]
        found = tolerant_accuracy(verdicts, gold)
        assert (found.value, found.n) == (0.5, 4)
        assert tolerant_accuracy(verdicts, gold, unparsed="omit").value == pytest.approx(2 / 3)
        assert tolerant_accuracy(verdicts, gold, tolerance=0).value == 0.25

    def test_two_runs_are_averaged(self):
        assert tolerant_accuracy_contributions([[5, 3], [5, NAN]], [5, 5]).tolist() == [0.5, 0.5]
        assert tolerant_accuracy_contributions([[5, NAN]], [5], unparsed="omit").tolist() == [1]

    def test_one_is_one_whatever_its_last_digit(self):
        assert tolerant_accuracy_contributions([1.1], [0.1]).tolist() == [1]

    @given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=30))
    @settings(deadline=None)
    def test_against_the_oracle_and_wider_is_never_worse(self, pairs):
        verdicts, gold = np.array(pairs).T
        values = [tolerant_accuracy(verdicts, gold, tolerance=t, n_resamples=0).value for t in range(5)]
        assert values == [np.mean([abs(a - b) <= t for a, b in pairs]) for t in range(5)]
        assert values == sorted(values)
        assert values[-1] == 1

    def test_undefined_and_bad_input(self):
        with pytest.warns(StatisticsWarning, match="gold"):
            assert math.isnan(tolerant_accuracy([1], [NAN]).value)
        with pytest.raises(InvalidInputError, match="tolerance"):
            tolerant_accuracy([1], [1], tolerance=-1)
        with pytest.raises(InvalidInputError, match="gold"):
            tolerant_accuracy([1], [1, 2])
        with pytest.raises(InvalidInputError, match="unparsed"):
            tolerant_accuracy([1], [1], unparsed="hedge")


class TestSelfConsistency:
    def test_by_hand(self):
        assert self_consistency([[1, 1, 2], [2, 2, 2]]).value == pytest.approx((1 / 3 + 1) / 2)

    def test_unparsed(self):
        # Of three samples two are parsed and equal: one of three pairs, or one of one.
        samples = [[1, 1, NAN], [NAN, NAN, NAN]]
        assert self_consistency_contributions(samples).tolist() == pytest.approx([1 / 3, 0])
        np.testing.assert_equal(self_consistency_contributions(samples, unparsed="omit"), [1, NAN])

    @given(rows)
    @settings(deadline=None)
    def test_against_the_oracle(self, samples):
        expected = [np.mean([a == b for a, b in combinations(row, 2)]) for row in samples]
        assert self_consistency_contributions(samples).tolist() == pytest.approx(expected)

    def test_a_constant_judge_has_an_interval(self):
        found = self_consistency(np.ones((30, 3)))
        assert (found.value, found.high) == (1, 1)
        assert found.low < 0.95

    def test_undefined(self):
        with pytest.warns(StatisticsWarning, match="no item has two samples"):
            assert math.isnan(self_consistency([1, 2, 1]).value)
        with pytest.raises(InvalidInputError, match="unparsed"):
            self_consistency([[1, 1]], unparsed="hedge")
