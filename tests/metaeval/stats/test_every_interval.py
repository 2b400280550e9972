"""Every interval of every public function holds the figure that it is of: on any rows, clusters, level and draws."""

import dataclasses
import math
import warnings
from functools import partial

import numpy as np
import pytest

from metaeval.stats import Estimate, InvalidInputError, StatisticsWarning, bradley_terry
from tests.cases import over
from tests.metaeval.stats.every_call import CASES, ONE_ORDER, PAIRS
from tests.metaeval.stats.test_every_function import n_rows, parts, rows, tree

ROUNDS = 8
# Arrays of figures with their intervals, in results that hold many.
TABLES = [("values", "group_low", "group_high"), ("matrix", "low", "high")]


def variants(each):
    """The call on rows drawn at random, clustered, selected and at a level and number of resamples drawn at random."""
    rng = np.random.default_rng([ord(letter) for letter in each.name])
    for _ in range(ROUNDS):
        items, given = each.items, {}
        if items and not each.long:
            size = int(rng.integers(1, n_rows(each) + 1))
            order = rng.integers(0, n_rows(each), size)
            items = {name: tree(value, partial(rows, order=order)) for name, value in items.items()}
            if each.takes("clusters") and rng.random() < 0.5:
                given["clusters"] = rng.integers(0, max(1, size // 2), size)
            if each.takes("where") and rng.random() < 0.3:
                given["where"] = rng.random(size) < 0.7
        drawn = {
            "n_resamples": int(rng.choice([1, 2, 3, 10, 60])),
            "confidence": float(rng.choice([0.01, 0.3, 0.95, 0.999])),
            "rng": int(rng.integers(1_000)),
        }
        given |= {name: value for name, value in drawn.items() if each.takes(name)}
        try:
            yield each.call(items, **given)
        except InvalidInputError:  # too few rows, say
            continue


def holds(value, low, high):
    known = ~np.isnan(np.asarray(low, dtype=float))
    assert (known == ~np.isnan(np.asarray(high, dtype=float))).all()
    return bool(np.all((low <= value) & (value <= high) | ~known))


@pytest.mark.slow
@over(CASES)
def test_it_holds_its_figure(each):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        for result in variants(each):
            for path, part in parts(result):
                if isinstance(part, Estimate):
                    assert holds(part.value, part.low, part.high), (path, part)
                names = (
                    {field.name for field in dataclasses.fields(part)}
                    if dataclasses.is_dataclass(part)
                    else ()
                )
                for table in TABLES:
                    if set(table) <= set(names):
                        assert holds(*(getattr(part, name) for name in table)), (path, table)


@pytest.mark.parametrize("n_resamples", [1, 2, 60])
def test_those_that_a_result_is_asked_for_do_too(n_resamples):
    found = bradley_terry(PAIRS[:, 0], PAIRS[:, 1], ONE_ORDER, n_resamples=n_resamples)
    for one in found.names:
        for other in found.names:
            if one != other:
                chance = found.win_probability(one, other)
                assert math.isnan(chance.low) or chance.low <= chance.value <= chance.high
