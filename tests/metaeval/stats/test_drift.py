"""Has the judge moved? By hand, by a slow bettor, over many looks, and where nothing can be said."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from metaeval.stats import (
    DriftMonitor,
    InvalidInputError,
    StatisticsWarning,
    attribute_drift,
    repeat_noise,
    verdict_changes,
)

NAN = math.nan
STAKES = [0.005 * (0.9 / 0.005) ** (k / 15) for k in range(16)]


def slow_capital(looks, mean):
    """The capital of all bettors after the last look: one for each stake and each look at which it may begin.

    A bettor that begins at look j holds 1 / (j (j + 1)) of a stake's sixteenth, and multiplies it by
    1 + stake / mean * (x - mean) at each value x from then on.
    """
    total = 0.0
    for stake in STAKES:
        for j in range(1, len(looks) + 1):
            capital = 1.0 / (j * (j + 1))
            for look in looks[j - 1 :]:
                for x in look:
                    capital *= 1 + stake / mean * (x - mean)
            total += capital / len(STAKES)
    return total + 1.0 / (len(looks) + 1)


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=6), min_size=1, max_size=6),
    st.sampled_from([0.05, 0.3, 0.8]),
)
def test_the_e_value_is_what_bettors_make_of_one_unit(looks, mean):
    monitor = DriftMonitor(mean, direction="above")
    found = [monitor.update(look).e_value for look in looks]
    expected = [slow_capital(looks[:n], mean) for n in range(1, len(looks) + 1)]
    assert found == pytest.approx(expected)
    assert monitor.state.highest == pytest.approx(max(1.0, *expected))
    assert monitor.state.p_value == pytest.approx(1 / monitor.state.highest)
    # Both directions: half of the unit on each; below is above, mirrored.
    both = DriftMonitor(mean)
    for look in looks:
        both.update(look)
    mirrored = [[1 - x for x in look] for look in looks]
    assert both.state.e_value == pytest.approx(
        (slow_capital(looks, mean) + slow_capital(mirrored, 1 - mean)) / 2
    )


def test_one_look_by_hand():
    """One anchor of 10% noise that has changed: a stake s makes 1 + s / 0.1 * 0.9 = 1 + 9 s. Half of the unit bets from
    the first look on: (1 + 9 mean(s)) / 2 + 1 / 2; the 16 stakes are a geometric series with the
    ratio 180^(1/15) = 1.4137, whose mean is 0.005 (1.4137^16 - 1) / (16 * 0.4137) = 0.1915."""
    assert sum(STAKES) / 16 == pytest.approx(0.1915, abs=1e-4)
    found = DriftMonitor(0.1, direction="above").update([1.0])
    assert found.e_value == pytest.approx(1 + 4.5 * 0.1915, abs=1e-3)
    assert not found.moved


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.9, 0.99]))
def test_the_bound_of_noise_is_to_the_safe_side_of_the_exact_one(n, part, confidence):
    changed = int(part * n)
    found = repeat_noise(np.repeat([1.0, 0.0], [changed, n - changed]), confidence=confidence)
    assert found.share == pytest.approx(changed / n)
    assert found.share <= found.bound <= 1
    if changed < n:
        # So few changes are less likely than that under any mean beyond the bound (Clopper and Pearson).
        assert binom.cdf(changed, n, found.bound) <= (1 - confidence) * (1 + 1e-6)
    if not changed:
        assert found.bound == pytest.approx(1 - (1 - confidence) ** (1 / n))


def test_a_judge_that_stands_still_is_left_alone_however_often_one_looks():
    """A fifth of the anchors are coin tosses, the others never change; the mean is known, so the test has no slack."""
    rng = np.random.default_rng(0)
    false = 0
    chance = np.repeat([0.5, 0.0], [8, 32])
    for _ in range(24):
        monitor = DriftMonitor(0.1, direction="above")
        draws = rng.random((200, 40)) < chance
        for look in draws:
            if monitor.update(look.astype(float)).moved:
                false += 1
                break
    assert false <= 4  # 1.2 are expected at most; 5 or more have a chance of 1%


def test_a_judge_that_moves_is_found_after_it_did_and_late_moves_nearly_as_soon():
    rng = np.random.default_rng(1)
    for quiet in (0, 200):
        monitor = DriftMonitor.of_anchors(np.zeros((100, 3)))
        for _ in range(quiet):
            assert not monitor.update((rng.random(100) < 0.003).astype(float)).moved
        for _ in range(6):
            found = monitor.update((rng.random(100) < 0.15).astype(float))
        assert found.moved
        assert quiet < found.alarm <= quiet + 6
        assert found.since == pytest.approx(quiet + 1, abs=3)
        assert monitor.update(np.zeros(100)).moved  # it is not taken back


def test_a_tolerated_share_is_no_move():
    rng = np.random.default_rng(2)
    strict, easy = (DriftMonitor.of_anchors(np.zeros((200, 3)), tolerance=part) for part in (0.0, 0.1))
    for _ in range(20):
        look = (rng.random(200) < 0.07).astype(float)
        strict.update(look)
        easy.update(look)
    assert strict.state.moved
    assert not easy.state.moved
    assert easy.reference == (0.0, 0.1)


def test_agreement_that_falls_and_agreement_that_rises():
    then = np.tile([1.0, 1.0, 1.0, 0.0], 100)
    low, high = DriftMonitor.of_values(then).reference
    assert low < 0.75 < high
    fallen, risen = np.tile([1.0, 0.0], 200), np.ones(200)
    for values, moves in ((fallen, {"below", "both"}), (risen, {"above", "both"}), (then, set())):
        found = {
            side
            for side in ("above", "below", "both")
            if DriftMonitor.of_values(then, direction=side).update(values).moved
        }
        assert found == moves
    wide = DriftMonitor.of_values(then, margin=0.3)
    assert not wide.update(fallen).moved


def test_who_moved():
    still, moved = np.zeros(100), np.repeat([1.0, 0.0], [60, 40])

    def anchors(values):
        return DriftMonitor(0.05, direction="above").update(values)

    def figure(values):
        return DriftMonitor(0.05).update(values)

    assert attribute_drift(anchors(still), figure(still)) == "neither"
    assert attribute_drift(anchors(moved), figure(still)) == "judge"
    assert attribute_drift(anchors(still), figure(moved)) == "systems"
    assert attribute_drift(anchors(moved), figure(moved)) == "both"
    # The anchors have to be asked again after the figure moved.
    assert attribute_drift(anchors(still), figure(moved), looks_since=0) == "open"
    assert attribute_drift(anchors(still), figure(moved), guard=3, looks_since=2) == "open"
    assert attribute_drift(DriftMonitor(0.05).state, figure(moved)) == "open"


def test_changes_of_verdicts():
    assert np.array_equal(
        verdict_changes([1, 2, NAN, 3], [1, 1, 1, NAN]), [0.0, 1.0, NAN, NAN], equal_nan=True
    )
    assert verdict_changes([3.0, 3.0], [4.0, 5.0], tolerance=1).tolist() == [0.0, 1.0]


def test_where_nothing_is_known_nothing_is_said():
    with pytest.warns(StatisticsWarning, match="noise is unknown"):
        found = repeat_noise([NAN, NAN])
    assert math.isnan(found.bound)
    assert found.n == 0
    with pytest.warns(StatisticsWarning):
        monitor = DriftMonitor.of_anchors([], tolerance=0.1)
    with pytest.warns(StatisticsWarning, match="not known"):
        state = monitor.update([1.0] * 50)
    assert math.isnan(state.e_value)
    assert math.isnan(state.p_value)
    assert not state.moved
    with pytest.warns(StatisticsWarning):
        assert attribute_drift(state, DriftMonitor(0.5).state) == "open"
    with pytest.warns(StatisticsWarning, match="no value counts"):
        DriftMonitor.of_values([NAN])
    empty = DriftMonitor(0.5).update([NAN])
    assert (empty.n_looks, empty.n, empty.e_value) == (0, 0, 1.0)
    assert math.isnan(empty.mean)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: DriftMonitor(1.5), "reference"),
        (lambda: DriftMonitor((0.4, 0.2)), "reference"),
        (lambda: DriftMonitor("low"), "reference"),
        (lambda: DriftMonitor(0.0, direction="above"), "tolerance"),
        (lambda: DriftMonitor(0.5, direction="up"), "direction"),
        (lambda: DriftMonitor(0.5, confidence=95), "confidence"),
        (lambda: DriftMonitor(0.5).update([2.0]), "values"),
        (lambda: DriftMonitor.of_anchors([0.0], tolerance=2), "tolerance"),
        (lambda: DriftMonitor.of_values([0.5], margin=-1), "margin"),
        (lambda: repeat_noise([3.0]), "changes"),
        (lambda: verdict_changes([1, 2], [1]), "now"),
        (lambda: attribute_drift(1, 2), "judge, systems"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, name):
    with pytest.raises(InvalidInputError, match=name):
        make()
