"""Whose judgments a comparison or a choice is about, and by which plan: how both are asked for, and found."""

from typing import Any

from django.http import Http404
from rest_framework import serializers

from annotation.api.base import ApiView, Exact
from annotation.models import Dataset
from metaeval.figures import published_presets
from metaeval.models import Preregistration
from metaeval.selectors.preregistrations import preregistration_get_for
from metaeval.selectors.sweeps import SweepView, dataset_of, judges_chosen_of, source_get_for
from web.api.problems import RefusalProblem

ANNOTATORS = ("alike", "these")
MOST_ID = 2**62
MOST_JUDGES = 200


def row_field(help_text: str, **options: Any) -> serializers.IntegerField:
    """The number of a row."""
    return serializers.IntegerField(min_value=1, max_value=MOST_ID, help_text=help_text, **options)


class PreregistrationAsked(Exact):
    """What was planned."""

    preregistration = row_field(
        "Your preregistration, by its `id`: the result says what was kept of it.",
        required=False,
        allow_null=True,
        default=None,
    )


class VerdictAsked(Exact):
    """What a verdict is asked for."""

    margin = serializers.FloatField(
        min_value=0,
        max_value=0.99,
        default=0.0,
        help_text="The smallest difference that matters in practice.",
    )
    annotators = serializers.ChoiceField(
        choices=ANNOTATORS, default="alike", help_text="Over which annotators a winner must win."
    )


class PresetAsked(Exact):
    """By which paper's convention."""

    preset = serializers.ChoiceField(
        choices=list(published_presets()),
        allow_blank=True,
        default="",
        help_text="A paper whose figures are computed by its own convention, beside the others.",
    )


class DimensionAsked(Exact):
    """On which dimension of pairs."""

    dimension = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=40,
        help_text="Of pairs: the key of the dimension that labels are read on. If left out, the overall one.",
    )


class SourceAsked(Exact):
    """Whose judgments: those of a sweep, or of the judges of a dataset."""

    sweep = row_field("The sweep whose judges are compared, by its `id`.", required=False)
    dataset = serializers.CharField(
        required=False, help_text="The dataset to compare on; without a sweep all its judgments."
    )
    judges = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MOST_ID),
        required=False,
        min_length=1,
        max_length=MOST_JUDGES,
        help_text="Without a sweep: only these judges of the dataset, by their `id`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for one source."""
        attrs = super().validate(attrs)
        if "sweep" not in attrs and not attrs.get("dataset"):
            raise serializers.ValidationError({"dataset": "Name a dataset, or a sweep."})
        if "sweep" in attrs and "judges" in attrs:
            raise serializers.ValidationError({"judges": "Leave this out: a sweep has its judges."})
        return attrs


def source_of(view: ApiView, values: dict[str, Any]) -> SweepView:
    """Whose judgments are meant; raises RefusalProblem where the user sees none such."""
    name = values.get("dataset")
    field = "sweep" if "sweep" in values else "dataset"
    try:
        found = source_get_for(view.user, values.get("sweep"), name)
        if "judges" in values:
            field = "judges"
            found = judges_chosen_of(found, map(str, values["judges"]))
    except Http404 as error:
        raise RefusalProblem(400, str(error) or "There is no such row.", field=field) from None
    return found


def dataset_asked(sweep: SweepView, values: dict[str, Any]) -> Dataset:
    """The dataset of the source that is compared on; raises RefusalProblem."""
    try:
        return dataset_of(sweep, values["dataset"])
    except Http404 as error:
        raise RefusalProblem(400, str(error), field="dataset") from None


def plan_of(view: ApiView, values: dict[str, Any]) -> Preregistration | None:
    """The preregistration that was named; raises RefusalProblem where the user has none such."""
    if (pk := values.get("preregistration")) is None:
        return None
    try:
        return preregistration_get_for(view.user, pk)
    except Http404:
        message = "You have no such preregistration."
        raise RefusalProblem(400, message, field="preregistration") from None
