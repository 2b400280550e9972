"""Judge configurations: defined, changed while unused, copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from judges.models import BackendKind, Endpoint, Judge
from judges.services.endpoints import answering_settings
from judges.strategies.errors import SpecError
from judges.strategies.registry import STRATEGIES, strategy_info
from judges.strategies.spec import JudgeSpec

if TYPE_CHECKING:
    from annotation.models import User


class DuplicateJudgeError(ValidationError):
    """A judge with the same content exists: `existing`."""

    def __init__(self, existing: Judge) -> None:
        super().__init__(f"This is the judge '{existing}' already: it would answer exactly the same.")
        self.existing = existing


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
) -> JudgeSpec:
    """Build a specification from what a form offers.

    Raises
    ------
    ValidationError
        By field: those of this function, `decoding` and `params` as a whole.
    """
    try:
        needs_model = strategy_info(strategy).needs_model
    except LookupError as error:
        raise ValidationError({"strategy": str(error)}) from None
    if needs_model and endpoint is None:
        raise ValidationError({"endpoint": "This strategy asks a model: choose an endpoint."})
    values: dict[str, Any] = {
        "strategy": strategy,
        "model": model.strip(),
        "revision": revision.strip(),
        "prompt": prompt,
        "use_reference": use_reference,
        "allow_tie": allow_tie,
        "decoding": dict(decoding or {}),
        "params": dict(params or {}),
        "backend_options": dict(backend_options or {}),
    }
    if needs_model and endpoint is not None:
        values["backend"] = BackendKind.OPENAI.value
        values["endpoint"] = endpoint.base_url
        values["backend_options"] |= answering_settings(endpoint)
    try:
        return JudgeSpec.from_dict(values)
    except SpecError as error:
        raise ValidationError({error.field.partition(".")[0]: str(error)}) from None


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
        As in `spec_build`: model, revision, prompt, use_reference, allow_tie, decoding, params,
        backend_options.

    Raises
    ------
    DuplicateJudgeError
        A judge with the same content exists; names it.
    ValidationError
        A field is not valid.
    """
    spec = spec_build(strategy=strategy, endpoint=endpoint, **content)
    judge = Judge(notes=notes, created_by=created_by)
    return _save(judge, name=name, endpoint=endpoint, spec=spec)


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

    Raises
    ------
    ValidationError
        It has judged, and more than its name and notes would change; or a field is not valid.
    """
    spec = spec_build(strategy=strategy, endpoint=endpoint, **content)
    if spec.fingerprint() != judge.fingerprint and judge.judgments.exists():
        raise ValidationError(f"'{judge}' has judged, so it cannot be changed any more. Copy it instead.")
    judge.notes = notes
    return _save(judge, name=name, endpoint=endpoint, spec=spec)


def judge_content(judge: Judge) -> dict[str, Any]:
    """Return a judge's content as the keyword arguments of `judge_create`, but for name, notes and author.

    What a copy starts from.
    """
    names = ("strategy", "model", "revision", "prompt", "use_reference", "allow_tie", "decoding", "params")
    content = {name: judge.spec[name] for name in names if name in judge.spec}
    options = dict(judge.spec.get("backend_options") or {})
    if judge.endpoint is not None:
        options = {
            key: value for key, value in options.items() if key not in answering_settings(judge.endpoint)
        }
    return content | {"endpoint": judge.endpoint, "backend_options": options}


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
                judge = judge_create(name=_free_name(STRATEGIES[strategy].title), strategy=strategy)
            except DuplicateJudgeError as error:  # made by another process since we looked
                judge = error.existing
        judges.append(judge)
    return judges


def _free_name(wanted: str) -> str:
    taken = set(Judge.objects.filter(name__startswith=wanted).values_list("name", flat=True))
    return next(
        name
        for n in range(1, len(taken) + 2)
        if (name := wanted if n == 1 else f"{wanted} ({n})") not in taken
    )


def _save(judge: Judge, *, name: str, endpoint: Endpoint | None, spec: JudgeSpec) -> Judge:
    judge.name = name.strip()
    judge.endpoint = endpoint if spec.needs_model else None
    judge.backend = BackendKind.OPENAI if spec.needs_model else BackendKind.HEURISTIC
    judge.model = spec.model
    judge.strategy = spec.strategy
    judge.spec = spec.to_dict()
    judge.fingerprint = spec.fingerprint()
    if existing := _same(judge):
        raise DuplicateJudgeError(existing)
    judge.full_clean()
    try:
        with transaction.atomic():
            judge.save()
    except IntegrityError:
        if existing := _same(judge):
            raise DuplicateJudgeError(existing) from None
        raise
    return judge


def _same(judge: Judge) -> Judge | None:
    return Judge.objects.filter(fingerprint=judge.fingerprint).exclude(pk=judge.pk).first()
