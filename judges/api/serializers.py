"""Rows as the API shows them. What comes in is checked by the services."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from judges.backends.answerers import answerers_read
from judges.models import Endpoint, Judge, Judgment, Sweep
from judges.services.sweep_settings import SweepSettings
from judges.strategies.info import StrategyInfo


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    """An endpoint. The name of the variable with its key is shown, the key never."""

    class Meta:
        model = Endpoint
        fields = (
            "id",
            "name",
            "kind",
            "base_url",
            "api_key_env",
            "is_local",
            "queue",
            "max_concurrency",
            "options",
        )


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


def strategy_json(info: StrategyInfo) -> dict[str, Any]:
    """Return what a strategy is and what can be set."""
    return {
        "name": info.name,
        "title": info.title,
        "kind": info.kind,
        "family": info.family,
        "summary": info.summary,
        "source": info.source,
        "needs_reference": info.needs_reference,
        "roles": list(info.roles),
        "prompts": {"prompt": info.prompt, **info.prompts},
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
