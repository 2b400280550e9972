"""Reports and decisions as the API shows them, and what it takes."""

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from annotation.api.base import Exact
from annotation.kinds import DEFAULT_KIND
from annotation.models import Kind
from metaeval.figures.sample import RISK
from metaeval.models import Decision, Report, ReportJob
from metaeval.selection.replacement import EPSILON
from metaeval.services.promotions import LONGEST_REASON

ANNOTATORS = ("alike", "these")


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


class VerdictAsked(Exact):
    """What a verdict is asked for."""

    margin = serializers.FloatField(
        min_value=0, max_value=0.99, default=0.0, help_text="How much better is better in practice."
    )
    annotators = serializers.ChoiceField(
        choices=ANNOTATORS, default="alike", help_text="Over which annotators a winner must win."
    )


class ReportWriteSerializer(VerdictAsked):
    """What to report on: a dataset or a study."""

    dataset = serializers.CharField(required=False)
    study = serializers.CharField(required=False)
    kind = serializers.ChoiceField(choices=Kind.choices, required=False)
    epsilon = serializers.FloatField(
        min_value=0, max_value=1, default=EPSILON, help_text="Of the alternative annotator test."
    )
    pass_mark = serializers.FloatField(
        min_value=1, max_value=5, required=False, allow_null=True, help_text="Of rubrics."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Ask for one of the two."""
        if bool(attrs.get("dataset")) == bool(attrs.get("study")):
            raise serializers.ValidationError("Name a dataset or a study.")
        return attrs


class SourceAsked(Exact):
    """Whose judgments: those of a sweep, or all of a dataset."""

    sweep = serializers.IntegerField(min_value=1, max_value=2**62, required=False)
    dataset = serializers.CharField(help_text="The dataset to compare on; without a sweep all its judgments.")


class ComparisonSerializer(SourceAsked, VerdictAsked):
    """Judges to compare with people or with gold."""

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


class DecisionWriteSerializer(SourceAsked, VerdictAsked):
    """A judge of pairs to promote, by the comparison that was looked at."""

    fingerprint = serializers.RegexField(r"^[0-9a-f]{8,64}$", help_text="The judge's.")
    reason = serializers.CharField(max_length=LONGEST_REASON)
    inputs_hash = serializers.RegexField(
        r"^[0-9a-f]{64}$", help_text="Of the comparison: the decision rests on its figures."
    )
    replaces = serializers.IntegerField(
        min_value=1,
        max_value=2**62,
        required=False,
        allow_null=True,
        default=None,
        help_text="The decision in force, which this one replaces; null where there is none.",
    )
    risk = serializers.FloatField(
        min_value=0.001, max_value=0.5, default=RISK, help_text="The share of errors that is accepted."
    )
