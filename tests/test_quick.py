"""Quick tests stay alone: the ways out of the process are watched, and `make test-quick` runs nothing else."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import outside
from tests.conftest import NOT_QUICK

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.service
def test_ways_out_are_seen():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
    assert outside.reached == ["socket.bind(('127.0.0.1', 0),)"]
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert any(way.startswith("Popen.__init__") for way in outside.reached)


def test_the_command_runs_what_is_marked_quick(request):
    assert "-m quick\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    own = {mark.name for mark in request.node.iter_markers()}
    assert "quick" in own
    assert own.isdisjoint(NOT_QUICK)
