"""Figures that take a while to count, kept for a while."""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.core.cache import cache

from annotation.models import Dataset, Study

T = TypeVar("T")
QUICK_SECONDS = 0.25
LEAST_SECONDS = 5
KEPT_SECONDS = 0.02
"""A fact of a version of a dataset is kept if it took longer: it cannot become wrong."""
VERSION_SECONDS = 24 * 3600
MOST_AT_ONCE = 5_000
"""Labels whose figures a page waits for; those of more are asked for when the page is there."""
PATIENCE = 20
"""A figure is kept for this many times as long as it took: counting takes a twentieth of the time at most."""


def counted(key: str, count: Callable[[], T]) -> T:
    """The value of `count()`; what took long is kept in the cache for a time in proportion.

    A page that many people look at again and again so counts a million rows a few times a minute, while the
    figures of an ordinary study are always those of the moment.
    """
    return _kept(key, count, quick=QUICK_SECONDS, seconds=lambda took: max(LEAST_SECONDS, PATIENCE * took))


def counted_of_version(dataset: Dataset, figure: str, count: Callable[[], T]) -> T:
    """The value of `count()`, which depends on nothing but the items of a dataset at its version.

    Every import that changes something makes a new version; while one is under way, no page reads the dataset.
    """
    if dataset.is_staged:
        return count()
    key = _version_key(dataset, figure)
    return _kept(key, count, quick=KEPT_SECONDS, seconds=lambda _took: VERSION_SECONDS)


def counted_of_versions(
    datasets: Collection[Dataset], figure: str, count: Callable[[list[Dataset]], dict[int, T]]
) -> dict[int, T]:
    """The same of several datasets, by primary key: `count` is asked for those together that aren't kept."""
    keys = {_version_key(dataset, figure): dataset for dataset in datasets if not dataset.is_staged}
    known = {keys[key].pk: value for key, value in cache.get_many(keys).items()}
    missing = [dataset for dataset in datasets if dataset.pk not in known]
    if not missing:
        return known
    began = time.monotonic()
    found = count(missing)
    if time.monotonic() - began > KEPT_SECONDS:
        new = {key: found[dataset.pk] for key, dataset in keys.items() if dataset.pk in found}
        cache.set_many(new, timeout=VERSION_SECONDS)
    return known | found


def forget_versions(datasets: Iterable[Dataset], figure: str) -> None:
    """Count a figure of these datasets anew: what should change with a version only, changed without one."""
    cache.delete_many([_version_key(dataset, figure) for dataset in datasets])


def _version_key(dataset: Dataset, figure: str) -> str:
    return f"{figure}:dataset:{dataset.pk}:{dataset.created_at.timestamp()}:{dataset.version}"


@dataclass(frozen=True, slots=True)
class _Moment(Generic[T]):
    """A value of the rows that `stamp` identifies, and when counting it began and how long it took, in seconds."""

    stamp: str
    value: T
    began: float
    took: float

    def stands_for(self, stamp: str, *, may_lag: bool) -> bool:
        return self.stamp == stamp or (may_lag and time.time() < self.began + PATIENCE * self.took)


def counted_once(key: str, stamp: object, count: Callable[[], T], *, may_lag: bool = False) -> T:
    """The value of `count()`, which depends on nothing but the rows that `stamp` identifies.

    Where it `may_lag`, a value of some rows less stands for it for a while, in proportion to the time that it took: a
    large study that gets labels all the time isn't counted all the time.
    """
    found: _Moment[T] | None = cache.get(key)
    if found is not None and found.stands_for(str(stamp), may_lag=may_lag):
        return found.value
    began = time.time()
    value = count()
    cache.set(key, _Moment(str(stamp), value, began, time.time() - began), VERSION_SECONDS)
    return value


def is_counted(key: str, stamp: object, *, may_lag: bool = False) -> bool:
    """Whether `counted_once` would answer at once."""
    found: _Moment[object] | None = cache.get(key)
    return found is not None and found.stands_for(str(stamp), may_lag=may_lag)


def _kept(key: str, count: Callable[[], T], *, quick: float, seconds: Callable[[float], float]) -> T:
    """The value of `count()`, or the one that is kept; what took longer than `quick` is kept for so many seconds."""
    found: T | None = cache.get(key)
    if found is not None:
        return found
    began = time.monotonic()
    value = count()
    took = time.monotonic() - began
    if took > quick:
        cache.set(key, value, timeout=seconds(took))
    return value


def study_key(study: Study, figure: str) -> str:
    """Where a figure of a study is kept. Never that of another study that had the same number in another database."""
    return f"{figure}:{study.pk}:{study.created_at.timestamp()}"
