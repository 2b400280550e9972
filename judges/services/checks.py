"""What must be right before a sweep may run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings

from annotation.selectors.judging import item_counts
from judges.models import BackendKind, Endpoint, Judge, Sweep
from judges.strategies.errors import SpecError
from judges.strategies.spec import JudgeSpec
from judges.strategies.spec_checks import checked_endpoint


@dataclass(frozen=True, slots=True)
class SweepCheck:
    """Why a sweep cannot run (`errors`), and what else an administrator should know (`warnings`)."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def sweep_check(*, sweep: Sweep) -> SweepCheck:
    """Check judges, datasets, privacy, references, keys and budget; changes nothing."""
    judges = list(sweep.judges.prefetch_related("models__endpoint").order_by("name"))
    datasets = list(sweep.datasets.order_by("name"))
    errors: list[str] = []
    warnings: list[str] = []
    if not judges:
        errors.append("Choose at least one judge.")
    if not datasets:
        errors.append("Choose at least one dataset.")
    counts = item_counts(dataset_ids=[dataset.pk for dataset in datasets])
    specs = {judge.pk: spec for judge in judges if (spec := _spec(judge, errors)) is not None}
    for dataset in datasets:
        n_items = counts[dataset.pk].n_items
        if not n_items:
            errors.append(f"'{dataset}' has no pairs to judge.")
            continue
        private = getattr(dataset, "is_private")  # noqa: B009 (the foreign key is typed as any model)
        for judge in judges:
            if private and (refusal := private_refusal(judge=judge, dataset_name=str(dataset))):
                errors.append(refusal)
            if judge.pk in specs and specs[judge.pk].reads_reference:
                _check_references(
                    judge, str(dataset), n_items, counts[dataset.pk].n_without_reference, errors, warnings
                )
    for problem in _endpoint_problems(judges):
        # A worker may have keys that the web process has not; where they are one process, it is certain.
        (errors if settings.IN_PROCESS_WORKER else warnings).append(problem)
    if sweep.budget is not None:
        warnings.extend(_unpriced(judges))
    return SweepCheck(tuple(errors), tuple(warnings))


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
        raise SpecError(
            "fingerprint", "the strategy works differently since this judge was defined; copy it."
        )
    endpoints = judge_endpoints(judge)
    for role, model in spec.models().items():
        endpoint = endpoints.get(role)
        if endpoint is None:
            raise SpecError("endpoint", f"'{model.model}' ({role}) has no endpoint; copy the judge.")
        if model.endpoint != checked_endpoint(endpoint.base_url):
            raise SpecError(
                "endpoint", f"'{endpoint}' has another address since this judge was defined; copy it."
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
    judge: Judge, dataset: str, n_items: int, lacking: int, errors: list[str], warnings: list[str]
) -> None:
    if lacking == n_items:
        errors.append(f"'{judge}' reads the human-written reference, and no item of '{dataset}' has one.")
    elif lacking:
        warnings.append(
            f"{lacking} of the {n_items} items of '{dataset}' have no human-written reference: "
            f"'{judge}' will fail on them."
        )


def _endpoints(judges: list[Judge]) -> Iterator[Endpoint]:
    seen = {endpoint.pk: endpoint for judge in judges for endpoint in judge_endpoints(judge).values()}
    yield from seen.values()


def _endpoint_problems(judges: list[Judge]) -> Iterator[str]:
    for endpoint in _endpoints(judges):
        if endpoint.api_key_env and not os.environ.get(endpoint.api_key_env, "").strip():
            yield (
                f"The environment variable {endpoint.api_key_env}, which holds the key of the endpoint "
                f"'{endpoint}', is not set."
            )


def _unpriced(judges: list[Judge]) -> Iterator[str]:
    for endpoint in _endpoints(judges):
        if not endpoint.is_priced:
            yield f"The endpoint '{endpoint}' has no prices, so its requests do not count towards the budget."
