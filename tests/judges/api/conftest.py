"""Each test asks as if nobody had asked before."""

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def fresh_throttle() -> None:
    cache.clear()
