"""Majority vote, soft labels, Dawid and Skene: by hand, crowd-kit's figures, a slow oracle, invariants, edges."""

import json
import math
import warnings
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metaeval.stats.dawid_skene import dawid_skene
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.label_models import aggregate_labels, majority_vote, soft_labels

NAN = math.nan
LABELS = np.array(
    [
        [1, 1, 2, 1], [2, 2, 2, 1], [0, 0, 1, NAN], [1, 1, NAN, 1], [2, 2, 1, 2], [0, 1, 0, 0],
        [NAN, 1, 1, 2], [2, 2, 2, 2], [0, 0, 2, 0], [1, 0, 1, 1], [2, NAN, 2, 1], [0, 0, 0, 1],
    ]
)  # fmt: skip
# crowd-kit 1.4.2: DawidSkene(n_iter=n, tol=0).fit(frame of task, worker, label of LABELS), probas_ and priors_.
ONE_STEP = [
    [0.0121184, 0.95655526, 0.03132634], [0.0, 0.03396168, 0.96603832], [0.80611233, 0.18695697, 0.0069307],
    [0.01798964, 0.96690542, 0.01510494], [0.0, 0.03028838, 0.96971162], [0.97929471, 0.02070529, 0.0],
    [0.0, 0.75507474, 0.24492526], [0.0, 0.00767488, 0.99232512], [0.97996487, 0.01714714, 0.00288799],
    [0.06197088, 0.93155404, 0.00647508], [0.0, 0.1917889, 0.8082111], [0.93842398, 0.06157602, 0.0],
]  # fmt: skip
ONE_STEP_PRIOR = [0.3163229, 0.34668239, 0.3369947]
# errors_ of worker 3 after one step: said (rows) against true (columns).
ONE_STEP_WORKER_3 = [
    [0.655323, 0.009527, 0.000715],
    [0.344677, 0.790878, 0.452602],
    [0.0, 0.199595, 0.546683],
]
FIVE_STEPS_ITEMS = {
    0: [1.705e-05, 0.99998294, 1e-08],
    2: [0.99715298, 0.00284702, 0.0],
    6: [0.0, 0.99077257, 0.00922743],
    10: [0.0, 0.00098307, 0.99901693],
}
FIVE_STEPS_PRIOR = [0.33310569, 0.33287395, 0.33402036]

items_strategy = st.lists(
    st.lists(st.sampled_from([1.0, 2.0, 4.0, NAN]), min_size=4, max_size=4), min_size=1, max_size=8
)


def long_of(labels):
    item, annotator = np.nonzero(~np.isnan(labels))
    return item, annotator, labels[item, annotator]


def em_oracle(items, steps):
    """EM with dictionaries: {(item, value): probability} and the prior."""
    said = {(i, a): v for i, row in enumerate(items) for a, v in enumerate(row) if not math.isnan(v)}
    values, tasks = sorted(set(said.values())), sorted({i for i, _ in said})
    truth = {}
    for i in tasks:
        votes = Counter(v for (task, _), v in said.items() if task == i)
        truth.update({(i, v): votes[v] / sum(votes.values()) for v in values})
    for step in range(steps + 1):
        prior = {v: sum(truth[i, v] for i in tasks) / len(tasks) for v in values}
        if step == steps:
            return truth, prior
        counts = defaultdict(float)
        for (i, a), v in said.items():
            for t in values:
                counts[a, t, v] += truth[i, t]
        people = {a for _, a in said}
        counts = {(a, t, v): max(counts[a, t, v], 1e-10) for a in people for t in values for v in values}
        chance = {
            (a, t, v): counts[a, t, v] / sum(counts[a, t, w] for w in values)
            for a in people
            for t in values
            for v in values
        }
        for i in tasks:
            weights = {
                t: max(prior[t], 1e-10)
                * math.prod(chance[a, t, v] for (task, a), v in said.items() if task == i)
                for t in values
            }
            truth.update({(i, t): weights[t] / sum(weights.values()) for t in values})
    raise AssertionError


class TestMajorityVote:
    def test_by_hand(self):
        vote = majority_vote([[1, 1, 2], [1, 2, NAN], [NAN] * 3, [4, NAN, NAN]])
        np.testing.assert_equal(vote.labels, [1, NAN, NAN, 4])
        np.testing.assert_allclose(vote.share, [2 / 3, 1 / 2, NAN, 1])
        assert vote.n_labels.tolist() == [3, 2, 0, 1]
        assert vote.tied.tolist() == [False, True, False, False]

    def test_ties(self):
        labels = [[3, 1, 2], [1, 1, 2]]
        assert [majority_vote(labels, ties=ties).labels.tolist() for ties in ("first", "last")] == [
            [1, 1],
            [3, 1],
        ]
        drawn = majority_vote([[3, 1, 2]] * 3_000, ties="random", rng=1).labels
        assert [np.mean(drawn == value) for value in (1, 2, 3)] == pytest.approx([1 / 3] * 3, abs=0.05)
        assert np.array_equal(drawn, majority_vote([[3, 1, 2]] * 3_000, ties="random", rng=1).labels)

    @given(items_strategy)
    @settings(deadline=None)
    def test_against_the_oracle(self, items):
        vote, shifted = majority_vote(items), majority_vote(np.array(items) + 0.5)
        np.testing.assert_equal(shifted.labels, vote.labels + 0.5)
        for row, label, share in zip(items, vote.labels, vote.share, strict=True):
            counts = Counter(x for x in row if not math.isnan(x))
            if not counts:
                assert math.isnan(label)
                assert math.isnan(share)
                continue
            top = [value for value, count in counts.items() if count == max(counts.values())]
            assert share == pytest.approx(max(counts.values()) / sum(counts.values()))
            assert label == top[0] if len(top) == 1 else math.isnan(label)

    def test_bad_input(self):
        with pytest.raises(InvalidInputError, match="ties"):
            majority_vote([[1]], ties="largest")

    def test_nobody_said_anything(self):
        assert np.isnan(majority_vote([[NAN, NAN]]).labels).all()
        assert np.isnan(majority_vote((np.array([]), np.array([]), np.array([])), ties="first").labels).all()


class TestSoftLabels:
    def test_by_hand(self):
        shares = soft_labels([[1, 1, 2, 2], [2, 2, 2, NAN], [NAN] * 4], values=[2, 1, 0])
        np.testing.assert_equal(shares, [[0.5, 0.5, 0], [1, 0, 0], [NAN] * 3])
        assert soft_labels([[1, 3]]).tolist() == [[0.5, 0.5]]

    def test_formats(self):
        np.testing.assert_array_equal(soft_labels(long_of(LABELS)), soft_labels(LABELS))
        np.testing.assert_allclose(soft_labels(LABELS).sum(axis=1), 1)

    def test_bad_input(self):
        with pytest.raises(InvalidInputError, match="2 is none of the values"):
            soft_labels([[1, 2]], values=[0, 1])
        with pytest.raises(InvalidInputError, match="different"):
            soft_labels([[1, 2]], values=[1, 1, 2])


class TestDawidSkene:
    def test_by_hand(self):
        # All three agree on every item: nothing is left to infer.
        model = dawid_skene([[1, 1, 1]] * 3 + [[2, 2, 2]])
        assert model.labels.tolist() == [1, 1, 1, 2]
        assert model.prior.tolist() == pytest.approx([0.75, 0.25])
        np.testing.assert_allclose(model.confusion, np.broadcast_to(np.eye(2), (3, 2, 2)), atol=1e-8)
        # The labels are as probable as three items of value 1 and one of value 2.
        assert model.log_likelihood == pytest.approx(3 * math.log(0.75) + math.log(0.25), abs=1e-6)

    def test_the_steps_of_crowd_kit(self):
        model = dawid_skene(LABELS, n_iter=1, tol=0)
        np.testing.assert_allclose(model.probabilities, ONE_STEP, atol=1e-6)
        np.testing.assert_allclose(model.prior, ONE_STEP_PRIOR, atol=1e-6)
        np.testing.assert_allclose(model.confusion[3].T, ONE_STEP_WORKER_3, atol=1e-6)
        model = dawid_skene(LABELS, n_iter=5, tol=0)
        for item, probabilities in FIVE_STEPS_ITEMS.items():
            np.testing.assert_allclose(model.probabilities[item], probabilities, atol=1e-6)
        np.testing.assert_allclose(model.prior, FIVE_STEPS_PRIOR, atol=1e-6)
        assert (model.n_iter, model.converged) == (5, False)

    @given(items_strategy, st.integers(1, 4))
    @settings(deadline=None)
    def test_against_the_oracle(self, items, steps):
        if all(math.isnan(x) for row in items for x in row):
            with pytest.warns(StatisticsWarning, match="no item has a label"):
                assert np.isnan(dawid_skene(items).probabilities).all()
            return
        model = dawid_skene(items, n_iter=steps, tol=0)
        truth, prior = em_oracle(items, steps)
        for (item, value), probability in truth.items():
            place = model.values.tolist().index(value)
            assert model.probabilities[item, place] == pytest.approx(probability, abs=1e-6)
        assert model.prior.tolist() == pytest.approx([prior[value] for value in model.values], abs=1e-6)

    def test_it_finds_who_errs(self):
        rng = np.random.default_rng(0)
        right = np.array([0.95, 0.9, 0.85, 0.6, 0.55])
        truth = rng.integers(1, 4, 2_000)
        said = np.where(
            rng.random((2_000, 5)) < right,
            truth[:, None],
            (truth[:, None] + rng.integers(0, 2, (2_000, 5))) % 3 + 1,
        )
        model = dawid_skene(said)
        assert model.converged
        accuracies = model.accuracy()
        assert [estimate.value for estimate in accuracies] == pytest.approx(right.tolist(), abs=0.03)
        vote = majority_vote(said, ties="random")
        assert np.mean(model.labels == truth) > np.mean(vote.labels == truth) + 0.02
        assert all(estimate.n == 2_000 and estimate.method == "wilson" for estimate in accuracies)

    def test_likelihood_never_falls(self):
        found = [dawid_skene(LABELS, n_iter=n, tol=0).log_likelihood for n in range(1, 12)]
        assert np.all(np.diff(found) > -1e-9)

    def test_formats_order_and_names(self):
        model = dawid_skene(LABELS)
        item, annotator, value = long_of(LABELS)
        names = np.array(["ann", "ben", "cy", "dee"])
        named = dawid_skene((item, names[annotator], value))
        np.testing.assert_allclose(named.probabilities, model.probabilities)
        assert named.annotators.tolist() == names.tolist()
        turned = dawid_skene(LABELS[::-1, ::-1])
        np.testing.assert_allclose(turned.probabilities[::-1], model.probabilities, atol=1e-8)
        np.testing.assert_allclose(turned.confusion[::-1], model.confusion, atol=1e-8)

    def test_accuracy_covers(self):
        rng = np.random.default_rng(3)
        right = np.linspace(0.6, 0.95, 8)
        covered = 0
        for _ in range(30):
            truth = rng.integers(0, 3, 400)
            who = np.argsort(rng.random((400, 8)), axis=1)[:, :4]
            said = (
                truth[:, None] + np.where(rng.random((400, 4)) < right[who], 0, rng.integers(1, 3, (400, 4)))
            ) % 3
            model = dawid_skene((np.repeat(np.arange(400), 4), who.ravel(), said.ravel()), n_iter=500)
            covered += sum(e.low <= p <= e.high for e, p in zip(model.accuracy(), right, strict=True))
        assert covered / 240 > 0.9

    def test_items_people_and_values_without_labels(self):
        labels = np.column_stack([LABELS, np.full(12, NAN)])
        labels[5] = NAN
        model = dawid_skene(labels, values=[0, 1, 2, 3])
        assert np.isnan(model.labels[5])
        assert np.isnan(model.probabilities[5]).all()
        assert np.isnan(model.confusion[4]).all()
        assert np.isnan(model.confusion[:, 3]).all()
        assert model.prior[3] == pytest.approx(0, abs=1e-9)
        assert model.accuracy()[4].as_dict() == {
            "value": None, "low": None, "high": None, "n": 0, "reason": "no label of this annotator",
        }  # fmt: skip

    def test_level_values_have_no_label(self):
        # Two people who contradict each other everywhere, alike: nothing says who is right.
        model = dawid_skene([[1, 2], [2, 1]])
        assert np.isnan(model.labels).all()
        assert model.probabilities.tolist() == [[0.5, 0.5], [0.5, 0.5]]

    def test_few_people_have_no_interval(self):
        found = dawid_skene(LABELS[:, :3]).accuracy()[0]
        assert math.isnan(found.low)
        assert found.reason.startswith("no interval")

    def test_not_converged(self):
        with pytest.warns(StatisticsWarning, match="did not converge"):
            dawid_skene(LABELS, n_iter=2)

    def test_bad_input(self):
        for options, message in (
            ({"n_iter": 0}, "n_iter"),
            ({"tol": -1}, "tol"),
            ({"values": [0, 1]}, "2 is none of the values"),
            ({"values": [0, 1, 2, NAN]}, "values"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                dawid_skene(LABELS, **options)

    def test_people_of_pandalm(self, shared_data):
        rows = json.loads((shared_data / "pandalm" / "testset-v1.json").read_text(encoding="utf-8"))
        labels = np.array([[row[f"annotator{k}"] for k in (1, 2, 3)] for row in rows], dtype=float)
        model, vote = dawid_skene(labels), majority_vote(labels)
        assert model.converged
        # Two of three always agree there, and all three are right so often that the model follows them.
        assert not vote.tied.any()
        assert np.array_equal(model.labels, vote.labels)
        assert [round(estimate.value, 2) for estimate in model.accuracy()] == [0.96, 0.95, 0.97]


class TestAggregate:
    @given(
        arrays(
            float,
            st.tuples(st.integers(1, 8), st.integers(1, 6)),
            elements=st.sampled_from([NAN, 1, 2, 3, 5]),
        )
    )
    def test_against_numpy(self, labels):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # rows without a label
            mean, median = np.nanmean(labels, axis=1), np.nanmedian(labels, axis=1)
        np.testing.assert_allclose(aggregate_labels(labels, how="mean"), mean)
        np.testing.assert_allclose(aggregate_labels(labels, how="median"), median)
        np.testing.assert_array_equal(aggregate_labels(labels), majority_vote(labels).labels)

    def test_ties_are_for_the_mode(self):
        labels = [[1, 2], [2, 2]]
        assert aggregate_labels(labels, ties="last").tolist() == [2, 2]
        with pytest.raises(InvalidInputError, match="how"):
            aggregate_labels(labels, how="most")
