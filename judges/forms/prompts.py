"""The forms of prompts: a new version, and what to try it on."""

from typing import Any

from django import forms
from django.core.validators import RegexValidator

from annotation.selectors.examples import guidelines_offered
from annotation.selectors.offered import datasets_by_kind, item_picked
from judges.forms.judges import param_label
from judges.forms.redrawn import RedrawnMixin
from judges.models import PromptText
from judges.selectors.prompt_preview import PreviewOptions
from judges.selectors.prompts import strategies_of_prompt
from judges.strategies.info import StrategyInfo
from judges.strategies.presentation import is_presented
from judges.strategies.registry import STRATEGIES

NAME = RegexValidator(
    r"^[a-z][a-z0-9_]*\Z", "Lowercase letters, digits and underscores, starting with a letter."
)


class PromptForm(RedrawnMixin, forms.ModelForm[PromptText]):
    """The text of the next version of a prompt."""

    name = forms.CharField(
        max_length=64,
        validators=[NAME],
        help_text="Without a version: the next number of this name is added. A new name starts at 1.",
    )
    source = forms.CharField(
        label="Text",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 26, "class": "mono prompt-source", "spellcheck": "false"}),
    )

    class Meta:
        model = PromptText
        fields = ("name", "source", "notes")
        help_texts = {"notes": "What changed, and why. For researchers."}
        widgets = {"notes": forms.Textarea(attrs={"rows": 2})}


class PreviewForm(forms.Form):
    """Which strategy and which item to show a prompt on, and with what beside it.

    Parameters
    ----------
    kind, stem : str
        Of the prompt: they decide which strategies are offered, and which comes first.
    """

    strategy = forms.ChoiceField(required=False, label="As prompted by")
    dataset = forms.ChoiceField(required=False)
    item = forms.CharField(
        required=False,
        max_length=200,
        label="Item",
        help_text="Its name in the dataset. If empty, the first item.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    use_reference = forms.BooleanField(required=False, label="Reference shown")
    allow_tie = forms.BooleanField(required=False, label="Tie allowed")
    with_shot = forms.BooleanField(required=False, label="With an example")
    guidelines = forms.ChoiceField(required=False, label="Guidelines of")
    swapped = forms.BooleanField(required=False, label="Responses swapped")

    def __init__(self, *args: Any, kind: str, stem: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.uses = dict(strategies_of_prompt(kind, stem))
        offered = [
            info for info in STRATEGIES.values() if info.kind == kind and (info.prompt or info.prompts)
        ]
        offered.sort(key=lambda info: info.name not in self.uses)
        _choices(self, "strategy", [(info.name, info.title) for info in offered])
        self.datasets = datasets_by_kind(kind)
        _choices(self, "dataset", [(str(each.pk), each.name) for each in self.datasets])
        self.studies = {str(one.pk): one for one in guidelines_offered(kind)}
        titles = [(pk, one.title) for pk, one in self.studies.items()]
        _choices(self, "guidelines", [("", "Nobody"), *titles])
        if not is_presented(kind):
            for name in ("allow_tie", "with_shot", "swapped"):
                del self.fields[name]
        for info in [info for info in offered if info.name in self.uses] or offered:
            for name, param in info.params.items():
                if param.kind is bool:
                    self.fields[f"param__{name}"] = forms.BooleanField(
                        required=False, initial=param.default, label=param_label(name)
                    )

    @property
    def flags(self) -> list[forms.BoundField]:
        """The check boxes."""
        return [field for field in self if isinstance(field.field, forms.BooleanField)]

    def info(self) -> StrategyInfo | None:
        """The strategy that was chosen, or the first one."""
        choices = self.fields["strategy"].choices  # type: ignore[attr-defined]
        first = choices[0][0] if choices else ""
        return STRATEGIES.get(self.cleaned_data.get("strategy") or first)

    def step(self, info: StrategyInfo) -> str:
        """Which of the strategy's prompts it stands for; empty: the main one."""
        return self.uses.get(info.name, "")

    def options(self, info: StrategyInfo) -> PreviewOptions:
        said = self.cleaned_data
        chosen = self.studies.get(said.get("guidelines") or "")
        return PreviewOptions(
            use_reference=bool(said.get("use_reference")),
            allow_tie=bool(said.get("allow_tie")),
            with_shot=bool(said.get("with_shot")),
            guidelines=chosen.text if chosen is not None else "",
            params={
                name: bool(said.get(f"param__{name}"))
                for name in info.params
                if f"param__{name}" in self.fields
            },
        )

    def item_id(self, *, at_random: bool) -> int | None:
        """The item to show: the one that was named, a random one, or the first."""
        dataset = self.cleaned_data.get("dataset") or (self.datasets[0].pk if self.datasets else 0)
        name = str(self.cleaned_data.get("item") or "").strip()
        return item_picked(dataset, self.kind, external_id=name, at_random=at_random)


def _choices(form: forms.Form, name: str, choices: list[tuple[str, str]]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices
