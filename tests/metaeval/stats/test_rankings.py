"""Rank agreement: by hand, scipy, an identity of Kendall's, a slow oracle, invariants, degenerate input."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, rankdata

from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    rank_agreement,
    rank_agreement_contributions,
    rank_pairs,
)

NAN = math.nan
rankings = st.lists(
    st.integers(2, 5).flatmap(
        lambda parts: st.lists(
            st.lists(st.integers(1, 4), min_size=parts, max_size=parts), min_size=1, max_size=4
        )
    ),
    min_size=1,
    max_size=6,
)


def test_by_hand():
    # 1 2 3 against 1 3 2: squared differences 0 1 1, rho = 1 - 6 * 2 / (3 * 8) = 0.5; against 3 2 1 it is -1, and
    # 1 3 2 against 3 2 1: differences 2 1 1, rho = 1 - 6 * 6 / 24 = -0.5. Their mean is -1/3.
    pairs = rank_pairs([[[1, 2, 3], [1, 3, 2], [3, 2, 1]]])
    assert pairs.rho.tolist() == pytest.approx([0.5, -1, -0.5])
    assert rank_agreement_contributions([[[1, 2, 3], [1, 3, 2], [3, 2, 1]]]).tolist() == pytest.approx(
        [-1 / 3]
    )


def test_ties_get_average_ranks():
    # 1 1 2 is 1.5 1.5 3; with 1 2 3 the centred ranks are (-.5 -.5 1) and (-1 0 1): 1.5 / sqrt(1.5 * 2).
    assert rank_pairs([[[1, 1, 2], [1, 2, 3]]]).rho[0] == pytest.approx(1.5 / math.sqrt(3))


def test_the_identity_of_kendall():
    # M. Kendall, "Rank Correlation Methods", ch. 6: without ties the mean rho of all pairs of m rankings is
    # (m W - 1) / (m - 1), W = chi2 / (m (k - 1)) of Friedman's test.
    rng = np.random.default_rng(4)
    m, k = 6, 7
    matrix = np.stack([rng.permutation(k) + 1 for _ in range(m)])
    w = friedmanchisquare(*matrix.T).statistic / (m * (k - 1))
    assert rank_agreement([matrix], n_resamples=0).value == pytest.approx((m * w - 1) / (m - 1))


@given(rankings)
def test_against_a_slow_oracle(items):
    found = rank_agreement_contributions(items)
    for matrix, mean in zip(items, found, strict=True):
        rhos = []
        for one, two in combinations(matrix, 2):
            a, b = rankdata(one), rankdata(two)
            if a.std() > 0 and b.std() > 0:
                rhos.append(float(np.corrcoef(a, b)[0, 1]))
        if rhos:
            assert mean == pytest.approx(sum(rhos) / len(rhos), abs=1e-9)
        else:
            assert math.isnan(mean)


@given(rankings)
def test_only_the_order_matters_and_not_whose_is_first(items):
    found = rank_agreement_contributions(items)
    stretched = [[[10 * rank**2 for rank in row] for row in reversed(matrix)] for matrix in items]
    np.testing.assert_allclose(rank_agreement_contributions(stretched), found, atol=1e-12)
    assert np.all((np.abs(found) <= 1) | np.isnan(found))


def test_two_parts_give_only_one_or_minus_one():
    found = rank_agreement_contributions([[[1, 2], [1, 2]], [[1, 2], [2, 1]]])
    assert found.tolist() == [1, -1]


def test_constant_rankings_have_no_rho_and_are_told_from_zero():
    pairs = rank_pairs([[[1, 1, 1], [1, 2, 3]], [[1], [1]]])
    assert np.isnan(pairs.rho).tolist() == [True, True]
    with pytest.warns(StatisticsWarning, match="not constant"):
        assert math.isnan(rank_agreement([[[1, 1], [1, 2]]]).value)


def test_no_items_and_single_rankings():
    assert len(rank_pairs([]).rho) == 0
    assert np.isnan(rank_agreement_contributions([[[1, 2, 3]]])).all()


def test_a_missing_rank_is_refused():
    with pytest.raises(InvalidInputError, match=r"rankings\[1\]"):
        rank_pairs([[[1, 2], [2, 1]], [[1, NAN], [1, 2]]])


def test_interval_contains_the_value_and_knows_its_bounds():
    rng = np.random.default_rng(0)
    items = [np.stack([rng.permutation(5) + 1 for _ in range(3)]) for _ in range(60)]
    found = rank_agreement(items)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.n == 60
    alike = rank_agreement([[[1, 2, 3], [1, 2, 3]]] * 10)
    assert alike.value == alike.high == 1
    assert alike.low < 1  # ten items without a disagreement do not prove that there is none
