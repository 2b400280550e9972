"""Rows as the API shows them. What comes in is checked by the services."""

from dataclasses import asdict
from decimal import Decimal
from typing import Any

from rest_framework import serializers

from annotation.api.base import Exact
from judges.backends.answerers import answerers_read
from judges.models import ENDPOINT_KINDS, Endpoint, Judge, Judgment, Queue, Structured, Sweep
from judges.services.plans import JUDGE_FIELDS, PLAN_FIELDS
from judges.services.sweep_settings import SweepSettings
from judges.services.verdict_lines import LINE_FIELDS
from judges.strategies.info import StrategyInfo


def _price() -> serializers.DecimalField:
    about = "US dollars per million tokens."
    return serializers.DecimalField(
        max_digits=10, decimal_places=4, min_value=Decimal(0), required=False, help_text=about
    )


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    """An endpoint. The name of the variable with its key is shown, the key never."""

    class Meta:
        model = Endpoint
        fields = (
            "id",
            "name",
            "kind",
            "base_url",
            "addresses",
            "api_key_env",
            "is_local",
            "open_weights",
            "queue",
            "structured",
            "in_batches",
            "takes_images",
            "max_concurrency",
            "timeout_seconds",
            "requests_per_minute",
            "tokens_per_minute",
            "price_input",
            "price_output",
            "prices",
            "options",
        )


class EndpointWriteSerializer(Exact):
    """An endpoint to add, or to change. What is left out stays as it is; a key is never sent, only its variable."""

    name = serializers.SlugField(max_length=64)
    kind = serializers.ChoiceField(choices=[kind.value for kind in ENDPOINT_KINDS], required=False)
    base_url = serializers.CharField(required=False, allow_blank=True, max_length=300)
    addresses = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        max_length=1000,
        help_text="Where the server is asked, if not at its address: copies of it share the requests.",
    )
    api_key_env = serializers.CharField(required=False, allow_blank=True, max_length=100)
    is_local = serializers.BooleanField(required=False)
    open_weights = serializers.BooleanField(required=False, allow_null=True)
    queue = serializers.ChoiceField(choices=Queue.choices, required=False)
    structured = serializers.ChoiceField(choices=Structured.choices, required=False)
    in_batches = serializers.BooleanField(required=False)
    takes_images = serializers.BooleanField(required=False)
    max_concurrency = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    timeout_seconds = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    requests_per_minute = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**31 - 1
    )
    tokens_per_minute = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**31 - 1
    )
    price_input = _price()
    price_output = _price()
    prices: Any = serializers.DictField(required=False)
    options: Any = serializers.DictField(required=False)


class JudgeSerializer(serializers.ModelSerializer[Judge]):
    class Meta:
        model = Judge
        fields = ("id", "name", "strategy", "model", "backend", "fingerprint", "spec", "notes", "created_at")


class SweepSerializer(serializers.ModelSerializer[Sweep]):
    judges: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)
    datasets: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)

    class Meta:
        model = Sweep
        fields = (
            *("id", "name", "state", "message", "judges", "datasets"),
            *SweepSettings.__dataclass_fields__,
            *("created_at", "started_at", "finished_at"),
        )


class JudgmentSerializer(serializers.ModelSerializer[Judgment]):
    judge: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)
    item: Any = serializers.SlugRelatedField(slug_field="external_id", read_only=True)
    dataset = serializers.CharField(source="item.dataset.name", read_only=True)
    answered_by: Any = serializers.SerializerMethodField()

    class Meta:
        model = Judgment
        fields = (
            *(
                "id",
                "judge",
                "dataset",
                "item",
                "order",
                "sample",
                "status",
                "choice",
                "probability",
                "value",
            ),
            *("raw_text", "thought", "requests", "cost", "latency_ms", "answered_by", "created_at"),
        )

    def get_answered_by(self, judgment: Judgment) -> list[dict[str, str]]:
        """Return the models that answered, each with the name that was asked for."""
        return [asdict(each) for each in answerers_read(judgment.answered_by)]


class SweepDetailSerializer(SweepSerializer):
    """A sweep and how far it is."""

    progress: Any = serializers.DictField(read_only=True)

    class Meta(SweepSerializer.Meta):
        fields = (*SweepSerializer.Meta.fields, "progress")


class SweepPlannedSerializer(SweepSerializer):
    """The draft that a plan made, and the judges that were missing."""

    judges_made: Any = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta(SweepSerializer.Meta):
        fields = (*SweepSerializer.Meta.fields, "judges_made")


class SweepMovedSerializer(SweepSerializer):
    """A sweep after it was started, paused, resumed or cancelled."""

    warnings: Any = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta(SweepSerializer.Meta):
        fields = (*SweepSerializer.Meta.fields, "warnings")


class ResumeSerializer(Exact):
    """What a sweep may go on with. The bounds are those of the columns."""

    budget = serializers.DecimalField(
        max_digits=10, decimal_places=2, min_value=Decimal(0), required=False, help_text="US dollars."
    )
    budget_tokens = serializers.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    budget_minutes = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    retry_failed = serializers.BooleanField(required=False, default=False)


class JudgmentRowSerializer(Exact):
    """A verdict to import: of your own, or a line of `touchstone judge` or of an export, which has a `fingerprint`."""

    item = serializers.CharField(help_text="The item's id in its dataset.")
    judge = serializers.CharField(max_length=200)
    verdict = serializers.JSONField(
        required=False,
        allow_null=True,
        help_text="In canonical order; null where the judge's answer could not be read. A line has `value`.",
    )
    order = serializers.IntegerField(min_value=0, max_value=1, required=False, help_text="1: shown swapped.")
    raw = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    model = serializers.CharField(max_length=200, required=False, allow_blank=True)
    strategy = serializers.CharField(max_length=64, required=False, allow_blank=True)
    score_1 = serializers.FloatField(required=False)
    score_2 = serializers.FloatField(required=False)
    scores = serializers.JSONField(
        required=False,
        allow_null=True,
        help_text="A list of what the judge gave each response, null where it could not be read.",
    )

    def get_fields(self) -> dict[str, Any]:
        """Return these fields and those of a line, which the reader of lines checks."""
        fields = super().get_fields()
        return fields | {
            name: serializers.JSONField(required=False, allow_null=True)
            for name in LINE_FIELDS
            if name not in fields
        }


class JudgmentsWriteSerializer(Exact):
    """Verdicts to import, all or none."""

    dataset = serializers.CharField()
    judgments: Any = JudgmentRowSerializer(many=True, allow_empty=False)


class JudgmentsImportedSerializer(serializers.Serializer[Any]):
    """What an import of verdicts did."""

    dataset = serializers.CharField()
    judges = serializers.IntegerField()
    judges_created = serializers.IntegerField()
    judgments = serializers.IntegerField()
    judgments_created = serializers.IntegerField()
    unparsed = serializers.IntegerField()
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="What was left out, or couldn't be compared."
    )


class StrategySerializer(serializers.Serializer[Any]):
    """A way of judging and what can be set."""

    name = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.CharField()
    family = serializers.CharField()
    summary = serializers.CharField()
    source: Any = serializers.CharField(allow_blank=True, allow_null=True)
    needs_reference = serializers.BooleanField()
    roles = serializers.ListField(child=serializers.CharField())
    prompts = serializers.DictField()
    params = serializers.DictField()


def plan_schema(fields: frozenset[str]) -> dict[str, Any]:
    """The fields of a plan in OpenAPI: the service reads them, and says what is wrong with one."""
    return {
        "type": "object",
        "properties": {name: {} for name in sorted(fields)},
        "additionalProperties": False,
    }


JUDGE_BODY = plan_schema(JUDGE_FIELDS) | {"required": ["strategy"]}
JUDGE_DOCUMENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "fingerprint": {"type": "string"},
        "spec": {"type": "object"},
        "ask_at": {"type": "string"},
    },
    "required": ["name", "fingerprint", "spec"],
}
PLAN_BODY = plan_schema(PLAN_FIELDS) | {"required": ["name", "datasets"]}


def strategy_json(info: StrategyInfo) -> dict[str, Any]:
    """Return what a strategy is and what can be set."""
    return {
        "name": info.name,
        "title": info.title,
        "kind": info.kind,
        "family": info.family,
        "summary": info.summary,
        "source": info.source,
        "difference": info.difference,
        "needs_reference": info.needs_reference,
        "roles": list(info.roles),
        "prompts": {"prompt": info.prompt, **info.all_prompts},
        "params": {
            name: {
                "type": param.kind.__name__,
                "default": param.default,
                "help": param.help,
                "choices": list(param.choices),
            }
            for name, param in info.params.items()
        },
    }
