"""The solvers: slopes against differences of the likelihood, separation, batches."""

import numpy as np
import pytest

from metaeval.stats import tie_models
from metaeval.stats.bradley_terry_fit import Design, components, fit_strengths, separated

PAIRS = np.array([(0, 1), (0, 2), (1, 2)])


def design(model="half", ridge=0.0):
    return Design(PAIRS[:, 0], PAIRS[:, 1], 3, np.zeros((3, 0)), model, ridge)


@pytest.mark.parametrize("model", tie_models.TIE_MODELS)
def test_slopes_are_those_of_the_likelihood(model):
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, (3, 5)).astype(float)
    d, k, step = rng.normal(size=5), 0.4, 1e-5

    def at(move, tilt=0.0):
        return np.array(
            [tie_models.log_likelihood(model, d[[i]] + move, k + tilt, counts[:, [i]]) for i in range(5)]
        )

    found = tie_models.slopes(model, d[np.newaxis], np.array([[k]]), *counts)
    np.testing.assert_allclose(found.d[0], (at(step) - at(-step)) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(found.dd[0], -(at(step) - 2 * at(0) + at(-step)) / step**2, atol=1e-3)
    if found.k is not None:
        np.testing.assert_allclose(found.k[0], (at(0, step) - at(0, -step)) / (2 * step), atol=1e-6)
        np.testing.assert_allclose(
            found.kk[0], -(at(0, step) - 2 * at(0) + at(0, -step)) / step**2, atol=1e-3
        )
        mixed = at(step, step) - at(step, -step) - at(-step, step) + at(-step, -step)
        np.testing.assert_allclose(found.dk[0], -mixed / (4 * step**2), atol=1e-3)


@pytest.mark.parametrize("model", tie_models.TIE_MODELS)
def test_chances_add_up(model):
    first, second, tie = tie_models.outcome_chances(model, np.array([-800.0, -1, 0, 1, 800]), np.array(0.3))
    np.testing.assert_allclose(first + second + tie, 1)
    np.testing.assert_allclose(first, second[::-1], atol=1e-12)
    assert (np.diff(first) >= 0).all()


def test_a_batch_is_its_members():
    counts = np.random.default_rng(1).integers(1, 50, (6, 3, 3)).astype(float)
    for model in tie_models.TIE_MODELS:
        whole = fit_strengths(design(model), counts).parameters
        alone = [fit_strengths(design(model), each[np.newaxis]).parameters[0] for each in counts]
        np.testing.assert_allclose(whole, alone, atol=1e-9)
        # From elsewhere to the same place.
        start = np.array([1.0, -1.0, 0.0, 0.5])[: whole.shape[1]]
        np.testing.assert_allclose(fit_strengths(design(model), counts, start).parameters, whole, atol=1e-9)


def test_strong_leads_do_not_overshoot():
    counts = np.array([[[1e6, 1e6, 1e6], [1, 1, 1], [0, 0, 0]]], dtype=float)
    found = fit_strengths(design(), counts)
    assert found.converged[0]
    d = found.parameters[0, 0] - found.parameters[0, 1]
    assert 13 < d < 15


def test_separation():
    # 0 beats 1, 1 beats 2, 2 beats 0: a ring. Without the last game 0 only wins.
    ring = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]], dtype=float)
    chain = np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=float)
    tied = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], dtype=float)
    assert separated(design(), np.stack([ring, chain, tied])).tolist() == [False, True, False]
    assert separated(design("omit"), np.stack([ring, chain, tied])).tolist() == [False, True, True]
    assert not separated(design(ridge=1), np.stack([chain])).any()
    assert not separated(design(), np.stack([ring, ring])).any()
    assert len(set(components(design(), chain).tolist())) == 3
