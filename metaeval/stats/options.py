"""Reading the single numbers and switches that callers pass: each refused by its name if it cannot be meant."""

import math
from numbers import Real
from typing import Any

import numpy as np

from metaeval.stats.errors import InvalidInputError


def as_number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number from ``low`` to ``high``, both included."""
    if not _is_number(value) or not (math.isfinite(value) and low <= value <= high):
        if high < math.inf:
            expected = f"a number between {low:g} and {high:g}"
        else:
            expected = "a number" if low == -math.inf else f"{low:g} or more"
        raise InvalidInputError(f"{name}: expected {expected}, got {value!r}")
    return float(value)


def as_positive(value: Any, name: str) -> float:
    """A finite number above 0."""
    if not _is_number(value) or not 0 < value < math.inf:
        raise InvalidInputError(f"{name}: expected a positive number, got {value!r}")
    return float(value)


def as_level(value: Any, name: str) -> float:
    """A level of confidence or of a test: between 0 and 1 and neither of them (0.95, not 95)."""
    if not _is_number(value) or not 0 < value < 1:
        raise InvalidInputError(f"{name}: expected a level between 0 and 1, got {value!r}")
    return float(value)


def as_count(value: Any, name: str, least: int = 0) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInputError(f"{name}: expected {least} or more, as a whole number, got {value!r}")
    return int(value)


def as_switch(value: Any, name: str) -> bool:
    """True or False; a text that says no would count as yes."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def as_range(value: Any, name: str, *, endless: bool = False) -> tuple[float, float]:
    """The two ends of a scale, the lower first; ``endless``: either may be infinite."""
    if type(value) is tuple and len(value) == 2 and type(value[0]) is type(value[1]) is float:
        if value[0] < value[1] and (endless or (math.isfinite(value[0]) and math.isfinite(value[1]))):
            return value
    elif not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise InvalidInputError(f"{name}: expected (low, high), got {value!r}")
    low, high = (
        float(end) if endless and _is_number(end) and math.isinf(end) else as_number(end, name)
        for end in value
    )
    if low >= high:
        raise InvalidInputError(f"{name}: expected (low, high), got {value!r}")
    return low, high


def _is_number(value: Any) -> bool:
    # Nearly all are floats, and an abstract class takes a microsecond to ask.
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))
