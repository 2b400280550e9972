"""P-values adjusted for a family: against statsmodels and scipy, and comparisons of all judges."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.hypothesis_tests import paired_permutation_test
from metaeval.stats.multiple_testing import adjust_p_values, compare_all

NAN = math.nan
METHODS = ["holm", "bonferroni", "benjamini_hochberg", "benjamini_yekutieli"]

# The p-values of Benjamini and Hochberg's kind of example; the figures: statsmodels 0.15.0,
# multipletests(P_VALUES, method=...)[1] with holm, bonferroni, fdr_bh, fdr_by, to ten digits.
P_VALUES = [
    0.001,
    0.008,
    0.039,
    0.041,
    0.042,
    0.06,
    0.074,
    0.205,
    0.212,
    0.216,
    0.222,
    0.251,
    0.269,
    0.275,
    0.34,
]
STATSMODELS = {
    "holm": [0.015, 0.112, 0.507, 0.507, 0.507, 0.6, 0.666, *[1.0] * 8],
    "bonferroni": [0.015, 0.12, 0.585, 0.615, 0.63, 0.9, *[1.0] * 9],
    "benjamini_hochberg": [0.015, 0.06, *[0.126] * 3, 0.15, 0.1585714286, *[0.2946428571] * 7, 0.34],
    "benjamini_yekutieli": [
        *(0.0497734349, 0.1990937396, *[0.4180968531] * 3, 0.497734349, 0.5261763118, *[0.9776924712] * 7),
        1.0,
    ],
}


@pytest.mark.parametrize("method", METHODS)
def test_is_statsmodels(method):
    shuffled = np.random.default_rng(1).permutation(len(P_VALUES))
    found = adjust_p_values(np.array(P_VALUES)[shuffled], method=method)
    assert found == pytest.approx(np.array(STATSMODELS[method])[shuffled], rel=1e-9)


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@settings(deadline=None)
@given(p_values)
def test_is_scipys_false_discovery_control(values):
    for method, theirs in (("benjamini_hochberg", "bh"), ("benjamini_yekutieli", "by")):
        assert adjust_p_values(values, method=method) == pytest.approx(
            stats.false_discovery_control(values, method=theirs)
        )


@settings(deadline=None)
@given(p_values, st.sampled_from(METHODS))
def test_invariants(values, method):
    found = adjust_p_values(values, method=method)
    assert ((found >= np.array(values) - 1e-15) & (found <= 1)).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    if method == "holm":
        assert (found <= adjust_p_values(values, method="bonferroni")).all()
    assert adjust_p_values(values[:1], method=method).tolist() == values[:1]


def test_holm_by_hand():
    # 0.01 * 3, then 0.03 * 2, and 0.04 * 1 is not below what came before.
    assert adjust_p_values([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])


def test_a_test_that_could_not_be_made_takes_no_part():
    found = adjust_p_values([[0.01, NAN], [0.04, 0.03]])
    assert found.shape == (2, 2)
    assert found[0, 0] == pytest.approx(0.03)
    assert math.isnan(found[0, 1])
    assert np.isnan(adjust_p_values([NAN])).all()
    assert adjust_p_values([]).shape == (0,)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        adjust_p_values([1.1])
    with pytest.raises(InvalidInputError, match="method"):
        adjust_p_values([0.1], method="sidak")
    with pytest.raises(InvalidInputError, match="against"):
        compare_all({"a": [1], "b": [0]}, against="c")


class TestCompareAll:
    SCORES = {"good": [1] * 20, "bad": [1, 0] * 10, "same": [1] * 20}

    def test_all_pairs_by_hand(self):
        # Twice 10 to 0, p = 2 / 2 ** 10 each, and once nothing: Holm's factors are 3, 2 and 1.
        found = compare_all(self.SCORES)
        assert [(one.first, one.second) for one in found] == [
            ("good", "bad"),
            ("good", "same"),
            ("bad", "same"),
        ]
        assert [one.adjusted_p_value for one in found] == pytest.approx([6 / 2**10, 1, 6 / 2**10])
        assert found[0].test == paired_permutation_test(self.SCORES["good"], self.SCORES["bad"])

    def test_against_one(self):
        found = compare_all(self.SCORES, against="bad", method="benjamini_yekutieli")
        assert [(one.first, one.second) for one in found] == [("good", "bad"), ("same", "bad")]
        assert [one.adjusted_p_value for one in found] == pytest.approx([1.5 * 2 / 2**10] * 2)

    def test_a_large_family_draws_enough_to_find_something(self):
        rng = np.random.default_rng(2)
        scores = {str(judge): rng.random(60) for judge in range(12)}
        scores["best"] = rng.random(60) + 1
        found = [one for one in compare_all(scores, n_permutations=10) if one.second == "best"]
        assert found[0].test.method == "sign flips, 7800 drawn"
        assert max(one.adjusted_p_value for one in found) <= 0.01

    def test_a_pair_without_common_items(self):
        with pytest.warns(StatisticsWarning, match="no item is scored for both"):
            found = compare_all({"a": [1, 1, NAN, NAN], "b": [NAN, NAN, 1, 0], "c": [1, 0, 1, 1]})
        assert math.isnan(found[0].adjusted_p_value)
        assert found[1].adjusted_p_value == 1

    def test_one_judge_has_nobody_to_be_compared_with(self):
        assert compare_all({"a": [1, 0]}) == ()
