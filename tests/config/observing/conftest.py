"""What a process keeps for some seconds, or of a request, is forgotten between tests."""

import pytest

from config.observing.context import log_fields_end
from config.observing.operations import operations_recent
from config.observing.readiness import ready_checks_forget


@pytest.fixture(autouse=True)
def nothing_kept():
    operations_recent.forget()
    ready_checks_forget()
    log_fields_end()  # an earlier test may have left an answer that is a stream open
    yield
    operations_recent.forget()
    ready_checks_forget()
