"""What a person sends before the work."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from annotation.domain.eligibility import EligibilityQuestion


class EligibilityForm(forms.Form):
    """The study's questions about the person: one of the listed answers to each."""

    def __init__(
        self, questions: Sequence[EligibilityQuestion], data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(data)
        for question in questions:
            self.fields[f"question-{question.key}"] = forms.ChoiceField(
                label=question.question,
                choices=[(option.text, option.text) for option in question.options],
                widget=forms.RadioSelect,
                error_messages={
                    "required": "Choose one of the answers.",
                    "invalid_choice": "Choose one of the answers.",
                },
            )

    @property
    def answers(self) -> dict[str, str]:
        """Key of a question to the chosen text."""
        return {name.removeprefix("question-"): text for name, text in self.cleaned_data.items()}
