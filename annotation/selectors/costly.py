"""Figures that take a while to count, kept for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

from annotation.models import Dataset, Study

T = TypeVar("T")
QUICK_SECONDS = 0.25
LEAST_SECONDS = 5
KEPT_SECONDS = 0.02
"""A fact of a version of a dataset is kept if it took longer: it cannot become wrong."""
VERSION_SECONDS = 24 * 3600
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
    key = f"{figure}:dataset:{dataset.pk}:{dataset.created_at.timestamp()}:{dataset.version}"
    return _kept(key, count, quick=KEPT_SECONDS, seconds=lambda _took: VERSION_SECONDS)


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
