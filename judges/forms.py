"""Forms of the admin for endpoints, judges and sweeps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.models import Dataset
from judges.models import Endpoint, Judge, Sweep
from judges.selectors.judges import judges_runnable
from judges.selectors.overview import DatasetChoice, JudgeChoice, datasets_offered, judges_offered
from judges.services.judges import DuplicateJudgeError, judge_content, spec_build
from judges.strategies.prompts import prompt_names
from judges.strategies.registry import STRATEGIES, StrategyInfo

CONTENT = ("strategy", "endpoint", "model", "revision", "prompt", "use_reference", "allow_tie")
DECODING = ("temperature", "max_tokens", "top_p", "seed")
PARAM_FIELDS: Mapping[type, type[forms.Field]] = {
    bool: forms.BooleanField,
    int: forms.IntegerField,
    float: forms.FloatField,
    str: forms.CharField,
}


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """A strategy as the form offers it, with the fields of its own settings."""

    info: StrategyInfo
    chosen: bool
    params: tuple[forms.BoundField, ...]


class JudgeForm(forms.ModelForm[Judge]):
    """All that makes a judge. What is not said takes the strategy's or the server's default.

    Parameters
    ----------
    source : Judge, optional
        What to start from: the judge to be changed, or the one to be copied. What the form has no field for,
        such as stop words, is taken over from it.
    """

    strategy = forms.ChoiceField(choices=lambda: [(info.name, info.title) for info in STRATEGIES.values()])
    model = forms.CharField(required=False, max_length=200, help_text="As the server names it.")
    revision = forms.CharField(
        required=False, max_length=100, help_text="A version of the model, where the server has several."
    )
    prompt = forms.ChoiceField(
        required=False,
        choices=lambda: [("", "The strategy's own"), *((name, name) for name in prompt_names())],
    )
    use_reference = forms.BooleanField(
        required=False,
        label="Show the human-written reference",
        help_text="Items that have none will fail.",
    )
    allow_tie = forms.BooleanField(
        required=False, label="Allow a tie", help_text="The judge may say that both are equally good."
    )
    temperature = forms.FloatField(
        required=False, min_value=0, max_value=2, initial=0.0, help_text="0 asks for the likeliest answer."
    )
    max_tokens = forms.IntegerField(
        required=False, min_value=1, initial=1024, label="Most tokens", help_text="Of an answer."
    )
    top_p = forms.FloatField(
        required=False, min_value=0, max_value=1, label="Top p", help_text="Empty: the server's default."
    )
    seed = forms.IntegerField(required=False, min_value=0, help_text="For servers that sample repeatably.")

    class Meta:
        model = Judge
        fields = ("name", "endpoint", "notes")
        help_texts = {
            "name": "How it will be called in every table.",
            "notes": "For people; no judge reads it.",
        }
        widgets = {"notes": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, source: Judge | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.source_content: dict[str, Any] = judge_content(source) if source is not None else {}
        decoding = self.source_content.get("decoding", {})
        given = {name: self.source_content[name] for name in CONTENT if name in self.source_content}
        given |= {name: decoding.get(name) for name in DECODING if source is not None}
        self.initial = {**given, **self.initial}
        strategy, params = self.source_content.get("strategy"), self.source_content.get("params", {})
        for name in ("endpoint", "model"):
            self.fields[name].required = self._asks_model()
        for info in STRATEGIES.values():
            for name, param in info.params.items():
                value = params.get(name, param.default) if info.name == strategy else param.default
                self.fields[_param_key(info, name)] = PARAM_FIELDS[param.kind](
                    required=False, initial=value, label=name.replace("_", " ").capitalize()
                )

    def _asks_model(self) -> bool:
        """Whether the strategy that was chosen, if one was, needs an endpoint and a model."""
        info = STRATEGIES.get(self.data.get(self.add_prefix("strategy"), ""))
        return info is None or info.needs_model

    def strategies(self) -> Iterator[tuple[str, list[StrategyChoice]]]:
        """Yield the strategies in two groups, each with what it is, what it needs and its settings."""
        chosen = self["strategy"].value()
        for title, needs_model in (("Asks a model", True), ("Needs no model", False)):
            yield (
                title,
                [
                    StrategyChoice(
                        info=info,
                        chosen=info.name == chosen,
                        params=tuple(self[_param_key(info, name)] for name in info.params),
                    )
                    for info in STRATEGIES.values()
                    if info.needs_model == needs_model
                ],
            )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        try:
            spec = spec_build(**self.content())
        except ValidationError as error:
            for field, errors in error.message_dict.items():
                self.add_error(field if field in self.fields else None, errors)
            return cleaned
        existing = Judge.objects.filter(fingerprint=spec.fingerprint()).exclude(pk=self.instance.pk).first()
        if existing is not None:
            self.add_error(None, DuplicateJudgeError(existing))
        return cleaned

    def content(self) -> dict[str, Any]:
        """The keyword arguments of `spec_build`."""
        data = self.cleaned_data
        info = STRATEGIES[data["strategy"]]
        params = {name: data[_param_key(info, name)] for name in info.params}
        return {name: data[name] for name in CONTENT} | {
            "params": {name: value for name, value in params.items() if value not in (None, "")},
            "decoding": {
                **self.source_content.get("decoding", {}),
                **{name: data[name] for name in DECODING},
            },
            "backend_options": self.source_content.get("backend_options", {}),
        }


def _param_key(info: StrategyInfo, name: str) -> str:
    return f"{info.name}__{name}"


class EndpointForm(forms.ModelForm[Endpoint]):
    class Meta:
        model = Endpoint
        fields = (
            "name",
            "base_url",
            "api_key_env",
            "is_local",
            "structured",
            "max_concurrency",
            "timeout_seconds",
            "price_input",
            "price_output",
        )
        labels = {
            "base_url": "Address",
            "is_local": "Under our own control",
            "structured": "Holding the model to a choice",
            "max_concurrency": "Requests at a time",
            "timeout_seconds": "Patience, in seconds",
            "price_input": "Price of prompt tokens",
            "price_output": "Price of completion tokens",
        }
        help_texts = {
            "name": "Letters, digits and hyphens.",
            "base_url": "Up to and with /v1, such as http://127.0.0.1:8001/v1.",
            "api_key_env": "Name of the environment variable that holds the key. The key itself is never stored or "
            "shown. Empty: no key is sent.",
            "is_local": "Items of private datasets may be sent there.",
            "timeout_seconds": "How long to wait for one answer.",
        }


class BudgetForm(forms.Form):
    """The limit with which a sweep goes on."""

    budget = forms.DecimalField(
        required=False,
        min_value=0,
        max_digits=10,
        decimal_places=2,
        label="Budget, in US dollars",
        help_text="Over the whole sweep, with what is spent already.",
    )


class SweepForm(forms.ModelForm[Sweep]):
    """A draft: which judges over which datasets. Whether it can run as it is, is checked when it is launched."""

    class Meta:
        model = Sweep
        fields = ("name", "datasets", "judges", "orders", "budget")
        labels = {"orders": "Presentation", "budget": "Budget, in US dollars"}
        help_texts = {
            "name": "What you want to find out, in a few words.",
            "budget": "The sweep stops there and can be resumed. Empty: no limit.",
            "orders": "Both orders show whether a judge sticks to its verdict when the responses change places.",
        }
        widgets = {"orders": forms.RadioSelect}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._datasets = datasets_offered()
        self._judges = judges_offered()
        self._offer("datasets", Dataset.objects.filter(pk__in=[each.pk for each in self._datasets]))
        self._offer("judges", judges_runnable())

    def _offer(self, name: str, queryset: Any) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        field.queryset = queryset
        field.error_messages["required"] = f"Choose at least one {name.removesuffix('s')}."

    def clean_budget(self) -> Decimal | None:
        budget: Decimal | None = self.cleaned_data["budget"]
        if budget is not None and budget <= 0:
            raise ValidationError("A budget is more than nothing; leave it empty for no limit.")
        return budget

    def _chosen(self, name: str) -> set[str]:
        return {str(value) for value in self[name].value() or ()}

    def dataset_choices(self) -> list[tuple[DatasetChoice, bool]]:
        """Return the datasets offered, each with whether it is chosen."""
        chosen = self._chosen("datasets")
        return [(choice, str(choice.pk) in chosen) for choice in self._datasets]

    def judge_choices(self) -> list[tuple[str, list[tuple[JudgeChoice, bool]]]]:
        """Return the judges offered in two groups, each with whether it is chosen."""
        chosen = self._chosen("judges")
        groups = (("They ask a model", True), ("They need no model: the floor to beat", False))
        return [
            (title, rows)
            for title, needs_model in groups
            if (
                rows := [
                    (choice, str(choice.pk) in chosen)
                    for choice in self._judges
                    if choice.needs_model == needs_model
                ]
            )
        ]


def spec_shown(judge: Judge) -> str:
    """Return the content of a judge as JSON, for people."""
    return json.dumps(judge.spec, indent=2, sort_keys=True, ensure_ascii=False)
