"""What must be right before a sweep may run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from django.conf import settings

from annotation.kinds import KINDS
from annotation.selectors.images import datasets_with_images, first_item_with_image
from annotation.selectors.judging import GENERATION, ItemCounts, count_without_response
from annotation.selectors.offered import count_with_texts
from judges.backends.errors import EndpointError
from judges.backends.settings import check_key_variable
from judges.models import WITH_IMAGES, BackendKind, Endpoint, Judge, Sweep
from judges.selectors.items import judge_kind, sweep_slice
from judges.services.pairings import Pairings, pairings
from judges.strategies.asked import REQUEST_NAMES, imageless_requests, specs_within
from judges.strategies.errors import SpecError
from judges.strategies.model_ref import checked_endpoint
from judges.strategies.registry import strategy_info
from judges.strategies.spec import JudgeSpec
from judges.strategies.types import JUDGE

if TYPE_CHECKING:
    from annotation.models import Dataset


def noun_of(kind: str) -> str:
    """What a dataset must have for a judge of the kind."""
    return KINDS[kind].noun[1] if kind in KINDS else "instructions"


_ALL = frozenset({"chat", "score", "embed", "classify"})  # of "match" one kind is capable
CAPABILITIES: Mapping[BackendKind, frozenset[str]] = {
    BackendKind.OPENAI: _ALL,
    BackendKind.ANTHROPIC: frozenset({"chat"}),
    BackendKind.LITELLM: frozenset({"chat", "embed"}),
    BackendKind.VLLM: _ALL,
    BackendKind.VLLM_SERVER: _ALL,
    BackendKind.TRANSFORMERS: _ALL | {"match"},
}
"""The kinds of requests that a kind of endpoint can answer; whether its model can is the model's affair."""


@dataclass(frozen=True, slots=True)
class SweepCheck:
    """Why a sweep cannot run (`errors`), and what else an administrator should know (`warnings`)."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def sweep_check(*, sweep: Sweep) -> SweepCheck:
    """Check judges, datasets, kinds, the slice, privacy, references, keys and budget; changes nothing."""
    judges = list(sweep.judges.prefetch_related("models__endpoint").order_by("name"))
    datasets = cast("list[Dataset]", list(sweep.datasets.order_by("name")))
    errors: list[str] = []
    warnings: list[str] = []
    if not judges:
        errors.append("Choose at least one judge.")
    if not datasets:
        errors.append("Choose at least one dataset.")
    found = pairings(sweep, judges, datasets)
    errors.extend(_without_partner(judges, datasets, found))
    specs = {judge.pk: spec for judge in judges if (spec := _spec(judge, errors)) is not None}
    for judge in judges:
        if judge.pk in specs:
            errors.extend(_wrong_requests(judge, specs[judge.pk]))
            errors.extend(_same_samples(judge, specs[judge.pk], sweep))
    with_images = datasets_with_images([dataset.pk for dataset in datasets])
    for judge, dataset in found.pairs:
        if dataset.is_private and (refusal := private_refusal(judge=judge, dataset_name=str(dataset))):
            errors.append(refusal)
        if judge.pk in specs and dataset.pk in with_images:
            errors.extend(_blind(judge, specs[judge.pk], dataset))
        if judge.pk in specs and specs[judge.pk].reads_reference:
            counts = found.counts[judge_kind(judge)][dataset.pk]
            _check_references(judge, specs[judge.pk], dataset, sweep, counts, errors, warnings)
        if judge.pk in specs:
            warnings.extend(_examples_judged(judge, specs[judge.pk], dataset))
    for problem in _endpoint_problems(judges):
        # A worker may have keys that the web process has not; where they are one process, it is certain.
        (errors if settings.IN_PROCESS_WORKER else warnings).append(problem)
    if sweep.budget is not None:
        warnings.extend(_unpriced(judges))
    return SweepCheck(tuple(errors), tuple(warnings))


def _without_partner(judges: list[Judge], datasets: list[Dataset], found: Pairings) -> Iterator[str]:
    """Yield what is wrong with datasets and judges that none of the others goes with."""
    if not judges or not datasets:
        return
    kinds = list(found.whole)
    nouns = " and no ".join(noun_of(kind) for kind in kinds)
    names = ", ".join(f"'{judge}'" for judge in judges[:3]) + (" and others" if len(judges) > 3 else "")
    there = {kind for kind in kinds if any(each.n_items for each in found.whole[kind].values())}
    left = {kind for kind in kinds if any(each.n_items for each in found.counts[kind].values())}
    for dataset in datasets:
        if not any(found.whole[kind][dataset.pk].n_items for kind in kinds):
            yield f"'{dataset}' has no {nouns}, which is what {names} can be asked about."
        elif not any(found.counts[kind][dataset.pk].n_items for kind in kinds):
            yield f"No items match the chosen categories and subsets in '{dataset}'."
    for judge in judges:
        kind = judge_kind(judge)
        if there and kind not in there:
            yield f"'{judge}' is for {noun_of(kind)}, and none of the datasets has any."
        elif left and kind in there and kind not in left:
            yield f"No items match the chosen categories and subsets: there is no {noun_of(kind)} for '{judge}'."


def _wrong_requests(judge: Judge, spec: JudgeSpec) -> Iterator[str]:
    """Yield the requests of a judge, or of a member of it, that none of its endpoints can answer."""
    asked = judge_endpoints(judge)
    for prefix, part in specs_within(spec):
        own = [asked[prefix + role] for role in _own_roles(part) if prefix + role in asked]
        able = {request for endpoint in own for request in _capabilities(endpoint)}
        for request in sorted(strategy_info(part.strategy).requests - able):
            if own:
                where = (
                    "with batches" if own[0].in_batches else f"of the kind '{BackendKind(own[0].kind).label}'"
                )
                yield f"'{judge}' asks for {REQUEST_NAMES[request]}, which an endpoint {where} does not give."


def _blind(judge: Judge, spec: JudgeSpec, dataset: Dataset) -> Iterator[str]:
    """Yield why a judge with models can't see the images of a dataset."""
    item = first_item_with_image(dataset)
    named = f" (item '{item}')" if item else ""
    shown = f"'{dataset}' has images{named}, and '{judge}'"
    for endpoint in {row.pk: row for row in judge_endpoints(judge).values()}.values():
        if endpoint.kind not in WITH_IMAGES:
            label = BackendKind(endpoint.kind).label
            yield f"{shown} asks the endpoint '{endpoint}', which takes texts alone ({label})."
        elif not endpoint.takes_images:
            yield f"{shown} asks the endpoint '{endpoint}', whose models don't take images as far as it says."
    for request in imageless_requests(spec):
        yield f"{shown} asks for {request}, which can't be of images."


def _capabilities(endpoint: Endpoint) -> frozenset[str]:
    able = CAPABILITIES.get(BackendKind(endpoint.kind), frozenset())
    return able & {"chat"} if endpoint.in_batches else able


def _own_roles(spec: JudgeSpec) -> list[str]:
    return [*([JUDGE] if spec.model else []), *spec.roles]


def _same_samples(judge: Judge, spec: JudgeSpec, sweep: Sweep) -> Iterator[str]:
    if spec.kind == GENERATION and sweep.samples > 1 and spec.model and spec.decoding.temperature == 0.0:
        yield (
            f"'{judge}' answers at temperature 0, so that its {sweep.samples} samples would all be the same: "
            "ask for one, or raise the temperature."
        )


def judge_spec(judge: Judge) -> JudgeSpec:
    """Return a judge's specification, verified.

    Raises
    ------
    SpecError
        It is not valid any more, or means something else than when the judge was defined: its prompt, its
        strategy's code or its endpoint's address has changed.
    """
    spec = JudgeSpec.from_dict(judge.spec)
    if spec.fingerprint() != judge.fingerprint:
        raise SpecError("fingerprint", "the strategy changed since this judge was defined; copy the judge.")
    endpoints = judge_endpoints(judge)
    for role, model in spec.models().items():
        endpoint = endpoints.get(role)
        if endpoint is None:
            raise SpecError("endpoint", f"'{model.model}' ({role}) has no endpoint; copy the judge.")
        if model.endpoint != checked_endpoint(endpoint.base_url):
            raise SpecError(
                "endpoint", f"'{endpoint}' has a new address since this judge was defined; copy the judge."
            )
    return spec


def judge_endpoints(judge: Judge) -> dict[str, Endpoint]:
    """Return where each of a judge's models answers, by role; no query where `models__endpoint` is prefetched."""
    return {row.role: row.endpoint for row in judge.models.all()}


def private_refusal(*, judge: Judge, dataset_name: str) -> str:
    """Return why this judge may not see a private dataset; empty if it may."""
    for endpoint in judge_endpoints(judge).values():
        if not endpoint.keeps_private:
            return (
                f"'{dataset_name}' is private, and '{judge}' asks the remote endpoint '{endpoint}': "
                "private items never leave the site."
            )
    return ""


def _spec(judge: Judge, errors: list[str]) -> JudgeSpec | None:
    if judge.backend == BackendKind.IMPORTED:
        errors.append(f"'{judge}' has imported verdicts only; it cannot be run.")
        return None
    try:
        spec = judge_spec(judge)
    except SpecError as error:
        errors.append(f"'{judge}' cannot be run: {error}")
        return None
    return spec


def _check_references(
    judge: Judge,
    spec: JudgeSpec,
    dataset: Dataset,
    sweep: Sweep,
    counts: ItemCounts,
    errors: list[str],
    warnings: list[str],
) -> None:
    n_items, wanted = counts.n_items, {"human-written reference": counts.n_without_reference}
    if systems := spec.reference_systems():
        wanted = {
            f"response of '{system}'": count_without_response(
                dataset_id=dataset.pk, kind=spec.kind, system=system, part=sweep_slice(sweep)
            )
            for system in sorted(systems)
        }
    for what, lacking in wanted.items():
        if lacking == n_items:
            errors.append(f"'{judge}' reads the {what}, and no item of '{dataset}' has one.")
        elif lacking:
            warnings.append(
                f"{lacking} of the {n_items} items of '{dataset}' have no {what}: '{judge}' will fail on them."
            )


def _examples_judged(judge: Judge, spec: JudgeSpec, dataset: Dataset) -> Iterator[str]:
    """Yield that the dataset holds instructions whose answers the judge is shown as examples."""
    shots = {shot["instruction"] for _, part in specs_within(spec) for shot in part.shots}
    n = count_with_texts(dataset, shots)
    if n:
        yield (
            f"'{dataset}' holds {n} of the instructions that '{judge}' has as worked examples: "
            "its figures on these items are in-sample and too high; exclude them."
        )


def _endpoints(judges: list[Judge]) -> Iterator[Endpoint]:
    seen = {endpoint.pk: endpoint for judge in judges for endpoint in judge_endpoints(judge).values()}
    yield from seen.values()


def _endpoint_problems(judges: list[Judge]) -> Iterator[str]:
    for endpoint in _endpoints(judges):
        try:
            check_key_variable(endpoint.api_key_env)
        except EndpointError as error:
            yield f"'{endpoint}': {error}"
            continue
        if endpoint.api_key_env and not os.environ.get(endpoint.api_key_env, "").strip():
            yield (
                f"The environment variable {endpoint.api_key_env}, which holds the key of the endpoint "
                f"'{endpoint}', is not set."
            )


def _unpriced(judges: list[Judge]) -> Iterator[str]:
    for endpoint in _endpoints(judges):
        if not endpoint.is_priced:
            yield f"The endpoint '{endpoint}' has no prices, so its requests don't count toward the budget."
