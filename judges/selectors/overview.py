"""What the administrators' lists and forms show: sweeps, judges, endpoints and datasets at a glance."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.models import Dataset, Item, Kind
from judges.models import BackendKind, Endpoint, Judge, Judgment, Sweep, SweepRun
from judges.selectors.items import item_counts
from judges.selectors.judges import judges_runnable
from judges.selectors.sweeps import judgment_tallies
from judges.strategies.registry import STRATEGIES, StrategyInfo


def sweeps_overview() -> QuerySet[Sweep]:
    """Return all sweeps, each with n_total, n_done, n_failed, cost, n_judges and n_datasets; one query."""

    def counted(through: Any) -> Coalesce:
        rows = through.objects.filter(sweep=OuterRef("pk")).order_by().values("sweep")
        return Coalesce(Subquery(rows.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)

    return (
        Sweep.objects.select_related("created_by")
        .annotate(
            n_total=Coalesce(Sum("runs__n_total"), 0),
            n_done=Coalesce(Sum("runs__n_done"), 0),
            n_failed=Coalesce(Sum("runs__n_failed"), 0),
            cost=Coalesce(Sum("runs__cost"), 0.0),
            n_judges=counted(Sweep.judges.through),
            n_datasets=counted(Sweep.datasets.through),
        )
        .order_by("-created_at", "-pk")
    )


def endpoints_overview() -> QuerySet[Endpoint]:
    """Return all endpoints, each with n_judges."""
    return Endpoint.objects.annotate(n_judges=Count("judges")).order_by("name")


def key_state(endpoint: Endpoint) -> str:
    """Return "none", "set" or "missing": whether this process has the key. The key itself is never shown."""
    if not endpoint.api_key_env:
        return "none"
    return "set" if os.environ.get(endpoint.api_key_env, "").strip() else "missing"


def endpoint_models(endpoint: Endpoint) -> list[str]:
    """Return the models that judges of this endpoint name."""
    models = Judge.objects.filter(endpoint=endpoint).exclude(model="")
    return list(models.order_by("model").values_list("model", flat=True).distinct())


def judge_n_judgments(judge: Judge) -> int:
    """Return how many judgments a judge has made."""
    return Judgment.objects.filter(judge=judge).count()


@dataclass(frozen=True, slots=True)
class DatasetChoice:
    """A dataset that a sweep may judge. `n_items` counts its pairs."""

    pk: int
    name: str
    title: str
    is_private: bool
    n_items: int
    n_references: int
    n_gold: int


def datasets_offered() -> list[DatasetChoice]:
    """Return the datasets that have pairs to judge, by name; three queries."""
    datasets = list(Dataset.objects.order_by("name"))
    counts = item_counts(dataset_ids=[dataset.pk for dataset in datasets])
    gold = dict(
        Item.objects.filter(kind=Kind.PAIRWISE, gold__isnull=False)
        .order_by()
        .values_list("dataset_id")
        .annotate(n=Count("pk"))
    )
    return [
        DatasetChoice(
            pk=dataset.pk,
            name=dataset.name,
            title=dataset.title,
            is_private=dataset.is_private,
            n_items=(n := counts[dataset.pk]).n_items,
            n_references=n.n_items - n.n_without_reference,
            n_gold=gold.get(dataset.pk, 0),
        )
        for dataset in datasets
        if counts[dataset.pk].n_items
    ]


@dataclass(frozen=True, slots=True)
class JudgeChoice:
    """A judge that a sweep may run; `about` says in a line what it is."""

    pk: int
    name: str
    about: str
    is_remote: bool
    needs_model: bool
    reads_reference: bool


def judges_offered() -> list[JudgeChoice]:
    """Return the judges that can be run: those that ask a model first, then by name; one query."""
    choices = [_judge_choice(judge) for judge in judges_runnable()]
    return sorted(choices, key=lambda choice: (not choice.needs_model, choice.name))


def _judge_choice(judge: Judge) -> JudgeChoice:
    info = judge_strategy(judge)
    needs_model = judge.backend != BackendKind.HEURISTIC
    if needs_model:
        about = (
            f"{info.title if info else judge.strategy} · {judge.model} at {judge.endpoint or 'no endpoint'}"
        )
    else:
        about = info.summary if info else judge.strategy
    return JudgeChoice(
        pk=judge.pk,
        name=judge.name,
        about=about,
        is_remote=judge.endpoint is not None and not judge.endpoint.is_local,
        needs_model=needs_model,
        reads_reference=bool(judge.spec.get("use_reference")) or (info is not None and info.needs_reference),
    )


def judge_strategy(judge: Judge) -> StrategyInfo | None:
    """Return what is known of a judge's strategy; None where it is known no more, or was never ours."""
    return STRATEGIES.get(judge.strategy)


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a draft would do, in judgments."""

    n_judges: int
    n_datasets: int
    n_total: int
    n_done: int


def sweep_plan(sweep: Sweep) -> SweepPlan:
    """Count what a sweep would judge and what of it has been judged already; four queries."""
    judges = list(sweep.judges.all())
    datasets = cast("list[Dataset]", list(sweep.datasets.all()))
    runs = [SweepRun(sweep=sweep, judge=judge, dataset=dataset) for dataset in datasets for judge in judges]
    tallies = judgment_tallies(runs=runs, orders=sweep.orders)
    return SweepPlan(
        n_judges=len(judges),
        n_datasets=len(datasets),
        n_total=sum(tally.n_total for tally in tallies),
        n_done=sum(min(tally.n_done, tally.n_total) for tally in tallies),
    )
