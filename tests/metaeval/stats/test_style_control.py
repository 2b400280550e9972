"""Style covariates: by hand, the arena's formula, invariants, degenerate input."""

import math

import numpy as np
import pytest

from metaeval.stats import InvalidInputError
from metaeval.stats.bradley_terry import bradley_terry
from metaeval.stats.style_control import STYLE, style_counts, style_covariates

TEXT = """# Title

Some **bold** and __strong__ words, 2 * 3 * 4, a_b_c.

1. one
2) two
- three
  * four

```python
# no header
- no item
x = "**no bold**"
```
"""


def test_counts_by_hand():
    assert STYLE == ("length", "headers", "lists", "bold")
    assert style_counts([TEXT, "", "#hashtag -1 **"]).tolist() == [
        [len(TEXT), 1, 4, 2],
        [0, 0, 0, 0],
        [14, 0, 0, 0],
    ]
    assert style_counts([]).shape == (0, 4)


def test_code_that_is_not_closed():
    assert style_counts(["# a\n```\n# b\n# c"])[0, 1] == 1


def test_as_the_arena_normalises():
    first, second = np.array([[10.0, 2], [20, 0], [30, 1]]), np.array([[30.0, 0], [20, 0], [10, 3]])
    # (a - b) / (a + b), then standardised; the arena adds 1 to the sum, which for long texts is nothing.
    ratio = (first - second) / np.maximum(first + second, 1)
    expected = (ratio - ratio.mean(axis=0)) / ratio.std(axis=0)
    np.testing.assert_allclose(style_covariates(first, second), expected)
    np.testing.assert_allclose(style_covariates(first, second, center=False), ratio / ratio.std(axis=0))


def test_swapping_the_sides_turns_the_sign():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 9, (50, 3)), rng.integers(0, 9, (50, 3))
    np.testing.assert_allclose(style_covariates(first, second), -style_covariates(second, first), atol=1e-12)


def test_missing_and_constant():
    covariates = style_covariates([[1, 5], [2, math.nan], [1, 7]], [[1, 1], [2, 1], [1, 1]])
    assert covariates[:, 0].tolist() == [0, 0, 0]
    assert np.isnan(covariates[:, 1]).tolist() == [False, True, False]


def test_style_is_taken_out_of_the_strengths():
    # b is no better than a but longer, and length wins: with the covariate the two are equal.
    rng = np.random.default_rng(1)
    n = 4_000
    first, second = rng.integers(0, 2, n), None
    second = 1 - first
    lengths = {0: rng.integers(100, 400, n), 1: rng.integers(200, 800, n)}
    one, two = np.where(first == 0, lengths[0], lengths[1]), np.where(first == 0, lengths[1], lengths[0])
    outcome = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * (one - two) / (one + two))), 1, 2)
    plain = bradley_terry(first, second, outcome, scale="log", n_resamples=200)
    length = style_covariates(one, two, center=False)[:, 0]
    controlled = bradley_terry(
        first, second, outcome, covariates={"length": length}, scale="log", n_resamples=200
    )
    assert plain.strengths[1].low > 0.2
    assert controlled.strengths[1].low < 0 < controlled.strengths[1].high
    assert controlled.coefficients["length"].low > 0.3


def test_bad_input():
    for first, second in (([1, 2], [1]), ([-1], [1]), ([[[1]]], [[[1]]])):
        with pytest.raises(InvalidInputError):
            style_covariates(first, second)
