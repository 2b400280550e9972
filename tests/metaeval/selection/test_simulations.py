"""Known truth: small seeded versions of the table in docs/statistics/choosing.md (bench/simulations_selection.py)."""

import numpy as np
import pytest

from bench.simulations_selection import World, equal, simulate, specialists


@pytest.mark.slow
def test_held_out_is_right_where_naive_is_not():
    found = simulate(World("", (equal(20),), (200,)), 20, seed=1, n_resamples=20)
    assert found["naive"] > 0.025
    assert abs(found["held_out"]) < 3 * found["error"]
    assert found["covered"] > 0.85
    assert found["all_best_in_set"] >= 0.9
    assert found["false_clear"] <= 0.05


@pytest.mark.slow
def test_composites_of_judges_that_do_not_differ():
    found = simulate(World("", (equal(8, n_categories=5),), (150,)), 20, seed=2, n_resamples=10)
    assert found["composite_naive"] > 0.05
    assert abs(found["composite_held_out"]) < 0.015
    assert found["composite_used"] <= 0.1


@pytest.mark.slow
def test_composites_of_specialists():
    found = simulate(World("", (specialists(5, 0.2),), (200,)), 10, seed=3, n_resamples=20)
    assert found["composite_used"] == 1.0
    assert abs(found["held_out"]) < 3 * found["error"] + 0.005


@pytest.mark.slow
@pytest.mark.parametrize("n", [(60,), (30, 90)])
def test_two_equally_best_are_seldom_told_apart(n):
    table = np.r_[np.full(2, 0.85), np.full(3, 0.7)][:, np.newaxis]
    found = simulate(World("", (table,) * len(n), n), 25, seed=4, n_resamples=0)
    assert found["false_clear"] <= 0.1
    assert found["best_in_set"] >= 0.9
    assert found["set_size"] < 4
