"""Labels of an item as counts of its values, which is all that agreement depends on.

Two items with the same counts behave the same. With few values and few annotators there are few possible
count patterns, so an item is reduced to the number of its pattern and every score is looked up in a small
table.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import is_long
from metaeval.stats.arrays import Booleans, Floats, Integers, as_floats
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.ids import as_ids

# The largest table of patterns worth having: (annotators + 1) ** values.
_MOST_PATTERNS = 20_000
# Values 0..7 cover every pairwise and rubric label.
_MOST_VALUES = 8
# The largest matrix of counts, items times values.
_MOST_COUNTS = 500_000_000


@dataclass(frozen=True)
class LabelCounts:
    """How often each value was given to each item.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        The values, ascending; some may occur nowhere.
    row : ndarray of shape (n_items,)
        The row of `matrix` of each item.
    table : ndarray of shape (n_patterns, n_values) or None
        All patterns that an item may have, if they are few. Then it is shared and scores of it may be cached.
    item, code : ndarray of shape (n_labels,)
        Without a table: the item of each label, and the place of its value in `values`. Else empty.
    """

    values: Floats
    row: Integers
    table: Integers | None
    item: Integers
    code: Integers

    @property
    def tabular(self) -> bool:
        """Whether `matrix` is the table of all patterns."""
        return self.table is not None

    @property
    def n_items(self) -> int:
        """Number of items, those without a label included."""
        return len(self.row)

    @cached_property
    def matrix(self) -> Integers:
        """Counts, (n_rows, n_values): the table, or a row for each item."""
        if self.table is not None:
            return self.table
        n_items, n_values = self.n_items, len(self.values)
        if n_items * n_values > _MOST_COUNTS:
            raise InvalidInputError(
                f"labels: {n_values} distinct values of {n_items} items; these are measurements, not labels"
            )
        flat = np.bincount(self.item * n_values + self.code, minlength=n_items * n_values)
        return flat.reshape(n_items, n_values)

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


@dataclass(frozen=True, slots=True)
class LongLabels:
    """Labels one by one, with who gave them; missing ones are left out.

    Attributes
    ----------
    item, annotator, code : ndarray of shape (n_labels,)
        Places in the items, in `annotators` and in `values`.
    n_items : int
        Number of items, those without a label included.
    annotators : ndarray of shape (n_annotators,)
        Column numbers of dense labels, else the identifiers in sorted order. Some may have given no label.
    values : ndarray of shape (n_values,)
        The distinct values, ascending.
    """

    item: Integers
    annotator: Integers
    code: Integers
    n_items: int
    annotators: np.ndarray[Any, Any]
    values: Floats


def read_labels(labels: Any, n_items: int | None = None) -> LongLabels:
    """Read labels, dense or long, keeping apart who gave them.

    Takes and refuses what `count_labels` does, and orders the items as it does.

    Examples
    --------
    >>> read = read_labels((["b", "a", "a"], ["ann", "ann", "ben"], [2, 1, 1]))
    >>> read.item.tolist(), read.annotator.tolist(), read.code.tolist()
    ([1, 0, 0], [0, 0, 1], [1, 0, 0])
    """
    if is_long(labels):
        item, annotator, value, size, annotators = _read_long(*labels, n_items=n_items)
    else:
        array = _as_dense(labels)
        item, annotator = np.nonzero(~np.isnan(array))
        value, size, annotators = array[item, annotator], len(array), np.arange(array.shape[1])
    if n_items is not None and size != n_items:
        raise InvalidInputError(f"labels: expected {n_items} items, got {size}")
    values, code = _code_values(value)
    return LongLabels(item, annotator, code, size, annotators, values)


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
    if is_long(labels):
        item, _, value, size, _ = _read_long(*labels, n_items=n_items)
        counts = _count_pairs(item, value, size)
    else:
        counts = _count_dense(labels)
    if n_items is not None and counts.n_items != n_items:
        raise InvalidInputError(f"labels: expected {n_items} items, got {counts.n_items}")
    return counts


def _as_dense(labels: ArrayLike) -> Floats:
    array = as_floats(labels, "labels")
    if array.ndim != 2:
        raise InvalidInputError(f"labels: expected shape (n_items, n_annotators), got {array.shape}")
    return array


def _count_dense(labels: ArrayLike) -> LabelCounts:
    array = _as_dense(labels)
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
    nothing = np.zeros(0, dtype=np.intp)
    table = pattern_table(n_annotators, n_values)
    return LabelCounts(np.arange(float(n_values)), row, table, nothing, nothing)


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


def _read_long(
    item: Any, annotator: Any, value: Any, *, n_items: int | None
) -> tuple[Integers, Integers, Floats, int, np.ndarray[Any, Any]]:
    """(item, annotator and value of each label that is not missing, number of items, the annotators)."""
    values = as_floats(value, "labels (values)")
    known, codes = as_ids(item, "labels (items)")
    annotators, annotator_codes = as_ids(annotator, "labels (annotators)")
    if not len(codes) == len(annotator_codes) == len(values):
        raise InvalidInputError("labels: item, annotator and value must have one length")
    _refuse_repeated(codes * max(1, len(annotators)) + annotator_codes, len(known) * len(annotators))
    size = len(known)
    if n_items is not None and size != n_items:
        if known.dtype.kind not in "iu" or (size and not (known[0] >= 0 and known[-1] < n_items)):
            raise InvalidInputError(f"labels: expected {n_items} items, got {size}")
        codes, size = known.astype(np.intp)[codes], n_items
    present = ~np.isnan(values)
    if not present.all():
        codes, annotator_codes, values = codes[present], annotator_codes[present], values[present]
    return codes, annotator_codes, values, size, annotators


def _refuse_repeated(pairs: Integers, n_possible: int) -> None:
    """Refuse a pair of item and annotator that comes twice; by a table of them where that is not too large."""
    if n_possible <= 16 * len(pairs):
        repeated = len(pairs) > 0 and np.bincount(pairs).max() > 1
    else:
        repeated = len(np.unique(pairs)) != len(pairs)
    if repeated:
        raise InvalidInputError("labels: an annotator has labeled one item twice")


def _count_pairs(item: Integers, value: Floats, n_items: int) -> LabelCounts:
    values, code = _code_values(value)
    return LabelCounts(values, np.arange(n_items), None, item, code)


def _code_values(value: Floats) -> tuple[Floats, Integers]:
    """The distinct values, ascending, and the place of each; without sorting where all are small integers."""
    codes, known = _small_integers(value)
    if not known.all():
        values, places = np.unique(value, return_inverse=True)
        return values, places
    used = np.flatnonzero(np.bincount(codes, minlength=256))
    place = np.zeros(256, dtype=np.intp)
    place[used] = np.arange(len(used))
    return used.astype(np.float64), place[codes]
