"""Judge configurations: defined, changed while unused, copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from judges.models import BackendKind, Endpoint, Judge, JudgeMember, JudgeModel, PromptText
from judges.selectors.judges import judge_has_judged, judges_at_work
from judges.services.endpoints import answering_settings
from judges.strategies.errors import SpecError
from judges.strategies.registry import STRATEGIES, strategy_info
from judges.strategies.spec import JudgeSpec
from judges.strategies.types import JUDGE
from web.deleting import InUseError, row_delete

if TYPE_CHECKING:
    from annotation.models import User


class DuplicateJudgeError(ValidationError):
    """A judge with the same content exists: `existing`."""

    def __init__(self, existing: Judge) -> None:
        super().__init__(f"This is the judge '{existing}' already: its configuration is the same.")
        self.existing = existing


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model for one role of a judge, as a form offers it."""

    endpoint: Endpoint
    model: str
    revision: str = ""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    backend_options: Mapping[str, Any] = field(default_factory=dict)

    def to_spec(self) -> dict[str, Any]:
        """Return the fields of a `ModelRef`."""
        return {
            "backend": self.endpoint.kind,
            "endpoint": self.endpoint.base_url,
            "model": self.model.strip(),
            "revision": self.revision.strip(),
            "decoding": dict(self.decoding),
            "backend_options": dict(self.backend_options) | answering_settings(self.endpoint),
        }


def spec_build(
    *,
    strategy: str,
    endpoint: Endpoint | None = None,
    model: str = "",
    revision: str = "",
    prompt: str = "",
    use_reference: bool = False,
    allow_tie: bool = False,
    decoding: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    backend_options: Mapping[str, Any] | None = None,
    prompt_source: str = "",
    step_prompts: Mapping[str, str | Mapping[str, str]] | None = None,
    guidelines: str = "",
    shots: Sequence[Mapping[str, str]] = (),
    roles: Mapping[str, ModelChoice] | None = None,
    members: Mapping[str, Judge] | None = None,
    reference_system: str = "",
    samples: int = 1,
) -> JudgeSpec:
    """Build a specification from what a form offers.

    Parameters
    ----------
    prompt : str
        Name of a prompt, of a file or of a `PromptText`; empty: the strategy's own.
    prompt_source : str
        The text of a prompt that is neither.
    step_prompts : mapping of str to str
        Names of prompts for the strategy's other steps; in place of a name, ``{"name", "source"}`` gives the text.

    Raises
    ------
    ValidationError
        By field: those of this function, mappings as a whole.
    """
    try:
        info = strategy_info(strategy)
    except LookupError as error:
        raise ValidationError({"strategy": str(error)}) from None
    asks = info.needs_model and info.main_model
    if asks and endpoint is None:
        raise ValidationError({"endpoint": "This strategy needs a model: choose an endpoint."})
    values: dict[str, Any] = {
        "strategy": strategy,
        "model": model.strip() if asks else "",
        "prompt": prompt,
        "prompt_source": prompt_source or prompt_text(info.kind, prompt),
        "step_prompts": {
            step: {"name": given, "source": prompt_text(info.kind, given)}
            if isinstance(given, str)
            else dict(given)
            for step, given in (step_prompts or {}).items()
            if given
        },
        "use_reference": use_reference,
        "reference_system": reference_system.strip(),
        "samples": samples,
        "allow_tie": allow_tie,
        "decoding": dict(decoding or {}),
        "params": dict(params or {}),
        "guidelines": guidelines,
        "shots": [dict(shot) for shot in shots],
        "roles": {role: choice.to_spec() for role, choice in (roles or {}).items()},
        "members": {key: dict(member.spec) for key, member in (members or {}).items()},
    }
    if asks and endpoint is not None:
        main = ModelChoice(endpoint, model, revision, values["decoding"], backend_options or {})
        values |= main.to_spec()
    try:
        return JudgeSpec.from_dict(values)
    except SpecError as error:
        raise ValidationError({error.field.partition(".")[0]: str(error)}) from None


def prompt_text(kind: str, name: str) -> str:
    """Return the text of a prompt that was written in the admin; empty if there is none of that name."""
    stem, _, version = name.rpartition(".v")
    if not version.isdecimal():
        return ""
    row = PromptText.objects.filter(kind=kind, name=stem, version=int(version)).first()
    return row.source if row is not None else ""


@transaction.atomic
def judge_create(
    *,
    name: str,
    strategy: str,
    endpoint: Endpoint | None = None,
    notes: str = "",
    created_by: User | None = None,
    **content: Any,
) -> Judge:
    """Define a judge.

    Parameters
    ----------
    **content
        As in `spec_build`.

    Raises
    ------
    DuplicateJudgeError
        A judge with the same content exists; names it.
    ValidationError
        A field is not valid.
    """
    spec = spec_build(strategy=strategy, endpoint=endpoint, **content)
    judge = Judge(notes=notes, created_by=created_by)
    return _save(judge, name=name, spec=spec, endpoint=endpoint, content=content)


@transaction.atomic
def judge_update(
    *,
    judge: Judge,
    name: str,
    strategy: str,
    endpoint: Endpoint | None = None,
    notes: str = "",
    **content: Any,
) -> Judge:
    """Change a judge that has not judged; of one that has, only the name and the notes.

    Composites and juries that are made of it follow.

    Raises
    ------
    ValidationError
        It, or a judge that is made of it, has judged, and more than its name and notes would change; it would be
        made of itself; or a field is not valid.
    """
    spec = spec_build(strategy=strategy, endpoint=endpoint, **content)
    before = str(judge)
    made_of_it = _made_of(judge)
    if spec.fingerprint() != judge.fingerprint:
        _refuse_if_used(judge, made_of_it)
    for member in (content.get("members") or {}).values():
        if member == judge or member in made_of_it:
            raise ValidationError({"members": f"'{member}' is made of '{before}' itself."})
    judge.notes = notes
    saved = _save(judge, name=name, spec=spec, endpoint=endpoint, content=content)
    for whole in made_of_it:
        _follow_members(whole)
    return saved


def _made_of(judge: Judge) -> list[Judge]:
    """Return the composites and juries that a judge is a part of, each behind those that it is made of."""
    found: dict[Judge, None] = {}
    for whole in Judge.objects.filter(memberships__member=judge).distinct().order_by("name"):
        for each in (whole, *_made_of(whole)):
            found.pop(each, None)
            found[each] = None
    return list(found)


def _refuse_if_used(judge: Judge, made_of_it: Sequence[Judge]) -> None:
    if judge_has_judged(judge):
        raise ValidationError(f"'{judge}' has judged, so it can't be changed. Copy it instead.")
    for whole in made_of_it:
        if judge_has_judged(whole):
            raise ValidationError(
                f"'{whole}' is made of '{judge}' and has judged, so neither can be changed. Copy it instead."
            )
    at_work = judges_at_work().filter(pk__in=[judge.pk, *(whole.pk for whole in made_of_it)])
    if names := ", ".join(f"'{each}'" for each in at_work):
        raise ValidationError(
            f"A worker asks {names} right now: pause the sweep first, or copy the judge instead."
        )


def _follow_members(judge: Judge) -> None:
    """Build a composite or jury anew from its members as they are now."""
    content = judge_content(judge)
    spec = spec_build(**content)
    if spec.fingerprint() == judge.fingerprint:
        return
    own = {name: value for name, value in content.items() if name not in ("strategy", "endpoint")}
    try:
        _save(judge, name=judge.name, spec=spec, endpoint=None, content=own)
    except DuplicateJudgeError as error:
        raise ValidationError(
            f"'{judge}', which is made of it, would then be the same judge as '{error.existing}'."
        ) from None


def judge_content(judge: Judge) -> dict[str, Any]:
    """Return a judge's content as the keyword arguments of `judge_create`, but for name, notes and author.

    What a copy starts from.
    """
    spec = judge.spec
    names = ["strategy", "model", "revision", "prompt", "use_reference", "allow_tie", "decoding", "params"]
    names += ["prompt_source", "guidelines", "shots", "reference_system", "samples"]
    content = {name: spec[name] for name in names if name in spec}
    endpoints = {row.role: row.endpoint for row in judge.models.select_related("endpoint")}
    main = endpoints.get(JUDGE) if spec.get("model") else None
    return content | {
        "endpoint": main,
        "backend_options": _own_options(spec, main),
        "step_prompts": {
            step: {"name": given["name"], "source": given["source"]} if given.get("source") else given["name"]
            for step, given in (spec.get("step_prompts") or {}).items()
        },
        "roles": {
            role: ModelChoice(
                endpoints[role],
                values["model"],
                values.get("revision", ""),
                values.get("decoding") or {},
                _own_options(values, endpoints[role]),
            )
            for role, values in (spec.get("roles") or {}).items()
            if role in endpoints
        },
        "members": {row.key: row.member for row in judge.memberships.select_related("member")},
    }


def _own_options(values: Mapping[str, Any], endpoint: Endpoint | None) -> dict[str, Any]:
    options = dict(values.get("backend_options") or {})
    theirs = answering_settings(endpoint) if endpoint is not None else {}
    return {key: value for key, value in options.items() if key not in theirs}


HEURISTICS = ("longest", "shortest", "always_a", "random", "rouge_l", "ngram")
"""The judges without a model that every site has."""


def heuristic_judges_ensure() -> list[Judge]:
    """Return the judges without a model, made if missing; the floor that a real judge must beat."""
    judges = []
    for strategy in HEURISTICS:
        spec = spec_build(strategy=strategy)
        judge = Judge.objects.filter(fingerprint=spec.fingerprint()).first()
        if judge is None:
            try:
                judge = judge_create(name=free_name(STRATEGIES[strategy].title), strategy=strategy)
            except DuplicateJudgeError as error:  # made by another process since we looked
                judge = error.existing
        judges.append(judge)
    return judges


def free_name(wanted: str) -> str:
    """Return a name that no judge has: the one wanted, or its beginning with a number behind it."""
    begin = wanted[:190]
    taken = set(Judge.objects.filter(name__startswith=begin).values_list("name", flat=True))
    numbered = (f"{begin} ({n})" for n in range(2, len(taken) + 3))
    return wanted if wanted not in taken else next(name for name in numbered if name not in taken)


def _save(
    judge: Judge, *, name: str, spec: JudgeSpec, endpoint: Endpoint | None, content: Mapping[str, Any]
) -> Judge:
    endpoints = _endpoints(spec, endpoint, content)
    judge.name = name.strip()
    judge.endpoint = next(iter(endpoints.values()), None)
    judge.backend = _backend(spec, judge.endpoint)
    judge.model = ", ".join(dict.fromkeys(model.model for model in spec.models().values()))[:200]
    judge.strategy = spec.strategy
    judge.spec = spec.to_dict()
    judge.fingerprint = spec.fingerprint()
    if existing := _same(judge):
        raise DuplicateJudgeError(existing)
    try:
        judge.full_clean()
    except ValidationError:
        # Made by somebody else since we looked.
        if existing := _same(judge):
            raise DuplicateJudgeError(existing) from None
        raise
    try:
        with transaction.atomic():
            judge.save()
            _parts_write(judge, spec, endpoints, content.get("members") or {})
    except IntegrityError:
        if existing := _same(judge):
            raise DuplicateJudgeError(existing) from None
        if Judge.objects.filter(name=judge.name).exclude(pk=judge.pk).exists():
            raise ValidationError(
                {"name": "Someone else gave this name to another judge at the same moment."}
            ) from None
        raise
    return judge


def judge_delete(*, judge: Judge) -> bool:
    """Delete a judge that has judged nothing; False if it is gone already. Raises InUseError."""
    with transaction.atomic():
        if Judge.objects.select_for_update().filter(pk=judge.pk).exists() and judge_has_judged(judge):
            raise InUseError("It has judged, so it stays: reports are made of what it said.")
        return row_delete(judge)


def _endpoints(spec: JudgeSpec, endpoint: Endpoint | None, content: Mapping[str, Any]) -> dict[str, Endpoint]:
    """Return where each of a judge's models answers, by role."""
    found: dict[str, Endpoint] = {}
    if spec.model and endpoint is not None:
        found[JUDGE] = endpoint
    found |= {role: choice.endpoint for role, choice in (content.get("roles") or {}).items()}
    for key, member in (content.get("members") or {}).items():
        for row in member.models.select_related("endpoint"):
            found[f"{key}/{row.role}"] = row.endpoint
    return {role: found[role] for role in spec.models()}


def _backend(spec: JudgeSpec, endpoint: Endpoint | None) -> str:
    if spec.members:
        return BackendKind.COMPOSED
    return BackendKind.HEURISTIC if endpoint is None else endpoint.kind


def _parts_write(
    judge: Judge, spec: JudgeSpec, endpoints: Mapping[str, Endpoint], members: Mapping[str, Judge]
) -> None:
    judge.models.all().delete()
    judge.memberships.all().delete()
    models = spec.models()
    asked = [
        JudgeModel(judge=judge, role=role, endpoint=endpoint, model=models[role].model)
        for role, endpoint in endpoints.items()
    ]
    parts = [JudgeMember(judge=judge, key=key, member=member) for key, member in members.items()]
    for name, rows in (("model", asked), ("members", parts)):
        for row in rows:
            try:
                row.clean_fields(exclude={"judge", "endpoint", "member"})  # names that are too long
            except ValidationError as error:
                raise ValidationError({name: f"'{str(row)[:60]}…': {' '.join(error.messages)}"}) from None
    JudgeModel.objects.bulk_create(asked)
    JudgeMember.objects.bulk_create(parts)


def _same(judge: Judge) -> Judge | None:
    return Judge.objects.filter(fingerprint=judge.fingerprint).exclude(pk=judge.pk).first()
