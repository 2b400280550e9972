"""Scales: which numbers make one, what it allows, what is near on it, and that 1 to 5 is stored as nothing."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.scales import (
    MAX_POINTS,
    NAMED_SCALES,
    NOT_APPLICABLE,
    STANDARD,
    Scale,
    ScaleError,
    are_mixed,
)
from annotation.kinds.shown import ShownCriterion

pytestmark = pytest.mark.quick

SCALES = st.builds(
    lambda low, step, n, na: Scale(low, low + step * (n - 1), step, na),
    st.integers(-20, 20),
    st.integers(1, 7),
    st.integers(2, MAX_POINTS),
    st.booleans(),
)


def test_one_to_five_is_stored_as_nothing():
    assert STANDARD.as_json() == {}
    assert Scale.of_json({}) == STANDARD
    assert Scale.of_json({}, {"5": "Good", "1": "Bad"}).words == ((1, "Bad"), (5, "Good"))


@given(SCALES)
def test_what_is_stored_is_read_as_it_was(scale):
    assert Scale.of_json(scale.as_json()) == scale
    assert len(scale.points) == scale.n_points
    assert all(point in scale for point in scale.points)
    assert scale.low - scale.step not in scale
    assert scale.high + scale.step not in scale
    assert (scale.position(scale.low), scale.position(scale.high)) == (0.0, 1.0)


@given(SCALES, st.fractions(-200, 200))
def test_the_nearest_rating_is_on_the_scale_and_none_is_nearer(scale, mean):
    nearest = scale.nearest(mean)
    assert nearest in scale
    assert abs(nearest - mean) == min(abs(point - mean) for point in scale.points)


def test_halves_go_to_the_even_rating_as_before():
    assert [STANDARD.nearest(Fraction(n, 2)) for n in (3, 5, 7, 9)] == [2, 2, 4, 4]
    assert Scale(0, 100).nearest(Fraction(5, 2)) == 2


@pytest.mark.parametrize(
    ("scale", "near"),
    [
        (Scale(), 1.0),
        (Scale(0, 1), 0.5),
        (Scale(-1, 1, 2), 1.0),
        (Scale(0, 10), 1.0),
        (Scale(0, 100, 10), 10.0),
        (Scale(0, 100), 10.0),
        (Scale(0, 12), 1.2),
    ],
)
def test_what_is_near(scale, near):
    assert scale.near == near


@pytest.mark.parametrize(
    ("numbers", "field"),
    [
        ((5, 1), "high"),
        ((1, 1), "high"),
        ((0, 101), "high"),
        ((0, 10, 3), "step"),
        ((0, 10, 0), "step"),
        ((0, 10, -1), "step"),
        ((-1001, 0), "low"),
        ((1.0, 5), "low"),
        ((True, 5), "low"),
        ((1, "5"), "high"),
    ],
)
def test_numbers_that_make_no_scale(numbers, field):
    with pytest.raises(ScaleError) as caught:
        Scale(*numbers)
    assert caught.value.field == field


def test_words_of_points_that_are_not_there():
    with pytest.raises(ScaleError, match=r"options: expected points from 0 to 1, found 2\."):
        Scale(0, 1, words=((2, "Maybe"),))


def test_what_an_answer_may_be():
    scale = Scale(-2, 2, not_applicable=True)
    assert [scale.allows(one) for one in (-2, 0, 2, NOT_APPLICABLE)] == [True] * 4
    assert not any(scale.allows(one) for one in (-3, 3, 1.0, True, None, "1", "n/a"))
    assert not STANDARD.allows(NOT_APPLICABLE)
    assert scale.expected == '-2 to 2 or "not_applicable"'


def test_how_a_rating_is_shown():
    scale = Scale(-1, 1, words=((1, "Better"),))
    assert [scale.shown(one) for one in (-1, 0, 1, NOT_APPLICABLE, None)] == ["−1", "0", "+1", "n/a", ""]
    assert (scale.word(1), scale.word(0), scale.word(NOT_APPLICABLE)) == ("Better", "", "Not applicable")
    assert scale.options == ((-1, ""), (0, ""), (1, "Better"))
    assert Scale(0, 100, words=((100, "Best"),)).options == ((100, "Best"),)


def test_which_scales_may_be_pooled():
    assert not are_mixed([])
    assert not are_mixed([Scale(0, 100), Scale(0, 100, 10, not_applicable=True)])
    assert are_mixed([STANDARD, NAMED_SCALES["pass_fail"]])


def test_options_stand_one_a_line_only_where_most_have_words():
    """A line without words would be an empty box: few words stand below a row of numbers."""

    def layout(high: int, *points: int) -> str:
        scale = Scale(1, high, words=tuple((point, f"word {point}") for point in points))
        return ShownCriterion("clear", "How clear is it?", scale).layout

    assert layout(2, 1, 2) == layout(3, 1, 2, 3) == layout(5, 1, 2, 3, 4) == "list"
    assert layout(3, 1, 3) == layout(5, 1, 3, 5) == layout(7, 1, 4, 7) == layout(11) == "row"
    assert {layout(high) for high in (12, 60, 99, 100, 101)} == {"number"}, "never as so many options"
