"""What a platform says of its submissions, and what follows here: by file, by API, or message by message.

Who returned a submission or ran out of time has left: what they had open goes back at once, their place is free for
somebody else, and their labels may be set aside. Hearing it twice, or late, changes nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.domain.errors import EntryRefusedError
from annotation.entry import PLATFORMS
from annotation.entry.base import LEFT, Event, Platform, SubmissionRow, SubmissionStatus, is_news, status_key
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    Label,
    PlatformEvent,
    PlatformLink,
    Stage,
    Study,
    StudyItem,
    User,
    WorkRole,
)
from annotation.selectors.entry import statuses_seen
from annotation.services.claims import transaction_retried
from annotation.services.entry import LEFT_FROM, SET_ASIDE, STATUS_AT, enrollment_return
from annotation.services.leases import leases_release
from annotation.services.quality import labels_set_aside
from web.batches import batched

BATCH = 500


class Step(StrEnum):
    """What follows from a row."""

    LEAVE = "leave"
    RETURN = "return"
    NOTE = "note"
    SAME = "same"
    OLDER = "older"
    STRANGER = "stranger"  # never joined here
    OTHER = "other"  # an earlier or later submission of somebody who is here
    MISMATCH = "mismatch"  # the submission came in here under another person's id


@dataclass(frozen=True, slots=True)
class Change:
    """A row of the platform with what it means for somebody here."""

    step: Step
    row: SubmissionRow
    enrollment: Enrollment | None = None
    standing: SubmissionStatus = SubmissionStatus.UNKNOWN
    set_aside: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """Whose labels are set aside."""

    returned: bool = True
    timed_out: bool = False

    def apply_to(self, standing: SubmissionStatus) -> bool:
        return (standing == SubmissionStatus.RETURNED and self.returned) or (
            standing == SubmissionStatus.TIMED_OUT and self.timed_out
        )


@dataclass(slots=True)
class ReconcilePlan:
    """What a file or an answer of the API comes to."""

    changes: list[Change] = field(default_factory=list)
    missing: list[Enrollment] = field(default_factory=list)
    without_code: list[Change] = field(default_factory=list)
    labels: int = 0

    def of(self, *steps: Step) -> list[Change]:
        return [change for change in self.changes if change.step in steps]

    @property
    def counts(self) -> Counter[str]:
        return Counter(str(change.step) for change in self.changes)


def reconcile_plan(
    *,
    link: PlatformLink,
    rows: Sequence[SubmissionRow],
    rules: Rules | None = None,
    at: datetime | None = None,
    exact: bool = False,
) -> ReconcilePlan:
    """What would follow. `at`: when this was true, exactly or at the earliest."""
    platform = PLATFORMS[link.platform]
    rules = rules or Rules()
    here = list(
        Enrollment.objects.filter(platform_link=link)
        .select_related("annotator", "study", "platform_link")
        .order_by("pk")
    )
    by_session = {person.platform_session: person for person in here}
    by_person = {person.annotator.external_id: person for person in here}
    seen = statuses_seen(link, [row.session for row in rows] if len(rows) <= BATCH else None)
    plan = ReconcilePlan()
    for row in rows:
        person = by_session.get(row.session)
        if person is None:
            step = Step.OTHER if row.external_id in by_person else Step.STRANGER
            plan.changes.append(Change(step, row, by_person.get(row.external_id)))
        elif person.annotator.external_id != row.external_id:
            plan.changes.append(Change(Step.MISMATCH, row, person))
        else:
            known = (row.session, status_key(row.status)) in seen
            change = _change(platform, person, row, rules, at=at, exact=exact, seen=known)
            plan.changes.append(change)
            if _lacks_code(platform, change):
                plan.without_code.append(change)
    told = {row.session for row in rows}
    plan.missing = [person for person in here if person.platform_session not in told]
    return plan


def _lacks_code(platform: Platform, change: Change) -> bool:
    """Handed in there, without the code that this place gives at the end."""
    handed_in = change.standing in (
        SubmissionStatus.AWAITING,
        SubmissionStatus.APPROVED,
        SubmissionStatus.REJECTED,
    )
    missing = change.row.code.upper() in ("", platform.without_code or "")
    return bool(platform.without_code) and handed_in and missing


def _change(
    platform: Platform,
    person: Enrollment,
    row: SubmissionRow,
    rules: Rules,
    *,
    at: datetime | None,
    exact: bool,
    seen: bool,
) -> Change:
    standing = platform.standing(row.status)
    news = is_news(
        platform,
        row.status,
        current=person.platform_status,
        at=at,
        current_at=_status_at(person),
        exact=exact,
        seen=seen,
    )
    if not news:
        same = status_key(row.status) == status_key(person.platform_status)
        return Change(Step.SAME if same else Step.OLDER, row, person, standing)
    if standing in LEFT and _leaves(person, standing):
        return Change(Step.LEAVE, row, person, standing, rules.apply_to(standing))
    if standing == SubmissionStatus.ACTIVE and person.stage == Stage.LEFT:
        return Change(Step.RETURN, row, person, standing)
    return Change(Step.NOTE, row, person, standing)


def _leaves(person: Enrollment, standing: SubmissionStatus) -> bool:
    """Who has ended here already has nothing to give back; but who returned finished work is not to be paid for it."""
    if person.stage in (Stage.DECLINED, Stage.SCREENED_OUT):
        return False
    return person.stage not in (Stage.DONE, Stage.LEFT) or standing == SubmissionStatus.RETURNED


def _status_at(person: Enrollment) -> datetime | None:
    text = person.platform_data.get(STATUS_AT)
    return datetime.fromisoformat(text) if text else None


def reconcile_apply(
    *,
    link: PlatformLink,
    rows: Sequence[SubmissionRow],
    channel: str,
    by: User | None = None,
    rules: Rules | None = None,
    at: datetime | None = None,
    exact: bool = False,
    now: datetime | None = None,
) -> ReconcilePlan:
    """Do what `reconcile_plan` says, all of it or nothing. Doing it twice changes nothing."""
    now = now or timezone.now()

    def apply() -> ReconcilePlan:
        # One at a time for each study: what the plan was read from stays as it is, and nobody new comes in.
        Study.objects.select_for_update(no_key=True).get(pk=link.study_id)
        plan = reconcile_plan(link=link, rows=rows, rules=rules, at=at, exact=exact)
        leaving = plan.of(Step.LEAVE)
        if leaving:
            _lock(
                [c.enrollment for c in leaving if c.enrollment],
                [c.enrollment for c in leaving if c.set_aside],
            )
            # They may have gone a step further before they were locked; coming back, they begin where they were.
            plan = reconcile_plan(link=link, rows=rows, rules=rules, at=at, exact=exact)
            leaving = plan.of(Step.LEAVE)
        plan.labels = sum(_leave(change, PLATFORMS[link.platform], by, now) for change in leaving)
        for change in plan.of(Step.RETURN):
            _come_back(change, now)
        told = plan.of(Step.LEAVE, Step.RETURN, Step.NOTE)
        _note_statuses(told, at)
        if channel != "webhook":
            _record(link, told, channel)
        return plan

    # Again when it waited in a circle with somebody's claim.
    return transaction_retried(apply)


def event_apply(*, link: PlatformLink, event: Event, now: datetime | None = None) -> str:
    """Hear a platform's message, once. Returns what followed: a `Step`, `ignored` or `repeated`."""
    row = event.row
    if row is None:
        return "ignored"

    def hear() -> str:
        Study.objects.select_for_update(no_key=True).get(pk=link.study_id)
        if PlatformEvent.objects.filter(link=link, event_id=event.event_id).exists():
            return "repeated"
        # A workspace tells of all of its studies; what is not ours leaves no trace.
        if not Enrollment.objects.filter(platform_link=link, platform_session=row.session).exists():
            return "ignored"
        plan = reconcile_apply(link=link, rows=[row], channel="webhook", at=event.at, exact=True, now=now)
        outcome = str(plan.changes[0].step)
        PlatformEvent.objects.create(
            link=link,
            event_id=event.event_id,
            channel="webhook",
            session=row.session,
            status=status_key(row.status),
            outcome=outcome,
        )
        return outcome

    return transaction_retried(hear)


def _record(link: PlatformLink, told: Sequence[Change], channel: str) -> None:
    """Remember which status each submission has had. A message of a webhook has an id of its own instead."""
    events = (
        PlatformEvent(
            link=link,
            event_id=f"{change.row.session}:{status_key(change.row.status)}",
            channel=channel,
            session=change.row.session,
            status=status_key(change.row.status),
            outcome=str(change.step),
        )
        for change in told
    )
    PlatformEvent.objects.bulk_create(events, batch_size=BATCH, ignore_conflicts=True)


def _lock(leaving: Sequence[Enrollment], set_aside: Sequence[Enrollment | None]) -> None:
    """Rows of many people in one transaction: all assignments, then all study items, then all people, each by key.

    The services that follow lock the same rows person by person, which would be a circle with somebody's submit.
    """
    people = [person.pk for person in leaving]
    if not people:
        return
    touched = Q(state=AssignmentState.SUBMITTED, role=WorkRole.WORK) | Q(
        state__in=[AssignmentState.OPEN, AssignmentState.EXPIRED]
    )
    mine = Assignment.objects.filter(touched, enrollment__in=people)
    list(mine.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    aside = [person.pk for person in set_aside if person is not None]
    items = set(mine.filter(state=AssignmentState.OPEN).values_list("study_item_id", flat=True))
    labels = Label.objects.filter(assignment__enrollment__in=aside, role=WorkRole.WORK)
    items.update(labels.values_list("assignment__study_item_id", flat=True))
    for some in batched(sorted(items), BATCH):
        places = StudyItem.objects.filter(pk__in=some)
        list(places.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    wanted = Q(pk__in=people)
    if aside:
        wanted |= Q(study_id=leaving[0].study_id, cursor__isnull=False)
    locked = Enrollment.objects.filter(wanted).select_for_update(no_key=True).order_by("pk")
    list(locked.values_list("pk", flat=True))


def _leave(change: Change, platform: Platform, by: User | None, now: datetime) -> int:
    """Returns how many labels were set aside."""
    person = change.enrollment
    assert person is not None
    labels = 0
    if change.set_aside:
        words = "Returned" if change.standing == SubmissionStatus.RETURNED else "Timed out"
        labels = labels_set_aside(enrollment=person, by=by, reason=f"{words} on {platform.label}")
    leases_release(enrollment=person)
    data: dict[str, Any] = dict(person.platform_data)
    if person.stage != Stage.LEFT:
        data[LEFT_FROM] = person.stage
    if labels:
        data[SET_ASIDE] = True
    person.platform_data = data
    Enrollment.objects.filter(pk=person.pk).update(
        stage=Stage.LEFT, left_at=person.left_at or now, platform_data=data
    )
    return labels


def _come_back(change: Change, now: datetime) -> None:
    person = change.enrollment
    assert person is not None
    try:
        with transaction.atomic():
            enrollment_return(enrollment=person, now=now)
    except EntryRefusedError:
        return  # their place has gone to somebody else; the status is noted all the same
    person.refresh_from_db(fields=["platform_data"])


def _note_statuses(changes: Sequence[Change], at: datetime | None) -> None:
    for change in changes:
        person = change.enrollment
        assert person is not None
        data = dict(person.platform_data)
        known = _status_at(person)
        latest = max((moment for moment in (known, at) if moment), default=None)
        if latest is not None:
            data[STATUS_AT] = latest.isoformat()
        Enrollment.objects.filter(pk=person.pk).update(
            platform_status=status_key(change.row.status), platform_data=data
        )
