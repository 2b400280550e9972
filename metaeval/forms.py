"""Forms of reports and decisions."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from annotation.domain.scales import FARTHEST
from metaeval.figures import FIGURES, KIND_LABELS
from metaeval.figures.sample import RISK
from metaeval.reports.confidence import Asked
from metaeval.reports.replacement import ADVICE
from metaeval.selection.replacement import EPSILON
from metaeval.selection.types import COMPOSITE
from metaeval.selection.verdict import Annotators
from metaeval.services.promotions import LONGEST_REASON
from web.upload import check_size

EPSILONS = [(f"{epsilon:g}", f"{epsilon:g}, {who}") for epsilon, who in ADVICE.items()]


ANNOTATOR_CHOICES = (("alike", "These annotators and others like them"), ("these", "These annotators only"))
# Not a number field of the browser: what it cannot read would be gone when the form comes back.
NUMBER = forms.TextInput(attrs={"inputmode": "decimal"})
_WHOLE = forms.TextInput(attrs={"inputmode": "numeric"})


class VerdictForm(forms.Form):
    """What a verdict asks for beside significance: a practical margin, and over which annotators."""

    margin = forms.FloatField(
        label="Margin (points)",
        required=False,
        min_value=0,
        max_value=99,
        widget=NUMBER,
        help_text="The smallest difference that matters in practice. Judges shown to be closer are equivalent. "
        "If empty, 0.",
    )
    annotators = forms.ChoiceField(
        label="Winner with",
        choices=ANNOTATOR_CHOICES,
        required=False,
        help_text="Whether a winner must also win with new annotators like these.",
    )

    def asked(self) -> tuple[float, Annotators]:
        """The margin as a share of the scale, and the annotators, of a form that is valid."""
        values = self.cleaned_data
        annotators = values.get("annotators") or "alike"
        return (values.get("margin") or 0.0) / 100, "these" if annotators == "these" else "alike"


class PublishedForm(VerdictForm):
    """The same with a paper whose figures stand beside the others, by its own convention."""

    preset = forms.ChoiceField(
        label="Published convention",
        required=False,
        help_text="Adds the figures of a paper or benchmark, computed as it prints them.",
    )

    def __init__(self, *args: object, kinds: Sequence[str] = tuple(FIGURES), **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["preset"]
        if isinstance(field, forms.ChoiceField):
            offered = ((kind, FIGURES[kind].published) for kind in kinds if FIGURES[kind].published)
            groups = [
                (KIND_LABELS[kind], [(name, one.title) for name, one in published.items()])
                for kind, published in offered
            ]
            field.choices = [("", "None"), *(groups if len(groups) > 1 else groups[0][1] if groups else [])]

    def preset_of(self, kind: str) -> str:
        """The preset that a valid form asks for, where its paper has figures of items of this kind; else nothing."""
        name = str(self.cleaned_data.get("preset", ""))
        return name if name in FIGURES[kind].published else ""


class ReportForm(PublishedForm):
    """What to report on."""

    name = forms.ChoiceField(label="Dataset or study")
    epsilon = forms.ChoiceField(
        label="Epsilon of the alternative annotator test",
        choices=EPSILONS,
        required=False,
        initial=f"{EPSILON:g}",
        widget=forms.Select(attrs={"aria-describedby": "epsilon-hint"}),
    )

    preregistration = forms.ChoiceField(label="Preregistration", required=False)

    def __init__(
        self,
        *args: object,
        names: list[tuple[str, str]] | None = None,
        plans: Sequence[tuple[str, str]] = (),
        **kwargs: object,
    ) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for field, choices in ((self.fields["name"], names or []), (self.fields["preregistration"], plans)):
            if isinstance(field, forms.ChoiceField):
                field.choices = list(choices)

    pass_mark = forms.FloatField(
        label="Pass mark (rubrics)",
        required=False,
        min_value=-FARTHEST,
        max_value=FARTHEST,
        widget=NUMBER,
        help_text="A rating at or above it passes; from 0 to 1 where criteria have different scales. Leave empty for a "
        "report without error rates.",
    )

    @property
    def options(self) -> list[forms.BoundField]:
        """What may be left as it is, beside epsilon; preregistrations where there are any."""
        names = ["margin", "annotators", "pass_mark", "preset"]
        has_plans = len(getattr(self.fields["preregistration"], "choices", ())) > 1
        return [self[name] for name in (*names, *(["preregistration"] if has_plans else []))]

    def clean_epsilon(self) -> float:
        return float(self.cleaned_data["epsilon"] or EPSILON)


CONFIDENCES = (("90", "90%"), ("95", "95%"), ("99", "99%"))


# A judge of the choice by its fingerprint, or the composite.
_PROMOTED = rf"^([0-9a-f]{{8,64}}|{COMPOSITE})$"


class PromoteForm(forms.Form):
    """Which judge, why, although what (`although`: the judges they say it of), and what the person was looking at."""

    judge = forms.RegexField(
        _PROMOTED, error_messages={"required": "Choose a judge.", "invalid": "Choose one of these judges."}
    )
    reason = forms.CharField(max_length=LONGEST_REASON)
    risk = forms.FloatField(min_value=0.1, max_value=50, required=False)
    inputs_hash = forms.RegexField(r"^[0-9a-f]{64}$")
    seen = forms.RegexField(r"^\d+:\d*(,\d+:\d*)*$")

    @property
    def although(self) -> list[str]:
        """The judges that are to be promoted although something speaks against them, should one of them be chosen."""
        data: Any = self.data
        return list(data.getlist("although"))

    def clean_risk(self) -> float:
        """As a share; what is left out is preset."""
        given = self.cleaned_data["risk"]
        return RISK if given is None else float(given) / 100

    def clean_seen(self) -> dict[int, int | None]:
        pairs = (pair.split(":") for pair in self.cleaned_data["seen"].split(","))
        return {int(dataset): int(decision) if decision else None for dataset, decision in pairs}


class LabelNextForm(forms.Form):
    """How many items to give to people, and whose doubt decides which."""

    budget = forms.IntegerField(
        label="Items",
        min_value=1,
        widget=_WHOLE,
    )
    judge = forms.ChoiceField(
        label="More often where",
        required=False,
        help_text="Whose uncertainty decides.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=2**31,
        initial=0,
        widget=_WHOLE,
        help_text="Another seed draws other items.",
    )

    def __init__(
        self,
        *args: object,
        judges: list[tuple[str, str]] | None = None,
        may_disagree: bool = True,
        n_unlabelled: int,
        **kwargs: object,
    ) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["budget"].help_text = f"{n_unlabelled:,} without a label are left."
        self.fields["budget"].initial = min(50, n_unlabelled)
        field = self.fields["judge"]
        if isinstance(field, forms.ChoiceField):
            all_of_them = [("", "the judges disagree")] if may_disagree else []
            field.choices = [*all_of_them, *((key, f"{name} is unsure") for key, name in judges or [])]


class ConfidenceForm(forms.Form):
    """Whose errors to look at, beside what, how many are allowed, and what they cost. What is left out is preset.

    But for the mark of rubrics: nobody but the reader knows which rating is good enough.
    """

    mark = forms.FloatField(
        label="Pass mark",
        min_value=-FARTHEST,
        max_value=FARTHEST,
        widget=NUMBER,
        help_text="A rating at or above it passes; from 0 to 1 where criteria have different scales.",
    )
    judge = forms.ChoiceField(label="Judge", required=False)
    against = forms.ChoiceField(label="Compared with", required=False)
    risk = forms.FloatField(
        label="Allowed risk (%)",
        min_value=0.1,
        max_value=50,
        required=False,
        widget=NUMBER,
        help_text="Errors among the verdicts that it keeps.",
    )
    confidence = forms.ChoiceField(label="Confidence level", choices=CONFIDENCES, required=False)
    false_positive = forms.FloatField(
        label="Cost of a false positive", min_value=0, max_value=1e6, required=False, widget=NUMBER
    )
    false_negative = forms.FloatField(
        label="Cost of a false negative", min_value=0, max_value=1e6, required=False, widget=NUMBER
    )
    label_price = forms.FloatField(
        label="Price of a human label ($)", min_value=0, max_value=1e4, required=False, widget=NUMBER
    )
    PRESET = {
        "risk": "10",
        "confidence": "95",
        "false_positive": "1",
        "false_negative": "1",
        "label_price": "0.5",
    }

    def __init__(
        self,
        given: Mapping[str, Any],
        *,
        judges: list[tuple[str, str]],
        targets: Sequence[str],
        has_mark: bool = False,
    ) -> None:
        data = {name: given.get(name) or value for name, value in self.PRESET.items()}
        data["mark"] = given.get("mark", "")
        keys, wanted = [key for key, _ in judges], given.get("judge", "")
        data["judge"] = wanted if wanted in keys else ""
        data["against"] = (
            given.get("against", "") if given.get("against", "") in targets else next(iter(targets), "")
        )
        super().__init__(data)
        if not has_mark:
            del self.fields["mark"]
        elif not data["mark"]:
            self.fields["mark"].error_messages["required"] = "Enter the lowest rating that passes."
        words = {"people": "the majority of human labels", "gold": "gold answers"}
        for name, choices in (
            ("judge", [("", "lowest cost of errors"), *judges]),
            ("against", [(name, words[name]) for name in targets]),
        ):
            field = self.fields[name]
            if isinstance(field, forms.ChoiceField):
                field.choices = choices

    def asked(self) -> Asked:
        """What the page is asked for."""
        values = self.cleaned_data
        return Asked(
            judge=values["judge"],
            against=values["against"],
            risk=values["risk"] / 100,
            mark=values.get("mark"),
            level=int(values["confidence"]) / 100,
            **{name: values[name] for name in ("false_positive", "false_negative", "label_price")},
        )


class RatingsForm(forms.Form):
    """Ratings of systems from elsewhere."""

    file = forms.FileField(
        label="Table", help_text="CSV, JSONL or Parquet: a column of systems, one of scores."
    )
    name = forms.SlugField(
        label="Name",
        max_length=80,
        help_text="Letters, digits and hyphens.",
        error_messages={"invalid": "Only letters, digits, hyphens and underscores."},
    )
    score = forms.CharField(
        label="Column of scores",
        required=False,
        max_length=100,
        help_text="If empty, the only column with numbers.",
    )
    source = forms.CharField(
        label="Source", required=False, max_length=300, help_text="An address or a paper."
    )

    def clean_file(self) -> UploadedFile[Any]:
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        check_size(upload)
        return upload
