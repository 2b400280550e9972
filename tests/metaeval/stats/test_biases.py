"""Leanings: by hand, against loops, AlpacaEval's published figures, and lists in Markdown."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import length_bias_rate, longer_preference_share
from metaeval.stats.biases import (
    family_features,
    feature_preference,
    first_shown_contributions,
    first_shown_preference,
    has_list,
    list_preference,
)
from metaeval.stats.errors import InvalidInputError, StatisticsWarning

NAN = math.nan


class TestFeature:
    def test_by_hand(self):
        # More, more, less, tie, unparsed; the sixth pair is equal.
        verdicts, one, two = [1, 2, 1, 0, NAN, 1], [9, 5, 5, 9, 9, 5], [5, 9, 9, 5, 5, 5]
        found = feature_preference(verdicts, one, two)
        assert (found.value, found.n) == (pytest.approx(1 / 5), 5)
        assert feature_preference(verdicts, one, two, unparsed="omit").value == pytest.approx(1 / 4)
        assert feature_preference(verdicts, one, two, ties="omit").value == pytest.approx(1 / 4)
        assert feature_preference(verdicts, one, two, ties="omit", unparsed="omit").value == pytest.approx(
            1 / 3
        )
        assert feature_preference([1, 1], [9, 6], [5, 5], min_difference=1).n == 1

    rows = st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 2.0, NAN]),
            st.sampled_from([0.0, 1.0, 2.0, NAN]),
            st.integers(0, 3),
            st.sampled_from([0.0, 1.0, 2.0, NAN]),
        ),
        min_size=1,
        max_size=15,
    )

    @settings(deadline=None)
    @given(rows)
    def test_against_a_loop(self, rows):
        answers = [row[:2] for row in rows]
        one, two = [row[2] for row in rows], [row[3] for row in rows]
        leans = []
        for verdicts, more, less in zip(answers, one, two, strict=True):
            if math.isnan(less) or more == less:
                continue
            wanted = 1 if more > less else 2
            known = [0 if v == 0 else 1 if v == wanted else -1 for v in verdicts if not math.isnan(v)]
            if known:
                leans.append(sum(known) / len(known))
        if not leans:
            with pytest.warns(StatisticsWarning, match="differ in the feature"):
                assert not feature_preference(answers, one, two, unparsed="omit").defined
            return
        found = feature_preference(answers, one, two, unparsed="omit", n_resamples=0)
        assert found.value == pytest.approx(np.mean(leans))

    def test_length_bias_is_one_of_these(self):
        rng = np.random.default_rng(1)
        verdicts = rng.choice([0, 1, 2, NAN], size=(100, 2))
        one, two = rng.integers(0, 50, 100), rng.integers(0, 50, 100)
        for unparsed in ("neither", "omit"):
            assert feature_preference(
                verdicts, one, two, min_difference=5, unparsed=unparsed
            ) == length_bias_rate(verdicts, one, two, 5, unparsed=unparsed)

    def test_the_opposite_feature_is_the_opposite_lean(self):
        rng = np.random.default_rng(2)
        verdicts, one, two = rng.choice([0, 1, 2], 60), rng.random(60), rng.random(60)
        found = feature_preference(verdicts, one, two)
        opposite = feature_preference(verdicts, two, one)
        assert opposite.value == pytest.approx(-found.value)
        assert (opposite.low, opposite.high) == pytest.approx((-found.high, -found.low))

    def test_options_are_those_of_every_figure(self):
        found = feature_preference(
            [1, 1, 2, 2],
            [2] * 4,
            [1] * 4,
            clusters=list("aabb"),
            where=[True, True, True, False],
            weights=[1, 1, 2, 5],
        )
        assert (found.value, found.n, found.n_clusters) == (0, 3, 2)


class TestLists:
    @pytest.mark.parametrize(
        "text",
        [
            "Two:\n- one\n- two",
            "* one\n\n* two",
            "+ one\n+ two",
            "• one\n• two",
            "1. one\n2. two",
            "10) one\n11) two",
            "Nested:\n    - one\n\t- two",
            "- one\r\n- two",
            "**Bold.**\n1. one\n   - two",
        ],
    )
    def test_a_list(self, text):
        assert has_list(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "- one alone",
            "A well-known, state-of-the-art cake - really.",
            "It costs 4.75 or 5.\n2.5 is less.",
            "I saw it.\nA. Smith came.",
            "**Bold** one\n*emphasis* two",
            "* * *\n- - -\n---\n***",
            "```\n- one\n- two\n```",
            "~~~ text\n1. one\n2. two\n~~~",
            "1945. The war ends.\n1949. Another year.",
            "-5\n-6",
            "-\n-",
        ],
    )
    def test_no_list(self, text):
        assert not has_list(text)

    def test_code_ends(self):
        assert has_list("```\ncode\n```\n- one\n- two")

    def test_by_hand(self):
        listed, plain = "- a\n- b", "a and b"
        found = list_preference(
            [1, 2, 1, 0, 1], [listed, listed, plain, plain, listed], [plain, plain, listed, listed, listed]
        )
        # With a list; without; without; a tie; the last pair has two lists.
        assert (found.value, found.n) == (pytest.approx(-1 / 4), 4)

    @staticmethod
    def published_rule(text):
        """What AlpacaEval's contains_list looks for, restated: any mark and a word after it, anywhere."""
        marks = (r"[•*]", r"\d+[.)]", r"[a-zA-Z][.)]", r"-")
        return any(re.search(rf"{mark}\s*\w", text) for mark in marks)

    def test_alpaca_evals_figures(self, shared_data):
        """Its "Proba. prefer lists" of people (leaderboard: 0.6036036), and how often its rule sees a list."""
        path = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
        first = {}
        for row in json.loads(path.read_text(encoding="utf-8")):
            first.setdefault((row["instruction"], row["output_1"], row["output_2"]), row["preference"])
        labels = np.array(list(first.values()), dtype=float)
        one, two = [key[1] for key in first], [key[2] for key in first]
        published = list_preference(labels, one, two, detect=self.published_rule)
        assert (1 + published.value) / 2 == pytest.approx(0.6036036036036037, abs=1e-12)
        assert published.n == 111
        # The published rule calls 63% of the outputs lists: a hyphen in a word is enough. Lines that are items: 8%.
        assert np.mean([self.published_rule(text) for text in one]) == pytest.approx(0.631, abs=0.001)
        assert np.mean([has_list(text) for text in one]) == pytest.approx(0.080, abs=0.001)
        ours = list_preference(labels, one, two)
        assert (ours.n, (1 + ours.value) / 2) == (48, pytest.approx(30 / 48))

    def test_alpaca_evals_longer_is_the_same_in_another_scale(self, alpaca):
        lean = feature_preference(alpaca.labels[:, 0], alpaca.length_1, alpaca.length_2, min_difference=30)
        share = longer_preference_share(
            alpaca.labels[:, 0], alpaca.length_1, alpaca.length_2, min_difference=30
        )
        assert (1 + lean.value) / 2 == pytest.approx(share.value)
        assert share.value == pytest.approx(0.6359550561797753)


class TestFirstShown:
    def test_both_orders(self):
        # First, first; first, second; second, first (a response each time); a tie and unparsed.
        verdicts = [[1, 2], [1, 1], [2, 2], [0, NAN]]
        assert first_shown_contributions(verdicts).tolist() == [1, 0, 0, 0]
        assert first_shown_preference(verdicts).value == 0.25
        assert math.isnan(first_shown_contributions([[NAN, NAN]], unparsed="omit")[0])

    def test_labels_with_the_order_each_person_saw(self):
        labels, shown = [[1, 1], [2, NAN], [2, 1]], [[1, 2], [2, NAN], [1, NAN]]
        # (1 - 1) / 2; first; second (the other order is not known).
        assert first_shown_contributions(labels, shown, unparsed="omit").tolist() == [0, 1, -1]
        found = first_shown_preference(labels, shown, unparsed="omit")
        assert (found.value, found.n) == (0, 3)

    def test_undefined(self):
        with pytest.warns(StatisticsWarning, match="known order"):
            assert not first_shown_preference([1, 2], [NAN, NAN]).defined


def test_families():
    one, two = family_features(["gpt", "", None, "llama"], ["llama", "gpt", "gpt", "llama"], "gpt")
    assert np.array_equal(one, [1, NAN, NAN, 0], equal_nan=True)
    assert two.tolist() == [0, 1, 1, 0]


def test_bad_input():
    for call, match in [
        (lambda: feature_preference([1], [1], [1, 2]), "feature_2"),
        (lambda: feature_preference([1.5], [1], [2]), "found 1.5"),
        (lambda: feature_preference([1], [1], [2], min_difference=-1), "min_difference"),
        (lambda: feature_preference([1], [1], [2], ties="half"), "ties"),
        (lambda: feature_preference([1], [1], [2], unparsed="wrong"), "unparsed"),
        (lambda: first_shown_preference([1, 2]), "shown_first"),
        (lambda: first_shown_preference([1, 2], [1]), "shown_first"),
        (lambda: first_shown_preference([1, 2], [1, 0]), "shown_first"),
        (lambda: family_features(["a"], ["b"], ""), "judge_family"),
        (lambda: family_features(["a"], ["b", "c"], "a"), "families_2"),
    ]:
        with pytest.raises(InvalidInputError, match=match):
            call()


def test_of_a_judge_that_could_not_be_read_no_lean_is_known():
    nothing = np.full((20, 2), np.nan)
    for call in (
        lambda: first_shown_preference(nothing),
        lambda: feature_preference(nothing, np.arange(20), np.zeros(20)),
    ):
        with pytest.warns(StatisticsWarning):
            found = call()
        assert np.isnan(found.value)
        assert found.n == 0
        assert found.reason
