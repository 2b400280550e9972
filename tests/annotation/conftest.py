"""Limits that do not race the clock, and limits that other tests do without."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache

from web import throttling


@pytest.fixture(autouse=True)
def one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that asks too often does so within one window of the limits, however slow the machine is."""
    moment = time.time()
    monkeypatch.setattr(throttling, "time", SimpleNamespace(time=lambda: moment))


@pytest.fixture
def limited(settings: Any) -> Iterator[None]:
    """How often something may be asked is limited, as on a site."""
    settings.RATELIMIT_ENABLE = True
    cache.clear()
    yield
    cache.clear()
