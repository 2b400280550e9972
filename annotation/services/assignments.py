"""Leases: an item is claimed, kept for a while, and answered or given back.

Each service here is one short transaction that works alike on PostgreSQL and SQLite. On PostgreSQL, rows are
locked in the order assignment, study item, enrollment, always, so that no two transactions can wait for each
other; claims and the reaper skip what others have locked. On SQLite, IMMEDIATE transactions run one after the
other. What must never happen (an item given away more often than its overlap, twice to one person, two open
leases of one person) is refused by the constraints of the tables, whatever this code does.

Order of giving out: by position, each item until all of its places are taken, so that items are complete
early and agreement can be read while the study runs. Positions are shuffled when a study opens
(`services.studies`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from annotation.domain.errors import StageError, StudyNotOpenError
from annotation.domain.presentation import shown_order
from annotation.domain.values import to_canonical, validate_value
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    Label,
    Stage,
    Study,
    StudyItem,
    StudyState,
)
from annotation.selectors.shown import parts_count, value_rules
from annotation.selectors.work import own_label
from annotation.services.enrollment import completion_code_give
from annotation.services.labels import label_record

ATTEMPTS = 5
REAP_AT_ONCE = 200
PENDING = (AssignmentState.OPEN, AssignmentState.EXPIRED)
PLACES_TAKEN = F("n_open") + F("n_accepted")


class _Overtaken(Exception):  # noqa: N818  (not an error: the claim is tried again)
    """Another request of the same person changed what was just read."""


def assignment_claim(*, enrollment: Enrollment, now: datetime | None = None) -> Assignment | None:
    """Give the person their next item: the open lease they have (renewed), one of theirs that expired, or a
    new one.

    Returns None when there is nothing for them at the moment. Raises `StageError` before or after the work,
    and `StudyNotOpenError` when the study is paused or closed.
    """
    now = now or timezone.now()
    if enrollment.stage != Stage.WORK:
        raise StageError(enrollment.stage)
    if enrollment.study.state != StudyState.OPEN:
        raise StudyNotOpenError(enrollment.study.state)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _claim(enrollment, now)
        except (IntegrityError, _Overtaken):
            # Two tabs claimed at once and the other was faster: the next look finds what it was given.
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def _claim(enrollment: Enrollment, now: datetime) -> Assignment | None:
    with transaction.atomic():
        # Most claims follow a submit: the person has nothing pending and there are free places.
        place = _take_place(enrollment, nothing_pending=True)
        found = _lease(enrollment, place, now) if place else _own(enrollment, now)
    if found is not None:
        return found
    # Nothing free that nobody is just working on: take back what was left lying, and wait for the others. In
    # transactions of their own, so that nothing is held while waiting.
    leases_reap(study=enrollment.study, now=now)
    with transaction.atomic():
        if own := _own(enrollment, now):
            return own
        place = _take_place(enrollment, wait=True)
        return _lease(enrollment, place, now) if place else None


def _expiry(study: Study, now: datetime) -> datetime:
    return now + timedelta(minutes=study.lease_minutes)


def _own(enrollment: Enrollment, now: datetime) -> Assignment | None:
    """The open lease, renewed; else an expired one, if its place is still free."""
    mine = list(
        Assignment.objects.filter(enrollment=enrollment, state__in=PENDING).order_by("leased_at", "pk")
    )
    expiry = _expiry(enrollment.study, now)
    for assignment in mine:
        if assignment.state == AssignmentState.OPEN:
            still_open = Assignment.objects.filter(pk=assignment.pk, state=AssignmentState.OPEN)
            if not still_open.update(expires_at=expiry):
                raise _Overtaken
            assignment.expires_at = expiry
            assignment.enrollment = enrollment
            return assignment
    if not mine or _cap_reached(enrollment):
        return None
    return _lease_again(enrollment, [assignment.pk for assignment in mine], now, expiry)


def _cap_reached(enrollment: Enrollment) -> bool:
    cap = enrollment.study.items_per_annotator
    return cap is not None and enrollment.n_accepted >= cap


def _lease_again(
    enrollment: Enrollment, pks: list[int], now: datetime, expiry: datetime
) -> Assignment | None:
    """Renew an expired lease in its own row: the shown order stays, and so does the draft."""
    assignment = (
        Assignment.objects.select_for_update(of=("self", "study_item"), no_key=True)
        .select_related("study_item")
        .filter(
            pk__in=pks,
            state=AssignmentState.EXPIRED,
            study_item__overlap__gt=F("study_item__n_open") + F("study_item__n_accepted"),
        )
        .order_by("leased_at", "pk")
        .first()
    )
    if assignment is None:
        return None
    StudyItem.objects.filter(pk=assignment.study_item_id).update(n_open=F("n_open") + 1)
    assignment.state = AssignmentState.OPEN
    assignment.leased_at, assignment.expires_at = now, expiry
    assignment.save(update_fields=["state", "leased_at", "expires_at"])
    assignment.enrollment = enrollment
    return assignment


def _lease(enrollment: Enrollment, place: tuple[int, int], now: datetime) -> Assignment:
    study_item_id, item_id = place
    order = shown_order(enrollment.annotator.public_id, item_id, parts_count(enrollment.study, item_id))
    return Assignment.objects.create(
        study_item_id=study_item_id,
        enrollment=enrollment,
        shown_order=order,
        leased_at=now,
        expires_at=_expiry(enrollment.study, now),
    )


def _take_place(
    enrollment: Enrollment, *, nothing_pending: bool = False, wait: bool = False
) -> tuple[int, int] | None:
    """Take a place of the next free item that the person never had: (study item id, item id).

    Choosing, locking and counting are one statement. The rules that the caller has read a moment ago (stage, state
    of the study, cap) are asked again in it; with `nothing_pending`, so is that no lease of theirs, open or expired,
    comes first. `wait` for rows that others have locked, instead of passing them over.
    """
    may_work = Enrollment.objects.filter(
        Q(study__items_per_annotator=None) | Q(n_accepted__lt=F("study__items_per_annotator")),
        pk=enrollment.pk,
        stage=Stage.WORK,
        study__state=StudyState.OPEN,
    )
    had = Assignment.objects.filter(study_item=OuterRef("pk"), enrollment=enrollment)
    free = (
        StudyItem.objects.select_for_update(skip_locked=not wait, no_key=True)
        .filter(Exists(may_work), ~Exists(had), study_id=enrollment.study_id, overlap__gt=PLACES_TAKEN)
        .order_by("position")
        .values("pk")
    )
    if nothing_pending:
        free = free.filter(~Exists(Assignment.objects.filter(enrollment=enrollment, state__in=PENDING)))
    # The ORM's UPDATE does not say which row it took, so the statement around its SELECT is ours.
    chosen, parameters = free[:1].query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_studyitem SET n_open = n_open + 1 "  # noqa: S608  (no text of others)
            f"WHERE id = ({chosen}) RETURNING id, item_id",
            parameters,
        )
        row = cursor.fetchone()
    return None if row is None else (row[0], row[1])


def leases_reap(*, study: Study | None = None, now: datetime | None = None, limit: int = REAP_AT_ONCE) -> int:
    """Give back the places of leases that have run out; returns how many. Drafts stay with their
    assignments.
    """
    now = now or timezone.now()
    wanted = Q(state=AssignmentState.OPEN, expires_at__lt=now)
    if study is not None:
        wanted &= Q(study_item__study=study)
    with transaction.atomic():
        expired = list(
            Assignment.objects.select_for_update(skip_locked=True, no_key=True, of=("self", "study_item"))
            .select_related("study_item")
            .filter(wanted)
            .order_by("expires_at")[:limit]
        )
        if not expired:
            return 0
        Assignment.objects.filter(pk__in=[assignment.pk for assignment in expired]).update(
            state=AssignmentState.EXPIRED
        )
        _places_give_back(Counter(assignment.study_item_id for assignment in expired))
    return len(expired)


def _places_give_back(places: Counter[int]) -> None:
    for count in set(places.values()):
        items = [pk for pk, times in places.items() if times == count]
        StudyItem.objects.filter(pk__in=items).update(n_open=F("n_open") - count)


Outcome = Literal["accepted", "late", "capped", "closed", "repeated", "different"]


@dataclass(frozen=True, slots=True)
class Submission:
    """What became of a submitted answer.

    `accepted`: counted. Kept as surplus: `late`, all places of the item having been given away; `capped`, the
    person having as many items as one may have; `closed`, the study having ended. `repeated`: the same answer was
    there already. `different`: another answer was there already and stands; it is changed on its own page only.
    """

    label: Label
    outcome: Outcome


def _locked(assignment: Assignment) -> Assignment:
    return (
        Assignment.objects.select_for_update(of=("self", "study_item"), no_key=True)
        .select_related("enrollment__study", "study_item__item")
        .get(pk=assignment.pk, enrollment_id=assignment.enrollment_id)
    )


def assignment_submit(
    *,
    assignment: Assignment,
    shown_value: Mapping[str, Any],
    active_ms: int | None = None,
    wall_ms: int | None = None,
    now: datetime | None = None,
) -> Submission:
    """Record an answer, given in the order in which the responses were shown. Idempotent: one label an
    assignment.

    Raises `LabelValueError` when the value does not fit, and nothing else for what a person did: an answer is
    never lost, only counted or not.
    """
    now = now or timezone.now()
    with transaction.atomic():
        locked = _locked(assignment)
        study, place = locked.enrollment.study, locked.study_item
        checked = validate_value(shown_value, value_rules(study, place.item))
        value = to_canonical(study.kind, checked, locked.shown_order)
        if locked.state == AssignmentState.SUBMITTED:
            standing = own_label(locked)
            assert standing is not None
            return Submission(standing, "repeated" if standing.value == value else "different")
        held = locked.state == AssignmentState.OPEN
        if not held:
            # Their count and their stage are about to be read; who answers a lease does not wait here.
            locked.enrollment = (
                Enrollment.objects.select_for_update(of=("self",), no_key=True)
                .select_related("study")
                .get(pk=locked.enrollment_id)
            )
        outcome = _outcome(locked, held=held)
        label = label_record(
            assignment=locked,
            value=value,
            is_surplus=outcome != "accepted",
            active_ms=active_ms,
            wall_ms=_milliseconds(now - locked.leased_at) if wall_ms is None else wall_ms,
        )
        Assignment.objects.filter(pk=locked.pk).update(
            state=AssignmentState.SUBMITTED, submitted_at=now, draft=None
        )
        _count(locked, held=held, accepted=outcome == "accepted")
        completion_code_give(enrollment=locked.enrollment)
    return Submission(label, outcome)


def _outcome(assignment: Assignment, *, held: bool) -> Outcome:
    """Whether an answer counts. What was leased does; what had been given back, if there is still room for it."""
    study, place = assignment.enrollment.study, assignment.study_item
    if study.state == StudyState.CLOSED:
        return "closed"
    if held:
        return "accepted"
    if place.n_open + place.n_accepted >= place.overlap:
        return "late"
    cap = study.items_per_annotator
    if cap is not None:
        own = Assignment.objects.filter(enrollment=assignment.enrollment, state=AssignmentState.OPEN).count()
        if assignment.enrollment.n_accepted + own >= cap:
            return "capped"
    return "accepted"


def _count(assignment: Assignment, *, held: bool, accepted: bool) -> None:
    if held or accepted:
        StudyItem.objects.filter(pk=assignment.study_item_id).update(
            n_open=F("n_open") - int(held), n_accepted=F("n_accepted") + int(accepted)
        )
    if accepted:
        Enrollment.objects.filter(pk=assignment.enrollment_id).update(n_accepted=F("n_accepted") + 1)


def _milliseconds(duration: timedelta) -> int:
    return max(0, round(duration / timedelta(milliseconds=1)))


def assignment_release(*, assignment: Assignment, reason: str) -> None:
    """Give an item back unanswered; the person is never offered it again. An answered one stays answered."""
    with transaction.atomic():
        locked = _locked(assignment)
        if locked.state not in PENDING:
            return
        if locked.state == AssignmentState.OPEN:
            StudyItem.objects.filter(pk=locked.study_item_id).update(n_open=F("n_open") - 1)
        Assignment.objects.filter(pk=locked.pk).update(
            state=AssignmentState.RELEASED, release_reason=reason[:200]
        )


def draft_save(
    *,
    assignment: Assignment,
    shown_value: Mapping[str, Any] | None,
    active_ms: int | None = None,
    now: datetime | None = None,
) -> bool:
    """Keep what was chosen and not yet submitted; the last write wins, and the lease is renewed by it.

    Returns False when the item is no longer this person's to answer, which makes a draft pointless.
    """
    now = now or timezone.now()
    study, item = assignment.enrollment.study, assignment.study_item.item
    value = None
    if shown_value is not None:
        checked = validate_value(shown_value, value_rules(study, item))
        value = to_canonical(study.kind, checked, assignment.shown_order)
    return bool(
        Assignment.objects.filter(pk=assignment.pk, state__in=PENDING).update(
            draft={"value": value, "active_ms": active_ms}, expires_at=_expiry(study, now)
        )
    )
