"""Pairwise agreement: by hand, a published figure, a slow oracle, invariants, degenerate input."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    pairwise_agreement,
    pairwise_agreement_contributions,
)

NAN = math.nan
# J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76 (1971), in the
# form in which it is taught: 10 subjects, 14 raters, 5 categories; the mean of the P_i is 0.378.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip

ratings = st.lists(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, NAN]), min_size=4, max_size=4), min_size=1, max_size=8
)


def test_by_hand():
    # 1 1 2: of its three pairs one is equal and all are within 1. 5 3 1: none equal, none within 1, two within 2.
    labels = [[1, 1, 2], [5, 3, 1]]
    assert pairwise_agreement_contributions(labels).tolist() == pytest.approx([1 / 3, 0])
    assert pairwise_agreement_contributions(labels, tolerance=1).tolist() == [1, 0]
    assert pairwise_agreement(labels, tolerance=2).value == pytest.approx((1 + 2 / 3) / 2)


def test_the_observed_agreement_of_fleiss():
    labels = [np.repeat([1, 2, 3, 4, 5], counts) for counts in FLEISS]
    assert pairwise_agreement(np.array(labels)).value == pytest.approx(0.378, abs=5e-4)


@given(ratings, st.sampled_from([0.0, 1.0, 2.0]))
def test_against_a_slow_oracle(items, tolerance):
    found = pairwise_agreement_contributions(items, tolerance=tolerance)
    for row, share in zip(items, found, strict=True):
        pairs = list(combinations([x for x in row if not math.isnan(x)], 2))
        if not pairs:
            assert math.isnan(share)
        else:
            assert share == pytest.approx(sum(abs(a - b) <= tolerance for a, b in pairs) / len(pairs))


@given(ratings)
def test_a_wider_tolerance_never_agrees_less_and_order_does_not_matter(items):
    narrow, wide = (pairwise_agreement_contributions(items, tolerance=t) for t in (0, 1))
    assert np.all((narrow <= wide) | np.isnan(narrow))
    turned = pairwise_agreement_contributions([row[::-1] for row in items])
    np.testing.assert_allclose(turned, narrow)


def test_a_distance_of_one_is_one_whatever_its_last_digit():
    assert pairwise_agreement_contributions([[0.1, 1.1]], tolerance=1).tolist() == [1]


def test_undefined_without_a_pair():
    with pytest.warns(StatisticsWarning, match="no item has two labels"):
        assert math.isnan(pairwise_agreement([[1, NAN], [NAN, NAN]]).value)


def test_a_tolerance_is_a_distance():
    for wrong in (-1, NAN):
        with pytest.raises(InvalidInputError, match="tolerance"):
            pairwise_agreement([[1, 2]], tolerance=wrong)


def test_clusters_move_together():
    labels = [[1, 1], [1, 1], [1, 2], [1, 2]] * 15
    apart = pairwise_agreement(labels)
    together = pairwise_agreement(labels, clusters=np.repeat(np.arange(30), 2))
    assert apart.value == together.value == 0.5
    assert together.high - together.low > 1.2 * (apart.high - apart.low)


def test_long_format_and_many_values_are_the_same():
    labels = np.random.default_rng(0).integers(0, 40, size=(30, 3)).astype(float)
    labels[0, 1:] = NAN
    item, annotator = np.nonzero(~np.isnan(labels))
    long = pairwise_agreement((item, annotator, labels[item, annotator]), tolerance=5)
    assert long == pairwise_agreement(labels, tolerance=5)
