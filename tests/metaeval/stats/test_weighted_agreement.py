"""Kappas and alpha of items that were picked with unequal chances: by repetition, by scale, and by simulation."""

import math

import numpy as np
import pytest

from metaeval.stats import cohen_kappa, fleiss_kappa, gwet_ac, krippendorff_alpha, mcnemar_test
from metaeval.stats.errors import InvalidInputError

NAN = math.nan
RNG = np.random.default_rng(11)
N = 60
TRUTH = RNG.integers(1, 5, N).astype(float)
LABELS = np.where(RNG.random((N, 3)) < 0.7, TRUTH[:, None], RNG.integers(1, 5, (N, 3))).astype(float)
LABELS[RNG.random((N, 3)) < 0.15] = NAN
TIMES = RNG.integers(0, 4, N)
LEVELS = ("nominal", "ordinal", "interval", "ratio")


def cohen(labels, weights=None, **options):
    return cohen_kappa(labels[:, 0], labels[:, 1], sampling_weights=weights, **options)


def cohen_quadratic(labels, weights=None, **options):
    return cohen_kappa(labels[:, 0], labels[:, 1], weights="quadratic", sampling_weights=weights, **options)


def fleiss(labels, weights=None, **options):
    return fleiss_kappa(labels, weights=weights, **options)


def gwet(labels, weights=None, **options):
    return gwet_ac(labels, sampling_weights=weights, **options)


def gwet_linear(labels, weights=None, **options):
    return gwet_ac(labels, weights="linear", sampling_weights=weights, **options)


KAPPAS = [cohen, cohen_quadratic, fleiss, gwet, gwet_linear]


def alpha(level):
    def function(labels, weights=None, **options):
        return krippendorff_alpha(labels, level=level, weights=weights, **options)

    function.__name__ = f"alpha-{level}"
    return function


ALL = [*KAPPAS, *map(alpha, LEVELS)]
names = pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.__name__)


def long(labels):
    """The same labels as a table of items, people and values: another way through the code of alpha."""
    item, person = np.nonzero(~np.isnan(labels))
    return item, person, labels[item, person]


@pytest.mark.parametrize("figure", KAPPAS, ids=lambda figure: figure.__name__)
def test_whole_weights_are_items_that_came_more_often(figure):
    copied = figure(
        np.repeat(LABELS, TIMES, axis=0), clusters=np.repeat(np.arange(N), TIMES), n_resamples=500
    )
    weighted = figure(LABELS, TIMES, n_resamples=500)
    assert weighted.value == pytest.approx(copied.value)
    assert weighted.n_clusters == copied.n_clusters
    # The same sums by cluster, up to a factor that cancels: the same interval but for the draws of empty clusters.
    assert weighted.low == pytest.approx(copied.low, abs=0.02)
    assert weighted.high == pytest.approx(copied.high, abs=0.02)


@pytest.mark.parametrize("level", LEVELS)
def test_whole_weights_and_alpha(level):
    """Alpha is 1 - (n - 1) / n of a ratio, n being how many labels there are; repeating adds to them."""
    copies = np.repeat(LABELS, TIMES, axis=0)

    def labels_of(table):
        counts = (~np.isnan(table)).sum(axis=1)
        return counts[counts > 1].sum()

    n_copied, n = labels_of(copies), labels_of(LABELS[TIMES > 0])
    copied = krippendorff_alpha(copies, level=level, n_resamples=0).value
    weighted = krippendorff_alpha(LABELS, level=level, weights=TIMES, n_resamples=0).value
    assert (1 - weighted) / (1 - 1 / n) == pytest.approx((1 - copied) / (1 - 1 / n_copied))


@names
def test_the_scale_says_nothing_and_equal_weights_change_nothing(figure):
    weights = RNG.random(N) + 0.1
    one, other = figure(LABELS, weights), figure(LABELS, 1000 * weights)
    for name in ("value", "low", "high"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)
    assert figure(LABELS, np.full(N, 7.0)) == figure(LABELS)


@names
def test_an_item_of_weight_0_is_as_good_as_not_there(figure):
    weights = np.where(LABELS[:, 0] == 4, 0.0, 1.0 + np.arange(N) % 3)
    there = weights > 0
    without = figure(LABELS[there], weights[there], n_resamples=0)
    assert figure(LABELS, weights, n_resamples=0).value == pytest.approx(without.value)
    assert figure(LABELS, weights, n_resamples=0).n == without.n
    with pytest.warns(UserWarning, match="no item"):
        assert math.isnan(figure(LABELS, np.zeros(N)).value)


@pytest.mark.parametrize("level", LEVELS)
def test_many_values_give_the_same_alpha(level):
    """Nine values or more of a long table are held as a sparse matrix."""
    table = np.where(np.isnan(LABELS), NAN, LABELS + 4 * (np.arange(N) % 5)[:, None])
    weights = RNG.random(N) + 0.1
    dense = krippendorff_alpha(table, level=level, weights=weights, n_resamples=400)
    sparse = krippendorff_alpha(long(table), level=level, weights=weights, n_resamples=400)
    assert sparse.value == pytest.approx(dense.value)
    assert (sparse.low, sparse.high) == pytest.approx((dense.low, dense.high), abs=0.02)


@names
def test_it_estimates_the_figure_of_all_items(figure):
    """Items on which people differ are picked nine times as often: unweighted it is too low, weighted it is right."""
    rng = np.random.default_rng(3)
    size = 4_000
    truth = rng.integers(1, 5, size).astype(float)
    hard = rng.random(size) < 0.3
    right = rng.random((size, 3)) < np.where(hard, 0.4, 0.95)[:, None]
    labels = np.where(right, truth[:, None], rng.integers(1, 5, (size, 3)))
    chance = np.where(hard, 0.9, 0.1)
    whole = figure(labels, n_resamples=0).value
    weighted, plain, covered = [], [], 0
    for _ in range(40):
        drawn = rng.random(size) < chance
        found = figure(labels[drawn], 1 / chance[drawn], n_resamples=200)
        covered += found.low <= whole <= found.high
        weighted.append(found.value)
        plain.append(figure(labels[drawn], n_resamples=0).value)
    assert np.mean(plain) < whole - 0.1
    assert np.mean(weighted) == pytest.approx(whole, abs=0.01)
    assert covered >= 34


def test_wrong_weights_are_refused_by_their_name():
    for weights in (np.ones(3), -np.ones(N), np.full(N, NAN), ["x"] * N):
        for function in (cohen, gwet):
            with pytest.raises(InvalidInputError, match="sampling_weights"):
                function(LABELS, weights)
        with pytest.raises(InvalidInputError, match="weights"):
            krippendorff_alpha(LABELS, weights=weights)


def test_mcnemar_takes_none():
    with pytest.raises(TypeError):
        mcnemar_test([1, 0], [0, 1], weights=[1, 2])
