"""Sweeps, judges and judgments as researchers read them: those of datasets that they may see.

Permission lives in the fetch: these are the only ways from a page to the rows.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404

from annotation.models import Dataset, Item, User
from annotation.selectors.costly import counted
from annotation.selectors.datasets import datasets_by_name, datasets_visible_to, datasets_with_ends, item_ends
from annotation.selectors.judging import GENERATION
from judges.backends.answerers import Answerer, several_of
from judges.models import BackendKind, Judge, JudgeUpload, Judgment, Sweep, SweepRun, SweepState
from judges.selectors.judges import judge_answerers
from judges.selectors.overview import sweeps_overview
from judges.selectors.stored import judgments_on, sweeps_listed
from judges.selectors.sweeps import RunProgress, SweepProgress, progress_sums, sweep_progress


def sweeps_visible_to(user: User) -> QuerySet[Sweep]:
    """Sweeps over at least one dataset that they may see; administrators: all."""
    if user.is_administrator:
        return sweeps_listed()
    readable = Sweep.objects.filter(pk=OuterRef("pk"), datasets__in=datasets_visible_to(user))
    return sweeps_listed().filter(Exists(readable))


def sweep_list_for(user: User, *, state: str = "") -> QuerySet[Sweep]:
    """Sweeps for a list, newest first, with what `sweeps_overview` counts: one query.

    The counts are of the datasets that they may see.
    """
    visible = None if user.is_administrator else datasets_visible_to(user)
    found = sweeps_overview(visible).filter(pk__in=sweeps_visible_to(user))
    return found.filter(state=state) if state in SweepState.values else found


def sweep_state_counts(user: User) -> dict[str, int]:
    """How many sweeps there are in each state, states without one included."""
    rows = sweeps_visible_to(user).order_by().values_list("state").annotate(n=Count("pk"))
    return dict.fromkeys(SweepState.values, 0) | dict(rows)


@dataclass(frozen=True, slots=True)
class SweepRead:
    """A sweep with as much of its progress as the reader may see."""

    sweep: Sweep
    progress: SweepProgress
    datasets: tuple[Dataset, ...]


def sweep_read_for(user: User, pk: int) -> SweepRead:
    """A sweep for its page; else Http404. Runs and sums are of the datasets that they may see."""
    sweep = get_object_or_404(sweeps_visible_to(user).select_related("created_by"), pk=pk)
    datasets = datasets_visible_to(user).filter(sweeps=sweep).order_by("name")
    seen = tuple(datasets)
    progress = sweep_progress(pk)
    if len({run.dataset_id for run in progress.runs} - {dataset.pk for dataset in seen}):
        progress = _of(progress, {dataset.pk for dataset in seen})
    return SweepRead(sweep, progress, seen)


def _of(progress: SweepProgress, datasets: set[int]) -> SweepProgress:
    """The part of a sweep's progress that is about some datasets; the message may be about others."""
    runs = tuple(run for run in progress.runs if run.dataset_id in datasets)
    cost = sum(run.cost for run in runs)
    return replace(progress, **progress_sums(runs), cost=cost, errors=(), message="", runs=runs)


def runs_stopped(runs: Iterable[RunProgress]) -> dict[str, list[RunProgress]]:
    """Runs that stopped, by why."""
    found: dict[str, list[RunProgress]] = {}
    for run in runs:
        if run.last_error:
            found.setdefault(run.last_error, []).append(run)
    return found


def sweep_several(read: SweepRead) -> list[tuple[RunProgress, str, tuple[Answerer, ...]]]:
    """The judges of a sweep that were answered by several models under one name: a run of it, the name, the models."""
    runs = {run.judge_id: run for run in read.progress.runs if run.kind != GENERATION}
    judges, datasets = sorted(runs), sorted(dataset.pk for dataset in read.datasets)
    # By the moment it was made too: never those of another sweep that had the same number in another database.
    key = f"answerers:{read.sweep.pk}:{read.sweep.created_at.timestamp()}:{'-'.join(map(str, datasets))}"
    found = counted(key, lambda: judge_answerers(judges, datasets)) if runs else {}
    return [
        (runs[judge_id], name, models)
        for judge_id, uses in found.items()
        for name, models in several_of(use.answerer for use in uses).items()
    ]


@dataclass(frozen=True, slots=True)
class SweepOfDataset:
    """How far a sweep is on one of its datasets."""

    pk: int
    name: str
    state: str
    finished_at: datetime | None
    n_judges: int
    n_done: int
    n_total: int

    @property
    def is_active(self) -> bool:
        return self.state in (SweepState.QUEUED, SweepState.RUNNING)


def sweeps_by_dataset(datasets: Iterable[int]) -> dict[int, list[SweepOfDataset]]:
    """The sweeps over each of these datasets, which their reader may see, newest first. One query."""
    found: dict[int, list[SweepOfDataset]] = {}
    # Drafts have no runs: the sweeps of a dataset come from the relation, its progress from the runs.
    on_it = Q(runs__dataset=F("datasets"))
    rows = (
        sweeps_listed()
        .filter(datasets__in=list(datasets))
        .order_by("-created_at", "-pk")
        .values_list("datasets", "pk", "name", "state", "finished_at")
        .annotate(
            n_judges=Count("runs__judge", filter=on_it, distinct=True),
            done=Coalesce(Sum("runs__n_done", filter=on_it), 0),
            total=Coalesce(Sum("runs__n_total", filter=on_it), 0),
        )
    )
    for dataset, *row in rows:
        found.setdefault(dataset, []).append(SweepOfDataset(*row))
    return found


def datasets_judged(datasets: Iterable[int]) -> set[int]:
    """Those of these datasets of which judges have said something, imported or run. One query."""
    # Not by EXISTS, which PostgreSQL turns into a join with all judgments.
    one = Subquery(Judgment.objects.order_by().filter(item__dataset=OuterRef("pk")).values("pk")[:1])
    rows = datasets_by_name().filter(pk__in=list(datasets)).annotate(one=one)
    return set(rows.filter(one__isnull=False).values_list("pk", flat=True))


def datasets_judged_beyond(sweeps: Mapping[int, int]) -> set[int]:
    """The datasets that judges beside those of a sweep have judged: of another sweep, or imported. Two queries.

    Parameters
    ----------
    sweeps : Mapping[int, int]
        The sweep of each dataset, by primary keys.
    """
    judges: dict[int, dict[int, set[int]]] = {}
    runs = SweepRun.objects.filter(dataset__in=list(sweeps), n_done__gt=0)
    for dataset, sweep, judge in runs.values_list("dataset", "sweep", "judge"):
        judges.setdefault(dataset, {}).setdefault(sweep, set()).add(judge)
    found = {
        dataset
        for dataset, by_sweep in judges.items()
        if set().union(*by_sweep.values()) > by_sweep.get(sweeps[dataset], set())
    }
    # From the judges, of which few are imported, by the index of a judge's items: a dataset has a million judgments.
    said = Judgment.objects.filter(
        judge=OuterRef("pk"),
        item__gte=OuterRef(OuterRef("first")),
        item__lte=OuterRef(OuterRef("last")),
        item__dataset=OuterRef(OuterRef("pk")),
    )
    imported = Judge.objects.filter(Exists(said), backend=BackendKind.IMPORTED)
    rest = datasets_with_ends(datasets_by_name().filter(pk__in=set(sweeps) - found))
    return found | set(rest.filter(Exists(imported)).values_list("pk", flat=True))


def judges_visible_to(user: User) -> QuerySet[Judge]:
    """Judges that have judged, or shall judge, a dataset that they may see, or whose files they sent.

    Administrators: all.
    """
    if user.is_administrator:
        return Judge.objects.all()
    visible = datasets_visible_to(user)
    judged = Judgment.objects.filter(judge=OuterRef("pk"), item__dataset__in=visible)
    runs = SweepRun.objects.filter(judge=OuterRef("pk"), dataset__in=visible)
    uploads = JudgeUpload.objects.filter(judges=OuterRef("pk"), user=user)
    return Judge.objects.filter(Exists(judged) | Exists(runs) | Exists(uploads))


def judge_list_for(user: User, *, search: str = "") -> QuerySet[Judge]:
    """Judges for a list, by name: one query."""
    judges = judges_visible_to(user).select_related("endpoint")
    if search:
        judges = judges.filter(
            Q(name__icontains=search) | Q(model__icontains=search) | Q(strategy__icontains=search)
        )
    return judges.order_by("name", "pk")


MOST_COUNTED = 10_000
"""Judgments of a judge that a list counts: of more, it says that there are more."""


class _CountOf(Subquery):
    """How many rows a query has; unlike an aggregate, of a query that has a limit too."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def judgment_counts(user: User, judge_ids: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Of each of these judges: how many judgments they may see, and of how many datasets. One query.

    Counting ends above `MOST_COUNTED`: a list of judges must not take longer the more they have judged.
    """
    visible = datasets_visible_to(user)
    said = Judgment.objects.order_by().filter(judge=OuterRef("pk"))
    seen = said if user.is_administrator else said.filter(item__dataset__in=visible)
    of_dataset = Judgment.objects.filter(
        judge=OuterRef(OuterRef("pk")),
        item__dataset=OuterRef("pk"),
        item__gte=OuterRef("first"),
        item__lte=OuterRef("last"),
    )
    # Not by EXISTS, which PostgreSQL turns into a join with all that the judge has said: the first one is enough.
    one = Subquery(of_dataset.order_by("item_id").values("pk")[:1])
    judged = datasets_with_ends(visible).order_by().annotate(one=one)
    rows = Judge.objects.filter(pk__in=list(judge_ids)).annotate(
        n=_CountOf(seen.values("pk")[: MOST_COUNTED + 1]),
        n_datasets=_CountOf(judged.filter(one__isnull=False).values("pk")),
    )
    return {judge: (n, n_datasets) for judge, n, n_datasets in rows.values_list("pk", "n", "n_datasets")}


def judge_get_for(user: User, pk: int) -> Judge:
    """A judge that they may see; else Http404."""
    return get_object_or_404(judges_visible_to(user).select_related("endpoint", "created_by"), pk=pk)


def judges_of_dataset(dataset: Dataset, kind: str = "") -> QuerySet[Judge]:
    """The judges that have judged something (of a kind) of a dataset, imported or run, by name."""
    # From the judges, by the index of a judge's items: a dataset has a million judgments.
    first, last = item_ends(dataset.pk)
    judged = judgments_on([dataset], kind).filter(judge=OuterRef("pk"), item__gte=first, item__lte=last)
    return Judge.objects.filter(Exists(judged)).order_by("name", "pk")


def judgments_on_items(
    item_ids: Collection[int], *, judge_ids: Collection[int] | None = None
) -> QuerySet[Judgment]:
    """What judges (or these judges) said of some items; in no order."""
    rows = Judgment.objects.order_by().filter(item__in=list(item_ids))
    return rows if judge_ids is None else rows.filter(judge__in=list(judge_ids))


def judge_ids_on(items: QuerySet[Item]) -> list[int]:
    """The judges that have judged some of these items."""
    rows = Judgment.objects.order_by().filter(item__in=items)
    return list(rows.values_list("judge", flat=True).distinct())


def judge_identities(judge_ids: Iterable[int]) -> dict[int, tuple[str, str, str, str]]:
    """Name, fingerprint, model and strategy of judges."""
    rows = Judge.objects.filter(pk__in=list(judge_ids))
    names = rows.values_list("pk", "name", "fingerprint", "model", "strategy")
    return {pk: (name, fingerprint, model, strategy) for pk, name, fingerprint, model, strategy in names}


def judgment_get_for(user: User, pk: int) -> Judgment:
    """A judgment of a dataset that they may see; else Http404."""
    return get_object_or_404(
        Judgment.objects.filter(item__dataset__in=datasets_visible_to(user)).select_related("item__dataset"),
        pk=pk,
    )
