"""The form of a judge: its strategy, and whatever that strategy needs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.selectors.examples import (
    dataset_examples,
    datasets_with_examples,
    guidelines_offered,
    studies_with_examples,
    study_examples,
)
from annotation.selectors.judging import GENERATION
from annotation.selectors.offered import group_paths
from judges.forms.redrawn import REDRAW, RedrawnMixin, rows_wanted
from judges.models import BackendKind, Endpoint, Judge
from judges.selectors.items import judge_kind
from judges.selectors.judges import judge_prompts, judges_as_members
from judges.selectors.overview import judge_strategy
from judges.selectors.prompts import prompt_choices
from judges.selectors.strategies import StrategyFacts, kind_words, strategies_by_family, strategy_facts
from judges.services.judges import DuplicateJudgeError, ModelChoice, judge_content, spec_build
from judges.strategies.info import Param, StrategyInfo
from judges.strategies.model_ref import DECODING
from judges.strategies.registry import STRATEGIES
from judges.strategies.spec import MOST_SAMPLES
from judges.strategies.thinking import EFFORTS

KEEP = "keep"
"""The choice that leaves guidelines or examples as the judge has them."""
ABOUT_DECODING: Mapping[str, tuple[str, str]] = {
    "temperature": ("Temperature", "0 takes the most likely answer."),
    "max_tokens": ("Maximum tokens", "Per answer, thoughts included."),
    "max_completion_tokens": (
        "Maximum completion tokens",
        "The same limit under OpenAI's newer name. Fill in one of the two.",
    ),
    "thinking_budget": (
        "Thinking budget (tokens)",
        "Of the limit, how many a model may spend on thoughts. Instead of an effort.",
    ),
    "top_p": ("Top p", "If empty, the server's default."),
    "seed": ("Seed", "For servers with reproducible sampling."),
    "top_logprobs": (
        "Top log-probabilities",
        "How many tokens are read where probabilities are used. If empty, 20. Enter 0 if the server has none.",
    ),
}
MOST_SHOTS = 32
LINE = 60
"""Characters of a line: what is longer gets a box of several."""

LABELS: dict[str, str] = {"cot": "chain of thought", "expected": "expected score"}
"""What settings and steps are called whose name does not say it."""
READING_LABELS: dict[str, str] = {
    "ask": "questions",
    "read": "how the answer is read",
    "words": "words of the verdicts",
    "pattern": "regular expression",
    "path": "JSON path",
    "schema": "JSON schema",
    "reasons": "reasons first",
    "low": "lowest score",
    "high": "highest score",
    "answer": "what is asked for",
    "draws": "draws of each score",
    "points": "weigh by points",
}
"""The same of the settings by which a format of one's own is read."""

MOST_CATEGORIES = 200
PROPOSED_ANEW = {
    "hx-post": "",
    "hx-trigger": "change",
    "hx-target": "#members",
    "hx-select": "#members",
    "hx-swap": "outerHTML",
    "hx-vals": f'{{"{REDRAW}": "by"}}',
}
"""Of the setting that says whether members are named by categories or by subsets: those to choose from are others."""
FIRST = "vanilla"
"""The strategy that a new form begins with: the plainest."""


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """A strategy as the form offers it."""

    facts: StrategyFacts
    chosen: bool


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


def strategy_takes(info: StrategyInfo, what: str) -> bool:
    return has_words(info) and what in info.takes


def param_key(info: StrategyInfo, name: str) -> str:
    return f"{info.name}__{name}"


def param_label(name: str) -> str:
    """Return what a setting is called on the pages."""
    words = (LABELS | READING_LABELS).get(name, name.replace("_", " "))
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
    fields: Fields = {}
    fields["reasoning_effort"] = forms.ChoiceField(
        required=False,
        choices=[("", "The model's default"), *((word, word) for word in EFFORTS)],
        initial=given.get("reasoning_effort") or "",
        label="Reasoning effort",
        help_text="How much a thinking model thinks. Most providers then take no temperature but 1: clear it, and "
        "allow 25,000 tokens or more.",
    )
    for name, (label, about) in ABOUT_DECODING.items():
        low, high = DECODING[name]
        kind: Any = forms.IntegerField if high is None else forms.FloatField
        fields[name] = kind(
            required=False,
            min_value=0 if name == "top_logprobs" else low,
            max_value=high,
            initial=_top_shown(given) if name == "top_logprobs" else given.get(name),
            label=label,
            help_text=about,
        )
    return fields


def _top_shown(decoding: Mapping[str, Any]) -> int | None:
    """How many log-probabilities, as its field says it: nothing where it is the usual number, 0 for none."""
    return (decoding["top_logprobs"] or 0) if "top_logprobs" in decoding else None


def _step_name(given: Any) -> str:
    """The name of a step's prompt, which may come with its text."""
    return str(given["name"]) if isinstance(given, Mapping) else str(given or "")


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
            own = _step_name(given.get(step))
            known = [*names, own] if own and own not in names else names
            fields[f"step__{step}"] = forms.ChoiceField(
                required=False,
                choices=[("", f"Its own: {default}"), *((name, name) for name in known)],
                initial="" if given.get(step) == default else own,
                label=f"Prompt of the step “{LABELS.get(step, step.replace('_', ' '))}”",
            )
    if strategy_takes(info, "reference") and not info.needs_reference:
        fields["use_reference"] = forms.BooleanField(
            required=False,
            label="Show the human-written reference",
            help_text="Items that have none will fail.",
            initial=content.get("use_reference", False),
        )
    if strategy_takes(info, "reference") or info.needs_reference:
        fields["reference_system"] = forms.CharField(
            required=False,
            max_length=200,
            label="Use a system's response as the reference",
            help_text="The system's name in the dataset. If empty, the human-written reference.",
            initial=content.get("reference_system", ""),
        )
    if strategy_takes(info, "tie"):
        fields["allow_tie"] = forms.BooleanField(
            required=False,
            label="Allow a tie",
            help_text="The judge can say that both are equally good.",
            initial=content.get("allow_tie", False),
        )
    if strategy_takes(info, "guidelines"):
        fields["guidelines_from"] = _guidelines_field(info, content)
    if strategy_takes(info, "shots"):
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
        help_text="Annotators and judge then follow the same text. Later versions don't change the judge.",
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
            help_text="Shown before the item. Don't judge the pairs that serve as examples. Private datasets aren't "
            "offered: every request contains the examples.",
        ),
        "shots_n": forms.IntegerField(
            required=False, min_value=1, max_value=MOST_SHOTS, initial=4, label="How many"
        ),
        "shots_seed": forms.IntegerField(
            required=False, min_value=0, initial=0, label="Seed", help_text="Another seed draws other pairs."
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


class JudgeForm(RedrawnMixin, forms.ModelForm[Judge]):
    """All that makes a judge. What is not said takes the strategy's or the server's default.

    It has the fields of the chosen strategy alone: another choice draws the form again. ``settings_of`` says whose
    fields were drawn, so that a form whose strategy was changed without that is shown and not saved.

    Parameters
    ----------
    source : Judge, optional
        What to start from: the judge to be changed, or the one to be copied. What the form has no field for,
        such as stop words, is taken over from it.
    """

    strategy = forms.ChoiceField(choices=lambda: [(info.name, info.title) for info in STRATEGIES.values()])
    model = forms.CharField(max_length=200, help_text="The model's name on the server.")
    revision = forms.CharField(
        required=False, max_length=100, help_text="A version of the model, where the server has several."
    )

    class Meta:
        model = Judge
        fields = ("name", "endpoint", "notes")
        help_texts = {
            "name": "Its name in all tables.",
            "notes": "For researchers; no judge reads it.",
        }
        widgets = {"notes": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, source: Judge | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.source_content: dict[str, Any] = judge_content(source) if source is not None else {}
        given = {
            name: self.source_content.get(name) for name in ("strategy", "endpoint", "model", "revision")
        }
        self.initial = {**{name: value for name, value in given.items() if value}, **self.initial}
        self.initial.setdefault("strategy", FIRST)
        chosen = self.data.get("strategy", "") if self.is_bound else self.initial["strategy"]
        self.info = STRATEGIES.get(chosen)
        self.facts = strategy_facts(self.info) if self.info is not None else None
        self.fields["endpoint"].required = True
        if self.info is not None:
            self.fields |= self._fields_of(self.info)
        if self.info is None or not asks_main_model(self.info):
            for name in ("endpoint", "model", "revision"):
                del self.fields[name]
        self._redraw_if_asked(chosen)

    def _fields_of(self, info: StrategyInfo) -> Fields:
        content = self.source_content
        same = content.get("strategy") == info.name
        fields = param_fields(info, content.get("params", {}) if same else {})
        if info.member_paths:
            fields[param_key(info, "by")].widget.attrs |= PROPOSED_ANEW
        if samples(info):
            fields |= decoding_fields(content.get("decoding") if content else None)
            if info.kind != GENERATION:
                fields["samples"] = forms.IntegerField(
                    required=False,
                    min_value=1,
                    max_value=MOST_SAMPLES,
                    initial=content.get("samples", 1),
                    label="Samples",
                    help_text="How often it judges each item; the votes decide (self-consistency). More than 1 needs a "
                    "temperature above 0.",
                )
        words = content if same else {name: value for name, value in content.items() if "prompt" not in name}
        fields |= word_fields(info, words)
        lists = row_lists(info, without=self.instance.pk)
        roles: Mapping[str, ModelChoice] = content.get("roles", {})
        named = [*info.roles, *(role for role in roles if role not in info.roles and info.open_roles)]
        self.n_fixed = len(info.roles)
        self.n_open = 0
        if info.open_roles:
            self.n_open = rows_wanted(self.data, "roles", filled=len(named) - self.n_fixed, spare=2)
        self.n_roles = self.n_fixed + self.n_open
        for row in range(self.n_roles):
            role = named[row] if row < len(named) else ""
            fields |= role_fields(row, lists, roles.get(role), role=role)
        members = list(content.get("members", {}).items())
        self.n_members = 0
        if info.composed:
            self.n_members = rows_wanted(self.data, "members", filled=max(len(members), 2))
        for row in range(self.n_members):
            key, member = members[row] if row < len(members) else ("", None)
            fields |= member_fields(row, lists, key, member)
        return fields

    def _redraw_if_asked(self, chosen: str) -> None:
        drawn = self.data.get("settings_of", chosen)
        self.is_moved = drawn != chosen
        self.redraw = REDRAW in self.data or (self.is_moved and self.info is not None)
        if not self.redraw or not self.is_moved:
            return
        # What was not there to be filled in begins with its default. These two were there, and are not sent when
        # they are not checked.
        data = self.data.copy()  # type: ignore[attr-defined]
        for name in self.fields.keys() - data.keys() - {"use_reference", "allow_tie"}:
            initial = self.get_initial_for_field(self.fields[name], name)
            if initial is not None and initial is not False and initial != "":
                data[name] = "on" if initial is True else str(getattr(initial, "pk", initial))

        self.data = data

    # --- what the page draws ----------------------------------------------------------------------------------

    def families(self) -> list[tuple[str, list[StrategyChoice]]]:
        """The strategies by family, each with whether it is chosen."""
        chosen = self["strategy"].value()
        return [
            (family, [StrategyChoice(facts, facts.info.name == chosen) for facts in rows])
            for family, rows in strategies_by_family()
        ]

    def _bound(self, names: Any) -> list[forms.BoundField]:
        return [self[name] for name in names if name in self.fields]

    @property
    def param_fields(self) -> list[forms.BoundField]:
        return [field for field in self._params() if not isinstance(field.field, forms.BooleanField)]

    @property
    def param_checks(self) -> list[forms.BoundField]:
        return [field for field in self._params() if isinstance(field.field, forms.BooleanField)]

    def _params(self) -> list[forms.BoundField]:
        return self._bound(param_key(self.info, name) for name in self.info.params) if self.info else []

    @property
    def drawn(self) -> dict[str, list[forms.BoundField]]:
        """The fields that stand together, by what they are about."""
        steps = [name for name in self.fields if name.startswith("step__")]
        groups = {
            "model": ("endpoint", "model", "revision"),
            "decoding": (*ABOUT_DECODING, "reasoning_effort", "samples"),
            "prompts": ("prompt", *steps),
            "beside": ("use_reference", "reference_system", "allow_tie"),
            "shots": ("shots_n", "shots_seed"),
        }
        return {name: self._bound(names) for name, names in groups.items()}

    @property
    def roles(self) -> list[tuple[bool, list[forms.BoundField]]]:
        """The rows of other models, each with whether its role is given by the strategy."""
        parts = ("name", "endpoint", "model", "revision")
        return [
            (row < self.n_fixed, [self[f"role{row}_{part}"] for part in parts]) for row in range(self.n_roles)
        ]

    @property
    def members(self) -> list[list[forms.BoundField]]:
        return [[self[f"member{row}_{part}"] for part in ("key", "judge")] for row in range(self.n_members)]

    @property
    def categories(self) -> list[str]:
        """Categories or subsets of the datasets, each behind those above it, to be proposed for a composite."""
        if self.info is None or not self.info.member_paths:
            return []
        by = self[param_key(self.info, "by")].value()
        by = by if by in self.info.params["by"].choices else "category"
        return group_paths(by, at_most=MOST_CATEGORIES)

    @property
    def guidelines_text(self) -> str:
        """The guidelines that are chosen at the moment."""
        return self._guidelines(self["guidelines_from"].value()) if "guidelines_from" in self.fields else ""

    @property
    def shots_shown(self) -> list[dict[str, str]]:
        """The examples that are chosen at the moment."""
        if "shots_from" not in self.fields:
            return []
        n, seed = (str(self[name].value() or "") for name in ("shots_n", "shots_seed"))
        return self._shots(
            self["shots_from"].value(),
            int(n) if n.isdecimal() else 4,
            int(seed) if seed.isdecimal() else 0,
        )

    # --- what was said ----------------------------------------------------------------------------------------

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.info is not None:
            self._check_rows()
        if self.errors:
            return cleaned
        try:
            spec = spec_build(**self.content())
        except ValidationError as error:
            for field, errors in error.message_dict.items():
                where = field if field in self.fields else _decoding_field(errors)
                self.add_error(where if where in self.fields else None, errors)
            return cleaned
        existing = Judge.objects.filter(fingerprint=spec.fingerprint()).exclude(pk=self.instance.pk).first()
        if existing is not None:
            self.add_error(None, DuplicateJudgeError(existing))
        return cleaned

    def _check_rows(self) -> None:
        said = self.cleaned_data
        for row in range(self.n_roles):
            role, endpoint, model = (said.get(f"role{row}_{part}") for part in ("name", "endpoint", "model"))
            wanted = row < self.n_fixed or bool(role or model)
            if wanted and endpoint is None and f"role{row}_endpoint" not in self.errors:
                self.add_error(f"role{row}_endpoint", "Choose an endpoint.")
            if wanted and not model:
                self.add_error(f"role{row}_model", "Name a model.")
            if row >= self.n_fixed and model and not role:
                self.add_error(f"role{row}_name", "Name the system that this model is.")
        keys: set[str] = set()
        for row in range(self.n_members):
            key, member = said.get(f"member{row}_key"), said.get(f"member{row}_judge")
            if key and member is None and f"member{row}_judge" not in self.errors:
                self.add_error(f"member{row}_judge", "Choose a judge.")
            if member is not None and (name := key or member.name) in keys:
                self.add_error(f"member{row}_key", f"'{name}' stands in a row above.")
            elif member is not None:
                keys.add(name)
                if not key and self.info is not None and self.info.member_paths:
                    by = said.get(param_key(self.info, "by")) or "category"
                    self.add_error(
                        f"member{row}_key", f"Name a {by}, or * for all that have no judge of their own."
                    )

    def content(self) -> dict[str, Any]:
        """The keyword arguments of `spec_build`."""
        said, info = self.cleaned_data, STRATEGIES[self.cleaned_data["strategy"]]
        params = {name: said.get(param_key(info, name)) for name in info.params}
        params = {
            name: value.replace("\r\n", "\n") if isinstance(value, str) else value
            for name, value in params.items()
        }
        decoding = {**self.source_content.get("decoding", {})}
        if samples(info):
            decoding |= {name: said[name] for name in DECODING if name != "top_logprobs"}
            decoding["reasoning_effort"] = said["reasoning_effort"] or None
            decoding.pop("top_logprobs", None)
            if (top := said.get("top_logprobs")) is not None:
                decoding["top_logprobs"] = top or None
        prompt = said.get("prompt", "") if has_prompt(info) else ""
        same_prompt = bool(prompt) and prompt == self.source_content.get("prompt")
        return {
            "strategy": info.name,
            "endpoint": said.get("endpoint"),
            "model": said.get("model", ""),
            "revision": said.get("revision", ""),
            "prompt": prompt,
            "prompt_source": self.source_content.get("prompt_source", "") if same_prompt else "",
            "step_prompts": {step: self._step(step, said.get(f"step__{step}", "")) for step in info.prompts}
            if has_words(info)
            else {},
            "use_reference": bool(said.get("use_reference")),
            "reference_system": said.get("reference_system", ""),
            "samples": said.get("samples") or 1
            if "samples" in self.fields
            else self.source_content.get("samples", 1),
            "allow_tie": bool(said.get("allow_tie")),
            "params": {name: value for name, value in params.items() if value not in (None, "")},
            "decoding": decoding,
            "backend_options": self.source_content.get("backend_options", {}),
            "guidelines": self._guidelines(said.get("guidelines_from"))
            if strategy_takes(info, "guidelines")
            else "",
            "shots": self._shots(
                said.get("shots_from"), said.get("shots_n") or 4, said.get("shots_seed") or 0
            )
            if strategy_takes(info, "shots")
            else (),
            "roles": self._roles(decoding if samples(info) else {}),
            "members": self._members(),
        }

    def _step(self, step: str, name: str) -> Any:
        """The prompt of a step: the text that the judge came with, where its name was left as it is."""
        own = self.source_content.get("step_prompts", {}).get(step)
        return own if name and name == _step_name(own) else name

    def _roles(self, decoding: Mapping[str, Any]) -> dict[str, ModelChoice]:
        said, before = self.cleaned_data, self.source_content.get("roles", {})
        main = self.source_content.get("decoding", {})
        roles: dict[str, ModelChoice] = {}
        for row in range(self.n_roles):
            role = str(said.get(f"role{row}_name") or "").strip()
            if row < self.n_fixed and self.info is not None:
                role = self.info.roles[row]
            endpoint, model = said.get(f"role{row}_endpoint"), said.get(f"role{row}_model")
            if not role or endpoint is None or not model:
                continue
            own = before.get(role)
            # A model that was given a way of sampling of its own keeps it.
            kept = own.decoding if own is not None and dict(own.decoding) != dict(main) else decoding
            options = own.backend_options if own is not None and own.endpoint == endpoint else {}
            roles[role] = ModelChoice(endpoint, model, said.get(f"role{row}_revision", ""), kept, options)
        return roles

    def _members(self) -> dict[str, Judge]:
        said = self.cleaned_data
        rows = [
            (said.get(f"member{row}_key"), said.get(f"member{row}_judge")) for row in range(self.n_members)
        ]
        named = [(key or judge.name, judge) for key, judge in rows if judge is not None]
        if self.info is not None and self.info.member_paths:
            return dict(named)
        # A name that is no path may hold no "/": roles of members are told by it.
        return {key.replace("/", " "): judge for key, judge in named}

    def _guidelines(self, choice: str | None) -> str:
        if choice == KEEP:
            return str(self.source_content.get("guidelines", ""))
        chosen = _number(choice, "study")
        return (
            next((one.text for one in guidelines_offered(self.info.kind) if one.pk == chosen), "")
            if self.info
            else ""
        )

    def _shots(self, choice: str | None, n: int, seed: int) -> list[dict[str, str]]:
        if choice == KEEP:
            return [dict(shot) for shot in self.source_content.get("shots", ())]
        if study := _number(choice, "study"):
            return study_examples(study, n=n)
        if dataset := _number(choice, "dataset"):
            return dataset_examples(dataset, n=n, seed=seed)
        return []


def _decoding_field(errors: list[str]) -> str:
    """Return the field of a setting of how a model samples, which an error begins with; empty if it is of another."""
    name, _, _ = errors[0].partition(":") if errors else ("", "", "")
    return name.removeprefix("decoding.") if name.startswith("decoding.") else ""


def _number(choice: str | None, what: str) -> int | None:
    name, _, number = (choice or "").partition(":")
    return int(number) if name == what and number.isascii() and number.isdecimal() else None


def judge_shown(judge: Judge) -> dict[str, Any]:
    """Return what each page of a judge shows of what it is, by the names that templates know."""
    return {
        "strategy": judge_strategy(judge),
        "kind": kind_words(judge_kind(judge)),
        "is_imported": judge.backend == BackendKind.IMPORTED,
        "params": [(param_label(name), value) for name, value in judge.spec.get("params", {}).items()],
        "prompts": judge_prompts(judge.spec),
        "models": list(judge.models.select_related("endpoint")),
        "spec": json.dumps(judge.spec, indent=2, sort_keys=True, ensure_ascii=False),
    }
