"""Labels per item that differ between datasets, or between the items of one: what a choice says of it."""

import numpy as np

from metaeval.selection import Candidate, JudgedDataset, choose
from metaeval.stats import leave_one_out_agreement


def dataset(name, n_people, *, fewer=0, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 3, 60)
    labels = np.where(rng.random((60, n_people)) < 0.8, truth[:, np.newaxis], 3.0 - truth[:, np.newaxis])
    if fewer:
        labels[::2, fewer:] = np.nan
    right = rng.random((60, 2)) < 0.85
    verdicts = {
        "a": np.where(right, truth[:, np.newaxis], 3.0 - truth[:, np.newaxis]),
        "b": 3.0 - np.tile(truth[:, np.newaxis], 2),
    }
    return JudgedDataset(
        name,
        "people",
        verdicts,
        {},
        clusters=np.array([f"{name} {row}" for row in range(60)]),
        categories=np.full(60, ""),
        labels=labels,
    )


def notes(*datasets):
    found = choose(datasets, [Candidate("a", "A"), Candidate("b", "B")], n_resamples=0, n_repeats=1)
    return [note for note in found.notes if "Labels per item" in note]


def test_between_datasets_with_the_agreement_at_as_many():
    few, many = dataset("Crowd", 3), dataset("Experts", 6, seed=1)
    (note,) = notes(few, many)
    assert "differ between datasets (Crowd: 3; Experts: 6)" in note
    for one in (few, many):
        at = leave_one_out_agreement(one.labels, one.verdicts["a"], n_labels=3)
        assert f"{100 * at.value:.1f}% [{100 * at.low:.1f}, {100 * at.high:.1f}] on {one.name}" in note
    assert "At 3 labels an item" in note


def test_between_the_items_of_one():
    (note,) = notes(dataset("Crowd", 5, fewer=2))
    assert "differ between items (Crowd: 2 to 5)" in note


def test_nothing_where_all_have_as_many():
    assert notes(dataset("Crowd", 4), dataset("Experts", 4, seed=1)) == []
