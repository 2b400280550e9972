"""Leases end: those that have run out, and those of a person who leaves or is suspended, give their places back."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from django.db.models import F, Q
from django.utils import timezone

from annotation.models import Assignment, AssignmentState, Enrollment, Study, StudyItem, WorkRole
from annotation.services.claims import expiry, transaction_retried

REAP_AT_ONCE = 200


def leases_reap(*, study: Study | None = None, now: datetime | None = None, limit: int = REAP_AT_ONCE) -> int:
    """Give back the places of leases that have run out; returns how many. Drafts stay with their
    assignments.
    """
    now = now or timezone.now()
    wanted = Q(state=AssignmentState.OPEN, expires_at__lt=now)
    if study is not None:
        wanted &= Q(study_item__study=study)
    return _leases_expire(wanted, limit=limit, skip_locked=True)


def leases_release(*, enrollment: Enrollment) -> int:
    """Give back what a person has open, at once: they have left. Returns how many leases that were.

    It is theirs again when they come back, drafts included, if its place is still free then.
    """
    return _leases_expire(Q(state=AssignmentState.OPEN, enrollment=enrollment), limit=REAP_AT_ONCE)


def leases_release_of(*, enrollments: Iterable[Enrollment]) -> int:
    """The same for all places of a person, who has signed out."""
    wanted = Q(state=AssignmentState.OPEN, enrollment__in=[enrollment.pk for enrollment in enrollments])
    return _leases_expire(wanted, limit=REAP_AT_ONCE)


def leases_renew(*, enrollment: Enrollment, now: datetime) -> int:
    """Keep all that a person has open for the study's time from now on, since they are at work. Returns how much."""
    opened = Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.OPEN)
    return opened.update(expires_at=expiry(enrollment.study, now))


def _leases_expire(wanted: Q, *, limit: int, skip_locked: bool = False) -> int:
    # Who waits for places takes them in the order of these: two people who leave would else hold what the other one
    # wants. A claim that waits goes by another order still, so this may have to begin again.
    order = ("expires_at",) if skip_locked else ("study_item_id", "pk")

    def expire() -> int:
        expired = list(
            Assignment.objects.select_for_update(
                skip_locked=skip_locked, no_key=True, of=("self", "study_item")
            )
            .select_related("study_item")
            .filter(wanted)
            .order_by(*order)[:limit]
        )
        if not expired:
            return 0
        Assignment.objects.filter(pk__in=[assignment.pk for assignment in expired]).update(
            state=AssignmentState.EXPIRED
        )
        _places_give_back(Counter(lease.study_item_id for lease in expired if lease.role == WorkRole.WORK))
        return len(expired)

    return transaction_retried(expire)


def _places_give_back(places: Counter[int]) -> None:
    for count in set(places.values()):
        items = [pk for pk, times in places.items() if times == count]
        StudyItem.objects.filter(pk__in=items).update(n_open=F("n_open") - count)
