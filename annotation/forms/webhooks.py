"""Registering a webhook."""

from django import forms

from annotation.services.webhooks import EVENTS


class WebhookForm(forms.Form):
    """Who listens where, and to what."""

    name = forms.CharField(max_length=100, help_text="The receiver, such as “our channel”.")
    url = forms.CharField(
        max_length=500,
        label="Address",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/hook"}),
        help_text="We send a POST there. It must be on the internet: internal addresses aren't accepted.",
    )
    events = forms.MultipleChoiceField(
        choices=lambda: [(one.name, one.label) for one in EVENTS.values()],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )
