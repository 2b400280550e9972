"""The alternative annotator test: by hand, the authors' figures, slow oracles, its size, degenerate input."""

import json
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats.alternative_annotator import alternative_annotator_test
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.representation import advantages

NAN = math.nan
SMALL = {"min_items": 2}


def five(n=120, judge=0.8, seed=0):
    """Labels of five people who are right in 80% of the items, and a judge."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 3, n).astype(float)
    people = np.where(rng.random((n, 5)) < 0.8, truth[:, None], 3 - truth[:, None])
    return people, np.where(rng.random(n) < judge, truth, 3 - truth)


def ratings():
    """Four people and a judge, deterministic; two people did not label everything."""
    i = np.arange(60)
    people = np.stack(
        [
            np.clip(np.round(3 + 2 * np.sin(i * 1.3) + 0.9 * np.sin(i * (2.1 + j) + j)), 1, 5)
            for j in range(4)
        ],
        axis=1,
    )
    people[::7, 1] = np.nan
    people[::5, 3] = np.nan
    return people, np.clip(np.round(3.3 + 1.7 * np.sin(i * 1.3) + 0.8 * np.cos(i * 3.7)), 1, 5)


def test_by_hand():
    # Against the others, judge and person:   1st          2nd          3rd
    # 1 1 2, judge 1                          1/2 = 1/2    1/2 = 1/2    1 > 0
    # 1 2 2, judge 1                          0 = 0        1/2 = 1/2    1/2 = 1/2
    # 2 2 2, judge 1                          0 < 1        0 < 1        0 < 1
    # 1 1 1, unparsed                         loses        loses        loses
    labels, verdicts = [[1, 1, 2], [1, 2, 2], [2, 2, 2], [1, 1, 1]], [1, 1, 1, NAN]
    found = alternative_annotator_test(labels, verdicts, test="t", **SMALL)
    assert [row.judge_advantage for row in found.annotators] == [0.5, 0.5, 0.5]
    assert [row.person_advantage for row in found.annotators] == [1, 1, 0.75]
    assert [row.difference for row in found.annotators] == [-0.5, -0.5, -0.25]
    assert found.advantage_probability.value == 0.5
    assert found.annotators[2].p_value == pytest.approx(
        stats.ttest_1samp([-1, 0, 1, 1], 0.2, alternative="less").pvalue
    )
    assert (found.passed, found.winning_rate, found.n_tested, found.n_won) == (False, 0, 3, 0)
    omitted = alternative_annotator_test(labels, verdicts, unparsed="omit", **SMALL)
    assert [row.n for row in omitted.annotators] == [3, 3, 3]
    assert omitted.annotators[2].judge_advantage == pytest.approx(2 / 3)


def test_an_order_that_is_unparsed_loses_half():
    judge, person = advantages(
        np.array([0, 0, 0]), np.array([1.0, 1.0, 2.0]), np.array([[1.0, NAN]]), "match", unparsed_loses=True
    )
    assert judge.tolist() == [0.5, 0.5, 0.5]
    assert person.tolist() == [1, 1, 0.5]


# The figures of the authors' published function (AltTest repository, commit 13eada2, alt_test_example.ipynb):
#   alt_test(longest, {annotator: {pair: preference}}, epsilon=...) on alpaca_farm_human_crossannotations.json,
#   a pair being (instruction, output_1, output_2) and `longest` 1 where output_1 is the longer in characters, else 2.
ALPACA = {0.1: (0.0, []), 0.15: (4 / 15, [3, 7, 13, 15]), 0.2: (10 / 15, [0, 1, 3, 4, 5, 7, 8, 10, 13, 15])}


@pytest.fixture
def alpaca_people(shared_data):
    path = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
    pairs, cells = {}, defaultdict(dict)
    for row in json.loads(path.read_text(encoding="utf-8")):
        pair = pairs.setdefault((row["instruction"], row["output_1"], row["output_2"]), len(pairs))
        cells[row["annotator_index"]][pair] = row["preference"]
    labels = np.full((len(pairs), 16), np.nan)
    for person, said in cells.items():
        labels[list(said), person] = list(said.values())
    longest = np.array([1 if len(one) > len(two) else 2 for _, one, two in pairs])
    return labels, longest, np.array([instruction for instruction, _, _ in pairs])


@pytest.mark.parametrize("epsilon", ALPACA)
def test_alpaca_eval_is_the_longer_output_as_good_as_a_crowdworker(alpaca_people, epsilon):
    labels, longest, instructions = alpaca_people
    rate, won = ALPACA[epsilon]
    found = alternative_annotator_test(labels, longest, epsilon=epsilon, test="t")
    assert found.winning_rate == pytest.approx(rate)
    assert [row.annotator for row in found.annotators if row.rejected] == won
    assert found.advantage_probability.value == pytest.approx(0.7577202506909294, abs=1e-12)
    assert [row.annotator for row in found.annotators if row.reason] == [6]  # one item
    # The score test and clusters change no verdict here.
    ours = alternative_annotator_test(labels, longest, epsilon=epsilon, clusters=instructions)
    assert (ours.passed, ours.winning_rate) == (rate >= 0.5, pytest.approx(rate))
    assert ours.advantage_probability.n_clusters == 605
    assert ours.advantage_probability.low == pytest.approx(0.727, abs=0.003)


def test_alpaca_eval_p_values(alpaca_people):
    labels, longest, _ = alpaca_people
    found = alternative_annotator_test(labels, longest, test="t")
    assert found.annotators[2].p_value == pytest.approx(0.4412458052433157, rel=1e-9)
    assert found.annotators[13].p_value == pytest.approx(7.529932446148082e-06, rel=1e-6)


def test_pandalm_neither_judge_passes(shared_data):
    folder = shared_data / "pandalm"
    rows = json.loads((folder / "testset-v1.json").read_text(encoding="utf-8"))
    labels = np.array([[row[f"annotator{person}"] for person in (1, 2, 3)] for row in rows], dtype=float)
    for name, key, advantage in (
        ("pandalm-7b", "pandalm_result", 0.7147147147147148),  # the authors' function gives the same
        (
            "gpt-3.5-turbo",
            "gpt_result",
            0.7310643977310644,
        ),  # theirs 0.7347: unparsed may tie with a wrong person
    ):
        path = folder / f"{name}-testset-v1.json"
        said = {row["idx"]: row[key] for row in json.loads(path.read_text(encoding="utf-8"))}
        verdicts = [
            float(said[row["idx"]]) if str(said[row["idx"]]) in {"0", "1", "2"} else NAN for row in rows
        ]
        found = alternative_annotator_test(labels, verdicts)
        assert found.advantage_probability.value == pytest.approx(advantage, abs=1e-12)
        assert (found.passed, found.winning_rate, found.n_tested) == (False, 0, 3)


# The same function on `ratings()`: alt_test(judge, people, "neg_rmse" or "accuracy", epsilon=0.2).
@pytest.mark.parametrize(
    ("score", "rate", "advantage", "p_values"),
    [
        ("negative_rmse", 0.0, 0.710110294117647,
         [0.03750059284034973, 0.2605415788600783, 0.010199987728465575, 0.2318549195391518]),
        ("match", 0.5, 0.7811887254901961,
         [0.003748790102015003, 0.020819519698389077, 0.003296223970856414, 0.0492965184364634]),
    ],
)  # fmt: skip
def test_ratings_as_the_authors(score, rate, advantage, p_values):
    found = alternative_annotator_test(*ratings(), score=score, test="t")
    assert (found.winning_rate, found.advantage_probability.value) == (
        rate,
        pytest.approx(advantage, abs=1e-12),
    )
    assert [row.p_value for row in found.annotators] == pytest.approx(p_values, rel=1e-9)


def test_a_score_of_ones_own():
    def rmse(answer, others):
        return -math.sqrt(np.mean((others - answer) ** 2))

    own = alternative_annotator_test(*ratings(), score=rmse)
    named = alternative_annotator_test(*ratings(), score="negative_rmse")
    assert own.annotators == named.annotators


def slow(item, value, verdicts, score, unparsed_loses):
    """Every label, every order, the definition."""
    judge, person = [], []
    for place, (row, own) in enumerate(zip(item, value, strict=True)):
        others = [value[other] for other in range(len(item)) if item[other] == row and other != place]
        wins, losses = [], []
        for verdict in verdicts[row]:
            if math.isnan(verdict):
                if unparsed_loses:
                    wins.append(0.0)
                    losses.append(1.0)
                continue
            if not others:
                continue
            first, second = score(verdict, others), score(own, others)
            wins.append(float(first >= second - 1e-9))
            losses.append(float(second >= first - 1e-9))
        missing = not others or not wins
        judge.append(NAN if missing else float(np.mean(wins)))
        person.append(NAN if missing else float(np.mean(losses)))
    return judge, person


VALUES = st.sampled_from([1.0, 2.0, 3.0, 4.5])


@settings(deadline=None)
@given(
    st.lists(st.lists(st.one_of(VALUES, st.just(NAN)), min_size=4, max_size=4), min_size=1, max_size=6),
    st.data(),
    st.booleans(),
    st.sampled_from(["match", "negative_rmse"]),
)
def test_advantages_against_the_definition(rows, data, unparsed_loses, score):
    answer = st.one_of(VALUES, st.sampled_from([NAN, 7.0, 0.1]))
    verdicts = np.array(
        data.draw(st.lists(st.tuples(answer, answer), min_size=len(rows), max_size=len(rows)))
    )
    labels = np.array(rows)
    item, _ = np.nonzero(~np.isnan(labels))
    value = labels[~np.isnan(labels)]
    scores = {
        "match": lambda own, others: np.mean([own == other for other in others]),
        "negative_rmse": lambda own, others: -math.sqrt(np.mean([(own - other) ** 2 for other in others])),
    }
    found = advantages(item, value, verdicts, score, unparsed_loses=unparsed_loses)
    for ours, theirs in zip(found, slow(item, value, verdicts, scores[score], unparsed_loses), strict=True):
        assert ours.tolist() == pytest.approx(theirs, nan_ok=True)


def test_power():
    assert alternative_annotator_test(*five(judge=0.9)).passed
    assert not alternative_annotator_test(*five(judge=0.5)).passed


def test_who_said_it_and_in_what_order_makes_no_difference():
    labels, verdicts = five()
    labels[::3, 1] = NAN
    found = alternative_annotator_test(labels, verdicts)
    rng = np.random.default_rng(3)
    items, people = rng.permutation(120), rng.permutation(5)
    moved = alternative_annotator_test(labels[items][:, people], verdicts[items])
    assert moved.winning_rate == found.winning_rate
    assert [moved.annotators[i].p_value for i in np.argsort(people)] == pytest.approx(
        [row.p_value for row in found.annotators]
    )
    other = alternative_annotator_test(3 - labels, 3 - verdicts)
    assert [row.p_value for row in other.annotators] == [row.p_value for row in found.annotators]
    alone = alternative_annotator_test(labels, verdicts, clusters=np.arange(120))
    assert [row.p_value for row in alone.annotators] == pytest.approx(
        [row.p_value for row in found.annotators]
    )
    # An item given twice in one cluster says nothing new.
    twice = alternative_annotator_test(
        np.repeat(labels, 2, axis=0),
        np.repeat(verdicts, 2),
        clusters=np.repeat(np.arange(120), 2),
    )
    assert [row.p_value for row in twice.annotators] == pytest.approx(
        [row.p_value for row in found.annotators]
    )


def test_long_labels_are_the_dense_ones():
    labels, verdicts = five()
    labels[5:60:2, 3] = NAN
    item, person = np.nonzero(~np.isnan(labels))
    names = np.array(["ann", "bob", "cem", "dee", "eve"])
    found = alternative_annotator_test((item, names[person], labels[item, person]), verdicts)
    dense = alternative_annotator_test(labels, verdicts)
    assert [row.annotator for row in found.annotators] == names.tolist()
    assert [row.p_value for row in found.annotators] == [row.p_value for row in dense.annotators]


@pytest.mark.slow
def test_the_interval_of_the_advantage_is_that_of_resampled_items():
    labels, verdicts = five(150, 0.7)
    labels[np.random.default_rng(4).random(labels.shape) < 0.3] = NAN
    found = alternative_annotator_test(labels, verdicts, min_items=10).advantage_probability
    rng = np.random.default_rng(5)
    again = []
    for _ in range(400):
        items = rng.integers(0, 150, 150)
        means = alternative_annotator_test(labels[items], verdicts[items], min_items=10)
        again.append(means.advantage_probability.value)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(again, [0.025, 0.975])), abs=0.02)


def test_epsilon_and_corrections_are_ordered():
    labels, verdicts = five(judge=0.7)
    wins = [alternative_annotator_test(labels, verdicts, epsilon=e).n_won for e in (0, 0.1, 0.2, 0.4)]
    assert wins == sorted(wins)
    p_values = {
        name: [
            r.adjusted_p_value
            for r in alternative_annotator_test(labels, verdicts, correction=name).annotators
        ]
        for name in ("none", "holm", "benjamini_yekutieli")
    }
    assert all(a <= b for a, b in zip(p_values["none"], p_values["holm"], strict=True))
    assert all(a <= b for a, b in zip(p_values["none"], p_values["benjamini_yekutieli"], strict=True))


def test_too_few_people_or_items():
    labels, verdicts = five(40)
    with pytest.warns(StatisticsWarning, match="2 people with 30 items"):
        found = alternative_annotator_test(labels[:, :2], verdicts)
    assert (found.passed, found.reason is not None, math.isnan(found.winning_rate)) == (None, True, True)
    assert found.as_dict()["winning_rate"] is None
    assert alternative_annotator_test(labels[:, :2], verdicts, min_annotators=2).passed is not None
    labels[20:, 4] = NAN
    row = alternative_annotator_test(labels, verdicts).annotators[4]
    assert (row.n, row.reason) == (20, "20 items shared with others, fewer than 30")
    assert math.isnan(row.p_value)


def test_nobody_to_test():
    with pytest.warns(StatisticsWarning):
        found = alternative_annotator_test([[1, NAN, NAN], [NAN, 2, NAN]], [1, 1])
    assert (found.n_tested, found.advantage_probability.defined) == (0, False)


def test_one_cluster_is_no_test():
    labels, verdicts = five(40)
    with pytest.warns(StatisticsWarning):
        found = alternative_annotator_test(labels, verdicts, clusters=np.zeros(40))
    assert {row.reason for row in found.annotators} == {"the items are one cluster"}


def test_a_judge_that_says_what_people_say_everywhere():
    labels = np.tile([[1.0], [2.0]], (20, 3))
    found = alternative_annotator_test(labels, labels[:, 0])
    assert (found.passed, found.winning_rate, found.advantage_probability.value) == (True, 1, 1)
    assert 0 < found.annotators[0].p_value < 0.01  # the t test has no variance to go by and says 0
    assert found.advantage_probability.low < 1


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("epsilon", {"epsilon": 1}), ("alpha", {"alpha": -0.1}), ("threshold", {"threshold": 2}),
        ("correction", {"correction": "bonferonni"}), ("score", {"score": "f1"}), ("test", {"test": "z"}),
        ("unparsed", {"unparsed": "tie"}), ("min_items", {"min_items": 1}), ("min_labels", {"min_labels": 1}),
        ("where", {"where": [1, 0]}), ("clusters", {"clusters": [1, 2, 3]}),
        ("score", {"score": lambda answer, others: NAN}),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(name, options):
    labels, verdicts = five(40)
    with pytest.raises(InvalidInputError, match=name):
        alternative_annotator_test(labels, verdicts, **options)


def test_labels_that_do_not_fit():
    for labels in (np.ones((3, 2)), np.ones(4), (np.arange(4), np.zeros(4), np.ones(3))):
        with pytest.raises(InvalidInputError, match="labels"):
            alternative_annotator_test(labels, np.ones(4))
    with pytest.raises(InvalidInputError, match="twice"):
        alternative_annotator_test((np.zeros(2, int), ["a", "a"], np.ones(2)), np.ones(1))
