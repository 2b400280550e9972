"""Options that cannot be meant are refused by every public function, with an error that names them.

What is wrong follows from the annotation of the parameter, so a new option is tried as soon as it is there.
"""

import inspect
import math
import typing
import warnings
from itertools import product
from typing import Any, get_type_hints

import numpy as np
import pytest

from metaeval.stats import InvalidInputError, Resamples, StatisticsWarning
from metaeval.stats.intervals import Sampling
from tests.cases import over
from tests.metaeval.stats.every_call import CASES, N

SAMPLING = get_type_hints(Sampling)
# Levels that lie strictly between 0 and 1.
LEVELS = {"confidence", "alpha", "power"}
# Where a negative number means something.
SIGNED = {"initial", "difference", "positive", "negative"}
# A share that is known exactly is one of infinitely many.
UNBOUNDED = {("wilson_interval", "n")}
# Of how far two answers are apart, not of the items.
AGREEMENT_WEIGHTS = {"cohen_kappa", "gwet_ac", "agreement_weights"}
NO_NUMBERS = ["much", [1.0, 2.0], math.nan, math.inf]
NO_COUNTS = [-3, "many", 1.5, [1]]


def wrong_values(function: str, name: str, hint: Any) -> list[Any]:
    """What this parameter cannot take."""
    text = str(hint)
    optional = "None" in text
    if name == "rng":
        return ["seed", 1.5, -1]
    if name == "resamples":
        return ["many", 1.5, 100]
    if name == "clusters":
        return [[1, 2, 3], np.full(N, np.nan), np.zeros((2, 2)), [None] * N]
    if name == "where":
        return [np.ones(3, dtype=bool), np.ones(N), "all"]
    if name == "weights" and function not in AGREEMENT_WEIGHTS:
        return [np.ones(3), -np.ones(N), np.full(N, np.nan), np.full(N, np.inf), ["heavy"] * N]
    if name in ("bounds", "scale") and "tuple" in text:
        return [(1, 0), (0, 0), (0,), ("a", "b"), (0, math.nan), 3, "x"]
    if "Literal" in text and "Callable" not in text:
        return ["no such", *([] if "float" in text else [3])]
    if name == "penalty":
        return ["no such", -1.0, math.nan]
    if hint is bool or text == "bool | None":
        return ["no", 2]
    if hint is float or text == "float | None":
        wrong = [*NO_NUMBERS, *([] if optional else [None])]
        if (function, name) in UNBOUNDED:
            wrong.remove(math.inf)
        if name in LEVELS:
            return [*wrong, 0, 1, 95, -0.1]
        return wrong if name in SIGNED else [*wrong, -1.0]
    if hint is int or text == "int | None":
        return [*NO_COUNTS, *([] if optional else [None])]
    return []


def tries(each):
    """The options of a function, and values that each cannot be."""
    hints = get_type_hints(each.function)
    for name in each.parameters:
        options = SAMPLING if name == "options" else {name: hints.get(name)}
        for option, hint in options.items():
            values = [] if option in each.items else wrong_values(each.name, option, hint)
            if values:
                yield option, values


@over([each for each in CASES if dict(tries(each))])
def test_what_an_option_cannot_be_is_refused_by_name(each):
    for option, value in ((option, value) for option, values in tries(each) for value in values):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)
            with pytest.raises(InvalidInputError, match=option):
                each.call(**{option: value})


def test_there_is_something_to_try():
    tried = [f"{each.name}-{option}" for each in CASES for option, _ in tries(each)]
    assert len(tried) > 350
    for name in ("mean_estimate-confidence", "elo_ratings-k", "labels_needed-power", "accuracy-clusters"):
        assert name in tried


@over(product([each for each in CASES if each.numbers], ["text", "deep", "nothing"]))
def test_what_is_no_array_of_numbers_is_refused_by_name(each, what):
    wrong = {"text": ["x"] * N, "deep": np.ones((N, 2, 2, 2)), "nothing": None}[what]
    for name in each.numbers:
        hint = str(inspect.signature(each.function).parameters[name].annotation)
        if what == "nothing" and "None" in hint:
            continue
        if isinstance(each.items[name], dict | tuple | list):
            continue
        if what == "deep" and each.name == "adjust_p_values":  # of any shape
            continue
        with pytest.raises(InvalidInputError, match=name):
            each.call({**each.items, name: wrong})


@pytest.mark.parametrize("n_resamples", [-3, 1.5, "many", None, True])
def test_resamples_are_a_number_of_them(n_resamples):
    with pytest.raises(InvalidInputError, match="n_resamples"):
        Resamples(10, n_resamples)


@pytest.mark.parametrize("clusters", [-3, [[1, 2]], [1.0, np.nan], "abc"])
def test_resamples_are_of_clusters(clusters):
    with pytest.raises(InvalidInputError, match="clusters"):
        Resamples(clusters, 10)


def test_numpy_numbers_are_numbers():
    assert Resamples(np.int64(4), np.int32(7), np.uint8(3)).n_resamples == 7
    assert typing.get_type_hints(Resamples.__init__)["n_resamples"] is int
