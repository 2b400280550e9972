"""The form that takes a judge's file."""

import json
from typing import Any

from django import forms

from judges.models import Endpoint
from web.yaml_text import YamlError, yaml_read

MOST_BYTES = 5_000_000


class JudgeImportForm(forms.Form):
    """A `judge.json`, and where the judge is to be asked."""

    file = forms.FileField(
        label="File", help_text="A judge.json that a Touchstone site exported.", widget=forms.FileInput
    )
    name = forms.CharField(required=False, max_length=190, help_text="Empty: the name in the file.")
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.all(),
        required=False,
        empty_label="The one with the address in the file",
        help_text="Another endpoint makes it another judge, with another fingerprint.",
    )

    def clean_file(self) -> dict[str, Any]:
        """The file's values."""
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError(f"Larger than {MOST_BYTES // 1_000_000} MB.")
        try:
            text = file.read().decode("utf-8")
            values = json.loads(text) if text.lstrip().startswith("{") else yaml_read(text)
        except UnicodeDecodeError:
            raise forms.ValidationError("Not UTF-8 text.") from None
        except (YamlError, ValueError, RecursionError) as error:
            raise forms.ValidationError(f"Not JSON or YAML: {error}") from None
        if not isinstance(values, dict):
            raise forms.ValidationError("Expected a judge's fields by name.")
        return values
