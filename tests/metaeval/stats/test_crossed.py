"""People as a sample: what a label does, by slow restatements; the variance; both populations; edges."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import (
    InvalidInputError,
    LeaveOneOut,
    Resamples,
    StatisticsWarning,
    best_reachable_agreement,
    crossed_mean_estimate,
    leave_one_out_agreement,
    leave_one_out_difference,
    paired_difference,
)
from metaeval.stats.counts import read_labels
from metaeval.stats.crossed import CrossedScores, Crossing, people_variance
from metaeval.stats.label_effects import LabelEffects
from tests.metaeval.stats import oracle

NAN = math.nan
ITEMS = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.5, NAN]), min_size=5, max_size=5), min_size=1, max_size=6
)


def given_labels(row):
    return [value for value in row if not math.isnan(value)]


def at(row, n_labels, score):
    """The mean of a score over all ways to keep this many labels; None where there are fewer."""
    row = given_labels(row)
    if n_labels is None:
        return score(row) if len(row) > 1 else None
    kept = [score(list(part)) for part in itertools.combinations(row, n_labels)]
    return sum(kept) / len(kept) if kept else None


def best(row):
    return max(oracle.leave_one_out_item(row, value) for value in row)


def effect(row, place, n_labels, score):
    """The score minus its mean after the label is replaced by those of the others, one after another."""
    row = given_labels(row)
    changed = [[*row[:place], other, *row[place + 1 :]] for other in row[:place] + row[place + 1 :]]
    after = [at(one, n_labels, score) for one in changed]
    return at(row, n_labels, score) - sum(after) / len(after)


class TestEffects:
    @settings(deadline=None, max_examples=20)
    @given(ITEMS, st.sampled_from([None, 2, 3, 4]), st.data())
    def test_as_a_slow_restatement_has_them(self, items, n_labels, data):
        verdicts = data.draw(
            st.lists(st.sampled_from([0.0, 1.0, 3.0, 7.5, NAN]), min_size=len(items), max_size=len(items))
        )
        read = read_labels(items)
        effects = LabelEffects(read, n_labels)
        for name, (found, labels) in {
            "people": effects.people(),
            "best": effects.best(),
            "judge": effects.judge(np.array(verdicts)),
        }.items():
            for row, (labels_given, verdict) in enumerate(zip(items, verdicts, strict=True)):
                score = {
                    "people": oracle.leave_one_out_item,
                    "best": best,
                    "judge": lambda given, verdict=verdict: oracle.leave_one_out_item(given, verdict),
                }[name]
                expected = at(labels_given, n_labels, score)
                assert np.isnan(found[row]) if expected is None else found[row] == pytest.approx(expected)
                if expected is None:
                    continue
                own = labels[read.item == row]
                slow = [effect(labels_given, place, n_labels, score) for place in range(len(own))]
                assert own.tolist() == pytest.approx(slow, abs=1e-12)

    def test_by_hand(self):
        # 1, 1, 2: people 1/3. The 2 replaced by a 1 gives 1. A 1 replaced by the other 1 gives 1/3, by the 2
        # (2, 1, 2) 1/3: no effect. Hence 0, 0 and 1/3 - 1.
        scores, effects = LabelEffects(read_labels([[1, 1, 2]])).people()
        assert scores.tolist() == pytest.approx([1 / 3])
        assert effects.tolist() == pytest.approx([0, 0, -2 / 3])
        # A judge that says 1: 2/3. A 1 replaced by the 2: 1/3; by the 1: 2/3. The 2 replaced by a 1: 1.
        _, effects = LabelEffects(read_labels([[1, 1, 2]])).judge(np.array([1.0]))
        assert effects.tolist() == pytest.approx([1 / 6, 1 / 6, -1 / 3])

    def test_their_scores_are_those_of_the_fast_tables(self):
        rng = np.random.default_rng(0)
        labels = np.where(rng.random((200, 7)) < 0.3, NAN, rng.integers(0, 3, (200, 7)))
        verdicts = rng.choice([0, 1, 2, NAN], (200, 2))
        sample = LeaveOneOut(labels)
        for scores, judged in ((sample.people(), None), (sample.judge(verdicts), verdicts)):
            fixed = leave_one_out_agreement(labels, judged, n_resamples=0).value
            assert sample.estimate(scores, n_resamples=0).value == pytest.approx(fixed, abs=1e-12)
        one = sample.judge(verdicts[:, :1])
        part = sample.judge(
            verdicts, np.tile([True, False], (200, 1))
        )  # the second order was never asked for
        np.testing.assert_array_equal(one.items, part.items)
        np.testing.assert_array_equal(np.nan_to_num(one.labels), part.labels)

    def test_a_published_convention_has_scores_and_no_effects(self):
        labels = np.array([[1.0, 1, 2, 2, 0, 1], [2, 2, 2, 1, 0, NAN], [NAN] * 6])
        sample = LeaveOneOut(labels, tie_break="alpaca_eval")
        assert sample.best_reachable().items.tolist() == pytest.approx([1, 1, NAN], nan_ok=True)
        with pytest.warns(StatisticsWarning, match="not known for others"):
            found = leave_one_out_agreement(labels, tie_break="alpaca_eval", people="sampled")
        assert found.defined
        assert math.isnan(found.low)

    def test_ties_broken_at_random_have_the_effects_of_their_expectation(self):
        labels = np.random.default_rng(1).integers(1, 3, (80, 6)).astype(float)
        drawn, exact = (LeaveOneOut(labels, tie_break=how, rng=3) for how in ("random", "expected"))
        np.testing.assert_array_equal(drawn.people().labels, exact.people().labels)
        fixed = leave_one_out_agreement(labels, tie_break="random", rng=3, n_resamples=0).value
        assert drawn.estimate(drawn.people(), n_resamples=0).value == pytest.approx(fixed)


def slow_variance(scores, crossing, weights, clusters):
    """Between people, minus what one person does in one cluster: every person beside every cluster."""
    share = weights / weights.sum()
    people = np.unique(crossing.person)
    size = np.bincount(crossing.item)[crossing.item]
    each = share[crossing.item]
    effects = np.zeros(len(each))
    for labels in np.unique(size[each > 0]):
        group = (size == labels) & (each > 0)
        effects[group] = each[group] * (
            scores.labels[group] - np.average(scores.labels[group], weights=each[group])
        )
    load = np.array([(each / size)[crossing.person == one].sum() for one in people])
    cells = np.zeros((len(people), clusters.max() + 1))
    for label, person in enumerate(crossing.person):
        cells[np.searchsorted(people, person), clusters[crossing.item[label]]] += effects[label]
    cells -= load[:, np.newaxis] * cells.sum(axis=0)
    # What is left of people who vary, b of each: load·b minus load times the sum of load·b.
    left = np.diag(load) - np.outer(load, load)
    factor = (load**2).sum() / (left**2).sum()
    return factor * (cells.sum(axis=1) ** 2).sum(), factor * (cells**2).sum()


class TestVariance:
    @pytest.mark.parametrize("dense", [True, False])
    def test_as_a_slow_restatement_has_it(self, dense, monkeypatch):
        rng = np.random.default_rng(5)
        labels = np.where(rng.random((60, 8)) < 0.4, NAN, rng.integers(0, 3, (60, 8)))
        sample = LeaveOneOut(labels)
        scores = sample.judge(rng.integers(0, 3, 60)) - sample.people()
        weights = np.where(np.isnan(scores.items), 0.0, rng.random(60))
        clusters = rng.integers(0, 20, 60)
        if not dense:
            monkeypatch.setattr("metaeval.stats.crossed.MOST_CELLS", 0)
        found = people_variance(scores, sample.crossing, weights, Resamples(clusters, 0))
        between, within = slow_variance(
            scores, sample.crossing, weights, np.unique(clusters, return_inverse=True)[1]
        )
        assert found.between == pytest.approx(between)
        assert found.within == pytest.approx(within)
        assert found.variance == pytest.approx(max(0, between - within))

    @pytest.mark.parametrize(("n_people", "each", "spread"), [(6, 6, 0.0), (6, 6, 0.15), (12, 3, 0.15)])
    def test_it_is_that_of_people_alone(self, n_people, each, spread):
        # Scores that depend on the person's own label only: a person is right with a chance of their own, so that
        # the mean over items varies between people by the variance of the chances over the number of people.
        rng = np.random.default_rng(n_people)
        found = []
        for _ in range(400):
            chance = 0.6 + spread * rng.choice([-1, 1], n_people)
            who = np.argsort(rng.random((80, n_people)), axis=1)[:, :each]
            right = rng.random((80, each)) < chance[who]
            crossing = Crossing.of(np.repeat(np.arange(80), each), who.ravel())
            scores = CrossedScores(right.mean(axis=1), (right.ravel() - right.mean()) / each)
            one = people_variance(scores, crossing, np.ones(80), Resamples(80, 0))
            found.append(one.between - one.within)
        assert np.mean(found) == pytest.approx(
            spread**2 / n_people, abs=4 * np.std(found) / 20 + 0.06 * spread**2 / n_people
        )

    def test_of_exogenous_scores_it_is_that_of_two_way_clustering(self):
        # Cameron, Gelbach and Miller (2011), section 2.2: V = V(items) + V(people) - V(both); here 6 people, crossed.
        rng = np.random.default_rng(1)
        right = (rng.random((40, 6)) < rng.random(6)).astype(float)
        item, person = np.nonzero(right >= 0)
        off = (right - right.mean()) / right.size
        items, people, both = (off.sum(axis=1) ** 2).sum(), (off.sum(axis=0) ** 2).sum(), (off**2).sum()
        found = people_variance(
            CrossedScores(right.mean(axis=1), ((right - right.mean()) / 6).ravel()),
            Crossing.of(item, person),
            np.ones(40),
            Resamples(40, 0),
        )
        # They divide by the number of people, here one less; what all people do on one item is no part of it here.
        assert found.between == pytest.approx(people * 6 / 5)
        assert found.within == pytest.approx((both - items / 6) * 6 / 5)
        estimate = crossed_mean_estimate(right.ravel(), item, person)
        assert (estimate.value, estimate.method) == (pytest.approx(right.mean()), "two-way")


@pytest.fixture
def study():
    rng = np.random.default_rng(4)
    labels = rng.choice([0.0, 1.0, 2.0, NAN], size=(60, 6), p=[0.1, 0.4, 0.3, 0.2])
    labels[:, 0] = np.where(rng.random(60) < 0.8, 1.0, 2.0)  # one who nearly always says the same
    return labels, rng.choice([0.0, 1.0, 2.0, NAN], size=60)


class TestBothPopulations:
    def test_the_figure_is_the_same_and_the_interval_no_narrower(self, study):
        labels, verdicts = study
        for judged in (None, verdicts, np.stack([verdicts, verdicts[::-1]], axis=1)):
            for options in ({}, {"unparsed": "omit"}, {"n_labels": 3}, {"clusters": np.arange(60) // 3}):
                fixed, sampled = (
                    leave_one_out_agreement(labels, judged, people=people, **options)
                    for people in ("fixed", "sampled")
                )
                assert sampled.value == pytest.approx(fixed.value)
                assert (sampled.n, sampled.n_clusters) == (fixed.n, fixed.n_clusters)
                assert sampled.method == "two-way"
                assert sampled.low <= fixed.low < fixed.high <= sampled.high
        # A judge that says what the one says who nearly always says the same.
        fixed, sampled = (
            leave_one_out_agreement(labels, np.ones(60), people=people) for people in ("fixed", "sampled")
        )
        assert sampled.high - sampled.low > 1.1 * (fixed.high - fixed.low)

    def test_a_difference_is_that_of_its_two_sides(self, study):
        labels, verdicts = study
        other = np.roll(verdicts, 1)
        sample = LeaveOneOut(labels)
        sides = {
            "people": sample.people().items,
            "best_reachable": sample.best_reachable().items,
            "one": sample.judge(verdicts).items,
            "other": sample.judge(other).items,
        }
        given = {"one": verdicts, "other": other}
        for first, second in itertools.permutations(sides, 2):
            fixed, sampled = (
                leave_one_out_difference(
                    labels, given.get(first, first), given.get(second, second), people=people
                )
                for people in ("fixed", "sampled")
            )
            assert fixed == paired_difference(sides[first], sides[second])
            back = leave_one_out_difference(
                labels, given.get(second, second), given.get(first, first), people="sampled"
            )
            assert (-back.high, -back.low) == pytest.approx((sampled.low, sampled.high))
            assert sampled.low <= fixed.low < fixed.high <= sampled.high
            assert 0 <= sampled.share_better <= 1
        wide = leave_one_out_difference(labels, verdicts, other, people="sampled", critical=3.0)
        assert wide.low < leave_one_out_difference(labels, verdicts, other, people="sampled").low

    def test_order_names_and_coding_do_not_matter(self, study):
        labels, verdicts = study
        plain = leave_one_out_difference(labels, verdicts, people="sampled")
        order = np.random.default_rng(0).permutation(60)
        assert leave_one_out_difference(
            labels[order], verdicts[order], people="sampled"
        ).low == pytest.approx(plain.low)
        assert leave_one_out_difference(labels[:, ::-1], verdicts, people="sampled").low == pytest.approx(
            plain.low
        )
        other = {0: 5.5, 1: -3, 2: 400}
        coded, said = (
            np.vectorize(lambda value: other.get(value, NAN), otypes=[float])(each)
            for each in (labels, verdicts)
        )
        assert leave_one_out_difference(coded, said, people="sampled") == plain

    def test_where_weights_and_clusters(self, study):
        labels, _ = study
        where = np.arange(60) < 30
        selected = leave_one_out_agreement(labels, people="sampled", where=where)
        half = leave_one_out_agreement(labels[:30], people="sampled")
        # The whole tells better how uneven the workloads are; but for that it is the same.
        assert (selected.low, selected.high) == pytest.approx((half.low, half.high), abs=0.01)
        twice = np.where(where, 2, 1)
        weighted = leave_one_out_agreement(labels, people="sampled", weights=twice)
        assert weighted.value == pytest.approx(
            leave_one_out_agreement(np.repeat(labels, twice, axis=0)).value
        )
        assert leave_one_out_agreement(labels, people="sampled", clusters=np.arange(60) // 3).n_clusters == 20

    def test_all_right_is_worth_as_much_as_the_people_there_are(self):
        found = leave_one_out_agreement(np.ones((100, 6)), people="sampled")
        assert (found.value, found.high) == (1, 1)
        assert found.low == pytest.approx(0.6097, abs=1e-3)  # Wilson's of 6 out of 6
        same = leave_one_out_difference(np.ones((100, 6)), np.ones(100), people="sampled")
        assert same.low < 0 < same.high

    def test_from_a_handful_of_people_nothing_is_said_of_others(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(1, 3, (50, 4)).astype(float)
        for call in (
            lambda: leave_one_out_agreement(labels, people="sampled"),
            lambda: best_reachable_agreement(labels, people="sampled"),
            lambda: leave_one_out_difference(labels, labels[:, 0], people="sampled"),
        ):
            with pytest.warns(
                StatisticsWarning, match="too few annotators to speak of others: 4, and 5 are needed"
            ):
                found = call()
            assert found.defined
            assert math.isnan(found.low)
            assert "too few annotators" in found.reason
        # Ten people, of whom two gave nearly all labels, are no ten.
        uneven = np.full((50, 10), NAN)
        uneven[:, :2] = labels[:, :2]
        uneven[np.arange(8), np.arange(2, 10)] = 1
        with pytest.warns(StatisticsWarning, match=r"10, whose workloads are worth 2\.\d"):
            assert math.isnan(leave_one_out_agreement(uneven, people="sampled").low)

    def test_edges(self):
        with pytest.warns(StatisticsWarning, match="no item has two labels"):
            assert not leave_one_out_agreement([[1, NAN]], people="sampled").defined
        with pytest.warns(StatisticsWarning, match="no item has 4 labels"):
            assert not leave_one_out_agreement([[1, 2, 2]], n_labels=4).defined
        assert crossed_mean_estimate([1, 0], [0, 1], [0, 1], n_resamples=0).method == "none"
        for bad, name in (
            (lambda: leave_one_out_agreement([[1, 2]], people="random"), "people"),
            (lambda: leave_one_out_agreement([[1, 2]], n_labels=1), "n_labels"),
            (lambda: leave_one_out_agreement([[1, 2]], n_labels=2, tie_break="random"), "n_labels"),
            (lambda: leave_one_out_difference([[1, 2]], "peers"), "first"),
            (lambda: leave_one_out_difference([[1, 2]], [1, 2], [1]), "labels"),
            (lambda: crossed_mean_estimate([1], [5], [0], n_items=3), "item"),
            (lambda: crossed_mean_estimate([1, 0], [0, 1], ["a", None]), "annotator"),
        ):
            with pytest.raises(InvalidInputError, match=name):
                bad()
        rng = np.random.default_rng(0)
        item, person = np.repeat(np.arange(30), 6), np.tile(np.arange(6), 30)
        score = rng.random(180).round()
        by_number = crossed_mean_estimate(score, item, person)
        assert crossed_mean_estimate(score, item, np.array(list("abcdef"))[person]) == by_number


def test_agreement_at_k_labels_does_not_depend_on_the_overlap():
    # People right in 80%, two values: 68% at two labels (0.8^2 + 0.2^2), whatever the overlap; more with more labels.
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((4_000, 10)) < 0.8, 1.0, 2.0)
    labels[:2_000, 4:] = NAN
    few, many = (
        leave_one_out_agreement(half, n_resamples=0).value for half in (labels[:2_000], labels[2_000:])
    )
    assert many - few > 0.03
    for n_labels, expected in ((2, 0.68), (4, 0.739)):
        found = [
            leave_one_out_agreement(half, n_labels=n_labels) for half in (labels[:2_000], labels[2_000:])
        ]
        assert [one.value for one in found] == pytest.approx([expected, expected], abs=0.015)
        assert all(one.low < expected < one.high for one in found)
    assert leave_one_out_agreement(labels, n_labels=10).n == 2_000


def test_on_published_people(shared_data):
    """AlpacaEval's 16 people: as a sample of people they say a half less."""
    path = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    pairs = [(row["instruction"], row["output_1"], row["output_2"]) for row in rows]
    number = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
    kept = {}
    for row, pair in zip(rows, pairs, strict=True):
        kept.setdefault((number[pair], row["annotator_index"]), row["preference"])
    labels = (*np.array(list(kept)).T, np.array(list(kept.values())))
    fixed, sampled = (leave_one_out_agreement(labels, people=people) for people in ("fixed", "sampled"))
    assert fixed.value == pytest.approx(sampled.value)
    assert sampled.high - sampled.low > 1.2 * (fixed.high - fixed.low)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["5 of 5", "crowd, 3 of 60"])
def test_coverage(name):
    from bench.simulations_people import SETTINGS, covers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        for figure, found in covers(SETTINGS[name], 100).items():
            assert found.sampled > 0.88, (figure, found)
