"""Series and frames of polars, which have no index: read in the order that they are in, as arrays are."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest

from metaeval import stats
from metaeval.selection import Candidate, JudgedDataset, choose, compare
from metaeval.stats import InvalidInputError, Resamples
from tests.cases import over
from tests.metaeval.stats.every_call import CASES, GOLD, LABELS, LONG, RIGHT, VERDICTS, WITH_ITEMS, N
from tests.metaeval.stats.test_every_function import n_rows, quietly, same, tree
from tests.metaeval.stats.test_missing_and_indexed import LISTS, call, id_arguments, ids_of


def in_polars(array):
    """A column or a frame; what is missing is null, as polars says it. Lists of several arrays are of columns."""
    if isinstance(array, list) and np.ndim(array[0]):
        return [in_polars(inner) for inner in array]
    array = np.asarray(array)
    if array.ndim == 1:
        column = pl.Series(array.tolist())
        return column.fill_nan(None) if column.dtype.is_float() else column
    frame = pl.DataFrame({f"column_{place}": column.tolist() for place, column in enumerate(array.T)})
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def alike(one, other):
    if isinstance(one, Exception):
        return str(one) == str(other)
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":  # a sum over columns is rounded by their layout
        return np.allclose(one, other, rtol=1e-12, atol=0, equal_nan=True)
    return same(one, other)


@over(WITH_ITEMS)
def test_columns_and_frames_of_polars_are_read_like_arrays(each):
    found = quietly(each.call, {name: tree(value, in_polars) for name, value in each.items.items()})
    if each.name == "length_controlled_win_rates":  # named by the columns
        found = dataclasses.replace(found, names=each.usual.names)
    assert alike(each.usual, found)


@pytest.mark.slow
@over(id_arguments())
def test_ids_in_polars(each, name):
    if name == "item":  # row numbers
        return
    ids = ids_of(each, name)
    usual = quietly(call, each, **{name: ids})
    kinds = [pl.Series(ids)]
    if isinstance(ids[0], str):
        kinds.append(pl.Series(ids, dtype=pl.Categorical))
    if each.name == "macro_mean":  # of the kinds of text there is one reader
        kinds.append(pl.Series(np.array(ids, dtype=str).tolist(), dtype=pl.Enum(sorted(set(map(str, ids))))))
    for change in kinds:
        assert alike(usual, quietly(call, each, **{name: change}))
    missing = pl.Series([*ids[:3], None, *ids[4:]], dtype=pl.Series(ids).dtype)
    with pytest.raises(InvalidInputError, match=name):
        call(each, **{name: missing})


@over([each for each in WITH_ITEMS if len(each.items) > 1 and each.name not in LISTS])
def test_columns_of_another_length_are_refused(each):
    n, last = n_rows(each), [*each.items][-1]
    items = {name: tree(value, in_polars) for name, value in each.items.items()}
    items[last] = tree(items[last], lambda short: short[: n - 1])
    with pytest.raises(InvalidInputError):
        each.call(items)


@over([each for each in CASES if each.takes("where") and not each.long])
def test_a_selection_in_polars(each):
    known = np.arange(n_rows(each)) % 4 > 0
    usual = quietly(each.call, where=known)
    assert alike(usual, quietly(call, each, where=pl.Series(known)))
    with pytest.raises(InvalidInputError, match="where"):
        each.call(where=pl.Series([*known[:3].tolist(), None, *known[4:].tolist()]))


def test_an_argument_of_another_length_is_named():
    for name, given in {
        "gold": {"gold": pl.Series(GOLD[1:])},
        "clusters": {"gold": GOLD, "clusters": pl.Series(np.arange(N - 1))},
        "weights": {"gold": GOLD, "weights": pl.Series(np.ones(N + 1))},
        "where": {"gold": GOLD, "where": pl.Series([True] * (N - 1))},
    }.items():
        with pytest.raises(InvalidInputError, match=name):
            stats.accuracy(VERDICTS, **given)


def test_a_frame_is_columns_by_name():
    table = pl.DataFrame(dict(zip("abc", RIGHT.T.tolist(), strict=True)))
    assert same(stats.compare_all(table), stats.compare_all(dict(zip("abc", RIGHT.T, strict=True))))
    first, second = pl.DataFrame({"a": [1, 2], "b": [5, 3]}), pl.DataFrame({"b": [1, 1], "a": [2, 4]})
    expected = stats.style_covariates(first, second.select("a", "b"))
    assert np.array_equal(stats.style_covariates(first, second), expected)
    with pytest.raises(InvalidInputError, match="second: its columns"):
        stats.style_covariates(first, second.rename({"b": "c"}))


def test_labels_one_by_one():
    columns = tuple(map(pl.Series, LONG))
    assert same(stats.leave_one_out_agreement(columns), stats.leave_one_out_agreement(LONG))


def test_beside_rows_of_pandas_in_two_orders_it_is_refused():
    verdicts, gold = pd.Series(VERDICTS[:, 0]), pd.Series(GOLD).iloc[::-1]
    with pytest.raises(InvalidInputError, match="clusters: has no index"):
        stats.accuracy(verdicts, gold, clusters=pl.Series(np.arange(N) // 2))
    assert stats.accuracy(verdicts, pl.Series(GOLD)) == stats.accuracy(VERDICTS[:, 0], GOLD)


JUDGES = {"good": RIGHT[:, 0], "poor": RIGHT[:, 1]}


def chosen(as_column, as_frame, order=slice(None)):
    """The choice between two judges by people, with every column in the form that is asked for."""
    one = JudgedDataset(
        "Pairs",
        "people",
        {"good": as_frame(VERDICTS), "poor": as_frame(VERDICTS[::-1])[order]},
        judged={},
        labels=as_frame(LABELS)[order],
        clusters=as_column(np.arange(N) // 2),
        categories=as_column(np.full(N, "x")),
        weights=as_column(np.ones(N)),
    )
    return choose([one], [Candidate("good", "Good"), Candidate("poor", "Poor")], n_resamples=20, n_repeats=1)


def test_a_comparison_and_a_choice_from_frames():
    usual = compare(JUDGES, resamples=Resamples(N, 20))
    assert compare(pl.DataFrame(JUDGES), resamples=Resamples(pl.Series(np.arange(N)), 20)) == usual
    frame = pd.DataFrame(JUDGES)
    shuffled = {"good": frame["good"], "poor": frame["poor"].iloc[::-1]}
    assert compare(shuffled, resamples=Resamples(pd.Series(np.arange(N)), 20)) == usual
    with pytest.raises(InvalidInputError, match="good"):
        compare(pl.DataFrame(JUDGES)[:-1], resamples=Resamples(N, 20))
    expected = chosen(np.asarray, np.asarray)
    assert same(expected, chosen(in_polars, in_polars))
    assert same(expected, chosen(pd.Series, pd.DataFrame, slice(None, None, -1)))


@over(["verdicts", "labels", "clusters", "categories", "weights"])
def test_columns_of_a_choice_of_another_length_are_named(name):
    given = {"verdicts": {"good": VERDICTS}, "labels": LABELS, "clusters": np.arange(N)}
    given |= {"categories": np.full(N, ""), "weights": np.ones(N)}
    for form in (in_polars, lambda array: (pd.Series if np.ndim(array) == 1 else pd.DataFrame)(array)):
        columns = {key: tree(value, form) for key, value in given.items()}
        columns[name] = tree(columns[name], lambda frame: frame[: N - 1])
        with pytest.raises(InvalidInputError, match=rf"'Pairs': .*{name}"):
            choose([JudgedDataset("Pairs", "people", judged={}, **columns)], [Candidate("good", "Good")])
