"""The administrators' pages: sweeps with their live progress, judges, endpoints, judgments."""

from judges.admin.endpoints import EndpointAdmin
from judges.admin.judges import JudgeAdmin
from judges.admin.judgments import JudgmentAdmin
from judges.admin.sweeps import SweepAdmin

__all__ = ["EndpointAdmin", "JudgeAdmin", "JudgmentAdmin", "SweepAdmin"]
