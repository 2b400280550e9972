"""The fixture `touchstone_gate` in a run of pytest of its own."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from judges.backends.mock_server import running_mock_server
from tests.judges.standalone.files import ROOT
from tests.metaeval.gate.test_gate import gold_write, judge_write

pytestmark = [pytest.mark.service, pytest.mark.slow]

TESTS = """
def test_trusted(touchstone_gate):
    result = touchstone_gate("judge.json", "right.jsonl", min_agreement=0.7)
    assert result.outcome == "trusted"

def test_not_trusted(touchstone_gate):
    touchstone_gate("judge.json", "wrong.jsonl", min_agreement=0.7)

def test_inconclusive(touchstone_gate):
    touchstone_gate("judge.json", "open.jsonl", min_agreement=0.7)

def test_broken(touchstone_gate):
    touchstone_gate("judge.json", "missing.jsonl", min_agreement=0.7)
"""


@pytest.mark.parametrize(
    ("options", "counts"), [([], "3 failed, 1 passed"), (["skip"], "2 failed, 1 passed, 1 skipped")]
)
def test_a_gate_is_a_test(tmp_path, options, counts):
    (tmp_path / "test_judge.py").write_text(TESTS)
    for name, n_right in (("right", 20), ("wrong", 0), ("open", 16)):
        gold_write(tmp_path / f"{name}.jsonl", 20, n_right)
    # Where the package is installed, pytest finds the plugin by itself.
    found = {each.value for each in entry_points(group="pytest11")}
    plugin = [] if "metaeval.gate.pytest_plugin" in found else ["-p", "metaeval.gate.pytest_plugin"]
    with running_mock_server() as server:
        judge_write(tmp_path / "judge.json", server, "mock-longer")
        command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:django", "-p", "no:cacheprovider", "-q"]
        command += [f"--touchstone-inconclusive={option}" for option in options]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
        )
    assert done.stdout.splitlines()[-1].startswith(counts), done.stdout + done.stderr
    assert "test_judge.py::test_not_trusted - Failed: longer: not trusted" in done.stdout
    assert "missing.jsonl" in done.stdout
