"""Forms of what is done about a person's data."""

from django import forms


class EraseForm(forms.Form):
    """Erase a person of a study."""

    with_labels = forms.BooleanField(
        label="Delete their labels too",
        required=False,
        help_text="Otherwise labels stay without a link to the person, where they were told so.",
    )


class RefuseForm(forms.Form):
    """Refuse a request."""

    answer = forms.CharField(
        label="Reason", max_length=300, help_text="Shown to the annotator, in their language if you can."
    )
