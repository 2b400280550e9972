"""Files of a judge that somebody sends, and which judge of them is to be made."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from judges.models import Endpoint
from judges.services.judge_files import FORMAT_WORDS, OWN, FoundJudge
from judges.services.judge_uploads import (
    MOST_BYTES,
    READ,
    JudgeUploadError,
    UploadChoice,
    upload_texts,
)
from web.upload import MEBIBYTE

MOST_SEED = 2**31 - 1
ENDINGS = (*READ, ".zip")


class FilesInput(forms.FileInput):
    """A control for several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files: their texts by their paths."""

    widget = FilesInput(attrs={"accept": ",".join(ENDINGS)})

    def clean(self, data: Any, initial: Any = None) -> dict[str, str]:
        sent: list[UploadedFile[Any]] = [
            super(FilesField, self).clean(each, initial) for each in data or [None]
        ]
        if (size := sum(each.size or 0 for each in sent)) > MOST_BYTES:
            raise forms.ValidationError(
                f"Expected at most {MOST_BYTES // MEBIBYTE} MiB, found {size / MEBIBYTE:.1f}. Send the judge's folder "
                "alone."
            )
        for each in sent:
            if Path(each.name or "").suffix.lower() not in ENDINGS:
                raise forms.ValidationError(f"{each.name}: expected a file named {', '.join(ENDINGS)}.")
        try:
            return upload_texts([(each.name or "", each) for each in sent])
        except JudgeUploadError as error:
            raise forms.ValidationError(str(error)) from None


class JudgeUploadForm(forms.Form):
    """The files."""

    judge_files = FilesField(
        label="Files",
        help_text=f"Several files, or a folder as a ZIP archive. At most {MOST_BYTES // MEBIBYTE} MiB. Nothing is "
        "added before you confirm.",
    )

    @property
    def names(self) -> str:
        """What was sent, for a list."""
        return ", ".join(each.name or "" for each in self.files.getlist("judge_files"))


class JudgeChoiceForm(forms.Form):
    """Which judge of the files, where it is asked, and what it is called.

    Parameters
    ----------
    found : sequence of FoundJudge
        What the files hold.
    """

    evaluator = forms.ChoiceField(required=False, label="Judge in these files")
    endpoint = forms.ModelChoiceField(
        Endpoint.objects.order_by("name"),
        to_field_name="name",
        required=False,
        empty_label="The one with the address in the file",
        help_text="Where its model is asked.",
    )
    model = forms.CharField(
        required=False, max_length=200, help_text="As the endpoint knows it. If empty, the one in the files."
    )
    name = forms.CharField(
        required=False,
        max_length=190,  # room for a number behind it
        help_text="If empty, the one in the files.",
    )
    drawn_order = forms.BooleanField(
        required=False,
        label="Show each pair once, in the order that AlpacaEval's own run draws for it",
    )
    seed = forms.IntegerField(
        required=False, min_value=0, max_value=MOST_SEED, label="Seed of that run", help_text="HREF uses 42."
    )

    def __init__(self, data: Any, *, found: Sequence[FoundJudge]) -> None:
        super().__init__(data)
        choices = [(each.name, f"{each.name} · {FORMAT_WORDS[each.form]}") for each in found]
        field = self.fields["evaluator"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices if len(found) == 1 else [("", "Choose a judge"), *choices]
        if len(found) < 2:
            del self.fields["evaluator"]
        if not any(each.form == "alpaca_eval" for each in found):
            del self.fields["drawn_order"], self.fields["seed"]
        if all(each.form != OWN for each in found):
            self.fields["endpoint"].empty_label = "Choose an endpoint"  # type: ignore[attr-defined]

    def choice(self) -> UploadChoice:
        """What was chosen; of fields that are not valid, nothing."""
        said = getattr(self, "cleaned_data", {})
        endpoint = said.get("endpoint")
        return UploadChoice(
            evaluator=said.get("evaluator") or "",
            endpoint="" if endpoint is None else endpoint.name,
            model=(said.get("model") or "").strip(),
            name=(said.get("name") or "").strip(),
            drawn_order=bool(said.get("drawn_order")),
            seed=said.get("seed") or 0,
        )
