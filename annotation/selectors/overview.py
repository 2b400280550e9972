"""What a researcher sees of studies: which ones, how far they are, and where their people are.

Permission lives in the fetch: `study_get_for` and `datasets_visible_to` are the only ways from a page to these rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import BooleanField, Case, Count, F, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from annotation.models import (
    Dataset,
    Enrollment,
    Invitation,
    Item,
    Label,
    Stage,
    Study,
    StudyItem,
    StudyState,
    User,
)
from annotation.models.work import LabelQuerySet
from annotation.selectors.datasets import datasets_visible_to

DAYS_SHOWN = 30


def studies_visible_to(user: User) -> QuerySet[Study]:
    """Their own studies and those of nobody, as far as the dataset is theirs to see; administrators: all."""
    studies = Study.objects.filter(dataset__in=datasets_visible_to(user))
    if not user.is_administrator:
        studies = studies.filter(Q(owner=user) | Q(owner=None))
    return studies


def labels_visible_to(user: User) -> LabelQuerySet:
    """Imported labels, and those of the studies that they may see, of the datasets that they may see."""
    return Label.objects.filter(
        Q(study=None) | Q(study__in=studies_visible_to(user)), item__dataset__in=datasets_visible_to(user)
    )


def study_get_for(user: User, slug: str) -> Study:
    """The study with its dataset, or `Study.DoesNotExist`, also when it is somebody else's."""
    return studies_visible_to(user).select_related("dataset", "owner").get(slug=slug)


def invitation_get_for(user: User, slug: str, pk: int) -> Invitation:
    """An invitation of a study of theirs, or `Invitation.DoesNotExist`."""
    return Invitation.objects.select_related("study").get(
        pk=pk, study__in=studies_visible_to(user), study__slug=slug
    )


def may_identify(user: User, study: Study) -> bool:
    """Whether they may see who the annotators are where they came from: the owner and administrators."""
    return user.is_administrator or (study.owner_id is not None and study.owner_id == user.pk)


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Counts of a study; `labels` of `wanted`, `complete` of `items` with all of their labels."""

    items: int
    wanted: int
    labels: int
    complete: int
    open_leases: int

    @property
    def share(self) -> float | None:
        return self.labels / self.wanted if self.wanted else None


def study_progress(study: Study) -> StudyProgress:
    """How far the study is. Before it opens, what it would come to: items left beside the test, times overlap."""
    if study.state == StudyState.DRAFT:
        usable = Item.objects.filter(dataset_id=study.dataset_id, kind=study.kind).count()
        own_test = study.qualification_dataset_id in (None, study.dataset_id)
        items = max(0, usable - study.qualification_size if own_test else usable)
        return StudyProgress(items, items * study.overlap, 0, 0, 0)
    row = StudyItem.objects.filter(study=study).aggregate(
        items=Count("pk"),
        wanted=Coalesce(Sum("overlap"), 0),
        labels=Coalesce(Sum("n_accepted"), 0),
        complete=Count("pk", filter=Q(n_accepted__gte=F("overlap"))),
        open_leases=Coalesce(Sum("n_open"), 0),
    )
    return StudyProgress(**row)


def _sum_over_items(field: str) -> Coalesce:
    totals = (
        StudyItem.objects.filter(study=OuterRef("pk"))
        .order_by()
        .values("study")
        .annotate(total=Sum(field))
        .values("total")
    )
    return Coalesce(Subquery(totals), 0)


def study_list_for(user: User, *, state: str = "") -> QuerySet[Study]:
    """Studies for a list, newest first, with `labels`, `wanted` and `people` as columns: one query."""
    people = (
        Enrollment.objects.filter(study=OuterRef("pk"))
        .order_by()
        .values("study")
        .annotate(n=Count("pk"))
        .values("n")
    )
    studies = studies_visible_to(user)
    if state in StudyState.values:
        studies = studies.filter(state=state)
    return (
        studies.select_related("dataset", "owner")
        .annotate(
            labels_accepted=_sum_over_items("n_accepted"),
            labels_wanted=_sum_over_items("overlap"),
            people=Coalesce(Subquery(people), 0),
        )
        .order_by("-created_at", "-pk")
    )


def state_counts(user: User) -> dict[str, int]:
    """How many studies there are in each state, states without one included."""
    rows = studies_visible_to(user).order_by().values_list("state").annotate(n=Count("pk"))
    return dict.fromkeys(StudyState.values, 0) | dict(rows)


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """People who got at least this far; `share` of all who entered, None without anybody."""

    name: str
    people: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Funnel:
    steps: tuple[FunnelStep, ...]
    declined: int
    screened_out: int
    by_stage: dict[str, int]

    @property
    def entered(self) -> int:
        return self.steps[0].people


def study_funnel(study: Study) -> Funnel:
    """How far people got. Steps that the study does not have are left out. One query."""
    rows = (
        Enrollment.objects.filter(study=study)
        .order_by()
        .values_list("stage")
        .annotate(n=Count("pk"), labelled=Count("pk", filter=Q(n_accepted__gt=0)))
    )
    at = dict.fromkeys(Stage.values, 0)
    labelled = 0
    for stage, n, n_labelled in rows:
        at[stage] = n
        labelled += n_labelled
    entered = sum(at.values())
    # Who declined is not counted as having got past any step: they left before the work, wherever it was.
    consented = entered - at[Stage.CONSENT] - at[Stage.DECLINED]
    read = consented - at[Stage.GUIDELINES]
    working = at[Stage.WORK] + at[Stage.DONE]
    steps = [("Entered", entered)]
    if study.consent.strip():
        steps.append(("Agreed to take part", consented))
    if study.guidelines.strip():
        steps.append(("Read the guidelines", read))
    if study.qualification_size:
        steps.append(("Passed the test", working))
    steps += [("Gave a label", labelled), ("Finished", at[Stage.DONE])]
    return Funnel(
        steps=tuple(FunnelStep(name, n, n / entered if entered else None) for name, n in steps),
        declined=at[Stage.DECLINED],
        screened_out=at[Stage.SCREENED_OUT],
        by_stage=at,
    )


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    labels: int


def labels_by_day(study: Study, *, days: int = DAYS_SHOWN) -> tuple[Day, ...]:
    """Labels given on each of the days up to the latest one with any, days without one included. UTC."""
    rows = dict(
        Label.objects.current()
        .filter(study=study)
        .annotate(day=TruncDate("created_at"))
        .order_by("day")
        .values_list("day")
        .annotate(n=Count("pk"))
    )
    if not rows:
        return ()
    last = max(rows)
    first = max(min(rows), last - timedelta(days=days - 1))
    span = (last - first).days + 1
    return tuple(
        Day(day, rows.get(day, 0)) for day in (first + timedelta(days=offset) for offset in range(span))
    )


def invitations_of(study: Study, *, now: datetime | None = None) -> QuerySet[Invitation]:
    """Links of the study, newest first.

    Each with how many `people` came in by it (who declined left their place), and whether it `has_expired` or
    `is_full`.
    """
    people = Count("enrollments", filter=~Q(enrollments__stage=Stage.DECLINED))
    return study.invitations.annotate(
        people=people,
        has_expired=_flag(Q(expires_at__isnull=False, expires_at__lte=now or timezone.now())),
        is_full=_flag(Q(max_annotators__isnull=False, people__gte=F("max_annotators"))),
    ).order_by("-created_at", "-pk")


def _flag(condition: Q) -> Case:
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A dataset in a list, with the number of its items, of items with gold and of labels."""

    dataset: Dataset
    items: int
    gold: int
    labels: int
    studies: int


def dataset_list_for(user: User) -> list[DatasetRow]:
    """Datasets for a list, by name: four queries, whatever their number."""
    datasets = list(datasets_visible_to(user).select_related("owner").order_by("name"))
    pks = [dataset.pk for dataset in datasets]
    items = _count(
        Item.objects.filter(dataset__in=pks)
        .order_by()
        .values_list("dataset")
        .annotate(n=Count("pk"), gold=Count("gold"))
    )
    labels = _count(
        labels_visible_to(user)
        .current()
        .filter(item__dataset__in=pks)
        .order_by()
        .values_list("item__dataset")
        .annotate(n=Count("pk"))
    )
    studies = _count(studies_visible_to(user).order_by().values_list("dataset").annotate(n=Count("pk")))
    return [
        DatasetRow(
            dataset,
            *(items.get(dataset.pk) or (0, 0)),
            *(labels.get(dataset.pk) or (0,)),
            *(studies.get(dataset.pk) or (0,)),
        )
        for dataset in datasets
    ]


def _count(rows: Iterable[tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    return {pk: tuple(counts) for pk, *counts in rows}


@dataclass(frozen=True, slots=True)
class DatasetLabels:
    """Labels that count, whose they are, and how many of these annotators are simulated."""

    labels: int
    annotators: int
    simulated: int


def dataset_labels_for(user: User, dataset: Dataset) -> DatasetLabels:
    """How much of a dataset is labelled, as far as they may see it."""
    row = (
        labels_visible_to(user)
        .current()
        .filter(item__dataset=dataset)
        .aggregate(
            labels=Count("pk"),
            annotators=Count("annotator", distinct=True),
            simulated=Count("annotator", filter=Q(annotator__is_simulated=True), distinct=True),
        )
    )
    return DatasetLabels(**row)


def items_for_reading(
    dataset: Dataset, *, category: str = "", subset: str = "", search: str = ""
) -> QuerySet[Item]:
    """Items for a page of a dataset, in the order of the source, with instruction and responses prefetched.

    `subset` is a path: `Adversarial` finds `Adversarial/Neighbor` too. `search` looks for words in instructions and
    for identifiers.
    """
    items = Item.objects.filter(dataset=dataset)
    if category:
        items = items.filter(instruction__category=category)
    if subset:
        items = items.filter(Q(instruction__subset=subset) | Q(instruction__subset__startswith=f"{subset}/"))
    if search:
        items = items.filter(Q(instruction__text__icontains=search) | Q(external_id__icontains=search))
    return (
        items.select_related("instruction")
        .prefetch_related("item_responses__response")
        .order_by("position", "pk")
    )


def label_tallies(user: User, item_ids: Iterable[int]) -> dict[int, dict[int, int]]:
    """Item id to how often each choice was made, of labels that count and that they may see. One query."""
    tallies: dict[int, dict[int, int]] = {}
    rows = (
        labels_visible_to(user)
        .current()
        .filter(item__in=list(item_ids), choice__isnull=False)
        .order_by()
        .values_list("item", "choice")
        .annotate(n=Count("pk"))
    )
    for item_id, choice, n in rows:
        tallies.setdefault(item_id, {})[choice or 0] = n
    return tallies
