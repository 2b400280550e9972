"""Nested cross-validation against nested loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.selection import Constraints
from metaeval.selection.evidence import requirements_of
from metaeval.selection.held_out import cross_validate, deal_folds
from metaeval.selection.objective import Draws, Objective
from metaeval.selection.table import table_build
from tests.metaeval.selection import oracle
from tests.metaeval.selection.build import dataset, judges

KEYS = ("a", "b", "c")


@st.composite
def samples(draw):
    """One or two datasets of a few instructions, some shared, with ties, unparsed verdicts and missing gold."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_datasets = draw(st.integers(1, 2))
    found = []
    for place in range(n_datasets):
        n = draw(st.integers(4, 16))
        categories = rng.choice(["", "x", "y"], n, p=[0.2, 0.4, 0.4])
        right = draw(st.sampled_from([0.5, 0.9]))
        # "c" knows category y and nothing else, so that composites are sometimes worth it.
        chance = {key: np.where((categories == "y") == (key == "c"), 0.98, right) for key in KEYS}
        verdicts = {
            key: np.where(rng.random((n, 2)) < chance[key][:, None], 1.0, rng.choice([0, 2, np.nan], (n, 2)))
            for key in KEYS
        }
        found.append(
            dataset(
                verdicts,
                name=f"d{place}",
                gold=np.where(rng.random(n) < 0.9, 1.0, np.nan) if draw(st.booleans()) else np.ones(n),
                clusters=rng.integers(0, draw(st.integers(3, 30)), n),
                categories=categories,
                weights=rng.choice([1.0, 2.0, 0.5], n) if draw(st.booleans()) else None,
                weight=draw(st.sampled_from([1.0, 2.0])) if place == 0 else draw(st.sampled_from([0.0, 1.0])),
            )
        )
    return found


@pytest.mark.slow
@given(samples(), st.sampled_from([None, 0.5]), st.integers(3, 4), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_as_nested_loops(datasets, least_agreement, n_folds, seed):
    table, _ = table_build(datasets, judges(*KEYS))
    constraints = Constraints(min_positional_agreement=least_agreement)
    requirements = requirements_of(constraints, judges(*KEYS), table, [True] * len(datasets))
    # A level that is often exceeded, so that both answers to "is the composite worth it" occur.
    objective = Objective(table, Draws(table.n_clusters, 0), 0.5)
    found = cross_validate(
        objective,
        requirements,
        n_folds=n_folds,
        n_repeats=1,
        rng=np.random.default_rng(seed),
        with_composite=True,
        min_clusters=2,
    )
    folds = deal_folds(table, n_folds, np.random.default_rng(seed))
    items = [
        {
            "dataset": int(table.dataset[place]),
            "category": table.categories[table.category[place]],
            "cluster": int(table.cluster[place]),
            "weight": float(table.weights[place]),
            "scores": None if np.isnan(table.scores[place]).any() else table.scores[place].tolist(),
        }
        for place in range(len(table.dataset))
    ]
    rows = [
        row for one in datasets for row in zip(*(one.verdicts[key].tolist() for key in KEYS), strict=True)
    ]
    for item, row in zip(items, rows, strict=True):
        item["same"] = [pair[0] == pair[1] for pair in row]
    expected = oracle.held_out(
        items,
        folds.tolist(),
        table.homes.tolist(),
        table.shares.tolist(),
        len(KEYS),
        n_folds,
        least_agreement=least_agreement,
        min_clusters=2,
        confidence=0.5,
    )
    columns = [[np.nan if one is None else one for one in column] for column in zip(*expected, strict=True)]
    for mine, theirs in zip((found.procedure, found.single, found.composite), columns, strict=True):
        assert mine == pytest.approx(np.array(theirs), nan_ok=True, abs=1e-12)


def test_folds_keep_instructions_together_and_spread_categories():
    names = np.repeat(np.arange(40), 3)
    first = dataset(
        {"a": np.ones(120)}, name="one", clusters=names, categories=np.where(names < 10, "x", "y")
    )
    second = dataset({"a": np.ones(40)}, name="two", clusters=np.arange(20, 60))
    table, _ = table_build([first, second], judges("a"))
    fold = deal_folds(table, 5, np.random.default_rng(0))
    assert table.n_clusters == 60  # 20 to 39 are in both datasets and held out of both at once
    assert np.bincount(fold).tolist() == [12] * 5
    for where in (slice(0, 30), slice(30, 120), slice(120, 160)):
        clusters = np.unique(table.cluster[where])
        sizes = np.bincount(fold[clusters], minlength=5)
        assert sizes.max() - sizes.min() <= 3
    x = np.unique(table.cluster[:30])
    assert np.bincount(fold[x], minlength=5).tolist() == [2] * 5


def test_repeats_are_averaged():
    rng = np.random.default_rng(3)
    table, _ = table_build([dataset({key: rng.choice([1.0, 2.0], 30) for key in KEYS})], judges(*KEYS))
    requirements = requirements_of(Constraints(), judges(*KEYS), table, [True])
    objective = Objective(table, Draws(30, 0), 0.95)
    options = {"n_folds": 3, "with_composite": False}
    single = []
    shared = np.random.default_rng(5)
    for _ in range(4):
        single.append(cross_validate(objective, requirements, n_repeats=1, rng=shared, **options).procedure)
    together = cross_validate(objective, requirements, n_repeats=4, rng=np.random.default_rng(5), **options)
    assert together.procedure == pytest.approx(np.mean(single, axis=0))
