"""What a judge is: everything that decides what it answers, checked and named by a fingerprint."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from judges.strategies.composed import member_weights, under
from judges.strategies.errors import SpecError, StrategyError, UnknownStrategyError
from judges.strategies.info import StrategyInfo
from judges.strategies.model_ref import (
    PLAIN,
    ModelRef,
    answering_options,
    decoding_dict,
    decoding_from,
    known_fields,
    require,
    require_number,
)
from judges.strategies.prompts import Prompt, load_prompt, prompt_fingerprint
from judges.strategies.registry import get_strategy, strategy_check, strategy_info
from judges.strategies.sampled import sampled
from judges.strategies.thoughts import heard
from judges.strategies.types import JUDGE, NO_PARAMS, Decoding, ItemView, Steps, StrategyConfig

_SHOT = {
    "instruction": True,
    "output_a": True,
    "output_b": True,
    "verdict": True,
    "context": False,
    "reason": False,
}
"""The fields of a worked example, and whether it needs them."""
VERDICTS = ("A", "B", "tie")
MOST_SAMPLES = 100
# The fields of a plain type, in the order in which they are checked.
_TEXTS = ("strategy", *PLAIN, "prompt", "prompt_sha", "prompt_source", "guidelines", "reference_system")
_CHOICES = ("use_reference", "allow_tie")


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """One judge configuration. An invalid one cannot be built.

    What does not matter is put back to its default (a heuristic has no model), what is left out is filled in
    (the strategy's prompts and settings), so that equal judges are equal specs with equal fingerprints.

    Attributes
    ----------
    strategy : str
        A name of `judges.strategies.registry.STRATEGIES`.
    backend, endpoint, model, revision, decoding, backend_options
        The model in the role "judge", as in `ModelRef`; empty for strategies that ask none in that role.
    prompt : str
        Such as ``"vanilla.v1"``; the strategy's default when empty.
    prompt_sha : str
        SHA-256 of the prompt's text; filled in when empty and checked when given.
    prompt_source : str
        The text itself, for a prompt that is not a file of the project.
    step_prompts : mapping of str to mapping
        The prompts of the strategy's other steps: ``{step: {"name", "sha", "source"}}``; defaults are filled in.
    use_reference, allow_tie : bool
    reference_system : str
        Whose response to the instruction is the reference, in place of the human-written one; empty: the latter.
    samples : int
        How often it judges each item; the votes decide (self-consistency). Of a judge that generates nothing: 1.
    params : mapping
        Settings of the strategy.
    guidelines : str
        The annotators' guidelines, as they stood when the judge was defined.
    shots : tuple of mapping
        Worked examples, as in `StrategyConfig.shots`.
    roles : mapping of str to ModelRef
        Other models that the strategy asks, by role; for likelihoods by the name of the system.
    members : mapping of str to JudgeSpec
        Of a composite, by path of a category or subset ("*": all others); of a jury, by a name.

    Raises
    ------
    SpecError
        Names the field and what was expected.
    """

    strategy: str
    backend: str = ""
    endpoint: str = ""
    model: str = ""
    revision: str = ""
    prompt: str = ""
    prompt_sha: str = ""
    use_reference: bool = False
    allow_tie: bool = False
    decoding: Decoding = Decoding()  # noqa: RUF009 (immutable)
    params: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMS)
    backend_options: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMS)
    prompt_source: str = ""
    step_prompts: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: NO_PARAMS)
    guidelines: str = ""
    shots: tuple[Mapping[str, str], ...] = ()
    roles: Mapping[str, ModelRef] = field(default_factory=lambda: NO_PARAMS)
    members: Mapping[str, JudgeSpec] = field(default_factory=lambda: NO_PARAMS)
    reference_system: str = ""
    samples: int = 1

    def __post_init__(self) -> None:
        for names, kind in ((_TEXTS, str), (_CHOICES, bool)):
            for name in names:
                require(name, getattr(self, name), kind)
        info = self._info()
        self._set("params", checked_params(info, self.params))
        self._check_roles(info)
        self._check_members(info)
        if info.needs_model and info.main_model:
            self._check_model(info)
        else:
            self._forget_model()
        if info.needs_model and not info.composed:
            self._check_prompts(info)
        else:
            self._forget_words()
        if not (self.use_reference or info.needs_reference):
            self._set("reference_system", "")
        self._check_samples()

    def _info(self) -> StrategyInfo:
        try:
            return strategy_info(self.strategy)
        except UnknownStrategyError as error:
            raise SpecError("strategy", str(error)) from None

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _forget_model(self) -> None:
        for name in PLAIN:
            self._set(name, "")
        self._set("decoding", Decoding())
        self._set("backend_options", NO_PARAMS)

    def _forget_words(self) -> None:
        for name in ("prompt", "prompt_sha", "prompt_source", "guidelines"):
            self._set(name, "")
        for name in _CHOICES:
            self._set(name, False)
        self._set("step_prompts", NO_PARAMS)
        self._set("shots", ())

    def _check_model(self, info: StrategyInfo) -> None:
        if not self.model.strip():
            raise SpecError("model", f"the strategy '{info.name}' asks a model, so one must be named.")
        main = self.main_model()
        self._set("endpoint", main.endpoint)
        self._set("backend_options", main.backend_options)

    def _check_roles(self, info: StrategyInfo) -> None:
        require("roles", self.roles, Mapping)
        roles: dict[str, ModelRef] = {}
        for role, values in self.roles.items():
            try:
                roles[role] = ModelRef.from_dict(values)
            except SpecError as error:
                raise SpecError(f"roles.{role}.{error.field}", error.problem) from None
            if not role or role == JUDGE or (not info.open_roles and role not in info.roles):
                known = "any system's name" if info.open_roles else ", ".join(info.roles) or "none"
                raise SpecError(f"roles.{role}", f"'{info.name}' has no such role; it has: {known}.")
        for role in info.roles:
            if role not in roles:
                raise SpecError(f"roles.{role}", f"the strategy '{info.name}' asks a model in this role.")
        if info.open_roles and not info.main_model and not roles:
            raise SpecError("roles", f"the strategy '{info.name}' asks the models of the systems; name them.")
        self._set("roles", MappingProxyType(dict(sorted(roles.items()))))

    def _check_members(self, info: StrategyInfo) -> None:
        require("members", self.members, Mapping)
        members: dict[str, JudgeSpec] = {}
        for key, values in self.members.items():
            try:
                member = values if isinstance(values, JudgeSpec) else JudgeSpec.from_dict(values)
            except SpecError as error:
                raise SpecError(f"members.{key}.{error.field}", error.problem) from None
            check_member_name(info, key)
            members[key] = member
        if info.composed and not members:
            raise SpecError("members", f"a judge of the strategy '{info.name}' is made of others; name them.")
        if len({member.kind for member in members.values()}) > 1:
            raise SpecError("members", "they judge different kinds of items.")
        self._check_weights(members)
        roles = Counter(f"{key}/{role}" for key, member in members.items() for role in member.models())
        if shared := [role for role, n in roles.items() if n > 1]:
            # A member "A" with a member "b", beside a member "A/b".
            raise SpecError(
                "members", f"the model '{shared[0]}' would be that of two members; name one otherwise."
            )
        self._set("members", MappingProxyType(dict(sorted(members.items()))))

    def _check_weights(self, members: Mapping[str, JudgeSpec]) -> None:
        try:
            weights = member_weights(self.params, members)
        except ValueError as error:
            raise SpecError("params.weights", str(error)) from None
        if weights and any(member.kind != "pairwise" for member in members.values()):
            raise SpecError("params.combine", "only judges of pairs have weighted votes.")

    def _check_words(self, info: StrategyInfo) -> None:
        """Forget what makes no difference to the strategy, and refuse to go without what it cannot do without."""
        self._set("use_reference", info.needs_reference or (self.use_reference and "reference" in info.takes))
        self._set("allow_tie", self.allow_tie and "tie" in info.takes)
        self._set("guidelines", self.guidelines if "guidelines" in info.takes else "")
        shots = checked_shots(self.shots)
        self._set("shots", shots if "shots" in info.takes else ())
        for name in sorted(info.needs):
            given = getattr(self, name)
            if not given or (isinstance(given, str) and not given.strip()):
                raise SpecError(name, f"the strategy '{info.name}' works by them, so they must be given.")
        for place, shot in enumerate(self.shots):
            if shot["verdict"] == "tie" and not self.allow_tie:
                raise SpecError(f"shots.{place}.verdict", "a tie, which this judge may not answer.")

    def _check_prompts(self, info: StrategyInfo) -> None:
        self._check_words(info)
        name = self.prompt or info.prompt
        if name or self.prompt_source:
            prompt = checked_prompt(info.kind, "prompt", name, self.prompt_sha, self.prompt_source)
            self._set("prompt", prompt.name)
            self._set("prompt_sha", prompt.sha)
            self._set("prompt_source", self.prompt_source and prompt.source)
        elif info.needs_prompt:
            raise SpecError("prompt", f"the strategy '{info.name}' has no default prompt; name one.")
        require("step_prompts", self.step_prompts, Mapping)
        defaults = info.prompts_of(self.params)
        for step in self.step_prompts:
            if step not in defaults:
                known = ", ".join(sorted(defaults)) or "none"
                raise SpecError(f"step_prompts.{step}", f"'{info.name}' has no such step; it has: {known}.")
        steps = {}
        for step, default in sorted(defaults.items()):
            given = self.step_prompts.get(step, {})
            require(f"step_prompts.{step}", given, Mapping)
            source = given.get("source", "")
            prompt = checked_prompt(
                info.kind, f"step_prompts.{step}", given.get("name") or default, given.get("sha", ""), source
            )
            values = {"name": prompt.name, "sha": prompt.sha} | ({"source": prompt.source} if source else {})
            steps[step] = MappingProxyType(values)
        self._set("step_prompts", MappingProxyType(steps))
        config = self.strategy_config()
        strategy_check(info, config.prompt.source if config.prompt is not None else "", self.params)
        # Better refused than left out in silence.
        prompts = [each for each in (config.prompt, *config.prompts.values()) if each is not None]
        if self.guidelines and not any("{{guidelines}}" in prompt.source for prompt in prompts):
            names = ", ".join(f"'{prompt.name}'" for prompt in prompts)
            raise SpecError("guidelines", f"there is no place for them in {names or 'this strategy'}.")

    def _check_samples(self) -> None:
        require("samples", self.samples, int)
        if not 1 <= self.samples <= MOST_SAMPLES:
            raise SpecError(
                "samples", f"expected a whole number from 1 to {MOST_SAMPLES}, found {self.samples!r}."
            )
        if self.samples > 1 and not self._generates():
            self._set("samples", 1)
        # A published evaluator says in its own file how it samples.
        if self.samples > 1 and self.strategy != "published":
            for role, model in self.models().items():
                if model.decoding.temperature == 0.0:
                    raise SpecError(
                        "samples",
                        f"the model '{role}' has temperature 0, where every sample is the same; give it one above 0.",
                    )

    def _generates(self) -> bool:
        """Whether a sample of it can differ from the next; a contestant's samples are those of a sweep."""
        if self.members:
            return any(member._generates() for member in self.members.values())
        info = strategy_info(self.strategy)
        return info.needs_model and "chat" in info.requests and self.kind != "generation"

    @property
    def needs_model(self) -> bool:
        """Whether it asks a model at all."""
        return bool(self.models())

    @property
    def kind(self) -> str:
        """The kind of items that it judges."""
        member = next(iter(self.members.values()), None)
        return member.kind if member is not None else strategy_info(self.strategy).kind

    @property
    def reads_reference(self) -> bool:
        """Whether items without a human-written reference fail with this judge."""
        if self.members:
            return any(member.reads_reference for member in self.members.values())
        return self.use_reference or strategy_info(self.strategy).needs_reference

    def reference_systems(self) -> frozenset[str]:
        """Return the systems whose responses are references, those of members included."""
        own = frozenset({self.reference_system} if self.reference_system else ())
        return own.union(*(member.reference_systems() for member in self.members.values()))

    @property
    def order_matters(self) -> bool:
        """False when the canonical verdict cannot depend on the presentation order."""
        if self.members:
            return any(member.order_matters for member in self.members.values())
        if (
            self.params.get("both_orders")
            or self.params.get("drawn_order")
            or self.params.get("ask") == "each"
        ):
            return False
        info = strategy_info(self.strategy)
        return info.order_matters or any(self.params.get(name) for name in info.order_with)

    def main_model(self) -> ModelRef:
        """Return the model in the role "judge"; raises SpecError if there is none."""
        return ModelRef(
            backend=self.backend,
            model=self.model,
            endpoint=self.endpoint,
            revision=self.revision,
            decoding=self.decoding,
            backend_options=self.backend_options,
        )

    def models(self) -> dict[str, ModelRef]:
        """Return every model that it asks, by the role that its requests name.

        The roles of members stand behind the member's name: ``"Brainstorm/judge"``.
        """
        found = {JUDGE: self.main_model()} if self.model else {}
        found |= self.roles
        for key, member in self.members.items():
            found |= {f"{key}/{role}": model for role, model in member.models().items()}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values; `from_dict` undoes it."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["decoding"] = decoding_dict(self.decoding)
        values["params"] = dict(self.params)
        values["backend_options"] = dict(self.backend_options)
        values["step_prompts"] = {step: dict(prompt) for step, prompt in self.step_prompts.items()}
        values["shots"] = [dict(shot) for shot in self.shots]
        values["roles"] = {role: model.to_dict() for role, model in self.roles.items()}
        values["members"] = {key: member.to_dict() for key, member in self.members.items()}
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> JudgeSpec:
        """Build a spec from JSON values, as from a form, a fixture or `to_dict`.

        Raises
        ------
        SpecError
            An unknown or missing field, or a value that is not allowed.
        """
        given = known_fields(values, "judge", {each.name for each in fields(cls)})
        if "strategy" not in given:
            raise SpecError("strategy", "missing.")
        if "decoding" in given:
            given["decoding"] = decoding_from(given["decoding"])
        return cls(**given)

    def identity(self) -> dict[str, Any]:
        """Return, as JSON values, everything that can change what this judge answers.

        Fields that came later are left out where they are empty, so that a judge of before is the same one today.
        """
        values = self.to_dict()
        # The text counts, not what it is called.
        del values["prompt"], values["prompt_source"]
        info = strategy_info(self.strategy)
        values["strategy_version"] = info.version
        for name, param in info.params.items():
            if param.later and values["params"][name] == param.default:
                del values["params"][name]
        values["backend_options"] = answering_options(self.backend_options)
        values["step_prompts"] = {step: prompt["sha"] for step, prompt in self.step_prompts.items()}
        values["roles"] = {role: model.identity() for role, model in self.roles.items()}
        values["members"] = {key: member.identity() for key, member in self.members.items()}
        for name in ("step_prompts", "guidelines", "shots", "roles", "members", "reference_system"):
            if not values[name]:
                del values[name]
        if self.samples == 1:
            del values["samples"]
        return values

    def canonical_json(self) -> str:
        """Return `identity` as JSON text with sorted keys."""
        return json.dumps(
            self.identity(), sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":")
        )

    def fingerprint(self) -> str:
        """Return the first 16 hex digits of the SHA-256 of `canonical_json`."""
        return sha256(self.canonical_json().encode("ascii")).hexdigest()[:16]

    def strategy_config(self) -> StrategyConfig:
        """Return what the strategy is told, with its prompts loaded."""
        info = strategy_info(self.strategy)
        return StrategyConfig(
            name=self.strategy,
            prompt=checked_prompt(info.kind, "prompt", self.prompt, self.prompt_sha, self.prompt_source)
            if self.prompt
            else None,
            use_reference=self.use_reference,
            allow_tie=self.allow_tie,
            params=self.params,
            prompts={
                step: checked_prompt(
                    info.kind, step, prompt["name"], prompt.get("sha", ""), prompt.get("source", "")
                )
                for step, prompt in self.step_prompts.items()
            },
            guidelines=self.guidelines,
            shots=self.shots,
            roles=tuple(self.roles),
            members={key: _member(key, member) for key, member in self.members.items()},
        )


def build_strategy(spec: JudgeSpec) -> Callable[[ItemView], Steps]:
    """Return the function that starts this judge's strategy on an item, which hears answers without their thoughts."""
    start = _plain(spec)
    return lambda item: heard(start(item))


def _plain(spec: JudgeSpec) -> Callable[[ItemView], Steps]:
    strategy = get_strategy(spec.strategy)
    config = spec.strategy_config()

    def start(item: ItemView) -> Steps:
        return strategy(item, config)

    def start_with_reference(item: ItemView) -> Steps:
        return (yield from strategy(_referred(item, spec.reference_system), config))

    begin = start_with_reference if spec.reference_system else start
    if spec.samples == 1:
        return begin
    return lambda item: sampled(item, begin, n=spec.samples, allow_tie=spec.allow_tie)


def _referred(item: ItemView, system: str) -> ItemView:
    """Return the item with the response of a system for its reference."""
    if system in item.systems:
        raise StrategyError(f"The reference would be the response of '{system}', which is judged here.")
    return replace(item, reference=dict(item.references).get(system))


def _member(key: str, spec: JudgeSpec) -> Callable[[ItemView], Steps]:
    start = _plain(spec)
    return lambda item: under(key, start(item))


def check_member_name(info: StrategyInfo, name: object) -> None:
    """Raise SpecError unless a strategy may have a member of this name."""
    where = f"members.{name}"
    if not info.composed or not isinstance(name, str) or not name.strip():
        raise SpecError(where, "only composites and juries have members, each with a name.")
    if "/" in name and not info.member_paths:
        raise SpecError(where, "a name has no '/'.")
    if not all(part.strip() for part in name.split("/")):
        raise SpecError(where, "a path has a name on each side of a '/'.")


def checked_params(info: StrategyInfo, params: object) -> Mapping[str, Any]:
    """Return a strategy's own settings, complete with their defaults; raises SpecError."""
    require("params", params, Mapping)
    assert isinstance(params, Mapping)
    for name in params:
        if name not in info.params:
            known = ", ".join(sorted(info.params)) or "none"
            raise SpecError(f"params.{name}", f"'{info.name}' has no such setting; it has: {known}.")
    complete = {}
    for name, param in sorted(info.params.items()):
        value = params.get(name, param.default)
        if param.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        require(f"params.{name}", value, param.kind)
        if param.choices and value not in param.choices:
            known = ", ".join(map(str, param.choices))
            raise SpecError(f"params.{name}", f"expected one of {known}, found {value!r}.")
        if param.low is not None or param.high is not None:
            low = -math.inf if param.low is None else param.low
            require_number(f"params.{name}", value, low, math.inf if param.high is None else param.high)
        complete[name] = value
    return MappingProxyType(complete)


def checked_shots(shots: object) -> tuple[Mapping[str, str], ...]:
    """Return worked examples, each with what a few-shot prompt needs and nothing else."""
    if isinstance(shots, str | bytes) or not isinstance(shots, Sequence):
        raise SpecError("shots", f"expected a list of examples, found {shots!r}.")
    checked: list[Mapping[str, str]] = []
    for place, each in enumerate(shots):
        field = f"shots.{place}"
        shot = known_fields(each, field, _SHOT, prefix=f"{field}.")
        for name, needed in _SHOT.items():
            value = shot.get(name, None if needed else "")
            if not isinstance(value, str) or (needed and not value.strip()):
                raise SpecError(f"{field}.{name}", f"expected text, found {value!r}.")
        if shot["verdict"] not in VERDICTS:
            wanted = ", ".join(VERDICTS)
            raise SpecError(f"{field}.verdict", f"expected one of {wanted}, found {shot['verdict']!r}.")
        checked.append(MappingProxyType({name: shot[name] for name in _SHOT if shot.get(name)}))
    return tuple(checked)


def checked_prompt(kind: str, where: str, name: str, sha: str, source: str) -> Prompt:
    """Return a prompt from its text, or else from its file, checked against the fingerprint if there is one."""
    for value in (name, sha, source):
        require(where, value, str)
    if source:
        prompt = Prompt(name=name or "custom.v1", source=source, sha=prompt_fingerprint(source))
    else:
        try:
            prompt = load_prompt(name, kind)
        except UnknownStrategyError as error:
            raise SpecError(where, str(error)) from None
    if sha and sha != prompt.sha:
        field_name = "prompt_sha" if where == "prompt" else where
        raise SpecError(
            field_name,
            f"the text of '{prompt.name}' is not the one this judge was defined with "
            f"({sha[:12]}, now {prompt.sha[:12]}).",
        )
    return prompt
