"""A link into a study. The form of a study itself is `annotation.forms.study`."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone


class InvitationForm(forms.Form):
    """A link into a study."""

    note = forms.CharField(
        required=False, max_length=200, help_text="For you: who gets this link. Annotators do not see it."
    )
    max_annotators = forms.IntegerField(
        label="Most people", required=False, min_value=1, max_value=1_000_000, help_text="Empty: no limit."
    )
    last_day = forms.DateField(
        required=False,
        help_text="The link lets people in until the end of this day (UTC). Empty: no end.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def clean_last_day(self) -> Any:
        day = self.cleaned_data["last_day"]
        if day is not None and day < timezone.now().date():
            raise forms.ValidationError("This day is over.")
        return day

    def expires_at(self) -> datetime | None:
        day = self.cleaned_data["last_day"]
        return None if day is None else datetime.combine(day + timedelta(days=1), time.min, tzinfo=UTC)
