"""What an annotator sends. Values are those of the page, in the order shown; services make them canonical."""

from typing import Any, cast

from django import forms

DAY_MS = 24 * 60 * 60 * 1000
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


class Milliseconds(forms.IntegerField):
    """A time measured in the browser: a help, never a reason to refuse an answer."""

    def __init__(self) -> None:
        super().__init__(required=False)

    def clean(self, value: Any) -> int | None:
        try:
            number = int(value)
        except (TypeError, ValueError):
            return None
        # Zero is what the form holds when no script has measured anything.
        return min(number, DAY_MS) if number > 0 else None


class PairwiseForm(forms.Form):
    """The answer to a pair: 1 for A, 2 for B, 0 for a tie."""

    choice = forms.TypedChoiceField(
        choices=[("1", "A is better"), ("2", "B is better"), ("0", "Tie")],
        coerce=int,
        error_messages={"required": "Choose an answer first."},
    )
    active_ms = Milliseconds()
    wall_ms = Milliseconds()

    @property
    def shown_value(self) -> dict[str, int]:
        return {"choice": self.cleaned_data["choice"]}

    @property
    def active_time(self) -> int | None:
        return cast("int | None", self.cleaned_data["active_ms"])

    @property
    def wall_time(self) -> int | None:
        return cast("int | None", self.cleaned_data["wall_ms"])

    @property
    def error(self) -> str:
        """What to say about an answer that is missing or unknown."""
        return str(self.errors["choice"][0])


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
