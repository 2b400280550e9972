"""Leave-one-out by group and annotator, bias and variance: by hand, references, oracles, edges."""

import csv
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.annotators import leave_one_out_by, leave_one_out_by_annotator
from metaeval.stats.bias_variance import bias_and_variance
from metaeval.stats.counts import read_labels
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.leave_one_out import leave_one_out_agreement
from metaeval.stats.leave_one_out_scores import leave_one_out_contributions, leave_one_out_scores
from metaeval.stats.resampling import Resamples
from tests.metaeval.stats import oracle

NAN = math.nan
items_strategy = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, NAN]), min_size=4, max_size=4), min_size=1, max_size=6
)


def values(found):
    return {name: estimate.value for name, estimate in found.items()}


@pytest.fixture
def study():
    rng = np.random.default_rng(4)
    labels = rng.choice([0.0, 1.0, 2.0, NAN], size=(60, 5), p=[0.1, 0.4, 0.3, 0.2])
    return labels, rng.choice([0.0, 1.0, 2.0, NAN], size=60)


class TestByGroup:
    def test_by_hand(self):
        labels = [[1, 1, 2], [2, 2, 2], [2, 2, 2], [1, 2, NAN]]
        assert values(leave_one_out_by(labels, ["qa", "chat", "chat", "qa"])) == {
            "chat": 1.0,
            "qa": pytest.approx((1 / 3 + 0) / 2),
        }
        found = leave_one_out_by(labels, [7, 8, 8, 7], [1, 2, 1, 1])
        assert values(found) == {7: pytest.approx((2 / 3 + 1 / 2) / 2), 8: 0.5}

    def test_each_group_is_the_selection(self, study):
        labels, verdicts = study
        groups = np.array(["", "b", "a"], dtype=object)[np.arange(60) % 3]
        resamples = Resamples(60, 500)
        found = leave_one_out_by(labels, groups, verdicts, resamples=resamples, unparsed="omit")
        assert list(found) == ["", "a", "b"]
        for group, estimate in found.items():
            assert estimate == leave_one_out_agreement(
                labels, verdicts, where=groups == group, resamples=resamples, unparsed="omit"
            )

    def test_a_group_without_pairs_of_labels_is_undefined_and_not_left_out(self):
        with pytest.warns(StatisticsWarning, match="no item has two labels"):
            found = leave_one_out_by([[1, NAN], [1, 1]], ["a", "b"])
        assert found["a"].as_dict()["value"] is None
        assert found["b"].value == 1

    def test_bad_input(self):
        with pytest.raises(InvalidInputError, match="groups"):
            leave_one_out_by([[1, 1]], ["a", "b"])


class TestByAnnotator:
    def test_by_hand(self):
        # 1 1 2: the first two are one of two modes of the others, 1/2; the third never. 2 2 2: all 1.
        assert values(leave_one_out_by_annotator([[1, 1, 2], [2, 2, 2]])) == {0: 0.75, 1: 0.75, 2: 0.5}
        # A judge saying 1, then 2, in the place of each: others {1, 2}, {1, 2}, {1, 1} and {2, 2}.
        found = leave_one_out_by_annotator([[1, 1, 2], [2, 2, 2]], [1, 2])
        assert values(found) == {0: 0.75, 1: 0.75, 2: 1.0}

    @given(items_strategy, st.data())
    @settings(deadline=None)
    def test_against_the_oracle(self, items, data):
        verdicts = data.draw(
            st.lists(st.sampled_from([0.0, 1.0, 2.0, 9.0, NAN]), min_size=len(items), max_size=len(items))
        )
        read = read_labels(items)
        scores = leave_one_out_scores(read)
        judged = leave_one_out_scores(read, verdicts)
        for place, (item, annotator) in enumerate(zip(read.item, read.annotator, strict=True)):
            others = [x for k, x in enumerate(items[item]) if k != annotator and not math.isnan(x)]
            if not others:
                assert math.isnan(scores[place])
                assert math.isnan(judged[place])
                continue
            modes = oracle.modes(others)
            assert scores[place] == pytest.approx((items[item][annotator] in modes) / len(modes))
            assert judged[place] == pytest.approx((verdicts[item] in modes) / len(modes))

    def test_scores_of_labels_add_up_to_those_of_items(self, study):
        labels, verdicts = study
        read = read_labels(labels)
        for given_verdicts in (None, verdicts):
            scores = leave_one_out_scores(read, given_verdicts)
            means = np.bincount(read.item, np.nan_to_num(scores), 60) / np.bincount(read.item, minlength=60)
            expected = leave_one_out_contributions(labels, given_verdicts)
            kept = ~np.isnan(expected)
            np.testing.assert_allclose(means[kept], expected[kept])

    def test_long_format_names_people_and_is_the_same(self, study):
        labels, _ = study
        item, annotator = np.nonzero(~np.isnan(labels))
        names = np.array(["ann", "ben", "cy", "dee", "eve"])
        found = leave_one_out_by_annotator((item, names[annotator], labels[item, annotator]))
        assert list(found.values()) == list(leave_one_out_by_annotator(labels).values())
        assert list(found) == names.tolist()

    def test_options(self, study):
        labels, verdicts = study
        where, clusters = np.arange(60) < 40, np.arange(60) // 2
        apart = leave_one_out_by_annotator(labels, verdicts, where=where, clusters=clusters)
        shared = leave_one_out_by_annotator(
            labels, verdicts, where=where, resamples=Resamples(clusters, 10_000)
        )
        for name in range(5):
            one, other = apart[name], shared[name]
            assert (one.value, one.n, one.n_clusters) == (other.value, other.n, other.n_clusters)
            assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.05)

    def test_a_person_alone_is_undefined(self):
        with pytest.warns(StatisticsWarning, match="no item has two labels"):
            found = leave_one_out_by_annotator([[1, 1, NAN], [NAN, NAN, 2]])
        assert math.isnan(found[2].value)

    def test_the_published_tie_break_has_no_score_of_a_label(self):
        with pytest.raises(InvalidInputError, match="tie_break"):
            leave_one_out_by_annotator([[1, 1]], tie_break="alpaca_eval")

    def test_random_tie_breaks_have_the_expectation(self, study):
        labels = np.tile(study[0], (400, 1))
        exact, drawn = (
            leave_one_out_by_annotator(labels, tie_break=t, n_resamples=0) for t in ("expected", "random")
        )
        assert list(values(drawn).values()) == pytest.approx(list(values(exact).values()), abs=0.02)

    def test_people_of_alpaca_eval(self, shared_data):
        path = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
        rows = json.loads(path.read_text(encoding="utf-8"))
        pairs = [(row["instruction"], row["output_1"], row["output_2"]) for row in rows]
        number = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
        kept = {}
        for row, pair in zip(rows, pairs, strict=True):
            kept.setdefault((number[pair], row["annotator_index"]), row["preference"])
        labels = (*np.array(list(kept)).T, np.array(list(kept.values())))
        found = leave_one_out_by_annotator(labels, n_resamples=500)
        assert len(found) == 16
        often = [estimate.value for estimate in found.values() if estimate.n > 100]
        assert len(often) > 10
        assert 0.55 < min(often) < max(often) < 0.75
        fixed, sampled = (
            leave_one_out_agreement(labels, people=people, n_resamples=500) for people in ("fixed", "sampled")
        )
        assert fixed.value == pytest.approx(sampled.value)
        assert sampled.high - sampled.low > 1.2 * (fixed.high - fixed.low)


# A made-up study: 60 items, four people, a judge asked four times; of the second judge some answers are graded.
K = np.arange(60)
PEOPLE = np.stack([1 + K * k // 3 % 2 for k in (1, 2, 3, 5)], axis=1).astype(float)
DISCRETE = np.stack([1 + K * k // 4 % 2 for k in (1, 3, 5, 6)], axis=1).astype(float)
DISCRETE[K % 7 == 0, 1] = 0
GRADED = np.where(DISCRETE == 0, 1.5, DISCRETE)
GRADED[K % 2 == 0] = 1 + (K[K % 2 == 0, None] * np.array([3, 5, 7, 11]) % 11) / 10


class TestBiasAndVariance:
    def test_by_hand(self):
        # People's majorities are 1 and 2; the judge's 1 and 1: one of two wrong. Its answers 1 1 1 1 and 2 1 1 1: of
        # the second the 2 is not the mode of the rest, the others are: 1/4.
        found = bias_and_variance([[1, 1, 2], [2, 2, 2]], [[1, 1, 1, 1], [2, 1, 1, 1]])
        assert (found.bias.value, found.variance.value) == (0.5, 0.125)
        # Level majorities: {1, 2} of people and {1} of the judge agree with chance 1/2.
        assert bias_and_variance([[1, 2]], [[1, 1]], n_resamples=0).bias.value == 0.5

    def test_people(self, alpaca):
        for tie_break in ("expected", "alpaca_eval"):
            found = bias_and_variance(alpaca.labels, tie_break=tie_break)
            assert found.bias.value == 0
            assert 100 * found.variance.value == pytest.approx(34.336419753086425, abs=1e-11)

    def test_the_published_rows_of_people_and_of_the_longest(self, alpaca, shared_data):
        path = shared_data / "alpaca_eval" / "evaluators_leaderboard.csv"
        with path.open(encoding="utf-8", newline="") as file:
            published = {row[""]: row for row in csv.DictReader(file)}
        longest = np.where(alpaca.length_1 > alpaca.length_2, 1, 2)
        for name, samples in (("humans", None), ("longest", np.tile(longest[:, None], 4))):
            found = bias_and_variance(alpaca.labels, samples, tie_break="alpaca_eval", unparsed="omit")
            assert 100 * found.bias.value == pytest.approx(float(published[name]["Bias"]), abs=1e-9)
            assert 100 * found.variance.value == pytest.approx(float(published[name]["Variance"]), abs=1e-9)

    def test_as_in_alpaca_evals_code(self):
        # alpaca_eval 0.6.6: AbsoluteScoringRule of metrics/helpers.py; bias = error(vote of the judge, vote of
        # people), variance = mean over the answers of error(answer, vote of the others), vote = bayes_estimator.
        for samples, bias, variance in (
            (DISCRETE, 0.43333333333333335, 0.50625),
            (GRADED, 0.3825, 0.49625),
        ):
            found = bias_and_variance(PEOPLE, samples, tie_break="alpaca_eval")
            assert found.bias.value == pytest.approx(bias, abs=1e-12)
            assert found.variance.value == pytest.approx(variance, abs=1e-12)
        with pytest.warns(StatisticsWarning, match="two answers"):
            once = bias_and_variance(PEOPLE, DISCRETE[:, 0], tie_break="alpaca_eval")
        assert once.bias.value == pytest.approx(0.5333333333333333, abs=1e-12)

    def test_ties_broken_always_the_same_way_favour_a_side(self):
        # People are level on every item; a judge that always says 2 is right by the published convention.
        labels, always = [[1, 2]] * 40, np.full((40, 2), 2.0)
        assert bias_and_variance(labels, always, tie_break="alpaca_eval").bias.value == 0
        assert bias_and_variance(labels, 3 - always, tie_break="alpaca_eval").bias.value == 1
        assert (
            bias_and_variance(labels, always).bias.value
            == bias_and_variance(labels, 3 - always).bias.value
            == 0.5
        )

    @given(items_strategy, st.data())
    @settings(deadline=None)
    def test_against_the_oracle(self, items, data):
        samples = data.draw(
            st.lists(
                st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.0, NAN]), min_size=3, max_size=3),
                min_size=len(items),
                max_size=len(items),
            )
        )
        errors, spreads = [], []
        for labels, answers in zip(items, samples, strict=True):
            labels = [x for x in labels if not math.isnan(x)]
            parsed = [x for x in answers if not math.isnan(x)]
            if labels and parsed:
                people, judge = oracle.modes(labels), oracle.modes(parsed)
                errors.append(1 - len(people & judge) / (len(people) * len(judge)))
            elif labels:
                errors.append(1.0)
            own = oracle.leave_one_out_item(answers)
            spreads.append(1 - float(own or 0) * len(parsed) / 3)
        if not errors:
            return
        found = bias_and_variance(items, samples, n_resamples=0)
        assert found.bias.value == pytest.approx(np.mean(errors))
        assert found.variance.value == pytest.approx(np.mean(spreads))

    def test_a_judge_asked_once_has_no_variance(self):
        with pytest.warns(StatisticsWarning, match="two answers"):
            found = bias_and_variance([[1, 1]], [1])
        assert found.bias.value == 0
        assert math.isnan(found.variance.value)

    def test_unparsed(self):
        samples = [[1, NAN], [NAN, NAN]]
        wrong = bias_and_variance([[1, 1], [1, 1]], samples)
        assert (wrong.bias.value, wrong.variance.value) == (0.5, 1)
        with pytest.warns(StatisticsWarning, match="two answers"):
            assert bias_and_variance([[1, 1], [1, 1]], samples, unparsed="omit").bias.value == 0

    def test_bad_input(self):
        with pytest.raises(InvalidInputError, match="tie_break"):
            bias_and_variance([[1, 1]], tie_break="first")
        with pytest.raises(InvalidInputError, match="expected 2 items"):
            bias_and_variance([[1, 1]], [[1], [2]])
