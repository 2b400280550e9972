"""Evaluators against each other: by hand, the plain correlation, pools of people, holes, Newsroom."""

import json
import math

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from metaeval.stats import InvalidInputError, Resamples, mean_estimate
from metaeval.stats.correlation import correlation
from metaeval.stats.evaluators import evaluator_correlations, evaluator_correlations_by

NAN = math.nan
SCIPY = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


def made(rng, n=60):
    truth = rng.normal(size=n)
    table = {
        name: np.clip(np.round(3 + truth + rng.normal(size=n) * k), 1, 5)
        for name, k in zip("abc", (0.5, 1, 2), strict=True)
    }
    table["c"][::7] = NAN
    return table


def test_by_hand():
    # a: 1 2 3, b: 1 3 2: deviations (-1, 0, 1), (-1, 1, 0): r = 1 / 2. Means 2, 2; deviations 1, 1 (two degrees).
    found = evaluator_correlations({"a": [1, 2, 3], "b": [1, 3, 2]}, n_resamples=0)
    assert found.matrix.tolist() == [[1, pytest.approx(0.5)], [pytest.approx(0.5), 1]]
    assert (found.means.tolist(), found.deviations.tolist()) == ([2, 2], [1, 1])
    assert (found.names, found.n.tolist()) == (("a", "b"), [[3, 3], [3, 3]])


@pytest.mark.parametrize("method", list(SCIPY))
def test_every_cell_is_the_plain_correlation_on_the_same_resamples(method):
    table = made(np.random.default_rng(1))
    resamples = Resamples(np.repeat(np.arange(20), 3), 200, 4)
    found = evaluator_correlations(table, method=method, resamples=resamples)
    for a, one in enumerate(table):
        for b, two in enumerate(table):
            if a == b:
                assert found.matrix[a, a] == 1
                continue
            plain = correlation(table[one], table[two], method=method, resamples=resamples)
            assert found.matrix[a, b] == pytest.approx(plain.value)
            assert (found.low[a, b], found.high[a, b]) == pytest.approx((plain.low, plain.high))
            assert found.n[a, b] == plain.n
            assert found.estimate(one, two) is found.estimate(two, one)
            assert found.estimate(one, two).n_clusters == 20
    mean = mean_estimate(table["c"], bounds=None, resamples=resamples)
    assert found.mean_estimates["c"] == mean
    assert found.means[2] == mean.value
    assert found.deviations[2] == pytest.approx(np.nanstd(table["c"], ddof=1))
    spread = found.deviation_estimates["c"]
    assert spread.low < spread.value < spread.high


def test_listwise():
    table = made(np.random.default_rng(2))
    whole = ~np.isnan(table["c"])
    found = evaluator_correlations(table, missing="listwise", n_resamples=0)
    assert found.n.tolist() == [[whole.sum()] * 3] * 3
    assert found.matrix[0, 1] == pytest.approx(pearsonr(table["a"][whole], table["b"][whole]).statistic)
    assert found.means[0] == pytest.approx(table["a"][whole].mean())


def test_pools_of_people_are_their_mean():
    pool = [[1, 2, NAN], [3, NAN, NAN], [NAN, NAN, NAN], [5, 5, 4], [2, 2, 2]]
    found = evaluator_correlations({"people": pool, "judge": [1, 3, 3, 5, 1]}, n_resamples=0)
    means = [1.5, 3, 14 / 3, 2]
    assert found.means[0] == pytest.approx(np.mean(means))
    assert found.estimate("people", "judge").value == pytest.approx(pearsonr(means, [1, 3, 5, 1]).statistic)


def test_criteria_share_their_resamples():
    rng = np.random.default_rng(3)
    table = made(rng)
    criteria, clusters = np.tile(["clear", "true"], 30), np.repeat(np.arange(30), 2)
    found = evaluator_correlations_by(table, criteria, clusters=clusters, n_resamples=200)
    assert list(found) == ["clear", "true"]
    resamples = Resamples(clusters, 200)
    for name, each in found.items():
        plain = correlation(table["a"], table["b"], where=criteria == name, resamples=resamples)
        assert (each.matrix[0, 1], each.low[0, 1], each.high[0, 1]) == pytest.approx(
            (plain.value, plain.low, plain.high)
        )
    some = evaluator_correlations_by(table, criteria, where=np.arange(60) < 40, n_resamples=0)
    assert some["true"].n[0, 1] == 20


def test_holes_say_why_without_a_warning():
    found = evaluator_correlations({"a": [1, 2, 3, NAN], "b": [2, 2, 2, 2], "c": [NAN] * 4}, n_resamples=10)
    assert np.isnan(found.matrix[0, 1])
    assert found.estimate("a", "b").reason == "what they are compared with is all the same"
    assert found.estimate("a", "c").reason == "fewer than 3 items"
    assert found.deviations[:2].tolist() == [1, 0]
    assert found.mean_estimates["c"].reason == "no ratings"
    with pytest.raises(KeyError, match="no correlation"):
        found.estimate("a", "d")


def test_refused():
    with pytest.raises(InvalidInputError, match="two evaluators"):
        evaluator_correlations({"a": [1, 2]})
    with pytest.raises(InvalidInputError, match="one length"):
        evaluator_correlations({"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(InvalidInputError, match="missing"):
        evaluator_correlations({"a": [1, 2], "b": [1, 2]}, missing="drop")


def test_newsroom(shared_data):
    """Its three raters against each other on one criterion, as scipy has it; means and deviations as numpy has them."""
    stored = json.loads((shared_data / "newsroom" / "newsroom.labels.json").read_text(encoding="utf-8"))
    rows = [each["annotations"]["Fluency"]["individual_human_scores"] for each in stored["instances"]]
    table = np.array(rows, dtype=float)
    found = evaluator_correlations(
        {f"rater {k}": table[:, k] for k in range(3)}, method="spearman", n_resamples=300
    )
    assert found.matrix == pytest.approx(spearmanr(table).statistic)
    assert found.means == pytest.approx(table.mean(axis=0))
    assert found.deviations == pytest.approx(table.std(axis=0, ddof=1))
    off = ~np.eye(3, dtype=bool)
    assert (found.low[off] < found.matrix[off]).all()
    assert (found.high[off] > found.matrix[off]).all()
