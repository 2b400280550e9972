"""Fitting strengths: Newton's method on many sets of counts at once, and Newman's iteration as a second opinion.

The log-likelihoods are concave. Newton's step is shortened to log(1 + D) / D, where D is the most by which it would
move a difference of strengths: for likelihoods whose third derivative is bounded by their second, that never
overshoots (T. Sun and Q. Tran-Dinh, "Generalized self-concordant functions", Math. Program. 178 (2019)), so no
line search is needed and a thousand resamples step together.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from metaeval.stats.arrays import Booleans, Floats, Integers
from metaeval.stats.tie_models import WITH_PARAMETER, TieModel, slopes, start_of

_STEPS = 100
_TOLERANCE = 1e-9
# Near the solution whole steps: there Newton's error is squared each time.
_WHOLE_STEP = 0.1
# An eigenvalue of the scaled information below it: some combination of parameters is in no comparison.
_SINGULAR = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Which systems each pair compares, and what else favors the first one.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,)
        Numbers of the systems.
    n_systems : int
    extra : ndarray of shape (n_pairs, n_extra)
        Covariates, added to the difference of strengths with a coefficient each.
    model : str
        The tie model.
    ridge : float
        Prior precision of every strength and coefficient on the log scale; 0 for none.
    """

    first: Integers
    second: Integers
    n_systems: int
    extra: Floats
    model: TieModel
    ridge: float = 0.0

    @property
    def n_parameters(self) -> int:
        """Strengths, coefficients, and the tie parameter if there is one."""
        return self.n_systems + int(self.extra.shape[1]) + int(self.model in WITH_PARAMETER)

    def incidence(self) -> sparse.csr_array:
        """(n_pairs, n_systems): 1 for the first system, -1 for the second."""
        n = len(self.first)
        rows = np.arange(n)
        return sparse.csr_array(
            (
                np.r_[np.ones(n), -np.ones(n)],
                (np.r_[rows, rows], np.r_[self.first, self.second]),
            ),
            shape=(n, self.n_systems),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Parameters of each set of counts: (n_fits, n_parameters), strengths summing to 0; and which are right."""

    parameters: Floats
    converged: Booleans


def fit_strengths(design: Design, counts: Floats, start: Floats | None = None) -> Fits:
    """Maximise the likelihood of every set of counts.

    Parameters
    ----------
    design : Design
    counts : ndarray of shape (n_fits, 3, n_pairs)
        Wins of the first, wins of the second and ties of each pair.
    start : ndarray of shape (n_parameters,), optional
        Where to begin; strengths of 0 by default.
    """
    n_fits = len(counts)
    parameters = np.zeros((n_fits, design.n_parameters)) if start is None else np.tile(start, (n_fits, 1))
    with_ties = design.model in WITH_PARAMETER
    if with_ties:
        guess = start_of(design.model, counts)
        finite = np.isfinite(guess) & (guess > 0 if design.model == "rao_kupper" else True)
        parameters[:, -1] = np.where(finite & (start is not None), parameters[:, -1], guess)
    converged = np.zeros(n_fits, dtype=bool)
    solver = _Solver(design)
    left = np.arange(n_fits)
    # Counts without a finite estimate lead to infinite steps; these fits are given up as not converged.
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for _ in range(_STEPS):
            step = solver.step(parameters[left], counts[left])
            moved = np.abs(solver.differences(step)).max(axis=1, initial=0.0)
            if with_ties:
                moved = moved + np.abs(step[:, -1])
            small = moved < _WHOLE_STEP
            scale = np.where(small, 1.0, np.log1p(moved) / np.where(small, 1.0, moved))
            new = parameters[left] + scale[:, np.newaxis] * step
            if design.model == "rao_kupper":  # theta stays above 1
                new[:, -1] = np.maximum(new[:, -1], parameters[left, -1] / 10)
            parameters[left] = new
            done = np.abs(step).max(axis=1, initial=0.0) < _TOLERANCE
            converged[left[done]] = True
            left = left[~done & np.isfinite(moved)]
            if not len(left):
                break
    return Fits(parameters, converged)


class _Solver:
    """Newton's step for a design, whatever the counts."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.transposed = design.incidence().T.tocsr()
        size = design.n_systems
        code = design.first * size + design.second
        self.code, place = np.unique(code, return_inverse=True)
        self.mirror = self.code % size * size + self.code // size
        # Rows of one pair are added up first; for counted pairs there is nothing to add.
        self.by_pair = None
        if len(self.code) < len(code):
            entries = (np.ones(len(code)), (place, np.arange(len(code))))
            self.by_pair = sparse.csr_array(entries, shape=(len(self.code), len(code)))
        else:
            self.code, self.mirror = code, design.second * size + design.first
        extra = design.extra
        self.products = np.einsum("pk,pl->pkl", extra, extra).reshape(len(extra), -1)

    def differences(self, parameters: Floats) -> Floats:
        """What favors the first system of each pair, (n_fits, n_pairs)."""
        size, n_extra = self.design.n_systems, self.design.extra.shape[1]
        result: Floats = parameters[:, self.design.first] - parameters[:, self.design.second]
        if n_extra:
            result = result + parameters[:, size : size + n_extra] @ self.design.extra.T
        return result

    def step(self, parameters: Floats, counts: Floats) -> Floats:
        gradient, information = self.derivatives(parameters, counts)
        try:
            return np.asarray(np.linalg.solve(information, gradient[:, :, np.newaxis])[:, :, 0], np.float64)
        except np.linalg.LinAlgError:
            return np.stack([_solve(each, pull) for each, pull in zip(information, gradient, strict=True)])

    def derivatives(self, parameters: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Gradient (n_fits, n_parameters) and information matrix, which the sum of strengths makes regular."""
        design = self.design
        n_fits, size, n_extra = len(parameters), design.n_systems, design.extra.shape[1]
        k = parameters[:, -1:] if design.model in WITH_PARAMETER else np.zeros((n_fits, 1))
        by_pair = slopes(design.model, self.differences(parameters), k, *np.moveaxis(counts, 1, 0))
        gradient = np.zeros((n_fits, design.n_parameters))
        information = np.zeros((n_fits, design.n_parameters, design.n_parameters))
        gradient[:, :size] = (self.transposed @ by_pair.d.T).T
        information[:, :size, :size] = self._laplacian(by_pair.dd)
        if n_extra:
            last = slice(size, size + n_extra)
            gradient[:, last] = by_pair.d @ design.extra
            for place, column in enumerate(design.extra.T):
                cross = (self.transposed @ (by_pair.dd * column).T).T
                information[:, :size, size + place] = information[:, size + place, :size] = cross
            information[:, last, last] = (by_pair.dd @ self.products).reshape(n_fits, n_extra, n_extra)
        if by_pair.k is not None and by_pair.kk is not None and by_pair.dk is not None:
            gradient[:, -1] = by_pair.k.sum(axis=1)
            information[:, -1, -1] = by_pair.kk.sum(axis=1)
            cross = (self.transposed @ by_pair.dk.T).T
            information[:, :size, -1] = information[:, -1, :size] = cross
            if n_extra:
                cross = by_pair.dk @ design.extra
                information[:, size:-1, -1] = information[:, -1, size:-1] = cross
            self._hold_ties(gradient, information, counts)
        free = size + n_extra
        if design.ridge:
            gradient[:, :free] -= design.ridge * parameters[:, :free]
            diagonal = np.arange(free)
            information[:, diagonal, diagonal] += design.ridge
        return gradient, information

    def _laplacian(self, curvature: Floats) -> Floats:
        """(n_fits, n_systems, n_systems): the strengths' information; their sum, which is in no comparison, is held."""
        size = self.design.n_systems
        if self.by_pair is not None:
            curvature = (self.by_pair @ curvature.T).T
        flat = np.zeros((len(curvature), size * size))
        flat[:, self.code] -= curvature
        flat[:, self.mirror] -= curvature
        result: Floats = flat.reshape(-1, size, size)
        own = -result.sum(axis=2)
        diagonal = np.arange(size)
        result[:, diagonal, diagonal] = own
        result += (own.mean(axis=1) / size)[:, np.newaxis, np.newaxis]
        return result

    def _hold_ties(self, gradient: Floats, information: Floats, counts: Floats) -> None:
        """Without a tie the tie parameter stays at its edge."""
        edge = ~counts[:, 2].any(axis=1)
        gradient[edge, -1] = 0.0
        information[edge, -1, :] = information[edge, :, -1] = 0.0
        information[edge, -1, -1] = 1.0


def _solve(information: Floats, gradient: Floats) -> Floats:
    """One step; NaN where the counts do not determine it."""
    try:
        return np.asarray(np.linalg.solve(information, gradient), np.float64)
    except np.linalg.LinAlgError:
        return np.full_like(gradient, np.nan)


def differences_at(design: Design, point: Floats) -> Floats:
    """What favors the first system of each pair, (n_pairs,)."""
    result: Floats = _Solver(design).differences(point[np.newaxis])[0]
    return result


def derivatives_at(design: Design, counts: Floats, point: Floats) -> tuple[Floats, Floats]:
    """Gradient (n_parameters,) and information (n_parameters, n_parameters) of counts of shape (3, n_pairs)."""
    gradient, information = _Solver(design).derivatives(point[np.newaxis], counts[np.newaxis])
    return gradient[0], information[0]


def identified(design: Design, counts: Floats) -> bool:
    """Whether the counts of shape (3, n_pairs) determine every parameter, as far as covariates go."""
    start = np.zeros((1, design.n_parameters))
    if design.model in WITH_PARAMETER:
        start[0, -1] = 0.5
    _, information = _Solver(design).derivatives(start, counts[np.newaxis])
    scale = np.sqrt(np.maximum(np.diagonal(information[0]), 1e-300))
    return bool(np.linalg.eigvalsh(information[0] / np.outer(scale, scale))[0] > _SINGULAR)


def components(design: Design, counts: Floats) -> Integers:
    """Number of the strong component of each system in the graph "was preferred to, or tied with".

    Strengths have a finite estimate within a component, and only there: L. R. Ford, "Solution of a ranking problem
    from binary comparisons", Am. Math. Monthly 64 (1957). ``counts`` has shape (3, n_pairs).
    """
    tied = (counts[2] > 0) if design.model != "omit" else np.zeros(counts.shape[1], dtype=bool)
    ahead, behind = (counts[0] > 0) | tied, (counts[1] > 0) | tied
    source = np.r_[design.first[ahead], design.second[behind]]
    target = np.r_[design.second[ahead], design.first[behind]]
    shape = (design.n_systems, design.n_systems)
    graph = sparse.csr_array((np.ones(len(source)), (source, target)), shape=shape)
    return np.asarray(csgraph.connected_components(graph, connection="strong")[1], np.intp)


def separated(design: Design, counts: Floats) -> Booleans:
    """Which sets of counts, (n_fits, 3, n_pairs), leave some strength without a finite estimate."""
    if design.ridge:
        return np.zeros(len(counts), dtype=bool)
    # What happened in every one of them mostly settles it for all.
    if len(counts) and not components(design, counts.min(axis=0)).any():
        return np.zeros(len(counts), dtype=bool)
    return np.array([bool(components(design, each).any()) for each in counts], dtype=bool)


def newman(design: Design, counts: Floats, *, limit: int = 10_000, tolerance: float = 1e-10) -> Fits:
    """Strengths by fixed-point iteration: no derivatives, no linear algebra, hence a check of `fit_strengths`.

    M. E. J. Newman, "Efficient computation of rankings from pairwise comparisons", JMLR 24 (2023), equations (19)
    and (29); for Rao and Kupper's model the minorisation of D. R. Hunter, "MM algorithms for generalized
    Bradley-Terry models", Ann. Statist. 32 (2004), section 4. Neither covariates nor a ridge.

    Parameters
    ----------
    design : Design
    counts : ndarray of shape (3, n_pairs)
    """
    wins, ties = _matrices(design, counts)
    strength, k = np.ones(design.n_systems), 0.5 if design.model == "davidson" else 2.0
    if design.model in ("half", "omit"):
        wins, ties, k = wins + (ties / 2 if design.model == "half" else 0.0), np.zeros_like(ties), 0.0
    converged = False
    for _ in range(limit):
        if design.model == "rao_kupper":
            new, k = _rao_kupper_step(wins, ties, strength, k)
        else:
            new, k = _davidson_step(wins, ties, strength, k)
        new /= np.exp(np.log(new).mean())
        converged = bool(np.abs(np.log(new / strength)).max() < tolerance)
        strength = new
        if converged:
            break
    parameters = np.log(strength)
    if design.model in WITH_PARAMETER:
        parameters = np.r_[parameters, np.log(k) if k > 0 else -np.inf]
    return Fits(parameters[np.newaxis], np.array([converged]))


def _matrices(design: Design, counts: Floats) -> tuple[Floats, Floats]:
    shape = (design.n_systems, design.n_systems)
    wins, ties = np.zeros(shape), np.zeros(shape)
    np.add.at(wins, (design.first, design.second), counts[0])
    np.add.at(wins, (design.second, design.first), counts[1])
    np.add.at(ties, (design.first, design.second), counts[2])
    return wins, ties + ties.T


def _davidson_step(wins: Floats, ties: Floats, strength: Floats, nu: float) -> tuple[Floats, float]:
    root = np.sqrt(np.outer(strength, strength))
    whole = np.add.outer(strength, strength) + nu * root
    credit = wins + ties / 2
    top = (credit * (strength + nu * root / 2) / whole).sum(axis=1)
    bottom = (credit.T * (1 + nu * root / (2 * strength[:, np.newaxis])) / whole).sum(axis=1)
    if ties.any():
        nu = float((ties * np.add.outer(strength, strength) / whole).sum() / 2)
        nu /= float((wins * root / whole).sum())
    else:
        nu = 0.0
    return top / bottom, nu


def _rao_kupper_step(wins: Floats, ties: Floats, strength: Floats, theta: float) -> tuple[Floats, float]:
    own, other = strength[:, np.newaxis], strength[np.newaxis]
    credit = wins + ties
    bottom = credit / (own + theta * other) + theta * credit.T / (theta * own + other)
    new = credit.sum(axis=1) / bottom.sum(axis=1)
    # Hunter's equation for theta: n_ties 2 theta / (theta^2 - 1) = c, with each tie once.
    drawn = float(ties.sum()) / 2
    pull = float((credit * new[np.newaxis] / (new[:, np.newaxis] + theta * new[np.newaxis])).sum())
    if drawn == 0:
        return new, 1.0
    ratio = drawn / pull
    return new, ratio + float(np.sqrt(1 + ratio**2))
