"""Every exception and warning of the statistics.

::

    ValueError
    └── InvalidInputError     the input cannot be what the caller means; nothing was computed
    UserWarning
    └── StatisticsWarning     the input is valid, but the figure (or its interval) is undefined: NaN
"""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class InvalidInputError(ValueError):
    """The input has a shape, a value or an option that no statistic can be computed from."""


class StatisticsWarning(UserWarning):
    """A figure is undefined and NaN was returned in its place; the message says why."""


_QUIET: ContextVar[bool] = ContextVar("metaeval.stats.quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """No `StatisticsWarning` within: what is undefined says so in its own `reason`.

    Of this thread (or task) alone: `warnings.catch_warnings` changes the filters of all of them, and gives back what it
    found when another may have begun in between.
    """
    before = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(before)


def warn(reason: str) -> None:
    """Say why a figure is undefined, at the line that called the library, whatever is between."""
    if _QUIET.get():
        return
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("metaeval.stats"):
        frame, level = frame.f_back, level + 1
    warnings.warn(reason, StatisticsWarning, stacklevel=level + 1)
