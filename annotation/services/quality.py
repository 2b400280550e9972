"""What is done about people and items: suspend and restore, set labels aside and take them back, messages, reports.

Nothing that was said is deleted. A label set aside does not count and its place is free again; taken back, it
counts if the place is still free, and is surplus if somebody else has filled it meanwhile.

Rows are locked in the order assignments, study items, enrollments, each by primary key, so that two of these
services, or one of them and a submit, never wait for each other in a circle. A claim can, which is why they begin
again when the database ends such a wait.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models import (
    Action,
    Assignment,
    AssignmentState,
    Enrollment,
    Intervention,
    ItemReport,
    Label,
    StudyItem,
    User,
    WorkRole,
)
from annotation.services.audit import audit
from annotation.services.claims import Overtaken, transaction_retried
from annotation.services.leases import leases_release
from annotation.services.places import AT_ONCE, enrollments_locked, places_change, places_locked
from web.batches import batched

KEPT, WITHDRAWN = "kept", "withdrawn"


def enrollment_suspend(
    *,
    enrollment: Enrollment,
    by: User | None,
    reason: str,
    text: str = "",
    set_aside: bool = False,
    since: datetime | None = None,
    nonce: str = "",
    now: datetime | None = None,
) -> bool:
    """Stop a person: what they have open goes back at once, and they are given nothing more.

    `set_aside` their labels too, all of them or those `since` a moment. `by` is None for a rule of the study.
    Returns whether anything was done: not for who is suspended already, nor for a form sent twice.
    """
    now = now or timezone.now()
    held = False

    def suspend() -> bool:
        rows = _labels_locked(enrollment, since=since) if set_aside else {}
        leases_release(enrollment=enrollment)
        person = enrollments_locked(enrollment, cursors=bool(rows))
        if _done(person, nonce) or (person.suspended_at is not None and not rows and not held):
            return False
        _nothing_came_between(person, rows if set_aside else None, since)
        n_labels = _set_aside(person, rows) if rows else 0
        Enrollment.objects.filter(pk=person.pk).update(
            suspended_at=Coalesce("suspended_at", now), suspended_because=reason[:200]
        )
        _note(person, Action.SUSPEND, by, reason, text=text, n_labels=n_labels, nonce=nonce)
        return True

    try:
        return transaction_retried(suspend)
    except Overtaken:
        # They answer faster than can be looked at: nothing more is given or counted from here on, so now it can.
        mine = Enrollment.objects.filter(pk=enrollment.pk, suspended_at=None)
        held = bool(mine.update(suspended_at=now, suspended_because=reason[:200]))
        return transaction_retried(suspend)


def enrollment_restore(
    *,
    enrollment: Enrollment,
    by: User | None,
    reason: str = "",
    text: str = "",
    take_back: bool = False,
    nonce: str = "",
) -> bool:
    """Let a suspended person go on; checks before this moment are not held against them again.

    `take_back` what was set aside too. Returns whether anything was done.
    """

    def restore() -> bool:
        rows = _labels_locked(enrollment, set_aside=True) if take_back else {}
        person = enrollments_locked(enrollment)
        if _done(person, nonce) or person.suspended_at is None:
            return False
        n_labels = _take_back(person, rows) if rows else 0
        Enrollment.objects.filter(pk=person.pk).update(
            suspended_at=None, suspended_because="", warned_at=None
        )
        _note(person, Action.RESTORE, by, reason, text=text, n_labels=n_labels, nonce=nonce)
        return True

    return transaction_retried(restore)


def labels_set_aside(
    *,
    enrollment: Enrollment,
    by: User | None,
    reason: str,
    since: datetime | None = None,
    nonce: str = "",
) -> int:
    """Let a person's labels (given `since` a moment) not count, and open their places to others. How many."""

    def put_aside() -> int:
        rows = _labels_locked(enrollment, since=since)
        person = enrollments_locked(enrollment, cursors=bool(rows))
        if not rows or _done(person, nonce):
            return 0
        n_labels = _set_aside(person, rows)
        _note(person, Action.SET_ASIDE, by, reason, n_labels=n_labels, nonce=nonce)
        return n_labels

    return transaction_retried(put_aside)


def labels_take_back(*, enrollment: Enrollment, by: User | None, reason: str = "", nonce: str = "") -> int:
    """Take back what was set aside: it counts where its place is still free, and is surplus elsewhere.

    Returns how many count again.
    """

    def take() -> int:
        rows = _labels_locked(enrollment, set_aside=True)
        person = enrollments_locked(enrollment)
        if not rows or _done(person, nonce):
            return 0
        n_labels = _take_back(person, rows)
        _note(person, Action.TAKE_BACK, by, reason, n_labels=n_labels, nonce=nonce)
        return n_labels

    return transaction_retried(take)


def _labels_locked(
    enrollment: Enrollment, *, set_aside: bool = False, since: datetime | None = None
) -> dict[int, int]:
    """Assignment id to study item id of the person's labels that count (or are set aside), all of them locked.

    With the assignments locked, nobody changes an answer; with the study items, nobody takes a place.
    """
    touched = Q(state=AssignmentState.SUBMITTED, role=WorkRole.WORK) | Q(state=AssignmentState.OPEN)
    mine = Assignment.objects.filter(touched, enrollment=enrollment)
    list(mine.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    rows = _labels_of(enrollment, set_aside=set_aside, since=since)
    opened = mine.filter(state=AssignmentState.OPEN).values_list("study_item_id", flat=True)
    places_locked(sorted({*rows.values(), *opened}))
    return rows


def _labels_of(
    enrollment: Enrollment, *, set_aside: bool = False, since: datetime | None = None
) -> dict[int, int]:
    labels = Label.objects.standing().filter(assignment__enrollment=enrollment, role=WorkRole.WORK)
    labels = labels.filter(is_set_aside=True) if set_aside else labels.current()
    if since is not None:
        labels = labels.filter(created_at__gte=since)
    return dict(labels.values_list("assignment_id", "assignment__study_item_id"))


def _nothing_came_between(person: Enrollment, rows: dict[int, int] | None, since: datetime | None) -> None:
    """Begin again if the person was given or said something before they were locked, and after their rows were."""
    opened = Assignment.objects.filter(enrollment=person, state=AssignmentState.OPEN)
    if opened.exists() or (rows is not None and _labels_of(person, since=since) != rows):
        raise Overtaken


def _set_aside(person: Enrollment, rows: dict[int, int]) -> int:
    for some in batched(list(rows), AT_ONCE):
        # With what they superseded: an answer is set aside as a whole.
        Label.objects.filter(assignment__in=some).update(is_set_aside=True)
    places_change(list(rows.values()), -1)
    Enrollment.objects.filter(pk=person.pk).update(n_accepted=F("n_accepted") - len(rows))
    Enrollment.objects.filter(study_id=person.study_id, cursor__isnull=False).update(cursor=None)
    return len(rows)


def _take_back(person: Enrollment, rows: dict[int, int]) -> int:
    places: set[int] = set()
    free = Q(withdrawn_at__isnull=False) | Q(overlap__gt=F("n_open") + F("n_accepted"))
    for some in batched(list(rows.values()), AT_ONCE):
        places.update(StudyItem.objects.filter(free, pk__in=some).values_list("pk", flat=True))
    returning = [assignment for assignment, place in rows.items() if place in places]
    refilled = [assignment for assignment, place in rows.items() if place not in places]
    for some in batched(returning, AT_ONCE):
        Label.objects.filter(assignment__in=some).update(is_set_aside=False)
    for some in batched(refilled, AT_ONCE):
        Label.objects.filter(assignment__in=some).update(is_set_aside=False, is_surplus=True)
    places_change([rows[assignment] for assignment in returning], +1)
    Enrollment.objects.filter(pk=person.pk).update(n_accepted=F("n_accepted") + len(returning))
    return len(returning)


def _done(person: Enrollment, nonce: str) -> bool:
    """Whether this form has acted before. The person is locked."""
    return bool(nonce) and Intervention.objects.filter(enrollment=person, nonce=nonce).exists()


def _note(
    person: Enrollment,
    action: Action,
    by: User | None,
    reason: str,
    *,
    text: str = "",
    n_labels: int = 0,
    nonce: str = "",
) -> Intervention:
    return Intervention.objects.create(
        enrollment=person,
        action=action,
        by=by,
        reason=reason[:300],
        text=text,
        n_labels=n_labels,
        nonce=nonce,
    )


def enrollment_warn(
    *, enrollment: Enrollment, reason: str, text: str, by: User | None = None, now: datetime | None = None
) -> Intervention:
    """Tell a person that their work is in doubt, and remember when."""
    with transaction.atomic():
        Enrollment.objects.filter(pk=enrollment.pk).update(warned_at=now or timezone.now())
        return _note(enrollment, Action.WARN, by, reason, text=text)


def message_send(
    *, enrollment: Enrollment, by: User | None, text: str, reason: str = "", nonce: str = ""
) -> bool:
    """Show a text to a person until they have read it. False for a form sent twice."""
    with transaction.atomic():
        person = enrollments_locked(enrollment)
        if _done(person, nonce):
            return False
        _note(person, Action.MESSAGE, by, reason, text=text, nonce=nonce)
    return True


def message_read(*, enrollment: Enrollment, message_id: int, now: datetime | None = None) -> bool:
    """The person has read a text that was for them. False when it is not theirs or was read before."""
    unread = Intervention.objects.filter(pk=message_id, enrollment=enrollment, read_at=None).exclude(text="")
    return bool(unread.update(read_at=now or timezone.now()))


def item_report(*, assignment: Assignment, reason: str, note: str = "") -> ItemReport:
    """A person says that an item is broken: once an item, and the first word stands."""
    report, _ = ItemReport.objects.get_or_create(
        study_item_id=assignment.study_item_id,
        enrollment_id=assignment.enrollment_id,
        defaults={"reason": reason[:20], "note": note[:500]},
    )
    return report


def item_report_resolve(*, report: ItemReport, withdraw: bool, now: datetime | None = None) -> int:
    """Decide about a reported item, for all who reported it: take it out of the study, or keep it.

    What was said of a withdrawn item stays, who has it open may still answer, and nobody else is given it.
    Returns how many reports that settled: none when somebody has decided before.
    """
    now = now or timezone.now()
    with transaction.atomic():
        StudyItem.objects.select_for_update(no_key=True).get(pk=report.study_item_id)
        settled = ItemReport.objects.filter(study_item_id=report.study_item_id, resolved_at=None).update(
            resolved_at=now, resolution=WITHDRAWN if withdraw else KEPT
        )
        if settled and withdraw:
            StudyItem.objects.filter(pk=report.study_item_id).update(
                withdrawn_at=Coalesce("withdrawn_at", now), overlap=F("n_open") + F("n_accepted")
            )
        if settled:
            audit("item.withdrawn" if withdraw else "item.kept", report.study_item)
    return settled
