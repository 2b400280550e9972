"""Brier score, calibration error, and calibration out of sample."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import StatisticsWarning, brier_score, calibration_error, mean_estimate, recalibrate
from metaeval.stats.calibration import calibration_estimate
from metaeval.stats.errors import quiet

nan = float("nan")
cases = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=6, max_size=60)


def test_brier_by_hand():
    # 0.8 and right, 0.8 and wrong, 0.3 and wrong: (0.04 + 0.64 + 0.09) / 3.
    assert brier_score([0.8, 0.8, 0.3], [1, 0, 0]).value == pytest.approx(0.77 / 3)


def test_who_says_nothing_is_not_perfect():
    """Who changes sides with the order is sure to one half, and right in one order of two: 0.25, no skill."""
    found = brier_score([0.5] * 12, [0.5] * 12)
    assert (found.value, found.uncertainty, found.skill) == pytest.approx((0.25, 0.25, 0.0))
    # A share counts as its outcomes would one by one: 0.2^2 three times, 0.8^2 once.
    assert brier_score([0.8] * 2, [0.75] * 2).value == pytest.approx((3 * 0.2**2 + 0.8**2) / 4)


@settings(deadline=None)
@given(cases)
def test_parts_add_up_and_the_plain_ones_are_murphys(rows):
    said, seen = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = brier_score(said, seen)
    assert found.value == pytest.approx(float(((said - seen) ** 2).mean()))
    assert found.reliability - found.resolution + found.uncertainty + found.within == pytest.approx(
        found.value
    )
    same = mean_estimate((said - seen) ** 2, n_resamples=20)
    assert (found.low, found.high) == pytest.approx((same.low, same.high))


@settings(deadline=None)
@given(cases)
def test_error_is_that_of_pairs_of_items_in_bins(rows):
    said, seen = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = calibration_error(said, seen, n_bins=4)
    total = plain = 0.0
    for one in found.bins:
        inside = (said >= one.low) & (said <= one.high)
        gaps = (seen - said)[inside]
        n = len(gaps)
        assert n == one.outcome.n
        # The mean over ordered pairs of different items: no item's error meets itself.
        pairs = sum(a * b for i, a in enumerate(gaps) for j, b in enumerate(gaps) if i != j)
        total += n * pairs / (n * (n - 1)) / len(said)
        plain += n * abs(gaps.mean()) / len(said)
    assert found.value == pytest.approx(math.sqrt(max(0.0, total)), abs=1e-6)
    assert found.plain == pytest.approx(plain)
    assert found.low <= found.value <= found.high


@settings(deadline=None)
@given(cases, st.data())
def test_groups_of_items_without_a_diagram_have_the_same_figure(rows, data):
    said, seen = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    clusters = np.arange(len(said)) // 2
    where = np.array(data.draw(st.lists(st.booleans(), min_size=len(said), max_size=len(said))))
    weights = data.draw(st.sampled_from([None, np.linspace(1, 3, len(said))]))
    with quiet():
        found = calibration_error(said, seen, clusters=clusters, where=where, weights=weights)
        alone = calibration_estimate(
            said[where],
            seen[where],
            clusters=clusters[where],
            weights=None if weights is None else weights[where],
        )
    for name in ("value", "low", "high"):
        assert getattr(alone, name) == pytest.approx(getattr(found, name), nan_ok=True)
    assert (alone.n, alone.n_clusters, alone.reason) == (found.n, found.n_clusters, found.reason)


def test_chance_makes_the_plain_error_large_and_not_this_one():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(60):
        truth = rng.uniform(0.5, 1, 100)
        found.append(calibration_error(truth, rng.random(100) < truth))
    assert np.mean([one.plain for one in found]) > 0.08
    assert np.mean([one.value**2 for one in found]) < 0.003
    assert np.mean([one.low == 0 for one in found]) > 0.9


def test_vote_shares_are_bins_of_their_own():
    said = np.resize([1.0, 0.8, 0.6, 1.0, 1.0], 200)
    found = calibration_error(said, np.resize([1.0, 0.0, 1.0, 1.0], 200))
    assert [(one.low, one.high) for one in found.bins] == [(0.6, 0.6), (0.8, 0.8), (1.0, 1.0)]


def test_clusters_are_one_piece_of_evidence():
    said, seen = np.resize([0.6, 0.7, 0.8, 0.9], 80), np.resize([1.0, 0.0, 1.0, 1.0, 1.0], 80)
    twice = np.repeat(np.arange(80), 2)
    once, doubled = calibration_error(said, seen), calibration_error(said[twice], seen[twice], clusters=twice)
    assert (once.value, once.high) == pytest.approx((doubled.value, doubled.high))


def test_temperature_and_isotonic_mend_overconfidence_out_of_sample():
    rng = np.random.default_rng(1)
    odds = rng.normal(0.8, 1, 3_000)
    seen = (rng.random(3_000) < 1 / (1 + np.exp(-odds))).astype(float)
    said = 1 / (1 + np.exp(-3 * odds))
    before = calibration_error(said, seen)
    for method in ("temperature", "isotonic"):
        mended = recalibrate(said, seen, method=method)
        after = calibration_error(mended.probabilities, seen)
        assert after.high < before.low / 2
        assert brier_score(mended.probabilities, seen).value < brier_score(said, seen).value
    assert recalibrate(said, seen).map.temperature == pytest.approx(3, rel=0.1)


def test_no_item_is_calibrated_with_its_own_cluster():
    # Without its own outcome nothing is known of a cluster whose probability nobody else has.
    codes = np.repeat(np.arange(30), 2)
    said = np.linspace(0.5, 0.99, 30)[codes]
    seen = (codes % 2).astype(float)
    usual = recalibrate(said, seen, method="isotonic", clusters=codes, n_folds=30)
    for cluster in (0, 7, 29):
        flipped = np.where(codes == cluster, 1 - seen, seen)
        changed = recalibrate(said, flipped, method="isotonic", clusters=codes, n_folds=30)
        own = codes == cluster
        assert changed.probabilities[own] == pytest.approx(usual.probabilities[own])


def test_isotonic_is_the_best_rising_function():
    # By hand: 0.2 -> 0, then 1, 0 pooled to 1/2, then 1.
    found = recalibrate(
        np.repeat([0.2, 0.4, 0.6, 0.8], 10), np.repeat([0.0, 1.0, 0.0, 1.0], 10), method="isotonic", n_folds=5
    )
    assert found.map([0.2, 0.4, 0.6, 0.8, 0.3]) == pytest.approx([0.0, 0.5, 0.5, 1.0, 0.25])


def test_few_labels_leave_probabilities_as_they_are():
    with pytest.warns(StatisticsWarning, match="left as they are"):
        found = recalibrate([0.6, 0.7, nan], [1, 0, 1])
    assert found.probabilities[:2].tolist() == [0.6, 0.7]
