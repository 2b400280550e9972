"""Intervals of strengths: three ways of resampling, clusters, coverage."""

import math

import numpy as np
import pytest

from metaeval.stats import pair_resampling
from metaeval.stats.bradley_terry import bradley_terry
from tests.metaeval.stats import pairwise_oracle as oracle

GAMES = oracle.games()


class TestResampling:
    def test_three_ways_agree(self, monkeypatch):
        # Multinomial cells, draws of clusters, Poisson numbers: the same spread.
        first, second, outcome = oracle.games(3_000, 4)
        spreads = [bradley_terry(first, second, outcome, n_resamples=1_000).uncertain.resampled.std(axis=0)]
        clusters = np.arange(3_000)
        spreads.append(
            bradley_terry(
                first, second, outcome, clusters=clusters, n_resamples=1_000
            ).uncertain.resampled.std(axis=0)
        )
        monkeypatch.setattr(pair_resampling, "MOST_DRAWS", 0)
        spreads.append(
            bradley_terry(
                first, second, outcome, clusters=clusters, n_resamples=1_000
            ).uncertain.resampled.std(axis=0)
        )
        np.testing.assert_allclose(spreads[1], spreads[0], rtol=0.1)
        np.testing.assert_allclose(spreads[2], spreads[0], rtol=0.1)

    def test_poisson_draws(self):
        draws = pair_resampling.poisson_draws(np.random.default_rng(0), (1_000, 1_000)).astype(float)
        assert draws.mean() == pytest.approx(1, abs=0.004)
        assert draws.var() == pytest.approx(1, abs=0.006)
        assert (draws == 0).mean() == pytest.approx(math.exp(-1), abs=0.002)

    def test_one_step_is_near_the_full_fit(self):
        # A covariate of zeros and ones makes rows that can be grouped by hand; here position, given as a covariate.
        first, second, outcome = oracle.games(2_000, 4, seed=5)
        clusters = np.arange(2_000) // 4
        full = bradley_terry(first, second, outcome, position=True, clusters=clusters, ties="davidson")
        step = bradley_terry(
            first, second, outcome, covariates={"first": np.ones(2_000)}, clusters=clusters, ties="davidson"
        )
        np.testing.assert_allclose(step.uncertain.point, full.uncertain.point, atol=1e-9)
        np.testing.assert_allclose(
            step.uncertain.resampled.std(axis=0), full.uncertain.resampled.std(axis=0), rtol=0.1
        )

    def test_clusters_widen(self):
        first, second, outcome = oracle.games(500)
        repeated = [np.repeat(column, 4) for column in (first, second, outcome)]
        clusters = np.repeat(np.arange(500), 4)
        once = bradley_terry(first, second, outcome, clusters=np.arange(500), rng=1).strengths[0]
        four = bradley_terry(*repeated, clusters=clusters, rng=1).strengths[0]
        assert (four.low, four.value, four.high) == pytest.approx((once.low, once.value, once.high))
        alone = bradley_terry(*repeated, rng=1).strengths[0]
        assert alone.high - alone.low == pytest.approx((four.high - four.low) / 2, rel=0.15)
        assert (four.n, four.n_clusters) == (4 * once.n, 500)

    def test_the_same_input_gives_the_same_figures(self):
        assert (
            bradley_terry(*GAMES, n_resamples=50).strengths == bradley_terry(*GAMES, n_resamples=50).strengths
        )

    @pytest.mark.slow
    def test_coverage(self):
        # 200 studies of 40 instructions with 8 comparisons each, an instruction being kind to some systems. What is
        # estimated is the strength over all instructions: found from a million comparisons.
        size, truth, hits, chance_hits = 4, None, [], []
        base = np.linspace(-0.7, 0.7, size)

        def study(n_clusters, per, seed):
            rng = np.random.default_rng(seed)
            clusters = np.repeat(np.arange(n_clusters), per)
            first = rng.integers(0, size, len(clusters))
            second = (first + rng.integers(1, size, len(clusters))) % size
            taste = rng.normal(0, 0.8, (n_clusters, size))
            d = base[first] - base[second] + taste[clusters, first] - taste[clusters, second]
            return first, second, np.where(rng.random(len(d)) < 1 / (1 + np.exp(-d)), 1, 2), clusters

        first, second, outcome, _ = study(1_000_000, 1, 99)
        truth = bradley_terry(first, second, outcome, scale="log", n_resamples=0)
        for seed in range(200):
            first, second, outcome, clusters = study(40, 8, seed)
            result = bradley_terry(first, second, outcome, scale="log", clusters=clusters, n_resamples=200)
            hits += [
                a.low <= b.value <= a.high for a, b in zip(result.strengths, truth.strengths, strict=True)
            ]
            chance = result.win_probability(3, 0)
            chance_hits.append(chance.low <= truth.win_probability(3, 0).value <= chance.high)
        assert 0.93 <= np.mean(hits) <= 0.97
        assert 0.92 <= np.mean(chance_hits) <= 0.98
