"""Making a token of the API."""

from django import forms

from annotation.models import RESOURCES, TOKEN_SCOPES, scope_of
from annotation.models.tokens import READ, WRITE
from annotation.services.tokens import DEFAULT_DAYS

DAYS = [(30, "30 days"), (DEFAULT_DAYS, f"{DEFAULT_DAYS} days"), (365, "A year"), (0, "Never")]


class TokenForm(forms.Form):
    """What a token is for, what it may do, and when it ends."""

    name = forms.CharField(
        max_length=100, label="Name", help_text="The program that uses it, such as “laptop” or “nightly job”."
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in TOKEN_SCOPES],
        initial=[scope for scope in TOKEN_SCOPES if scope.endswith(READ)],
        label="Scopes",
        error_messages={"required": "Choose at least one scope."},
    )
    days = forms.TypedChoiceField(
        choices=DAYS,
        coerce=int,
        initial=DEFAULT_DAYS,
        label="Expires after",
        help_text="It also expires when you change your password.",
    )

    @property
    def scope_rows(self) -> list[tuple[str, str, str, list[tuple[str, str, bool]]]]:
        """Of each resource its name, what is read, what is written, and its two scopes with whether each is chosen."""
        chosen = self["scopes"].value() or []
        return [
            (
                resource,
                *words,
                [
                    (access, scope, scope in chosen)
                    for access in (READ, WRITE)
                    for scope in [scope_of(resource, access)]
                ],
            )
            for resource, words in RESOURCES.items()
        ]

    @property
    def lifetime(self) -> int | None:
        """The days of its life; None: no end."""
        days: int = self.cleaned_data["days"]
        return days or None
