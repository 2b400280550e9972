"""Correlations over items: by hand, scipy, published figures, a slow oracle, invariants, degenerate input, coverage."""

import json
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from metaeval.stats import (
    InvalidInputError,
    Resamples,
    StatisticsWarning,
    correlation,
    correlation_difference,
    krippendorff_alpha,
    person_correlation,
)
from metaeval.stats.weighted_correlation import (
    Columns,
    correlation_of,
    resampled_correlations,
    sums_of_products,
)

NAN = math.nan
METHODS = ("pearson", "spearman", "kendall")
SCIPY = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}
ratings = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=3, max_size=12)


def test_by_hand():
    # Ranks 1 2 3 4 and 1 2 4 3: squared differences 0 0 1 1, rho = 1 - 6 * 2 / (4 * 15) = 0.8.
    assert correlation([1, 2, 3, 9], [1, 2, 8, 5], method="spearman").value == pytest.approx(0.8)
    # Deviations (-1, 0, 1) and (-1, -1, 2): products 1 + 0 + 2 = 3, squares 2 and 6: 3 / sqrt(12).
    assert correlation([1, 2, 3], [1, 1, 4]).value == pytest.approx(3 / math.sqrt(12))


def test_one_person_with_the_mean_of_the_others_by_hand():
    # Three people, three items. Ratings a: 1 2 3, b: 1 3 2, c: 3 2 1.
    # Means of the others: for a 2, 2.5, 1.5: r = -0.5; for b 2, 2, 2 is flat: b does not count;
    # for c 1, 2.5, 2.5: deviations (-1, .5, .5) and (1, 0, -1): -1.5 / sqrt(1.5 * 2).
    items, people = [0, 1, 2] * 3, [0] * 3 + [1] * 3 + [2] * 3
    found = person_correlation((items, people, [1, 2, 3, 1, 3, 2, 3, 2, 1]), n_items=3, fewest=3)
    assert found.value == pytest.approx((-0.5 - 1.5 / math.sqrt(3)) / 2)


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None)
@given(pairs=ratings)
def test_against_scipy(method, pairs):
    one, two = np.array(pairs, dtype=float).T
    if len(set(one)) < 2 or len(set(two)) < 2:
        with pytest.warns(StatisticsWarning):
            assert math.isnan(correlation(one, two, method=method, n_resamples=0).value)
        return
    slow = SCIPY[method](one, two).statistic
    assert correlation(one, two, method=method, n_resamples=0).value == pytest.approx(slow)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=6, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5)), min_size=30, max_size=45))
def test_resamples_against_a_slow_oracle(method, pairs):
    """Draw the clusters one by one, repeat their items, ask scipy: the same percentiles."""
    one, two = np.array(pairs, dtype=float).T
    resamples = Resamples(len(one), 60, 3)
    if len(set(one)) < 2 or len(set(two)) < 2:
        return
    draws = np.concatenate(list(resamples.item_draws())).astype(int)
    assert (draws.sum(axis=1) == len(one)).all()
    slow = np.full(len(draws), np.nan)
    for place, row in enumerate(draws):
        a, b = np.repeat(one, row), np.repeat(two, row)
        if len(set(a)) > 1 and len(set(b)) > 1:
            slow[place] = SCIPY[method](a, b).statistic
    found = resampled_correlations([Columns(one, two, np.ones(len(one)))], resamples, method)[:, 0]
    assert found == pytest.approx(slow, nan_ok=True)
    estimate = correlation(one, two, method=method, resamples=resamples)
    if abs(estimate.value) < 1:
        # Fisher's z, 1.96 or a little more standard deviations of the resamples to either side.
        reach = (math.atanh(estimate.high) - math.atanh(estimate.low)) * (1 - estimate.value**2) / 2
        assert reach == pytest.approx(np.nanstd(slow) * 2.05, rel=0.05)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shared", [True, False])
def test_few_and_many_different_values_are_drawn_alike(method, shared):
    """Ratings are resampled by their few different pairs, by totals or item by item: the same spread."""
    rng = np.random.default_rng(5)
    one = rng.integers(1, 4, 200).astype(float)
    two = one + rng.integers(0, 2, 200)
    asked = [Columns(one, two, np.ones(200))]
    resamples = Resamples(200, 3_000, 1, shared=shared)
    found = resampled_correlations(asked, resamples, method)[:, 0]
    slow = np.concatenate(
        [correlation_of(sums_of_products(one, two, draws, method)) for draws in resamples.item_draws()]
    )
    if shared:
        assert found == pytest.approx(slow)
    assert found.std() == pytest.approx(slow.std(), rel=0.1)
    assert found.mean() == pytest.approx(slow.mean(), abs=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(method):
    rng = np.random.default_rng(6)
    one, two = rng.integers(1, 6, 30) * 1.0, rng.normal(size=30)
    weights = rng.integers(0, 4, 30)
    found = correlation(one, two, method=method, weights=weights, n_resamples=200)
    slow = SCIPY[method](np.repeat(one, weights), np.repeat(two, weights)).statistic
    assert (found.value, found.n) == (pytest.approx(slow), (weights > 0).sum())
    assert found.low < found.value < found.high
    same = correlation(one, two, method=method, weights=weights * 0.3, n_resamples=200)
    assert (same.value, same.low, same.high) == pytest.approx((found.value, found.low, found.high))


def test_units_of_the_ratings_do_not_matter():
    """Not even where squares of deviations are far below one."""
    rng = np.random.default_rng(7)
    one = rng.normal(size=50)
    two = one + rng.normal(size=50)
    found = correlation(one, two, n_resamples=300)
    tiny = correlation(1e-9 * one + 1e-3, 1e7 * two, n_resamples=300)
    assert (tiny.value, tiny.low, tiny.high) == pytest.approx((found.value, found.low, found.high), abs=1e-6)


def test_a_perfect_correlation_is_never_a_point():
    found = correlation(np.arange(20.0), np.arange(20.0), n_resamples=200)
    assert (found.value, found.high) == (1, 1)
    assert found.low < 1


@pytest.mark.slow
def test_a_million_ratings_are_linear_time():
    rng = np.random.default_rng(8)
    one = rng.integers(1, 6, 1_000_000).astype(float)
    two = np.clip(one + rng.integers(-1, 2, 1_000_000), 1, 5)
    start = time.perf_counter()
    found = correlation(one, two, n_resamples=1_000)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(5):
        drawn = rng.integers(0, 1_000_000, 1_000_000)
        pearsonr(one[drawn], two[drawn])
    assert ours < (time.perf_counter() - start) / 5 * 100  # a tenth of a thousand scipy calls
    assert found.high - found.low < 0.01


def test_draws_are_those_of_the_totals():
    rng = np.random.default_rng(2)
    values, clusters = rng.random(50), rng.integers(0, 9, 50)
    for shared in (True, False):
        resamples = Resamples(clusters, 40, 5, shared=shared)
        draws = np.concatenate(list(resamples.item_draws()))
        assert draws.shape == (40, 50)
        assert (draws == np.concatenate(list(resamples.item_draws()))).all()
        # Items of one cluster move together.
        assert all((draws[:, clusters == k][:, 0] == draws[:, clusters == k].T).all() for k in set(clusters))
    shared = Resamples(clusters, 40, 5)
    assert np.concatenate(list(shared.item_draws())) @ values == pytest.approx(
        shared.totals(values[:, np.newaxis])[:, 0]
    )


@pytest.mark.parametrize("method", METHODS)
def test_invariants(method):
    rng = np.random.default_rng(1)
    one, two = rng.normal(size=80), rng.integers(1, 6, 80).astype(float)
    found = correlation(one, two, method=method, n_resamples=300)
    back = correlation(two, one, method=method, n_resamples=300)
    assert (back.value, back.low, back.high) == pytest.approx((found.value, found.low, found.high))
    assert correlation(-one, two, method=method, n_resamples=0).value == pytest.approx(-found.value)
    assert correlation(3 * one + 7, two, method=method, n_resamples=0).value == pytest.approx(found.value)
    if method != "pearson":
        assert correlation(np.exp(one), two, method=method, n_resamples=300) == found
    order = rng.permutation(80)
    assert correlation(one[order], two[order], method=method, n_resamples=0).value == pytest.approx(
        found.value
    )
    gap = correlation_difference(one, -one, two, method=method, n_resamples=300)
    back = correlation_difference(-one, one, two, method=method, n_resamples=300)
    assert (gap.value, gap.low, gap.high) == pytest.approx((-back.value, -back.high, -back.low))
    assert gap.share_better == pytest.approx(1 - back.share_better)
    assert gap.low <= gap.value <= gap.high


def test_missing_items_take_no_part():
    one, two = [1, 2, NAN, 4, 3], [1, 3, 9, 4, NAN]
    found = correlation(one, two, n_resamples=0)
    assert (found.n, found.value) == (3, pytest.approx(pearsonr([1, 2, 4], [1, 3, 4]).statistic))
    with pytest.warns(StatisticsWarning, match="fewer than 3"):
        assert correlation(one, two, where=[True, True, False, False, False], n_resamples=0).value != 0


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        ([], [], "fewer than 3 items"),
        ([1, 2], [2, 1], "fewer than 3 items"),
        ([3, 3, 3], [1, 2, 3], "the ratings are all the same"),
        ([1, 2, 3], [3, 3, 3], "compared with is all the same"),
        ([NAN] * 4, [1, 2, 3, 4], "fewer than 3 items"),
    ],
)
def test_what_is_undefined_says_why(one, two, reason):
    with pytest.warns(StatisticsWarning, match=reason):
        found = correlation(one, two)
    assert (found.as_dict()["value"], reason in found.reason) == (None, True)
    with pytest.warns(StatisticsWarning, match=reason):
        assert correlation_difference(one, one, two).as_dict()["value"] is None


def test_nobody_to_compare():
    with pytest.warns(StatisticsWarning, match="nobody shares 5 items"):
        assert person_correlation(([0, 1], [0, 0], [1, 2]), n_items=2).reason
    with pytest.warns(StatisticsWarning, match="nobody"):
        person_correlation(([], [], []), n_items=0)
    with pytest.raises(InvalidInputError, match="expected items 0 to 1"):
        person_correlation(([0, 2], [0, 0], [1, 2]), n_items=2)
    with pytest.raises(InvalidInputError, match=r"labels \(items\): expected shape"):
        person_correlation(([0], [0, 0], [1, 2]), n_items=2)
    with pytest.raises(InvalidInputError, match="expected shape"):
        correlation([1, 2, 3], [1, 2])
    with pytest.raises(InvalidInputError, match="pearson"):
        correlation([1, 2, 3], [1, 2, 3], method="concordance")


def test_one_cluster_has_no_interval():
    with pytest.warns(StatisticsWarning, match="one cluster"):
        found = correlation_difference([1, 2, 3, 4], [1, 3, 2, 4], [1, 2, 3, 4], clusters=["i"] * 4)
    assert math.isnan(found.low)


def test_equal_judges_are_not_told_apart():
    one = np.arange(30.0)
    found = correlation_difference(one, one, one % 7, n_resamples=200)
    assert (found.value, found.share_better) == (0, 0.5)
    assert not found.low > 0


def test_people_of_newsroom(shared_data):
    """Published alphas of its three raters (ordinal), and the correlations of one with the mean of the other two."""
    labels = json.loads((shared_data / "newsroom" / "newsroom.labels.json").read_text(encoding="utf-8"))
    published = json.loads((shared_data / "newsroom" / "published_newsroom.json").read_text(encoding="utf-8"))
    for criterion, row in next(iter(published.values())).items():
        table = np.array(
            [each["annotations"][criterion]["individual_human_scores"] for each in labels["instances"]], float
        )
        alpha = krippendorff_alpha(table, level="ordinal", n_resamples=0)
        assert alpha.value == pytest.approx(row["krippendorff_alpha"], abs=1e-6)
        slow = [spearmanr(table[:, k], np.delete(table, k, axis=1).mean(axis=1)).statistic for k in range(3)]
        items, people = np.indices(table.shape).reshape(2, -1)
        found = person_correlation(
            (items, people, table.ravel()), n_items=len(table), method="spearman", n_resamples=0
        )
        assert found.value == pytest.approx(np.mean(slow))


@pytest.mark.parametrize(("n", "rho", "least"), [(20, 0.5, 0.9), (60, 0.3, 0.9), (60, 0.9, 0.9)])
def test_coverage(n, rho, least):
    """Of simulated normal pairs the nominal 95% interval holds the true r; 150 draws, so three errors are 5%."""
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(150):
        one = rng.normal(size=n)
        two = rho * one + math.sqrt(1 - rho**2) * rng.normal(size=n)
        found = correlation(one, two, n_resamples=400)
        held += found.low <= rho <= found.high
    assert held / 150 >= least
