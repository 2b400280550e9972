"""Limits that do not race the clock."""

import time
from types import SimpleNamespace

import pytest

from web import throttling


@pytest.fixture(autouse=True)
def one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that asks too often does so within one window of the limits, however slow the machine is."""
    moment = time.time()
    monkeypatch.setattr(throttling, "time", SimpleNamespace(time=lambda: moment))
