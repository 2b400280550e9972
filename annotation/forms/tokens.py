"""Making a token of the API."""

from django import forms

from annotation.models import TokenScope
from annotation.services.tokens import DEFAULT_DAYS

DAYS = [(30, "30 days"), (DEFAULT_DAYS, f"{DEFAULT_DAYS} days"), (365, "A year"), (0, "Never")]


class TokenForm(forms.Form):
    """What a token is for, what it may do, and when it ends."""

    name = forms.CharField(
        max_length=100, label="Name", help_text="What uses it, such as “laptop” or “nightly job”."
    )
    scopes = forms.MultipleChoiceField(
        choices=TokenScope.choices,
        initial=[TokenScope.READ.value],
        widget=forms.CheckboxSelectMultiple,
        label="Scopes",
    )
    days = forms.TypedChoiceField(
        choices=DAYS,
        coerce=int,
        initial=DEFAULT_DAYS,
        label="Expires after",
        help_text="It also ends when you change your password.",
    )

    @property
    def lifetime(self) -> int | None:
        """The days of its life; None: no end."""
        days: int = self.cleaned_data["days"]
        return days or None
