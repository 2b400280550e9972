"""The forms of a sweep: what it is made of, and the limits with which it goes on; how its state looks on pages."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.urls import NoReverseMatch, reverse

from annotation.selectors.datasets import datasets_by_name
from annotation.selectors.offered import DatasetChoice, SlicePart, datasets_offered, slice_parts
from judges.forms.redrawn import REDRAW, RedrawnMixin
from judges.models import Orders, Sweep, SweepState
from judges.selectors.judges import judges_runnable
from judges.selectors.overview import JudgeChoice, judges_offered
from judges.services.sweep_settings import SweepSettings


class BudgetForm(forms.Form):
    """The limits with which a sweep goes on."""

    budget = forms.DecimalField(
        required=False,
        min_value=0,
        max_digits=10,
        decimal_places=2,
        label="Budget (US$)",
        help_text="For the whole sweep, including what is already spent.",
    )
    budget_tokens = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        label="Budget (tokens)",
        help_text="Including tokens already used.",
    )
    budget_minutes = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        label="Budget (minutes)",
        help_text="Including the running time so far.",
    )


class PartsField(forms.Field):
    """Names of categories or subsets: any text, each once. What the datasets have is offered by the page."""

    widget = forms.SelectMultiple

    def clean(self, value: Any) -> list[str]:
        return list(dict.fromkeys(str(each).strip() for each in value or () if str(each).strip()))


class SweepForm(RedrawnMixin, forms.ModelForm[Sweep]):
    """A draft: which judges over which datasets. Whether it can run as it is, is checked when it is launched."""

    orders = forms.ChoiceField(
        choices=Orders.choices,
        initial=Orders.BOTH,
        widget=forms.RadioSelect,
        label="Presentation",
        help_text="For pairs. Both orders show whether a judge keeps its verdict when the responses are swapped.",
    )
    stop_percent = forms.IntegerField(
        required=False,
        min_value=5,
        max_value=100,
        initial=50,
        label="Stop a judge at (% unparsed)",
        help_text="Percentage of unparsed answers. If empty, never.",
    )
    priority = forms.IntegerField(
        required=False,
        min_value=-1000,
        max_value=1000,
        initial=0,
        help_text="Sweeps with a higher priority run first.",
    )
    categories = PartsField(required=False)
    subsets = PartsField(required=False)

    class Meta:
        model = Sweep
        fields = (
            "name",
            "datasets",
            "judges",
            "orders",
            "seed",
            "samples",
            "sample_size",
            "budget",
            "budget_tokens",
            "budget_minutes",
            "priority",
        )
        labels = {
            "budget": "US dollars",
            "budget_tokens": "Tokens",
            "budget_minutes": "Running time (minutes)",
            "samples": "Responses of a contestant",
            "sample_size": "Items of each dataset",
        }
        help_texts = {
            "name": "What you want to find out, in a few words.",
            "budget": "Needs prices at the endpoints.",
            "budget_tokens": "Prompt and completion tokens.",
            "budget_minutes": "Pauses don't count.",
            "samples": "Per instruction.",
            "sample_size": "Sampled at random. If empty, all items.",
            "seed": "For random orders and samples.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.redraw = REDRAW in self.data
        share = self.instance.stop_unparsed
        self.fields["stop_percent"].initial = None if share is None else round(share * 100)
        self.initial = {
            "categories": self.instance.categories,
            "subsets": self.instance.subsets,
            **self.initial,
        }
        for name in ("seed", "samples"):
            self.fields[name].required = False
        self._datasets = datasets_offered()
        self._judges = judges_offered()
        self._offer("datasets", datasets_by_name().filter(pk__in=[each.pk for each in self._datasets]))
        self._offer("judges", judges_runnable())
        self._parts: tuple[list[SlicePart], list[SlicePart]] | None = None

    def _offer(self, name: str, queryset: Any) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        field.queryset = queryset
        field.error_messages["required"] = f"Choose at least one {name.removesuffix('s')}."

    def clean_budget(self) -> Decimal | None:
        budget: Decimal | None = self.cleaned_data["budget"]
        if budget is not None and budget <= 0:
            raise ValidationError("Expected a budget above 0. For no limit, leave it empty.")
        return budget

    def content(self) -> dict[str, Any]:
        """The keyword arguments of `draft_create` and `draft_update`."""
        said = self.cleaned_data
        percent = said["stop_percent"]
        return {name: said[name] for name in ("name", "datasets", "judges")} | {
            **{name: said[name] for name in SweepSettings.__dataclass_fields__ if name in said},
            "seed": said["seed"] or 0,
            "samples": said["samples"] or 1,
            "priority": said["priority"] or 0,
            "stop_unparsed": None if percent is None else percent / 100,
        }

    # --- what the page draws ----------------------------------------------------------------------------------

    def _chosen(self, name: str) -> set[str]:
        return {str(getattr(value, "pk", value)) for value in self[name].value() or ()}

    def dataset_choices(self) -> list[tuple[DatasetChoice, bool]]:
        """Return the datasets offered, each with whether it is chosen."""
        chosen = self._chosen("datasets")
        return [(choice, str(choice.pk) in chosen) for choice in self._datasets]

    def judge_choices(self) -> list[tuple[str, list[tuple[JudgeChoice, bool]]]]:
        """Return the judges offered by group, each with whether it is chosen."""
        chosen = self._chosen("judges")
        groups: dict[str, list[tuple[JudgeChoice, bool]]] = {}
        for choice in self._judges:
            groups.setdefault(choice.group, []).append((choice, str(choice.pk) in chosen))
        return list(groups.items())

    def _slice(self) -> tuple[list[SlicePart], list[SlicePart]]:
        if self._parts is None:
            offered = {str(choice.pk) for choice in self._datasets}
            chosen = self._chosen("datasets") & offered
            self._parts = slice_parts(int(pk) for pk in chosen) if chosen else ([], [])
        return self._parts

    def category_choices(self) -> list[tuple[SlicePart, bool]]:
        """Return the categories of the datasets that are chosen, and those that were chosen and are not there."""
        return self._with_chosen(self._slice()[0], "categories")

    def subset_choices(self) -> list[tuple[SlicePart, bool]]:
        """The same of subset paths."""
        return self._with_chosen(self._slice()[1], "subsets")

    def _with_chosen(self, parts: list[SlicePart], name: str) -> list[tuple[SlicePart, bool]]:
        chosen = self._chosen(name)
        missing = [SlicePart(each, 0) for each in sorted(chosen - {part.name for part in parts})]
        return [(part, part.name in chosen) for part in [*parts, *missing]]


STATE_CHIPS = {
    SweepState.DRAFT: "",
    SweepState.QUEUED: "chip-accent chip-live",
    SweepState.RUNNING: "chip-accent chip-live",
    SweepState.PAUSED: "chip-warn",
    SweepState.CANCELLED: "chip-warn",
    SweepState.FAILED: "chip-bad",
    SweepState.FINISHED: "chip-good",
}


def pages_above(pk: int) -> dict[str, str]:
    """Addresses of pages of the application above about a sweep, by name; empty where there are none."""
    found = {}
    for name in ("comparison", "decision", "decision-summary"):
        try:
            found[name.replace("-", "_")] = reverse(f"metaeval:{name}", args=[pk])
        except NoReverseMatch:
            found[name.replace("-", "_")] = ""
    return found
