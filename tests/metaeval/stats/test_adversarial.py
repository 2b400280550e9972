"""Subset tables, the adversarial gap and positional bias: LLMBar's published tables, by hand, and loops."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import (
    Resamples,
    accuracy,
    hedging_rate,
    macro_mean,
    positional_agreement,
    positional_agreement_contributions,
    rating_verdicts,
)
from metaeval.stats.accuracy import accuracy_contributions
from metaeval.stats.adversarial import adversarial_gap, positional_bias, subset_accuracy
from metaeval.stats.errors import InvalidInputError, StatisticsWarning

NAN = math.nan
LLMBAR = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "statistics" / "llmbar.json").read_text(encoding="utf-8")
)


def printed(estimate):
    return float(f"{100 * estimate.value:.1f}")


def paths(subsets):
    return [name if name == "Natural" else f"Adversarial/{name}" for name in subsets]


class TestLlmbar:
    """Tables 2 to 10 of the paper: every subset, Adversarial and Average (unweighted means of subsets)."""

    def cells(self, table, figure):
        leaf = {
            row.path.split("/")[-1]: printed(getattr(row, figure)) for row in table.rows if row.n_subsets == 1
        }
        return {
            **leaf,
            "Adversarial": printed(getattr(table.row("Adversarial"), f"{figure}_macro")),
            "Average": printed(getattr(table.row(""), f"{figure}_macro")),
        }

    def test_verdicts(self, llmbar):
        rows = [row for row in LLMBAR["rows"] if not row["strategy"].startswith("Rating")]
        assert rows
        for row in rows:
            stored = llmbar[row["judge"], row["strategy"]]
            table = subset_accuracy(
                stored.verdicts, stored.gold, paths(stored.subsets), unparsed_agree=True, n_resamples=0
            )
            assert self.cells(table, "accuracy") == row["accuracy"]
            assert self.cells(table, "agreement") == row["agreement"]

    def test_ratings(self, llmbar):
        rows = [row for row in LLMBAR["rows"] if row["strategy"].startswith("Rating")]
        assert rows
        for row in rows:
            stored = llmbar[row["judge"], row["strategy"]]
            table = subset_accuracy(
                rating_verdicts(stored.score_1, stored.score_2),
                stored.gold,
                paths(stored.subsets),
                unparsed="hedge",
                unparsed_hedging="hedge",
                n_resamples=0,
            )
            assert self.cells(table, "accuracy") == row["accuracy"]
            # "Dif." is printed; one minus it, to rounding.
            hedging = self.cells(table, "hedging")
            assert hedging == pytest.approx(
                {name: 100 - value for name, value in row["different"].items()}, abs=0.11
            )
            assert table.row("").agreement is None

    def test_hedging(self, llmbar):
        for row in LLMBAR["hedging"]:
            stored = llmbar[row["judge"], row["strategy"]]
            verdicts = rating_verdicts(stored.score_1, stored.score_2)
            table = subset_accuracy(
                verdicts, stored.gold, paths(stored.subsets), unparsed="hedge", n_resamples=0
            )
            for name, expected in row["hedging"].items():
                assert printed(table.row(paths([name])[0]).hedging) == expected

    def test_gap_and_direction(self, llmbar):
        stored = llmbar["GPT-4", "Metrics_Reference"]
        table = subset_accuracy(stored.verdicts, stored.gold, paths(stored.subsets))
        # Natural 96.0 minus Adversarial 82.8.
        assert 100 * table.adversarial_gap.value == pytest.approx(96.0 - 82.8, abs=0.1)
        assert 0 < table.adversarial_gap.low < table.adversarial_gap.value < table.adversarial_gap.high
        chatgpt = llmbar["ChatGPT", "Vanilla_NoRules"]
        bias = positional_bias(chatgpt.verdicts)
        assert bias.agreement.value == positional_agreement(chatgpt.verdicts).value
        assert bias.conflicting.n == np.count_nonzero(
            (chatgpt.verdicts[:, 0] != chatgpt.verdicts[:, 1]) & ~np.isnan(chatgpt.verdicts).any(axis=1)
        )


class TestTable:
    VERDICTS = [[1, 1], [1, 2], [2, 2], [0, 1], [NAN, 2]]
    GOLD = [1, 1, 1, 1, 2]
    PATHS = ["Natural", "Natural", "Adversarial/A", "Adversarial/B/x", "Adversarial/B/y"]

    def test_by_hand(self):
        # Items: 1, 1/2, 0, (1/2 + 1)/2 = 3/4, 1/2 (unparsed is wrong).
        table = subset_accuracy(self.VERDICTS, self.GOLD, self.PATHS)
        assert [row.path for row in table.rows] == [
            *(
                "",
                "Adversarial",
                "Adversarial/A",
                "Adversarial/B",
                "Adversarial/B/x",
                "Adversarial/B/y",
                "Natural",
            )
        ]
        everything, hostile, both = table.row(""), table.row("Adversarial"), table.row("Adversarial/B")
        assert everything.accuracy.value == pytest.approx((1 + 0.5 + 0 + 0.75 + 0.5) / 5)
        assert everything.accuracy_macro.value == pytest.approx((0.75 + 0 + 0.75 + 0.5) / 4)
        assert hostile.accuracy.value == pytest.approx(1.25 / 3)
        assert hostile.accuracy_macro.value == pytest.approx(1.25 / 3)
        assert (both.n_subsets, both.accuracy.n) == (2, 2)
        assert everything.agreement.value == pytest.approx(2 / 5)
        assert everything.hedging.value == pytest.approx(0.5 / 5)
        assert table.adversarial_gap.value == pytest.approx(0.75 - 1.25 / 3)
        with pytest.raises(KeyError):
            table.row("Neighbor")

    def test_the_figures_are_those_of_the_estimators(self):
        rng = np.random.default_rng(1)
        verdicts = rng.choice([0, 1, 2, NAN], size=(200, 2), p=[0.1, 0.5, 0.3, 0.1])
        gold, clusters = rng.choice([1, 2], 200), rng.integers(0, 60, 200)
        names = rng.choice(["Natural", "Adversarial/A", "Adversarial/B"], 200)
        shared = {"resamples": Resamples(clusters, 500, 3), "weights": rng.random(200) + 0.5}
        table = subset_accuracy(verdicts, gold, names, **shared)
        where = np.char.startswith(names, "Adversarial")
        row, here = table.row("Adversarial"), {**shared, "where": where}
        same = [
            (row.accuracy, accuracy(verdicts, gold, **here)),
            (row.agreement, positional_agreement(verdicts, **here)),
            (row.hedging, hedging_rate(verdicts, **here)),
            (row.accuracy_macro, macro_mean(accuracy_contributions(verdicts, gold), names, **here)),
            (row.agreement_macro, macro_mean(positional_agreement_contributions(verdicts), names, **here)),
            (table.row("Natural").accuracy, accuracy(verdicts, gold, **shared, where=~where)),
            (table.adversarial_gap, adversarial_gap(verdicts, gold, names, **shared)),
        ]
        for found, expected in same:
            ends = (expected.value, expected.low, expected.high)
            assert (found.value, found.low, found.high) == pytest.approx(ends, abs=1e-9)
            assert (found.n, found.n_clusters, found.method) == (
                expected.n,
                expected.n_clusters,
                expected.method,
            )

    def test_a_selection(self):
        where = [True, True, True, False, False]
        table = subset_accuracy(self.VERDICTS, self.GOLD, self.PATHS, where=where)
        assert [row.path for row in table.rows] == ["", "Adversarial", "Adversarial/A", "Natural"]
        assert table.adversarial_gap.value == 0.75
        only = subset_accuracy(self.VERDICTS, self.GOLD, self.PATHS, where=[True, True, False, False, False])
        assert only.adversarial_gap is None

    def test_similar_names_are_other_subsets(self):
        table = subset_accuracy([1, 1], [1, 2], ["Adversarial2", "/Adversarial/"])
        assert table.row("Adversarial").accuracy.value == 0
        assert table.adversarial_gap.value == 1

    def test_a_subset_without_gold_is_undefined(self):
        with pytest.warns(StatisticsWarning, match="no item|no adversarial item"):
            table = subset_accuracy([1, 2], [1, NAN], ["Natural", "Adversarial/A"])
        assert not table.row("Adversarial").accuracy.defined
        assert not table.row("").accuracy_macro.defined
        assert not table.adversarial_gap.defined
        assert table.row("").hedging.value == 0


class TestGap:
    @settings(deadline=None)
    @given(
        st.lists(
            st.tuples(st.sampled_from("NABC"), st.sampled_from([1.0, 2.0, 0.0])), min_size=1, max_size=20
        )
    )
    def test_against_a_loop(self, rows):
        names = ["Natural" if kind == "N" else f"Adversarial/{kind}" for kind, _ in rows]
        verdicts = [verdict for _, verdict in rows]
        scores = {}
        for name, verdict in zip(names, verdicts, strict=True):
            scores.setdefault(name, []).append({1: 1.0, 2: 0.0, 0: 0.5}[verdict])
        natural = scores.pop("Natural", None)
        if not natural or not scores:
            with pytest.warns(StatisticsWarning, match="natural|adversarial"):
                assert not adversarial_gap(verdicts, [1] * len(rows), names).defined
            return
        macro = np.mean(natural) - np.mean([np.mean(values) for values in scores.values()])
        micro = np.mean(natural) - np.mean([score for values in scores.values() for score in values])
        options = {"n_resamples": 0}
        assert adversarial_gap(verdicts, [1] * len(rows), names, **options).value == pytest.approx(macro)
        assert adversarial_gap(
            verdicts, [1] * len(rows), names, mean="micro", **options
        ).value == pytest.approx(micro)

    def test_the_natural_side_by_name(self):
        names = ["Natural", "Easy", "Adversarial/A"]
        assert adversarial_gap([1, 2, 2], [1, 1, 1], names).value == 0.5
        assert adversarial_gap([1, 2, 2], [1, 1, 1], names, natural="Natural").value == 1

    def test_weights_are_copies(self):
        names = ["Natural"] * 3 + ["Adversarial/A"] * 3
        verdicts, gold = [1, 2, 1, 1, 2, 2], [1] * 6
        weighted = adversarial_gap(verdicts, gold, names, weights=[2, 1, 1, 3, 1, 1])
        assert weighted.value == pytest.approx(3 / 4 - 3 / 5)

    def test_coverage(self):
        """Of 200 datasets with a true gap of 0.15, in clusters of two items, the interval holds it in about 95%."""
        rng = np.random.default_rng(2)
        names = np.repeat(["Natural", "Adversarial/A", "Adversarial/B"], [100, 80, 40])
        clusters = np.arange(220) // 2
        truth = np.select([names == "Natural", names == "Adversarial/A"], [0.9, 0.8], 0.7)
        held = 0
        for _ in range(200):
            shared = rng.random(110)[clusters]
            right = np.where(rng.random(220) < 0.3, shared, rng.random(220)) < truth
            gap = adversarial_gap(
                np.where(right, 1, 2), np.ones(220), names, clusters=clusters, n_resamples=100, rng=1
            )
            held += gap.low <= 0.15 <= gap.high
        assert 0.91 <= held / 200 <= 0.995


class TestPositionalBias:
    def test_by_hand(self):
        # First shown twice; second shown twice; agreement; first and a tie; unparsed once.
        found = positional_bias([[1, 2], [2, 1], [2, 2], [1, 0], [NAN, 2]])
        assert (found.conflicting.value, found.conflicting.n) == (pytest.approx((1 - 1 + 0.5) / 3), 3)
        # Leans 1, 1, -1, -1, -1, 1, 1, 0, (none), 1 over ten judgments.
        assert found.overall.value == pytest.approx(2 / 10)
        assert found.agreement.value == pytest.approx(1 / 5)
        # Left out, the last item's mean is that of its one judgment.
        assert positional_bias([[1, 1], [NAN, 2], [1, 2]], unparsed="omit").overall.value == pytest.approx(
            2 / 3
        )

    def test_always_the_first_and_always_the_second(self):
        always = positional_bias(np.tile([1, 2], (50, 1)))
        assert (always.conflicting.value, always.overall.value, always.agreement.value) == (1, 1, 0)
        assert positional_bias(np.tile([2, 1], (50, 1))).conflicting.value == -1

    def test_a_judge_that_never_contradicts_itself_has_no_direction(self):
        with pytest.warns(StatisticsWarning, match="never differ"):
            found = positional_bias([[1, 1], [2, 2]])
        assert not found.conflicting.defined
        assert found.overall.value == 0

    def test_renaming_the_responses_changes_nothing(self):
        rng = np.random.default_rng(3)
        verdicts = rng.choice([0, 1, 2], size=(80, 2)).astype(float)
        renamed = np.where(verdicts == 0, 0, 3 - verdicts)[:, ::-1]
        one, two = positional_bias(verdicts, n_resamples=0), positional_bias(renamed, n_resamples=0)
        assert one.conflicting.value == pytest.approx(two.conflicting.value)
        assert one.overall.value == pytest.approx(two.overall.value)


def test_bad_input():
    for call, match in [
        (lambda: subset_accuracy([1], [1], ["a", "b"]), "subsets"),
        (lambda: adversarial_gap([1], [1], ["a"], mean="median"), "mean"),
        (lambda: adversarial_gap([1], [3], ["a"]), "gold"),
        (lambda: positional_bias([1, 2]), "both orders"),
        (lambda: positional_bias([[1, 3]]), "found 3"),
        (lambda: positional_bias([[1, 2]], unparsed="wrong"), "unparsed"),
    ]:
        with pytest.raises(InvalidInputError, match=match):
            call()
    with pytest.raises(TypeError, match="cluster"):
        subset_accuracy([1], [1], ["a"], cluster=[1])
