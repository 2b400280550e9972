"""Cluster bootstrap: which clusters are drawn how often, and the totals that follow.

Every statistic here is a function of totals over items (a sum and a count, the sums of several groups, a
table of coincidences). A resample draws clusters with replacement, so its totals are the clusters' totals
weighted by how often each was drawn. Two ways to get them, both exact:

- *shared*: the draw counts themselves are kept, (n_clusters, n_resamples), and everything asked of one
  `Resamples` sees the same draws, so that judges are compared on the same resamples;
- *grouped*: clusters with equal totals are interchangeable, so only the number of draws of each distinct
  row is needed, and these are multinomial. A million labels have a few dozen distinct rows.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from hashlib import sha256
from typing import Any

import numpy as np

from metaeval.stats.alignment import is_indexed
from metaeval.stats.arrays import Floats, Integers, Seed, generator
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.ids import as_codes
from metaeval.stats.options import as_count

DEFAULT_RESAMPLES = 10_000

# Draw counts kept in memory at most, one byte each; beyond it clusters are so many that grouping is what
# one wants.
_SHARED_LIMIT = 64_000_000
# The largest product of codes of columns that is counted instead of sorted.
_MOST_CODES = 500_000
# Totals kept for who asks for the same again, in numbers.
_MOST_KEPT = 3_000_000
# Draws made at once by the direct ways, which bounds their memory.
_CHUNK = 4_000_000
# One multinomial component costs about as much as this many direct draws (measured, numpy 2.4).
_DIRECT_DRAWS_PER_COMPONENT = 8
# Columns up to which adding them up one by one costs less than counting how often each row is drawn.
_FEW_COLUMNS = 4
# Sums that differ by less are the same sum, added in another order.
_DECIMALS = 12


class Resamples:
    """A fixed set of cluster-bootstrap resamples of a fixed list of items.

    Parameters
    ----------
    clusters : array_like of shape (n_items,) or int
        The cluster of each item (numbers or strings; items that share an instruction share a cluster), or a
        number of items that are each a cluster of their own.
    n_resamples : int, default 10_000
        How many resamples; 0 for none, which gives estimates without an interval.
    rng : int, numpy.random.Generator or None
        Seed. None is a fixed seed: the same input gives the same intervals, always.
    shared : bool, default True
        Keep the draws, so that all that is computed from this object is computed on the same resamples.
        Above 64 million counts (6,400 clusters at 10,000 resamples) each statistic draws for itself, and a
        paired difference, which groups both sides jointly, is still paired.

    Examples
    --------
    >>> resamples = Resamples(["a", "a", "b", "c"], n_resamples=1000, rng=7)
    >>> resamples.n_items, resamples.n_clusters
    (4, 3)
    >>> resamples.totals(np.ones((4, 1))).shape
    (1000, 1)
    """

    def __init__(
        self, clusters: Any, n_resamples: int = DEFAULT_RESAMPLES, rng: Seed = None, *, shared: bool = True
    ) -> None:
        n_resamples = as_count(n_resamples, "n_resamples")
        self.codes: Integers | None = None  # None: every item is its own cluster
        # The labels of the items, if the clusters have any.
        self.index: Any = clusters.index if is_indexed(clusters) else None
        if isinstance(clusters, int | np.integer):
            self.n_items = self.n_clusters = as_count(clusters, "clusters")
        else:
            self.codes, self.n_clusters = as_codes(clusters, "clusters")
            self.n_items = len(self.codes)
        self.n_resamples = n_resamples
        # Every draw starts again from this state, so that results do not depend on what was asked before.
        self._seed = int(generator(rng).integers(2**62)) if n_resamples else 0
        self.is_shared = shared and self.n_clusters * n_resamples <= _SHARED_LIMIT
        self._draws: np.ndarray[Any, np.dtype[np.uint8]] | None = None
        self._totals: dict[tuple[int, bytes], Floats] = {}

    def cluster_totals(self, columns: Floats) -> Floats:
        """Sum each column over the items of each cluster: (n_items, k) to (n_clusters, k)."""
        if len(columns) != self.n_items:
            raise InvalidInputError(f"expected {self.n_items} items as in the resamples, got {len(columns)}")
        if self.codes is None:
            return columns
        return np.stack([self.cluster_sums(column) for column in columns.T], axis=1)

    def cluster_sums(self, column: Floats) -> Floats:
        """Sum one column over the items of each cluster: (n_items,) to (n_clusters,)."""
        if self.codes is None:
            return column
        return np.asarray(np.bincount(self.codes, weights=column, minlength=self.n_clusters), np.float64)

    def among(self, rows: Integers) -> "Resamples":
        """Those of some of the items alone, whose clusters are numbered anew: for what needs clusters and no draws.

        Of many groups of items each is computed as fast as it is small. Draws would be of these clusters, other ones
        than of the whole.

        Examples
        --------
        >>> Resamples(["a", "a", "b", "c"]).among(np.array([1, 3])).n_clusters
        2
        """
        part = copy(self)
        part.n_items = part.n_clusters = len(rows)
        part.index = part._draws = None
        part._totals = {}
        if self.codes is not None:
            present = np.bincount(self.codes[rows], minlength=self.n_clusters) > 0
            part.n_clusters = int(np.count_nonzero(present))
            # Items that are each a cluster of their own need no sums.
            part.codes = None if part.n_clusters == len(rows) else (np.cumsum(present) - 1)[self.codes[rows]]
        return part

    def of_rows(self, clusters: Any) -> "Resamples":
        """As many resamples with the same seed of other rows, from the cluster of each: parts of items, say.

        Examples
        --------
        >>> Resamples(3, n_resamples=10).of_rows([0, 0, 1, 2, 2]).n_clusters
        3
        """
        return Resamples(clusters if len(clusters) else 0, self.n_resamples, self._seed, shared=False)

    def totals(self, columns: Floats) -> Floats:
        """Totals of each column in each resample.

        Parameters
        ----------
        columns : ndarray of shape (n_items, k)
            What is added up; a row of zeros takes no part.

        Returns
        -------
        ndarray of shape (n_resamples, k)
        """
        rows = self.cluster_totals(columns)
        # A figure and its interval of annotators like these ask for the same totals.
        key = (rows.shape[1], sha256(rows.tobytes()).digest())
        if key not in self._totals:
            found = self._drawn(rows)
            if found.size > _MOST_KEPT:
                return found
            if sum(each.size for each in self._totals.values()) > _MOST_KEPT:
                self._totals.clear()
            found.setflags(write=False)
            self._totals[key] = found
        return self._totals[key]

    def _drawn(self, rows: Floats) -> Floats:
        if not self.is_shared:
            return draw_totals(rows, self.n_resamples, np.random.default_rng(self._seed))
        if self._draws is None:
            self._draws = draw_counts(self.n_clusters, self.n_resamples, np.random.default_rng(self._seed))
        return _weigh(rows, self._draws)

    def item_draws(self) -> Iterator[Floats]:
        """Yield how often each item is drawn, resample by resample: for figures that are no function of totals.

        The draws are those of `totals` where these are shared; in any case the same at every call.

        Yields
        ------
        ndarray of shape (some resamples, n_items)
        """
        step = max(1, _CHUNK // max(1, self.n_items))
        rng = np.random.default_rng(self._seed)
        if self.is_shared and self._draws is None and self.n_resamples:
            self._draws = draw_counts(self.n_clusters, self.n_resamples, rng)
        for start in range(0, self.n_resamples, step):
            width = min(step, self.n_resamples - start)
            if self._draws is not None:
                draws = self._draws[:, start : start + width]
            else:
                draws = draw_counts(self.n_clusters, width, rng)
            by_item = draws if self.codes is None else draws[self.codes]
            yield by_item.T.astype(np.float64)


def as_resamples(value: Any) -> Resamples:
    """Refuse what is no `Resamples`: a number of them, say."""
    if not isinstance(value, Resamples):
        raise InvalidInputError(f"resamples: expected Resamples, got {value!r}")
    return value


def group_rows(rows: Floats) -> tuple[Integers, Integers, Integers]:
    """Find equal rows: (index of a representative of each group, size of each group, group of each row)."""
    codes, most = np.zeros(len(rows), dtype=np.intp), 1
    for column in rows.T:
        if len(column) and column.min() == column.max():
            continue
        unique, inverse = np.unique(np.round(column, _DECIMALS), return_inverse=True)
        # Codes are made dense before their product could overflow, and at the end.
        if most > 1 and most * len(unique) > _MOST_CODES:
            codes = np.unique(codes, return_inverse=True)[1]
            most = int(codes.max()) + 1
        codes, most = codes * len(unique) + inverse, most * len(unique)
    if most > 1:
        codes = as_codes(codes, "rows")[0]
    sizes = np.bincount(codes)
    representatives = np.empty(len(sizes), dtype=np.intp)
    representatives[codes] = np.arange(len(rows))
    return representatives, sizes, codes


def distinct_columns(tables: Iterable[Floats]) -> tuple[Floats, list[list[int]]]:
    """The different columns of several tables side by side, in their order, and the places of each table's among them.

    A column that many figures are made of is resampled once.

    Examples
    --------
    >>> columns, places = distinct_columns([np.array([[1.0, 2.0]]), np.array([[2.0, 3.0]])])
    >>> columns.tolist(), places
    ([[1.0, 2.0, 3.0]], [[0, 1], [1, 2]])
    """
    seen: dict[bytes, int] = {}
    columns: list[Floats] = []
    places = []
    n_rows = 0
    for table in tables:
        own = []
        n_rows = len(table)
        for column in np.ascontiguousarray(table.T):
            place = seen.setdefault(sha256(column).digest(), len(seen))
            if place == len(columns):
                columns.append(column)
            own.append(place)
        places.append(own)
    return np.stack(columns, axis=1) if columns else np.zeros((n_rows, 0)), places


def draw_totals(rows: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Resampled totals of (n_clusters, k) rows, (n_resamples, k), by whichever exact way is cheaper."""
    n_clusters = len(rows)
    if n_clusters == 0:
        return np.zeros((n_resamples, rows.shape[1]))
    representatives, sizes, _ = group_rows(rows)
    if len(sizes) * _DIRECT_DRAWS_PER_COMPONENT <= n_clusters or n_clusters <= _DIRECT_DRAWS_PER_COMPONENT:
        distinct = rows[representatives]
        # The commonest row last: it takes what is left, and the draws before it are small, hence fast.
        order = np.argsort(sizes, kind="stable")
        counts = rng.multinomial(n_clusters, sizes[order] / n_clusters, size=n_resamples)
        return counts @ distinct[order]
    step = max(1, _CHUNK // n_clusters)
    parts = [
        _add_up(rows, rng.integers(0, n_clusters, size=(min(step, n_resamples - start), n_clusters)))
        for start in range(0, n_resamples, step)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, rows.shape[1]))


def _add_up(rows: Floats, drawn: Integers) -> Floats:
    """Totals of the rows drawn, (some resamples, n_clusters) of row numbers. Many columns share one count."""
    if rows.shape[1] < _FEW_COLUMNS:
        return np.stack([column[drawn].sum(axis=1) for column in rows.T], axis=1)
    width, n_clusters = drawn.shape
    drawn += np.arange(width)[:, np.newaxis] * n_clusters
    counts = np.bincount(drawn.ravel(), minlength=width * n_clusters)
    totals: Floats = counts.reshape(width, n_clusters).astype(np.float64) @ rows
    return totals


def draw_counts(
    n_clusters: int, n_resamples: int, rng: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """How often each cluster is drawn in each resample, (n_clusters, n_resamples); a column adds up to
    n_clusters.

    A byte is enough: in a draw of n from n the chance of one cluster coming 256 times is below 1e-500.
    """
    counts = np.empty((n_clusters, n_resamples), dtype=np.uint8)
    step = max(1, _CHUNK // max(1, n_clusters))
    for start in range(0, n_resamples, step):
        width = min(step, n_resamples - start)
        drawn = rng.integers(0, max(1, n_clusters), size=(n_clusters, width), dtype=np.int64)
        drawn *= width
        drawn += np.arange(width)
        counts[:, start : start + width] = np.bincount(drawn.ravel(), minlength=n_clusters * width).reshape(
            n_clusters, width
        )
    return counts


def _weigh(rows: Floats, draws: np.ndarray[Any, np.dtype[np.uint8]]) -> Floats:
    """Weigh rows by their draws. Draws of equal rows are added as integers first: exact, and cheap."""
    taking_part = np.flatnonzero(rows.any(axis=1))
    representatives, sizes, groups = group_rows(rows[taking_part])
    n_resamples = draws.shape[1]
    # No sum of draws exceeds the number of clusters.
    integer = np.uint16 if len(draws) < 2**16 else np.uint32
    result = np.zeros((n_resamples, rows.shape[1]))
    members = taking_part[np.argsort(groups, kind="stable")]
    step = 256
    ends = np.cumsum(sizes)
    for first in range(0, len(sizes), step):
        last = min(first + step, len(sizes))
        counts = np.empty((last - first, n_resamples), dtype=np.float64)
        for group in range(first, last):
            chosen = members[ends[group] - sizes[group] : ends[group]]
            counts[group - first] = draws[chosen].sum(axis=0, dtype=integer)
        result += counts.T @ rows[taking_part[representatives[first:last]]]
    return result
