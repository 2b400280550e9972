"""People's way into a study and through its steps. Steps go forward only, and every service may be called
twice.
"""

import secrets
from datetime import datetime
from hashlib import sha256

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.domain.errors import InvitationRefusedError, StageError, StudyNotOpenError
from annotation.domain.stages import stage_after
from annotation.models import (
    Annotator,
    Assignment,
    AssignmentState,
    Enrollment,
    Invitation,
    Stage,
    Study,
    StudyItem,
    StudyState,
)

SOURCE = "invitation"
# Without letters and digits that are mistaken for each other when a code is read aloud or typed.
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
RESUME_TOKEN_BYTES = 24


def code_make() -> str:
    """A completion code: ten characters out of thirty, 49 bits, in two groups."""
    characters = "".join(secrets.choice(CODE_ALPHABET) for _ in range(10))
    return f"TS-{characters[:5]}-{characters[5:]}"


def consent_fingerprint(study: Study) -> str:
    return sha256(study.consent.encode()).hexdigest()


def _stage_after(study: Study, stage: str | None) -> str:
    return stage_after(
        stage,
        has_consent=bool(study.consent.strip()),
        has_guidelines=bool(study.guidelines.strip()),
        has_qualification=study.qualification_size > 0,
    )


def invitation_refusal(invitation: Invitation, *, now: datetime | None = None) -> str | None:
    """Why the link lets nobody in, if so: `revoked`, `expired` or `full`. Who declined has left their
    place.
    """
    now = now or timezone.now()
    if invitation.revoked_at is not None:
        return "revoked"
    if invitation.expires_at is not None and invitation.expires_at <= now:
        return "expired"
    limit = invitation.max_annotators
    if limit is not None and invitation.enrollments.exclude(stage=Stage.DECLINED).count() >= limit:
        return "full"
    return None


def enrollment_join(
    *, invitation: Invitation, visit: str | None = None, now: datetime | None = None
) -> Enrollment:
    """Let a new person in. `visit` names the page from which they came: joining twice from it makes one
    person.

    Raises `InvitationRefusedError`, or `StudyNotOpenError` when the study does not take people now.
    """
    visit = visit or secrets.token_urlsafe(16)
    with transaction.atomic():
        # One at a time for each link: its places are counted, and a double click waits here for the first.
        locked = (
            Invitation.objects.select_for_update(of=("self",), no_key=True)
            .select_related("study")
            .get(pk=invitation.pk)
        )
        known = (
            Enrollment.objects.select_related("study", "annotator")
            .filter(study=locked.study, annotator__source=SOURCE, annotator__external_id=visit)
            .first()
        )
        if known is not None:
            return known
        if reason := invitation_refusal(locked, now=now):
            raise InvitationRefusedError(reason)
        if locked.study.state != StudyState.OPEN:
            raise StudyNotOpenError(locked.study.state)
        return Enrollment.objects.create(
            study=locked.study,
            annotator=Annotator.objects.create(source=SOURCE, external_id=visit),
            invitation=locked,
            stage=_stage_after(locked.study, None),
            resume_token=secrets.token_urlsafe(RESUME_TOKEN_BYTES),
        )


def consent_give(
    *, enrollment: Enrollment, fingerprint: str | None = None, now: datetime | None = None
) -> bool:
    """Record the consent to the text of the study. False, and nothing recorded, when the text has changed
    since
    it was read (`fingerprint` is what the page showed).
    """
    study = enrollment.study
    if fingerprint is not None and fingerprint != consent_fingerprint(study):
        return False
    Enrollment.objects.filter(pk=enrollment.pk, stage=Stage.CONSENT).update(
        stage=_stage_after(study, Stage.CONSENT),
        consented_at=now or timezone.now(),
        consent_sha256=consent_fingerprint(study),
    )
    return True


def enrollment_decline(*, enrollment: Enrollment) -> None:
    """Leave before the work has begun."""
    early = [Stage.CONSENT, Stage.GUIDELINES, Stage.QUALIFICATION]
    Enrollment.objects.filter(pk=enrollment.pk, stage__in=early).update(stage=Stage.DECLINED)


def guidelines_acknowledge(*, enrollment: Enrollment, now: datetime | None = None) -> None:
    Enrollment.objects.filter(pk=enrollment.pk, stage=Stage.GUIDELINES).update(
        stage=_stage_after(enrollment.study, Stage.GUIDELINES),
        guidelines_read_at=now or timezone.now(),
    )


def completion_code_give(*, enrollment: Enrollment) -> None:
    """A code for who had finished without one, now that an answer of theirs has come after all.

    The caller has recorded the answer and read `enrollment` under its lock or that of the assignment.
    """
    if enrollment.stage == Stage.DONE and not enrollment.completion_code:
        code = enrollment.study.completion_code or code_make()
        Enrollment.objects.filter(pk=enrollment.pk, completion_code="").update(completion_code=code)


def enrollment_finish(*, enrollment: Enrollment, now: datetime | None = None) -> Enrollment:
    """End the work of a person, give back what they had open, and make their completion code.

    Finishing twice changes nothing. Raises `StageError` before the work. Returns the enrollment as it is now.
    """
    with transaction.atomic():
        # Assignment and study item before the enrollment: the order of locks of `services.assignments`.
        opened = (
            Assignment.objects.select_for_update(of=("self", "study_item"), no_key=True)
            .select_related("study_item")
            .filter(enrollment=enrollment, state=AssignmentState.OPEN)
            .first()
        )
        locked = (
            Enrollment.objects.select_for_update(of=("self",), no_key=True)
            .select_related("study", "annotator")
            .get(pk=enrollment.pk)
        )
        if locked.stage == Stage.DONE:
            return locked
        if locked.stage != Stage.WORK:
            raise StageError(locked.stage)
        if opened is not None:
            Assignment.objects.filter(pk=opened.pk).update(state=AssignmentState.EXPIRED)
            StudyItem.objects.filter(pk=opened.study_item_id).update(n_open=F("n_open") - 1)
        locked.stage = Stage.DONE
        locked.finished_at = now or timezone.now()
        # Who answered nothing gets no code: one code may stand for pay in the whole study.
        if locked.assignments.filter(state=AssignmentState.SUBMITTED).exists():
            locked.completion_code = locked.study.completion_code or code_make()
        locked.save(update_fields=["stage", "finished_at", "completion_code"])
    return locked
