"""Every exception of reports and decisions.

::

    MetaevalError
    ├── ReportError            a report cannot be built or written; the message says what was expected
    │   ├── NothingJudgedError no judge has judged what was asked for
    │   └── UnknownNameError   there is no dataset, study or judge of that name; near names are listed
    ├── DecisionError          a judge cannot be promoted
    │   └── DecisionConflict   somebody else decided since the page was opened
    └── RatingsError           ratings from elsewhere cannot be stored under that name
"""


class MetaevalError(Exception):
    """Base of all; the message is for people."""


class ReportError(MetaevalError):
    """A report cannot be built from what was asked."""


class NothingJudgedError(ReportError):
    """No judge has judged any such item."""


class UnknownNameError(ReportError):
    """Nothing has that name."""


class DecisionError(MetaevalError):
    """The promotion is refused."""


class DecisionConflict(DecisionError):  # noqa: N818  (it is a conflict between people, not a fault)
    """Another decision came first."""


class RatingsError(MetaevalError):
    """Ratings from elsewhere cannot be stored under that name."""
