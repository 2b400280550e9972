"""The modes of an item's labels, and what is left of them when one label is taken away."""

from dataclasses import dataclass

import numpy as np

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.counts import LabelCounts, LongLabels


@dataclass(frozen=True, slots=True)
class Tops:
    """The largest count of each row, how many values have it, and the same for the largest count below it."""

    total: Integers
    first: Integers
    n_first: Integers
    second: Integers
    n_second: Integers

    def of(self, rows: Integers) -> "Tops":
        """The same of some of the rows."""
        return Tops(
            self.total[rows], self.first[rows], self.n_first[rows], self.second[rows], self.n_second[rows]
        )


def tops(matrix: Integers) -> Tops:
    """Of each row of a matrix of counts, (n_rows, n_values)."""
    first = matrix.max(axis=1, initial=0)
    is_first = matrix == first[:, np.newaxis]
    below = np.where(is_first, 0, matrix)
    second = below.max(axis=1, initial=0)
    n_second = ((below == second[:, np.newaxis]) & ~is_first).sum(axis=1)
    return Tops(matrix.sum(axis=1), first, is_first.sum(axis=1), second, n_second)


def label_scores(read: LongLabels, verdict: Floats | None = None) -> Floats:
    """How probably each label is the mode of the *others'* labels of its item, a tie being broken at random.

    With a verdict, the same of the verdict in place of the label.

    Parameters
    ----------
    read : LongLabels
        The labels.
    verdict : ndarray of shape (n_items,), optional
        A judge's; NaN, and a value that nobody gave, are no mode.

    Returns
    -------
    ndarray of shape (n_labels,)
        NaN where the item has no other label.

    Examples
    --------
    >>> from metaeval.stats.counts import read_labels
    >>> label_scores(read_labels([[1, 1, 2]])).tolist()
    [0.5, 0.5, 0.0]
    >>> label_scores(read_labels([[1, 1, 2]]), np.array([1.0])).tolist()
    [0.5, 0.5, 1.0]
    """
    counts = LabelCounts(read.values, np.arange(read.n_items), None, read.item, read.code)
    matrix = counts.matrix
    top = tops(matrix).of(read.item)
    own = matrix[read.item, read.code]
    is_first = own == top.first
    sole = is_first & (top.n_first == 1)
    # Without this label: how often the most frequent values of the others occur, and how many these are.
    most = np.where(sole, top.first - 1, top.first)
    n_most = np.where(
        sole,
        np.where(most == top.second, 1 + top.n_second, 1),
        np.where(is_first, top.n_first - 1, top.n_first),
    )
    if verdict is None:
        matching = own - 1 == most
    else:
        padded = np.concatenate([matrix, np.zeros((len(matrix), 1), dtype=np.intp)], axis=1)
        column = counts.columns(verdict)[read.item]
        matching = padded[read.item, column] - (column == read.code) == most
    return np.where(top.total >= 2, matching / np.maximum(n_most, 1), np.nan)
