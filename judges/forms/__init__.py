"""Forms of the admin for endpoints, judges, prompts and sweeps."""

from judges.forms.endpoints import EndpointForm
from judges.forms.judges import JudgeForm, spec_shown
from judges.forms.prompts import PreviewForm, PromptForm
from judges.forms.sweeps import BudgetForm, SweepForm

__all__ = [
    "BudgetForm",
    "EndpointForm",
    "JudgeForm",
    "PreviewForm",
    "PromptForm",
    "SweepForm",
    "spec_shown",
]
