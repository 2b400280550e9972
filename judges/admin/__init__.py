"""The administrators' pages: sweeps with their live progress, judges, prompts, endpoints, judgments."""

from judges.admin.endpoints import EndpointAdmin
from judges.admin.generations import GenerationAdmin
from judges.admin.judges import JudgeAdmin
from judges.admin.judgments import JudgmentAdmin
from judges.admin.prompts import PromptTextAdmin
from judges.admin.sweeps import SweepAdmin
