"""Docstrings of the functions that say what each item contributes to a figure: as of the figure, said once."""

import inspect
from collections.abc import Callable
from typing import ParamSpec

from metaeval.stats.arrays import Floats

P = ParamSpec("P")


def contributions_of(figure: str) -> Callable[[Callable[P, Floats]], Callable[P, Floats]]:
    """Complete the docstring of a function whose arguments are those of the function ``figure``.

    Its own docstring has the summary, what it refuses, and an example.
    """

    def decorate(function: Callable[P, Floats]) -> Callable[P, Floats]:
        if function.__doc__ is None:  # python -OO
            return function
        summary, heading, rest = inspect.cleandoc(function.__doc__).partition("Raises\n------\n")
        if not heading:
            summary, heading, rest = summary.partition("Examples\n--------\n")
        refused, examples, example = (heading + rest).rpartition("Examples\n--------\n")
        function.__doc__ = (
            f"{summary}Parameters\n----------\n{', '.join(inspect.signature(function).parameters)}\n"
            f"    As of `{figure}`.\n\n"
            "Returns\n-------\nndarray of shape (n_items,)\n    NaN where an item does not count.\n\n"
            f"{refused}Notes\n-----\nAs of `{figure}`.\n\n{examples}{example}"
        )
        return function

    return decorate
