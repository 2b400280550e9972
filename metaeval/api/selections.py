"""The choice of a judge over several datasets, for programs: the form of the decision page, as JSON."""

from typing import Any, get_args

from django.http import Http404
from rest_framework import serializers

from annotation.api.base import Exact
from annotation.models import Kind
from metaeval.api.sources import PreregistrationAsked, SourceAsked, VerdictAsked
from metaeval.reports.replacement import ADVICE
from metaeval.selection.types import Role
from metaeval.selection_forms import OUT, SelectionForm, selection_form
from metaeval.selectors.sweeps import SweepView
from web.api.problems import RefusalProblem

PART_ROLES = tuple((role, role) for role in get_args(Role))
_LIMITS = {
    "max_cost_per_1000": ("max_cost", 1),
    "max_seconds": ("max_seconds", 1),
    "min_positional_agreement": ("min_positional", 100),
    "min_accuracy": ("min_accuracy", 100),
    "max_unparsed": ("max_unparsed", 100),
}
"""Constraints that are numbers: the field of the form, and how much of its unit is 1."""
_WHERE = {field: f"constraints.{name}" for name, (field, _) in _LIMITS.items()}


class PartSerializer(Exact):
    """A dataset of a choice."""

    dataset = serializers.CharField(max_length=64)
    role = serializers.ChoiceField(choices=PART_ROLES, help_text="What judges are compared with on it.")
    weight = serializers.FloatField(
        min_value=0, max_value=1000, default=1.0, help_text="Its share in the objective; 0: reported only."
    )


class ConstraintsSerializer(Exact):
    """What a judge must satisfy. Shares are from 0 to 1."""

    open_weights = serializers.BooleanField(default=False)
    local = serializers.BooleanField(default=False)
    max_cost_per_1000 = serializers.FloatField(
        min_value=0, max_value=1e9, required=False, help_text="In dollars."
    )
    max_seconds = serializers.FloatField(
        min_value=0, max_value=1e9, required=False, help_text="For a judgment."
    )
    min_positional_agreement = serializers.FloatField(min_value=0, max_value=1, required=False)
    min_accuracy = serializers.FloatField(
        min_value=0, max_value=1, required=False, help_text="On each dataset with the role `gold`."
    )
    max_unparsed = serializers.FloatField(min_value=0, max_value=1, required=False)


class CriteriaAsked(Exact):
    """Selection criteria. Fields that are left out have the presets of the decision page."""

    kind = serializers.ChoiceField(
        choices=Kind.choices, required=False, help_text="Of the items that judges are chosen by."
    )
    parts: Any = PartSerializer(
        many=True,
        required=False,
        allow_empty=False,
        help_text="The datasets, their roles and weights. Those that aren't named are left out.",
    )
    constraints = ConstraintsSerializer(required=False)
    confidence = serializers.ChoiceField(choices=(0.9, 0.95, 0.99), required=False)
    epsilon = serializers.ChoiceField(
        choices=tuple(ADVICE), required=False, help_text="Of the alternative annotator test; pairs only."
    )
    measure = serializers.CharField(
        max_length=60,
        required=False,
        help_text="What judges are ranked by, where the kind has several figures.",
    )


class SelectionAsked(PreregistrationAsked, CriteriaAsked, VerdictAsked, SourceAsked):
    """A choice between judges, by criteria."""


def criteria_form(sweep: SweepView, values: dict[str, Any]) -> SelectionForm:
    """The form of the decision page, filled in and valid; what it refuses is raised by the names of the API."""
    parts = values.get("parts")
    try:
        form = selection_form(_given(sweep, values), sweep)
    except Http404 as error:
        raise RefusalProblem(400, str(error), field="kind") from None
    if not form.datasets:
        message = f"No judge has judged {form.words.items} that have human labels or gold answers."
        raise RefusalProblem(400, message)
    errors: dict[str, Any] = {}
    known, seen = {row.name for row in form.datasets}, set()
    for place, part in enumerate(parts or ()):
        name = part["dataset"]
        if name not in known:
            errors[f"parts.{place}.dataset"] = (
                f"No judge has judged {form.words.items} of it with labels or gold."
            )
        elif name in seen:
            errors[f"parts.{place}.dataset"] = "It's named twice."
        seen.add(name)
    fields = {"measure": "measure", "epsilon": "epsilon", "min_positional_agreement": "min_positional"}
    given = values | values.get("constraints", {})
    for name, field in fields.items():
        if name in given and field not in form.fields:
            errors[_WHERE.get(field, name)] = "It doesn't apply to items of this kind."
    if not errors and not form.is_valid():
        places = {part["dataset"]: place for place, part in enumerate(parts or ())}
        errors = {_named(field, places): list(found) for field, found in form.errors.items()}
    if errors:
        raise serializers.ValidationError(errors)
    return form


def _given(sweep: SweepView, values: dict[str, Any]) -> dict[str, str]:
    """What the page's address would have."""
    given = {"margin": f"{values['margin'] * 100:.12g}", "annotators": values["annotators"]}
    if "kind" in values:
        given["kind"] = values["kind"]
    if "confidence" in values:
        given["confidence"] = f"{values['confidence'] * 100:g}"
    for name in ("epsilon", "measure"):
        if name in values:
            given[name] = f"{values[name]}"
    constraints = values.get("constraints", {})
    for name in ("open_weights", "local"):
        given |= {name: "on"} if constraints.get(name) else {}
    for name, (field, unit) in _LIMITS.items():
        if name in constraints:
            given[field] = f"{constraints[name] * unit:.12g}"
    if "parts" in values:
        given |= {f"role-{dataset.name}": OUT for dataset in sweep.datasets}
        for part in values["parts"]:
            given |= {
                f"role-{part['dataset']}": part["role"],
                f"weight-{part['dataset']}": f"{part['weight']:.12g}",
            }
    return given


def _named(field: str, places: dict[str, int]) -> str:
    for prefix in ("role", "weight"):
        name = field.removeprefix(f"{prefix}-")
        if name != field and name in places:
            return f"parts.{places[name]}.{prefix}"
    return "detail" if field == "__all__" else _WHERE.get(field, field)
