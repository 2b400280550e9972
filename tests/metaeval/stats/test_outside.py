"""Outside tables of scores: by hand, scipy, names, what is resampled, AlpacaEval's leaderboard."""

import csv
import math

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from metaeval.stats import InvalidInputError, StatisticsWarning
from metaeval.stats.correlation import correlation
from metaeval.stats.outside import outside_correlation

NAN = math.nan


def tables(n=12, seed=0):
    rng = np.random.default_rng(seed)
    ours = {f"model-{k}": value for k, value in enumerate(rng.normal(size=n))}
    return ours, {name: value + rng.normal() for name, value in ours.items()}


def test_by_hand():
    # Ranks 1 2 3 4 5 against 1 2 3 5 4: rho = 0.9; 9 pairs of 10 in order: tau = 0.8.
    ours = dict(zip("abcde", [1, 2, 3, 4, 5], strict=True))
    theirs = dict(zip("abcde", [10, 20, 30, 50, 40], strict=True))
    assert outside_correlation(ours, theirs, n_resamples=0).value == pytest.approx(0.9)
    assert outside_correlation(ours, theirs, method="kendall", n_resamples=0).value == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("method", "peer"), [("pearson", pearsonr), ("spearman", spearmanr), ("kendall", kendalltau)]
)
def test_systems_are_resampled_as_items_are(method, peer):
    ours, theirs = tables()
    found = outside_correlation(ours, theirs, method=method, n_resamples=300)
    plain = correlation(list(ours.values()), list(theirs.values()), method=method, n_resamples=300)
    assert (found.low, found.high, found.unit) == (plain.low, plain.high, "systems")
    assert found.value == pytest.approx(peer(list(ours.values()), list(theirs.values())).statistic)
    shuffled = dict(sorted(theirs.items(), key=lambda each: each[1]))
    assert outside_correlation(ours, shuffled, method=method, n_resamples=0).value == pytest.approx(
        found.value
    )


def test_names():
    ours = {"GPT-4 ": 3, "Llama-3-70B": 2, "vicuna": 1, "mine": 0, "left out": NAN, "claude": 1.5}
    theirs = {"gpt-4": 9, "llama 3 70b": 8, "VICUNA": 7, "theirs": 6, "Claude": 7.5, "left out": 1}
    found = outside_correlation(ours, theirs, n_resamples=0)
    assert found.systems == ("GPT-4 ", "vicuna", "claude")
    assert found.unmatched_ours == ("Llama-3-70B", "mine")
    assert found.unmatched_outside == ("llama 3 70b", "theirs", "left out")
    assert found.near_misses == (("Llama-3-70B", "llama 3 70b"),)
    assert (found.n, found.value) == (3, 1.0)


def test_draws_carry_the_error_of_our_scores():
    ours, theirs = tables(15)
    rng = np.random.default_rng(1)
    scores = np.array(list(ours.values()))
    narrow = outside_correlation(ours, theirs, draws=scores + 0.01 * rng.normal(size=(500, 15)))
    wide = outside_correlation(ours, theirs, draws=scores + 0.15 * rng.normal(size=(500, 15)), n_clusters=100)
    assert narrow.unit == wide.unit == "instructions"
    assert narrow.high - narrow.low < 0.05 < wide.high - wide.low
    assert narrow.low <= narrow.value <= narrow.high
    assert wide.n_clusters == 100
    # Of whatever error the outside scores have, the draws know nothing.
    assert wide.reliability[1] == pytest.approx(1)
    assert wide.reliability[0] < narrow.reliability[0]


def test_columns_of_the_draws_follow_ours():
    ours, theirs = tables(10)
    scores = np.array(list(ours.values()))
    draws = scores + 0.05 * np.random.default_rng(2).normal(size=(200, 10))
    found = outside_correlation(ours, theirs, draws=draws)
    order = list(reversed(ours))
    back = outside_correlation({name: ours[name] for name in order}, theirs, draws=draws[:, ::-1])
    assert (back.low, back.high) == pytest.approx((found.low, found.high))
    fewer = {name: theirs[name] for name in list(theirs)[3:]}
    some = outside_correlation(ours, fewer, draws=draws)
    alone = outside_correlation({name: ours[name] for name in fewer}, fewer, draws=draws[:, 3:])
    assert (some.low, some.high) == pytest.approx((alone.low, alone.high))


def test_refused():
    ours, theirs = tables(6)
    with pytest.raises(InvalidInputError, match="draws: expected our scores"):
        outside_correlation(ours, theirs, unit="instructions")
    with pytest.raises(InvalidInputError, match=r"draws: expected shape \(n_resamples, 6\)"):
        outside_correlation(ours, theirs, draws=np.zeros((10, 5)))
    with pytest.raises(InvalidInputError, match="one name but for case"):
        outside_correlation({"a": 1, "A ": 2}, theirs)
    with pytest.raises(InvalidInputError, match="unit"):
        outside_correlation(ours, theirs, unit="people")
    with pytest.warns(StatisticsWarning, match="fewer than 3"):
        assert math.isnan(outside_correlation(ours, {"model-0": 1, "x": 2}).value)
    with pytest.warns(StatisticsWarning, match="all the same"):
        assert math.isnan(outside_correlation(ours, dict.fromkeys(theirs, 1)).value)


def test_alpaca_eval_judges(shared_data):
    """The leaderboard's win rate and length-controlled win rate over all its models, as scipy has it."""
    path = shared_data / "alpaca_eval" / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv"
    with path.open(encoding="utf-8", newline="") as file:
        board = [row for row in csv.DictReader(file) if row["length_controlled_winrate"]]
    ours = {row[""]: float(row["win_rate"]) for row in board}
    theirs = {row[""]: float(row["length_controlled_winrate"]) for row in board}
    found = outside_correlation(ours, theirs, n_resamples=500)
    assert found.n == len(board) > 200
    assert found.value == pytest.approx(spearmanr(list(ours.values()), list(theirs.values())).statistic)
    assert 0.9 < found.low < found.high < 1
