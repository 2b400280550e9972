"""Reports and decisions as the API shows them, and what it takes."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.domain.scales import FARTHEST
from annotation.kinds import DEFAULT_KIND
from annotation.models import Kind
from metaeval.api.selections import CriteriaAsked
from metaeval.api.sources import (
    MOST_ID,
    DimensionAsked,
    PreregistrationAsked,
    PresetAsked,
    SourceAsked,
    VerdictAsked,
    row_field,
)
from metaeval.figures.sample import RISK
from metaeval.models import Decision, Preregistration, Report, ReportJob
from metaeval.selection.replacement import EPSILON
from metaeval.selection.types import COMPOSITE
from metaeval.services.promotions import LONGEST_REASON

_PROMOTED = rf"^([0-9a-f]{{8,64}}|{COMPOSITE})$"


class ReportSerializer(serializers.ModelSerializer[Report]):
    """A stored report, without its content."""

    dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    study: Any = serializers.SlugRelatedField(slug_field="slug", read_only=True, allow_null=True)
    sweep: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    created_by: Any = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = Report
        fields = (
            *("id", "name", "dataset", "study", "sweep", "inputs_hash", "options"),
            *("created_by", "created_at"),
        )


class ReportDetailSerializer(ReportSerializer):
    """A stored report with its content (`docs/report-schema.md`)."""

    content: Any = serializers.DictField(read_only=True)

    class Meta(ReportSerializer.Meta):
        fields = (*ReportSerializer.Meta.fields, "content")  # type: ignore[assignment]


class JobSerializer(serializers.ModelSerializer[ReportJob]):
    """Figures that a worker makes. Ask again until `state` is `done`, `failed` or `cancelled`."""

    dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    study: Any = serializers.SlugRelatedField(slug_field="slug", read_only=True, allow_null=True)
    report: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    content: Any = serializers.DictField(read_only=True, allow_null=True)
    url = serializers.SerializerMethodField(help_text="Where to ask again.")

    class Meta:
        model = ReportJob
        fields = (
            *("id", "url", "page", "dataset", "study", "kind", "state", "step", "n_done", "n_total"),
            *("error", "report", "content", "created_at", "finished_at"),
        )
        read_only_fields = fields

    def get_url(self, job: ReportJob) -> str:
        """Return the address of the job."""
        return reverse("api:job", args=[job.pk])


class ReportWriteSerializer(PreregistrationAsked, PresetAsked, DimensionAsked, VerdictAsked):
    """What to report on: a dataset or a study."""

    dataset = serializers.CharField(required=False)
    study = serializers.CharField(required=False)
    kind = serializers.ChoiceField(choices=Kind.choices, required=False)
    epsilon = serializers.FloatField(
        min_value=0, max_value=1, default=EPSILON, help_text="Epsilon of the alternative annotator test."
    )
    pass_mark = serializers.FloatField(
        min_value=-FARTHEST,
        max_value=FARTHEST,
        required=False,
        allow_null=True,
        help_text="Of rubrics, on their scale; from 0 to 1 where criteria have different scales.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for one of the two."""
        attrs = super().validate(attrs)
        if bool(attrs.get("dataset")) == bool(attrs.get("study")):
            raise serializers.ValidationError("Name a dataset or a study.")
        return attrs


class ComparisonSerializer(PreregistrationAsked, PresetAsked, DimensionAsked, VerdictAsked, SourceAsked):
    """Judges to compare with people or with gold."""

    dataset = serializers.CharField(help_text="The dataset to compare on; without a sweep all its judgments.")
    kind = serializers.ChoiceField(choices=Kind.choices, default=DEFAULT_KIND)
    against = serializers.ChoiceField(
        choices=("people", "gold"), required=False, help_text="What judges are compared with."
    )


class DecisionSerializer(serializers.ModelSerializer[Decision]):
    """Which judge is used for a dataset's items of a kind, and why."""

    dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    judge: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    fingerprint = serializers.CharField(source="judge.fingerprint", read_only=True)
    sweep: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    decided_by: Any = serializers.SlugRelatedField(slug_field="username", read_only=True)
    replaced_by: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)

    class Meta:
        model = Decision
        fields = (
            *("id", "dataset", "kind", "judge", "fingerprint", "sweep", "reason", "inputs_hash"),
            *("decided_by", "created_at", "replaced_by"),
        )


class DecisionDetailSerializer(DecisionSerializer):
    """A decision with the figures that it rests on."""

    class Meta(DecisionSerializer.Meta):
        fields = (*DecisionSerializer.Meta.fields, "evidence")  # type: ignore[assignment]


class DecisionMadeSerializer(DecisionDetailSerializer):
    """The decision that a promotion made; of one by a selection, that on the first of its datasets."""

    together: Any = serializers.SerializerMethodField(
        help_text="All decisions that the promotion made: one for each dataset with a share in it."
    )

    class Meta(DecisionDetailSerializer.Meta):
        fields = (*DecisionDetailSerializer.Meta.fields, "together")  # type: ignore[assignment]

    @extend_schema_field(DecisionSerializer(many=True))
    def get_together(self, decision: Decision) -> Any:
        """Return them all, in the order of their datasets."""
        return DecisionSerializer(self.context["made"], many=True).data


class DecisionWriteSerializer(PreregistrationAsked, CriteriaAsked, PresetAsked, VerdictAsked, SourceAsked):
    """A judge to promote, by the comparison or the selection that was looked at."""

    by = serializers.ChoiceField(
        choices=("comparison", "selection"),
        default="comparison",
        help_text="What the decision rests on: the comparison of pairs on one dataset, or a selection by criteria.",
    )
    fingerprint = serializers.RegexField(
        _PROMOTED, help_text=f"The judge's; `{COMPOSITE}` for the composite of a selection."
    )
    reason = serializers.CharField(max_length=LONGEST_REASON)
    inputs_hash = serializers.RegexField(
        r"^[0-9a-f]{64}$", help_text="Of the comparison or selection: the decision rests on its figures."
    )
    replaces = row_field(
        "By comparison: the current decision, which this one replaces; null if there is none.",
        required=False,
        allow_null=True,
        default=None,
    )
    in_force = serializers.DictField(
        child=serializers.IntegerField(min_value=1, max_value=MOST_ID, allow_null=True),
        required=False,
        default=dict,
        help_text="By selection: the current decision by the name of its dataset; these are replaced.",
    )
    override = serializers.BooleanField(
        default=False,
        help_text="Promote it although a constraint isn't satisfied, or something else speaks against it.",
    )
    risk = serializers.FloatField(
        min_value=0.001, max_value=0.5, default=RISK, help_text="The share of errors that is accepted."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What belongs to the other basis is refused: left out silently, it would be thought to count."""
        attrs = super().validate(attrs)
        by_selection = attrs["by"] == "selection"
        if not by_selection and not attrs.get("dataset"):
            raise serializers.ValidationError({"dataset": "Name the dataset of the comparison."})
        other = ("replaces",) if by_selection else (*CriteriaAsked().fields, "in_force", "override")
        given = set(self.initial_data) & set(other)
        wanted = "a comparison" if by_selection else "a selection"
        if wrong := {name: f"It belongs to {wanted}." for name in given if attrs.get(name)}:
            raise serializers.ValidationError(wrong)
        return attrs


class PreregistrationSerializer(serializers.ModelSerializer[Preregistration]):
    """A plan of a study that was frozen before there were results."""

    dataset: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    created_by: Any = serializers.SlugRelatedField(slug_field="username", read_only=True)

    class Meta:
        model = Preregistration
        fields: tuple[str, ...] = ("id", "title", "dataset", "sha256", "created_by", "created_at")
        read_only_fields: tuple[str, ...] = fields


class PreregistrationDetailSerializer(PreregistrationSerializer):
    """The same with what was planned."""

    content: Any = serializers.DictField(read_only=True)

    class Meta(PreregistrationSerializer.Meta):
        fields = (*PreregistrationSerializer.Meta.fields, "content")
        read_only_fields = fields
