"""What the people of a study have earned, and whether it is enough."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from statistics import median

from django.db.models import BigIntegerField, Case, Count, F, Q, Sum, Value, When
from django.db.models.functions import Coalesce

from annotation.domain.pay import ZERO, Earned, work_pay
from annotation.models import (
    Bonus,
    Enrollment,
    Label,
    PayBasis,
    QualificationAttempt,
    Stage,
    Study,
)

# With fewer answers, an hourly rate says more of one coffee than of the pay.
FEW_ANSWERS = 5
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class PayRow:
    """A person in the pay report. `below_floor` is None where too little is known to say."""

    enrollment: Enrollment
    earned: Earned
    below_floor: bool | None


@dataclass(frozen=True, slots=True)
class PayReport:
    rows: tuple[PayRow, ...]
    total: Earned
    median_hourly: Decimal | None
    below_floor: int

    @property
    def people(self) -> int:
        return len(self.rows)


def earned_by(enrollment: Enrollment) -> Earned:
    """What one person has earned. Three queries, and one more where the test is paid."""
    study = enrollment.study
    found = _earned(study, [enrollment])
    return found[enrollment.pk]


def work_earned_before(enrollment: Enrollment, moment: datetime) -> Earned:
    """What the answers that a person gave before a moment have earned by now, without test and bonuses. Two queries."""
    found = _work(enrollment.study, [enrollment.pk], before=moment)
    return _paid(enrollment.study, *found.get(enrollment.pk, (0, 0, 0)))


def pay_report(study: Study) -> PayReport:
    """Everybody who has something to be paid, most first. Five queries at most, whatever the number of people."""
    enrollments = list(Enrollment.objects.filter(study=study).select_related("annotator").order_by("pk"))
    for enrollment in enrollments:
        enrollment.study = study
    earned = _earned(study, enrollments)
    rows = [
        PayRow(enrollment, earned[enrollment.pk], _below(study, earned[enrollment.pk]))
        for enrollment in enrollments
        if earned[enrollment.pk].answers or earned[enrollment.pk].total
    ]
    rows.sort(key=lambda row: (-row.earned.total, row.enrollment.pseudonym))
    rates = [row.earned.hourly for row in rows if row.below_floor is not None or _enough(row.earned)]
    known = [rate for rate in rates if rate is not None]
    return PayReport(
        rows=tuple(rows),
        total=_total(row.earned for row in rows),
        median_hourly=median(known) if known else None,
        below_floor=sum(1 for row in rows if row.below_floor),
    )


def bonuses_of(study: Study) -> list[Bonus]:
    """The bonuses of a study, the latest first."""
    return list(
        Bonus.objects.filter(enrollment__study=study)
        .select_related("enrollment__annotator", "by")
        .order_by("-created_at", "-pk")
    )


def _enough(earned: Earned) -> bool:
    return earned.n_timed >= FEW_ANSWERS


def _below(study: Study, earned: Earned) -> bool | None:
    rate = earned.hourly
    if study.pay_floor_per_hour is None or rate is None or not _enough(earned):
        return None
    return rate < study.pay_floor_per_hour


def _total(parts: Iterable[Earned]) -> Earned:
    known = list(parts)
    return Earned(
        answers=sum(part.answers for part in known),
        active_ms=sum(part.active_ms for part in known),
        n_timed=sum(part.n_timed for part in known),
        work=sum((part.work for part in known), ZERO),
        test=sum((part.test for part in known), ZERO),
        bonus=sum((part.bonus for part in known), ZERO),
    )


def _earned(study: Study, enrollments: list[Enrollment]) -> dict[int, Earned]:
    one = [enrollment.pk for enrollment in enrollments] if len(enrollments) == 1 else None
    work = _work(study, one)
    tested = _tested(study, one)
    bonus = _bonus(study, one)
    return {
        enrollment.pk: replace(
            _paid(study, *work.get(enrollment.pk, (0, 0, 0))),
            test=study.pay_for_test if enrollment.pk in tested else ZERO,
            bonus=bonus.get(enrollment.pk, ZERO),
        )
        for enrollment in enrollments
    }


def _paid(study: Study, answers: int, active_ms: int, n_timed: int) -> Earned:
    """What this much work of one person is worth in the study."""
    work = work_pay(
        answers=answers,
        active_ms=active_ms,
        per_item=study.pay_per_item,
        per_hour=study.pay_per_hour,
        by_time=study.pay_basis == PayBasis.TIME,
    )
    return Earned(answers=answers, active_ms=active_ms, n_timed=n_timed, work=work, test=ZERO, bonus=ZERO)


def _work(
    study: Study, one: list[int] | None, *, before: datetime | None = None
) -> dict[int, tuple[int, int, int]]:
    """Enrollment to (answers, paid active time, answers whose time is known), of answers first given `before` a moment
    if there is one. Two queries.

    A changed answer is one answer, with the time of all of its versions: each says how long that sitting took. An
    item is paid for no longer than the study keeps it for a person: the time comes from their browser.
    """
    longest = study.lease_minutes * MINUTE_MS
    paid = Case(
        When(active_ms__gt=longest, then=Value(longest)),
        default=F("active_ms"),
        output_field=BigIntegerField(),
    )
    labels = Label.objects.filter(study=study, assignment__isnull=False)
    if one is not None:
        labels = labels.filter(assignment__enrollment__in=one)
    if before is not None:
        labels = labels.filter(assignment__submitted_at__lt=before)
    first = (
        labels.filter(supersedes=None)
        .order_by()
        .values_list("assignment__enrollment")
        .annotate(n=Count("pk"), ms=Coalesce(Sum(paid), 0), timed=Count("active_ms"))
    )
    work = {pk: (n, ms, timed) for pk, n, ms, timed in first}
    # Few answers are changed; of these the versions are added up here.
    changed = labels.filter(supersedes__isnull=False).values("assignment")
    versions: dict[tuple[int, int], list[int | None]] = {}
    for person, assignment, ms in (
        labels.filter(assignment__in=changed)
        .order_by("pk")
        .values_list("assignment__enrollment", "assignment", "active_ms")
    ):
        versions.setdefault((person, assignment), []).append(ms)
    for (person, _), times in versions.items():
        n, ms, timed = work[person]
        known = [time for time in times if time is not None]
        first_ms = min(times[0] or 0, longest)
        more = min(sum(known), longest) - first_ms
        work[person] = (n, ms + more, timed + (bool(known) - (times[0] is not None)))
    return work


def _tested(study: Study, one: list[int] | None) -> set[int]:
    """Who finished an attempt at the test here, passed or not."""
    if not study.pay_for_test:
        return set()
    attempts = QualificationAttempt.objects.filter(enrollment__study=study, finished_at__isnull=False)
    if one is not None:
        attempts = attempts.filter(enrollment__in=one)
    return set(attempts.values_list("enrollment_id", flat=True))


def _bonus(study: Study, one: list[int] | None) -> dict[int, Decimal]:
    bonuses = Bonus.objects.filter(enrollment__study=study)
    if one is not None:
        bonuses = bonuses.filter(enrollment__in=one)
    return dict(bonuses.order_by().values_list("enrollment").annotate(total=Sum("amount")))


def still_at_work(study: Study) -> int:
    """People whose pay may still grow."""
    return Enrollment.objects.filter(~Q(stage__in=_ENDED), study=study, suspended_at=None).count()


_ENDED = (Stage.DONE, Stage.DECLINED, Stage.SCREENED_OUT, Stage.LEFT)
