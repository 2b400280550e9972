"""One set of resamples for all figures of a table."""

from typing import Any

from metaeval.stats.intervals import Sampling
from metaeval.stats.resampling import DEFAULT_RESAMPLES, Resamples


def with_resamples(options: Sampling, otherwise: Any, *, shared: bool = True) -> Sampling:
    """The options with `Resamples` in place of clusters, number and seed, so that several figures share them.

    Parameters
    ----------
    options : Sampling
    otherwise : array_like of shape (n_items,) or int
        The clusters where the options name none; a number of items that are each a cluster.
    shared : bool
        Keep the draws.

    Examples
    --------
    >>> with_resamples({"n_resamples": 10, "confidence": 0.9}, 5)["resamples"].n_resamples
    10
    """
    if options.get("resamples") is not None:
        return options
    clusters = options.get("clusters")
    made = Resamples(
        otherwise if clusters is None else clusters,
        options.get("n_resamples", DEFAULT_RESAMPLES),
        options.get("rng"),
        shared=shared,
    )
    return {**options, "clusters": None, "resamples": made}
