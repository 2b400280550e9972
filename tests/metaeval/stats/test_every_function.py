"""What every public function of the statistics promises, checked over one table of small valid calls."""

import dataclasses
import inspect
import math
import warnings
from itertools import product

import numpy as np
import pytest

from metaeval import stats
from metaeval.stats import Estimate, InvalidInputError, StatisticsWarning
from tests.cases import over
from tests.metaeval.stats.every_call import (
    BY_NAME,
    CASES,
    LONG,
    RATINGS,
    RIGHT,
    SYSTEMS,
    WITH_ITEMS,
    WITH_NUMBERS,
    N,
)


def tree(value, change):
    """The same containers with every array changed; lists of arrays of several shapes are lists of items."""
    if isinstance(value, dict):
        return {key: tree(inner, change) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(tree(inner, change) for inner in value)
    return change(value)


def rows(value, order):
    """Some rows of what is aligned with the items."""
    if isinstance(value, list) and len(value) <= 3:  # a column each
        return [rows(inner, order) for inner in value]
    return (
        [value[place] for place in order]
        if isinstance(value, list)
        else np.asarray(value)[np.asarray(order, dtype=int)]
    )


def numbers(value, change):
    """Every number changed, whether the items are rows of one array or arrays of their own."""
    if isinstance(value, list):
        return [change(np.asarray(inner, dtype=float)) for inner in value]
    return change(np.asarray(value, dtype=float))


def n_rows(each):
    sizes = []
    tree(
        each.items,
        lambda value: sizes.append(
            len(value[0]) if isinstance(value, list) and len(value) <= 3 else len(value)
        ),
    )
    return sizes[0]


def parts(result, path="result"):
    """Everything inside a result, containers and dataclasses first."""
    yield path, result
    if dataclasses.is_dataclass(result):
        inner = [(f".{each.name}", getattr(result, each.name)) for each in dataclasses.fields(result)]
    elif isinstance(result, dict):
        inner = [(f"[{key!r}]", value) for key, value in result.items()]
    elif isinstance(result, list | tuple):
        inner = [(f"[{place}]", value) for place, value in enumerate(result)]
    else:
        inner = []
    for name, value in inner:
        yield from parts(value, path + name)


def estimates(result):
    return [(path, part) for path, part in parts(result) if isinstance(part, Estimate)]


def figures(result):
    """The point values of a result: of estimates the value, else every number."""
    found = []

    def walk(part, path):
        if isinstance(part, Estimate):
            found.append((path, part.value))
            names = [each.name for each in dataclasses.fields(part)]
            done = {"value", "low", "high", "n_clusters", "method", "reason", "n"}
            for name in names:
                if name not in done and isinstance(getattr(part, name), Estimate):
                    walk(getattr(part, name), f"{path}.{name}")
        elif dataclasses.is_dataclass(part):
            for each in dataclasses.fields(part):
                if each.name not in DRAWN:
                    walk(getattr(part, each.name), f"{path}.{each.name}")
        elif isinstance(part, dict):
            for key, value in part.items():
                walk(value, f"{path}[{key!r}]")
        elif isinstance(part, list | tuple):
            for place, value in enumerate(part):
                walk(value, f"{path}[{place}]")
        elif isinstance(part, float | int | np.number | np.ndarray):
            found.append((path, part))

    walk(result, "result")
    return dict(found)


def same(one, other, tolerance=0.0):
    """Equal to the last bit (or to a tolerance), NaN being equal to NaN."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, each.name), getattr(other, each.name), tolerance)
            for each in dataclasses.fields(one)
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return (
            one == other
            or (math.isnan(one) and math.isnan(other))
            or abs(one - other) <= tolerance * (1 + abs(other))
        )
    if isinstance(one, float | np.number) or (isinstance(one, np.ndarray) and one.dtype.kind in "fiub"):
        return np.shape(one) == np.shape(other) and np.allclose(
            one, other, rtol=tolerance, atol=tolerance, equal_nan=True
        )
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and bool((one == other).all())
    if hasattr(one, "equals"):  # a frame
        return bool(one.equals(other))
    return one == other or type(one).__module__.startswith("metaeval.stats.resampling")


def quietly(function, *args, **options):
    """The result, or the error of invalid input. Warnings other than the statistics' own are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        try:
            return function(*args, **options)
        except InvalidInputError as error:
            return error


# An unparsed answer is a wrong one, "cannot tell" is not followed, by default and as papers have it: these count it.
COUNTED_WHEN_MISSING = {
    "best_of_accuracy",
    "best_of_score",
    "bias_and_variance",
    "drfr",
    "follow_rate_by_level",
    "hedging_rate",
    "positional_agreement",
    "positional_bias",
    "rubric_points_contributions",
    "rubric_points_score",
    "section_accuracy",
    "self_consistency",
    "subset_accuracy",
    "tower_score",
    "unparsed_rate",
}
# No interval, and no reason either: none was asked for.
WITHOUT_INTERVAL = {"family_monotonicity"}
# What is drawn by row, beside the values.
DRAWN = ("low", "high", "uncertain")


def n_clustered(each):
    return N if each.long else n_rows(each)


def test_every_public_function_has_a_case():
    functions = {name for name in stats.__all__ if inspect.isfunction(getattr(stats, name))}
    assert functions == set(BY_NAME)


@over(CASES)
def test_the_same_call_gives_the_same(each):
    assert same(each.usual, each.call())


@over(CASES)
def test_values_lie_in_their_intervals(each):
    for path, estimate in estimates(each.usual):
        assert estimate.n >= 0, path
        if not math.isnan(estimate.low):
            assert estimate.low <= estimate.value <= estimate.high, (path, estimate)
        if math.isnan(estimate.value):
            assert estimate.reason, path
        elif math.isnan(estimate.low):
            assert estimate.reason or each.name in WITHOUT_INTERVAL, (path, estimate)


@over([each for each in CASES if each.takes("n_resamples")])
def test_without_resamples_the_value_is_the_same(each):
    usual, without = figures(each.usual), dict(estimates(each.call(n_resamples=0)))
    for path, estimate in without.items():
        assert same(estimate.value, usual[path], 1e-12), path
        assert math.isnan(estimate.low) == math.isnan(estimate.high), path
        if not math.isnan(estimate.low):
            assert estimate.low <= estimate.value <= estimate.high, path


@over(WITH_NUMBERS)
def test_lists_tuples_integers_and_floats_are_the_same(each):
    def items(change):
        return {
            name: tree(value, lambda array: numbers(array, change)) if name in each.numbers else value
            for name, value in each.items.items()
        }

    def plainly(value):
        """Tuples in place of arrays; a list is a list an item."""
        return value.tolist()

    def integers(value):
        whole = not np.isnan(value).any() and (value == np.round(value)).all()
        return value.astype(np.int64) if whole else value

    for change in (
        plainly,
        lambda value: tuple(value.tolist()),
        integers,
        lambda value: value.astype(np.float32),
    ):
        result = each.call(items(change))
        single = getattr(change(np.ones(2)), "dtype", None) == np.float32
        assert same(each.usual, result, 1e-5 if single else 0.0)


@over(WITH_NUMBERS)
def test_all_missing_is_undefined_and_never_zero(each):
    missing = {
        name: tree(value, lambda array: numbers(array, lambda inner: np.full(inner.shape, np.nan)))
        if name in each.numbers
        else value
        for name, value in each.items.items()
    }
    result = quietly(each.call, missing)
    for path, estimate in estimates(result):
        assert math.isnan(estimate.value) or each.name in COUNTED_WHEN_MISSING, (path, estimate)
        assert not math.isnan(estimate.value) or estimate.reason, path


@over(product(WITH_NUMBERS, ["nothing", "first", "one cluster", "constant"]))
def test_degenerate_input_is_told_or_right(each, where):
    items, given = dict(each.items), {}
    if where in ("nothing", "first"):
        if each.long and where == "first":
            return
        order = [0] if where == "first" else []
        items = {name: tree(value, lambda array: rows(array, order)) for name, value in items.items()}
    elif where == "one cluster":
        if not each.takes("clusters"):
            return
        given = {"clusters": np.zeros(n_clustered(each), dtype=int)}
    else:
        items = {
            name: tree(value, lambda array: numbers(array, np.ones_like)) if name in each.numbers else value
            for name, value in items.items()
        }
    result = quietly(each.call, items, **given)
    for path, estimate in estimates(result):
        if math.isnan(estimate.value) or math.isnan(estimate.low):
            assert estimate.reason, (path, estimate)
        else:
            assert estimate.low <= estimate.value <= estimate.high, (path, estimate)
            itself = any(f"('{name}', '{name}')" in path for name in "abc")
            assert estimate.low < estimate.high or itself, (path, estimate)


@over(WITH_NUMBERS)
def test_infinite_values_are_refused(each):
    def infinite(value):
        value = value.copy()
        value.flat[0] = np.inf
        return value

    for name in each.numbers:
        items = {**each.items, name: tree(each.items[name], lambda array: numbers(array, infinite))}
        with pytest.raises(InvalidInputError):
            each.call(items)


@over([each for each in WITH_NUMBERS if sum(not isinstance(v, dict) for v in each.items.values()) > 1])
def test_unequal_lengths_are_refused(each):
    for name in each.items:
        shorter = tree(each.items[name], lambda array: rows(array, range(n_rows(each) - 1)))
        with pytest.raises(InvalidInputError):
            each.call({**each.items, name: shorter})


@over([each for each in CASES if each.takes("where") and not each.long])
def test_nothing_selected_is_undefined(each):
    result = quietly(each.call, where=np.zeros(n_rows(each), dtype=bool))
    for path, estimate in estimates(result):
        assert math.isnan(estimate.value), (path, estimate)
        assert estimate.n == 0, (path, estimate)
        assert estimate.reason, (path, estimate)


@over([each for each in WITH_ITEMS if not each.ordered and not each.itemwise])
def test_the_order_of_the_items_does_not_matter(each):
    order = np.random.default_rng(7).permutation(n_rows(each))
    shuffled = {name: tree(value, lambda array: rows(array, order)) for name, value in each.items.items()}
    usual, result = figures(each.usual), figures(each.call(shuffled))
    assert usual.keys() == result.keys()
    for path, value in usual.items():
        if np.ndim(value) and len(np.atleast_1d(value)) == n_rows(each):
            continue  # an answer an item
        assert same(np.asarray(value, dtype=float), np.asarray(result[path], dtype=float), 1e-9), path


@over([each for each in WITH_ITEMS if each.itemwise])
def test_answers_follow_the_items(each):
    order = np.random.default_rng(7).permutation(n_rows(each))
    shuffled = {name: tree(value, lambda array: rows(array, order)) for name, value in each.items.items()}
    assert same(np.asarray(each.usual)[order], np.asarray(each.call(shuffled)), 1e-12)


@over(CASES)
def test_an_unknown_keyword_is_refused(each):
    with pytest.raises(TypeError):
        each.call(no_such_option=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: stats.mean_estimate(RATINGS[:, 0]),
        lambda: stats.ratio_estimate(RATINGS[:, 0], np.ones(N)),
        lambda: stats.macro_mean(RATINGS[:, 0], SYSTEMS),
        lambda: stats.crossed_mean_estimate(LONG[2], LONG[0], LONG[1]),
        lambda: stats.mean_estimate(RIGHT[:, 0], bounds=(1.0, 0.0)),
        lambda: stats.wilson_interval(1.2, 10),
        lambda: stats.wilson_interval(math.nan, 10),
        lambda: stats.wilson_interval(0.5, 0),
        lambda: stats.wilson_interval(0.5, 10, confidence=95),
    ],
)
def test_what_lies_outside_of_its_range_has_no_interval_inside(call):
    """Ratings from 1 to 5 had a mean of 3 and an interval from 0.94 to 1."""
    with pytest.raises(InvalidInputError):
        call()
