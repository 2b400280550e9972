"""Every exception of reports and decisions, and help with a name that does not exist.

::

    MetaevalError
    ├── ReportError            a report cannot be built or written; the message says what was expected
    │   ├── NothingJudgedError no judge has judged what was asked for
    │   └── UnknownNameError   there is no dataset, study or judge of that name; near names are listed
    ├── DecisionError          a judge cannot be promoted
    │   ├── DecisionAgainst    something speaks against it, which can be overridden
    │   └── DecisionConflict   somebody else decided since the page was opened
    └── RatingsError           ratings from elsewhere cannot be stored under that name
"""

import difflib
from collections.abc import Sequence


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


class DecisionAgainst(DecisionError):  # noqa: N818  (reads as what it is: words against a decision)
    """Something speaks against the judge; whoever decides can override that, with a reason."""


class DecisionConflict(DecisionError):  # noqa: N818  (it is a conflict between people, not a fault)
    """Another decision came first."""


class RatingsError(MetaevalError):
    """Ratings from elsewhere cannot be stored under that name."""


def near_names(name: str, known: Sequence[str]) -> str:
    """The end of an error message: names that are near, else some that there are.

    >>> near_names("llmbr", ["alpaca", "llmbar"])
    '; did you mean llmbar?'
    >>> near_names("x", ["alpaca", "llmbar"])
    '; there is alpaca, llmbar.'
    """
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; there is {', '.join(known[:10])}." if known else "; there is none."
