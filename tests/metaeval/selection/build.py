"""Small datasets for the selection tests."""

import numpy as np

from metaeval.selection import Candidate, JudgedDataset


def dataset(verdicts, *, name="Traps", role="gold", gold=None, **fields):
    """A dataset from verdicts by judge: lists of one verdict an item (both orders say the same) or of pairs."""
    columns = {}
    for key, said in verdicts.items():
        array = np.asarray(said, dtype=float)
        columns[key] = np.stack([array, array], axis=1) if array.ndim == 1 else array
    n = len(next(iter(columns.values())))
    if role == "gold" and gold is None:
        gold = np.ones(n)
    fields.setdefault("judged", {key: np.ones((n, 2), dtype=bool) for key in columns})
    fields.setdefault("clusters", np.array([f"{name} {place}" for place in range(n)]))
    fields.setdefault("categories", np.full(n, ""))
    return JudgedDataset(name, role, columns, gold=gold, **fields)


def judges(*keys, **facts):
    """Candidates named by their keys in capitals."""
    return [Candidate(key, key.upper(), **facts) for key in keys]


def said(rng, n, accuracy):
    """A judge's verdicts in both orders where the right answer is always 1."""
    return np.where(rng.random((n, 2)) < accuracy, 1.0, 2.0)
