"""Length-controlled win rates: AlpacaEval 2's leaderboard, oracles, invariants, degenerate input."""

import csv
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize

from metaeval.stats import InvalidInputError, Resamples, StatisticsWarning
from metaeval.stats.difficulty import joint_difficulty
from metaeval.stats.length_control import (
    RegularisingRows,
    length_controlled_win_rate,
    length_controlled_win_rates,
)
from metaeval.stats.penalised_logistic import fit_logistic

NAN = math.nan


@pytest.fixture
def leaderboard(shared_data):
    """AlpacaEval 2: 30 models against the baseline, as arrays by instruction, and what is published of them."""
    folder = shared_data / "alpaca_eval"

    def rows(name):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    difficulty = np.full(805, NAN)
    for row in rows("instruction_difficulty.csv"):
        difficulty[int(row["index"])] = float(row["instruction_difficulty"])
    gamed = rows("df_gamed.csv")

    def column(name):
        return np.array([float(row[name]) for row in gamed])

    data = rows("model_preferences.csv")
    names = sorted({row["model"] for row in data})
    preferences, lengths = np.full((805, len(names)), NAN), np.full((805, len(names)), NAN)
    baseline = np.full((805, len(names)), NAN)
    for row in data:
        place = int(row["index"]), names.index(row["model"])
        preferences[place], lengths[place] = float(row["preference"]), float(row["len_model"])
        baseline[place] = float(row["len_baseline"])
    return SimpleNamespace(
        names=names, preferences=preferences, lengths=lengths, baseline=baseline, difficulty=difficulty,
        regularising=RegularisingRows(
            column("preference") + 1, column("std_delta_len"), column("instruction_difficulty")
        ),
        published={row[""]: row for row in rows("weighted_alpaca_eval_gpt4_turbo_leaderboard.csv")},
        weights={row[""]: row for row in rows("lc_weights_baseline_gpt4_1106_preview.csv")},
    )  # fmt: skip


def arrays(n=300, seed=0, lean=1.5, strength=0.3):
    """Preferences that favour the longer response, of a model with log odds ``strength`` at equal lengths."""
    rng = np.random.default_rng(seed)
    baseline, model = rng.integers(200, 1200, n), rng.integers(400, 1600, n)
    gap = baseline - model
    log_odds = strength - lean * np.tanh(gap / gap.std(ddof=1))
    return 1 + (rng.random(n) < 1 / (1 + np.exp(-log_odds))), baseline, model


class TestPublished:
    @pytest.mark.slow
    def test_the_leaderboard(self, leaderboard):
        """Win rate, standard error and discrete win rate to the last digits; length-controlled within 0.2 points."""
        close = 0
        for place, name in enumerate(leaderboard.names):
            result = length_controlled_win_rate(
                leaderboard.preferences[:, place], leaderboard.baseline[:, place], leaderboard.lengths[:, place],
                leaderboard.difficulty, regularising=leaderboard.regularising, n_resamples=0,
            )  # fmt: skip
            row = leaderboard.published[name]
            assert 100 * result.win_rate.value == pytest.approx(float(row["win_rate"]), abs=1e-8)
            assert 100 * result.standard_error == pytest.approx(float(row["standard_error"]), abs=1e-8)
            assert 100 * result.discrete_win_rate.value == pytest.approx(
                float(row["discrete_win_rate"]), abs=1e-8
            )
            off = abs(100 * result.value - float(row["length_controlled_winrate"]))
            assert off < 0.2
            close += off < 0.0065
        assert close >= 17

    def test_its_coefficients(self, leaderboard):
        place = leaderboard.names.index("claude-instant-1.2")
        result = length_controlled_win_rate(
            leaderboard.preferences[:, place], leaderboard.baseline[:, place], leaderboard.lengths[:, place],
            leaderboard.difficulty, regularising=leaderboard.regularising, n_resamples=100,
        )  # fmt: skip
        length, difficulty, model = list(leaderboard.weights["claude-instant-1.2"].values())[1:]
        assert result.coefficients["length"] == pytest.approx(float(length), abs=1e-3)
        assert result.coefficients["difficulty"] == pytest.approx(float(difficulty), abs=1e-3)
        assert result.coefficients["model"] == pytest.approx(float(model), abs=1e-3)
        assert result.low < result.value < result.high

    def test_difficulty_from_the_models_at_hand(self, leaderboard):
        # One model in three, and the one that was made to game the regression.
        gamed = leaderboard.names.index("gpt4_gamed")
        chosen = [gamed, *(place for place in range(0, 30, 3) if place != gamed)]
        own = length_controlled_win_rates(
            leaderboard.preferences[:, chosen], leaderboard.baseline[:, chosen], leaderboard.lengths[:, chosen],
            names=[leaderboard.names[place] for place in chosen], n_resamples=0,
        )  # fmt: skip
        published = [
            float(leaderboard.published[name]["length_controlled_winrate"]) / 100 for name in own.names
        ]
        values = [result.value for result in own.results]
        assert np.corrcoef(values[1:], published[1:])[0, 1] > 0.97
        # What the regularising rows are for: without them gaming gains 15 points and more.
        assert values[0] - published[0] > 0.15
        assert np.corrcoef(own.difficulty[:, 0], leaderboard.difficulty)[0, 1] > 0.75


class TestOracle:
    @pytest.mark.parametrize("penalty", [0.0, 0.05, 3.0, 40.0])
    def test_the_penalised_regression(self, penalty):
        rng = np.random.default_rng(2)
        features = np.c_[rng.normal(size=(80, 2)), np.ones(80)]
        target, weights = rng.random(80), rng.random((80, 2)) * 2
        found, converged = fit_logistic(features, target, weights, np.full(2, penalty))
        assert converged.all()

        def loss(x, own):
            d = features @ x
            return np.sum(own * (np.logaddexp(0, d) - target * d)) + penalty * np.abs(x).sum()

        for fit, own in zip(found, weights.T, strict=True):
            options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000}
            slow = optimize.minimize(loss, fit + 0.1, (own,), method="Nelder-Mead", options=options)
            assert loss(fit, own) <= slow.fun + 1e-8
            np.testing.assert_allclose(fit, slow.x, atol=1e-4)

    def test_the_win_rate_is_the_mean_chance_at_equal_lengths(self):
        preferences, baseline, model = arrays()
        result = length_controlled_win_rate(preferences, baseline, model, penalty=0.0, n_resamples=0)
        # Without difficulty every chance is the same.
        assert result.value == pytest.approx(1 / (1 + math.exp(-result.coefficients["model"])))

    @pytest.mark.slow
    def test_each_resample_is_a_regression(self):
        preferences, baseline, model = arrays(60)
        resamples = Resamples(np.arange(60) // 2, 400, rng=3)
        result = length_controlled_win_rate(preferences, baseline, model, penalty=0.5, resamples=resamples)
        gap = baseline - model
        feature = np.tanh(gap / gap.std(ddof=1))
        values = []
        for draw in np.concatenate(list(resamples.item_draws())):
            found, _ = fit_logistic(
                np.c_[feature, np.ones(60)], preferences - 1.0, draw[:, np.newaxis], np.full(1, 0.5)
            )
            values.append(1 / (1 + math.exp(-found[0, 1])))
        assert (result.low, result.high) == pytest.approx(
            tuple(np.quantile(values, [0.025, 0.975])), abs=1e-9
        )

    def test_joint_difficulty(self):
        rng = np.random.default_rng(0)
        target, length = rng.random((12, 3)), rng.normal(size=(12, 3))
        target[rng.random((12, 3)) < 0.2] = NAN

        def loss(x):
            d = x[:3] + x[3:6] * length + x[6:, np.newaxis]
            return np.nansum(np.logaddexp(0, d) * (target * 0 + 1) - target * d) + x @ x / 2

        slow = optimize.minimize(loss, np.zeros(18), method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(joint_difficulty(target, length), slow.x[6:], atol=1e-5)


class TestInvariants:
    def test_a_baseline_against_itself_is_one_half(self):
        result = length_controlled_win_rate([1.5] * 50, [300] * 50, [300] * 50, n_resamples=50)
        assert result.value == pytest.approx(0.5)
        assert "length" not in result.coefficients

    def test_the_correction_undoes_the_lean(self):
        preferences, baseline, model = arrays(5_000, lean=2.0, strength=-0.5)
        result = length_controlled_win_rate(preferences, baseline, model, n_resamples=0)
        assert result.win_rate.value > 0.45
        assert result.value == pytest.approx(1 / (1 + math.exp(0.5)), abs=0.03)

    def test_swapping_sides(self):
        preferences, baseline, model = arrays()
        one = length_controlled_win_rate(preferences, baseline, model, n_resamples=0)
        two = length_controlled_win_rate(3 - preferences, model, baseline, n_resamples=0)
        assert two.value == pytest.approx(1 - one.value, abs=1e-6)

    def test_a_tie_is_one_and_a_half(self):
        preferences, baseline, model = arrays()
        half, none = preferences.astype(float), preferences.astype(float)
        half[:40], none[:40] = 1.5, 0
        one, two = (length_controlled_win_rate(p, baseline, model, n_resamples=20) for p in (half, none))
        assert one == two

    def test_left_out(self):
        preferences, baseline, model = arrays()
        spoilt = preferences.astype(float)
        spoilt[200:] = NAN
        one = length_controlled_win_rate(spoilt, baseline, model, n_resamples=0)
        where = np.arange(300) < 200
        two = length_controlled_win_rate(preferences, baseline, model, where=where, n_resamples=0)
        assert one.n == two.n == one.win_rate.n == 200
        assert one.value == pytest.approx(two.value)

    def test_weights_repeat_items(self):
        preferences, baseline, model = arrays(100)
        gap_keeps_its_unit = np.tile([1, 1], 50)
        one = length_controlled_win_rate(preferences, baseline, model, penalty=0.0, n_resamples=0)
        two = length_controlled_win_rate(
            preferences, baseline, model, penalty=0.0, weights=3.0 * gap_keeps_its_unit, n_resamples=0
        )
        assert one.value == pytest.approx(two.value)

    def test_models_share_the_resamples(self):
        preferences, baseline, model = arrays(200)
        both = length_controlled_win_rates(
            np.c_[preferences, preferences], baseline, np.c_[model, model], names=["a", "b"], n_resamples=200
        )
        assert both.results[0] == both.results[1]
        assert [name for name, _ in both.table()] == ["a", "b"]

    @pytest.mark.slow
    def test_coverage(self):
        # 200 studies of 120 instructions; the truth is the share at equal lengths of a large study.
        truth = 1 / (1 + math.exp(-0.4))
        hits = []
        for seed in range(200):
            preferences, baseline, model = arrays(120, seed=seed, strength=0.4)
            result = length_controlled_win_rate(preferences, baseline, model, penalty=0.0, n_resamples=200)
            hits.append(result.low <= truth <= result.high)
        assert 0.91 <= np.mean(hits) <= 0.98


class TestDegenerate:
    def test_all_alike_has_no_maximum(self):
        with pytest.warns(StatisticsWarning, match="no finite coefficients"):
            result = length_controlled_win_rate([2] * 40, range(40), range(40, 0, -1), penalty=0.0)
        assert math.isnan(result.value)
        assert result.win_rate.value == 1
        assert "no finite" in result.reason

    def test_nothing_counts(self):
        with pytest.warns(StatisticsWarning, match="no item"):
            assert math.isnan(length_controlled_win_rate([NAN, 1], [1, NAN], [1, 1]).value)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"preferences": [1, 3]}, "preferences"),
            ({"preferences": [[1, 2]]}, "preferences"),
            ({"preferences": [1, 0.4]}, "preferences"),
            ({"length_model": [1]}, "length_model"),
            ({"difficulty": [1]}, "difficulty"),
            ({"penalty": -1}, "penalty"),
        ],
    )
    def test_bad_input(self, changes, message):
        arguments = {"preferences": [1, 2], "length_baseline": [1, 2], "length_model": [2, 2], **changes}
        with pytest.raises(InvalidInputError, match=message):
            length_controlled_win_rate(**arguments)

    def test_bad_tables(self):
        with pytest.raises(InvalidInputError, match="length_models"):
            length_controlled_win_rates(np.ones((3, 2)), [1, 2, 3], np.ones((3, 1)))
        with pytest.raises(InvalidInputError, match="names"):
            length_controlled_win_rates(np.ones((3, 2)), [1, 2, 3], np.ones((3, 2)), names=["a"])
