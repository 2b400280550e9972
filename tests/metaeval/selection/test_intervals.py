"""Intervals of an objective over several datasets."""

import math

import numpy as np
import pytest

from metaeval.selection import choose
from metaeval.stats import wilson_interval
from tests.metaeval.selection.build import dataset, judges


def test_a_few_that_are_all_right_prove_little():
    few = dataset({"a": [1] * 10}, name="Few")
    many = dataset({"a": [1] * 300 + [2] * 100}, name="Many")
    found = choose([few, many], judges("a"))
    # Wilson's interval of 10 of 10 is 0.7225 to 1, of 300 of 400 it is 0.7054 to 0.7899 (clusters are worth one
    # item each). Half of each: 0.875 - sqrt(0.13876^2 + 0.02232^2) to 0.875 + sqrt(0 + 0.01995^2).
    for estimate in (found.standing("a").objective, found.held_out):
        assert estimate.value == 0.875
        assert estimate.low == pytest.approx(0.875 - math.hypot(0.13876, 0.02232), abs=5e-4)
        assert estimate.high == pytest.approx(0.875 + 0.01995, abs=5e-4)
    assert wilson_interval(1.0, 10)[0] == pytest.approx(1 - 2 * 0.13876, abs=1e-4)


def test_the_same_instructions_twice_tell_nothing_new():
    said = {"a": [1] * 30 + [2] * 20}
    fields = {"clusters": np.arange(50).astype(str)}
    once = choose([dataset(said, name="One", **fields)], judges("a")).standing("a").objective
    twice = choose([dataset(said, name=name, **fields) for name in ("One", "Two")], judges("a"))
    objective = twice.standing("a").objective
    assert (objective.low, objective.high) == pytest.approx((once.low, once.high), abs=0.01)
    apart = choose([dataset(said, name=name) for name in ("One", "Two")], judges("a"))
    assert apart.standing("a").objective.low > once.low + 0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "chances", "weights"),
    [((10, 800), (0.95, 0.95), (1, 1)), ((10, 800), (0.8, 0.8), (0.1, 1)), ((30, 60), (0.6, 0.98), (3, 1))],
)
def test_they_cover(sizes, chances, weights):
    # With the clusters of all datasets in one variance the first of these is covered in 39% of samples.
    rng, covered = np.random.default_rng(30), []
    truth = np.average(chances, weights=weights)
    for _ in range(30 if max(sizes) > 100 else 100):
        parts = [
            dataset({"a": np.where(rng.random(n) < chance, 1.0, 2.0)}, name=str(n), weight=float(weight))
            for n, chance, weight in zip(sizes, chances, weights, strict=True)
        ]
        found = choose(parts, judges("a"), n_resamples=50, n_repeats=1)
        objective = found.standing("a").objective
        assert (found.held_out.low, found.held_out.high) == (objective.low, objective.high)
        covered.append(objective.low <= truth <= objective.high)
    assert np.mean(covered) >= 0.9


def test_one_instruction_beside_many_is_worth_one():
    lone = dataset({"a": [1] * 5}, name="Lone", clusters=["same"] * 5)
    many = dataset({"a": [1] * 40}, name="Many")
    assert choose([lone, many], judges("a")).standing("a").objective.low < 0.65
