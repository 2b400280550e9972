"""Every exception and warning of the statistics.

::

    ValueError
    └── InvalidInputError     the input cannot be what the caller means; nothing was computed
    UserWarning
    └── StatisticsWarning     the input is valid, but the figure (or its interval) is undefined: NaN
"""


class InvalidInputError(ValueError):
    """The input has a shape, a value or an option that no statistic can be computed from."""


class StatisticsWarning(UserWarning):
    """A figure is undefined and NaN was returned in its place; the message says why."""
