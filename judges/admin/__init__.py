"""The administrators' pages: endpoints, judges, judgments, and sweeps with their live progress."""

from judges.admin.configurations import EndpointAdmin, JudgeAdmin
from judges.admin.judgments import JudgmentAdmin
from judges.admin.sweeps import SweepAdmin

__all__ = ["EndpointAdmin", "JudgeAdmin", "JudgmentAdmin", "SweepAdmin"]
