"""Correlation inside groups: by hand, scipy, both kinds of groups, what is left out, coverage."""

import json
import math

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from metaeval.stats import InvalidInputError, Resamples, StatisticsWarning
from metaeval.stats.correlation import correlation
from metaeval.stats.correlation_by import correlation_by

NAN = math.nan
SCIPY = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


def grouped(rng, n_groups=30, size=6):
    groups = np.repeat(np.arange(n_groups), size)
    one = rng.normal(size=n_groups)[groups] * 3 + rng.normal(size=len(groups))
    two = rng.normal(size=n_groups)[groups] * 3 + one + rng.normal(size=len(groups))
    return one, two, groups


def test_by_hand():
    # Group a: r = 1; group b: (1, 2, 3) and (2, 1, 3): deviations (-1, 0, 1), (0, -1, 1): r = 1 / 2. Pooled: products
    # 2 + 1, squares 2 + 2 and 2 + 2: r = 3 / 4. Group c is constant on one side: in the mean it is counted as
    # undefined, pooled it adds its squares (2) to one side: 3 / sqrt(4 * 6).
    one, two, groups = [1, 2, 3, 1, 2, 3], [1, 2, 3, 2, 1, 3], list("aaabbb")
    assert correlation_by(one, two, groups, n_resamples=0).value == pytest.approx(0.75)
    assert correlation_by(one, two, groups, aggregate="pooled", n_resamples=0).value == pytest.approx(0.75)
    one, two, groups = [*one, 5, 5, 5], [*two, 1, 2, 3], [*groups, *"ccc"]
    found = correlation_by(one, two, groups, n_resamples=0)
    assert (found.value, found.n, found.n_undefined, found.names) == (0.75, 2, 1, ("a", "b", "c"))
    pooled = correlation_by(one, two, groups, aggregate="pooled", n_resamples=0)
    assert pooled.value == pytest.approx(3 / math.sqrt(4 * 6))


@pytest.mark.parametrize("method", list(SCIPY))
@pytest.mark.parametrize("groups_are", ["sampled", "fixed"])
def test_every_group_as_scipy(method, groups_are):
    rng = np.random.default_rng(1)
    one, two, groups = grouped(rng, 12, 9)
    one = np.round(one)  # ties
    found = correlation_by(one, two, groups, method=method, groups_are=groups_are, n_resamples=50)
    slow = [SCIPY[method](one[groups == k], two[groups == k]).statistic for k in range(12)]
    assert found.values == pytest.approx(np.array(slow))
    assert found.value == pytest.approx(np.mean(slow))
    assert found.low <= found.value <= found.high
    assert np.isnan(found.group_low).all() == (groups_are == "sampled")


def test_pooled_kendall_counts_pairs_within_groups():
    rng = np.random.default_rng(2)
    one, two = rng.integers(1, 6, 60) * 1.0, rng.integers(1, 6, 60) * 1.0
    groups = np.repeat(np.arange(15), 4)
    same = (groups[:, None] == groups) & np.triu(np.ones((60, 60), bool), 1)
    a, b = (np.sign(side[:, None] - side)[same] for side in (one, two))
    slow = (a * b).sum() / math.sqrt((a != 0).sum() * (b != 0).sum())
    for kind in ("sampled", "fixed"):
        found = correlation_by(one, two, groups, method="kendall", aggregate="pooled", groups_are=kind)
        assert found.value == pytest.approx(slow)
        assert found.low < slow < found.high


def test_differences_between_groups_take_no_part():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(50), 4)
    level = rng.normal(size=50)[groups] * 10
    one, two = level + rng.normal(size=200), level + rng.normal(size=200)
    assert correlation(one, two, n_resamples=0).value > 0.95
    for aggregate in ("mean", "pooled"):
        found = correlation_by(one, two, groups, aggregate=aggregate, n_resamples=500)
        assert found.low < 0 < found.high
    moved = correlation_by(one + 1e6 * groups, two, groups, n_resamples=0)
    assert moved.value == pytest.approx(correlation_by(one, two, groups, n_resamples=0).value, abs=1e-6)


def test_one_fixed_group_is_the_plain_correlation():
    rng = np.random.default_rng(4)
    one, two, clusters = rng.normal(size=40), rng.normal(size=40), rng.integers(0, 12, 40)
    resamples = Resamples(clusters, 300, 1)
    plain = correlation(one, two, resamples=resamples)
    found = correlation_by(one, two, ["all"] * 40, groups_are="fixed", resamples=resamples)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))
    assert (found.group_low[0], found.group_high[0]) == (found.low, found.high)


def test_what_takes_part():
    one, two = [1, 2, 3, NAN, 1, 2, 3, 4, 5], [1, 3, 2, 1, 2, NAN, 1, 2, 2]
    groups = [0, 0, 0, 0, 1, 1, 1, 2, 2]
    found = correlation_by(one, two, groups, n_resamples=0)
    assert found.sizes.tolist() == [3, 2, 2]
    assert (found.n, found.n_undefined, found.value) == (1, 2, 0.5)
    assert found.as_dict()["n_undefined"] == 2
    some = correlation_by(one, two, groups, where=np.array(groups) == 0, n_resamples=0)
    assert (some.names, some.n_undefined, some.value) == ((0,), 0, 0.5)
    pairs = correlation_by(one, two, groups, fewest=2, n_resamples=0)
    assert pairs.values.tolist() == pytest.approx([0.5, -1, NAN], nan_ok=True)


def test_weights_of_sampled_groups():
    one, two, groups = [1, 2, 3, 1, 2, 3], [1, 2, 3, 2, 1, 3], list("aaabbb")
    found = correlation_by(one, two, groups, weights=[1, 1, 1, 3, 3, 3], n_resamples=0)
    assert found.value == pytest.approx((1 + 3 * 0.5) / 4)
    with pytest.raises(InvalidInputError, match="one weight"):
        correlation_by(one, two, groups, weights=[1, 2, 1, 3, 3, 3])


def test_refused():
    one = np.arange(6.0)
    with pytest.raises(InvalidInputError, match="several clusters"):
        correlation_by(one, one, list("aaabbb"), clusters=np.arange(6))
    with pytest.raises(InvalidInputError, match="aggregate"):
        correlation_by(one, one, list("aaabbb"), aggregate="median")
    with pytest.raises(InvalidInputError, match="fewest"):
        correlation_by(one, one, list("aaabbb"), fewest=1)
    with pytest.raises(InvalidInputError, match="shape"):
        correlation_by(one, one[:5], list("aaabbb"))
    for kind in ("sampled", "fixed"):
        for aggregate in ("mean", "pooled"):
            with pytest.warns(StatisticsWarning, match="no group"):
                found = correlation_by(
                    one, one * 0, list("aaabbb"), groups_are=kind, aggregate=aggregate, n_resamples=10
                )
            assert math.isnan(found.value)
            assert found.n_undefined == 2


def test_criteria_of_newsroom(shared_data):
    """Four criteria of 420 summaries, one rater and the mean of the other two: as scipy, and clusters are summaries."""
    stored = json.loads((shared_data / "newsroom" / "newsroom.labels.json").read_text(encoding="utf-8"))
    criteria = list(stored["instances"][0]["annotations"])
    table = np.array(
        [
            [each["annotations"][name]["individual_human_scores"] for name in criteria]
            for each in stored["instances"]
        ],
        dtype=float,
    )
    one, two = table[:, :, 0], table[:, :, 1:].mean(axis=2)
    found = correlation_by(
        one.ravel(),
        two.ravel(),
        criteria * len(table),
        method="kendall",
        groups_are="fixed",
        clusters=np.repeat(np.arange(len(table)), len(criteria)),
        n_resamples=500,
    )
    slow = [kendalltau(one[:, k], two[:, k]).statistic for k in np.argsort(criteria)]
    assert found.values == pytest.approx(np.array(slow))
    assert (found.n, found.n_clusters) == (420 * 4, 420)
    assert (found.group_low < found.values).all()
    assert (found.values < found.group_high).all()


@pytest.mark.slow
def test_coverage_of_the_mean_over_instructions():
    """Groups of 6 with correlations that differ: the mean of the groups' r has its expectation in the interval."""
    rng = np.random.default_rng(9)

    def draw(n_groups):
        rho = rng.uniform(0.2, 0.9, n_groups)[:, None]
        one = rng.normal(size=(n_groups, 6))
        return one, rho * one + np.sqrt(1 - rho**2) * rng.normal(size=(n_groups, 6))

    def mean(one, two, n_resamples):
        groups = np.repeat(np.arange(len(one)), 6)
        return correlation_by(one.ravel(), two.ravel(), groups, n_resamples=n_resamples)

    truth = mean(*draw(200_000), 0).value
    held = sum(found.low <= truth <= found.high for found in (mean(*draw(60), 400) for _ in range(200)))
    assert held / 200 >= 0.9
