"""What a process keeps for some seconds is forgotten between tests."""

import pytest

from config.observing.operations import operations_recent
from config.observing.readiness import ready_checks_forget


@pytest.fixture(autouse=True)
def nothing_kept():
    operations_recent.forget()
    ready_checks_forget()
    yield
    operations_recent.forget()
    ready_checks_forget()
