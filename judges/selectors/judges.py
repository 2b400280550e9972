"""What pages and commands read of judges."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.selectors.costly import counted
from judges.backends.answerers import Answerer, answerers_read
from judges.models import BackendKind, Endpoint, Generation, Judge, Judgment, SweepRun
from judges.selectors.prompts import PromptVersion, prompt_get
from judges.selectors.tallies import COUNTED
from judges.strategies.registry import STRATEGIES
from judges.strategies.spec import JudgeSpec


def judges_runnable() -> QuerySet[Judge]:
    """Return the judges that a sweep can run: all but those with imported verdicts only."""
    return Judge.objects.exclude(backend=BackendKind.IMPORTED).select_related("endpoint").order_by("name")


def judge_has_judged(judge: Judge) -> bool:
    """Whether a judge has judged anything, or a contestant answered, which makes it immutable."""
    return Judge.objects.filter(_used(), pk=judge.pk).exists()


def judges_at_work() -> QuerySet[Judge]:
    """Return the judges that a worker asks at this moment: what they are is fixed, though nothing may be judged yet."""
    runs = SweepRun.objects.filter(lease_until__gt=timezone.now()).exclude(owner="")
    return Judge.objects.filter(Exists(runs.filter(judge=OuterRef("pk")))).order_by("name")


def judges_with_use() -> QuerySet[Judge]:
    """Return all judges, each with `has_judged`, which is true of a contestant that has answered too."""
    return Judge.objects.select_related("endpoint").annotate(has_judged=_used()).order_by("name")


def judges_of_endpoint(endpoint: Endpoint, *, used: bool = False) -> QuerySet[Judge]:
    """Return the judges that ask an endpoint in any role, by name; with `used`, those of them that have judged."""
    rows = Judge.objects.filter(models__endpoint=endpoint).distinct().order_by("name")
    return rows.filter(_used()) if used else rows


def _used() -> Q:
    judged = Judgment.objects.filter(judge=OuterRef("pk"))
    return Q(Exists(judged) | Exists(Generation.objects.filter(contestant=OuterRef("pk"))))


def judges_as_members(*, without: int | None = None) -> QuerySet[Judge]:
    """Return the judges that a composite or a jury can be made of, by name.

    Parameters
    ----------
    without : int, optional
        Primary key of the judge that is being made: it is no member of itself.
    """
    contestants = [info.name for info in STRATEGIES.values() if info.kind == "generation"]
    judges = judges_runnable().exclude(strategy__in=contestants)
    return judges if without is None else judges.exclude(pk=without)


@dataclass(frozen=True, slots=True)
class PlaceJudged:
    """A dataset in which a judge has judged, and how that went."""

    dataset_id: int
    dataset: str
    n: int
    n_unparsed: int
    n_failed: int


def judge_places(judge: Judge) -> list[PlaceJudged]:
    """Return where a judge has judged, by dataset; at most one query, and of millions not at each look."""
    return counted(f"places:{judge.pk}:{judge.created_at.timestamp()}", lambda: _judge_places(judge))


def _judge_places(judge: Judge) -> list[PlaceJudged]:
    rows = (
        Judgment.objects.filter(judge=judge)
        .order_by("item__dataset__name")
        .values_list("item__dataset_id", "item__dataset__name")
        .annotate(**COUNTED)
    )
    return [PlaceJudged(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class PromptUsed:
    """A prompt of a judge: the step that it is for (empty: the main one), and its text."""

    step: str
    name: str
    source: str
    kind: str
    is_stored: bool
    """Whether there is a page of it."""


def judge_prompts(spec: Mapping[str, Any]) -> list[PromptUsed]:
    """Return the prompts of a judge's specification, the main one first."""
    info = STRATEGIES.get(str(spec.get("strategy", "")))
    if info is None:
        return []
    main = {"name": spec.get("prompt", ""), "source": spec.get("prompt_source", "")}
    given = [("", main), *(spec.get("step_prompts") or {}).items()]
    return [_prompt_used(step, info.kind, values) for step, values in given if values.get("name")]


def _prompt_used(step: str, kind: str, values: Mapping[str, str]) -> PromptUsed:
    name, source = values["name"], values.get("source", "")
    stored: PromptVersion | None = prompt_get(kind, name)
    is_same = stored is not None and (not source or source == stored.source)
    return PromptUsed(step, name, source or (stored.source if stored is not None else ""), kind, is_same)


@dataclass(frozen=True, slots=True)
class AnswererUse:
    """A model that answered a judge, how many judgments rest on it, and when the first and the last of them came."""

    answerer: Answerer
    n: int
    first: datetime
    last: datetime


def judge_answerers(judge_ids: Collection[int], dataset_ids: Collection[int]) -> dict[int, list[AnswererUse]]:
    """Return which models answered these judges on these datasets, by judge, in the order they came; one query."""
    rows = (
        Judgment.objects.filter(judge__in=judge_ids, item__dataset__in=dataset_ids)
        .exclude(answered_by="")
        .order_by()
        .values_list("judge_id", "answered_by")
        .annotate(n=Count("pk"), first=Min("created_at"), last=Max("created_at"))
    )
    found: dict[int, dict[Answerer, AnswererUse]] = {}
    for judge_id, text, n, first, last in rows:
        uses = found.setdefault(judge_id, {})
        for answerer in answerers_read(text):
            known = uses.get(answerer)
            uses[answerer] = (
                AnswererUse(answerer, n, first, last)
                if known is None
                else AnswererUse(answerer, known.n + n, min(known.first, first), max(known.last, last))
            )
    return {
        judge_id: sorted(uses.values(), key=lambda use: (use.answerer.asked, use.first))
        for judge_id, uses in found.items()
    }


def reference_systems_of(judges: Iterable[Judge]) -> set[str]:
    """Return the systems whose responses these judges read as references."""
    found: set[str] = set()
    for judge in judges:
        # A specification that is not valid any more is explained when it is replayed.
        with suppress(ValueError):
            found |= JudgeSpec.from_dict(judge.spec).reference_systems()
    return found
