"""Dawid and Skene's model: what is true of each item, and how each person errs, from people's labels alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, as_items
from metaeval.stats.counts import LongLabels, read_labels
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import wilson_interval
from metaeval.stats.options import as_count, as_number
from metaeval.stats.results import Result

# The least probability of anything: keeps logarithms finite.
_LEAST = 1e-10
# Fewer people than this have no intervals.
_FEWEST_PEOPLE = 4
# Probabilities that differ by less are level: the order of additions decides between them, not the labels.
_LEVEL = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class DawidSkene(Result):
    """The model, fitted.

    Attributes
    ----------
    labels : ndarray of shape (n_items,)
        The most probable value of each item; NaN without a label, or where two are equally probable.
    probabilities : ndarray of shape (n_items, n_values)
        Of each value being the true one, given the labels; NaN without a label.
    confusion : ndarray of shape (n_annotators, n_values, n_values)
        ``[a, t, o]``: how probably annotator *a* says value *o* where *t* is true. A row is NaN if the annotator
        labeled no item of which *t* is thought true.
    prior : ndarray of shape (n_values,)
        Share of items of which each value is true.
    values, annotators : ndarray
        What the columns and the first axis of `confusion` stand for.
    n_labels : ndarray of shape (n_annotators,)
        Labels of each annotator.
    matches : ndarray of shape (n_annotators,)
        Expected number of each annotator's labels that are the true value.
    doubt : ndarray of shape (n_annotators,)
        Sum over each annotator's labels of *q (1 - q)*, *q* being how probably the label is the true value.
    log_likelihood : float
        Of the labels, at `prior` and `confusion`.
    n_iter : int
        EM steps taken.
    converged : bool
        Whether the last step raised the log-likelihood by less than ``tol`` a label.
    """

    _axes: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "confusion": ("annotators", "values", "values"),
        "prior": ("values",),
        "n_labels": ("annotators",),
        "matches": ("annotators",),
        "doubt": ("annotators",),
    }

    labels: Floats
    probabilities: Floats
    confusion: Floats
    prior: Floats
    values: Floats
    annotators: np.ndarray[Any, Any]
    n_labels: Integers
    matches: Floats
    doubt: Floats
    log_likelihood: float
    n_iter: int
    converged: bool

    def accuracy(self, confidence: float = 0.95) -> tuple[Estimate, ...]:
        """Share of each annotator's labels that are the true value, as far as the model knows it.

        The interval is Wilson's with the number of labels less what is not known of them: *doubt / (p (1 - p))* of
        Louis' formula, *p* being the share. Of fewer than four people there is none, since what is true then hangs
        on so few that the doubts of one are the doubts of all.

        References
        ----------
        T. A. Louis, "Finding the observed information matrix when using the EM algorithm", JRSS B 44 (1982).
        """
        n_people = int(np.count_nonzero(self.n_labels))
        return tuple(
            _accuracy(float(match), float(doubt), int(n), n_people, confidence)
            for match, doubt, n in zip(self.matches, self.doubt, self.n_labels, strict=True)
        )


@aligned(apart=("values",))
def dawid_skene(
    labels: Any, *, values: ArrayLike | None = None, n_iter: int = 200, tol: float = 1e-7
) -> DawidSkene:
    """Infer true values and people's confusion matrices by EM.

    Each item has a true value, drawn from ``prior``; each person says a value with a probability that depends on the
    true one and on the person, independently of the others. EM starts from the shares of the votes, works in
    logarithms, and has no randomness: the same labels give the same result.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value). **People only**: with a judge
        among the annotators the judge votes itself right, and two judges of one family outvote people.
    values : array_like of shape (n_values,), optional
        All values that may be true. Default: those that were given.
    n_iter : int, default 200
        Most EM steps.
    tol : float, default 1e-7
        Stop when a step raises the log-likelihood by less than this a label; 0 takes all ``n_iter`` steps.

    Returns
    -------
    DawidSkene

    Warns
    -----
    StatisticsWarning
        Nobody labeled anything, or the steps ended before ``tol`` was reached.

    Notes
    -----
    With fewer than three labels an item the model is not identified: who of two is right cannot be told. It finds a
    local maximum, the one that the majority leads to, so people must be right more often than wrong.

    References
    ----------
    A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm", Appl.
    Statist. 28 (1979).

    Examples
    --------
    >>> labels = [[1, 1, 1], [1, 1, 2], [2, 2, 1], [2, 2, 2], [1, 1, 2]] * 10
    >>> model = dawid_skene(labels)
    >>> model.labels[:5].tolist(), model.converged
    ([1.0, 1.0, 2.0, 2.0, 1.0], True)
    >>> model.confusion[2].round(2).tolist()     # the third person is right on 1 of 3, and on 1 of 2
    [[0.33, 0.67], [0.5, 0.5]]
    """
    n_iter, tol = as_count(n_iter, "n_iter", 1), as_number(tol, "tol", 0)
    read = read_labels(labels)
    known, code = _codes(read, values)
    n_values, n_annotators = len(known), len(read.annotators)
    size = np.bincount(read.item, minlength=read.n_items)
    labelled = np.flatnonzero(size)
    if not len(labelled):
        warn("no item has a label")
        return _nothing(read, known)
    place = np.cumsum(size > 0) - 1
    given = sparse.csr_array(
        (np.ones(len(code)), (place[read.item], read.annotator * n_values + code)),
        shape=(len(labelled), n_annotators * n_values),
    )
    em = _Em(given, n_annotators, n_values)
    steps, converged = em.run(n_iter, tol)
    if tol > 0 and not converged:
        warn(f"Dawid-Skene did not converge in {n_iter} steps: raise n_iter or tol")
    probabilities = np.full((read.n_items, n_values), np.nan)
    probabilities[labelled] = em.probabilities
    chosen = np.full(read.n_items, np.nan)
    chosen[labelled] = _most_probable(em.probabilities, known)
    expected = em.expected
    right = em.probabilities[place[read.item], code]
    doubt = np.asarray(np.bincount(read.annotator, right * (1 - right), n_annotators), dtype=np.float64)
    true = expected.sum(axis=1)
    confusion = np.where(true[:, np.newaxis] > _LEAST * 10, em.confusion, np.nan).transpose(0, 2, 1)
    return DawidSkene(
        labels=chosen,
        probabilities=probabilities,
        confusion=confusion,
        prior=em.prior,
        values=known,
        annotators=read.annotators,
        n_labels=np.bincount(read.annotator, minlength=n_annotators),
        matches=np.einsum("akk->a", expected),
        doubt=doubt,
        log_likelihood=em.likelihood(),
        n_iter=steps,
        converged=converged,
    )


class _Em:
    """EM on a sparse matrix with a row an item and a column for each (annotator, value said)."""

    def __init__(self, given: sparse.csr_array, n_annotators: int, n_values: int) -> None:
        self.given, self.by_column = given, given.T.tocsr()
        self.shape = (n_annotators, n_values, n_values)
        shares = np.asarray(given @ np.tile(np.eye(n_values), (n_annotators, 1)))
        self.probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
        self.maximise()

    def maximise(self) -> None:
        """Prior and confusion from the probabilities; confusion is [annotator, value said, true value]."""
        self.prior: Floats = self.probabilities.mean(axis=0)
        self.expected: Floats = np.asarray(self.by_column @ self.probabilities).reshape(self.shape)
        raised = np.maximum(self.expected, _LEAST)
        self.confusion: Floats = raised / raised.sum(axis=1, keepdims=True)

    def likelihood(self, *, keep: bool = False) -> float:
        """Log-likelihood of the labels; keeps the probabilities of the true values if asked to."""
        logs = np.asarray(self.given @ np.log(self.confusion).reshape(-1, self.shape[2]))
        logs += np.log(np.maximum(self.prior, _LEAST))
        # Column by column: reductions along a short last axis are slow.
        largest = logs[:, 0].copy()
        for column in logs.T[1:]:
            np.maximum(largest, column, out=largest)
        logs -= largest[:, np.newaxis]
        np.exp(logs, out=logs)
        total = logs @ np.ones(self.shape[2])
        if keep:
            logs /= total[:, np.newaxis]
            self.probabilities = logs
        return float(largest.sum() + np.log(total).sum())

    def run(self, n_iter: int, tol: float) -> tuple[int, bool]:
        """(steps taken, whether they converged)."""
        before = -np.inf
        for step in range(1, n_iter + 1):
            now = self.likelihood(keep=True)
            self.maximise()
            if now - before < tol * self.given.nnz:
                return step, True
            before = now
        return n_iter, False


def _codes(read: LongLabels, values: ArrayLike | None) -> tuple[Floats, Integers]:
    """The values that may be true, ascending, and the place of each label among them."""
    if values is None:
        return read.values, read.code
    known = np.unique(as_items(values, "values"))
    if np.isnan(known).any():
        raise InvalidInputError("values: a value is missing (NaN)")
    strange = read.values[~np.isin(read.values, known)]
    if len(strange):
        raise InvalidInputError(f"labels: {strange[0]:g} is none of the values")
    return known, np.searchsorted(known, read.values)[read.code]


def _most_probable(probabilities: Floats, values: Floats) -> Floats:
    """The most probable value; NaN where another is as probable."""
    best = probabilities.max(axis=1, keepdims=True)
    level = (probabilities >= best - _LEVEL).sum(axis=1) > 1
    return np.where(level, np.nan, values[probabilities.argmax(axis=1)])


def _accuracy(match: float, doubt: float, n: int, n_people: int, confidence: float) -> Estimate:
    if n == 0:
        return Estimate(np.nan, np.nan, np.nan, n=0, reason="no label of this annotator")
    share = min(1.0, match / n)
    if n_people < _FEWEST_PEOPLE:
        reason = f"no interval: of fewer than {_FEWEST_PEOPLE} people it cannot be told how sure the model is"
        return Estimate(share, np.nan, np.nan, n, n, reason=reason)
    unknown = doubt / max(share * (1 - share), doubt / n, _LEAST)
    low, high = wilson_interval(share, max(1.0, n - unknown), confidence)
    return Estimate(share, low, high, n, n, "wilson")


def _nothing(read: LongLabels, values: Floats) -> DawidSkene:
    k, a = len(values), len(read.annotators)
    return DawidSkene(
        labels=np.full(read.n_items, np.nan),
        probabilities=np.full((read.n_items, k), np.nan),
        confusion=np.full((a, k, k), np.nan),
        prior=np.full(k, np.nan),
        values=values,
        annotators=read.annotators,
        n_labels=np.zeros(a, dtype=np.intp),
        matches=np.zeros(a),
        doubt=np.zeros(a),
        log_likelihood=np.nan,
        n_iter=0,
        converged=False,
    )
