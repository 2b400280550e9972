"""Slow restatements of the models of pairwise comparison, row by row, and the made-up games that tests share."""

import numpy as np
from scipy import optimize, special


def games(n=400, size=5, seed=42, tie=0.2):
    """Random games of systems with strengths from -1 to 1."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, size, n)
    second = (first + rng.integers(1, size, n)) % size
    strength = np.linspace(-1, 1, size)
    drawn = rng.random(n)
    chance = 1 / (1 + np.exp(strength[second] - strength[first]))
    outcome = np.where(drawn < tie, 0, np.where(rng.random(n) < chance, 1, 2))
    return first, second, outcome


def chances(model, d, k):
    """(first, second, tie) of one game, straight from the papers."""
    one, two = np.exp(d), 1.0
    if model == "davidson":
        nu = np.exp(k)
        whole = one + two + nu * np.sqrt(one * two)
        return one / whole, two / whole, nu * np.sqrt(one * two) / whole
    if model == "rao_kupper":
        theta = np.exp(k)
        first, second = one / (one + theta * two), two / (two + theta * one)
        return first, second, 1 - first - second
    return one / (one + two), two / (one + two), 0.0


def loss(model, parameters, size, first, second, outcome, extra, ridge=0.0):
    """Minus the log-likelihood, a row at a time."""
    strengths, rest = parameters[:size], parameters[size : size + extra.shape[1]]
    total = ridge / 2 * float(np.sum(parameters[: size + extra.shape[1]] ** 2))
    for a, b, value, x in zip(first, second, outcome, extra, strict=True):
        p = chances(model, strengths[a] - strengths[b] + x @ rest, parameters[-1])
        if value == 0:
            if model == "half":
                total -= (np.log(p[0]) + np.log(p[1])) / 2
            elif model != "omit":
                total -= np.log(p[2])
        else:
            total -= np.log(p[int(value) - 1])
    return total


def fit(model, size, first, second, outcome, extra=None, ridge=0.0):
    """Parameters by a general minimiser; strengths sum to 0."""
    extra = np.zeros((len(first), 0)) if extra is None else extra
    with_ties = model in ("davidson", "rao_kupper")
    start = np.r_[np.zeros(size + extra.shape[1]), [0.5] * with_ties]
    bounds = [(None, None)] * (len(start) - 1) + [(1e-6, None) if model == "rao_kupper" else (None, None)]
    found = optimize.minimize(
        lambda x: loss(model, x, size, first, second, outcome, extra, ridge),
        start,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-8, "maxiter": 10_000},
    )
    parameters = found.x.copy()
    parameters[:size] -= parameters[:size].mean()
    return parameters, -found.fun


def elo(size, first, second, outcome, k, initial):
    """Game by game."""
    ratings = np.full(size, float(initial))
    for a, b, value in zip(first, second, outcome, strict=True):
        expected = special.expit((ratings[a] - ratings[b]) * np.log(10) / 400)
        score = {0: 0.5, 1: 1.0, 2: 0.0}[int(value)]
        ratings[a] += k * (score - expected)
        ratings[b] -= k * (score - expected)
    return ratings
