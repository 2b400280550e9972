"""Files that a researcher sends: a dataset, or the items that a study offers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator

from annotation.importers import DatasetBundle, ImportFileError, read_infobench
from annotation.importers.errors import errors_of
from annotation.importers.traces import HIDDEN_WORDS, JUDGED_WORDS, TraceOptions
from annotation.models import Dataset, Split
from annotation.peers.formats import FORMATS, GENERIC, TABLES, TRACES, ZIP, format_choices
from annotation.services.criteria import criteria_set, criteria_sets
from web.upload import MAX_BYTES, MEBIBYTE, check_size, on_disk


@contextmanager
def import_file(upload: UploadedFile[Any], *, folder: str = "upload", name: str = "") -> Iterator[Path]:
    """The uploaded file on disk; a refusal names it as the person knows it, not where it lay for a moment."""
    with on_disk(upload, folder=folder, name=name) as path:
        try:
            yield path
        except ImportFileError as error:
            for one in {error, *errors_of(error)}:
                member = one.file.removeprefix(f"{path}/") if one.file.startswith(f"{path}/") else ""
                one.file = "/".join(filter(None, (Path(upload.name or "the file").name, member)))
            raise


SET_LABELS = {"helm-instruct": "HELM Instruct"}


def criteria_choices() -> list[tuple[str, str]]:
    """Sets of criteria with what is in them."""
    return [
        (
            name,
            f"{SET_LABELS.get(name, name.replace('-', ' ').capitalize())}: "
            f"{', '.join(one.key for one in criteria_set(name))}",
        )
        for name in criteria_sets()
    ]


class CriteriaForm(forms.Form):
    """A ready-made set of criteria for a dataset."""

    criteria = forms.ChoiceField(label="Set", choices=criteria_choices)


SPLIT_HELP = "Only you and administrators see a private dataset. Nothing of it leaves the site."


class DatasetForm(forms.ModelForm[Dataset]):
    """What is said of a dataset that is there."""

    class Meta:
        model = Dataset
        fields = ("title", "split", "licence")
        labels = {"licence": "License"}
        help_texts = {"split": SPLIT_HELP, "licence": "Such as CC-BY-4.0."}


class DatasetDocumentationForm(forms.Form):
    """What only people know of a dataset, for its card and its Croissant file. What is empty is left out of them."""

    citation = forms.CharField(
        required=False, max_length=5_000, widget=forms.Textarea({"rows": 4}), help_text="BibTeX."
    )
    creators = forms.CharField(
        required=False, max_length=2_000, widget=forms.Textarea({"rows": 2}), help_text="One name per line."
    )
    url = forms.URLField(required=False, max_length=300, label="Home page", assume_scheme="https")
    language = forms.CharField(
        required=False,
        max_length=20,
        help_text="Language code, such as en.",
        validators=[RegexValidator(r"^[A-Za-z0-9-]+\Z", "Expected a code such as en or pt-BR.")],
    )
    data_collection = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea({"rows": 3}),
        help_text="Where the instructions and responses come from, and how they were chosen.",
    )
    demographics = forms.CharField(
        required=False, max_length=10_000, widget=forms.Textarea({"rows": 3}), label="Annotator demographics"
    )
    limitations = forms.CharField(required=False, max_length=10_000, widget=forms.Textarea({"rows": 3}))
    biases = forms.CharField(required=False, max_length=10_000, widget=forms.Textarea({"rows": 3}))
    use_cases = forms.CharField(required=False, max_length=10_000, widget=forms.Textarea({"rows": 3}))
    social_impact = forms.CharField(required=False, max_length=10_000, widget=forms.Textarea({"rows": 3}))
    sensitive = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea({"rows": 3}),
        label="Personal and sensitive information",
    )
    maintenance = forms.CharField(
        required=False, max_length=10_000, widget=forms.Textarea({"rows": 3}), label="Maintenance plan"
    )


class DatasetUploadForm(forms.Form):
    """A dataset from a file."""

    file = forms.FileField()
    format = forms.ChoiceField(choices=format_choices, initial=GENERIC)
    name = forms.CharField(
        max_length=64,
        validators=[
            RegexValidator(r"^[A-Za-z0-9_-]+\Z", "Expected letters, digits, hyphens and underscores.")
        ],
        help_text="Letters, digits, hyphens and underscores. If you have a dataset of this name, "
        "what is new in the file is added to it.",
    )
    title = forms.CharField(
        max_length=200,
        required=False,
        help_text="Shown on pages and in reports. If empty, the name is shown.",
    )
    split = forms.ChoiceField(
        choices=Split.choices,
        initial=Split.PRIVATE,
        help_text=SPLIT_HELP,
    )
    licence = forms.CharField(label="License", max_length=100, required=False, help_text="Such as CC-BY-4.0.")
    criteria = forms.ChoiceField(
        required=False,
        label="Ready-made criteria",
        choices=lambda: [("", "None"), *criteria_choices()],
        help_text="For rubrics whose file declares none: questions with worded options 1 to 5.",
    )

    judged = forms.ChoiceField(
        required=False,
        label="What is judged of a trace",
        choices=list(JUDGED_WORDS.items()),
        help_text="For Inspect, Langfuse and OpenTelemetry. Ratings need ready-made criteria.",
    )
    hide = forms.MultipleChoiceField(
        required=False,
        label="Hide in traces",
        choices=list(HIDDEN_WORDS.items()),
        widget=forms.CheckboxSelectMultiple,
        help_text="From annotators and judges alike. You still see them on the item's page.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others, tables = MAX_BYTES // MEBIBYTE, settings.DATASET_UPLOAD_MAX_BYTES // MEBIBYTE
        size = (
            f"{others:,} MiB" if others == tables else f"{tables:,} MiB, or {others:,} MiB of other formats"
        )
        self.fields["file"].help_text = f"At most {size}. Nothing is stored while anything in it is wrong."

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name == "upload":
            raise forms.ValidationError("This name is reserved. Choose another one.")
        return name

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        upload, kind = data.get("file"), data.get("format")
        if upload and kind:
            try:
                check_size(upload, settings.DATASET_UPLOAD_MAX_BYTES if kind == GENERIC else None)
            except forms.ValidationError as error:
                self.add_error("file", error)
            suffixes = FORMATS[kind].suffixes
            if Path(upload.name or "").suffix.lower() not in suffixes:
                self.add_error("file", f"Expected a file named {', '.join(suffixes)} for this format.")
        is_rated = kind in TRACES and data.get("judged") == "ratings"
        if data.get("criteria") and kind and kind != GENERIC and not is_rated:
            self.add_error(
                "criteria", f"Only for the format “{FORMATS[GENERIC].words}”, and for ratings of traces."
            )
        if is_rated and not data.get("criteria"):
            self.add_error("criteria", "Choose the criteria by which traces are rated.")
        if data.get("hide") and kind and kind not in TRACES:
            self.add_error("hide", "Only for traces.")
        return data

    def bundle(self) -> DatasetBundle:
        """Read a file of a published format; tables are read by `judges.services.dataset_imports`.

        Raises
        ------
        ImportFileError
            With the name of the file, the row and the field; a `RefusedFileError` with several of these.
        """
        chosen_format = FORMATS[self.cleaned_data["format"]]
        name, read = chosen_format.member, chosen_format.read
        chosen, upload = self.cleaned_data["criteria"], self.cleaned_data["file"]
        packed = Path(upload.name or "").suffix.lower() == ZIP
        on_disk_as = f"{self.cleaned_data['name']}{ZIP}" if packed else name
        with import_file(upload, folder=self.cleaned_data["name"], name=on_disk_as) as path:
            if trace := TRACES.get(self.cleaned_data["format"]):
                criteria = criteria_set(chosen) if chosen else ()
                judged = self.cleaned_data["judged"] or TraceOptions().judged
                return trace(path, TraceOptions(judged, self.cleaned_data["hide"], criteria))
            if read is read_infobench:  # whose system has the file's name, which it does not have on disk
                return read_infobench(path, system=Path(upload.name or "").stem)
            return read(path.parent if name and not packed else path)


class ItemChoiceForm(forms.Form):
    """The items that a study offers, or their priorities."""

    file = forms.FileField(
        label="File of items",
        help_text="CSV or JSONL with the column item, and optionally priority, probability, overlap.",
    )

    def clean_file(self) -> UploadedFile[Any]:
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        check_size(upload)
        if Path(upload.name or "").suffix.lower() not in TABLES:
            raise forms.ValidationError(f"Expected a file named {', '.join(TABLES)}.")
        return upload
