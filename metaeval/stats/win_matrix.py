"""Comparisons of systems two at a time: read once, and counted into a matrix of wins and ties."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, as_items, as_mask, as_weights, check_choices
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.ids import as_shared_ids
from metaeval.stats.results import Result


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Pairwise rows with systems as numbers.

    Attributes
    ----------
    names : tuple
        The systems, sorted; a system's number is its place here.
    first, second : ndarray of shape (n_items,)
        Number of the system shown first and of the one shown second.
    outcome : ndarray of shape (n_items,)
        1, 2, 0 (tie) or NaN.
    counted : ndarray of shape (n_items,)
        Whether the row takes part: it has an outcome and was selected.
    """

    names: tuple[Any, ...]
    first: Integers
    second: Integers
    outcome: Floats
    counted: Booleans


@dataclass(frozen=True, slots=True, eq=False)
class WinMatrix(Result):
    """How often each system was preferred to each other one, and how often they tied.

    Attributes
    ----------
    names : tuple
        The systems; row and column k of the matrices is ``names[k]``.
    wins : ndarray of shape (n_systems, n_systems)
        ``wins[a, b]`` is how often a was preferred to b.
    ties : ndarray of shape (n_systems, n_systems)
        Symmetric; a tie stands at ``[a, b]`` and at ``[b, a]``.
    """

    _chart: ClassVar[str] = "heat_map"

    names: tuple[Any, ...]
    wins: Floats
    ties: Floats

    @property
    def shares(self) -> Floats:
        """Share of comparisons in which the row's system was preferred, a tie as one half; NaN where none."""
        with np.errstate(invalid="ignore"):
            shares: Floats = (self.wins + self.ties / 2) / (self.wins + self.wins.T + self.ties)
        return shares


@aligned()
def win_matrix(
    first: Any, second: Any, outcome: ArrayLike, *, where: ArrayLike | None = None, weights: Any = None
) -> WinMatrix:
    """Count pairwise rows into wins and ties.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        Names or numbers of the two systems of each row.
    outcome : array_like of shape (n_items,)
        1 (first better), 2 (second), 0 (tie), NaN (unparsed: left out).
    where : array_like of bool, optional
        The rows that count.
    weights : array_like of shape (n_items,), optional
        What each row counts; 1 by default.

    Returns
    -------
    WinMatrix

    Raises
    ------
    InvalidInputError
        Another outcome, wrong shapes, or a system compared with itself.

    Notes
    -----
    Counts. What Bradley-Terry models (`bradley_terry`) and the table of an arena are made from.

    Examples
    --------
    >>> matrix = win_matrix(["a", "a", "b"], ["b", "c", "c"], [1, 0, 2])
    >>> matrix.names, matrix.wins.tolist()
    (('a', 'b', 'c'), [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> matrix.shares[0].tolist()
    [nan, 1.0, 0.5]
    """
    rows = read_comparisons(first, second, outcome, where)
    size = len(rows.names)
    given = as_weights(weights, len(rows.outcome))
    amount = np.ones(len(rows.outcome)) if given is None else given
    matrices: list[Floats] = []
    for value, (row, column) in {1: (rows.first, rows.second), 2: (rows.second, rows.first)}.items():
        for kind in (value, 0):
            chosen = rows.counted & (rows.outcome == kind)
            cell = row[chosen] * size + column[chosen]
            table = np.bincount(cell, amount[chosen], minlength=size * size).astype(np.float64)
            matrices.append(table.reshape(size, size))
    return WinMatrix(rows.names, matrices[0] + matrices[2], matrices[1] + matrices[3])


def read_comparisons(first: Any, second: Any, outcome: Any, where: ArrayLike | None) -> Comparisons:
    """Check pairwise rows and number their systems."""
    values = as_items(outcome, "outcome")
    check_choices(values, "outcome")
    distinct, (one, two) = as_shared_ids({"first": first, "second": second}, len(values))
    names = tuple(distinct.tolist())
    if not all(isinstance(name, str | int) for name in names):
        raise InvalidInputError("first and second: expected names or whole numbers of systems")
    if (one == two).any():
        row = int(np.argmax(one == two))
        raise InvalidInputError(f"second: row {row} compares {names[one[row]]!r} with itself")
    counted = ~np.isnan(values)
    mask = as_mask(where, len(values))
    return Comparisons(names, one, two, values, counted if mask is None else counted & mask)
