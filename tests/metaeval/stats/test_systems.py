"""Correlation over systems: by hand, scipy, AlpacaEval's leaderboard, what error of the means does, coverage."""

import csv
import json
import math
import warnings
from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr
from scipy.stats import t as student

from metaeval.stats import InvalidInputError, Resamples, StatisticsWarning
from metaeval.stats.systems import system_correlation

SCIPY = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


def scores(rng, n_systems=8, n_instructions=60, noise=1.0, rho=0.8):
    """(first, second, systems, clusters, the two true means): errors of the two judges are related."""
    true_1 = rng.normal(size=n_systems)
    true_2 = rho * true_1 + math.sqrt(1 - rho**2) * rng.normal(size=n_systems)
    easy = rng.normal(size=(n_instructions, 1))
    both = rng.normal(size=(n_instructions, n_systems))
    first = true_1 + easy + noise * (both + rng.normal(size=both.shape))
    second = true_2 + easy + noise * (0.5 * both + rng.normal(size=both.shape))
    systems = np.tile(np.arange(n_systems), n_instructions)
    clusters = np.repeat(np.arange(n_instructions), n_systems)
    return first.ravel(), second.ravel(), systems, clusters, true_1, true_2


def test_by_hand():
    # Means 1, 2, 3, 4, 5 and 1, 2, 3, 5, 4: squared differences of ranks 0 0 0 1 1: rho = 1 - 6 * 2 / (5 * 24).
    systems = np.repeat(list("abcde"), 2)
    one, two = np.repeat([1.0, 2, 3, 4, 5], 2), np.repeat([1.0, 2, 3, 5, 4], 2)
    shift = np.tile([-1.0, 1.0], 5)
    found = system_correlation(one + shift, two - shift, systems, method="spearman", n_resamples=0)
    assert found.value == pytest.approx(0.9)
    assert (found.n, found.systems) == (5, tuple("abcde"))
    assert (found.first.tolist(), found.second.tolist()) == ([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])


def test_the_error_of_the_means_against_a_slow_oracle():
    """Draw whole instructions, take the means anew, add up what they are off by beyond what all are."""
    one, two, systems, clusters, _, _ = scores(np.random.default_rng(1), 6, 40, noise=0.4)
    resamples = Resamples(clusters, 60, 2)
    found = system_correlation(one, two, systems, resamples=resamples)
    sides = dict.fromkeys(("first", "second"), 0.0)
    draws = np.concatenate(list(resamples.item_draws()))
    for weights in draws:
        for name, scored in (("first", one), ("second", two)):
            off = [
                np.average(scored[systems == k], weights=weights[systems == k]) - scored[systems == k].mean()
                for k in range(6)
            ]
            sides[name] += sum((each - sum(off) / 6) ** 2 for each in off) / 60 * 40 / 39
    for name, share in zip(sides, found.reliability, strict=True):
        spread = sum((each - getattr(found, name).mean()) ** 2 for each in getattr(found, name))
        assert share == pytest.approx(1 - sides[name] / spread)
    assert (found.n, found.n_clusters) == (6, 40)


def test_systems_like_these_by_hand():
    """Without error of the means: Bonett and Wright's interval of Spearman's, the jackknife's of Pearson's."""
    first = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    second = np.array([2.0, 1, 3, 5, 4, 6, 8, 7])
    names, clusters = np.tile(np.arange(8), 10), np.repeat(np.arange(10), 8)
    # Squared differences of ranks 1 1 0 1 1 0 1 1: 1 - 6 * 6 / (8 * 63) = 0.928571.
    asked = {"systems_are": "sampled", "clusters": clusters, "n_resamples": 20}
    found = system_correlation(np.tile(first, 10), np.tile(second, 10), names, method="spearman", **asked)
    error = math.sqrt((1 + found.value**2 / 2) / 5)
    by_hand = [math.tanh(math.atanh(found.value) + k * 1.959964 * error) for k in (-1, 1)]
    assert (found.low, found.high) == pytest.approx(by_hand, abs=1e-6)
    pearson = system_correlation(np.tile(first, 10), np.tile(second, 10), names, **asked)
    z = [math.atanh(pearsonr(np.delete(first, k), np.delete(second, k)).statistic) for k in range(8)]
    error = math.sqrt(7 / 8 * sum((each - np.mean(z)) ** 2 for each in z))
    assert pearson.low == pytest.approx(math.tanh(math.atanh(pearson.value) - student.ppf(0.975, 7) * error))
    tau = system_correlation(np.tile(first, 10), np.tile(second, 10), names, method="kendall", **asked)
    assert tau.value == pytest.approx(kendalltau(first, second).statistic)
    assert -1 < tau.low < tau.value < tau.high < 1
    three = names < 3
    with (
        pytest.warns(StatisticsWarning, match="3 systems cannot be told from chance"),
        pytest.warns(StatisticsWarning, match="fewer than 4 systems to speak of others"),
    ):
        few = system_correlation(np.tile(first, 10), np.tile(second, 10), names, where=three, **asked)
    assert math.isnan(few.low)
    with pytest.raises(InvalidInputError, match="systems_are"):
        system_correlation(first, second, np.arange(8), systems_are="random")


def test_systems_like_these_without_the_error_of_the_means():
    """Means with error correlate less than the true ones: the interval of the measured ones would end below these."""
    one, two, systems, clusters, _, _ = scores(np.random.default_rng(8), 40, 60, noise=3.0, rho=0.97)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        found = {
            method: system_correlation(
                one, two, systems, method=method, systems_are="sampled", clusters=clusters, n_resamples=200
            )
            for method in SCIPY
        }
    truth = {
        "pearson": 0.97,
        "spearman": 6 / math.pi * math.asin(0.485),
        "kendall": 2 / math.pi * math.asin(0.97),
    }
    for method, each in found.items():
        assert each.value < truth[method] - 0.05
        assert each.low <= truth[method] <= each.high
        assert each.high - each.low < 0.6


def test_reliability_is_that_of_the_means():
    rng = np.random.default_rng(2)
    sharp = _of(scores(rng, 30, 400, noise=0.3))
    assert min(sharp.reliability) > 0.99
    assert sharp.corrected == pytest.approx(sharp.value, abs=0.01)
    with pytest.warns(StatisticsWarning, match="little more than by chance"):
        blurred = _of(scores(rng, 30, 30, noise=5.0, rho=0.95))
    # 2 * 25 / 30 of error against a spread of 1 + error: about 0.37.
    assert 0.1 < blurred.reliability[0] < 0.65
    assert blurred.high > blurred.value + 0.1


def _of(made):
    one, two, systems, clusters, _, _ = made
    return system_correlation(one, two, systems, clusters=clusters, n_resamples=500)


def test_few_systems():
    one, two, systems, clusters, _, _ = scores(np.random.default_rng(3), 4, 200, noise=0.1)
    with pytest.warns(StatisticsWarning, match="4 systems cannot be told from chance"):
        assert system_correlation(one, two, systems, clusters=clusters, n_resamples=100).n == 4
    with pytest.warns(StatisticsWarning, match="fewer than 3 systems"):
        found = system_correlation(one, two, systems, where=systems < 2)
    assert (math.isnan(found.value), found.reason) == (True, "fewer than 3 systems")
    with pytest.warns(StatisticsWarning, match="all the same"):
        assert math.isnan(system_correlation(one * 0, two, systems, n_resamples=20).value)
    with pytest.raises(InvalidInputError, match="shape"):
        system_correlation(one, two[1:], systems)


def test_order_and_scale_change_nothing():
    one, two, systems, clusters, _, _ = scores(np.random.default_rng(4))
    found = system_correlation(one, two, systems, clusters=clusters, n_resamples=200)
    same = system_correlation(7 + 3 * one, two / 9, systems, clusters=clusters, n_resamples=200)
    assert (same.value, same.low, same.high) == pytest.approx((found.value, found.low, found.high))
    back = system_correlation(two, one, systems, clusters=clusters, n_resamples=200)
    assert (back.value, back.low, back.high) == pytest.approx((found.value, found.low, found.high))
    assert system_correlation(-one, two, systems, n_resamples=0).value == pytest.approx(-found.value)


@pytest.fixture
def alpaca_2(shared_data):
    """AlpacaEval 2: preferences of 30 models on 805 instructions, and the published leaderboard."""
    folder = shared_data / "alpaca_eval"
    preferences = defaultdict(list)
    with (folder / "model_preferences.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            preferences["model"].append(row["model"])
            preferences["index"].append(int(row["index"]))
            preferences["value"].append(float(row["preference"] or "nan") - 1)
    with (folder / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        board = {row[""]: row for row in csv.DictReader(file)}
    return preferences, board


def test_alpaca_eval_win_rates_against_the_leaderboard(alpaca_2):
    """Means of the stored preferences are the published win rates, so the system level is known exactly."""
    preferences, board = alpaca_2
    models, values = np.array(preferences["model"]), np.array(preferences["value"])
    controlled = np.array([float(board[name]["length_controlled_winrate"]) for name in models])
    found = system_correlation(
        values, controlled, models, method="spearman", clusters=preferences["index"], n_resamples=500
    )
    names = np.unique(models)
    published = np.array(
        [[float(board[n]["win_rate"]), float(board[n]["length_controlled_winrate"])] for n in names]
    )
    assert found.n == 30
    assert found.n_clusters == 805
    assert found.first * 100 == pytest.approx(published[:, 0], abs=0.01)
    assert found.value == pytest.approx(spearmanr(*published.T).statistic, abs=1e-9)
    assert found.low < found.value < found.high
    assert found.reliability[0] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("systems_are", ["fixed", "sampled"])
@pytest.mark.parametrize(("method", "rho"), [("pearson", 0.95), ("spearman", 0.6)])
def test_coverage(method, rho, systems_are):
    """Of these systems, or of others like them; 60 draws, so 0.85 is four errors below 0.95."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(60):
        one, two, systems, clusters, *true = scores(rng, 20, 60, 1.0, rho)
        found = system_correlation(
            one, two, systems, method=method, systems_are=systems_are, clusters=clusters, n_resamples=100
        )
        of_all = rho if method == "pearson" else 6 / math.pi * math.asin(rho / 2)
        truth = SCIPY[method](*true).statistic if systems_are == "fixed" else of_all
        held += found.low <= truth <= found.high
    assert held / 60 >= 0.85


def test_a_near_perfect_correlation_of_few_systems(shared_data):
    """PandaLM's five systems, people against ChatGPT: 1 - r^2 at the value made the interval begin at -0.85."""
    folder = shared_data / "pandalm"
    pairs = json.loads((folder / "testset-v1.json").read_text(encoding="utf-8"))
    judged = {
        row["idx"]: row["gpt_result"]
        for row in json.loads((folder / "gpt-3.5-turbo-testset-v1.json").read_text(encoding="utf-8"))
    }
    win = {"0": 0.5, "1": 1.0, "2": 0.0}

    def share(*answers):
        known = [win[str(answer)] for answer in answers if str(answer) in win]
        return np.mean(known) if known else np.nan

    people = np.array([share(*(row[f"annotator{each}"] for each in (1, 2, 3))) for row in pairs])
    judge = np.array([share(judged[row["idx"]]) for row in pairs])
    names = np.array([row["cmp_key"].split("_") for row in pairs])
    instructions = np.array([row["instruction"] + row["input"] for row in pairs])
    found = system_correlation(
        np.r_[people, 1 - people],
        np.r_[judge, 1 - judge],
        np.r_[names[:, 0], names[:, 1]],
        clusters=np.r_[instructions, instructions],
        n_resamples=2000,
    )
    assert (round(found.value, 3), found.n, found.n_clusters) == (0.996, 5, 168)
    assert 0.95 < found.low < 0.99
    assert found.high > 0.999


def test_the_interval_of_a_near_perfect_correlation_reaches_up_to_it():
    """Means of 10 systems with reliability 0.9, true correlation about 0.99: the upper end used to stay below it."""
    rng, held = np.random.default_rng(11), []
    for _ in range(40):
        first, second, systems, clusters, true_1, true_2 = scores(
            rng, n_systems=10, n_instructions=100, noise=2.3, rho=0.99
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)
            found = system_correlation(first, second, systems, clusters=clusters, n_resamples=300)
        held.append(found.low <= pearsonr(true_1, true_2).statistic <= found.high)
    assert np.mean(held) >= 0.85  # 93% over 1,000 datasets; 74% with the slope of the resamples on both sides
