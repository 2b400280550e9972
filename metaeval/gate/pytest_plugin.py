"""The gate as a fixture of pytest, which comes with the package:

def test_the_judge_may_be_trusted(touchstone_gate):
    touchstone_gate("judge.json", "gold.jsonl", min_agreement=0.8, max_drop=2)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from metaeval.gate.decision import GateResult


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that says what is done where a gate cannot decide."""
    group = parser.getgroup("touchstone")
    group.addoption(
        "--touchstone-inconclusive",
        choices=("fail", "skip"),
        default="fail",
        help="what a test does where there are too few labels to decide (default: fail)",
    )


@pytest.fixture
def touchstone_gate(request: pytest.FixtureRequest) -> Callable[..., GateResult]:
    """Hold a judge to thresholds: called with a judge, a gold file, and the options of `touchstone gate` as keywords.

    The test fails where the judge is not trusted. Where the gate is inconclusive it fails, or is skipped under
    ``--touchstone-inconclusive=skip``. Where the gate is broken, the exception says why.
    """

    def gate(judge: str | Path, gold: str | Path, **options: Any) -> GateResult:
        # Imported late: every run of pytest loads this module.
        from metaeval.gate.command import gate_parser, gate_result
        from metaeval.gate.decision import GateOutcome
        from metaeval.gate.writing import gate_text

        arguments = [str(judge), str(gold), "--quiet"]
        for name, value in options.items():
            option = f"--{name.replace('_', '-')}"
            arguments += [option] if value is True else [option, str(value)]
        result = gate_result(gate_parser().parse_args(arguments))
        if result.outcome == GateOutcome.NOT_TRUSTED:
            pytest.fail(gate_text(result), pytrace=False)
        if result.outcome == GateOutcome.INCONCLUSIVE:
            if request.config.getoption("--touchstone-inconclusive") == "skip":
                pytest.skip(gate_text(result))
            pytest.fail(gate_text(result), pytrace=False)
        return result

    return gate
