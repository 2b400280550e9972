"""Forms of reports and decisions."""

from django import forms

from metaeval.services.decisions import LONGEST_REASON


class PromoteForm(forms.Form):
    """Which judge, why, and what the person was looking at."""

    judge = forms.ChoiceField(label="Judge")
    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        strip=True,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Shown to everybody who asks later why this judge is used.",
    )
    dataset = forms.CharField(widget=forms.HiddenInput)
    inputs_hash = forms.RegexField(r"^[0-9a-f]{64}$", widget=forms.HiddenInput)
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: object, judges: list[tuple[str, str]] | None = None, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["judge"]
        if isinstance(field, forms.ChoiceField):
            field.choices = judges or []


class ReportForm(forms.Form):
    """What to report on."""

    name = forms.ChoiceField(label="Dataset or study")

    def __init__(self, *args: object, names: list[tuple[str, str]] | None = None, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["name"]
        if isinstance(field, forms.ChoiceField):
            field.choices = names or []
