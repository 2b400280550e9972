"""The choice: what is compared with what, on cases worked by hand, and against the statistics it is made of."""

import numpy as np
import pytest

from metaeval.selection import Candidate, Constraints, Violation, choose
from metaeval.selection.objective import Draws, Objective
from metaeval.selection.table import table_build
from metaeval.stats import (
    Resamples,
    accuracy,
    alternative_annotator_test,
    leave_one_out_agreement,
    paired_difference,
    positional_agreement,
    unparsed_rate,
)
from tests.metaeval.selection.build import dataset, judges, said

NAN = float("nan")


def two_roles(rng, n=60):
    """People on one dataset, gold on another; "good" is better on both."""
    labels = rng.choice([1.0, 2.0], (n, 3), p=[0.8, 0.2])
    first = {"good": said(rng, n, 0.95), "poor": said(rng, n, 0.6)}
    second = {"good": said(rng, n, 0.9), "poor": said(rng, n, 0.5)}
    return [
        dataset(first, name="People", role="people", labels=labels, weight=1.0),
        dataset(second, name="Traps", weight=3.0),
    ]


class TestObjective:
    def test_by_hand(self):
        # On "One" a is right on 3 of 4 items and b on 2; on "Two" a is right on 1 of 2 and b on both.
        one = dataset({"a": [1, 1, 1, 2], "b": [1, 1, 2, 2]}, name="One", weight=1.0)
        two = dataset({"a": [1, 2], "b": [1, 1]}, name="Two", weight=3.0)
        found = choose([one, two], judges("a", "b"))
        # a: (1 x 0.75 + 3 x 0.5) / 4 = 0.5625; b: (1 x 0.5 + 3 x 1) / 4 = 0.875
        assert found.standing("a").objective.value == pytest.approx(0.5625)
        assert found.standing("b").objective.value == pytest.approx(0.875)
        assert (found.leader, found.verdict, found.winner) == ("b", "open", None)
        assert found.standing("a").behind.value == pytest.approx(0.3125)
        assert {name: score.value for name, score in found.standing("a").scores.items()} == {
            "One": 0.75,
            "Two": 0.5,
        }

    def test_a_dataset_of_weight_0_decides_nothing_and_is_shown(self):
        one = dataset({"a": [1] * 20, "b": [2] * 20}, name="One")
        two = dataset({"a": [2] * 20, "b": [1] * 20}, name="Two", weight=0.0)
        found = choose([one, two], judges("a", "b"))
        assert (found.winner, found.verdict) == ("a", "clear")
        assert found.standing("a").scores["Two"].value == 0.0
        assert found.held_out.value == 1.0
        # and a limit there is a limit
        assert choose([one, two], judges("a", "b"), Constraints(min_accuracy=0.5)).verdict == "none"

    def test_figures_are_those_of_the_statistics(self):
        rng = np.random.default_rng(2)
        labels = rng.choice([0, 1, 2, NAN], (50, 4), p=[0.1, 0.5, 0.2, 0.2])
        verdicts = rng.choice([0, 1, 2, NAN], (50, 2), p=[0.1, 0.5, 0.3, 0.1])
        people = dataset({"a": verdicts}, name="People", role="people", labels=labels)
        gold = dataset({"a": verdicts}, name="Gold", clusters=people.clusters)
        found = choose([people, gold], judges("a"))
        standing = found.standing("a")
        assert standing.scores["People"].value == pytest.approx(
            leave_one_out_agreement(labels, verdicts).value
        )
        assert standing.scores["Gold"].value == pytest.approx(accuracy(verdicts, np.ones(50)).value)
        assert standing.positional_agreement.value == pytest.approx(positional_agreement(verdicts).value)
        assert standing.unparsed.value == pytest.approx(unparsed_rate(verdicts).value)
        assert (found.verdict, found.winner, found.confidence_set) == ("single", "a", ("a",))

    def test_what_was_not_judged_takes_no_part(self):
        one = dataset(
            {"a": [[1, NAN], [2, 1], [NAN, NAN]]},
            judged={"a": np.array([[True, False], [True, True], [True, False]])},
        )
        standing = choose([one], judges("a")).standing("a")
        # right in the only order; half; unparsed in the only order, which is wrong
        assert standing.objective.value == pytest.approx((1 + 0.5 + 0) / 3)
        assert standing.positional_agreement.n == 1
        assert standing.unparsed.value == pytest.approx(1 / 4)

    def test_sampling_weights(self):
        one = dataset({"a": [1, 2, 1, 2], "b": [2, 1, 2, 1]}, weights=np.array([3.0, 1.0, 3.0, 1.0]))
        found = choose([one], judges("a", "b"))
        assert found.standing("a").objective.value == pytest.approx(0.75)
        none = dataset({"a": [1, 2], "b": [2, 1]}, weights=np.array([1.0, 0.0]))
        assert choose([none], judges("a", "b")).standing("a").objective.n == 1


class TestCommonGround:
    def test_a_note_where_some_were_asked_in_one_order_only(self):
        both, first = np.ones((10, 2), bool), np.array([[True, False]] * 10)
        one = dataset({"a": [1] * 10, "b": [1] * 10}, judged={"a": both, "b": first})
        assert any(
            "mostly in one presentation order" in note and " B." in note
            for note in choose([one], judges("a", "b")).notes
        )
        same = dataset({"a": [1] * 10, "b": [1] * 10}, judged={"a": first, "b": first})
        assert not any("presentation order" in note for note in choose([same], judges("a", "b")).notes)

    def test_on_the_items_that_all_judged(self):
        whole, most = np.ones((10, 2), bool), np.ones((10, 2), bool)
        most[8:] = False
        one = dataset({"a": [2] * 2 + [1] * 8, "b": [1] * 10}, judged={"a": whole, "b": most})
        found = choose([one], judges("a", "b"))
        assert found.standing("a").objective.n == 8
        assert found.standing("a").objective.value == pytest.approx(6 / 8)
        assert any("8 of the 10 items" in note for note in found.notes)

    def test_a_judge_that_has_hardly_begun_is_not_ranked(self):
        few = np.zeros((10, 2), bool)
        few[:2] = True
        one = dataset({"a": [1] * 9 + [2], "b": [1] * 10}, judged={"a": np.ones((10, 2), bool), "b": few})
        found = choose([one], judges("a", "b"))
        assert (found.verdict, found.winner) == ("single", "a")
        assert not found.standing("b").is_ranked
        assert np.isnan(found.standing("b").objective.value)
        assert np.isnan(found.standing("b").chosen_share)
        assert [standing.key for standing in found.standings] == ["a", "b"]
        assert any(note.startswith("B judged 2") for note in found.notes)

    def test_a_judge_that_lacks_one_dataset_is_not_ranked(self):
        one = dataset({"a": [1] * 30, "b": [1] * 30}, name="One")
        two = dataset({"a": [1, 2, 1]}, name="Two")
        found = choose([one, two], judges("b", "a"))
        assert (found.leader, found.verdict) == ("a", "single")


class TestDifferences:
    @pytest.mark.parametrize("clustered", [False, True])
    def test_of_one_dataset_it_is_the_paired_difference(self, clustered):
        rng = np.random.default_rng(4)
        clusters = rng.integers(0, 12, 40) if clustered else np.arange(40)
        one = dataset({"a": said(rng, 40, 0.9), "b": said(rng, 40, 0.7)}, clusters=clusters)
        table, _ = table_build([one], judges("a", "b"))
        mine = Objective(table, Draws(table.n_clusters, 0), 0.9).difference(*table.scores.T)
        theirs = paired_difference(*table.scores.T, resamples=Resamples(clusters, 50), confidence=0.9)
        assert (mine.value, mine.low, mine.high) == pytest.approx((theirs.value, theirs.low, theirs.high))
        assert (mine.n, mine.n_clusters) == (theirs.n, theirs.n_clusters)

    def test_the_set_and_the_intervals_say_the_same(self):
        rng = np.random.default_rng(6)
        for _ in range(8):
            n = int(rng.integers(10, 80))
            one = dataset({f"j{place}": said(rng, n, rng.uniform(0.5, 0.9)) for place in range(5)})
            found = choose([one], judges(*(f"j{place}" for place in range(5))), n_resamples=0)
            for standing in found.standings[1:]:
                assert standing.in_confidence_set == (not standing.behind.low > 0)
            assert found.confidence_set[0] == found.leader
            assert (found.verdict == "clear") == (found.confidence_set == (found.leader,))

    def test_of_two_judges_it_is_students_test(self):
        rng = np.random.default_rng(8)
        one = dataset({"a": said(rng, 50, 0.8), "b": said(rng, 50, 0.6)})
        found = choose([one], judges("a", "b"))
        plain = paired_difference(*(accuracy_of(one, key) for key in ("a", "b")), n_resamples=50)
        behind = found.standing("b").behind
        assert behind.low == pytest.approx(plain.low, abs=0.005)  # its quantile is simulated
        assert behind.high == pytest.approx(plain.high, abs=0.005)


def accuracy_of(data, key):
    return (data.verdicts[key] == 1).mean(axis=1)


class TestChosenShare:
    def test_as_counted_by_hand(self):
        rng = np.random.default_rng(9)
        one = dataset({key: rng.choice([1.0, 2.0], 12) for key in "abc"}, clusters=rng.integers(0, 6, 12))
        found = choose([one], judges("a", "b", "c"), n_resamples=300, rng=5)
        names, cluster = np.unique(one.clusters.astype(str), return_inverse=True)
        draws = Draws(len(names), 300, rng=np.random.default_rng([5, 0]))
        counts = draws.totals(np.eye(len(names)))
        share = dict.fromkeys("abc", 0.0)
        for drawn in counts:
            means = {
                key: round(np.average(accuracy_of(one, key), weights=drawn[cluster]), 10) for key in "abc"
            }
            first = [key for key in "abc" if means[key] == max(means.values())]
            for key in first:
                share[key] += 1 / len(first) / 300
        assert {key: found.standing(key).chosen_share for key in "abc"} == pytest.approx(share)

    def test_constraints_are_asked_in_every_resample(self):
        rng = np.random.default_rng(10)
        # "a" is always right in one order, and agrees with itself on 30 of 60 items: on the limit.
        half = np.stack([np.ones(60), np.repeat([1.0, 2.0], 30)], axis=1)
        one = dataset({"a": half, "b": np.where(rng.random(60) < 0.6, 1.0, 2.0)})
        free = choose([one], judges("a", "b"), n_resamples=400)
        bound = choose([one], judges("a", "b"), Constraints(min_positional_agreement=0.5), n_resamples=400)
        assert free.leader == bound.leader == "a"
        assert free.standing("a").chosen_share > 0.95
        assert 0.4 < bound.standing("a").chosen_share < 0.65
        assert bound.held_out.value < free.held_out.value


class TestConstraints:
    def test_each_of_them(self):
        n = 20
        costs = {"a": np.full((n, 2), 0.002), "b": np.full((n, 2), 0.0)}
        seconds = {"a": np.full((n, 2), 3.0)}
        unsure = np.stack([np.ones(n), np.r_[np.full(5, NAN), np.ones(15)]], axis=1)
        one = dataset({"a": unsure, "b": [1] * n}, costs=costs, seconds=seconds)
        asked = Constraints(
            open_weights=True,
            local=True,
            max_cost_per_1000=1.0,
            max_seconds=2.0,
            min_positional_agreement=0.9,
            min_accuracy=0.95,
            max_unparsed=0.1,
        )
        found = choose([one], [Candidate("a", "A", is_open=False), Candidate("b", "B", True, True)], asked)
        a = {violation.name: violation for violation in found.standing("a").violations}
        assert a["open_weights"] == Violation("open_weights", 1.0, 0.0)
        assert np.isnan(a["local"].value)  # not known
        assert a["max_cost_per_1000"].value == pytest.approx(2.0)
        assert a["max_seconds"].value == pytest.approx(3.0)
        assert a["min_positional_agreement"].value == pytest.approx(0.75)
        assert a["min_accuracy"].value == pytest.approx(0.875)
        assert a["min_accuracy"].dataset == "Traps"
        assert a["max_unparsed"].value == pytest.approx(0.125)
        (b,) = found.standing("b").violations  # nobody measured how long it takes
        assert (b.name, np.isnan(b.value)) == ("max_seconds", True)
        assert (found.verdict, found.leader, found.confidence_set, found.front) == ("none", None, (), ())
        assert np.isnan(found.held_out.value)
        assert found.held_out.reason == "no judge satisfies the constraints"

    def test_a_figure_on_the_limit_satisfies_it(self):
        one = dataset({"a": [1] * 7 + [2] * 3})
        assert choose([one], judges("a"), Constraints(min_accuracy=0.7)).verdict == "single"

    def test_those_that_may_not_be_chosen_come_after(self):
        one = dataset({"a": [1] * 30, "b": [1] * 20 + [2] * 10, "first": [1] * 15 + [2] * 15})
        found = choose(
            [one],
            [Candidate("first", "First", is_baseline=True), Candidate("a", "A"), Candidate("b", "B", True)],
            Constraints(open_weights=True),
        )
        assert [standing.key for standing in found.standings] == ["b", "a", "first"]
        # 20 of 30 are not significantly more than the baseline's 15, so the only one that may be chosen is no winner.
        assert (found.verdict, found.winner, found.leader) == ("floor", None, "b")
        assert found.standing("a").behind.value == pytest.approx(-1 / 3)
        assert found.standing("a").chosen_share == 0.0
        assert np.isnan(found.standing("first").chosen_share)
        # Of a judge alone the lead has Student's interval, not an empty one.
        lead = found.standing("first").behind
        assert (lead.low, lead.value) == pytest.approx((-0.0128, 1 / 6), abs=1e-4)


class TestFront:
    def test_better_or_cheaper(self):
        n = 20
        costs = {"a": 0.004, "b": 0.002, "c": 0.003, "free": 0.0}
        one = dataset(
            {
                "a": [1] * 20,
                "b": [1] * 18 + [2] * 2,
                "c": [1] * 16 + [2] * 4,
                "free": [1] * 10 + [2] * 10,
                "new": [1] * n,
            },
            costs={key: np.full((n, 2), cost) for key, cost in costs.items()},
        )
        found = choose([one], judges("a", "b", "c", "free", "new"))
        assert found.front == ("free", "b", "a")  # c is dearer and worse than b; nobody knows what new costs
        assert not found.standing("new").on_front
        assert any("NEW" in note and "cost" in note for note in found.notes)


class TestSettling:
    def test_that_many_instructions_would_show_it(self):
        n = 60
        # Of 60 items a is better on 12 and b on 6.
        one = dataset({"a": [1] * 54 + [2] * 6, "b": [2] * 12 + [1] * 48})
        found = choose([one], judges("a", "b"))
        (settling,) = found.settling
        assert (settling.rival, settling.dataset, settling.n_now) == (found.standings[1].key, "Traps", n)
        assert settling.n_needed > n
        assert settling.n_needed < 20 * n
        times = -(-settling.n_needed // n)
        more = dataset({key: np.tile(one.verdicts[key], (times, 1)) for key in "ab"})
        assert choose([more], judges("a", "b")).verdict == "clear"
        more_power = choose([one], judges("a", "b"), power=0.95).settling[0]
        assert more_power.n_needed > settling.n_needed

    def test_nothing_would_where_the_difference_is_nil(self):
        one = dataset({"a": [1, 1, 2, 2] * 5, "b": [1, 2, 1, 2] * 5})
        (settling,) = choose([one], judges("a", "b")).settling
        assert (settling.difference, settling.n_needed) == (0.0, 0)

    def test_on_the_dataset_that_takes_fewest_or_on_all_together(self):
        rng = np.random.default_rng(14)

        def data(name, n, weight, accuracy):
            return dataset(
                {"a": said(rng, n, accuracy), "b": said(rng, n, accuracy - 0.05)}, name=name, weight=weight
            )

        small, large = data("Small", 30, 1.0, 0.9), data("Large", 2000, 1.0, 0.9)
        (settling,) = choose([small, large], judges("a", "b"), n_resamples=50).settling
        assert (settling.dataset, settling.together) == ("Small", False)
        # a is better on 11 of 40 items and b on 10, in both datasets: neither alone can make up for the other.
        close = {"a": [1] * 30 + [2] * 10, "b": [2] * 11 + [1] * 29}
        both = choose([dataset(close, name="One"), dataset(close, name="Two")], judges("a", "b")).settling
        assert [(one.dataset, one.together) for one in both] == [("One", True), ("Two", True)]
        assert both[0].n_needed == both[1].n_needed > 40


class TestReplaces:
    def test_the_leader_on_datasets_with_enough_people(self):
        rng = np.random.default_rng(15)
        found = choose(two_roles(rng), judges("good", "poor"), annotators="these")
        assert (found.verdict, found.winner) == ("clear", "good")
        assert set(found.replaces) == {"People"}
        assert found.replaces["People"].passed

    def test_nobody_is_tested_on_what_they_were_chosen_on(self):
        """Of 40 judges that guess, one is lucky by chance; what is chosen elsewhere guesses on."""
        rng = np.random.default_rng(21)
        n = 60
        truth = rng.choice([1.0, 2.0], n)
        labels = np.where(rng.random((n, 4)) < 0.9, truth[:, np.newaxis], 3 - truth[:, np.newaxis])
        guesses = {f"j{place}": rng.choice([1.0, 2.0], n) for place in range(60)}
        found = choose(
            [dataset(guesses, name="P", role="people", labels=labels)],
            judges(*guesses),
            epsilon=0.2,
            n_resamples=10,
            n_repeats=1,
        )
        of_leader = alternative_annotator_test(labels, guesses[found.leader], epsilon=0.2)
        held_out = found.replaces["P"]
        assert held_out.epsilon == 0.2
        ahead, behind = held_out.advantage_probability.value, of_leader.advantage_probability.value
        # What guesses is as close to the others as a person on half of the items, give or take.
        assert ahead < 0.62 < behind

    def test_too_few_people(self):
        rng = np.random.default_rng(16)
        two = dataset(
            {"a": said(rng, 40, 0.9)}, name="People", role="people", labels=rng.choice([1.0, 2.0], (40, 2))
        )
        found = choose([two], judges("a"))
        assert found.replaces == {}
        assert any("the alternative annotator test was not made" in note for note in found.notes)

    def test_one_order_only(self):
        rng = np.random.default_rng(17)
        labels = rng.choice([1.0, 2.0], (60, 3), p=[0.9, 0.1])
        order = np.arange(60) % 2
        judged = np.stack([order == 0, order == 1], axis=1)
        one = dataset({"a": np.ones(60)}, name="P", role="people", labels=labels, judged={"a": judged})
        assert choose([one], judges("a")).replaces["P"].passed
        # A few that were judged in both orders do not take the place of all others.
        judged[:2] = True
        again = dataset({"a": np.ones(60)}, name="P", role="people", labels=labels, judged={"a": judged})
        assert choose([again], judges("a")).replaces["P"].passed


def test_the_same_input_gives_the_same_choice():
    rng = np.random.default_rng(18)
    data = two_roles(rng)
    assert repr(choose(data, judges("good", "poor"))) == repr(choose(data, judges("good", "poor")))


def test_the_order_of_items_does_not_matter_where_an_instruction_has_several_categories():
    rng = np.random.default_rng(20)
    said_by = {key: said(rng, 60, 0.7) for key in "abcd"}
    fields = {"clusters": np.repeat(np.arange(20), 3).astype(str), "categories": rng.choice(["x", "y"], 60)}
    order = rng.permutation(60)
    one = choose([dataset(said_by, **fields)], judges(*"abcd"))
    moved = {name: column[order] for name, column in fields.items()}
    other = choose([dataset({key: v[order] for key, v in said_by.items()}, **moved)], judges(*"abcd"))
    assert other.held_out.value == pytest.approx(one.held_out.value, abs=1e-12)
    assert other.held_out.low == pytest.approx(one.held_out.low, abs=1e-12)
    assert other.composite.gain.value == pytest.approx(one.composite.gain.value, abs=1e-12)


def test_the_order_of_datasets_and_of_items_does_not_matter():
    rng = np.random.default_rng(19)
    data = two_roles(rng)
    one, other = choose(data, judges("good", "poor")), choose(data[::-1], judges("good", "poor"))
    for key in ("good", "poor"):
        assert one.standing(key).objective.value == pytest.approx(other.standing(key).objective.value)
    assert one.standing("poor").behind.low == pytest.approx(other.standing("poor").behind.low, abs=0.005)
