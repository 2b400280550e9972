"""What the administrators' lists and forms show: sweeps, judges, endpoints and datasets at a glance."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.models import Dataset
from annotation.selectors.judging import GENERATION
from judges.models import BackendKind, Endpoint, Judge, JudgeModel, Sweep, SweepRun
from judges.selectors.items import judge_kind
from judges.selectors.judges import judges_runnable
from judges.selectors.stored import sweeps_listed
from judges.selectors.strategies import kind_named
from judges.selectors.tallies import judgment_tallies
from judges.strategies.info import StrategyInfo
from judges.strategies.registry import STRATEGIES


def sweeps_overview(datasets: QuerySet[Dataset] | None = None) -> QuerySet[Sweep]:
    """Return all sweeps, each with n_total, n_done, n_failed, cost, n_judges and n_datasets; one query.

    `datasets` bounds what is counted.
    """
    runs = Q() if datasets is None else Q(runs__dataset__in=datasets)
    those = {} if datasets is None else {"dataset__in": datasets}

    def counted(through: Any, **chosen: Any) -> Coalesce:
        rows = through.objects.filter(sweep=OuterRef("pk"), **chosen).order_by().values("sweep")
        return Coalesce(Subquery(rows.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)

    return (
        sweeps_listed()
        .select_related("created_by")
        .annotate(
            n_total=Coalesce(Sum("runs__n_total", filter=runs), 0),
            n_done=Coalesce(Sum("runs__n_done", filter=runs), 0),
            n_failed=Coalesce(Sum("runs__n_failed", filter=runs), 0),
            cost=Coalesce(Sum("runs__cost", filter=runs), 0.0),
            n_judges=counted(Sweep.judges.through),
            n_datasets=counted(Sweep.datasets.through, **those),
        )
        .order_by("-created_at", "-pk")
    )


def endpoints_overview() -> QuerySet[Endpoint]:
    """Return all endpoints, each with n_judges: how many judges ask it in any role."""
    return Endpoint.objects.annotate(n_judges=Count("uses__judge", distinct=True)).order_by("name")


def key_state(endpoint: Endpoint) -> str:
    """Return "none", "set" or "missing": whether this process has the key. The key itself is never shown."""
    if not endpoint.api_key_env:
        return "none"
    return "set" if os.environ.get(endpoint.api_key_env, "").strip() else "missing"


def endpoint_models(endpoint: Endpoint) -> list[str]:
    """Return the models that judges of this endpoint name, then those that have prices of their own."""
    models = JudgeModel.objects.filter(endpoint=endpoint)
    named = list(models.order_by("model").values_list("model", flat=True).distinct())
    return [*named, *sorted(set(endpoint.prices) - set(named))]


@dataclass(frozen=True, slots=True)
class JudgeChoice:
    """A judge that a sweep may run; `about` says in a line what it is, and `group` where it stands."""

    pk: int
    name: str
    about: str
    kind: str
    group: str
    is_remote: bool
    needs_model: bool
    reads_reference: bool

    @property
    def searched(self) -> str:
        """The words by which it is found, in lower case."""
        return f"{self.name} {self.about} {self.group}".lower()


ASKS, NO_MODEL, CONTESTANTS = (
    "LLM judges",
    "Baselines (no LLM)",
    "Contestants (generate responses)",
)


def judges_offered() -> list[JudgeChoice]:
    """Return the judges that can be run, by group and name; two queries."""
    judges = judges_runnable().prefetch_related("models__endpoint")
    choices = [_judge_choice(judge) for judge in judges]
    order = [ASKS, NO_MODEL, *dict.fromkeys(choice.group for choice in choices)]
    order = [group for group in order if group != CONTESTANTS] + [CONTESTANTS]
    return sorted(choices, key=lambda choice: (order.index(choice.group), choice.name))


def _judge_choice(judge: Judge) -> JudgeChoice:
    info, kind = judge_strategy(judge), judge_kind(judge)
    endpoints = [row.endpoint for row in judge.models.all()]
    group = kind_named(kind) or (ASKS if endpoints else NO_MODEL)
    if kind == GENERATION:
        group = CONTESTANTS
    return JudgeChoice(
        pk=judge.pk,
        name=judge.name,
        about=_about(judge, info),
        kind=kind,
        group=group,
        is_remote=any(not endpoint.keeps_private for endpoint in endpoints),
        needs_model=bool(endpoints),
        reads_reference=_reads_reference(judge.spec),
    )


def _about(judge: Judge, info: StrategyInfo | None) -> str:
    title = info.title if info else judge.strategy
    if members := judge.spec.get("members"):
        return f"{title} of {len(members)}: {', '.join(members)}"
    if judge.backend == BackendKind.HEURISTIC:
        return info.summary if info else judge.strategy
    return f"{title} · {judge.model} at {judge.endpoint or 'no endpoint'}"


def _reads_reference(spec: Mapping[str, Any]) -> bool:
    """As `JudgeSpec.reads_reference`, of a specification that may not be valid any more."""
    if members := spec.get("members"):
        return any(_reads_reference(member) for member in members.values())
    info = STRATEGIES.get(str(spec.get("strategy", "")))
    return bool(spec.get("use_reference")) or (info is not None and info.needs_reference)


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
