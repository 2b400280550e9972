"""What is no array, no mapping or no id is refused with the name of the argument, by every public function.

No argument brings an error of numpy's own, nor a warning other than the statistics'.
"""

import datetime
import warnings

import numpy as np
import pytest

from metaeval import stats
from metaeval.stats import InvalidInputError, StatisticsWarning
from tests.cases import over
from tests.metaeval.stats.every_call import CASES, N

# Arguments that hold something for each item, or for each of something.
HELD = ("ArrayLike", "Any", "Sequence", "Mapping", "_SupportsArray")
WRONG = [
    5,
    "text",
    object(),
    {"a": None},
    {1, 2},
    [],
    [[1, 2], [1]],
    [object()] * N,
    [{}] * N,
    [1, "a"] * (N // 2),
    [np.ma.masked] * N,
    [datetime.date(2020, 1, 1)] * N,
    [10**400] * N,
    [1e300] * N,
    np.array(3.0),
    np.ones((5, 2)),
    np.zeros((N, 2, 2)),
    np.zeros(N, dtype=complex),
    np.zeros(N, "M8[s]"),
    np.zeros(N, dtype=[("a", int)]),
]


@pytest.mark.slow
@over(CASES)
def test_no_argument_brings_a_raw_error(each):
    names = [
        name
        for name, parameter in each.parameters.items()
        if name != "options"
        and (name in each.items or any(word in str(parameter.annotation) for word in HELD))
    ]
    if "options" in each.parameters:
        names += ["clusters", "where", "resamples"]
    for name in names:
        for wrong in WRONG:
            items = {**each.items, name: wrong} if name in each.items else each.items
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StatisticsWarning)
                try:
                    each.call(items, **({} if name in each.items else {name: wrong}))
                except InvalidInputError:
                    continue


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: stats.compare_all(np.ones((5, 2))), "scores"),
        (lambda: stats.compare_all({"a": [1, 0], "b": [1]}), "scores"),
        (lambda: stats.outside_correlation([1, 2], {"a": 1}), "ours"),
        (lambda: stats.outside_correlation({1: 1.0}, {"a": 1}), "ours"),
        (lambda: stats.leave_one_out_agreement(([1, "1"], [0, 1], [1, 2])), "labels"),
        (lambda: stats.family_features([7], ["gpt"], "gpt"), "families_1"),
        (lambda: stats.list_preference([1], [None], ["a"]), "texts_1"),
        (lambda: stats.has_list(None), "text"),
        (lambda: stats.style_counts("a text"), "texts"),
        (lambda: stats.person_correlation(([0.5, 1], [0, 1], [1, 2]), n_items=2), "labels"),
        (lambda: stats.ratio_estimate([1, np.nan], [1, 1]), "numerator"),
        (lambda: stats.bradley_terry(["a", "b"], ["b", "a"], [1, 2], anchor=np.ones(2)), "anchor"),
    ],
)
def test_the_error_names_the_argument(call, name):
    with pytest.raises(InvalidInputError, match=name):
        call()


def test_a_family_that_is_not_known_is_no_other_family():
    """NaN, which is what a table has where there is nothing, was a family other than the judge's."""
    one, two = stats.family_features(["gpt", np.nan, None, ""], ["llama", "gpt", "gpt", "gpt"], "gpt")
    assert np.isnan(one[1:]).all()
    assert two.tolist() == [0.0, 1.0, 1.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 4])
def test_fewer_rows_than_folds_choose_a_penalty_without_a_division_by_zero(n):
    found = stats.length_controlled_win_rate(
        [1, 2, 2, 1][:n], [10, 20, 30, 50][:n], [9, 30, 20, 60][:n], n_resamples=0
    )
    assert found.penalty > 0
