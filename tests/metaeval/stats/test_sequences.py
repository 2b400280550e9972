"""Confidence sequences: the paper's formulas written out, valid under continuous looking, and what they settle."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from metaeval.stats import ConfidenceSequence, InvalidInputError, mean_estimate
from metaeval.stats.sequences import FIRST, best_rho2, mixture_boundary

NAN = np.nan


def slow_capital(totals, sizes, mean, alpha):
    """The hedged capital of Waudby-Smith and Ramdas against one mean, cluster by cluster; the paper has sizes of 1."""
    more = less = 1.0
    best = 0.0
    s_x = s_v = squares = 0.0
    variance = 1 / 4
    for t, (x, v) in enumerate(zip(totals, sizes, strict=True), start=1):
        stake = math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(t + 1)))
        more *= 1 + min(stake, 0.5 / mean if mean > 0 else math.inf) * (x - mean * v)
        less *= 1 - min(stake, 0.5 / (1 - mean) if mean < 1 else math.inf) * (x - mean * v)
        best = max(best, more / 2, less / 2)
        s_x, s_v = s_x + x, s_v + v
        usual = (1 + s_v) / (t + 1)
        centre = (usual / 2 + s_x) / (usual + s_v)
        squares += (x - centre * v) ** 2
        variance = (usual**2 / 4 + squares) / (t + 1)
    return best


@settings(deadline=None, max_examples=12)
@given(st.data())
def test_a_mean_is_left_out_once_a_bettor_against_it_is_rich(data):
    largest = data.draw(st.sampled_from([1, 3]))
    n_items = data.draw(st.lists(st.integers(1, largest), min_size=1, max_size=25))
    values = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=sum(n_items), max_size=sum(n_items))
    )
    cluster = np.repeat(np.arange(len(n_items)), n_items)
    sequence = ConfidenceSequence(confidence=0.8, largest=largest)
    found = sequence.update(values, clusters=cluster)
    x = np.bincount(cluster, weights=values) / largest
    v = np.bincount(cluster) / largest
    alive = [mean for mean in np.arange(0, 1.001, 0.02) if slow_capital(x, v, mean, 0.2) < 1 / 0.2]
    assert found.value == pytest.approx(np.mean(values))
    assert all(found.low <= mean <= found.high for mean in alive)
    outside = [m for m in np.arange(0, 1.001, 0.02) if not found.low - 1e-9 <= m <= found.high + 1e-9]
    assert not set(outside) & set(alive)


def test_it_is_what_confseq_gives():
    """confseq 0.0.11: `betting_cs` with `lambda_predmix_eb(x, alpha=0.025)`, 2,000 breaks, the running intersection."""
    rng = np.random.default_rng(1)
    found = ConfidenceSequence().update(rng.binomial(1, 0.7, 300).astype(float))
    assert (found.low, found.high) == pytest.approx((0.6035, 0.783))
    found = ConfidenceSequence().update(rng.beta(8, 2, 300))
    assert (found.low, found.high) == pytest.approx((0.7785, 0.82))
    found = ConfidenceSequence().update(np.ones(100))
    assert (found.low, found.high) == pytest.approx((0.93, 1.0))


@pytest.mark.parametrize("method", ["betting", "asymptotic"])
def test_one_at_a_time_is_all_at_once(method):
    values = np.random.default_rng(0).random(400) < 0.8
    one, all_at_once = (ConfidenceSequence(method=method) for _ in range(2))
    for value in values:
        last = one.update([float(value)])
    found = all_at_once.update(values.astype(float))
    assert (last.value, last.n, last.n_clusters) == (pytest.approx(found.value), 400, 400)
    assert (last.low, last.high) == pytest.approx((found.low, found.high))


def test_the_boundary_of_the_asymptotic_sequence():
    """Theorem 2.2: with sigma 1, sqrt(2 (t rho² + 1) / (t² rho²) log(sqrt(t rho² + 1) / alpha)); rho² is best at t."""
    rho2 = best_rho2(0.05, 500)
    assert mixture_boundary(200, rho2, 0.05) == pytest.approx(
        math.sqrt(2 * (200 * rho2 + 1) / (200**2 * rho2) * math.log(math.sqrt(200 * rho2 + 1) / 0.05))
    )
    best = minimize_scalar(lambda rho: mixture_boundary(500, rho, 0.05), bounds=(1e-6, 1), method="bounded")
    assert mixture_boundary(500, rho2, 0.05) == pytest.approx(best.fun, rel=1e-6)
    rng = np.random.default_rng(0)
    size = np.minimum(200, 1 + rng.pareto(1.5, 800)).astype(int)
    cluster = np.repeat(np.arange(800), size)
    values = (rng.random(len(cluster)) < 0.7).astype(float)
    found = ConfidenceSequence(method="asymptotic").update(values, clusters=cluster)
    residual = np.bincount(cluster, weights=values - values.mean())
    spread = math.sqrt((size.max() ** 2 / 4 + (residual**2).sum()) / 801) / size.mean()
    reach = spread * mixture_boundary(800, best_rho2(0.05, 300), 0.05)
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach))


def test_looking_after_every_label_keeps_the_level():
    """An interval of a fixed number of labels fails far too often when it is looked at all the time."""
    rng = np.random.default_rng(4)
    wrong = fixed = 0
    for _ in range(60):
        values = (rng.random(400) < 0.75).astype(float)
        found = ConfidenceSequence().update(values)
        wrong += not found.low <= 0.75 <= found.high
        looks = (mean_estimate(values[:n], n_resamples=1) for n in range(20, 401, 20))
        fixed += any(not one.low <= 0.75 <= one.high for one in looks)
    assert wrong <= 4
    assert fixed > 8


class TestSettled:
    def test_a_better_judge_is_found(self):
        sequence = ConfidenceSequence(bounds=(-1, 1))
        rng = np.random.default_rng(0)
        while not sequence.decide(margin=0.02, reference=0, budget=2_000).settled:
            sequence.update([float(rng.choice([1, 0, -1], p=[0.25, 0.7, 0.05]))])
        found = sequence.decide(margin=0.02, reference=0, budget=2_000)
        assert (found.answer, found.chance) == ("above", 1.0)
        assert sequence.n < 600
        turned = ConfidenceSequence(bounds=(-1, 1))
        turned.update(np.full(100, -0.5))
        assert turned.decide(margin=0.02, reference=0).answer == "below"

    def test_equal_judges_are_equivalent_or_beyond_the_budget(self):
        equal = ConfidenceSequence(bounds=(-1, 1))
        equal.update(np.tile([0.1, -0.1], 400))
        assert equal.decide(margin=0.05, reference=0).answer == "within"
        noisy = ConfidenceSequence(bounds=(-1, 1))
        noisy.update(np.tile([1.0, -1.0], 50))
        assert noisy.decide(margin=0.05, reference=0, budget=300).answer == "not at this budget"
        assert noisy.decide(margin=0.05, reference=0, budget=100).chance == 0
        rich = noisy.decide(margin=0.05, reference=0, budget=100_000)
        assert rich.answer == "open"
        assert rich.chance > 0.9
        assert math.isnan(noisy.decide(margin=0.05, reference=0).chance)

    def test_the_forecast_is_the_width_that_comes(self):
        rng = np.random.default_rng(5)
        for method in ("betting", "asymptotic"):
            sequence = ConfidenceSequence(method=method)
            sequence.update((rng.random(200) < 0.8).astype(float))
            expected = sequence.decide(margin=0.001, budget=2_000).half_width
            found = sequence.update((rng.random(1_800) < 0.8).astype(float))
            assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.3)

    def test_a_mean_known_precisely(self):
        sequence = ConfidenceSequence()
        assert sequence.decide(margin=0.1).answer == "open"
        sequence.update(np.ones(100))
        assert sequence.decide(margin=0.1).answer == "precise"


def test_weights_are_sampling_weights():
    # Hard items are drawn four times as often; the mean is that of the items drawn from.
    rng = np.random.default_rng(7)
    hard = rng.random(3_000) < 0.8
    values = (rng.random(3_000) < np.where(hard, 0.5, 0.9)).astype(float)
    weights = np.where(hard, 1.0, 4.0)
    for method in ("betting", "asymptotic"):
        found = ConfidenceSequence(method=method, largest=4).update(values, weights=weights)
        assert found.value == pytest.approx(np.average(values, weights=weights))
        assert found.low < 0.7 < found.high
        assert found.low > values.mean()


def test_missing_and_nothing():
    sequence = ConfidenceSequence()
    assert sequence.estimate.reason
    assert sequence.update([NAN, NAN]).n == 0
    assert sequence.decide(margin=0.1, reference=0.5, budget=10).answer == "open"
    assert sequence.update([NAN, 1.0]).n == 1
    early = ConfidenceSequence(method="asymptotic").update(np.ones(FIRST - 1))
    assert (early.low, early.high) == (0.0, 1.0)
    # A hundred items of one instruction and fifty of fifty others are worth 2.2 instructions.
    cluster = [0] * 100 + list(range(1, 51))
    uneven = ConfidenceSequence(method="asymptotic").update(np.ones(150), clusters=cluster)
    assert (uneven.low, uneven.high) == (0.0, 1.0)


def test_labels_that_drift_leave_no_mean():
    sequence = ConfidenceSequence()
    sequence.update(np.zeros(200))
    found = sequence.update(np.ones(2_000))
    assert math.isnan(found.low)
    assert "drift" in found.reason
    assert sequence.decide(margin=0.1, reference=0.5, budget=10_000).answer == "open"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"values": [2.0]}, "values"),
        ({"values": [1.0, 1.0], "clusters": [1]}, "clusters"),
        ({"values": [1.0, 1.0, 0.0], "clusters": ["a", "a", "a"]}, "largest"),
        ({"values": [1.0], "clusters": ["seen"]}, "clusters: 'seen'"),
        ({"values": [1.0], "weights": [-1]}, "weights"),
        ({"values": "text"}, "values"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(given, name):
    sequence = ConfidenceSequence(largest=2)
    before = sequence.update([1.0], clusters=["seen"])
    with pytest.raises(InvalidInputError, match=name):
        sequence.update(**given)
    assert sequence.estimate == before


@pytest.mark.parametrize(
    "options",
    [{"bounds": (1, 0)}, {"confidence": 95}, {"method": "wald"}, {"largest": 0}, {"tightest_at": 0}],
)
def test_options_that_cannot_be_meant_are_refused(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        ConfidenceSequence(**options)
