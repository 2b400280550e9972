"""How far a study is, how fast it goes, and where its people are."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, F, Min, Q, Sum
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from annotation.models import Enrollment, ItemRole, Label, Stage, Study, StudyItem, StudyState
from annotation.selectors.costly import counted, study_key
from annotation.selectors.slices import work_size

DAYS_SHOWN = 30
PACE_HOURS = 24
# Before so many labels and so much time, a pace says nothing.
LEAST_LABELS = 5
LEAST_HOURS = 0.25
LONGEST_DAYS = 3_650


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Counts of a study; `labels` of `wanted`, `complete` of `items` with all of their labels.

    Items that were withdrawn want no more labels than they have.
    """

    items: int
    wanted: int
    labels: int
    complete: int
    open_leases: int
    checks: int = 0
    withdrawn: int = 0
    is_even: bool = True
    """Before it opens: every item wants the same number of labels."""

    @property
    def share(self) -> float | None:
        return self.labels / self.wanted if self.wanted else None


def study_progress(study: Study) -> StudyProgress:
    """How far the study is. Before it opens, what it would come to: the items of its work, times overlap."""
    if study.state == StudyState.DRAFT:
        return _draft_progress(study)
    return counted(study_key(study, "progress"), lambda: _open_progress(study))


def _draft_progress(study: Study) -> StudyProgress:
    chosen = StudyItem.objects.filter(study=study, role=ItemRole.WORK)
    row = chosen.aggregate(items=Count("pk"), wanted=Coalesce(Sum("overlap"), 0))
    if row["items"]:
        even = row["wanted"] == row["items"] * study.overlap
        return StudyProgress(row["items"], row["wanted"], 0, 0, 0, is_even=even)
    items = work_size(study)
    return StudyProgress(items, items * study.overlap, 0, 0, 0)


def _open_progress(study: Study) -> StudyProgress:
    work, there = Q(role=ItemRole.WORK), Q(withdrawn_at=None)
    row = StudyItem.objects.filter(study=study).aggregate(
        items=Count("pk", filter=work & there),
        wanted=Coalesce(Sum("overlap", filter=work & there), 0)
        + Coalesce(Sum("n_accepted", filter=work & ~there), 0),
        labels=Coalesce(Sum("n_accepted"), 0),
        complete=Count("pk", filter=work & there & Q(n_accepted__gte=F("overlap"))),
        open_leases=Coalesce(Sum("n_open"), 0),
        checks=Count("pk", filter=~work),
        withdrawn=Count("pk", filter=work & ~there),
    )
    return StudyProgress(**row)


def items_are_chosen(study: Study) -> bool:
    """Whether the items of a draft were chosen one by one, rather than by its rules."""
    return study.state == StudyState.DRAFT and StudyItem.objects.filter(study=study).exists()


@dataclass(frozen=True, slots=True)
class LabelPace:
    """Labels of the last 24 hours, labels an hour since the first one, and when the study is done at this pace.

    `done_at` is None where it is not known, and `reason` says why.
    """

    recent: int
    per_hour: float | None
    done_at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class Activity:
    """When the labels of a study came: the first one, how many in the last 24 hours, and how many each day (UTC)."""

    first: datetime | None
    recent: int
    by_day: Mapping[date, int]


def study_activity(study: Study, *, now: datetime | None = None) -> Activity:
    """When its labels came; one query at most."""
    return counted(study_key(study, "activity"), lambda: _activity(study, now or timezone.now()))


def study_pace(
    study: Study, progress: StudyProgress, *, activity: Activity | None = None, now: datetime | None = None
) -> LabelPace:
    """How fast labels come, and what follows for the end; asks for the `activity` where it isn't given."""
    now = now or timezone.now()
    activity = activity or study_activity(study, now=now)
    first, recent = activity.first, activity.recent
    if first is None:
        return LabelPace(0, None, None, "No labels yet.")
    hours = (now - first).total_seconds() / 3600
    if study.state != StudyState.OPEN:
        per_hour = progress.labels / hours if hours >= LEAST_HOURS else None
        return LabelPace(recent, per_hour, None, "The study is not open.")
    per_hour = recent / min(hours, PACE_HOURS) if hours >= LEAST_HOURS else None
    left = progress.wanted - progress.labels
    if left <= 0:
        return LabelPace(recent, per_hour, None, "All labels are complete.")
    if per_hour is None or (recent < LEAST_LABELS and hours < PACE_HOURS):
        return LabelPace(recent, None, None, "Too early to estimate the end.")
    if not recent:
        return LabelPace(recent, per_hour, None, "No labels in the last 24 hours.")
    if left / per_hour > 24 * LONGEST_DAYS:
        return LabelPace(recent, per_hour, None, "At this pace it will take more than ten years.")
    return LabelPace(recent, per_hour, now + timedelta(hours=left / per_hour), "")


def _activity(study: Study, now: datetime) -> Activity:
    rows = (
        Label.objects.current()
        .filter(study=study)
        .annotate(day=TruncDate("created_at"))
        .order_by("day")
        .values_list("day")
        .annotate(
            n=Count("pk"),
            first=Min("created_at"),
            recent=Count("pk", filter=Q(created_at__gt=now - timedelta(hours=PACE_HOURS))),
        )
    )
    found = list(rows)
    return Activity(
        first=found[0][2] if found else None,
        recent=sum(recent for *_, recent in found),
        by_day={day: n for day, n, *_ in found},
    )


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """People who got at least this far; `share` of all who entered, None without anybody."""

    name: str
    people: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """Steps in order, and those who went: declined, not eligible, failed the test, left a platform, suspended."""

    steps: tuple[FunnelStep, ...]
    declined: int
    ineligible: int
    failed: int
    left: int
    suspended: int
    by_stage: dict[str, int]

    @property
    def entered(self) -> int:
        return self.steps[0].people

    @property
    def gone(self) -> list[str]:
        """Who went, in words."""
        return [
            f"{n:,} {words}"
            for n, words in (
                (self.ineligible, "not eligible"),
                (self.failed, "did not pass the test"),
                (self.declined, "declined"),
                (self.left, "returned or timed out"),
                (self.suspended, "suspended"),
            )
            if n
        ]


def study_funnel(study: Study) -> Funnel:
    """How far people got. Steps that the study does not have are left out. One query.

    Who left on a platform counts as having got as far as can be told: to the work if they labelled, else no further
    than the entry.
    """
    at = dict.fromkeys(Stage.values, 0)
    labelled = ineligible = suspended = left_at_work = 0
    rows = (
        Enrollment.objects.filter(study=study)
        .order_by()
        .values_list("stage", "screened_out_by")
        .annotate(
            n=Count("pk"),
            labelled=Count("pk", filter=Q(n_accepted__gt=0)),
            suspended=Count("pk", filter=Q(suspended_at__isnull=False)),
        )
    )
    for stage, by, n, n_labelled, n_suspended in rows:
        at[stage] += n
        labelled += n_labelled
        suspended += n_suspended
        ineligible += n if by == Stage.ELIGIBILITY and stage == Stage.SCREENED_OUT else 0
        left_at_work += n_labelled if stage == Stage.LEFT else 0
    entered = sum(at.values())
    failed = at[Stage.SCREENED_OUT] - ineligible
    # Past a step: who stands behind it. Who declined has passed none, wherever they did it.
    working = at[Stage.WORK] + at[Stage.DONE] + left_at_work
    trained = working + at[Stage.QUALIFICATION] + failed
    read = trained + at[Stage.TRAINING]
    eligible = read + at[Stage.GUIDELINES]
    consented = eligible + at[Stage.ELIGIBILITY] + ineligible
    steps = [
        ("Entered", entered, True),
        ("Agreed to take part", consented, bool(study.consent.strip())),
        ("Eligible", eligible, bool(study.eligibility)),
        ("Read the guidelines", read, bool(study.guidelines.strip())),
        ("Finished the training", trained, study.training_size > 0),
        ("Passed the test", working, study.qualification_from_id is not None or study.qualification_size > 0),
        ("Submitted a label", labelled, True),
        ("Finished", at[Stage.DONE], True),
    ]
    return Funnel(
        steps=tuple(FunnelStep(name, n, n / entered if entered else None) for name, n, has in steps if has),
        declined=at[Stage.DECLINED],
        ineligible=ineligible,
        failed=failed,
        left=at[Stage.LEFT],
        suspended=suspended,
        by_stage=at,
    )


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    labels: int


def labels_by_day(activity: Activity, *, days: int = DAYS_SHOWN) -> tuple[Day, ...]:
    """Labels given on each of the days up to the latest one with any, days without one included. UTC."""
    rows = activity.by_day
    if not rows:
        return ()
    last = max(rows)
    first = max(min(rows), last - timedelta(days=days - 1))
    span = (last - first).days + 1
    return tuple(
        Day(day, rows.get(day, 0)) for day in (first + timedelta(days=offset) for offset in range(span))
    )
