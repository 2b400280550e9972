"""The form of a choice of a judge: which datasets decide in which roles, and what a judge must satisfy."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import Http404
from django.utils.http import urlencode

from annotation.kinds import DEFAULT_KIND, kind_of
from annotation.models import Kind
from metaeval.figures import FIGURES
from metaeval.forms import CONFIDENCES, EPSILONS, NUMBER, VerdictForm
from metaeval.reports.figures import points_text
from metaeval.reports.selection.inputs import Criteria, Part
from metaeval.reports.selection.verdict import weight_words
from metaeval.reports.selection.words import constraint_words, score_words
from metaeval.selection.replacement import EPSILON
from metaeval.selection.types import Constraints
from metaeval.selectors.selections import SweptDataset, kinds_judged, preset_parts, swept_datasets
from metaeval.selectors.sweeps import SweepView

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
        label="Cost of 1,000 judgments, at most ($)", required=False, min_value=0, widget=NUMBER
    )
    max_seconds = forms.FloatField(
        label="Time per judgment, at most (s)", required=False, min_value=0, widget=NUMBER
    )
    min_positional = forms.FloatField(
        label="Positional agreement, at least (%)",
        required=False,
        min_value=0,
        max_value=100,
        widget=NUMBER,
    )
    min_accuracy = forms.FloatField(
        label="Accuracy on each gold dataset, at least (%)",
        required=False,
        min_value=0,
        max_value=100,
        widget=NUMBER,
    )
    max_unparsed = forms.FloatField(
        label="Unparsed answers, at most (%)", required=False, min_value=0, max_value=100, widget=NUMBER
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
        scales = tuple(dict.fromkeys(scale for row in datasets for scale in row.scales))
        self.words = score_words(kind, given.get("measure", ""), scales)
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
        figures = FIGURES[kind].on(scales)
        # What pairs are ranked by follows from the role of each dataset, but for response sets.
        named = figures.primaries[:1] if self.of_pairs else figures.primaries
        if any(row.has_sets for row in self.datasets):
            named = (*named, *figures.further)
        if len(named) < 2:
            del self.fields["measure"]
        else:
            field = self.fields["measure"]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [(name, figures.of_judges(name).label) for name in named]
        for row in self.datasets:
            roles = [(role, _capital(self.words.role(role))) for role in row.roles]
            self.fields[f"role-{row.name}"] = forms.ChoiceField(
                label=f"Role of {row.title}", choices=[*roles, (OUT, "Leave out")]
            )
            self.fields[f"weight-{row.name}"] = forms.FloatField(
                label=f"Weight of {row.title}", min_value=0, max_value=1000, widget=NUMBER
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
        by_sets = values.get("measure", "") in FIGURES[self.kind].further
        if by_sets and not any(part.role == "people" and part.weight for part in parts):
            self.add_error(
                "measure", "Response sets are human labels, and no dataset with a weight is used for those."
            )
        if by_sets and values.get("min_positional") is not None:
            self.add_error(
                "min_positional",
                "Judges that are ranked by response sets are scored over both orders together.",
            )
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


def selection_form(given: dict[str, str], sweep: SweepView) -> SelectionForm:
    """The criteria, as an address has them. Raises Http404 for a kind of items that no judge of the sweep judged.

    Without a kind it is about the first by which judges can be chosen, pairs before the others.
    """
    kinds, asked = kinds_judged(sweep), given.get("kind")
    if asked not in (None, DEFAULT_KIND, *kinds):
        raise Http404("No judge has judged items of this kind.")
    # Where judges can be chosen by none of them, the page is about the first, and says why.
    for kind in [asked] if asked else [*kinds, next(iter(kinds), DEFAULT_KIND)]:
        form = SelectionForm(given, datasets=swept_datasets(sweep, kind), kind=kind, kinds=kinds)
        if form.datasets:
            break
    return form
