"""Requests of people for the deletion of their data: asked, taken back, refused with a reason, or carried out."""

from datetime import datetime
from typing import Literal

from django.db import transaction
from django.utils import timezone

from annotation.models import (
    Account,
    ConsentEvent,
    Enrollment,
    ErasureRequest,
    ErasureRequestState,
    User,
)
from annotation.services.audit import audit
from annotation.services.consent import consent_latest, consent_record
from annotation.services.erasure import annotator_erase, enrollment_erase
from annotation.services.erasure_log import REQUEST

Asked = Literal["erased", "asked"]


def erasure_ask(*, enrollment: Enrollment, now: datetime | None = None) -> Asked:
    """A person asks for the deletion of their data in a study; it's done at once where the study says so.

    Asked twice is asked once. Their consent ends with it.
    """
    now = now or timezone.now()
    if enrollment.study.erase_at_once:
        enrollment_erase(enrollment=enrollment, why=REQUEST, now=now)
        return "erased"
    with transaction.atomic():
        # One at a time: a form that is sent twice waits here.
        person = Enrollment.objects.select_for_update(no_key=True).get(pk=enrollment.pk)
        _, is_new = ErasureRequest.objects.get_or_create(
            enrollment=person, state=ErasureRequestState.OPEN, defaults={"asked_at": now}
        )
        given = consent_latest(person)
        if is_new and given is not None:
            consent_record(enrollment=person, event=ConsentEvent.WITHDRAWN, text=given.text, now=now)
    return "asked"


def erasure_ask_back(*, enrollment: Enrollment, now: datetime | None = None) -> bool:
    """The person takes their request back, which gives their consent again. False: there is none that is open."""
    now = now or timezone.now()
    with transaction.atomic():
        Enrollment.objects.select_for_update(no_key=True).get(pk=enrollment.pk)
        asked = ErasureRequest.objects.filter(enrollment=enrollment, state=ErasureRequestState.OPEN)
        if not asked.update(state=ErasureRequestState.WITHDRAWN, decided_at=now):
            return False
        given = consent_latest(enrollment)
        if given is not None:
            consent_record(enrollment=enrollment, event=ConsentEvent.GIVEN, text=given.text, now=now)
    return True


def erasure_refuse(*, enrollment: Enrollment, by: User, answer: str, now: datetime | None = None) -> bool:
    """Refuse a request, with a reason that the person reads. False: there is none that is open."""
    with transaction.atomic():
        asked = ErasureRequest.objects.filter(enrollment=enrollment, state=ErasureRequestState.OPEN)
        done = asked.update(
            state=ErasureRequestState.REFUSED,
            decided_at=now or timezone.now(),
            decided_by=by,
            answer=answer[:300],
        )
        if done:
            audit("annotator.erasure refused", enrollment.study)
    return bool(done)


def account_delete(*, account: Account, now: datetime | None = None) -> Asked:
    """Delete an account, and ask for the deletion in each study that its person took part in.

    ``"erased"``: nothing of the person is left. ``"asked"``: researchers still have to decide in some study.
    """
    now = now or timezone.now()
    annotator = account.annotator
    people = Enrollment.objects.filter(annotator=annotator).select_related("study", "annotator")
    asked = [erasure_ask(enrollment=person, now=now) for person in people.order_by("pk")]
    if "asked" in asked:
        Account.objects.filter(pk=account.pk).delete()
        return "asked"
    annotator_erase(annotator=annotator, why=REQUEST, now=now)
    return "erased"
