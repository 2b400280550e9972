"""Forms of reports and decisions."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.http import urlencode

from annotation.kinds import DEFAULT_KIND, kind_of
from annotation.models import Kind
from metaeval.figures import FIGURES
from metaeval.figures.sample import RISK
from metaeval.reports.confidence import Asked
from metaeval.reports.figures import points_text
from metaeval.reports.replacement import ADVICE
from metaeval.reports.selection.inputs import Criteria, Part
from metaeval.reports.selection.verdict import weight_words
from metaeval.reports.selection.words import constraint_words, score_words
from metaeval.selection.replacement import EPSILON
from metaeval.selection.types import COMPOSITE, Constraints
from metaeval.selection.verdict import Annotators
from metaeval.selectors.selections import SweptDataset, preset_parts
from metaeval.services.promotions import LONGEST_REASON
from web.upload import check_size

EPSILONS = [(f"{epsilon:g}", f"{epsilon:g}, {who}") for epsilon, who in ADVICE.items()]


ANNOTATOR_CHOICES = (("alike", "These annotators and others like them"), ("these", "These annotators only"))
# Not a number field of the browser: what it cannot read would be gone when the form comes back.
_NUMBER = forms.TextInput(attrs={"inputmode": "decimal"})
_WHOLE = forms.TextInput(attrs={"inputmode": "numeric"})


class VerdictForm(forms.Form):
    """What a verdict asks for beside significance: a practical margin, and over which annotators."""

    margin = forms.FloatField(
        label="Margin (points)",
        required=False,
        min_value=0,
        max_value=99,
        widget=_NUMBER,
        help_text="How much better is better in practice. Judges shown to be closer are equivalent. Empty: 0.",
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


class ReportForm(VerdictForm):
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
        min_value=1,
        max_value=5,
        widget=_NUMBER,
        help_text="A rating at or above it passes. Leave empty for a report without error rates.",
    )

    def clean_epsilon(self) -> float:
        return float(self.cleaned_data["epsilon"] or EPSILON)


CONFIDENCES = (("90", "90%"), ("95", "95%"), ("99", "99%"))
OUT = "out"


class SelectionForm(VerdictForm):
    """Which datasets decide in which roles, and what a judge must satisfy. What an address leaves out is preset.

    Of items of one kind: what makes no sense for it is not asked. Fields ``role-NAME`` and ``weight-NAME`` for each
    dataset of which a judge has judged something.
    """

    open_weights = forms.BooleanField(
        label="Open weights only",
        required=False,
        help_text="Of every model that the judge asks. Unknown doesn't count as open.",
    )
    local = forms.BooleanField(
        label="Local only", required=False, help_text="Every model runs under your own control."
    )
    max_cost = forms.FloatField(
        label="Cost of 1,000 judgments, at most ($)", required=False, min_value=0, widget=_NUMBER
    )
    max_seconds = forms.FloatField(
        label="Time per judgment, at most (s)", required=False, min_value=0, widget=_NUMBER
    )
    min_positional = forms.FloatField(
        label="Positional agreement, at least (%)",
        required=False,
        min_value=0,
        max_value=100,
        widget=_NUMBER,
    )
    min_accuracy = forms.FloatField(
        label="Accuracy on each gold dataset, at least (%)",
        required=False,
        min_value=0,
        max_value=100,
        widget=_NUMBER,
    )
    max_unparsed = forms.FloatField(
        label="Unparsed answers, at most (%)", required=False, min_value=0, max_value=100, widget=_NUMBER
    )
    confidence = forms.ChoiceField(label="Confidence", choices=CONFIDENCES)
    measure = forms.ChoiceField(label="Ranked by", required=False)
    epsilon = forms.TypedChoiceField(
        label="Annotators (epsilon)",
        choices=EPSILONS,
        coerce=float,
        help_text="Of the alternative annotator test: how much worse than an annotator a judge may be.",
    )

    def __init__(
        self,
        given: Mapping[str, str],
        *,
        datasets: Sequence[SweptDataset],
        kind: str = DEFAULT_KIND,
        kinds: Sequence[str] = (),
    ) -> None:
        self.kind, self.of_pairs = kind, kind_of(kind).presented
        self.words = score_words(kind, given.get("measure", ""))
        # What else could be asked for, each with its name.
        self.kinds = [(other, Kind(other).label) for other in kinds]
        self.datasets = [row for row in datasets if row.roles]
        self.idle = [row for row in datasets if not row.roles]
        data = {"confidence": "95", "epsilon": f"{EPSILON:g}", "annotators": "alike"}
        for part in preset_parts(datasets):
            data |= {f"role-{part.dataset}": part.role, f"weight-{part.dataset}": f"{part.weight:g}"}
        super().__init__(data | dict(given))
        if not self.of_pairs:
            # Only pairs are shown in two orders, and only a verdict is right or wrong.
            del self.fields["min_positional"]
            del self.fields["epsilon"]
            self.fields["min_accuracy"].label = "Score on each gold dataset, at least (%)"
        figures = FIGURES[kind]
        if self.of_pairs or len(figures.primaries) < 2:
            # What pairs are ranked by follows from the role of each dataset.
            del self.fields["measure"]
        else:
            field = self.fields["measure"]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [(name, figures.of_judges(name).label) for name in figures.primaries]
        for row in self.datasets:
            roles = [(role, _capital(self.words.role(role))) for role in row.roles]
            self.fields[f"role-{row.name}"] = forms.ChoiceField(
                label=f"Role of {row.title}", choices=[*roles, (OUT, "Leave out")]
            )
            self.fields[f"weight-{row.name}"] = forms.FloatField(
                label=f"Weight of {row.title}", min_value=0, max_value=1000, widget=_NUMBER
            )

    @property
    def rows(self) -> list[tuple[SweptDataset, forms.BoundField, forms.BoundField]]:
        """Each dataset with its two fields."""
        return [(row, self[f"role-{row.name}"], self[f"weight-{row.name}"]) for row in self.datasets]

    @property
    def limits(self) -> list[forms.BoundField]:
        """The constraints that are numbers."""
        return [
            self[name]
            for name in ("max_cost", "max_seconds", "min_positional", "min_accuracy", "max_unparsed")
            if name in self.fields
        ]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if self.errors:
            return values
        parts = self._parts(values)
        if not parts:
            raise forms.ValidationError("Every dataset is left out, so there is nothing to choose by.")
        if not any(part.weight for part in parts):
            raise forms.ValidationError("Every weight is 0. Give at least one dataset a weight above 0.")
        if values["min_accuracy"] is not None and not any(part.role == "gold" for part in parts):
            self.add_error("min_accuracy", "No dataset is used for its gold answers.")
        return values

    def _parts(self, values: Mapping[str, Any]) -> tuple[Part, ...]:
        return tuple(
            Part(row.name, values[f"role-{row.name}"], values[f"weight-{row.name}"])
            for row in self.datasets
            if values[f"role-{row.name}"] != OUT
        )

    @property
    def summary(self) -> str:
        """The criteria in a line, of a form that is valid."""
        criteria, titles = self.criteria(), {row.name: row.title for row in self.datasets}
        parts = "; ".join(
            f"{titles[part.dataset]}: {self.words.role(part.role)}, {weight_words(part.weight)}"
            for part in criteria.parts
        )
        asked = constraint_words(criteria.constraints, self.kind)
        if criteria.margin:
            asked.append(f"a margin of {points_text(criteria.margin)}")
        if criteria.annotators == "these":
            asked.append("these annotators only")
        limits = "; ".join(asked)
        return f"{parts}. {_capital(limits)}." if limits else f"{parts}."

    def criteria(self) -> Criteria:
        """The selection criteria, of a form that is valid."""
        values = self.cleaned_data

        def share(name: str) -> float | None:
            return None if values.get(name) is None else values[name] / 100

        constraints = Constraints(
            open_weights=values["open_weights"],
            local=values["local"],
            max_cost_per_1000=values["max_cost"],
            max_seconds=values["max_seconds"],
            min_positional_agreement=share("min_positional"),
            min_accuracy=share("min_accuracy"),
            max_unparsed=share("max_unparsed"),
        )
        confidence = int(values["confidence"]) / 100
        epsilon = values.get("epsilon", EPSILON)
        chosen = values.get("measure", "")
        # The first is the default, and a choice by it is the same whether it was named or not.
        figure = "" if chosen == FIGURES[self.kind].primaries[0] else chosen
        return Criteria(
            self._parts(values), constraints, confidence, self.kind, epsilon, *self.asked(), figure=figure
        )

    def query(self) -> str:
        """The whole choice as an address has it, so that it stays the same when presets change."""
        texts: dict[str, str] = {"kind": self.kind}
        for name, value in self.cleaned_data.items():
            if isinstance(value, bool):
                texts |= {name: "on"} if value else {}
            elif value is not None:
                texts[name] = f"{value:.12g}" if isinstance(value, float) else value
        return urlencode(texts)


def _capital(words: str) -> str:
    """With a capital first; what follows stays as it is, unlike `str.capitalize`."""
    return words[:1].upper() + words[1:]


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
        help_text="Whose doubt decides.",
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
        min_value=1,
        max_value=5,
        widget=_NUMBER,
        help_text="A rating at or above it passes.",
    )
    judge = forms.ChoiceField(label="Judge", required=False)
    against = forms.ChoiceField(label="Compared with", required=False)
    risk = forms.FloatField(
        label="Allowed risk (%)",
        min_value=0.1,
        max_value=50,
        required=False,
        widget=_NUMBER,
        help_text="Errors among the verdicts that it keeps.",
    )
    confidence = forms.ChoiceField(label="Confidence level", choices=CONFIDENCES, required=False)
    false_positive = forms.FloatField(
        label="Cost of a false positive", min_value=0, max_value=1e6, required=False, widget=_NUMBER
    )
    false_negative = forms.FloatField(
        label="Cost of a false negative", min_value=0, max_value=1e6, required=False, widget=_NUMBER
    )
    label_price = forms.FloatField(
        label="Price of a human label ($)", min_value=0, max_value=1e4, required=False, widget=_NUMBER
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
            self.fields["mark"].error_messages["required"] = (
                "Enter the rating from which on an answer passes."
            )
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
        help_text="Empty: the only one with numbers.",
    )
    source = forms.CharField(label="Source", required=False, max_length=300, help_text="An address, a paper.")

    def clean_file(self) -> UploadedFile[Any]:
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        check_size(upload)
        return upload
