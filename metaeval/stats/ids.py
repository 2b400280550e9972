"""Reading ids: of clusters, groups, subsets, items, annotators and systems, and what stands for none."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.errors import InvalidInputError

# Scalars of which some differ from themselves, those that are missing: not-a-number and not-a-time.
_SCALARS = (Real, Decimal, datetime.date, datetime.timedelta, np.generic)
# Whole numbers up to this one are counted instead of sorted.
_MOST_COUNTED = 1_000_000


def is_missing(value: Any) -> bool:
    """Whether one value stands for none: None, NaN, NA, NaT, masked.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), np.ma.masked, 0, "", "nan")]
    [True, True, True, True, False, False, False]
    """
    if type(value) is str:  # most of a long column
        return False
    if value is None or value is np.ma.masked or type(value).__name__ == "NAType":
        return True
    # What is missing is all that differs from itself.
    return isinstance(value, _SCALARS) and not isinstance(value, np.void) and bool(value != value)


def as_ids(values: Any, name: str, n_items: int | None = None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct ids in ``values``, sorted, and the place of each value among them.

    Ids are texts, numbers, or anything else of one type that can be sorted. A missing one is refused: it would be a
    group of its own, together with all others that are missing.

    Examples
    --------
    >>> distinct, codes = as_ids(["b", "a", "b"], "groups")
    >>> distinct.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    distinct, (codes,) = as_shared_ids({name: values}, n_items)
    return distinct, codes


def as_codes(values: Any, name: str, n_items: int | None = None) -> tuple[NDArray[np.intp], int]:
    """Any ids as codes 0..k-1 in sorted order, and k; see `as_ids`."""
    distinct, codes = as_ids(values, name, n_items)
    return codes, len(distinct)


def as_shared_ids(
    columns: Mapping[str, Any], n_items: int | None = None
) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    """The distinct ids of several columns together, sorted, and the place of each value of each column among them.

    Examples
    --------
    >>> distinct, codes = as_shared_ids({"first": [3, 1], "second": [1, 2]})
    >>> distinct.tolist(), [column.tolist() for column in codes]
    ([1, 2, 3], [[2, 0], [0, 1]])
    """
    arrays = {name: _checked(values, name, n_items) for name, values in columns.items()}
    kinds = {array.dtype.kind for array in arrays.values() if len(array)}
    if not kinds:
        return np.zeros(0, dtype=np.intp), [np.zeros(0, dtype=np.intp) for _ in arrays]
    if kinds <= set("iu"):
        low = min(int(array.min(initial=0)) for array in arrays.values())
        high = max(int(array.max(initial=0)) for array in arrays.values())
        if low >= 0 and high < _MOST_COUNTED:
            seen = np.zeros(high + 1, dtype=np.bool_)
            for array in arrays.values():
                seen[array.astype(np.intp, copy=False)] = True
            place = np.cumsum(seen) - 1
            return np.flatnonzero(seen), [
                place[array.astype(np.intp, copy=False)] for array in arrays.values()
            ]
    if len(arrays) == 1 and kinds <= set("biufmM"):
        distinct, codes = np.unique(next(iter(arrays.values())), return_inverse=True)
        return distinct, [codes.astype(np.intp, copy=False)]
    return _by_hashing({name: array.tolist() for name, array in arrays.items()})


def _by_hashing(columns: Mapping[str, list[Any]]) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    name = " and ".join(columns)
    try:
        seen = set().union(*columns.values())
        kinds = {_kind(value): value for value in seen}
        if len(kinds) > 1:
            one, other = list(kinds.values())[:2]
            raise InvalidInputError(f"{name}: expected ids of one type, found {one!r} beside {other!r}")
        ordered = sorted(seen)
    except TypeError as error:
        raise InvalidInputError(f"{name}: expected texts or numbers ({error})") from error
    place = {value: number for number, value in enumerate(ordered)}
    codes = [
        np.fromiter(map(place.__getitem__, values), dtype=np.intp, count=len(values))
        for values in columns.values()
    ]
    if ordered and isinstance(ordered[0], str):
        return np.asarray(ordered), codes
    return np.fromiter(ordered, dtype=object, count=len(ordered)), codes


def _kind(value: Any) -> type:
    """What ids are told apart by: 1 and 1.0 are the same one, 1 and "1" look the same and are not."""
    for kind in (str, bytes, bool, np.bool_, Real):
        if isinstance(value, kind):
            return bool if kind is np.bool_ else kind
    return type(value)


def _checked(values: Any, name: str, n_items: int | None) -> NDArray[Any]:
    """One id an item, none of them missing."""
    array = _as_written(values, name)
    if array.ndim != 1 or (n_items is not None and len(array) != n_items):
        expected = "(n_items,)" if n_items is None else f"({n_items},)"
        raise InvalidInputError(f"{name}: expected shape {expected}, got {array.shape}")
    if array.dtype.kind == "O":
        missing = next((place for place, value in enumerate(array.tolist()) if is_missing(value)), None)
    elif array.dtype.kind in "fmM":
        missing = int(np.argmax(array != array)) if (array != array).any() else None
    elif array.dtype.kind in "biuSU":
        missing = None
    else:
        raise InvalidInputError(f"{name}: expected texts or numbers, got {array.dtype}")
    if missing is not None:
        what = "NaN" if isinstance(array[missing], float) else str(array[missing])
        raise InvalidInputError(
            f"{name}: entry {missing} is missing ({what}); leave it out, or give it an id of its own"
        )
    return array


def _as_written(values: Any, name: str) -> NDArray[Any]:
    """An array in which nothing was taken for something else: of objects where numpy would have to decide."""
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        if not hidden.any():
            return np.asarray(values.data)
        objects: NDArray[Any] = values.data.astype(object)
        objects[hidden] = None
        return objects
    try:
        if isinstance(values, list | tuple):
            types = set(map(type, values))
            plain = len(types) == 1 and not issubclass(next(iter(types)), np.ma.MaskedArray)
            array = np.asarray(values) if plain else np.asarray(values, dtype=object)
            # Whole numbers that are too large would be rounded.
            rounded = array.dtype.kind == "f" and not any(
                issubclass(each, float | np.floating) for each in types
            )
            return np.asarray(values, dtype=object) if rounded else array
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}: expected one id an item ({error})") from error
    return array.astype(object) if array.dtype.kind == "T" else array
