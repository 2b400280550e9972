"""Ties, sides, wins and lengths: by hand, against loops, and at the edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    expected_win_rate,
    length_bias_rate,
    longer_preference_share,
    preference_share,
    tie_rate,
)

NAN = math.nan


def test_tie_rate_by_hand():
    assert tie_rate([0, 1, 2, NAN]).value == pytest.approx(1 / 3)
    assert tie_rate([[0, 0], [1, NAN]]).value == pytest.approx(2 / 3)


def test_preference_share_by_hand():
    # Answers 1, 1, 2, 0: two of four, plus half a tie.
    answers = [[1, 1], [2, 0], [NAN, NAN]]
    assert preference_share(answers).value == pytest.approx(2.5 / 4)
    assert preference_share(answers, response=2).value == pytest.approx(1.5 / 4)
    assert preference_share(answers, ties="loss").value == pytest.approx(2 / 4)
    assert preference_share(answers, ties="win").value == pytest.approx(3 / 4)
    assert preference_share(answers, ties="omit").value == pytest.approx(2 / 3)
    assert preference_share(answers).n == 2


def test_expected_win_rate_by_hand():
    # Items 1; (2, 1); tie; unparsed: (1 + 1/2 + 1/2) / 3.
    answers = [[1, 1], [2, 1], [0, 0], [NAN, NAN]]
    assert expected_win_rate(answers).value == pytest.approx(2 / 3)
    assert expected_win_rate(answers, ties="win").value == pytest.approx(2.5 / 3)
    assert expected_win_rate(answers, response=2).value == pytest.approx(1 / 3)


def test_an_item_weighs_the_same_however_many_answers_it_has():
    answers = [[1, 1, 1], [2, NAN, NAN]]
    assert expected_win_rate(answers).value == 0.5
    assert preference_share(answers).value == 0.75


def test_length_bias_by_hand():
    # Longer, longer, shorter, tie, unparsed; the sixth pair is equal in length and does not count.
    verdicts = [1, 2, 1, 0, NAN, 1]
    one, two = [9, 5, 5, 9, 9, 5], [5, 9, 9, 5, 5, 5]
    estimate = length_bias_rate(verdicts, one, two)
    assert (estimate.value, estimate.n) == (pytest.approx((2 - 1) / 5), 5)
    assert length_bias_rate(verdicts, one, two, unparsed="omit").value == pytest.approx((2 - 1) / 4)
    # Of the four answers, two prefer the longer.
    assert longer_preference_share(verdicts, one, two).value == pytest.approx(2 / 4)
    assert longer_preference_share(verdicts, one, two, ties="omit").value == pytest.approx(2 / 3)


def test_the_difference_must_exceed_the_minimum():
    assert length_bias_rate([1, 2], [40, 41], [10, 10], 30).n == 1
    assert longer_preference_share([1, 2], [40, 41], [10, 10], min_difference=30).value == 0


def test_always_the_longer_and_always_the_shorter_are_the_ends():
    one, two = np.arange(50) + 1, np.zeros(50)
    longest, shortest = length_bias_rate(np.ones(50), one, two), length_bias_rate(np.full(50, 2), one, two)
    assert (longest.value, longest.high, longest.method) == (1, 1, "wilson")
    assert (shortest.value, shortest.low) == (-1, -1)
    assert longest.low == pytest.approx(-shortest.high)


rows = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, 2.0, NAN]), st.integers(0, 3), st.integers(0, 3)),
    min_size=1,
    max_size=20,
)


@given(rows)
def test_length_bias_against_a_loop(rows):
    verdicts, one, two = zip(*rows, strict=True)
    counted = [(v, a, b) for v, a, b in rows if a != b]
    if not counted or np.isnan(verdicts).all():
        with pytest.warns(StatisticsWarning, match="differ in length"):
            assert not length_bias_rate(verdicts, one, two).defined
        return
    longer = sum(v == (1 if a > b else 2) for v, a, b in counted)
    shorter = sum(v == (2 if a > b else 1) for v, a, b in counted)
    found = length_bias_rate(verdicts, one, two, n_resamples=0)
    assert found.value == pytest.approx((longer - shorter) / len(counted))


@given(rows)
def test_swapping_the_responses(rows):
    verdicts, one, two = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    swapped = np.where((verdicts == 1) | (verdicts == 2), 3 - verdicts, verdicts)
    if (one != two).any() and not np.isnan(verdicts).all():
        assert length_bias_rate(swapped, two, one, n_resamples=0).value == pytest.approx(
            length_bias_rate(verdicts, one, two, n_resamples=0).value
        )
    if not np.isnan(verdicts).all():
        assert preference_share(swapped, response=2, n_resamples=0) == preference_share(
            verdicts, n_resamples=0
        )
        both = (
            preference_share(verdicts, n_resamples=0).value
            + preference_share(verdicts, response=2, n_resamples=0).value
        )
        assert both == pytest.approx(1)


@pytest.mark.parametrize("statistic", [tie_rate, preference_share, expected_win_rate])
@pytest.mark.parametrize("answers", [[], [NAN, NAN], np.zeros((3, 0))])
def test_nothing_answered_is_undefined(statistic, answers):
    with pytest.warns(StatisticsWarning, match="no label or parsed verdict"):
        assert math.isnan(statistic(answers).value)


def test_bad_input():
    with pytest.raises(InvalidInputError, match=r"found 1\.5"):
        tie_rate([1.5])
    with pytest.raises(InvalidInputError, match="ties"):
        preference_share([1], ties="third")
    with pytest.raises(InvalidInputError, match="response"):
        expected_win_rate([1], response=3)
    with pytest.raises(InvalidInputError, match="length_2"):
        length_bias_rate([1], [1], [1, 2])
    with pytest.raises(InvalidInputError, match="min_difference"):
        length_bias_rate([1], [1], [2], -1)
    with pytest.raises(InvalidInputError, match="expected shape"):
        tie_rate(np.zeros((2, 2, 2)))
