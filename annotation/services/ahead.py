"""Items fetched ahead: what a person will be shown next is leased to them already, so that their browser has it.

Each lease counts for its item as one in hand does, is renewed while they work, and goes back when they stop or when it
runs out. The turns of hidden checks and repeats are those of claims, with the same statements, so what is fetched
ahead, and when, doesn't tell which is one.
"""

from datetime import datetime, timedelta

from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from annotation.models import Assignment, AssignmentState, Enrollment, WorkRole
from annotation.services.assignments import assignment_claim
from annotation.services.claims import (
    Overtaken,
    claim_check,
    claim_check_again,
    hidden_next,
    is_deadlock,
    lease_renew,
    place_take,
)
from annotation.services.leases import leases_renew

ATTEMPTS = 5


def leases_fetch(*, enrollment: Enrollment, now: datetime | None = None) -> list[int]:
    """The ids of a person's open leases, all renewed, in the order in which they are shown: the item in hand, then as
    many ahead as the study fetches and there are now.

    `enrollment` is as it is now. Empty where there is nothing for them at the moment. Raises what `assignment_claim`
    does.
    """
    now = now or timezone.now()
    claim_check(enrollment, now)
    if (
        not leases_renew(enrollment=enrollment, now=now)
        and assignment_claim(enrollment=enrollment, now=now) is None
    ):
        return []
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _filled(enrollment, now)
        except (IntegrityError, OperationalError, Overtaken) as error:
            # Another tab fetches too, or this person was suspended: look again. What can't be fetched now isn't needed
            # yet, so nobody waits for it.
            if isinstance(error, OperationalError) and not is_deadlock(error):
                raise
            claim_check_again(enrollment, now)
            if attempt == ATTEMPTS:
                break
    return [lease.pk for lease in _open(enrollment)]


def _open(enrollment: Enrollment) -> list[Assignment]:
    """The open leases, the one in hand first."""
    opened = Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.OPEN)
    return list(opened.order_by("leased_at", "pk").only("ahead", "role", "leased_at"))


def _filled(enrollment: Enrollment, now: datetime) -> list[int]:
    opened = _open(enrollment)
    study = enrollment.study
    while 0 < len(opened) <= study.fetch_ahead:
        n_work = sum(lease.role == WorkRole.WORK for lease in opened)
        cap = study.items_per_annotator
        if cap is not None and enrollment.n_accepted + n_work >= cap:
            break
        # Two tabs that look at the same moment choose the same place, and the table lets one of them have it.
        place = min(set(range(1, study.fetch_ahead + 2)) - {lease.ahead for lease in opened})
        # After those there are, in the order of their times: another tab may have begun later, and have been faster.
        now = max(now, opened[-1].leased_at + timedelta(microseconds=1))
        hidden = hidden_next(enrollment)
        with transaction.atomic():
            lease = lease_renew(enrollment, now, ahead=place) or place_take(
                enrollment, now, hidden=hidden, ahead=place
            )
        if lease is None:
            break
        opened.append(lease)
    return [lease.pk for lease in opened]
