"""What to label next: chances that add up, draws that keep them, plans that are worth what they say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.active import active_probabilities, draw_items, items_to_label_next, judge_uncertainty
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.prediction_powered import ppi_mean

NAN = math.nan


def judged(n=1000, seed=0, spread=0.5):
    """A judge that gives right probabilities of a win, and who won."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(spread, spread, n)
    return chance, (rng.random(n) < chance).astype(float)


def test_uncertainty_by_hand():
    assert judge_uncertainty([[1, 1], [2, 1], [0, 0], [0, 2], [1, NAN], [NAN, NAN]]).tolist() == [
        0,
        1,
        0,
        0.5,
        1,
        1,
    ]
    # Three judges, wins 1, 1, 0: mean 2/3, deviation sqrt(2)/3.
    assert judge_uncertainty([[1, 1, 2]]).tolist() == pytest.approx([2 * math.sqrt(2) / 3])
    assert judge_uncertainty([[1, 5], [3, 3]], scale=(1, 5)).tolist() == [1, 0]
    assert judge_uncertainty(probability=[0, 0.5, 0.8, NAN]).tolist() == pytest.approx([0, 1, 0.8, 1])


def test_probabilities_by_hand():
    # Mean doubt 1, even chance 1/2: 0.5 * 0.5 * doubt + 0.5 * 0.5.
    assert active_probabilities([0, 1, 1, 2], budget=2).tolist() == pytest.approx([0.25, 0.5, 0.5, 0.75])
    assert active_probabilities([0, 1, 1, 2], budget=2, tau=1).tolist() == pytest.approx([0.5] * 4)
    # tau 0, floor 0.2: the sure item keeps 0.2 of 1/2, the rest is shared as 1 : 1 : 2.
    assert active_probabilities([0, 1, 1, 2], budget=2, tau=0, floor=0.2).tolist() == pytest.approx(
        [0.1, 0.475, 0.475, 0.95]
    )
    # One item would have 1.5: it has 1, and what is left goes to the others.
    assert active_probabilities([1, 1, 1, 9], budget=2, tau=0).tolist() == pytest.approx(
        [1 / 3, 1 / 3, 1 / 3, 1]
    )
    assert active_probabilities([0, 0], budget=1).tolist() == [0.5, 0.5]


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=30),
    st.floats(0.01, 1),
    st.floats(0, 1),
    st.floats(0.01, 1),
)
def test_chances_add_up_and_keep_the_order(doubt, part, tau, floor):
    budget = part * len(doubt)
    found = active_probabilities(doubt, budget=budget, tau=tau, floor=floor)
    assert found.sum() == pytest.approx(budget, rel=1e-6)
    assert (found > 0).all()
    assert (found <= 1).all()
    assert (found >= floor * budget / len(doubt) - 1e-12).all()
    assert (np.diff(found[np.argsort(doubt, kind="stable")]) >= -1e-12).all()


@pytest.mark.parametrize("method", ["fixed", "independent"])
def test_each_item_is_drawn_with_its_own_chance(method):
    chances = active_probabilities([0, 0.2, 0.5, 1, 1, 3, 8, 0.1], budget=3)
    rng = np.random.default_rng(2)
    draws = np.stack([draw_items(chances, rng, method=method) for _ in range(8_000)])
    # Standard errors are below 0.0057.
    assert draws.mean(axis=0) == pytest.approx(chances, abs=0.022)
    sizes = draws.sum(axis=1)
    assert set(sizes) == {3} if method == "fixed" else sizes.std() > 0.5


def test_a_budget_that_is_no_whole_number():
    sizes = {int(draw_items([0.3, 0.4, 0.5, 0.3], seed).sum()) for seed in range(50)}
    assert sizes == {1, 2}
    assert draw_items([1.0, 0.0], 1).tolist() == [True, False]
    assert draw_items([0.5] * 10).tolist() == draw_items([0.5] * 10).tolist()


@pytest.mark.slow
def test_two_rounds_are_unbiased():
    # By weights of both rounds the labelled items stand for all: their weighted number and sum come out right.
    chance, truth = judged(200)
    doubt = judge_uncertainty(probability=chance)
    rng = np.random.default_rng(4)
    first = active_probabilities(doubt, budget=20, tau=0.8)
    numbers, sums = [], []
    for _ in range(300):
        drawn = draw_items(first, rng)
        plan = items_to_label_next(
            chance, doubt, budget=20, labels=np.where(drawn, truth, NAN), weights=1 / first, tau=0.5, rng=rng
        )
        assert not drawn[plan.items].any()
        assert len(plan.items) == 20
        drawn[plan.items] = True
        numbers.append(np.sum(drawn / plan.probabilities))
        sums.append(np.sum((drawn * truth) / plan.probabilities))
    assert np.mean(numbers) == pytest.approx(200, abs=4 * np.std(numbers) / math.sqrt(300))
    assert np.mean(sums) == pytest.approx(truth.sum(), abs=4 * np.std(sums) / math.sqrt(300))


def test_the_expected_width_is_what_comes_out():
    chance, truth = judged(1000)
    doubt = judge_uncertainty(probability=chance)
    blind = items_to_label_next(chance, doubt, budget=100, rng=1)
    assert math.isnan(blind.width_now)
    labels = np.full(1000, NAN)
    labels[blind.items] = truth[blind.items]
    found = ppi_mean(labels, chance, weights=1 / blind.probabilities)
    assert found.high - found.low == pytest.approx(blind.width_after, rel=0.2)
    assert blind.width_after < blind.width_even
    plan = items_to_label_next(
        chance, doubt, budget=200, labels=labels, weights=1 / blind.probabilities, rng=2
    )
    assert plan.width_now == pytest.approx(found.high - found.low)
    labels[plan.items] = truth[plan.items]
    after = ppi_mean(labels, chance, weights=1 / plan.probabilities)
    assert after.n == 300
    assert after.high - after.low == pytest.approx(plan.width_after, rel=0.2)
    assert plan.width_after < plan.width_now


def test_active_labels_shorten_the_interval():
    active = even = 0.0
    for seed in range(40):
        chance, truth = judged(1000, seed, 0.2)  # sure of most items, and rightly so
        doubt = judge_uncertainty(probability=chance)
        for tau in (0.2, 1.0):
            chances = active_probabilities(doubt, budget=100, tau=tau)
            labels = np.where(draw_items(chances, seed), truth, NAN)
            found = ppi_mean(labels, chance, weights=1 / chances, target="items")
            active, even = (
                active + (found.high - found.low) * (tau < 1),
                even + (found.high - found.low) * (tau == 1),
            )
    assert active < 0.85 * even


def test_doubt_that_says_nothing_is_not_followed():
    chance, truth = judged(2000)
    doubt = np.random.default_rng(5).permutation(judge_uncertainty(probability=chance))
    labels = np.where(np.arange(2000) < 400, truth, NAN)
    useless = items_to_label_next(chance, doubt, budget=100, labels=labels)
    useful = items_to_label_next(chance, judge_uncertainty(probability=chance), budget=100, labels=labels)
    assert useful.tau < 0.5 < useless.tau
    assert items_to_label_next(chance, doubt, budget=100).tau == 0.5


@pytest.mark.slow
def test_coverage_of_active_labels():
    inside = 0
    for seed in range(400):
        chance, truth = judged(1000, [6, seed])
        chances = active_probabilities(judge_uncertainty(probability=chance), budget=50)
        labels = np.where(draw_items(chances, seed), truth, NAN)
        found = ppi_mean(labels, chance, weights=1 / chances, bounds=(0, 1))
        inside += found.low <= 0.5 <= found.high
    assert 0.92 <= inside / 400 <= 0.98


def test_what_cannot_be_meant():
    for name, call in (
        ("answers", lambda: judge_uncertainty()),
        ("answers", lambda: judge_uncertainty([1, 2])),
        ("answers", lambda: judge_uncertainty([[1, 3]])),
        ("answers", lambda: judge_uncertainty([[1, 6]], scale=(1, 5))),
        ("probability", lambda: judge_uncertainty(probability=[1.2])),
        ("uncertainty", lambda: active_probabilities([NAN], budget=1)),
        ("uncertainty", lambda: active_probabilities([-1.0], budget=1)),
        ("budget", lambda: active_probabilities([1.0], budget=2)),
        ("tau", lambda: active_probabilities([1.0], budget=1, tau=2)),
        ("tau", lambda: active_probabilities([1.0], budget=1, tau=0, floor=0)),
        ("probabilities", lambda: draw_items([1.5])),
        ("method", lambda: draw_items([0.5], method="cube")),
        ("budget", lambda: items_to_label_next([1, 2], [1, 1], budget=2, labels=[1, NAN])),
        ("weights", lambda: items_to_label_next([1, 2], [1, 1], budget=1, labels=[1, NAN], weights=[2, NAN])),
        ("uncertainty", lambda: items_to_label_next([1, 2], [1], budget=1)),
        ("tau", lambda: items_to_label_next([1, 2], [1, 1], budget=1, tau=-1)),
    ):
        with pytest.raises(InvalidInputError, match=name):
            call()
