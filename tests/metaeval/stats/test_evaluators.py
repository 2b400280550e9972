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
    with pytest.raises(InvalidInputError, match="needs scenarios"):
        evaluator_correlations({"a": [1, 2], "b": [1, 2]}, level="scenario")


@pytest.mark.parametrize("method", list(SCIPY))
def test_scenarios_are_averaged_or_compared_by_their_means(method):
    """HELM Instruct's Table 4: the mean over scenarios, and the scenario-level one; items pooled stay the default."""
    table = made(np.random.default_rng(3), 90)
    table["c"][:] = np.nan_to_num(table["c"], nan=3.0)
    scenarios = np.resize(["chat", "code", "code", "sum", "sum", "sum"], 90)
    table["b"] += np.where(scenarios == "code", 2, 0)
    options = {"method": method, "n_resamples": 200}
    pooled = evaluator_correlations(table, **options)
    within = evaluator_correlations(table, scenarios=scenarios, **options)
    between = evaluator_correlations(table, scenarios=scenarios, level="scenario", **options)
    names = ["chat", "code", "sum"]
    for one, two in (("a", "b"), ("a", "c"), ("b", "c")):
        parts = [SCIPY[method](table[one][scenarios == k], table[two][scenarios == k])[0] for k in names]
        found = within.estimate(one, two)
        assert found.value == pytest.approx(np.mean(parts))
        assert (found.n, found.n_clusters, found.method) == (90, 90, "mover")
        # The oracle: each scenario by itself, and independent intervals put together.
        ends = [
            correlation(
                table[one], table[two], where=scenarios == k, method=method, resamples=Resamples(90, 200)
            )
            for k in names
        ]
        reach = math.sqrt(sum((each.value - each.low) ** 2 for each in ends)) / 3
        assert found.low == pytest.approx(max(-1, found.value - reach))
        assert [within.by_scenario[k].estimate(one, two).value for k in names] == pytest.approx(parts)
        means = [[table[name][scenarios == k].mean() for k in names] for name in (one, two)]
        assert between.estimate(one, two).value == pytest.approx(SCIPY[method](*means)[0])
        assert between.estimate(one, two).n == 3
    assert (within.means == pooled.means).all()
    assert (
        within.matrix[0, 1] > pooled.matrix[0, 1]
    )  # b rates all code higher, which is no disagreement within it
    # Clusters that lie in several scenarios leave the mean without an interval; so does a scenario without one.
    shared = evaluator_correlations(table, scenarios=scenarios, clusters=np.arange(90) // 3, **options)
    assert shared.matrix[0, 1] == pytest.approx(within.matrix[0, 1])
    assert math.isnan(shared.low[0, 1])
    assert "several scenarios" in shared.estimate("a", "b").reason
    table["c"][scenarios == "sum"] = 2.0
    flat = evaluator_correlations(table, scenarios=scenarios, **options)
    assert math.isnan(flat.matrix[0, 2])
    assert flat.estimate("a", "c").reason == "what they are compared with is all the same"
    by = evaluator_correlations_by(
        {name: np.tile(column, 2) for name, column in table.items()},
        np.repeat(["clear", "true"], 90),
        scenarios=np.tile(scenarios, 2),
        n_resamples=0,
        method=method,
    )
    assert by["true"].matrix == pytest.approx(flat.matrix, nan_ok=True)


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
