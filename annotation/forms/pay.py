"""The form of a bonus."""

import secrets
from decimal import Decimal

from django import forms


class BonusForm(forms.Form):
    amount = forms.DecimalField(
        min_value=Decimal("0.01"), max_digits=8, decimal_places=2, help_text="In the currency of the study."
    )
    reason = forms.CharField(max_length=200, help_text="For your records; the person does not see it.")
    # Makes the same form, sent twice, one bonus.
    nonce = forms.CharField(widget=forms.HiddenInput, max_length=32, min_length=8)

    @classmethod
    def fresh(cls) -> "BonusForm":
        return cls(initial={"nonce": secrets.token_hex(8)})
