"""Labels of an item as counts of its values, which is all that agreement depends on.

Two items with the same counts behave the same. With few values and few annotators there are few possible
count patterns, so an item is reduced to the number of its pattern and every score is looked up in a small
table.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.arrays import Booleans, Floats, Integers, as_floats
from metaeval.stats.errors import InvalidInputError

# The largest table of patterns worth having: (annotators + 1) ** values.
_MOST_PATTERNS = 20_000
# Values 0..7 cover every pairwise and rubric label.
_MOST_VALUES = 8


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How often each value was given to each item.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        The values, ascending; some may occur nowhere.
    matrix : ndarray of shape (n_rows, n_values)
        Counts; a row is a pattern that an item may have.
    row : ndarray of shape (n_items,)
        The row of each item.
    tabular : bool
        Whether `matrix` is the table of all patterns (then it is shared and scores of it may be cached).
    """

    values: Floats
    matrix: Integers
    row: Integers
    tabular: bool

    @property
    def n_items(self) -> int:
        """Number of items, those without a label included."""
        return len(self.row)

    def per_item(self) -> Integers:
        """Counts item by item, (n_items, n_values)."""
        return self.matrix[self.row]

    def columns(self, values: Floats) -> Integers:
        """The column of each value; n_values for a value that nobody gave, NaN included."""
        n_values = len(self.values)
        if self.tabular:
            codes, known = _small_integers(values)
            return np.where(known & (codes < n_values), codes, n_values)
        place = np.searchsorted(self.values, values)
        found = (
            self.values[np.minimum(place, n_values - 1)] == values
            if n_values
            else np.zeros(len(values), bool)
        )
        return np.where(found, place, n_values)


def count_labels(labels: Any, n_items: int | None = None) -> LabelCounts:
    """Read labels, dense or long.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Dense with NaN where missing; or a tuple (item, annotator, value). In long format the items are the
        distinct item identifiers in sorted order; identifiers that are row numbers below ``n_items`` keep
        their row, so that items without a label keep their place.
    n_items : int, optional
        How many items there must be, if the caller knows (from verdicts or clusters).

    Raises
    ------
    InvalidInputError
        Wrong shapes, an infinite label, the same annotator twice on an item, or another number of items.
    """
    if isinstance(labels, tuple) and len(labels) == 3 and all(np.ndim(part) == 1 for part in labels):
        counts = _count_long(*labels, n_items=n_items)
    else:
        counts = _count_dense(labels)
    if n_items is not None and counts.n_items != n_items:
        raise InvalidInputError(f"labels: expected {n_items} items, got {counts.n_items}")
    return counts


def _count_dense(labels: ArrayLike) -> LabelCounts:
    array = as_floats(labels, "labels")
    if array.ndim != 2:
        raise InvalidInputError(f"labels: expected shape (n_items, n_annotators), got {array.shape}")
    fast = _count_patterns(array)
    if fast is not None:
        return fast
    present = ~np.isnan(array)
    item = np.nonzero(present)[0]
    return _count_pairs(item, array[present], len(array))


def _count_patterns(array: Floats) -> LabelCounts | None:
    """The pattern of each row by one weighted sum: a label v adds (n_annotators + 1) ** v."""
    n_annotators = array.shape[1]
    codes, known = _small_integers(array)
    if not known.all() and not (known | np.isnan(array)).all():
        return None
    n_values = int(codes.max(initial=0, where=known)) + 1
    base = n_annotators + 1
    if n_values > _MOST_VALUES or base**n_values > _MOST_PATTERNS:
        return None
    weights = np.zeros(256, dtype=np.float64)  # float: the sum is a matrix product, and exact below 2 ** 53
    weights[:n_values] = float(base) ** np.arange(n_values)
    weighted = weights.take(codes)
    if not known.all():
        weighted *= known
    row = (weighted @ np.ones(n_annotators)).astype(np.intp)
    return LabelCounts(np.arange(float(n_values)), pattern_table(n_annotators, n_values), row, tabular=True)


def _small_integers(array: Floats) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], Booleans]:
    """Bytes of the integers 0..255 in an array, and where there are any."""
    with np.errstate(invalid="ignore"):
        codes = array.astype(np.uint8)
    return codes, codes == array


@lru_cache(maxsize=64)
def pattern_table(n_annotators: int, n_values: int) -> Integers:
    """Row r holds the digits of r to the base n_annotators + 1: every count pattern, and impossible ones."""
    base = n_annotators + 1
    rows = np.arange(base**n_values)
    table: Integers = rows[:, np.newaxis] // base ** np.arange(n_values) % base
    table.setflags(write=False)
    return table


def _count_long(item: Any, annotator: Any, value: Any, *, n_items: int | None) -> LabelCounts:
    items, annotators, values = np.asarray(item), np.asarray(annotator), as_floats(value, "labels")
    if not len(items) == len(annotators) == len(values):
        raise InvalidInputError("labels: item, annotator and value must have one length")
    known, codes = np.unique(items, return_inverse=True)
    annotator_codes = np.unique(annotators, return_inverse=True)[1]
    pairs = codes * (int(annotator_codes.max(initial=0)) + 1) + annotator_codes
    if len(np.unique(pairs)) != len(pairs):
        raise InvalidInputError("labels: an annotator has labelled one item twice")
    size = len(known)
    if n_items is not None and size != n_items:
        if items.dtype.kind not in "iu" or (size and not (known[0] >= 0 and known[-1] < n_items)):
            raise InvalidInputError(f"labels: expected {n_items} items, got {size}")
        codes, size = items.astype(np.intp), n_items
    present = ~np.isnan(values)
    return _count_pairs(codes[present], values[present], size)


def _count_pairs(item: Integers, value: Floats, n_items: int) -> LabelCounts:
    values, codes = np.unique(value, return_inverse=True)
    if n_items * len(values) > 500_000_000:
        raise InvalidInputError(
            f"labels: {len(values)} distinct values of {n_items} items; these are measurements, not labels"
        )
    flat = np.bincount(item * len(values) + codes, minlength=n_items * len(values))
    matrix = flat.reshape(n_items, len(values))
    return LabelCounts(values, matrix, np.arange(n_items), tabular=False)
