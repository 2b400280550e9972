"""What an annotator says of an item beside the answer: why it is skipped, what is wrong with it."""

from django import forms

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


class ItemReportForm(SkipForm):
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
