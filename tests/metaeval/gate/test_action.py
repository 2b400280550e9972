"""The script of the GitHub Action, run as a runner runs it."""

import os
import stat
import subprocess
import sys

import pytest
import yaml

from judges.backends.mock_server import running_mock_server
from tests.judges.standalone.files import ROOT
from tests.metaeval.gate.test_gate import gold_write, judge_write

pytestmark = [pytest.mark.service, pytest.mark.slow]


@pytest.mark.parametrize(
    ("n_right", "inconclusive", "code", "outcome"),
    [
        (20, "fail", 0, "trusted"),
        (0, "fail", 1, "not trusted"),
        (16, "fail", 2, "inconclusive"),
        (16, "warn", 0, "inconclusive"),
        (None, "warn", 3, "broken"),
    ],
)
def test_the_step_ends_as_the_gate_does(tmp_path, n_right, inconclusive, code, outcome):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "gate")
    assert "${{" not in step["run"]
    command = tmp_path / "bin" / "touchstone"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m judges "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    inputs = {name: each.get("default", "") for name, each in action["inputs"].items()}
    gold = tmp_path / "gold.jsonl"
    if n_right is not None:
        gold_write(gold, 20, n_right)
    with running_mock_server() as server:
        judge = judge_write(tmp_path / "judge.json", server, "mock-longer")
        inputs |= {
            "judge": str(judge),
            "gold": str(gold),
            "min-agreement": "0.7",
            "inconclusive": inconclusive,
        }
        environment = {
            name: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")]
            for name, value in step["env"].items()
        }
        files = {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step["run"]],
            cwd=tmp_path,
            env=os.environ | environment | files | {"PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == code, done.stderr
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"outcome={outcome}\n"
    if outcome == "broken":
        assert "gold.jsonl" in done.stderr
    else:
        assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().startswith(f"## longer: {outcome}\n")
    assert (tmp_path / "gate.xml").exists()
