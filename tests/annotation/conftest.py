"""The cast: who may see what is asked of the same four people everywhere."""

import pytest

from tests.annotation.cast import Cast


@pytest.fixture
def cast(db: None) -> Cast:
    return Cast.make()
