"""The filters of the audit log."""

from typing import Any

from django import forms

from annotation.selectors.audit import AuditFilter


class AuditForm(forms.Form):
    """Filters of the audit log, from the page's address."""

    text = forms.CharField(label="Person or subject", required=False, max_length=200)
    action = forms.ChoiceField(label="Action", required=False)
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, actions: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["action"].choices = [("", "All actions"), *((one, one) for one in actions)]  # type: ignore[attr-defined]

    def filter(self) -> AuditFilter:
        """What was asked for; a field with an error narrows nothing."""
        return AuditFilter(**self.cleaned_data) if self.is_valid() else AuditFilter()
