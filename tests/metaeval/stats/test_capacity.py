"""Capacity curves: every p-value against the test itself, the capacity, and degenerate input."""

import csv
import itertools
import math

import numpy as np
import pytest

from metaeval.stats.capacity import capacity_curve
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.hypothesis_tests import paired_permutation_test, paired_t_test


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(1)
    skill = np.linspace(0.35, 0.65, 6)
    return (rng.random((300, 6)) < skill).astype(float), np.repeat(np.arange(100), 3)


class TestWholeSet:
    """With one size, all of the clusters, nothing is left to chance: quantiles of the tests themselves."""

    @pytest.mark.parametrize(
        ("name", "test"),
        [
            ("t", paired_t_test),
            ("permutation", lambda *args, **kw: paired_permutation_test(*args, **kw, n_permutations=4_000)),
        ],
    )
    def test_quantiles_of_the_p_values(self, models, name, test):
        scores, clusters = models
        scores = scores[:, :4].copy()
        scores[:7, 2] = np.nan
        expected = [
            test(scores[:, one], scores[:, two], clusters=clusters).p_value
            for one, two in itertools.combinations(range(4), 2)
        ]
        curve = capacity_curve(
            scores,
            sizes=[100],
            n_draws=1,
            test=name,
            clusters=clusters,
            n_permutations=4_000,
            quantiles=(0, 0.5, 1),
        )
        tolerance = 1e-9 if name == "t" else 0.04
        assert curve.p_values[0] == pytest.approx(np.quantile(expected, [0, 0.5, 1]), abs=tolerance)
        assert curve.share_significant[0] == pytest.approx(np.mean(np.array(expected) <= 0.05))
        assert curve.spread[0].tolist() == [0, 0, 0]
        assert (curve.n_pairs, curve.n_clusters) == (6, 100)

    def test_a_mapping_is_the_same(self, models):
        scores, clusters = models
        named = {f"model {column}": scores[:, column] for column in range(6)}
        one = capacity_curve(named, sizes=[20, 50], n_draws=5, clusters=clusters)
        two = capacity_curve(scores, sizes=[50, 20], n_draws=5, clusters=clusters)
        assert (one.p_values == two.p_values).all()
        assert one.sizes.tolist() == [20, 50]


def test_p_values_fall_with_the_size_and_the_capacity_is_where_they_are_small(models):
    scores, clusters = models
    curve = capacity_curve(scores, sizes=[10, 25, 50, 100], n_draws=40, clusters=clusters, alpha=0.3)
    eighty = curve.p_values[:, list(curve.quantiles).index(0.8)]
    assert (np.diff(eighty) < 0).all()
    assert (np.diff(curve.share_significant) > 0).all()
    below = curve.sizes[eighty < 0.3]
    assert curve.capacity == below[0]
    assert curve.spread[0, 1] > curve.spread[2, 1] > 0


def test_the_capacity_of_another_quantile(models):
    scores, _ = models
    easy = capacity_curve(scores, n_draws=5, capacity_quantile=0.1)
    hard = capacity_curve(scores, n_draws=5, capacity_quantile=1.0)
    assert easy.capacity < easy.n_clusters
    assert math.isnan(hard.capacity)
    assert len(easy.sizes) == 12
    assert easy.sizes[[0, -1]].tolist() == [10, 300]


def test_equal_models_are_never_told_apart():
    scores = np.repeat(np.random.default_rng(2).random((50, 1)), 3, axis=1)
    curve = capacity_curve(scores, sizes=[10, 50], n_draws=3)
    assert (curve.p_values == 1).all()
    assert math.isnan(curve.capacity)
    assert (curve.share_significant == 0).all()


def test_where_all_differ_by_the_same_sign_flips_decide():
    # Two models, one always better: 2 ways of the 2 ** C.
    curve = capacity_curve(np.c_[np.ones(20), np.zeros(20)], sizes=[4, 8, 20], n_draws=2, quantiles=[0.5])
    assert curve.p_values[:, 0] == pytest.approx([2 / 2**4, 2 / 2**8, 2 / 2**20])
    assert curve.capacity == 8


def test_pairs_without_common_items():
    nan = math.nan
    with pytest.warns(StatisticsWarning, match="share two clusters"):
        apart = capacity_curve([[1, nan], [0, nan], [nan, 1]], sizes=[3], n_draws=1)
    assert "share two clusters" in apart.reason
    assert np.isnan(apart.p_values).all()
    assert math.isnan(apart.capacity)
    # A third model shares items with both: its pairs count.
    joined = capacity_curve(
        [[1, nan, 0], [0, nan, 1], [1, nan, 0], [nan, 1, 0], [nan, 0, 1]], sizes=[5], n_draws=1
    )
    assert np.isfinite(joined.p_values).all()


def test_same_seed_same_curve(models):
    scores, _ = models
    curves = [capacity_curve(scores, sizes=[30], n_draws=4, rng=rng) for rng in (5, 5, 6)]
    assert (curves[0].p_values == curves[1].p_values).all()
    assert (curves[0].p_values != curves[2].p_values).any()


def test_selection(models):
    scores, clusters = models
    some = clusters < 40
    curve = capacity_curve(scores, sizes=[40], n_draws=1, clusters=clusters, where=some)
    alone = capacity_curve(scores[some], sizes=[40], n_draws=1, clusters=clusters[some])
    assert (curve.p_values == alone.p_values).all()


def test_alpaca_evals_models(shared_data):
    """30 models on 805 instructions: 200 leave a fifth of the pairs above 0.15, all of them settle four fifths."""
    scores = {}
    with (shared_data / "alpaca_eval" / "model_preferences.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            column = scores.setdefault(row["model"], np.full(805, np.nan))
            column[int(row["index"])] = float(row["preference"] or "nan") - 1
    curve = capacity_curve(scores, sizes=[50, 200, 805], n_draws=20)
    assert (curve.n_pairs, curve.capacity) == (435, 805)
    assert curve.p_values[:, 1] == pytest.approx([0.425, 0.192, 0.013], abs=0.05)


def test_bad_input():
    for call, match in [
        (lambda: capacity_curve([[1], [0]]), "2 or more models"),
        (lambda: capacity_curve({"a": [1], "b": [1, 0]}), "different numbers"),
        (lambda: capacity_curve([[1, 0]] * 5, sizes=[6]), "sizes"),
        (lambda: capacity_curve([[1, 0]] * 5, sizes=[1]), "sizes"),
        (lambda: capacity_curve([[1, 0]]), "two clusters"),
        (lambda: capacity_curve([[1, 0]] * 5, quantiles=[2]), "quantiles"),
        (lambda: capacity_curve([[1, 0]] * 5, alpha=1), "alpha"),
        (lambda: capacity_curve([[1, 0]] * 5, n_draws=0), "n_draws"),
        (lambda: capacity_curve([[1, 0]] * 5, test="u"), "test"),
    ]:
        with pytest.raises(InvalidInputError, match=match):
            call()
