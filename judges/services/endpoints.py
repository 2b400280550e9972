"""Endpoints: made, changed, tried."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotation.services.images import image_folder
from judges.backends.addresses import check_url
from judges.backends.base import Backend
from judges.backends.errors import BackendError, EndpointError
from judges.backends.registry import create_backend
from judges.backends.replicas import check_addresses_alike
from judges.backends.settings import check_key_variable
from judges.backends.wire import WireRequest
from judges.models import (
    IN_WORKER,
    WITH_BATCHES,
    WITH_IMAGES,
    BackendKind,
    Endpoint,
    Judge,
    Structured,
    SweepRun,
)
from judges.selectors.judges import judges_at_work, judges_of_endpoint
from judges.services.pairings import judge_queue
from judges.strategies.errors import SpecError
from judges.strategies.model_ref import ModelRef, checked_options
from judges.strategies.spec import JudgeSpec
from judges.strategies.thoughts import without_thought
from judges.strategies.types import JUDGE, Answer, Decoding

ANSWERING = ("kind", "base_url", "structured", "options")
"""What is part of the identity of every judge of an endpoint."""
BY_HTTP = (BackendKind.OPENAI, BackendKind.ANTHROPIC, BackendKind.VLLM_SERVER)
"""Endpoints that are told by their protocol how to answer with one of the choices."""


def endpoint_create(*, name: str, base_url: str = "", **fields: Any) -> Endpoint:
    """Make an endpoint; raises ValidationError by field."""
    endpoint = Endpoint(name=name, base_url=base_url, **fields)
    _check(endpoint)
    endpoint.save()
    return endpoint


@transaction.atomic
def endpoint_put(*, name: str, **fields: Any) -> tuple[Endpoint, bool]:
    """Make the endpoint of a name, or change the one there is; returns it and whether it is new.

    Raises
    ------
    ValidationError
        By field, as `endpoint_create` and `endpoint_update`.
    """
    endpoint = Endpoint.objects.select_for_update().filter(name=name).first()
    if endpoint is None:
        try:
            with transaction.atomic():
                return endpoint_create(name=name, **fields), True
        except (IntegrityError, ValidationError):
            # Made by somebody else since we looked; otherwise it is what was asked for that is wrong.
            endpoint = Endpoint.objects.select_for_update().filter(name=name).first()
            if endpoint is None:
                raise
    if any(getattr(endpoint, field) != value for field, value in fields.items()):
        endpoint_update(endpoint=endpoint, **fields)
    return endpoint, False


@transaction.atomic
def endpoint_update(*, endpoint: Endpoint, **fields: Any) -> Endpoint:
    """Change an endpoint.

    Its address and the way it is held to a choice can change what it answers. They are part of each judge's
    fingerprint, so judges that have not judged yet get a new one, and judges that have forbid the change.

    Raises
    ------
    ValidationError
        A field is not valid, or a judge has judged with what would change.
    """
    before = {name: getattr(endpoint, name) for name in ANSWERING}
    old, before_queue = answering_settings(endpoint), endpoint.queue
    for name, value in fields.items():
        setattr(endpoint, name, value)
    _check(endpoint)
    changed = [name for name in ANSWERING if getattr(endpoint, name) != before[name]]
    used = judges_of_endpoint(endpoint, used=True)[:5] if changed else ()
    if names := ", ".join(f"'{judge}'" for judge in used):
        raise ValidationError(
            {
                changed[
                    0
                ]: f"{names} judged with the current settings, which are part of their configuration. "
                "Create a new endpoint and copy the judges to it."
            }
        )
    at_work = judges_at_work().filter(pk__in=judges_of_endpoint(endpoint).values("pk")) if changed else ()
    if names := ", ".join(f"'{judge}'" for judge in at_work):
        raise ValidationError({changed[0]: f"A worker asks {names} here right now: pause the sweep first."})
    endpoint.save()
    try:
        for judge in judges_of_endpoint(endpoint) if changed else ():
            _judge_follow(judge, endpoint, old)
    except (SpecError, ValidationError) as error:
        raise ValidationError({changed[0]: str(getattr(error, "message", error))}) from None
    if endpoint.queue != before_queue:
        _runs_follow(endpoint)
    return endpoint


def _check(endpoint: Endpoint) -> None:
    """Raise ValidationError by field: also for a key that the operator does not list, and an address that has none."""
    endpoint.full_clean()
    field = "api_key_env"
    try:
        check_key_variable(endpoint.api_key_env)
        field = "addresses" if endpoint.addresses else "base_url"
        if endpoint.addresses and (wrong := _addresses_wrong(endpoint)):
            raise EndpointError(wrong)
        for address in endpoint.addresses or filter(None, [endpoint.base_url]):
            check_url(address, only_own=endpoint.is_local)
        field = "structured"
        if endpoint.kind == BackendKind.ANTHROPIC and endpoint.structured == Structured.VLLM:
            raise EndpointError(
                "Anthropic's API has no vLLM structured outputs: choose a JSON schema or none."
            )
        field = "in_batches"
        if endpoint.in_batches and endpoint.kind not in WITH_BATCHES:
            raise EndpointError("Only endpoints with OpenAI's or Anthropic's API have batches.")
        if endpoint.in_batches and endpoint.addresses:
            raise EndpointError("Batches are sent to one server: remove the addresses of its copies.")
        field = "takes_images"
        if endpoint.takes_images and endpoint.kind not in WITH_IMAGES:
            raise EndpointError("Images are sent to servers and vendors, not to an engine in the worker.")
        field = "options"
        checked_options(endpoint.options)
    except EndpointError as error:
        raise ValidationError({field: str(error)}) from None
    except SpecError as error:
        raise ValidationError({field: f"{error.field.removeprefix('backend_')}: {error.problem}"}) from None


def _addresses_wrong(endpoint: Endpoint) -> str:
    if endpoint.kind != BackendKind.OPENAI:
        return "Only a server with OpenAI's protocol has several addresses."
    if not isinstance(endpoint.addresses, list) or not all(
        isinstance(each, str) for each in endpoint.addresses
    ):
        return "Expected a list of addresses."
    return check_addresses_alike(endpoint.base_url, endpoint.addresses)


def _runs_follow(endpoint: Endpoint) -> None:
    """Let runs that are not over wait for the workers that ask the endpoint now."""
    runs = SweepRun.objects.filter(finished_at=None, judge__models__endpoint=endpoint).distinct()
    for run in runs.select_related("judge"):
        SweepRun.objects.filter(pk=run.pk).update(queue=judge_queue(run.judge))


def _judge_follow(judge: Judge, endpoint: Endpoint, old: Mapping[str, Any]) -> None:
    """Let a judge be what the endpoint makes of it now; `old` are the settings that it had from it before."""
    spec = dict(judge.spec)
    for role in judge.models.filter(endpoint=endpoint).values_list("role", flat=True):
        values = _model_values(spec, role)
        values["backend"], values["endpoint"] = endpoint.kind, endpoint.base_url
        own = {name: each for name, each in (values.get("backend_options") or {}).items() if name not in old}
        values["backend_options"] = own | answering_settings(endpoint)
    built = JudgeSpec.from_dict(spec)
    judge.spec, judge.fingerprint = built.to_dict(), built.fingerprint()
    if judge.endpoint_id == endpoint.pk and not built.members:
        judge.backend = endpoint.kind
    twin = Judge.objects.filter(fingerprint=judge.fingerprint).exclude(pk=judge.pk).first()
    if twin is not None:
        raise ValidationError(
            f"'{judge}' would then be the same judge as '{twin}': delete one of them first."
        )
    judge.save(update_fields=["spec", "fingerprint", "backend"])


def _model_values(spec: dict[str, Any], role: str) -> dict[str, Any]:
    """Return the part of a specification's JSON that says which model is in a role."""
    if role == JUDGE:
        return spec
    # A role may be the name of a system, and that of a model on a hub has a slash itself.
    if role in (spec.get("roles") or {}):
        values: dict[str, Any] = spec["roles"][role]
        return values
    # So has the path of a category. No two members have a model of the same role (`JudgeSpec`).
    for member, own in spec["members"].items():
        if role.startswith(f"{member}/"):
            try:
                return _model_values(own, role.removeprefix(f"{member}/"))
            except KeyError:
                continue
    raise KeyError(role)


def answering_settings(endpoint: Endpoint) -> dict[str, Any]:
    """Return the endpoint's settings that can change an answer, as a judge's specification keeps them."""
    if endpoint.kind not in BY_HTTP:
        return dict(endpoint.options)
    own = endpoint.kind == BackendKind.VLLM_SERVER  # of which it is known what it understands
    structured = Structured.VLLM.value if own else endpoint.structured or Structured.NONE.value
    return dict(endpoint.options) | {"structured": structured}


def backend_for(*, endpoint: Endpoint, model: ModelRef) -> Backend:
    """Build the backend of a judge's model: what answers is the judge's own, the way to it is the endpoint's.

    Raises
    ------
    EndpointError
        The configuration cannot work; the message says why.
    """
    # The empty name has the prices of all models that have none of their own.
    price_prompt, price_completion = endpoint.price_of("")
    options = dict(model.backend_options) | {
        "capacity": endpoint.max_concurrency,
        "timeout": float(endpoint.timeout_seconds),
        "price_prompt": price_prompt,
        "price_completion": price_completion,
        "prices": {name: endpoint.price_of(name) for name in endpoint.prices},
    }
    if endpoint.kind in IN_WORKER:
        # An engine in the worker serves one model.
        options |= {"model": model.model, "revision": model.revision}
    else:
        options |= {"api_key_env": endpoint.api_key_env, "is_local": endpoint.is_local}
        if endpoint.addresses:
            options["addresses"] = tuple(endpoint.addresses)
    if endpoint.takes_images:
        options["images"] = image_folder().read
    return create_backend(model.backend, endpoint=model.endpoint, options=options)


@dataclass(frozen=True, slots=True)
class EndpointTrial:
    """What an endpoint answered to one short question; `error` is empty if it did."""

    text: str = ""
    error: str = ""
    latency_ms: float = 0.0


def endpoint_try(*, endpoint: Endpoint, model: str, seconds: float = 20.0) -> EndpointTrial:
    """Ask the endpoint one short question, to see whether it is reachable and the key and model are right.

    Only of a server: an engine is loaded by a worker, which may be another machine.
    """
    if endpoint.kind in IN_WORKER:
        return EndpointTrial(error="it runs in the worker, so it can't be tested from here.")
    question = WireRequest(
        kind="chat",
        model=model,
        messages=(("user", "Answer with the letter A."),),
        decoding=Decoding(max_tokens=5),
    )
    try:
        named = ModelRef(
            backend=endpoint.kind,
            endpoint=endpoint.base_url,
            model=model,
            backend_options=answering_settings(endpoint),
        )
        backend = backend_for(endpoint=endpoint, model=named)
    except (BackendError, ValueError) as error:
        return EndpointTrial(error=str(error))
    try:
        backend.submit(0, question)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for _, outcome in backend.drain(0.2):
                if isinstance(outcome, Answer):
                    said = without_thought(outcome).text
                    return EndpointTrial(text=said, latency_ms=outcome.latency_ms)
                return EndpointTrial(error=str(outcome))
        return EndpointTrial(error=f"No answer within {seconds:g} s.")
    finally:
        backend.close()
