"""A file of verdicts or labels that somebody sends."""

from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from judges.services.verdict_files import IMPORT_FORMATS
from web.upload import MAX_BYTES, MEBIBYTE, check_size


class VerdictImportForm(forms.Form):
    """The file and how it is written."""

    file = forms.FileField(
        help_text=f"At most {MAX_BYTES // MEBIBYTE} MiB. Nothing is stored before you confirm."
    )
    format = forms.ChoiceField(
        choices=[
            (key, f"{words} ({', '.join(endings)})") for key, (words, endings) in IMPORT_FORMATS.items()
        ],
        widget=forms.RadioSelect,
        initial=next(iter(IMPORT_FORMATS)),
    )

    def clean_file(self) -> UploadedFile[Any]:
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        check_size(upload)
        return upload

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        upload, format = data.get("file"), data.get("format")
        if upload and format:
            endings = IMPORT_FORMATS[format][1]
            if Path(upload.name or "").suffix.lower() not in endings:
                self.add_error("file", f"Expected a file named {', '.join(endings)} for this format.")
        return data
