"""The form of a judge: its strategy, and whatever that strategy needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.selectors.examples import dataset_examples, guidelines_offered, study_examples
from annotation.selectors.offered import group_paths
from judges.forms.judge_fields import (
    DECODING,
    KEEP,
    Fields,
    asks_main_model,
    decoding_fields,
    has_prompt,
    has_words,
    member_fields,
    param_fields,
    param_key,
    role_fields,
    row_lists,
    samples,
    takes,
    word_fields,
)
from judges.forms.redrawn import REDRAW, RedrawnMixin, rows_wanted
from judges.models import Judge
from judges.selectors.strategies import StrategyFacts, strategies_by_family, strategy_facts
from judges.services.judges import DuplicateJudgeError, ModelChoice, judge_content, spec_build
from judges.strategies.registry import STRATEGIES, StrategyInfo

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
    model = forms.CharField(max_length=200, help_text="As the server names it.")
    revision = forms.CharField(
        required=False, max_length=100, help_text="A version of the model, where the server has several."
    )

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
    def model_fields(self) -> list[forms.BoundField]:
        return self._bound(("endpoint", "model", "revision"))

    @property
    def decoding_fields(self) -> list[forms.BoundField]:
        return self._bound(DECODING)

    @property
    def prompt_fields(self) -> list[forms.BoundField]:
        steps = [name for name in self.fields if name.startswith("step__")]
        return self._bound(("prompt", *steps))

    @property
    def shown_fields(self) -> list[forms.BoundField]:
        return self._bound(("use_reference", "reference_system", "allow_tie"))

    @property
    def guidelines_field(self) -> forms.BoundField | None:
        return next(iter(self._bound(("guidelines_from",))), None)

    @property
    def shots_field(self) -> forms.BoundField | None:
        return next(iter(self._bound(("shots_from",))), None)

    @property
    def shot_fields(self) -> list[forms.BoundField]:
        return self._bound(("shots_n", "shots_seed"))

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
                self.add_error(field if field in self.fields else None, errors)
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
            decoding |= {name: said[name] for name in DECODING}
        prompt = said.get("prompt", "") if has_prompt(info) else ""
        same_prompt = bool(prompt) and prompt == self.source_content.get("prompt")
        return {
            "strategy": info.name,
            "endpoint": said.get("endpoint"),
            "model": said.get("model", ""),
            "revision": said.get("revision", ""),
            "prompt": prompt,
            "prompt_source": self.source_content.get("prompt_source", "") if same_prompt else "",
            "step_prompts": {step: said.get(f"step__{step}", "") for step in info.prompts}
            if has_words(info)
            else {},
            "use_reference": bool(said.get("use_reference")),
            "reference_system": said.get("reference_system", ""),
            "allow_tie": bool(said.get("allow_tie")),
            "params": {name: value for name, value in params.items() if value not in (None, "")},
            "decoding": decoding,
            "backend_options": self.source_content.get("backend_options", {}),
            "guidelines": self._guidelines(said.get("guidelines_from")) if takes(info, "guidelines") else "",
            "shots": self._shots(
                said.get("shots_from"), said.get("shots_n") or 4, said.get("shots_seed") or 0
            )
            if takes(info, "shots")
            else (),
            "roles": self._roles(decoding if samples(info) else {}),
            "members": self._members(),
        }

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


def _number(choice: str | None, what: str) -> int | None:
    name, _, number = (choice or "").partition(":")
    return int(number) if name == what and number.isascii() and number.isdecimal() else None


def spec_shown(judge: Judge) -> str:
    """Return the content of a judge as JSON, for people."""
    return json.dumps(judge.spec, indent=2, sort_keys=True, ensure_ascii=False)
