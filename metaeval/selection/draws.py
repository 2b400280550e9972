"""Resamples of instructions: how often each is drawn, and the totals that follow."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from metaeval.selection.types import Floats
from metaeval.stats import InvalidInputError
from metaeval.stats.arrays import Seed, generator
from metaeval.stats.resampling import draw_counts

# Draw counts kept, one byte each; beyond it they are drawn again each time, from the same seed.
MOST_KEPT = 64_000_000
# Draw counts turned into numbers at once, which bounds the memory.
_CHUNK = 4_000_000


class Draws:
    """A fixed set of cluster-bootstrap resamples: all judges and all datasets see the same draws.

    As `metaeval.stats.Resamples`, but for hundreds of columns at once whose rows are nearly all distinct: there a
    product of matrices is the cheapest way.

    Examples
    --------
    >>> draws = Draws(3, 1000, rng=7)
    >>> draws.totals(np.ones((3, 2))).shape, float(draws.totals(np.ones((3, 1))).min())
    ((1000, 2), 3.0)
    """

    def __init__(self, n_clusters: int, n_resamples: int, rng: Seed = None) -> None:
        if n_resamples < 0:
            raise InvalidInputError(f"n_resamples: expected 0 or more, got {n_resamples}")
        self.n_clusters, self.n_resamples = n_clusters, n_resamples
        self._seed = int(generator(rng).integers(2**62))
        self._kept: list[NDArray[np.uint8]] | None = None

    def totals(self, rows: Floats) -> Floats:
        """Totals of each column in each resample: (n_clusters, k) to (n_resamples, k)."""
        parts = [counts.T.astype(np.float64) @ rows for counts in self._counts()]
        return np.concatenate(parts) if parts else np.zeros((0, rows.shape[1]))

    def _counts(self) -> Iterator[NDArray[np.uint8]]:
        if self._kept is None and self.n_clusters * self.n_resamples <= MOST_KEPT:
            self._kept = list(self._drawn())
        yield from self._drawn() if self._kept is None else self._kept

    def _drawn(self) -> Iterator[NDArray[np.uint8]]:
        rng = np.random.default_rng(self._seed)
        step = max(1, _CHUNK // max(1, self.n_clusters))
        for start in range(0, self.n_resamples, step):
            yield draw_counts(self.n_clusters, min(step, self.n_resamples - start), rng)
