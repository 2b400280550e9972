"""One set of resamples for all figures of a table."""

from metaeval.stats.intervals import Sampling, resolve
from metaeval.stats.resampling import DEFAULT_RESAMPLES, Resamples


def share_resamples(n_items: int, options: Sampling) -> Sampling:
    """The same options, checked, with one `Resamples` in place of the clusters, so that figures are paired.

    Examples
    --------
    >>> options = share_resamples(3, {"clusters": ["a", "a", "b"], "confidence": 0.9})
    >>> options["resamples"].n_clusters, options["confidence"]
    (2, 0.9)
    """
    resolve(n_items, options, weighted=True)
    shared: Sampling = {**options}
    if options.get("resamples") is None:
        clusters = options.get("clusters")
        shared["resamples"] = Resamples(
            n_items if clusters is None else clusters,
            options.get("n_resamples", DEFAULT_RESAMPLES),
            options.get("rng"),
        )
        for name in ("clusters", "n_resamples", "rng"):
            shared.pop(name, None)  # type: ignore[misc]
    return shared
