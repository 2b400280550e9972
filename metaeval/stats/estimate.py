"""Results: a number, how sure we are of it, and what it was computed from."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from metaeval.stats.errors import warn
from metaeval.stats.results import FrameRow, Result, keyed


@dataclass(frozen=True, slots=True)
class Estimate(Result):
    """One figure with its interval.

    Attributes
    ----------
    value : float
        The figure; NaN when it is undefined.
    low, high : float
        Ends of the interval at the confidence asked for; NaN when there is none.
    n : int
        Items that the figure is computed from.
    n_clusters : int
        Clusters (instructions, say) that these items belong to: what was resampled.
    method : str
        ``"percentile"`` (cluster bootstrap), ``"wilson"`` (cluster-adjusted sample size), ``"t"``, ``"fisher"`` or
        ``"none"``.
    reason : str or None
        Why the figure or its interval is undefined; None when both are there.

    Examples
    --------
    >>> Estimate(0.75, 0.5, 0.9, n=40, n_clusters=40, method="percentile").as_dict()
    {'value': 0.75, 'low': 0.5, 'high': 0.9, 'n': 40}
    """

    value: float
    low: float
    high: float
    n: int
    n_clusters: int = 0
    method: str = "none"
    reason: str | None = None

    def _rows(self, figure: str, keys: tuple[Any, ...]) -> Iterator[FrameRow]:
        yield FrameRow(
            figure or "value",
            *keyed(keys),
            self.value,
            self.low,
            self.high,
            self.n,
            self.n_clusters,
            self.method,
            self.reason,
        )
        yield from self._rows_of_fields([each.name for each in fields(self)[7:]], figure, keys)

    @property
    def defined(self) -> bool:
        """Whether there is a figure at all."""
        return not math.isnan(self.value)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None, and an undefined part brings its reason."""
        result: dict[str, Any] = {
            "value": _null_if_nan(self.value),
            "low": _null_if_nan(self.low),
            "high": _null_if_nan(self.high),
            "n": self.n,
        }
        if self.reason is not None:
            result["reason"] = self.reason
        return result


@dataclass(frozen=True, slots=True)
class PairedDifference(Estimate):
    """The difference of two figures on the same items and the same resamples.

    Attributes
    ----------
    share_better : float
        How sure it is that the first is ahead of the second: the level of the one-sided interval that ends at 0. One
        half where neither is; above 0.975 where the 95% interval of this one comparison lies above 0.
    """

    _reference: ClassVar[float | None] = 0.0

    share_better: float = math.nan

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values, with ``share_better`` beside the figure."""
        return {**Estimate.as_dict(self), "share_better": _null_if_nan(self.share_better)}


def undefined(reason: str) -> Estimate:
    """An estimate that does not exist: NaN, with a warning that says why."""
    warn(reason)
    return no_estimate(reason)


def no_estimate(reason: str) -> Estimate:
    """The same for a caller that shows the reason itself: without a warning."""
    return Estimate(math.nan, math.nan, math.nan, n=0, reason=reason)


def fields_of(found: Estimate) -> dict[str, Any]:
    """The fields that every estimate has, to make one of another class."""
    names = ("value", "low", "high", "n", "n_clusters", "method", "reason")
    return {name: getattr(found, name) for name in names}


def _null_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
