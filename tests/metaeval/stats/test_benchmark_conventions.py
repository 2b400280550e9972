"""Benchmarks' own ways to count, each by hand and against a restatement of its authors' rule."""

import math
import re
from itertools import combinations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from annotation.importers.rewardbench import SECTION_OF
from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    accuracy,
    adjust_p_values,
    alternative_annotator_test,
    best_of_accuracy,
    best_of_contributions,
    best_of_score,
    percent_agreement,
    preset,
    rubric_points_contributions,
    rubric_points_score,
    section_accuracy,
    subset_accuracy,
    vote_agreement,
)

NAN = math.nan


def drawn(*shape, values=(0.0, 1.0, 2.0, NAN), seed=0):
    return np.random.default_rng(seed).choice(values, shape)


class TestJudgeBench:
    """S. Tan et al., ICLR 2025: an order that says the right response adds one, one that says the other takes one."""

    OPTIONS = preset("judgebench").of("accuracy")

    def test_by_hand(self):
        # Both right; right and a tie; right and unread: right. One of each; two ties; wrong and a tie; unread: wrong.
        verdicts = [[1, 1], [1, 0], [NAN, 1], [1, 2], [0, 0], [2, 0], [NAN, NAN]]
        assert accuracy(verdicts, [1] * 7, **self.OPTIONS).value == pytest.approx(3 / 7)
        # The mean of the orders, with hedges, is another figure: (2 + 1.5 + 1 + 1 + 1 + 0.5 + 0) / 14.
        assert accuracy(verdicts, [1] * 7).value == pytest.approx(7 / 14)

    @pytest.mark.parametrize("n_orders", [1, 2])
    def test_against_the_authors_rule(self, n_orders):
        verdicts, gold = drawn(500, n_orders), drawn(500, values=(1.0, 2.0), seed=1)
        right = 0
        for pair, answer in zip(verdicts, gold, strict=True):
            count = 0
            for said in pair:
                count += 1 if said == answer else -1 if said == 3 - answer else 0
            right += count > 0
        assert accuracy(verdicts, gold, **self.OPTIONS).value == pytest.approx(right / 500)

    def test_by_subset(self):
        table = subset_accuracy(
            [[1, 0], [1, 2], [1, 1]],
            [1, 1, 1],
            ["math", "math", "code"],
            **preset("judgebench").of(subset_accuracy),
        )
        assert (table.row("math").accuracy.value, table.row("code").accuracy.value) == (0.5, 1.0)

    def test_a_tie_that_is_right(self):
        assert accuracy([[1, 2], [0, 0], [1, 0]], [0, 0, 0], orders="net").value == pytest.approx(2 / 3)

    def test_without_gold(self):
        with pytest.warns(StatisticsWarning, match="no item with a gold answer"):
            assert not accuracy([[1, 1]], [NAN], **self.OPTIONS).defined


class TestVotes:
    """L. Zheng et al., NeurIPS 2023, table 5: setups S1 and S2."""

    VOTES = np.array([[1, 1, 2], [2, 0, NAN], [0, 0, 1]])

    def test_by_hand(self):
        # The judge says 1, a tie (its orders differ), a tie. S1: 2 of 3, 1 of 2, 2 of 3. S2: only the first, 2 of 3.
        judge = [[1, 1], [2, 1], [0, 0]]
        one, two = (preset(f"mt_bench_s{n}").of("vote_agreement") for n in (1, 2))
        assert vote_agreement(self.VOTES, judge, **one).value == pytest.approx(5 / 8)
        assert vote_agreement(self.VOTES, judge, **two, n_resamples=0).value == pytest.approx(2 / 3)
        # People: S1 1 of 3, 0 of 1, 1 of 3 pairs of votes; S2 1 of 3, and no other pair without a tie.
        assert vote_agreement(self.VOTES, **one).value == pytest.approx(2 / 7)
        assert vote_agreement(self.VOTES, **two, n_resamples=0).value == pytest.approx(1 / 3)

    @pytest.mark.parametrize("setup", [1, 2])
    @pytest.mark.parametrize("with_judge", [True, False])
    def test_against_the_authors_rule(self, setup, with_judge):
        votes, judge = drawn(300, 4, seed=setup), drawn(300, values=(0.0, 1.0, 2.0), seed=9)
        banned = () if setup == 1 else (0.0,)
        same = n = 0
        for row, said in zip(votes, judge, strict=True):
            given = [vote for vote in row if not math.isnan(vote)]
            pairs = [(said, vote) for vote in given] if with_judge else list(combinations(given, 2))
            for one, other in pairs:
                if one not in banned and other not in banned:
                    n += 1
                    same += one == other
        options = preset(f"mt_bench_s{setup}").of(vote_agreement)
        found = vote_agreement(votes, judge if with_judge else None, **options)
        assert found.value == pytest.approx(same / n)

    def test_people_who_may_tie_agree_as_ever(self):
        votes = drawn(80, 5, seed=4)
        found = vote_agreement(votes)
        assert found.value == pytest.approx(percent_agreement(votes, average="pairs").value)

    def test_long_votes(self):
        rows, columns = np.nonzero(~np.isnan(self.VOTES))
        long = (rows, columns, self.VOTES[rows, columns])
        judge = [1, 0, 0]
        assert vote_agreement(long, judge).value == vote_agreement(self.VOTES, judge).value

    def test_an_order_that_could_not_be_read_is_no_choice(self):
        assert vote_agreement([[1], [1], [0]], [[1, NAN], [NAN, NAN], [NAN, 2]]).value == 0.5

    def test_no_two_votes(self):
        with pytest.warns(StatisticsWarning, match="no item has two votes"):
            assert not vote_agreement([[1, NAN], [2, NAN]]).defined
        with pytest.warns(StatisticsWarning, match="no item has a verdict and a vote"):
            assert not vote_agreement([[1], [2]], [0, 0], ties="omit").defined

    def test_no_votes_but_ratings(self):
        with pytest.raises(InvalidInputError, match=r"labels: expected 0 \(tie\), 1, 2 or NaN, found 4"):
            vote_agreement([[4, 1]])


class TestSections:
    OPTIONS = preset("rewardbench").of("section_accuracy")

    def test_rewardbench_by_hand(self):
        # Reasoning: math-prm right, hep-rust wrong: 984 / (984 + 164). Safety: a tie and a right one.
        subsets = [
            *("Chat/alpacaeval-easy", "Chat Hard/mt-bench-hard", "Reasoning/math-prm", "Reasoning/hep-rust"),
            *("Safety/donotanswer", "Safety/donotanswer"),
        ]
        found = section_accuracy([1, 2, 1, 2, 0, 1], [1] * 6, subsets, **self.OPTIONS)
        expected = {"Chat": 1.0, "Chat Hard": 0.0, "Safety": 0.75, "Reasoning": 984 / 1148}
        assert {row.name: row.accuracy.value for row in found.rows} == pytest.approx(expected)
        assert found.overall.value == pytest.approx(sum(expected.values()) / 4)
        assert found.row("Reasoning").missing == tuple(
            f"Reasoning/hep-{language}" for language in ("cpp", "go", "java", "js", "python")
        )

    def test_rewardbench_has_every_subset_that_is_imported(self):
        weights = self.OPTIONS["sections"]
        assert {name for section in weights.values() for name in section} == {
            f"{section}/{subset}" for subset, section in SECTION_OF.items()
        }
        # 2,985 prompts, of which the 447 of math-prm count as 984.
        assert sum(sum(section.values()) for section in weights.values()) == 2985 - 447 + 984

    def test_against_a_restatement(self):
        sections = {"A": {"a": 3, "b": 1}, "B": {"c": 2}, "C": {"d": 1, "e": 1, "f": 5}}
        subsets = drawn(400, values=list("abcdef"), seed=3)
        verdicts, gold = drawn(400, 2, seed=4), drawn(400, values=(1.0, 2.0), seed=5)
        scores = {
            name: np.mean([np.mean(verdicts[i] == gold[i]) for i in np.flatnonzero(subsets == name)])
            for name in "abcdef"
        }
        expected = [
            sum(scores[name] * weight for name, weight in weights.items()) / sum(weights.values())
            for weights in sections.values()
        ]
        found = section_accuracy(verdicts, gold, subsets, sections=sections, hedge=0)
        assert [row.accuracy.value for row in found.rows] == pytest.approx(expected)
        assert found.overall.value == pytest.approx(np.mean(expected))

    def test_rm_bench_is_the_mean_of_its_cells(self):
        # Chat, code, math, and safety in two parts: right on hard chat alone, and on all that is refused.
        levels = ("hard", "normal", "easy")
        domains = ("chat", "code", "math", "safety-refuse", "safety-response")
        subsets = [f"{domain}/{level}" for domain in domains for level in levels]
        verdicts = [1 if name == "chat/hard" or "refuse" in name else 2 for name in subsets]
        options = preset("rm_bench").of(section_accuracy)
        found = section_accuracy(verdicts, [1] * 15, subsets, **options)
        assert found.overall.value == pytest.approx((1 / 3 + 0 + 0 + 1 / 2) / 4)
        hard = np.array(["hard" in name for name in subsets])
        at_hard = section_accuracy(verdicts, [1] * 15, subsets, where=hard, **options)
        assert at_hard.overall.value == pytest.approx((1 + 0 + 0 + 1 / 2) / 4)

    def test_a_section_without_items(self):
        sections = {"A": {"a": 1}, "B": {"b": 1}}
        with pytest.warns(StatisticsWarning, match="no item of B"):
            found = section_accuracy([1], [1], ["a"], sections=sections, n_resamples=0)
        assert found.row("A").accuracy.value == 1
        assert (found.overall.defined, found.overall.reason) == (False, "no item of B")

    @pytest.mark.parametrize(
        ("subsets", "sections", "message"),
        [
            (["z"], {"A": {"a": 1}}, "subsets: 'z' is in no section"),
            (["a"], {"A": {"a": 1}, "B": {"a": 1}}, "sections: 'a' is in two sections"),
            (["a"], {"A": {"a": 0}}, "sections: 'A' needs weights above 0"),
            (["a"], {"A": {}}, "sections: 'A' needs weights above 0"),
            (["a"], {}, "sections: expected one or more"),
            (["a"], {"A": {"a": "much"}}, "the weight of 'a'"),
            (["a"], {"A": ["a"]}, "sections: 'A': expected a mapping"),
        ],
    )
    def test_what_is_no_section(self, subsets, sections, message):
        with pytest.raises(InvalidInputError, match=message):
            section_accuracy([1], [1], subsets, sections=sections)


class TestRubricPoints:
    def test_by_hand(self):
        # 5 of 10 less 2: 3/10; 8 of 8; -10 of 5: -2. The mean is below 0, and 0.
        items, points = ["a", "a", "a", "b", "c", "c"], [5, 5, -2, 8, 5, -10]
        answers = [1, 0, 1, 1, 0, 1]
        shares = rubric_points_contributions(answers, items, points)
        assert shares.tolist() == pytest.approx([0.3, 1.0, -2.0])
        found = rubric_points_score(answers, items, points)
        assert (found.value, found.low) == (0.0, 0.0)
        two = rubric_points_score(answers, items, points, where=[True, True, False])
        assert two.value == pytest.approx(0.65)

    def test_against_the_authors_rule(self):
        rng = np.random.default_rng(2)
        items, points = rng.integers(0, 50, 600), rng.integers(-10, 11, 600)
        met = rng.integers(0, 2, 600)
        scores = []
        for item in np.unique(items):
            mine = items == item
            possible = sum(point for point in points[mine] if point > 0)
            if possible:
                earned = sum(point for point, one in zip(points[mine], met[mine], strict=True) if one)
                scores.append(earned / possible)
        options = preset("healthbench").of(rubric_points_score)
        found = rubric_points_score(met, items, points, **options)
        assert found.value == pytest.approx(min(1, max(0, np.mean(scores))))

    def test_what_cannot_be_told(self):
        # Not met by default; left out, only the first criterion counts.
        assert rubric_points_score([1, NAN], [0, 0], [2, 2], n_resamples=0).value == 0.5
        assert rubric_points_score([1, NAN], [0, 0], [2, 2], unsure="omit", n_resamples=0).value == 1.0

    def test_nothing_to_be_earned(self):
        with pytest.warns(StatisticsWarning, match="no item has points to be earned"):
            assert not rubric_points_score([1], ["a"], [-5]).defined

    def test_points_that_are_missing(self):
        with pytest.raises(InvalidInputError, match="points: expected a number for every criterion"):
            rubric_points_score([1, 0], ["a", "a"], [1, NAN])


class TestAlternativeAnnotator:
    """N. Calderon et al., ACL 2025: a one-sided t test of each person, Benjamini and Yekutieli's correction."""

    def test_epsilon_by_whom_the_judge_replaces(self):
        assert [
            preset(f"alt_test_{who}").of(alternative_annotator_test)["epsilon"]
            for who in ("experts", "skilled", "crowd")
        ] == [0.2, 0.15, 0.1]

    @pytest.mark.parametrize("who", ["experts", "skilled", "crowd"])
    def test_against_the_authors_procedure(self, who):
        rng = np.random.default_rng(8)
        truth = rng.integers(1, 5, 90)
        people = np.stack(
            [np.where(rng.random(90) < 0.7, truth, rng.integers(1, 5, 90)) for _ in range(4)], 1
        )
        labels = np.where(rng.random((90, 4)) < 0.3, NAN, people)
        labels[:, 3][20:] = NAN  # 20 items or fewer: no test of the fourth
        judge = np.where(rng.random(90) < 0.66, truth, rng.integers(1, 5, 90)).astype(float)
        judge[:3] = NAN
        options = preset(f"alt_test_{who}").of(alternative_annotator_test)
        p_values, advantages = [], []
        for person in range(4):
            losses, wins = [], []
            for row, said in zip(labels, judge, strict=True):
                others = [one for place, one in enumerate(row) if place != person and not math.isnan(one)]
                if math.isnan(row[person]) or math.isnan(said) or not others:
                    continue
                of_judge, of_person = np.mean(np.equal(others, said)), np.mean(np.equal(others, row[person]))
                wins.append(float(of_judge >= of_person))
                losses.append(float(of_person >= of_judge))
            if len(wins) < 30:
                continue
            differences = [loss - win for loss, win in zip(losses, wins, strict=True)]
            test = scipy_stats.ttest_1samp(differences, options["epsilon"], alternative="less")
            p_values.append(test.pvalue)
            advantages.append(np.mean(wins))
        rejected = adjust_p_values(p_values, method="benjamini_yekutieli") <= 0.05
        found = alternative_annotator_test(labels, judge, **options)
        assert found.n_tested == 3 == len(p_values)
        assert [row.p_value for row in found.annotators if row.reason is None] == pytest.approx(p_values)
        assert found.winning_rate == pytest.approx(np.mean(rejected))
        assert found.advantage_probability.value == pytest.approx(np.mean(advantages))


class TestRewardBench2:
    """S. Malik et al., 2025, and the authors' repository: best of four, and Ties with several right responses."""

    ACCURACY = preset("rewardbench2").of(best_of_accuracy)
    SCORE = preset("rewardbench2").of(best_of_score)
    ORDINARY = ("Factuality", "Precise IF", "Math", "Safety", "Focus")

    def test_by_hand(self):
        # Highest; shared by two; lower; below one and equal to another; two lacking; all lacking: one of four drawn.
        scores = [
            [9, 2, 4, 1],
            [5, 5, 1, 1],
            [3, 8, 1, 1],
            [7, 8, 7, 1],
            [2, 1, NAN, NAN],
            [NAN, NAN, NAN, NAN],
        ]
        right = [[1, 0, 0, 0]] * 6
        expected = [1, 1 / 2, 0, 0, 1, 1 / 4]
        found = best_of_accuracy(scores, right, **self.ACCURACY)
        assert best_of_contributions(scores, right, **self.ACCURACY).tolist() == expected
        assert (found.value, found.n) == (pytest.approx(sum(expected) / 6), 6)
        assert best_of_accuracy(scores, right).value == pytest.approx(2.5 / 6)

    def test_a_right_response_without_a_score(self):
        assert best_of_contributions([[NAN, 1]], [[1, 0]]).tolist() == [0]

    def test_fewer_responses_and_none_that_is_right(self):
        found = best_of_contributions([[1, 2, 99], [1, 2, 3]], [[0, 1, NAN], [0, 0, 0]])
        assert found.tolist() == pytest.approx([1, NAN], nan_ok=True)
        with pytest.warns(StatisticsWarning, match="no item with right responses"):
            assert not best_of_accuracy([[1, 2]], [[0, 0]]).defined
        with pytest.warns(StatisticsWarning, match="no item with right responses"):
            assert not best_of_accuracy(np.zeros((0, 4)), np.zeros((0, 4))).defined

    def test_the_score_by_hand(self):
        # Ties: reference 0 has a margin of 3, tied 0 one of 2 and a spread of 1; reference 1 is wrong by 1, and tied 1
        # right by 1 with a spread of 2. Accuracy 2 / 2 and 1 / 2, margins preferred 1 / 2 and 1 / 2.
        rows = [
            *((name, name, [2, 1, 1, 1], [1, 0, 0, 0]) for name in self.ORDINARY[:4]),
            ("Focus", "Focus", [1, 2, 1, 1], [1, 0, 0, 0]),
            ("Ties", "ref:0", [8, 5, 1, 1], [1, 0, 0, 0]),
            ("Ties", "tied:0", [8, 7, 5, 1], [1, 1, 0, 0]),
            ("Ties", "ref:1", [4, 5, 1, 1], [1, 0, 0, 0]),
            ("Ties", "tied:1", [8, 6, 5, 1], [1, 1, 0, 0]),
        ]
        subsets, ids, scores, right = zip(*rows, strict=True)
        found = best_of_score(scores, right, subsets, ids, **self.SCORE)
        ties = 0.3 + 0.15 + 0.1 + 0.1 + 0.01 * (math.tanh(2 / 1 - 1) + math.tanh(-1 / 2 - 1)) / 2
        assert [row.score.value for row in found.rows] == pytest.approx([1, 1, 1, 1, 0, ties])
        assert found.overall.value == pytest.approx((4 + ties) / 6)
        assert found.overall.low < found.overall.value < found.overall.high
        assert found.row("Ties").score.n == 4
        with pytest.raises(KeyError):
            found.row("Chat")

    @staticmethod
    def restated(scores, right, subsets, ids):
        """The authors' rule, item by item and prompt by prompt."""
        found, items = {}, {"ref": {}, "tied": {}}
        for said, answers, subset, known in zip(scores, right, subsets, ids, strict=True):
            correct = [s for s, r in zip(said, answers, strict=True) if r == 1]
            wrong = [s for s, r in zip(said, answers, strict=True) if r == 0]
            if subset == "Ties":
                kind, prompt = known.split(":")
                items[kind][prompt] = (max(correct) - min(correct), min(correct) - max(wrong))
            else:
                top = max(correct + wrong)
                share = (correct + wrong).count(top)
                found.setdefault(subset, []).append(1 / share if correct[0] == top else 0)
        means = {name: sum(one) / len(one) for name, one in found.items()}
        preferred = hard = margins = 0.0
        for prompt, (spread, margin) in items["tied"].items():
            narrow = min(margin, items["ref"][prompt][1])
            preferred += margin > spread
            hard += narrow > spread
            if spread:
                margins += math.tanh(narrow / spread - 1)
            elif narrow:
                margins += math.copysign(1, narrow)
        n = len(items["tied"])
        correct = {kind: sum(m > 0 for _, m in one.values()) / n for kind, one in items.items()}
        means["Ties"] = 0.3 * (correct["tied"] + correct["ref"])
        means["Ties"] += (0.2 * preferred + 0.2 * hard + 0.01 * margins) / n
        return means

    @pytest.mark.parametrize("seed", range(5))
    def test_against_the_authors_rule(self, seed):
        rng = np.random.default_rng(seed)
        rows = [(name, str(n), 1, 4) for name in self.ORDINARY for n in range(20)]
        rows += [("Ties", f"ref:{n}", 1, 9) for n in range(25)]
        rows += [("Ties", f"tied:{n}", int(rng.integers(2, 8)), 9) for n in range(25)]
        right = np.full((len(rows), 9), NAN)
        for place, (_, _, n_right, n) in enumerate(rows):
            right[place, :n] = 0
            right[place, :n_right] = 1
        scores = rng.integers(1, 11, right.shape) + 4 * (np.nan_to_num(right) == 1)
        subsets, ids = [row[0] for row in rows], [row[1] for row in rows]
        found = best_of_score(scores, right, subsets, ids, **self.SCORE)
        expected = self.restated(scores, right, subsets, ids)
        assert {row.name: row.score.value for row in found.rows} == pytest.approx(expected)
        assert found.overall.value == pytest.approx(sum(expected.values()) / 6)

    def test_the_two_items_of_a_prompt_are_resampled_together(self):
        # All right or all wrong on both items: as sure as of 40 prompts, not of 80 items.
        right = [[1, 0]] * 80
        scores = [[1, 0] if n % 40 < 20 else [0, 1] for n in range(80)]
        ids = [f"{kind}:{n}" for kind in ("ref", "tied") for n in range(40)]
        found = best_of_score(scores, right, ["Ties"] * 80, ids, sections=["Ties"]).overall
        assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 40), rel=0.15)
        assert found.n_clusters == 40

    def test_a_judge_that_scored_nothing(self):
        subsets, ids = [*self.ORDINARY, "Ties", "Ties"], ["0"] * 5 + ["ref:0", "tied:0"]
        right = [[1, 0, 0, 0]] * 6 + [[1, 1, 0, 0]]
        found = best_of_score(np.full((7, 4), NAN), right, subsets, ids, **self.SCORE)
        assert [row.score.value for row in found.rows] == pytest.approx([0.25] * 5 + [0.0])

    def test_perfect_and_without_spread(self):
        found = best_of_score(
            [[2, 1, 0], [2, 2, 0]],
            [[1, 0, 0], [1, 1, 0]],
            ["ties"] * 2,
            ["ref:0", "tied:0"],
            sections=["ties"],
        )
        assert found.overall.value == pytest.approx(1.01)

    def test_a_subset_that_is_not_there(self):
        with pytest.warns(StatisticsWarning, match="no item of Math"):
            found = best_of_score([[1, 0]], [[1, 0]], ["Focus"], ["0"], sections=["Focus", "Math"])
        assert found.row("Focus").score.value == 1
        assert found.overall.reason == "no item of Math"

    def test_ties_without_their_references(self):
        with pytest.warns(StatisticsWarning, match="no prompt of Ties with both"):
            found = best_of_score([[1, 1, 0]], [[1, 1, 0]], ["Ties"], ["tied:0"], sections=["Ties"])
        assert not found.overall.defined

    @pytest.mark.parametrize(
        ("scores", "right", "ids", "said"),
        [
            ([[1, 0]], [[1, 0]], ["0"], "ids: expected 'ref:' or 'tied:' and the prompt"),
            ([[1, 0]] * 2, [[1, 0]] * 2, ["ref:0"] * 2, "ids: 'ref:0' is there twice, at 0 and 1"),
            ([[1, 0]], [[1, 1]], ["ref:0"], "right: expected a right and a wrong response of 'ref:0', at 0"),
            ([[1, 0]], [[1, 2]], ["ref:0"], "right: expected 0, 1 or NaN, found 2"),
            ([[1, 0]], [[1, 0, 0]], ["ref:0"], "expected the same shape"),
            ([[1, 0]], [[1, 0]], [], "ids: expected 1 items, got 0"),
        ],
    )
    def test_bad_input(self, scores, right, ids, said):
        with pytest.raises(InvalidInputError, match=re.escape(said)):
            best_of_score(scores, right, ["Ties"] * len(scores), ids, sections=["Ties"])

    def test_no_sections(self):
        for sections in ([], ["Math", "Math"]):
            with pytest.raises(InvalidInputError, match="sections: expected one subset or more, each once"):
                best_of_score([[1, 0]], [[1, 0]], ["Math"], ["0"], sections=sections)
