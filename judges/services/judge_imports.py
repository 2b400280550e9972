"""A judge that was exported, here or on another site, becomes a judge of this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotation.models import User
from judges.models import Endpoint, Judge
from judges.services.endpoints import answering_settings
from judges.services.judges import DuplicateJudgeError, ModelChoice, free_name, judge_create, spec_build
from judges.services.plans import PlanError
from judges.strategies.documents import EARLIER, JudgeDocument, document_make, document_read
from judges.strategies.errors import SpecError, UnknownStrategyError
from judges.strategies.model_ref import ModelRef
from judges.strategies.prompts import load_prompt
from judges.strategies.spec import JudgeSpec


@dataclass(frozen=True, slots=True)
class ImportedJudge:
    """A judge of a file.

    Attributes
    ----------
    is_new : bool
        It was made; otherwise there is one that would answer exactly the same.
    notes : tuple of str
        In what it is not the judge of the file, for people.
    """

    judge: Judge
    is_new: bool
    notes: tuple[str, ...] = ()


def judge_document(judge: Judge) -> dict[str, Any]:
    """Return a judge of this site as a `judge.json`, without a promotion.

    Raises
    ------
    SpecError
        Nobody can ask it: its verdicts were imported, or its prompts or its strategy are others now.
    """
    spec = JudgeSpec.from_dict(judge.spec)
    if spec.fingerprint() != judge.fingerprint:
        raise SpecError("strategy", f"'{spec.strategy}' asks or reads otherwise than when it judged.")
    return document_make(judge.name, spec)


def judge_import(
    *, values: Mapping[str, Any], user: User | None, endpoint: str = "", name: str = ""
) -> ImportedJudge:
    """Define the judge of an export, of `judge.json` or of the API.

    Parameters
    ----------
    endpoint : str
        The endpoint that its models are asked at. Empty: those of this site that have the address and the settings
        of the exported ones; then it is the same judge, with the same fingerprint.

    Raises
    ------
    PlanError
        Names the field: it cannot be read, was changed, or no endpoint fits.
    """
    # What the API shows of a judge has its specification without saying what it is.
    given = {"schema": EARLIER, **values} if "spec" in values else values
    try:
        document = document_read(given)
    except SpecError as error:
        raise PlanError(error.field, error.problem) from None
    return judge_define(document=document, user=user, endpoint=endpoint, name=name)


@transaction.atomic
def judge_define(
    *, document: JudgeDocument, user: User | None, endpoint: str = "", name: str = "", notes: str = ""
) -> ImportedJudge:
    """Define the judge of a document, as `judge_import` does; `notes` are kept with a new one. Raises PlanError."""
    chosen = _endpoint_named(endpoint) if endpoint else None
    judge, is_new = _defined(document.spec, name or document.name, chosen, user, notes)
    if judge.fingerprint == document.spec.fingerprint() or not _asked_somewhere(document.spec):
        return ImportedJudge(judge, is_new)
    note = (
        f"It asks at '{judge.endpoint}', not where the exported judge did, so it is another judge "
        f"({judge.fingerprint}): what is known of that one need not hold of it."
    )
    return ImportedJudge(judge, is_new, (note,))


def _asked_somewhere(spec: JudgeSpec) -> bool:
    """Whether a specification says where its models are asked; one of one's own, or a published one, need not."""
    return any(model.endpoint or model.backend != "openai" for model in spec.models().values())


def spec_here(spec: JudgeSpec, endpoint: str = "") -> JudgeSpec:
    """Return what `judge_define` would define, which nothing is stored of. Raises PlanError."""
    chosen = _endpoint_named(endpoint) if endpoint else None
    members = {key: Judge(spec=spec_here(member, endpoint).to_dict()) for key, member in spec.members.items()}
    try:
        return spec_build(**_content(spec, chosen), members=members)
    except ValidationError as error:
        raise _refusal(error) from None


def _defined(
    spec: JudgeSpec, name: str, chosen: Endpoint | None, user: User | None, notes: str = ""
) -> tuple[Judge, bool]:
    members = {
        key: _defined(member, f"{name}: {key}", chosen, user)[0] for key, member in spec.members.items()
    }
    content = _content(spec, chosen)
    try:
        name = free_name(name[:190])
        return judge_create(name=name, created_by=user, notes=notes, members=members, **content), True
    except DuplicateJudgeError as error:
        return error.existing, False
    except ValidationError as error:
        raise _refusal(error) from None


def _refusal(error: ValidationError) -> PlanError:
    field, messages = next(iter(getattr(error, "message_dict", {"spec": error.messages}).items()))
    return PlanError(f"spec.{field}", " ".join(messages))


def _content(spec: JudgeSpec, chosen: Endpoint | None) -> dict[str, Any]:
    """The content of a judge, but for its members, as `spec_build` takes it."""
    roles = {role: _choice(f"roles.{role}", model, chosen) for role, model in spec.roles.items()}
    main = _choice("endpoint", spec.main_model(), chosen) if spec.model else None
    content: dict[str, Any] = {
        "strategy": spec.strategy,
        "prompt": spec.prompt,
        "prompt_source": _own_text(spec.kind, spec.prompt, spec.strategy_config().prompt),
        "step_prompts": {
            step: {"name": prompt.name, "source": _own_text(spec.kind, prompt.name, prompt)}
            for step, prompt in spec.strategy_config().prompts.items()
        },
        "params": dict(spec.params),
        "shots": [dict(shot) for shot in spec.shots],
        "roles": roles,
        **{
            name: getattr(spec, name)
            for name in ("use_reference", "allow_tie", "guidelines", "reference_system")
        },
        "samples": spec.samples,
    }
    if main is not None:
        content |= {
            "endpoint": main.endpoint,
            **{name: getattr(main, name) for name in ("model", "revision", "decoding", "backend_options")},
        }
    return content


def _own_text(kind: str, name: str, prompt: Any) -> str:
    """The text of a prompt, empty where it is that of a file of the project."""
    if prompt is None:
        return ""
    try:
        return "" if load_prompt(name, kind).sha == prompt.sha else str(prompt.source)
    except UnknownStrategyError:
        return str(prompt.source)


def _choice(field: str, model: ModelRef, chosen: Endpoint | None) -> ModelChoice:
    endpoint = chosen or _endpoint_like(field, model)
    theirs = answering_settings(endpoint)
    return ModelChoice(
        endpoint=endpoint,
        model=model.model,
        revision=model.revision,
        decoding={name: getattr(model.decoding, name) for name in type(model.decoding).__slots__},
        backend_options={key: value for key, value in model.backend_options.items() if key not in theirs},
    )


def _endpoint_like(field: str, model: ModelRef) -> Endpoint:
    """The endpoint of this site at which a model is asked as it was where the judge comes from."""
    options = dict(model.backend_options)
    for endpoint in Endpoint.objects.filter(kind=model.backend, base_url=model.endpoint).order_by("pk"):
        if answering_settings(endpoint).items() <= options.items():
            return endpoint
    where = f" at {model.endpoint}" if model.endpoint else ""
    known = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
    raise PlanError(
        f"spec.{field}",
        f"this site has no endpoint of the kind '{model.backend}'{where} with the same settings. Add one, or name "
        f"the endpoint to ask in its place; there is {known}.",
    )


def _endpoint_named(name: str) -> Endpoint:
    endpoint = Endpoint.objects.filter(name=name).first()
    if endpoint is None:
        known = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
        raise PlanError("endpoint", f"there is no endpoint '{name}'; there is {known}.")
    return endpoint
