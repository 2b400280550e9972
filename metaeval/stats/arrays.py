"""Reading what callers pass: arrays of labels, verdicts, lengths and clusters, checked once and here."""

import math
from collections.abc import Iterable, Mapping, Set
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.errors import InvalidInputError
from metaeval.stats.ids import as_ids, is_missing

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]
Booleans: TypeAlias = NDArray[np.bool_]
Seed: TypeAlias = int | np.random.Generator | None

# The sum of the fourth powers of larger numbers is no number.
_LARGEST = 1e70
# A row of fewer than eight numbers is added one after another by numpy too, so these sums are its own.
_FEW_COLUMNS = 7
# What converts to a number, and is none.
_NO_NUMBERS = (np.datetime64, np.timedelta64, complex)


def as_floats(values: ArrayLike, name: str) -> Floats:
    """``values`` as float64; what is missing (None, NaN, NA, NaT, masked) is NaN. Refuses infinities and no numbers."""
    array = values if type(values) is np.ndarray and values.dtype == np.float64 else _numbers(values, name)
    if (np.abs(array) > _LARGEST).any():
        if np.isinf(array).any():
            raise InvalidInputError(f"{name}: infinite values are neither a label nor missing")
        raise InvalidInputError(f"{name}: numbers beyond {_LARGEST:g} cannot be computed with")
    return array


def _numbers(values: Any, name: str) -> Floats:
    if values is None:
        raise InvalidInputError(f"{name}: expected numbers, got None")
    try:
        array = np.asarray(_unmasked(values))
        if array.dtype.kind == "O":
            plain = [math.nan if is_missing(value) else value for value in array.ravel().tolist()]
            strange = next((value for value in plain if isinstance(value, _NO_NUMBERS)), None)
            if strange is not None:
                raise TypeError(f"found {strange!r}")
            array = np.fromiter(plain, dtype=object, count=len(plain)).reshape(array.shape)
        elif array.dtype.kind in "mMcV":
            raise TypeError(f"found {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        hint = "; code_labels turns names into numbers" if "convert string" in str(error) else ""
        raise InvalidInputError(
            f"{name}: expected numbers, with NaN where missing ({error}){hint}"
        ) from error


def _unmasked(values: Any) -> Any:
    """NaN for what is masked, also in rows of a list: an array made of them would bring to light what they hide."""
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), math.nan, values.data.astype(object))
    if isinstance(values, list | tuple) and any(
        issubclass(each, list | tuple | np.ma.MaskedArray) for each in set(map(type, values))
    ):
        return [_unmasked(value) for value in values]
    return values


def dot(first: Floats, second: Floats) -> float:
    """Sum of the products of two arrays of one length.

    Not ``@``: BLAS divides a long one among threads, which costs more than it saves, and gives other last bits on a
    machine with another number of cores.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float((first * second).sum())


def as_items(values: ArrayLike, name: str, n_items: int | None = None) -> Floats:
    """One number an item, shape (n_items,)."""
    array = as_floats(values, name)
    if array.ndim != 1 or (n_items is not None and len(array) != n_items):
        expected = "(n_items,)" if n_items is None else f"({n_items},)"
        raise InvalidInputError(f"{name}: expected shape {expected}, got {array.shape}")
    return array


def as_verdicts(values: ArrayLike, n_items: int | None = None, name: str = "verdicts") -> Floats:
    """Verdicts as (n_items, n_orders), one column for each presentation order; NaN = unparsed."""
    array = as_floats(values, name)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] not in (1, 2):
        raise InvalidInputError(f"{name}: expected shape (n_items,) or (n_items, 2), got {array.shape}")
    if n_items is not None and len(array) != n_items:
        raise InvalidInputError(f"{name}: expected {n_items} items, got {len(array)}")
    return array


def as_matrix(values: ArrayLike, name: str) -> Floats:
    """Labels or verdicts as (n_items, n_answers), whatever the number of answers; NaN = none."""
    array = as_floats(values, name)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise InvalidInputError(
            f"{name}: expected shape (n_items,) or (n_items, n_answers), got {array.shape}"
        )
    return array


def check_choices(array: Floats, name: str) -> None:
    """Refuse anything but 1 (first better), 2 (second better), 0 (tie) and NaN."""
    known = (array == 1) | (array == 2) | (array == 0) | np.isnan(array)
    if not known.all():
        wrong = array[~known][0]
        raise InvalidInputError(f"{name}: expected 0 (tie), 1, 2 or NaN, found {wrong:g}")


def check_option(value: str, allowed: tuple[str, ...], name: str) -> None:
    """Refuse an option that does not exist, naming those that do."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInputError(f"{name}: expected one of {', '.join(map(repr, allowed))}, got {value!r}")


def as_texts(values: Any, name: str) -> list[str]:
    """One text an item."""
    found = as_list(values, name)
    for place, value in enumerate(found):
        if not isinstance(value, str):
            raise InvalidInputError(f"{name}: expected texts, found {value!r} at {place}")
    return found


def as_list(values: Any, name: str) -> list[Any]:
    """The elements of a sequence: of a list, a tuple, an array, an indexed column."""
    single = isinstance(values, np.ndarray) and values.ndim == 0
    if single or isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{name}: expected a sequence, got {type(values).__name__}")
    return list(values)


def as_columns(values: Any, name: str) -> list[Any]:
    """The columns of a matrix or frame, whose rows are items; those of a sequence or mapping as they are."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return list(values.T)
    if isinstance(values, Mapping) or hasattr(values, "columns"):
        return list(as_mapping(values, name).values())
    return as_list(values, name)


def as_mapping(values: Any, name: str) -> dict[Any, Any]:
    """The values by name: of a mapping, or of the columns of a frame."""
    if isinstance(values, Mapping):
        return dict(values)
    if hasattr(values, "columns") and hasattr(values, "get_column"):  # a frame without an index, as of polars
        return {column: values.get_column(column) for column in values.columns}
    if not (hasattr(values, "keys") and hasattr(values, "items")):
        raise InvalidInputError(
            f"{name}: expected a mapping, from names to values, got {type(values).__name__}"
        )
    pairs = list(values.items())
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidInputError(f"{name}: a name is there twice")
    return found


def as_rows(values: Any, name: str, n_labels: int) -> Integers:
    """The row of the item of each label: whole numbers from 0 on."""
    distinct, codes = as_ids(values, name, n_labels)
    if len(distinct) and (distinct.dtype.kind not in "iu" or distinct[0] < 0):
        raise InvalidInputError(f"{name}: expected row numbers from 0 on, found {distinct[0]!r}")
    return distinct.astype(np.intp)[codes]


def as_mask(where: ArrayLike | None, n_items: int, name: str = "where") -> Booleans | None:
    """A selection of items: a boolean an item, or None for all."""
    if where is None:
        return None
    masked = isinstance(where, np.ma.MaskedArray) and bool(np.ma.getmaskarray(where).any())
    hidden = masked or (isinstance(where, list | tuple) and any(value is np.ma.masked for value in where))
    try:
        found: NDArray[Any] = np.zeros(0) if hidden else np.asarray(where)
    except ValueError:
        found = np.zeros(0)
    if found.dtype == object and all(isinstance(value, bool | np.bool_) for value in found.ravel().tolist()):
        found = found.astype(np.bool_)
    if found.dtype != np.bool_ or found.shape != (n_items,):
        what = "some that are masked" if hidden else f"{found.dtype} of shape {found.shape}"
        raise InvalidInputError(f"{name}: expected {n_items} booleans, got {what}")
    mask: Booleans = found
    return mask


def as_weights(weights: ArrayLike | None, n_items: int, name: str = "weights") -> Floats | None:
    """Sampling weights: a finite number of at least 0 an item, or None where all items weigh the same."""
    if weights is None:
        return None
    array = as_items(weights, name, n_items)
    if not (array >= 0).all():
        raise InvalidInputError(f"{name}: expected numbers of at least 0, found a negative one or NaN")
    return array


def generator(rng: Seed, stream: int = 0) -> np.random.Generator:
    """A generator from a seed. None means the fixed seed 0, so that the same inputs give the same report."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is not None and not (isinstance(rng, int | np.integer) and rng >= 0):
        raise InvalidInputError(f"rng: expected a seed of 0 or more, a generator or None, got {rng!r}")
    return np.random.default_rng([0 if rng is None else rng, stream])


def slots_of(row: Integers, values: Floats, n_items: int) -> Floats:
    """Values as (n_items, most values of an item), NaN where an item has fewer; ``row`` is the item of each.

    Examples
    --------
    >>> slots_of(np.array([1, 0, 1]), np.array([1.0, 2.0, 0.0]), 2).tolist()
    [[2.0, nan], [1.0, 0.0]]
    """
    counts = np.bincount(row, minlength=n_items)
    order = np.argsort(row, kind="stable")
    starts = np.cumsum(counts) - counts
    slots = np.full((n_items, int(counts.max(initial=0))), np.nan)
    ordered = row[order]
    slots[ordered, np.arange(len(row)) - starts[ordered]] = values[order]
    return slots


def row_sums(table: NDArray[Any]) -> Floats:
    """The sum of each row, (n_rows, k) to (n_rows,): column by column where they are few, which is ten times as fast.

    Examples
    --------
    >>> row_sums(np.array([[True, True], [False, True]])).tolist()
    [2.0, 1.0]
    """
    if not 0 < table.shape[1] <= _FEW_COLUMNS:
        return np.asarray(table.sum(axis=1), dtype=np.float64)
    total = table[:, 0].astype(np.float64)
    for column in table.T[1:]:
        total += column
    return total


def mean_of_orders(scores: Floats) -> Floats:
    """Mean over presentation orders, (n_items, n_orders) to (n_items,); NaN takes no part, all NaN is NaN."""
    missing = np.isnan(scores)
    if scores.shape[1] and not missing.any():
        mean: Floats = scores.mean(axis=1)
        return mean
    counted, total = row_sums(~missing), row_sums(np.where(missing, 0.0, scores))
    return np.where(counted > 0, total / np.maximum(counted, 1), np.nan)
