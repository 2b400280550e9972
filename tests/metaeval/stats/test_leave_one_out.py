"""Leave-one-out agreement: by hand, against an oracle, under changes that must not matter, at the edges."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import (
    InvalidInputError,
    Resamples,
    StatisticsWarning,
    best_reachable_agreement,
    leave_one_out_agreement,
    leave_one_out_contributions,
)
from tests.metaeval.stats import oracle

NAN = math.nan


def people(labels, **options):
    return leave_one_out_agreement(labels, n_resamples=0, **options).value


def judge(labels, verdicts, **options):
    return leave_one_out_agreement(labels, verdicts, n_resamples=0, **options).value


class TestByHand:
    def test_two_against_one(self):
        # 1, 1, 2. Leave out a 1: others {1, 2}, both modes, the 1 scores 1/2; twice. Leave out the 2: others
        # {1, 1}, it scores 0. People (1/2 + 1/2 + 0) / 3 = 1/3. A judge saying 1: (1/2 + 1/2 + 1) / 3 = 2/3.
        assert people([[1, 1, 2]]) == pytest.approx(1 / 3)
        assert judge([[1, 1, 2]], [1]) == pytest.approx(2 / 3)

    def test_two_against_two(self):
        # 1, 1, 2, 2. Whichever is left out, the other value is the sole mode of the rest: people 0. A judge
        # saying 1 is right when a 2 is left out (the rest is 1, 1, 2), twice of four: 1/2.
        assert people([[1, 1, 2, 2]]) == 0
        assert judge([[1, 1, 2, 2]], [1]) == 0.5

    def test_one_ahead_of_two(self):
        # 0, 1, 2, 2. Leave out 0: {1, 2, 2}, mode 2. Leave out 1: likewise. Leave out a 2: {0, 1, 2}, three
        # modes. People: (0 + 0 + 1/3 + 1/3) / 4 = 1/6. Judge saying 2: (1 + 1 + 1/3 + 1/3) / 4 = 2/3;
        # saying 0: 1/6.
        assert people([[0, 1, 2, 2]]) == pytest.approx(1 / 6)
        assert judge([[0, 1, 2, 2]], [2]) == pytest.approx(2 / 3)
        assert judge([[0, 1, 2, 2]], [0]) == pytest.approx(1 / 6)

    def test_all_different(self):
        # 0, 1, 2. The rest is two values, both modes; a person is never among them. A judge is in two of
        # three rests, scoring 1/2 in each: 1/3.
        assert people([[0, 1, 2]]) == 0
        for verdict in (0, 1, 2):
            assert judge([[0, 1, 2]], [verdict]) == pytest.approx(1 / 3)

    def test_mean_over_items_and_the_item_with_one_label_has_none(self):
        labels = [[1, 1, 2], [2, 2, 2], [1, NAN, NAN]]
        estimate = leave_one_out_agreement(labels)
        assert estimate.value == pytest.approx((1 / 3 + 1) / 2)
        assert estimate.n == 2
        np.testing.assert_allclose(leave_one_out_contributions(labels), [1 / 3, 1, NAN])

    def test_two_orders_are_averaged_and_unparsed_is_wrong(self):
        labels = [[1, 1, 1], [2, 2, 2], [1, 1, 1]]
        verdicts = [[1, 2], [2, NAN], [NAN, NAN]]
        assert judge(labels, verdicts) == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
        assert judge(labels, verdicts, unparsed="omit") == pytest.approx((1 / 2 + 1) / 2)

    def test_a_verdict_that_nobody_gave_scores_nothing(self):
        assert judge([[1, 1, 2]], [0]) == 0
        assert judge([[1.5, 1.5, 2.5]], [7]) == 0

    def test_the_best_reachable_is_the_mode_and_is_no_ceiling_of_people(self):
        # People 1/3, best 2/3 on 1, 1, 2; people 0, best 1/2 on 1, 1, 2, 2.
        assert best_reachable_agreement([[1, 1, 2]]).value == pytest.approx(2 / 3)
        assert best_reachable_agreement([[1, 1, 2, 2]]).value == pytest.approx(1 / 2)

    def test_the_published_convention(self):
        # 1, 1, 2, 2: the mode of all four is taken as 2, so a judge saying 2 is right and one saying 1 is
        # wrong.
        assert judge([[1, 1, 2, 2]], [2], tie_break="alpaca_eval") == 1
        assert judge([[1, 1, 2, 2]], [1], tie_break="alpaca_eval") == 0
        # A tie lies half way: against the mode 2 it scores one half.
        assert judge([[1, 2, 2, 2]], [0], tie_break="alpaca_eval") == 0.5
        # Three modes: the library's fixed seed draws 1; a tie is half way from it, 2 a whole step.
        assert [judge([[0, 1, 2]], [v], tie_break="alpaca_eval") for v in (1, 0, 2)] == [1, 0.5, 0]
        # A graded verdict is as right as it is near.
        assert judge([[1, 2, 2]], [1.75], tie_break="alpaca_eval") == 0.75
        # 1, 2: each against the other alone.
        assert people([[1, 2]], tie_break="alpaca_eval") == 0
        # 1, 1, 2: rest {1, 2} becomes 2, so both 1 are wrong; rest {1, 1} is 1, so 2 is wrong.
        assert people([[1, 1, 2]], tie_break="alpaca_eval") == 0
        # 1, 2, 2: rest {2, 2}, then twice {1, 2} which becomes 2: two of three.
        assert people([[1, 2, 2]], tie_break="alpaca_eval") == pytest.approx(2 / 3)


labels_strategy = st.integers(1, 5).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, NAN]), min_size=n, max_size=n), min_size=1, max_size=6
    )
)


class TestAgainstTheOracle:
    @given(labels_strategy, st.data(), st.sampled_from([0.0, 0.5, 300.0]))
    @settings(deadline=None)
    def test_people_and_judges(self, labels, data, shift):
        # Shifted values take the general path, small integers the table of patterns.
        labels = [[label + shift for label in row] for row in labels]
        verdict = st.sampled_from([shift, shift + 1, shift + 2, shift + 3, shift + 9, NAN])
        verdicts = [data.draw(st.lists(verdict, min_size=2, max_size=2)) for _ in labels]
        if all(oracle.leave_one_out_item(row) is None for row in labels):
            with pytest.warns(StatisticsWarning, match="no item has two labels"):
                assert math.isnan(people(labels))
            return
        assert people(labels) == pytest.approx(oracle.leave_one_out(labels))
        for unparsed in ("wrong", "omit"):
            expected = oracle.leave_one_out(labels, verdicts, unparsed)
            if math.isnan(expected):
                continue
            assert judge(labels, verdicts, unparsed=unparsed) == pytest.approx(expected)
        first = [[pair[0]] for pair in verdicts]
        assert judge(labels, np.ravel(first)) == pytest.approx(oracle.leave_one_out(labels, first))

    @given(labels_strategy)
    @settings(deadline=None)
    def test_nothing_beats_the_mode(self, labels):
        if all(oracle.leave_one_out_item(row) is None for row in labels):
            return
        best = best_reachable_agreement(labels, n_resamples=0).value
        reached = [
            max(oracle.leave_one_out_item(row, verdict) for verdict in range(4))
            for row in labels
            if oracle.leave_one_out_item(row) is not None
        ]
        assert best == pytest.approx(float(sum(reached) / len(reached)))

    @pytest.mark.slow
    @given(labels_strategy)
    @settings(deadline=None, max_examples=25)
    def test_random_tie_breaks_have_the_exact_expectation(self, labels):
        if all(oracle.leave_one_out_item(row) is None for row in labels):
            return
        many = np.tile(labels, (2_000, 1))
        verdicts = np.tile(np.arange(len(labels)) % 4, 2_000)
        # The standard error is below 0.5 / sqrt(2000); six of them.
        assert people(many, tie_break="random", rng=1) == pytest.approx(people(many), abs=0.07)
        assert judge(many, verdicts, tie_break="random", rng=1) == pytest.approx(
            judge(many, verdicts), abs=0.07
        )


class TestInvariants:
    @pytest.fixture
    def study(self):
        rng = np.random.default_rng(5)
        labels = rng.choice([0.0, 1.0, 2.0, NAN], size=(60, 5), p=[0.1, 0.4, 0.3, 0.2])
        return labels, rng.choice([0.0, 1.0, 2.0, NAN], size=(60, 2))

    def test_renaming_the_values(self, study):
        labels, verdicts = study
        renamed = {0.0: 41.5, 1.0: -3.0, 2.0: 2.0}

        def rename(array):
            return np.array([renamed.get(value, NAN) for value in array.ravel()]).reshape(array.shape)

        assert people(rename(labels)) == pytest.approx(people(labels))
        assert judge(rename(labels), rename(verdicts)) == pytest.approx(judge(labels, verdicts))

    def test_order_of_items_and_annotators_and_doubling(self, study):
        labels, verdicts = study
        order = np.random.default_rng(1).permutation(60)
        assert judge(labels[order], verdicts[order]) == pytest.approx(judge(labels, verdicts))
        assert people(labels[:, ::-1]) == pytest.approx(people(labels))
        assert people(np.vstack([labels, labels])) == pytest.approx(people(labels))

    def test_doubled_items_in_one_cluster_have_the_same_interval(self, study):
        labels, _ = study
        plain = leave_one_out_agreement(labels)
        doubled = leave_one_out_agreement(np.vstack([labels, labels]), clusters=np.tile(np.arange(60), 2))
        assert (doubled.low, doubled.high) == pytest.approx((plain.low, plain.high), abs=0.01)

    def test_long_format_is_the_same(self, study):
        labels, verdicts = study
        item, annotator = np.nonzero(~np.isnan(labels))
        long = (item, annotator, labels[item, annotator])
        assert people(long) == pytest.approx(people(labels))
        assert judge(long, verdicts) == pytest.approx(judge(labels, verdicts))
        named = (np.array([f"item {i:03}" for i in item]), annotator.astype(str), long[2])
        assert people(named) == pytest.approx(people(labels))

    def test_the_same_call_gives_the_same_bytes(self, study):
        assert leave_one_out_agreement(study[0]) == leave_one_out_agreement(study[0])
        assert leave_one_out_agreement(study[0], tie_break="random") == leave_one_out_agreement(
            study[0], tie_break="random"
        )


class TestEdges:
    @pytest.mark.parametrize(
        "labels", [np.zeros((0, 3)), np.full((4, 3), NAN), [[1], [2]], [[1, NAN], [NAN, 2]], np.zeros((3, 0))]
    )
    def test_no_item_with_two_labels_is_undefined(self, labels):
        with pytest.warns(StatisticsWarning, match="no item has two labels"):
            estimate = leave_one_out_agreement(labels)
        assert math.isnan(estimate.value)
        assert estimate.as_dict() == {
            "value": None,
            "low": None,
            "high": None,
            "n": 0,
            "reason": "no item has two labels",
        }

    def test_everybody_agrees(self):
        estimate = leave_one_out_agreement(np.ones((50, 3)))
        assert (estimate.value, estimate.high, estimate.method) == (1, 1, "wilson")
        assert 0.9 < estimate.low < 0.95

    def test_one_cluster_says_almost_nothing(self):
        estimate = leave_one_out_agreement([[1, 1, 2]] * 100, clusters=[7] * 100)
        assert estimate.n_clusters == 1
        assert estimate.high - estimate.low > 0.8

    def test_many_values_and_annotators_take_the_general_path(self):
        rng = np.random.default_rng(2)
        labels = rng.integers(0, 12, size=(40, 30)).astype(float)
        assert people(labels) == pytest.approx(oracle.leave_one_out(labels.tolist()))

    @pytest.mark.parametrize(
        ("labels", "verdicts", "options", "message"),
        [
            ([1, 2, 3], None, {}, "expected shape"),
            ([[1, math.inf]], None, {}, "infinite"),
            ([["a", "b"]], None, {}, "expected numbers"),
            ([[1, 2]], [1, 2], {}, "expected 2 items, got 1"),
            ([[1, 2]], [[1, 2, 1]], {}, "expected shape"),
            ([[1, 2]], [1], {"tie_break": "first"}, "tie_break: expected one of"),
            ([[1, 2]], [1], {"unparsed": "right"}, "unparsed: expected one of"),
            ([[1, 2]], [1], {"clusters": [1, 2]}, "expected 1 items, got 2"),
            ([[1, 2]], [1], {"confidence": 95}, "confidence"),
            ([[1, 2]], [1], {"n_resamples": -1}, "n_resamples"),
            ([[1, 2]], [1], {"clusters": [1], "resamples": Resamples(1)}, "one or the other"),
            ([[1, 3]], [1], {"tie_break": "alpaca_eval"}, "found 3"),
            (([0, 0], [1, 1], [1, 2]), None, {}, "labeled one item twice"),
            (([0], [1, 1], [1, 2]), None, {}, "one length"),
            (([0, 9], [1, 1], [1, 2]), [1, 2, 1], {}, "expected 3 items, got 2"),
        ],
    )
    def test_bad_input_is_refused(self, labels, verdicts, options, message):
        with pytest.raises(InvalidInputError, match=message):
            leave_one_out_agreement(labels, verdicts, **options)

    def test_long_format_keeps_the_place_of_items_without_labels(self):
        long = ([0, 0, 2, 2], [1, 2, 1, 2], [1, 1, 2, 2])
        np.testing.assert_allclose(leave_one_out_contributions(long, [1, 1, 1]), [1, NAN, 0])


def test_sampling_weights_stand_for_items_that_were_not_picked():
    labels = np.random.default_rng(8).choice([1.0, 2.0, NAN], size=(40, 4))
    twice = np.where(np.arange(40) < 15, 2, 1)
    repeated = np.repeat(labels, twice, axis=0)
    assert leave_one_out_agreement(labels, weights=twice).value == pytest.approx(people(repeated))
    assert best_reachable_agreement(labels, weights=twice).value == pytest.approx(
        best_reachable_agreement(repeated).value
    )
