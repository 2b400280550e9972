"""Elo ratings: by hand, evalica's figures, a slow oracle, invariants, degenerate input."""

import math

import numpy as np
import pytest

from metaeval.stats import InvalidInputError, StatisticsWarning
from metaeval.stats.bradley_terry import bradley_terry
from metaeval.stats.elo import elo_ratings
from tests.metaeval.stats import pairwise_oracle as oracle

GAMES = oracle.games()
# pip install evalica==0.4.2; evalica.elo(first, second, W, k=4.0, initial=1000.0).scores.sort_index()
EVALICA = [944.745583, 981.377748, 989.10325, 1020.142951, 1064.630469]


def values(result):
    return [rating.value for rating in result.ratings]


def test_by_hand():
    # Equals: the winner of the first game gets half of 32. Then 1016 meets 984 and ties.
    result = elo_ratings(["a", "b"], ["b", "a"], [1, 0], k=32, order="given")
    expected = 1 / (1 + 10 ** (-32 / 400))
    assert values(result) == pytest.approx([1016 + 32 * (0.5 - expected), 984 - 32 * (0.5 - expected)])
    assert math.isnan(result.ratings[0].low)


def test_evalica():
    assert values(elo_ratings(*GAMES, order="given")) == pytest.approx(EVALICA, abs=1e-5)


@pytest.mark.parametrize("k", [4, 30])
def test_game_by_game(k):
    result = elo_ratings(*GAMES, k=k, initial=1500, order="given")
    assert values(result) == pytest.approx(oracle.elo(5, *GAMES, k, 1500))


def test_the_average_over_orders():
    result = elo_ratings(*GAMES, k=20, n_permutations=400, n_resamples=0, rng=1)
    rng = np.random.default_rng(5)
    orders = [rng.permutation(400) for _ in range(200)]
    slow = [oracle.elo(5, *(column[order] for column in GAMES), 20, 1000) for order in orders]
    assert values(result) == pytest.approx(np.mean(slow, axis=0), abs=6)
    assert result.order_spread == pytest.approx(np.std(slow, axis=0), rel=0.2)
    assert sum(values(result)) == pytest.approx(5000)


def test_the_order_given_may_mislead():
    # The same games, the wins of a first or last: by Elo a different winner, by Bradley-Terry a draw.
    first, second = ["a"] * 80, ["b"] * 80
    early, late = [1] * 40 + [2] * 40, [2] * 40 + [1] * 40
    assert elo_ratings(first, second, early, k=32, order="given").rating("a").value < 950
    assert elo_ratings(first, second, late, k=32, order="given").rating("a").value > 1050
    averaged = elo_ratings(first, second, early, k=32, n_resamples=100)
    assert averaged.rating("a").value == pytest.approx(1000, abs=10)
    assert averaged.rating("a").low < 1000 < averaged.rating("a").high
    assert bradley_terry(first, second, early, n_resamples=0).strength("a").value == pytest.approx(1000)


def test_it_approaches_bradley_terry():
    games = oracle.games(6_000, 4, tie=0.1)
    elo = elo_ratings(*games, k=8, n_permutations=20, n_resamples=0)
    strengths = bradley_terry(*games, n_resamples=0)
    assert values(elo) == pytest.approx([each.value for each in strengths.strengths], abs=8)
    assert [name for name, _ in elo.table()] == [name for name, _ in strengths.table()]


def test_the_interval_is_that_of_instructions():
    games = oracle.games(400, 3)
    clusters = np.arange(400) // 2
    result = elo_ratings(*games, k=8, clusters=clusters, n_resamples=300)
    again = elo_ratings(*games, k=8, clusters=clusters, n_resamples=300)
    assert result.ratings == again.ratings
    for rating in result.ratings:
        assert rating.low < rating.value < rating.high
        assert rating.n_clusters == 200
        # As wide as Bradley-Terry's, or less: with few games a rating has not moved all the way.
        assert 10 < rating.high - rating.low < 80


def test_degenerate():
    with pytest.warns(StatisticsWarning, match="no comparison"):
        result = elo_ratings(["a", "c"], ["b", "d"], [1, math.nan], n_resamples=20)
    assert math.isnan(result.rating("c").value)
    assert result.rating("a").n == 1
    assert result.table()[-1][0] in ("c", "d")
    for wrong in ({"k": 0}, {"order": "last"}, {"n_permutations": 0}):
        with pytest.raises(InvalidInputError):
            elo_ratings(["a"], ["b"], [1], **wrong)
    with pytest.raises(InvalidInputError, match="none of the systems"):
        result.rating("z")


def test_so_many_games_that_it_would_take_hours_are_refused():
    rows = np.tile(["a", "b"], 200_000), np.tile(["b", "c"], 200_000), np.ones(400_000)
    with pytest.raises(
        InvalidInputError, match=r"n_resamples: 400,000 games 1,000 times.*at most 750.*bradley_terry"
    ):
        elo_ratings(*rows)
    with pytest.raises(InvalidInputError, match="n_permutations"):
        elo_ratings(*rows, n_resamples=0, n_permutations=1_000)


@pytest.mark.parametrize("n", [5, 40, 301])
def test_the_interval_holds_the_rating_where_no_resample_differs(n):
    """All resamples of games that one system always wins are the same: they missed the rating by a rounding error."""
    for rating in elo_ratings(["a"] * n, ["b"] * n, [1] * n, n_resamples=200).ratings:
        assert rating.low <= rating.value <= rating.high
