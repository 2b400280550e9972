"""Reading what callers pass: arrays of labels, verdicts, lengths and clusters, checked once and here."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.errors import InvalidInputError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]
Booleans: TypeAlias = NDArray[np.bool_]
Seed: TypeAlias = int | np.random.Generator | None


def as_floats(values: ArrayLike, name: str) -> Floats:
    """``values`` as float64, missing as NaN; refuses infinities and what is no number."""
    if values is None:
        raise InvalidInputError(f"{name}: expected numbers, got None")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}: expected numbers, with NaN where missing ({error})") from error
    if np.isinf(array).any():
        raise InvalidInputError(f"{name}: infinite values are neither a label nor missing")
    return array


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


def as_codes(values: Any, name: str, n_items: int | None = None) -> tuple[Integers, int]:
    """Any labels (numbers, strings) as codes 0..k-1 in sorted order, and k."""
    array = np.asarray(values)
    if array.ndim != 1 or (n_items is not None and len(array) != n_items):
        expected = "(n_items,)" if n_items is None else f"({n_items},)"
        raise InvalidInputError(f"{name}: expected shape {expected}, got {array.shape}")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise InvalidInputError(f"{name}: an item without a {name.rstrip('s')} (NaN)")
    if array.dtype.kind == "O":
        if any(value is None for value in array):
            raise InvalidInputError(f"{name}: an item without a {name.rstrip('s')} (None)")
        array = array.astype(str)
    unique, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.intp, copy=False), len(unique)


def as_mask(where: ArrayLike | None, n_items: int) -> Booleans | None:
    """A selection of items: a boolean an item, or None for all."""
    if where is None:
        return None
    mask = np.asarray(where)
    if mask.dtype != np.bool_ or mask.shape != (n_items,):
        raise InvalidInputError(f"where: expected {n_items} booleans, got {mask.dtype} of shape {mask.shape}")
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
