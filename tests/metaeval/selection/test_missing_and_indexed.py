"""Choosing reads indexed columns by their labels, and takes nothing missing for a group."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaeval.selection import Candidate, Constraints, JudgedDataset, choose, compare
from metaeval.stats import InvalidInputError, Resamples

N = 60
QUICK = {"n_resamples": 50, "n_repeats": 1}
JUDGES = [Candidate("a", "A"), Candidate("b", "B")]


def dataset():
    rng = np.random.default_rng(0)
    gold = rng.integers(1, 3, N).astype(float)
    verdicts = {
        key: np.where(rng.random((N, 2)) < right, gold[:, None], 3 - gold[:, None])
        for key, right in (("a", 0.9), ("b", 0.6))
    }
    return JudgedDataset(
        "Traps",
        "gold",
        verdicts,
        {},
        np.arange(N) // 2,
        np.resize(["x", "y"], N),
        gold=gold,
        weights=np.ones(N),
    )


def test_rows_in_another_order_are_the_same_choice():
    plain = dataset()
    index, rng = [f"i{k}" for k in range(N)], np.random.default_rng(1)

    def shuffled(values):
        make = pd.Series if np.ndim(values) == 1 else pd.DataFrame
        return make(values, index=index).iloc[rng.permutation(N)]

    indexed = replace(
        plain,
        verdicts={"a": pd.DataFrame(plain.verdicts["a"], index=index), "b": shuffled(plain.verdicts["b"])},
        clusters=shuffled(plain.clusters),
        categories=shuffled(plain.categories),
        gold=shuffled(plain.gold),
        weights=shuffled(plain.weights),
    )
    expected, found = (choose([each], JUDGES, **QUICK) for each in (plain, indexed))
    assert found.standings[0].objective == expected.standings[0].objective
    assert (found.winner, found.held_out) == (expected.winner, expected.held_out)
    with pytest.raises(InvalidInputError, match=r"dataset 'Traps': gold.*cannot be aligned"):
        choose([replace(indexed, gold=pd.Series(plain.gold))], JUDGES, **QUICK)


@pytest.mark.parametrize("name", ["clusters", "categories"])
@pytest.mark.parametrize("value", [None, np.nan, pd.NaT, 7])
def test_a_missing_or_mixed_id_is_refused(name, value):
    ids = np.array([f"g{k}" for k in range(N)], dtype=object)
    ids[3] = value
    with pytest.raises(InvalidInputError, match=f"dataset 'Traps': {name}"):
        choose([replace(dataset(), **{name: ids})], JUDGES, **QUICK)


def test_masked_gold_is_no_gold():
    plain = dataset()
    hidden = np.arange(N) % 3 == 0
    expected = choose([replace(plain, gold=np.where(hidden, np.nan, plain.gold))], JUDGES, **QUICK)
    found = choose([replace(plain, gold=np.ma.array(plain.gold, mask=hidden))], JUDGES, **QUICK)
    assert found.standings[0].objective == expected.standings[0].objective


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"confidence": "high"}, "confidence"),
        ({"n_folds": 2.5}, "n_folds"),
        ({"n_repeats": None}, "n_repeats"),
        ({"constraints": Constraints(min_accuracy="much")}, "min_accuracy"),
    ],
)
def test_options_are_refused_by_name(changed, name):
    with pytest.raises(InvalidInputError, match=name):
        choose([dataset()], JUDGES, **{**QUICK, **changed})


def test_a_comparison_reads_frames_and_refuses_what_is_no_share():
    right = np.resize([1.0, 1, 1, 0], N)
    table = pd.DataFrame({"a": right, "b": 1 - right})
    plain = compare({"a": right, "b": 1 - right}, resamples=Resamples(N, 50))
    assert compare(table, resamples=Resamples(N, 50)) == plain
    with pytest.raises(InvalidInputError, match=r"scores.*'a'"):
        compare({"a": 5 * right, "b": right}, resamples=Resamples(N, 50))
    with pytest.raises(InvalidInputError, match="scores"):
        compare(np.ones((5, 2)), resamples=Resamples(5, 50))
    assert compare(table, resamples=Resamples(N, 50), weights=np.zeros(N)).leader is None
