"""Bradley-Terry: by hand, evalica's and scikit-learn's figures, slow oracles, invariants, degenerate input."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import InvalidInputError, Resamples, StatisticsWarning
from metaeval.stats.bradley_terry import bradley_terry
from metaeval.stats.bradley_terry_fit import Design, fit_strengths, newman
from metaeval.stats.bradley_terry_result import ELO
from tests.metaeval.stats import pairwise_oracle as oracle

MODELS = ["half", "omit", "davidson", "rao_kupper"]
GAMES = oracle.games()

# pip install evalica==0.4.2; W is evalica.Winner of each outcome of oracle.games():
#   logs = np.log(evalica.bradley_terry(first, second, W, tolerance=1e-12, limit=100_000).scores.sort_index())
#   logs - logs.mean(); and the same of evalica.newman, with 2 * v for nu.
EVALICA = {
    "half": [-0.499147, -0.167023, -0.022653, 0.157682, 0.53114],
    "davidson": [-0.653211, -0.218383, -0.029661, 0.206093, 0.695162],
}
EVALICA_NU = 0.6050267185147606
# scikit-learn 1.9.1: columns +1, -1 of the systems and np.random.default_rng(7).normal(size=(400, 2)); every row
# twice, as a win of either, weighted 1, 1/2 or 0:
#   LogisticRegression(C=2, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y, sample_weight=w).coef_
SKLEARN = [-0.486809, -0.168894, -0.020426, 0.175088, 0.501041, -0.005356, 0.152755]


def logs(result):
    return [strength.value for strength in result.strengths]


def two_systems(wins, losses, ties):
    outcome = [1] * wins + [2] * losses + [0] * ties
    return ["a"] * len(outcome), ["b"] * len(outcome), outcome


class TestByHand:
    def test_two_systems(self):
        # 30 wins to 10: odds of 3, a difference of log 3, which is 400 log10 3 = 190.85 Elo.
        result = bradley_terry(*two_systems(30, 10, 0), n_resamples=0)
        assert logs(result) == pytest.approx([1000 + 200 * math.log10(3), 1000 - 200 * math.log10(3)])
        assert result.win_probability("a", "b").value == pytest.approx(0.75)
        assert result.log_likelihood == pytest.approx(30 * math.log(0.75) + 10 * math.log(0.25))

    def test_ties_as_halves(self):
        # 30 wins, 10 losses, 20 ties: 40 to 20.
        result = bradley_terry(*two_systems(30, 10, 20), scale="log", n_resamples=0)
        assert result.strength("a").value - result.strength("b").value == pytest.approx(math.log(2))
        assert result.tie_parameter is None

    def test_ties_left_out(self):
        result = bradley_terry(*two_systems(30, 10, 20), ties="omit", scale="log", n_resamples=0)
        assert result.strength("a").value - result.strength("b").value == pytest.approx(math.log(3))
        assert result.n == 40

    def test_davidson(self):
        # The three shares are met exactly: odds of 3, and nu = 20 / sqrt(30 * 10).
        result = bradley_terry(*two_systems(30, 10, 20), ties="davidson", scale="log", n_resamples=0)
        assert result.strength("a").value - result.strength("b").value == pytest.approx(math.log(3))
        assert result.tie_parameter.value == pytest.approx(20 / math.sqrt(300))
        assert result.win_probability("a", "b").value == pytest.approx((30 + 10) / 60)

    def test_rao_kupper(self):
        # s(d - k) = 1/2 and s(-d - k) = 1/6: d = k, and 2 d = log 5.
        result = bradley_terry(*two_systems(30, 10, 20), ties="rao_kupper", scale="log", n_resamples=0)
        assert result.strength("a").value - result.strength("b").value == pytest.approx(math.log(5) / 2)
        assert result.tie_parameter.value == pytest.approx(math.sqrt(5))

    def test_position(self):
        # a wins 30 of 40 shown first and 20 of 40 shown second: log odds d + g = log 3 and d - g = 0.
        first, second = ["a"] * 40 + ["b"] * 40, ["b"] * 40 + ["a"] * 40
        outcome = [1] * 30 + [2] * 10 + [1] * 20 + [2] * 20
        result = bradley_terry(first, second, outcome, position=True, scale="log", n_resamples=0)
        assert result.coefficients["position"].value == pytest.approx(math.log(3) / 2)
        assert result.strength("a").value - result.strength("b").value == pytest.approx(math.log(3) / 2)

    def test_probability_against_the_field(self):
        # Of three equal pairs with odds of 3: a against b and c, and so on.
        result = bradley_terry(
            ["a"] * 4 + ["b"] * 4, ["b"] * 4 + ["c"] * 4, [1, 1, 1, 2] * 2, scale="probability", n_resamples=0
        )
        assert logs(result) == pytest.approx(
            [(3 / 4 + 9 / 10) / 2, (1 / 4 + 3 / 4) / 2, (1 / 4 + 1 / 10) / 2]
        )


class TestReferences:
    @pytest.mark.parametrize("model", ["half", "davidson"])
    @pytest.mark.parametrize("solver", ["newton", "newman"])
    def test_evalica(self, model, solver):
        result = bradley_terry(*GAMES, ties=model, solver=solver, scale="log", n_resamples=0)
        assert logs(result) == pytest.approx(EVALICA[model], abs=1e-6)
        if model == "davidson":
            assert result.tie_parameter.value == pytest.approx(EVALICA_NU, abs=1e-6)

    def test_style_as_scikit_learn(self):
        style = np.random.default_rng(7).normal(size=(400, 2))
        result = bradley_terry(*GAMES, covariates=style, regularization=0.5, scale="log", n_resamples=0)
        found = [*logs(result), *(each.value for each in result.coefficients.values())]
        assert found == pytest.approx(SKLEARN, abs=1e-5)
        assert list(result.coefficients) == ["covariate 1", "covariate 2"]


class TestOracle:
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("ridge", [0.0, 0.7])
    def test_every_model_row_by_row(self, model, ridge):
        first, second, outcome = oracle.games(90, 4, seed=3)
        extra = np.c_[np.ones(90), np.random.default_rng(1).normal(size=90)]
        expected, likelihood = oracle.fit(model, 4, first, second, outcome, extra, ridge)
        result = bradley_terry(
            first, second, outcome, ties=model, position=True, covariates={"longer": extra[:, 1]},
            regularization=ridge, scale="log", n_resamples=0,
        )  # fmt: skip
        assert logs(result) == pytest.approx(expected[:4], abs=2e-4)
        assert result.coefficients["position"].value == pytest.approx(expected[4], abs=2e-4)
        assert result.coefficients["longer"].value == pytest.approx(expected[5], abs=2e-4)
        if result.tie_parameter is not None:
            assert math.log(result.tie_parameter.value) == pytest.approx(expected[-1], abs=2e-4)
        if not ridge:
            assert result.log_likelihood == pytest.approx(likelihood, abs=1e-4)

    @given(
        st.lists(st.integers(1, 30), min_size=18, max_size=18),
        st.sampled_from(MODELS),
        st.booleans(),
    )
    @settings(max_examples=20, deadline=None)
    def test_two_solvers(self, numbers, model, no_ties):
        counts = np.array(numbers, dtype=float).reshape(3, 6)
        if no_ties:
            counts[2] = 0
        design = _design(model)
        one, two = fit_strengths(design, counts[np.newaxis]), newman(design, counts)
        assert one.converged[0]
        assert two.converged[0]
        np.testing.assert_allclose(np.exp(one.parameters), np.exp(two.parameters), rtol=1e-6)

    @pytest.mark.parametrize("model", MODELS)
    def test_each_resample_is_a_fit_of_the_rows_drawn(self, model):
        first, second, outcome = oracle.games(120, 3, seed=1)
        clusters = np.arange(120) // 3
        resamples = Resamples(clusters, 2, rng=4)
        result = bradley_terry(first, second, outcome, ties=model, position=True, resamples=resamples)
        drawn = np.concatenate(list(resamples.item_draws())).astype(int)
        for draw, parameters in zip(drawn, result.uncertain.resampled, strict=True):
            rows = np.repeat(np.arange(120), draw)
            expected, _ = oracle.fit(
                model, 3, first[rows], second[rows], outcome[rows], np.ones((len(rows), 1))
            )
            np.testing.assert_allclose(parameters, expected, atol=5e-4)


def _design(model):
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    return Design(pairs[:, 0], pairs[:, 1], 4, np.zeros((6, 0)), model)


class TestInvariants:
    @pytest.mark.parametrize("model", MODELS)
    def test_sides_do_not_matter(self, model):
        first, second, outcome = GAMES
        turned = np.random.default_rng(0).random(len(first)) < 0.5
        other = bradley_terry(
            np.where(turned, second, first), np.where(turned, first, second),
            np.where(turned & (outcome > 0), 3 - outcome, outcome), ties=model, n_resamples=0,
        )  # fmt: skip
        assert logs(other) == pytest.approx(logs(bradley_terry(*GAMES, ties=model, n_resamples=0)))

    def test_scales(self):
        elo = bradley_terry(*GAMES, n_resamples=50)
        log = bradley_terry(*GAMES, scale="log", n_resamples=50)
        assert [(value - 1000) / ELO for value in logs(elo)] == pytest.approx(logs(log))
        assert (elo.strengths[0].low - 1000) / ELO == pytest.approx(log.strengths[0].low)
        field = bradley_terry(*GAMES, scale="probability", n_resamples=50)
        assert sum(logs(field)) == pytest.approx(2.5)
        assert [rank.value for rank in field.ranks] == [rank.value for rank in elo.ranks]

    def test_anchor(self):
        result = bradley_terry(*GAMES, anchor=(2, 1114), n_resamples=50)
        assert (result.strengths[2].low, result.strengths[2].value, result.strengths[2].high) == (1114,) * 3
        plain = bradley_terry(*GAMES, n_resamples=50)
        assert np.diff(logs(result)) == pytest.approx(np.diff(logs(plain)))
        assert bradley_terry(*GAMES, anchor=2, scale="log", n_resamples=0).strengths[2].value == 0

    def test_names_and_numbers(self):
        first, second, outcome = GAMES
        letters = np.array(list("abcde"))
        named = bradley_terry(letters[first], letters[second], outcome, n_resamples=20)
        assert named.names == tuple("abcde")
        assert named.strengths == bradley_terry(*GAMES, n_resamples=20).strengths

    def test_unparsed_and_selected(self):
        first, second, outcome = GAMES
        outcome = outcome.astype(float)
        outcome[:100] = np.nan
        where = np.arange(400) < 300
        result = bradley_terry(first, second, outcome, where=where, n_resamples=0)
        assert result.n == 200
        assert logs(result) == pytest.approx(
            logs(bradley_terry(first[100:300], second[100:300], outcome[100:300], n_resamples=0))
        )

    def test_weights_repeat_rows(self):
        first, second, outcome = GAMES
        weights = np.random.default_rng(0).integers(0, 4, 400)
        rows = np.repeat(np.arange(400), weights)
        weighted = bradley_terry(*GAMES, ties="davidson", weights=weights, n_resamples=0)
        repeated = bradley_terry(first[rows], second[rows], outcome[rows], ties="davidson", n_resamples=0)
        assert logs(weighted) == pytest.approx(logs(repeated))

    def test_the_strongest_ranks_first(self):
        result = bradley_terry(*oracle.games(20_000), n_resamples=100)
        assert [(rank.value, rank.low, rank.high) for rank in result.ranks] == [
            (k, k, k) for k in (5, 4, 3, 2, 1)
        ]
        assert [name for name, _ in result.table()] == [4, 3, 2, 1, 0]
        assert result.rank(4).value == 1

    def test_equal_systems_share_their_ranks(self):
        first, second, _ = oracle.games(2_000)
        result = bradley_terry(first, second, np.random.default_rng(1).integers(1, 3, 2_000), n_resamples=200)
        assert all(rank.low == 1 and rank.high == 5 for rank in result.ranks)

    def test_as_json(self):
        with pytest.warns(StatisticsWarning):
            result = bradley_terry(["a", "b", "c", "c"], ["b", "c", "b", "b"], [1, 1, 1, 1], n_resamples=0)
        plain = json.loads(json.dumps(result.as_dict()))
        assert plain["systems"][0]["strength"]["value"] is None
        assert "no finite strength" in plain["systems"][0]["rank"]["reason"]
        assert plain["systems"][2]["rank"]["value"] == 1
        assert (plain["ties"], plain["n"]) == ("half", 3)


class TestDegenerate:
    def test_a_system_that_always_wins_has_no_strength(self):
        first = ["a", "a", "b", "c", "b", "d", "c", "d"]
        second = ["b", "c", "c", "b", "d", "b", "d", "c"]
        outcome = [1, 1, 1, 1, 1, 1, 1, 1]
        with pytest.warns(StatisticsWarning, match="a: no finite strength"):
            result = bradley_terry(first, second, outcome, scale="log", n_resamples=0)
        assert math.isnan(result.strength("a").value)
        assert "no finite strength" in result.strength("a").reason
        # The others are as if it had not played.
        assert logs(result)[1:] == pytest.approx([0, 0, 0], abs=1e-9)
        assert result.strength("b").n == 4
        assert math.isnan(result.win_probability("a", "b").value)
        assert math.isnan(result.rank("a").value)

    def test_a_prior_gives_it_one(self):
        first, second = ["a", "a", "b", "c"], ["b", "c", "c", "b"]
        result = bradley_terry(first, second, [1, 1, 1, 1], regularization=1, scale="log", n_resamples=0)
        assert result.strength("a").value > 0.3
        assert result.regularization == 1

    def test_islands(self):
        with pytest.warns(StatisticsWarning, match="no more than half"):
            result = bradley_terry(["a", "b", "c", "d"], ["b", "a", "d", "c"], [1] * 4)
        assert all(math.isnan(value) for value in logs(result))
        assert "no more than half" in result.reason
        assert math.isnan(result.win_probability("a", "b").value)

    def test_nobody_loses_in_a_cycle_but_some_resamples_do(self):
        # Nine games in a ring: a finite estimate, and many resamples without one.
        result = bradley_terry(["a", "b", "c"] * 3, ["b", "c", "a"] * 3, [1] * 9, scale="log")
        assert logs(result) == pytest.approx([0, 0, 0], abs=1e-9)
        assert math.isnan(result.strengths[0].low)
        assert "resamples" in result.strengths[0].reason
        assert math.isnan(result.ranks[0].low)

    def test_all_ties(self):
        games = (["a", "b"], ["b", "a"], [0, 0])
        assert logs(bradley_terry(*games, scale="log", n_resamples=0)) == pytest.approx([0, 0], abs=1e-9)
        with pytest.warns(StatisticsWarning, match="every comparison is a tie"):
            assert math.isnan(bradley_terry(*games, ties="davidson").strengths[0].value)
        with pytest.warns(StatisticsWarning, match="no comparison"):
            assert bradley_terry(*games, ties="omit").reason == "no comparison counts"

    @pytest.mark.parametrize(("model", "edge"), [("davidson", 0.0), ("rao_kupper", 1.0)])
    def test_no_ties(self, model, edge):
        result = bradley_terry(*two_systems(30, 10, 0), ties=model, n_resamples=100)
        assert result.tie_parameter.value == edge
        assert math.isnan(result.tie_parameter.low)
        assert result.tie_parameter.reason == "no interval: no tie occurred"
        assert result.win_probability("a", "b").value == pytest.approx(0.75)

    def test_one_cluster(self):
        with pytest.warns(StatisticsWarning, match="one cluster"):
            result = bradley_terry(*two_systems(3, 1, 0), clusters=["x"] * 4)
        assert math.isnan(result.strengths[0].low)
        assert result.strengths[0].defined

    def test_covariates_that_say_too_much(self):
        first, second, outcome = GAMES
        with pytest.warns(StatisticsWarning, match="no more than the systems"):
            same = bradley_terry(first, second, outcome, covariates={"x": np.ones(400), "y": np.ones(400)})
        assert math.isnan(same.strengths[0].value)
        with pytest.warns(StatisticsWarning, match="separate"):
            told = bradley_terry(
                first,
                second,
                np.where(outcome == 0, 1, outcome),
                covariates={"x": 3.0 - 2 * np.maximum(outcome, 1)},
            )
        assert math.isnan(told.strengths[0].value)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"ties": "thirds"}, "ties"),
            ({"scale": "glicko"}, "scale"),
            ({"anchor": "nobody"}, "anchor"),
            ({"anchor": (1, 2, 3)}, "anchor"),
            ({"anchor": 1, "scale": "probability"}, "anchor"),
            ({"regularization": -1}, "regularization"),
            ({"outcome": [1, 3]}, "outcome"),
            ({"second": ["a", "c"]}, "with itself"),
            ({"second": ["b"]}, "second"),
            ({"second": [0.5, 1.5]}, "second"),
            ({"covariates": [1, 2]}, "covariates"),
            ({"solver": "newman", "position": True}, "solver"),
        ],
    )
    def test_bad_input(self, changes, message):
        arguments = {"first": ["a", "b"], "second": ["b", "c"], "outcome": [1, 2], **changes}
        with pytest.raises(InvalidInputError, match=message):
            bradley_terry(**arguments)
        with pytest.raises(InvalidInputError, match="none of the systems"):
            bradley_terry(*GAMES, n_resamples=0).strength("nobody")
