"""Win matrices: by hand, a slow count, invariants, degenerate input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats import InvalidInputError
from metaeval.stats.win_matrix import win_matrix

rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.sampled_from([0.0, 1.0, 2.0, math.nan])), max_size=30
)


def test_by_hand():
    matrix = win_matrix(["x", "y", "x", "z"], ["y", "x", "z", "x"], [1, 1, 0, math.nan])
    assert matrix.names == ("x", "y", "z")
    assert matrix.wins.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert matrix.ties.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert matrix.shares[0, 1] == 0.5
    assert math.isnan(matrix.shares[1, 2])


@given(rows)
def test_row_by_row(data):
    first = np.array([a for a, _, _ in data], dtype=int)
    second = np.array([(a + step) % 4 for a, step, _ in data], dtype=int)
    outcome = np.array([value for _, _, value in data], dtype=float)
    matrix = win_matrix(first, second, outcome)
    wins, ties = np.zeros((4, 4)), np.zeros((4, 4))
    for a, b, value in zip(first, second, outcome, strict=True):
        if value == 1:
            wins[a, b] += 1
        elif value == 2:
            wins[b, a] += 1
        elif value == 0:
            ties[a, b] += 1
            ties[b, a] += 1
    seen = list(matrix.names)
    np.testing.assert_array_equal(matrix.wins, wins[np.ix_(seen, seen)])
    np.testing.assert_array_equal(matrix.ties, ties[np.ix_(seen, seen)])


def test_names_of_any_kind():
    numbers = win_matrix([3, 900_000], [900_000, 3], [1, 1])
    assert numbers.names == (3, 900_000)
    # Are 7 and "7" one system? They were, in silence.
    with pytest.raises(InvalidInputError, match="first and second: expected ids of one type"):
        win_matrix(np.array(["a", 7], dtype=object), np.array([7, "a"], dtype=object), [1, 2])
    assert win_matrix([-1, -2], [-2, -1], [1, 1]).names == (-2, -1)
    assert win_matrix([], np.array([], dtype=int), []).names == ()


def test_weights_and_selection():
    matrix = win_matrix(
        ["a"] * 3, ["b"] * 3, [1, 1, 2], where=np.array([True, True, False]), weights=[2, 0.5, 9]
    )
    assert matrix.wins.tolist() == [[0, 2.5], [0, 0]]


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        (["a"], ["a"], [1]),
        (["a"], ["b"], [4]),
        (["a", None], ["b", "c"], [1, 1]),
        ([1.5], [2.5], [1]),
        (["a"], ["b", "c"], [1]),
    ],
)
def test_bad_input(first, second, outcome):
    with pytest.raises(InvalidInputError):
        win_matrix(first, second, outcome)
