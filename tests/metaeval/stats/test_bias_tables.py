"""Leanings of judges beside people's: by hand, the difference on the same items, and self-preference that is merit."""

import math

import numpy as np
import pytest

from metaeval.stats import expected_win_rate, length_bias_rate
from metaeval.stats.bias_tables import bias_table, self_preference
from metaeval.stats.biases import family_features
from metaeval.stats.errors import InvalidInputError, StatisticsWarning

NAN = math.nan


class TestTable:
    VERDICTS, LENGTHS = [1, 1, 2, 0, NAN, 1], ([9, 9, 9, 9, 9, 9], [5, 5, 5, 5, 5, 5])
    LABELS = [[1, 2], [1, 1], [2, NAN], [1, 0], [1, 1], [NAN, NAN]]
    CATEGORIES = ["qa", "qa", "chat", "chat", "chat", "qa"]

    def test_by_hand(self):
        # Judge 1, 1, -1, 0, 0 (unparsed); people 0, 1, -1, 1/2, 1. The sixth item has no label and does not count.
        (everything, chat, qa) = bias_table(
            self.VERDICTS, {"length": self.LENGTHS}, self.LABELS, categories=self.CATEGORIES
        )
        assert (everything.bias, everything.category) == ("length", None)
        assert (everything.judge.value, everything.people.value) == (
            pytest.approx(1 / 5),
            pytest.approx(1.5 / 5),
        )
        assert everything.difference.value == pytest.approx(-0.5 / 5)
        assert (everything.judge.n, everything.people.n, everything.difference.n) == (5, 5, 5)
        assert (chat.category, chat.judge.value, chat.people.value) == (
            "chat",
            pytest.approx(-1 / 3),
            pytest.approx(0.5 / 3),
        )
        assert (qa.category, qa.judge.value, qa.people.value, qa.difference.value) == ("qa", 1, 0.5, 0.5)

    def test_without_labels(self):
        (row,) = bias_table(self.VERDICTS, {"length": self.LENGTHS})
        assert row.judge == length_bias_rate(self.VERDICTS, *self.LENGTHS, rng=None)
        assert (row.judge.n, row.people, row.difference) == (6, None, None)

    def test_several_features_in_their_order(self):
        rng = np.random.default_rng(1)
        verdicts, labels = rng.choice([0, 1, 2], 80), rng.choice([1, 2], (80, 3))
        features = {
            name: (rng.integers(0, 9, 80), rng.integers(0, 9, 80)) for name in ("length", "bold", "lists")
        }
        rows = bias_table(
            verdicts, features, labels, min_differences={"bold": 3}, clusters=np.arange(80) // 2
        )
        assert [row.bias for row in rows] == ["length", "bold", "lists"]
        assert rows[1].judge.n == np.count_nonzero(np.abs(np.subtract(*features["bold"])) > 3)
        for row in rows:
            assert row.difference.value == pytest.approx(row.judge.value - row.people.value)
            assert -2 <= row.difference.low <= row.difference.value <= row.difference.high <= 2
            assert row.judge.n_clusters <= 40

    def test_a_judge_like_people_differs_by_nothing(self):
        rng = np.random.default_rng(2)
        labels = rng.choice([1, 2], 50)
        (row,) = bias_table(labels, {"length": (rng.random(50), rng.random(50))}, labels)
        assert row.judge == row.people
        assert row.difference.value == 0
        assert row.difference.low < 0 < row.difference.high

    def test_an_extreme_judge_is_at_the_end_of_the_range(self):
        (row,) = bias_table([1] * 30, {"length": ([2] * 30, [1] * 30)}, [2] * 30)
        assert (row.judge.value, row.people.value, row.difference.value) == (1, -1, 2)
        assert row.difference.high == 2

    def test_undefined_where_nothing_differs(self):
        with pytest.warns(StatisticsWarning):
            rows = bias_table([1, 2], {"length": ([1, 2], [1, 1])}, [1, 2], categories=["a", "b"])
        assert [row.judge.defined for row in rows] == [True, False, True]
        assert rows[1].difference.reason == "no item is scored for both"

    def test_a_selection(self):
        where = [True, True, False, False, False, False]
        rows = bias_table(
            self.VERDICTS, {"length": self.LENGTHS}, self.LABELS, categories=self.CATEGORIES, where=where
        )
        assert [(row.category, row.judge.n) for row in rows] == [(None, 2), ("qa", 2)]


class TestSelfPreference:
    def test_by_hand(self):
        one, two = (
            ["gpt", "llama", "gpt", "gpt", "llama", "gpt"],
            ["llama", "gpt", "llama", "gpt", "llama", ""],
        )
        # Own, own (the second), tie; two of the family, none of it, and one unknown do not count.
        found = self_preference(
            [1, 2, 0, 1, 1, 1], one, two, "gpt", [[1, 1], [1, 2], [2, 2], [1, 1], [1, 1], [1, 1]]
        )
        assert (found.judge.value, found.people.value) == (pytest.approx(2.5 / 3), pytest.approx(1.5 / 3))
        assert found.difference.value == pytest.approx(1 / 3)
        assert (found.judge.n, found.bias) == (3, "own family")
        strict = self_preference([1, 2, 0], one[:3], two[:3], "gpt", ties="omit")
        assert (strict.judge.value, strict.people, strict.difference) == (1, None, None)

    def test_unparsed(self):
        families = ["gpt"] * 3, ["llama"] * 3
        assert self_preference([1, 1, NAN], *families, "gpt").judge.value == 1
        assert self_preference([1, 1, NAN], *families, "gpt", unparsed="half").judge.value == pytest.approx(
            2.5 / 3
        )

    def test_the_judges_share_is_a_win_rate(self):
        rng = np.random.default_rng(3)
        verdicts = rng.choice([0, 1, 2], 100)
        found = self_preference(verdicts, ["gpt"] * 100, ["llama"] * 100, "gpt")
        assert found.judge.value == pytest.approx(expected_win_rate(verdicts).value)
        other = self_preference(verdicts, ["gpt"] * 100, ["llama"] * 100, "llama")
        assert other.judge.value == pytest.approx(1 - found.judge.value)

    @pytest.mark.slow
    def test_a_better_family_is_no_bias(self):
        """The family wins 70% by merit; a fair judge agrees with people, a vain one turns a fifth of its losses."""
        rng = np.random.default_rng(4)
        merit = np.where(rng.random(2_000) < 0.7, 1, 2)
        labels = np.where(rng.random((2_000, 3)) < 0.85, merit[:, np.newaxis], 3 - merit[:, np.newaxis])
        fair = np.where(rng.random(2_000) < 0.85, merit, 3 - merit)
        vain = np.where((fair == 2) & (rng.random(2_000) < 0.2), 1, fair)
        families = ["gpt"] * 2_000, ["llama"] * 2_000
        fair_row = self_preference(fair, *families, "gpt", labels)
        vain_row = self_preference(vain, *families, "gpt", labels)
        assert fair_row.judge.low > 0.5
        assert fair_row.difference.low < 0 < fair_row.difference.high
        assert vain_row.difference.low > 0.03

    def test_it_is_half_of_the_family_feature(self):
        rng = np.random.default_rng(5)
        one, two = rng.choice(["gpt", "llama"], 60), rng.choice(["gpt", "llama"], 60)
        verdicts, labels = rng.choice([0, 1, 2], 60), rng.choice([0, 1, 2], (60, 2))
        (row,) = bias_table(verdicts, {"own family": family_features(one, two, "gpt")}, labels)
        found = self_preference(verdicts, one, two, "gpt", labels)
        assert found.difference.value == pytest.approx(row.difference.value / 2)
        assert found.judge.value == pytest.approx((row.judge.value + 1) / 2)

    def test_undefined(self):
        with pytest.warns(StatisticsWarning, match="exactly one response"):
            assert not self_preference([1], ["gpt"], ["gpt"], "gpt").judge.defined


def test_bad_input():
    for call, match in [
        (lambda: self_preference([1], ["a"], ["b"], "a", ties="neither"), "ties"),
        (lambda: self_preference([1], ["a"], ["b"], "a", unparsed="wrong"), "unparsed"),
        (lambda: bias_table([1], {"x": ([1], [2])}, categories=["a", "b"]), "categories"),
        (lambda: bias_table([1], {"x": ([1], [2])}, min_differences={"y": 1}), "no feature 'y'"),
        (lambda: bias_table([1], {"x": ([1], [2, 3])}), "feature_2"),
    ]:
        with pytest.raises(InvalidInputError, match=match):
            call()
