"""Forms of what is done about people and items. Each carries a nonce, so that sent twice it acts once."""

import secrets
from decimal import Decimal
from typing import Any

from django import forms

MAX_MESSAGE = 2_000


class _ActionForm(forms.Form):
    nonce = forms.CharField(widget=forms.HiddenInput, min_length=8, max_length=32)

    @classmethod
    def fresh(cls, **options: Any) -> Any:
        return cls(initial={"nonce": secrets.token_hex(8)}, **options)


def _reason() -> forms.CharField:
    return forms.CharField(max_length=200, help_text="For your records; the annotator doesn't see it.")


def _text(help_text: str, *, required: bool = False) -> forms.CharField:
    return forms.CharField(
        label="Message",
        required=required,
        max_length=MAX_MESSAGE,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "true"}),
    )


class SuspendForm(_ActionForm):
    reason = _reason()
    text = _text("Shown to the annotator, together with a note that they can't continue.")
    set_aside = forms.BooleanField(
        label="Exclude their labels",
        required=False,
        help_text="The labels no longer count, and others label the items. Nothing is deleted.",
    )


class RestoreForm(_ActionForm):
    reason = _reason()
    text = _text("Shown to the annotator when they come back.")
    take_back = forms.BooleanField(
        label="Include the excluded labels again",
        required=False,
        help_text="Labels count again where their slot is still free; otherwise they are surplus.",
    )


class SetAsideForm(_ActionForm):
    reason = _reason()


class TakeBackForm(_ActionForm):
    reason = _reason()


class MessageForm(_ActionForm):
    text = _text("Shown to the annotator until they confirm it.", required=True)


class BonusForm(_ActionForm):
    amount = forms.DecimalField(
        min_value=Decimal("0.01"), max_digits=8, decimal_places=2, help_text="In the currency of the study."
    )
    reason = _reason()
