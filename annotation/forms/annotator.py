"""What an annotator sends beside answers: about themselves, why an item is skipped, what is wrong with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.domain.eligibility import EligibilityQuestion

SKIP_REASONS = (
    ("unclear", _("The instruction is unclear")),
    ("knowledge", _("It needs knowledge that I don’t have")),
    ("distressing", _("It’s distressing or offensive")),
    ("other", _("Something else")),
)
# Not what is hard to judge, but what nobody could judge.
REPORT_REASONS = (
    ("broken", _("A text is broken, cut off or unreadable")),
    ("missing", _("Something that is needed is missing")),
    ("language", _("It’s in a language that I can’t read")),
    ("harmful", _("It’s illegal, harmful or reveals private information")),
    ("other", _("Something else")),
)


class SkipForm(forms.Form):
    reason = forms.ChoiceField(
        choices=SKIP_REASONS,
        widget=forms.RadioSelect,
        label=_("Why are you skipping this item?"),
        error_messages={"required": _("Choose a reason first.")},
    )
    note = forms.CharField(required=False, max_length=150, label=_("In your own words"))

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
        label=_("What's wrong with it?"),
        error_messages={"required": _("Choose what is wrong first.")},
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
                    "required": _("Choose one of the answers."),
                    "invalid_choice": _("Choose one of the answers."),
                },
            )

    @property
    def answers(self) -> dict[str, str]:
        """Key of a question to the chosen text."""
        return {name.removeprefix("question-"): text for name, text in self.cleaned_data.items()}
