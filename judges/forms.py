"""Forms of the admin for endpoints, judges and sweeps."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from judges.models import Endpoint, Judge, Sweep
from judges.selectors.judges import judges_runnable
from judges.services.judges import DuplicateJudgeError, judge_content, spec_build
from judges.strategies.prompts import prompt_names
from judges.strategies.registry import STRATEGIES

CONTENT = ("strategy", "endpoint", "model", "revision", "prompt", "use_reference", "allow_tie", "params")


def strategy_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Strategies in two groups: those that ask a model and those that need none."""
    asking = [(info.name, info.title) for info in STRATEGIES.values() if info.needs_model]
    plain = [(info.name, info.title) for info in STRATEGIES.values() if not info.needs_model]
    return [("Asks a model", asking), ("Needs no model", plain)]


class JudgeForm(forms.ModelForm[Judge]):
    """All that makes a judge. What is not said takes the strategy's or the server's default."""

    strategy = forms.ChoiceField(
        choices=strategy_choices, help_text="How the judge is asked and how its answer is read."
    )
    model = forms.CharField(
        required=False, max_length=200, help_text="As the server names it. Empty for a judge without a model."
    )
    revision = forms.CharField(
        required=False, max_length=100, help_text="A version of the model, where the server has several."
    )
    prompt = forms.ChoiceField(required=False, choices=lambda: [("", "The strategy's own"), *_prompt_choices()])
    use_reference = forms.BooleanField(
        required=False, label="Show the human reference", help_text="Items without one fail."
    )
    allow_tie = forms.BooleanField(required=False, label="Allow a tie")
    temperature = forms.FloatField(required=False, min_value=0, max_value=2, initial=0.0)
    max_tokens = forms.IntegerField(required=False, min_value=1, initial=1024)
    top_p = forms.FloatField(required=False, min_value=0, max_value=1)
    seed = forms.IntegerField(required=False, help_text="For servers that sample repeatably.")
    params = forms.JSONField(
        required=False, initial=dict, help_text='Settings of the strategy, such as {"rules": true}.'
    )

    class Meta:
        model = Judge
        fields = ("name", "endpoint", "notes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            content = judge_content(self.instance)
            decoding = content.pop("decoding", {})
            self.initial |= content | {name: decoding.get(name) for name in DECODING}
            self.fields["params"].initial = content.get("params", {})

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                spec = spec_build(**self.content())
            except ValidationError as error:
                for field, messages in error.message_dict.items():
                    self.add_error(field if field in self.fields else None, messages)
            else:
                existing = Judge.objects.filter(fingerprint=spec.fingerprint()).exclude(pk=self.instance.pk)
                if judge := existing.first():
                    self.add_error(None, DuplicateJudgeError(judge))
        return cleaned

    def content(self) -> dict[str, Any]:
        """The keyword arguments of `spec_build`."""
        data = self.cleaned_data
        decoding = {name: data[name] for name in DECODING}
        return {name: data[name] for name in CONTENT if name != "params"} | {
            "params": data["params"] or {},
            "decoding": decoding,
        }


DECODING = ("temperature", "max_tokens", "top_p", "seed")


def _prompt_choices() -> list[tuple[str, str]]:
    return [(name, name) for name in prompt_names()]


class EndpointForm(forms.ModelForm[Endpoint]):
    class Meta:
        model = Endpoint
        exclude = ("created_at",)


class SweepForm(forms.ModelForm[Sweep]):
    class Meta:
        model = Sweep
        fields = ("name", "datasets", "judges", "orders", "budget")
        widgets = {"judges": forms.CheckboxSelectMultiple, "datasets": forms.CheckboxSelectMultiple}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        judges = self.fields["judges"]
        assert isinstance(judges, forms.ModelMultipleChoiceField)
        judges.queryset = judges_runnable()
