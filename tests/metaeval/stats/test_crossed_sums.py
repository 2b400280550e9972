"""What a label does to distances, matches and correlations: by slow restatements, by hand, and where there is nothing.

The coverage of the intervals is simulated in bench/simulations_kinds.py.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from metaeval.figures import FIGURES
from metaeval.inputs import Options
from metaeval.stats import StatisticsWarning, correlation, crossed_mean_estimate
from metaeval.stats.crossed import Crossing
from metaeval.stats.crossed_sums import (
    CrossedSums,
    crossed_correlation,
    influence,
    mean_effects,
    others_of,
    pair_effects,
    replaced_effects,
    sums_difference,
    sums_estimate,
)
from tests.metaeval.kinds import inputs, judge
from tests.metaeval.kinds import plain_items as items_of
from tests.metaeval.reports.kind_values import CRITERIA, TREE, answered, aspects, ranked, rated

N, PEOPLE = 8, 7
WORDS = {0: None, 1: True, 2: False}


def given(kind, rng, n):
    """Values of a kind, and what the items have."""
    if kind == "rubric":
        return [rated(*row) for row in rng.integers(1, 6, (n, 2)).tolist()]
    if kind == "checklist":
        return [answered(*(WORDS[one] for one in row)) for row in rng.integers(0, 3, (n, 3)).tolist()]
    return [ranked(*(rng.permutation(4) + 1).tolist()) for _ in range(n)]


PARTS = {"rubric": {}, "checklist": {"aspects": TREE}, "importance": {"aspects": aspects(4)}}
PARTS["answer_ranking"] = {"n_responses": 4}


def sample_of(kind, labels, verdicts):
    found = inputs(
        kind,
        items_of(N, **PARTS[kind]),
        labels,
        [judge("j", dict(enumerate(verdicts)))],
        *((CRITERIA,) if kind == "rubric" else ()),
    )
    return FIGURES[kind].sample(found, Options(n_resamples=0))


@pytest.mark.parametrize(
    ("kind", "primary"),
    [
        ("rubric", "closeness"),
        ("rubric", "within_one"),
        ("checklist", "agreement"),
        ("importance", "spearman"),
        ("answer_ranking", "pearson"),
    ],
)
def test_effects_are_those_of_putting_another_label_in_its_place(kind, primary):
    """Each label replaced by each other of its item, and the whole figure computed anew."""
    rng = np.random.default_rng(3)
    rows = [(item, person) for item in range(N) for person in rng.choice(PEOPLE, 1 + item % 4, replace=False)]
    rows = [(item, int(person)) for item, person in rows]
    values, verdicts = given(kind, rng, len(rows)), given(kind, rng, N)

    def sums(changed):
        labels = [(item, person, one) for (item, person), one in zip(rows, changed, strict=True)]
        sample = sample_of(kind, labels, verdicts)
        return sample, sample.judges[0].alike(primary)

    sample, found = sums(values)
    theta = found.sums.top.sum() / found.sums.bottom.sum()
    # Labels are numbered by item and then as they came, as the rows are.
    assert sample.labels.item.tolist() == [item for item, _ in rows]
    worth = max(2.0, found.crossing.worth - 1)
    effects = found.sums.effects_at(theta)
    for place, (item, _) in enumerate(rows):
        others = [k for k, (other, _) in enumerate(rows) if other == item and k != place]

        def score(changed, item=item):
            one = sums(changed)[1].sums
            return one.top[item] - theta * one.bottom[item]

        now = score(values)
        if others:
            after = [score([*values[:place], values[k], *values[place + 1 :]]) for k in others]
            assert effects[place] * (1 + 1 / worth) == pytest.approx(now - np.mean(after), abs=1e-9)
        elif primary != "agreement" or now:
            assert effects[place] == pytest.approx(
                now + theta * found.sums.bottom[item] * (kind != "checklist")
            )


@pytest.mark.parametrize("kind", ["rubric", "importance"])
def test_effects_on_the_upper_bound_are_those_of_putting_another_label_in_its_place(kind):
    rng = np.random.default_rng(4)
    rows = [(item, person) for item in range(N) for person in range(1 + item % 4)]
    values, verdicts = given(kind, rng, len(rows)), given(kind, rng, N)

    def best(changed):
        labels = [(item, person, one) for (item, person), one in zip(rows, changed, strict=True)]
        return sample_of(kind, labels, verdicts).best

    found, worth = best(values), max(2.0, Crossing.of(*np.transpose(rows)).worth - 1)
    # Of one label any judge that says the same is the best.
    assert found.bottom.tolist() == [float(item % 4 > 0) for item in range(N)]
    for place, (item, _) in enumerate(rows):
        others = [k for k, (other, _) in enumerate(rows) if other == item and k != place]
        after = [best([*values[:place], values[k], *values[place + 1 :]]).top[item] for k in others]
        expected = found.top[item] - np.mean(after) if others else 0.0
        assert found.top_effects[place] * (1 + 1 / worth) == pytest.approx(expected, abs=1e-9)


def test_labels_that_are_alone_change_nothing_of_a_difference_from_people():
    """An item with one label has no two people to compare, so what is said there moves no interval."""
    rng = np.random.default_rng(5)
    rows = [
        (item, person) for item in range(N) for person in (range(PEOPLE) if item % 2 else (item % PEOPLE,))
    ]
    verdicts, values = given("rubric", rng, N), given("rubric", rng, len(rows))
    labels = [(*row, value) for row, value in zip(rows, values, strict=True)]
    gaps = []
    for change in ("as it is", "other"):
        rated_so = [
            (item, person, value if item % 2 or change == "as it is" else rated(1, 5))
            for item, person, value in labels
        ]
        judged = sample_of("rubric", rated_so, verdicts).judges[0]
        for part in (judged.beside_people(), judged.beside_best()):
            gaps.append(sums_difference(part.sums, part.minus, part.crossing, n_resamples=50))
    assert gaps[:2] == gaps[2:]


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_effects_on_a_correlation_are_its_changes(method):
    """Of the sum of ranks' (or ratings') changes: with many items a label moves the correlation as it is said to."""
    rng = np.random.default_rng(4)
    n, m = 400, 3
    item = np.repeat(np.arange(n), m)
    crossing = Crossing.of(item, (np.arange(n * m) + item) % 7)
    values = rng.normal(size=(n, 1)).repeat(m, axis=1).ravel() + rng.normal(size=n * m)
    target, weights = np.bincount(item, values) / m, rng.uniform(0.5, 2, n)
    said = target + rng.normal(size=n)
    seen = {}

    def after(one, two):
        moved = target[item[one]] + (values[two] - values[one]) / m
        for label, other, value in zip(one.tolist(), two.tolist(), moved.tolist(), strict=True):
            seen[label, other] = value
        return moved

    now = correlation(said, target, method=method, weights=weights, n_resamples=0).value
    found = crossed_correlation(said, target, after, crossing, method=method, weights=weights, n_resamples=50)
    assert found.value == pytest.approx(now)
    scale = weights * n / weights.sum()
    score = influence(said, target, scale, now, method)
    pairs = []
    for (label, _), value in itertools.islice(seen.items(), 60):
        i = item[label]
        changed = target.copy()
        changed[i] = value
        slow = correlation(said, changed, method=method, weights=weights, n_resamples=0).value - now
        rows = np.array([i])
        fast = scale[i] * (score(rows, np.array([value])) - score(rows, target[rows]))[0]
        pairs.append((fast, slow))
    fast, slow = np.array(pairs).T
    # To the first order: the change is of a third of the people of an item.
    assert np.corrcoef(fast, slow)[0, 1] > 0.95
    assert np.abs(fast - slow).mean() < 0.4 * np.abs(slow).mean()


def test_by_hand():
    # Two items of three labels; 1, 0, 0: the 1 is 1/3 of the mean, and the others without it have 0.
    crossing = Crossing.of(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1]))
    mean, effects = mean_effects(np.array([1.0, 0, 0, 1, np.nan]), crossing, 3)
    assert mean.tolist() == pytest.approx([1 / 3, 1.0, np.nan], nan_ok=True)
    correct = 1 + 1 / max(2.0, crossing.worth - 1)
    assert (effects[:3] * correct).tolist() == pytest.approx([1 / 3, -1 / 6, -1 / 6])
    # Alone on its item it is compared with those that are alone on others: the whole score.
    assert effects[3:].tolist() == [1.0, 0.0]
    # Pairs 0-1 agree, 0-2 and 1-2 don't: 1/2, 1/2, 0 with the others. The third takes 1/3 from what they are.
    mean, effects = pair_effects(np.array([0.5, 0.5, 0.0, 1.0, 1.0]), crossing, 2)
    assert mean.tolist() == pytest.approx([1 / 3, 1.0])
    # 2/3 of twice the distance from the others.
    assert (effects[:3] * correct).tolist() == pytest.approx([1 / 3, 1 / 3, -2 / 3])


def test_every_label_meets_every_other_of_its_item():
    item = np.array([2, 0, 2, 2, 5, 0])
    met = {(a, b) for one, two in others_of(item) for a, b in zip(one.tolist(), two.tolist(), strict=True)}
    assert met == {(a, b) for a, b in itertools.permutations(range(6), 2) if item[a] == item[b]}


def crowd(rng, n=200, people=8):
    item, person = np.repeat(np.arange(n), people), np.tile(np.arange(people), n)
    score = np.clip(0.6 + 0.1 * rng.normal(size=people)[person] + 0.2 * rng.normal(size=n * people), 0, 1)
    return item, person, score


def test_a_mean_of_labels_is_that_of_the_function_for_labels():
    """Compared with the others of its item or with all labels: the same variance between people, but for its noise."""
    item, person, score = crowd(np.random.default_rng(0))
    crossing = Crossing.of(item, person)
    mean, effects = mean_effects(score, crossing, 200)
    found = sums_estimate(CrossedSums(mean, np.ones(200), effects), crossing)
    other = crossed_mean_estimate(score, item, person, shares=np.full(len(item), 1 / 8))
    assert found.value == pytest.approx(other.value)
    assert (found.low, found.high) == pytest.approx((other.low, other.high), rel=2e-3)


def test_scale_and_order_of_labels_change_nothing():
    rng = np.random.default_rng(1)
    item, person, score = crowd(rng, n=60)
    order = rng.permutation(len(item))
    found = []
    for rows in (np.arange(len(item)), order):
        crossing = Crossing.of(item[rows], person[rows])
        mean, effects = mean_effects(score[rows], crossing, 60)
        sums = CrossedSums(mean, np.ones(60), effects)
        found.append(sums_estimate(sums, crossing))
        wide = sums_estimate(sums.scaled(4.0, -2.0), crossing, bounds=(-2.0, 2.0))
        assert (wide.low, wide.high) == pytest.approx((4 * found[-1].low - 2, 4 * found[-1].high - 2))
        # A figure minus itself is 0, whoever labels.
        gap = sums_difference(sums, replace(sums, top=sums.top), crossing)
        assert gap.value == 0
        assert gap.low < 0 < gap.high
    assert (found[0].low, found[0].high) == pytest.approx((found[1].low, found[1].high))


def test_too_few_people_and_nothing_that_counts():
    item, person, score = crowd(np.random.default_rng(2), n=30, people=4)
    crossing = Crossing.of(item, person)
    mean, effects = mean_effects(score, crossing, 30)
    with pytest.warns(StatisticsWarning, match="too few annotators to speak of others: 4, and 5 are needed"):
        found = sums_estimate(CrossedSums(mean, np.ones(30), effects), crossing)
    assert found.defined
    assert math.isnan(found.low)
    with pytest.warns(StatisticsWarning, match="too few annotators"):
        found = crossed_correlation(
            np.arange(30.0), mean, lambda one, _: mean[item[one]], crossing, n_resamples=20
        )
    assert math.isnan(found.low)
    with pytest.warns(StatisticsWarning, match="nobody rated"):
        nothing = sums_estimate(
            CrossedSums(np.zeros(30), np.zeros(30), np.zeros(len(item))), crossing, reason="nobody rated"
        )
    assert math.isnan(nothing.value)


@pytest.mark.parametrize("clusters", [[0, 0, 1, 1], [0, 1, 2, 3]])
def test_a_correlation_of_few_clusters_has_an_interval_that_may_be_everything(clusters):
    """Of two clusters Fisher's interval is as wide as floats can tell: its ends are -1 and 1."""
    said = np.array([0.1, -0.2, -0.6, 3.4])
    given = np.array([[0, 0, 0, 0, 1, -1], [0, 0, 1, 1, -1, 1], [0, -1, -2, -1, -2, 0], [3, 3, 2, 3, 3, 3]])
    item, person = (part.ravel() for part in np.indices(given.shape))
    target, values = given.mean(axis=1), given.ravel()
    options = {"clusters": clusters, "n_resamples": 100}

    def after(one, two):
        return target[item[one]] + (values[two] - values[one]) / given.shape[1]

    fixed = correlation(said, target, **options)
    found = crossed_correlation(said, target, after, Crossing.of(item, person), **options)
    assert found.value == fixed.value
    assert -1 <= found.low <= fixed.low < found.value < fixed.high <= found.high <= 1
    if len(set(clusters)) == 2:
        assert (found.low, found.high) == (-1, 1)


def test_a_label_that_is_as_all_others_does_nothing():
    crossing = Crossing.of(np.repeat(np.arange(20), 6), np.tile(np.arange(6), 20))
    effects = replaced_effects(np.full(20, 0.7), crossing, lambda one, _: np.full(len(one), 0.7))
    assert effects.tolist() == [0.0] * 120
    found = sums_estimate(CrossedSums(np.full(20, 0.7), np.ones(20), effects), crossing)
    # Nothing varies, so each person is one piece of evidence.
    assert found.low < 0.5
