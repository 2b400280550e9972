"""The fields of a judge that hang on its strategy: settings, model, words, other models, members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from annotation.selectors.examples import (
    datasets_with_examples,
    guidelines_offered,
    studies_with_examples,
)
from judges.models import Endpoint, Judge
from judges.selectors.judges import judges_as_members
from judges.selectors.prompts import prompt_choices
from judges.strategies.registry import Param, StrategyInfo

KEEP = "keep"
"""The choice that leaves guidelines or examples as the judge has them."""
DECODING = ("temperature", "max_tokens", "top_p", "seed")
MOST_SHOTS = 32
LINE = 60
"""Characters of a line: what is longer gets a box of several."""

LABELS: Mapping[str, str] = {"cot": "chain of thought", "expected": "expected score"}
"""What settings are called whose name does not say it."""

Fields = dict[str, forms.Field]


@dataclass(frozen=True, slots=True)
class RowLists:
    """What the selects of the rows offer, read once for all rows."""

    endpoints: Mapping[str, Endpoint]
    judges: Mapping[str, Judge]


def asks_main_model(info: StrategyInfo) -> bool:
    """Whether an endpoint and a model have to be chosen in the role "judge"."""
    return info.needs_model and info.main_model


def has_words(info: StrategyInfo) -> bool:
    """Whether the strategy shows prompts of its own to a model."""
    return info.needs_model and not info.composed


def has_prompt(info: StrategyInfo) -> bool:
    return has_words(info) and bool(info.prompt or info.needs_prompt)


def samples(info: StrategyInfo) -> bool:
    """Whether temperature and the like make a difference."""
    return has_words(info) and "decoding" in info.takes


def takes(info: StrategyInfo, what: str) -> bool:
    return has_words(info) and what in info.takes


def param_key(info: StrategyInfo, name: str) -> str:
    return f"{info.name}__{name}"


def param_label(name: str) -> str:
    """Return what a setting is called on the pages."""
    words = LABELS.get(name, name.replace("_", " "))
    return words[:1].upper() + words[1:]


def param_field(name: str, param: Param, value: object) -> forms.Field:
    """Return the field of one setting of a strategy's own."""
    words: dict[str, Any] = {
        "required": False,
        "initial": value,
        "label": param_label(name),
        "help_text": param.help,
    }
    if param.kind is bool:
        return forms.BooleanField(**words)
    if param.choices:
        choices = [(str(each), str(each).replace("_", " ")) for each in param.choices]
        coerce: Callable[[Any], Any] = param.kind
        return forms.TypedChoiceField(
            choices=choices, coerce=coerce, empty_value=None, **words | {"initial": str(value)}
        )
    if param.kind is int:
        return forms.IntegerField(min_value=_whole(param.low), max_value=_whole(param.high), **words)
    if param.kind is float:
        return forms.FloatField(min_value=param.low, max_value=param.high, **words)
    # Spaces and line ends may matter: a prefix that an encoder was trained with ends in one.
    lines = [len(line) // LINE + 1 for line in str(value).split("\n")]
    rows = min(sum(lines), 12)
    widget = forms.Textarea(attrs={"rows": rows, "class": "mono"}) if rows > 1 else forms.TextInput()
    return forms.CharField(strip=False, widget=widget, **words)


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def param_fields(info: StrategyInfo, values: Mapping[str, Any]) -> Fields:
    return {
        param_key(info, name): param_field(name, param, values.get(name, param.default))
        for name, param in info.params.items()
    }


def decoding_fields(values: Mapping[str, Any] | None) -> Fields:
    """How it samples; `values` of the judge to start from, None for a new one."""
    given = {"temperature": 0.0, "max_tokens": 1024} if values is None else values
    return {
        "temperature": forms.FloatField(
            required=False,
            min_value=0,
            max_value=2,
            initial=given.get("temperature"),
            help_text="0 asks for the likeliest answer.",
        ),
        "max_tokens": forms.IntegerField(
            required=False,
            min_value=1,
            initial=given.get("max_tokens"),
            label="Most tokens",
            help_text="Of an answer.",
        ),
        "top_p": forms.FloatField(
            required=False,
            min_value=0,
            max_value=1,
            initial=given.get("top_p"),
            label="Top p",
            help_text="Empty: the server's default.",
        ),
        "seed": forms.IntegerField(
            required=False,
            min_value=0,
            initial=given.get("seed"),
            help_text="For servers that sample repeatably.",
        ),
    }


def word_fields(info: StrategyInfo, content: Mapping[str, Any]) -> Fields:
    """Prompts, and what is shown beside the item."""
    fields: Fields = {}
    names = prompt_choices(info.kind) if has_prompt(info) or (has_words(info) and info.prompts) else []
    if has_prompt(info):
        own = content.get("prompt", "")
        first = ("", f"Its own: {info.prompt}" if info.prompt else "Choose one")
        known = [*names, own] if own and own not in names else names
        fields["prompt"] = forms.ChoiceField(
            required=not info.prompt,
            choices=[first, *((name, name) for name in known)],
            initial="" if own == info.prompt else own,
        )
    if has_words(info):
        given = content.get("step_prompts", {})
        for step, default in info.prompts.items():
            fields[f"step__{step}"] = forms.ChoiceField(
                required=False,
                choices=[("", f"Its own: {default}"), *((name, name) for name in names)],
                initial="" if given.get(step) == default else given.get(step, ""),
                label=f"Prompt of the step “{LABELS.get(step, step.replace('_', ' '))}”",
            )
    if takes(info, "reference") and not info.needs_reference:
        fields["use_reference"] = forms.BooleanField(
            required=False,
            label="Show the human-written reference",
            help_text="Items that have none will fail.",
            initial=content.get("use_reference", False),
        )
    if takes(info, "reference") or info.needs_reference:
        fields["reference_system"] = forms.CharField(
            required=False,
            max_length=200,
            label="Take the response of a system for the reference",
            help_text="Its name, as the dataset has it. Empty: the human-written reference.",
            initial=content.get("reference_system", ""),
        )
    if takes(info, "tie"):
        fields["allow_tie"] = forms.BooleanField(
            required=False,
            label="Allow a tie",
            help_text="The judge may say that both are equally good.",
            initial=content.get("allow_tie", False),
        )
    if takes(info, "guidelines"):
        fields["guidelines_from"] = _guidelines_field(info, content)
    if takes(info, "shots"):
        fields |= _shot_fields(content)
    return fields


def _guidelines_field(info: StrategyInfo, content: Mapping[str, Any]) -> forms.Field:
    choices = [("", "None")]
    if content.get("guidelines"):
        choices.append((KEEP, "As this judge has them"))
    choices += [
        (f"study:{each.pk}", f"{each.title}, version {each.version}")
        for each in guidelines_offered(info.kind)
    ]
    return forms.ChoiceField(
        required=False,
        choices=choices,
        initial=KEEP if content.get("guidelines") else "",
        label="Guidelines of a study",
        help_text="People and judge then follow one text. It is taken as it stands now; later versions do not change "
        "the judge.",
    )


def _shot_fields(content: Mapping[str, Any]) -> Fields:
    choices: list[tuple[str, Any]] = [("", "None")]
    if shots := content.get("shots"):
        choices.append((KEEP, f"As this judge has them ({len(shots)})"))
    studies = [(f"study:{each.pk}", f"{each.name} ({each.n})") for each in studies_with_examples()]
    datasets = [(f"dataset:{each.pk}", f"{each.name} ({each.n})") for each in datasets_with_examples()]
    if studies:
        choices.append(("Training of a study, with its explanations", studies))
    if datasets:
        choices.append(("Pairs with a known answer", datasets))
    return {
        "shots_from": forms.ChoiceField(
            required=False,
            choices=choices,
            initial=KEEP if shots else "",
            label="Worked examples",
            help_text="Shown before the item. Do not judge the pairs that serve as examples. Private datasets are not "
            "offered: examples travel with every request.",
        ),
        "shots_n": forms.IntegerField(
            required=False, min_value=1, max_value=MOST_SHOTS, initial=4, label="How many"
        ),
        "shots_seed": forms.IntegerField(
            required=False, min_value=0, initial=0, label="Seed", help_text="Another seed, other pairs."
        ),
    }


def row_lists(info: StrategyInfo, *, without: int | None) -> RowLists:
    """Read what rows can choose from: endpoints for roles, judges for members."""
    endpoints = Endpoint.objects.order_by("name") if info.roles or info.open_roles else ()
    judges = judges_as_members(without=without) if info.composed else ()
    return RowLists(
        {str(each.pk): each for each in endpoints},
        {str(each.pk): each for each in judges},
    )


def _row_choice(rows: Mapping[str, Any], initial: Any, label: str) -> forms.Field:
    return forms.TypedChoiceField(
        required=False,
        choices=[("", "–"), *((key, str(row)) for key, row in rows.items())],
        coerce=lambda key: rows[key],
        empty_value=None,
        initial=getattr(initial, "pk", None),
        label=label,
    )


def role_fields(row: int, lists: RowLists, given: Any, *, role: str) -> Fields:
    """One model beside the main one; `given` is a `ModelChoice` or None."""
    words = f", row {row + 1}"
    return {
        f"role{row}_name": forms.CharField(
            required=False, max_length=200, initial=role, label=f"System or role{words}"
        ),
        f"role{row}_endpoint": _row_choice(lists.endpoints, given and given.endpoint, f"Endpoint{words}"),
        f"role{row}_model": forms.CharField(
            required=False, max_length=200, initial=given.model if given else "", label=f"Model{words}"
        ),
        f"role{row}_revision": forms.CharField(
            required=False, max_length=100, initial=given.revision if given else "", label=f"Revision{words}"
        ),
    }


def member_fields(row: int, lists: RowLists, key: str, member: Judge | None) -> Fields:
    """One judge of a composite or jury."""
    words = f", row {row + 1}"
    return {
        f"member{row}_key": forms.CharField(
            required=False,
            max_length=100,
            initial=key,
            label=f"Category, subset or name{words}",
            widget=forms.TextInput(attrs={"list": "judge-categories", "autocomplete": "off"}),
        ),
        f"member{row}_judge": _row_choice(lists.judges, member, f"Judge{words}"),
    }
