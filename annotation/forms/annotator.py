"""What an annotator says of an item beside the answer: why it is left out, what is wrong with it."""

from django import forms

SKIP_REASONS = (
    ("unclear", "I cannot tell what is asked"),
    ("knowledge", "It needs knowledge that I do not have"),
    ("distressing", "It is distressing or offensive"),
    ("other", "Something else"),
)
# Not what is hard to judge, but what nobody could judge.
REPORT_REASONS = (
    ("broken", "A text is broken, cut off or cannot be read"),
    ("missing", "Something that is needed is missing"),
    ("language", "It is in a language that I cannot read"),
    ("harmful", "It is illegal, harmful or tells something private"),
    ("other", "Something else"),
)


class SkipForm(forms.Form):
    reason = forms.ChoiceField(
        choices=SKIP_REASONS,
        widget=forms.RadioSelect,
        label="Why do you leave it out?",
        error_messages={"required": "Choose a reason first."},
    )
    note = forms.CharField(required=False, max_length=150, label="In your words")

    @property
    def chosen(self) -> str:
        return str(self.cleaned_data["reason"])

    @property
    def said(self) -> str:
        return str(self.cleaned_data["note"]).strip()

    @property
    def words(self) -> str:
        return f"{self.chosen}: {self.said}" if self.said else self.chosen


class ReportForm(SkipForm):
    """What is broken in an item, for the researchers."""

    reason = forms.ChoiceField(
        choices=REPORT_REASONS,
        widget=forms.RadioSelect,
        label="What is wrong with it?",
        error_messages={"required": "Choose what is wrong first."},
    )

    @property
    def words(self) -> str:
        return f"report: {super().words}"
