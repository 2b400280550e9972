"""Importance of aspects: by hand, scipy, the printed formula, what has no rho, the table of TOWER."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from metaeval.stats import InvalidInputError, StatisticsWarning, mean_estimate, rank_agreement
from metaeval.stats.importance import importance_agreement, importance_agreement_by_annotator

pairs = st.lists(
    st.integers(2, 6).flatmap(
        lambda k: st.tuples(*[st.lists(st.integers(1, 4), min_size=k, max_size=k) for _ in range(2)])
    ),
    min_size=1,
    max_size=6,
)


def test_by_hand():
    # 1 2 3 against 1 3 2: 1 - 6 * 2 / 24 = 0.5. Two aspects in the same order: 1. A constant side: none. Mean 0.75.
    first, second = [[1, 2, 3], [1, 2], [2, 2], None], [[1, 3, 2], [1, 2], [1, 2], [1, 2]]
    found = importance_agreement(first, second, n_resamples=0)
    assert found.value == pytest.approx(0.75)
    assert (found.n, found.n_undefined, found.n_missing, found.share_two) == (2, 1, 1, 0.5)
    assert found.rhos.tolist() == pytest.approx([0.5, 1, math.nan, math.nan], nan_ok=True)
    assert found.as_dict()["n_undefined"] == 1


@settings(deadline=None)
@given(pairs)
def test_as_scipy(items):
    slow = [
        spearmanr(one, two).statistic if len(set(one)) > 1 and len(set(two)) > 1 else math.nan
        for one, two in items
    ]
    first, second = zip(*items, strict=True)
    if np.isnan(slow).all():
        with pytest.warns(StatisticsWarning, match="no instruction has a rho"):
            found = importance_agreement(first, second)
    else:
        found = importance_agreement(first, second, n_resamples=0)
        assert found.value == pytest.approx(np.nanmean(slow))
    assert found.rhos == pytest.approx(np.array(slow), nan_ok=True)
    assert found.n_undefined == np.isnan(slow).sum()


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_without_ties_the_printed_formula_is_spearmans(one, two):
    found = importance_agreement([one], [two], n_resamples=0)
    printed = importance_agreement([one], [two], preset="tower", n_resamples=0)
    assert printed.value == pytest.approx(found.value)


def test_the_printed_formula_ranks_equal_aspects_as_stated():
    # Constant weights rank 1 2 3 as stated, so they agree fully with 1 2 3 and are opposite to 3 2 1.
    constant = [[1, 1, 1]]
    options = {"preset": "tower", "second_is": "weights", "n_resamples": 0}
    assert importance_agreement([[1, 2, 3]], constant, **options).value == 1
    assert importance_agreement([[3, 2, 1]], constant, **options).value == -1
    # Weights 1, 1/2, 1/2 rank 1 2 3; against 1 3 2: 1 - 6 * 2 / 24. With average ranks 1 2.5 2.5: sqrt(3) / 2.
    tree = [[1, 0.5, 0.5]]
    assert importance_agreement([[1, 3, 2]], tree, **options).value == pytest.approx(0.5)
    averaged = importance_agreement([[1, 3, 2]], tree, second_is="weights", n_resamples=0)
    assert averaged.value == pytest.approx(math.sqrt(3) / 2)


def test_ranks_and_weights():
    first, weights = [[1, 2, 3, 4]], [[0.9, 0.5, 0.4, 0.1]]
    assert importance_agreement(first, weights, second_is="weights", n_resamples=0).value == pytest.approx(1)
    assert importance_agreement(first, weights, n_resamples=0).value == pytest.approx(-1)
    both = importance_agreement(weights, weights, first_is="weights", second_is="weights", n_resamples=0)
    assert both.value == pytest.approx(1)


def test_means_over_annotators_and_methods():
    rng = np.random.default_rng(1)
    sizes = rng.integers(2, 7, 40)
    people = {name: [rng.permutation(k) for k in sizes] for name in "ABC"}
    people["C"][3] = None
    tree = [1 / (1 + np.argsort(rng.permutation(k))) for k in sizes]
    found = importance_agreement_by_annotator(people, {"tree": tree}, n_resamples=200)
    for name, ranks in people.items():
        alone = importance_agreement(tree, ranks, first_is="weights", n_resamples=0)
        assert found.cells["tree", name].value == pytest.approx(alone.value)
        assert found.cells["tree", name].n_missing == (name == "C")
    assert found.methods["tree"].value == pytest.approx(
        np.mean([each.value for each in found.cells.values()])
    )
    assert found.people.value == pytest.approx(np.mean([each.value for each in found.pairs.values()]))
    assert found.annotators["A"].value == pytest.approx(
        (found.pairs["A", "B"].value + found.pairs["A", "C"].value) / 2
    )
    assert found.methods["tree"].low < found.methods["tree"].value < found.methods["tree"].high
    assert found.people.n == 40


def test_two_people_are_the_rank_agreement():
    rng = np.random.default_rng(2)
    people = {name: [rng.permutation(4) for _ in range(20)] for name in "AB"}
    found = importance_agreement_by_annotator(people, n_resamples=0)
    both = [np.stack(each) for each in zip(people["A"], people["B"], strict=True)]
    assert found.people.value == pytest.approx(rank_agreement(both, n_resamples=0).value)
    assert importance_agreement_by_annotator({"A": people["A"]}, n_resamples=0).people is None


def test_interval_is_of_the_instructions():
    rng = np.random.default_rng(3)
    first, second = ([rng.permutation(5) for _ in range(30)] for _ in range(2))
    clusters = np.arange(30) // 3
    found = importance_agreement(first, second, clusters=clusters, n_resamples=300)
    plain = mean_estimate(found.rhos, bounds=(-1, 1), clusters=clusters, n_resamples=300)
    assert (found.low, found.high, found.n_clusters) == (plain.low, plain.high, 10)
    some = importance_agreement(first, second, where=clusters < 5, n_resamples=0)
    assert (some.n, some.value) == (15, pytest.approx(found.rhos[:15].mean()))


def test_refused():
    with pytest.raises(InvalidInputError, match="2 instructions"):
        importance_agreement([[1, 2], [1, 2]], [[1, 2]])
    with pytest.raises(InvalidInputError, match=r"second\[0\]: expected 2 aspects"):
        importance_agreement([[1, 2]], [[1, 2, 3]])
    with pytest.raises(InvalidInputError, match="one number an aspect"):
        importance_agreement([[1, math.nan]], [[1, 2]])
    with pytest.raises(InvalidInputError, match="preset"):
        importance_agreement([[1, 2]], [[1, 2]], preset="paper")
    with pytest.raises(InvalidInputError, match="ranks"):
        importance_agreement([[1, 2]], [[1, 2]], first_is="scores")
    with pytest.raises(InvalidInputError, match="one annotator"):
        importance_agreement_by_annotator({})
