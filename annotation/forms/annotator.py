"""What an annotator sends beside answers: about themselves, why an item is skipped, what is wrong with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from annotation.domain.eligibility import EligibilityQuestion

SKIP_REASONS = (
    ("unclear", "The instruction is unclear"),
    ("knowledge", "It needs knowledge that I don’t have"),
    ("distressing", "It’s distressing or offensive"),
    ("other", "Something else"),
)
# Not what is hard to judge, but what nobody could judge.
REPORT_REASONS = (
    ("broken", "A text is broken, cut off or unreadable"),
    ("missing", "Something that is needed is missing"),
    ("language", "It’s in a language that I can’t read"),
    ("harmful", "It’s illegal, harmful or reveals private information"),
    ("other", "Something else"),
)


class SkipForm(forms.Form):
    reason = forms.ChoiceField(
        choices=SKIP_REASONS,
        widget=forms.RadioSelect,
        label="Why are you skipping this item?",
        error_messages={"required": "Choose a reason first."},
    )
    note = forms.CharField(required=False, max_length=150, label="In your own words")

    @property
    def chosen(self) -> str:
        return str(self.cleaned_data["reason"])

    @property
    def said(self) -> str:
        return str(self.cleaned_data["note"]).strip()

    @property
    def words(self) -> str:
        return f"{self.chosen}: {self.said}" if self.said else self.chosen


class ItemReportForm(SkipForm):
    """What is broken in an item, for the researchers."""

    reason = forms.ChoiceField(
        choices=REPORT_REASONS,
        widget=forms.RadioSelect,
        label="What's wrong with it?",
        error_messages={"required": "Choose what is wrong first."},
    )

    @property
    def words(self) -> str:
        return f"report: {super().words}"


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
