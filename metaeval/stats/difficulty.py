"""How hard each instruction is for models against a baseline, estimated from several models together."""

import numpy as np

from metaeval.stats.arrays import Floats
from metaeval.stats.tie_models import logistic

_STEPS = 100
_TOLERANCE = 1e-8
_WHOLE_STEP = 0.1


def joint_difficulty(target: Floats, length: Floats, ridge: float = 1.0) -> Floats:
    """Effects of the instructions in a logistic regression of all models' preferences.

    The log odds of model m on instruction i are a_m + b_m length + d_i, with a normal prior of precision ``ridge``
    on all of them. What is returned is d: high where models do well.

    Parameters
    ----------
    target : ndarray of shape (n_items, n_models)
        Preferences in [0, 1]; NaN where missing.
    length : ndarray of shape (n_items, n_models)
        The length feature.

    Returns
    -------
    ndarray of shape (n_items,)
        0 for an instruction on which there is no preference.
    """
    n_items, n_models = target.shape
    known = ~np.isnan(target)
    goal, feature = np.where(known, target, 0.5), np.where(known, length, 0.0)
    base, slope, effect = np.zeros(n_models), np.zeros(n_models), np.zeros(n_items)
    for _ in range(_STEPS):
        chance = logistic(base + slope * feature + effect[:, np.newaxis])
        pull = np.where(known, goal - chance, 0.0)
        bend = np.where(known, chance * (1 - chance), 0.0)
        # Newton's step, the instructions eliminated first: each has a single number on the diagonal.
        gradient = np.r_[pull.sum(axis=0) - ridge * base, (pull * feature).sum(axis=0) - ridge * slope]
        pull_effect = pull.sum(axis=1) - ridge * effect
        own = bend.sum(axis=1) + ridge
        cross = np.concatenate([bend, bend * feature], axis=1)
        mixed = np.diag((bend * feature).sum(axis=0))
        information = np.block(
            [[np.diag(bend.sum(axis=0)), mixed], [mixed, np.diag((bend * feature**2).sum(axis=0))]]
        )
        information += ridge * np.eye(2 * n_models)
        reduced = information - cross.T @ (cross / own[:, np.newaxis])
        step = np.linalg.solve(reduced, gradient - cross.T @ (pull_effect / own))
        step_effect = (pull_effect - cross @ step) / own
        move_base, move_slope = step[:n_models], step[n_models:]
        moved = float(np.abs(move_base + move_slope * feature + step_effect[:, np.newaxis]).max(initial=0.0))
        scale = 1.0 if moved < _WHOLE_STEP else np.log1p(moved) / moved
        base, slope, effect = (
            base + scale * move_base,
            slope + scale * move_slope,
            effect + scale * step_effect,
        )
        if moved < _TOLERANCE:
            break
    return effect
