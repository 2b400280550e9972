"""The tools that a judge can go into, and what each carries: for the command, the pages, the API and the docs."""

from collections.abc import Mapping
from types import MappingProxyType

from judges.exports import (
    alpaca_eval,
    deepeval,
    inspect_ai,
    langfuse,
    mlflow_judges,
    openai_graders,
    promptfoo,
)
from judges.exports.errors import ExportRefusedError
from judges.exports.writing import ExportTarget

_ALL = (
    alpaca_eval.TARGET,
    inspect_ai.TARGET,
    inspect_ai.QA_TARGET,
    promptfoo.TARGET,
    openai_graders.LABEL_TARGET,
    openai_graders.SCORE_TARGET,
    deepeval.TARGET,
    mlflow_judges.TARGET,
    langfuse.TARGET,
)
TARGETS: Mapping[str, ExportTarget] = MappingProxyType({each.name: each for each in _ALL})
"""By name."""


def export_target(name: str) -> ExportTarget:
    """Return a target; raises ExportRefusedError with the names there are."""
    try:
        return TARGETS[name]
    except KeyError:
        known = ", ".join(TARGETS)
        raise ExportRefusedError("to", f"there is no target '{name}'; there is {known}.") from None
