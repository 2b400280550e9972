"""Helping with a name that does not exist."""

import difflib
from collections.abc import Sequence


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
