"""Limits on how often something may be asked, which other tests do without."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache


@pytest.fixture
def limited(settings: Any) -> Iterator[None]:
    settings.RATELIMIT_ENABLE = True
    cache.clear()
    yield
    cache.clear()
