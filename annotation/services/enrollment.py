"""People's way into a study and through its steps. Steps go forward only, and every service may be called
twice.
"""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.domain.errors import EntryRefusedError, StageError
from annotation.domain.stages import stage_after
from annotation.models import (
    WITHOUT_A_PLACE,
    Annotator,
    Assignment,
    AssignmentState,
    ConsentEvent,
    Enrollment,
    Invitation,
    PlatformLink,
    Stage,
    Study,
    StudyItem,
    StudyState,
    WorkRole,
)
from annotation.selectors.steps import attempts_get, steps_of
from annotation.services.claims import Overtaken, transaction_retried
from annotation.services.consent import consent_fingerprint, consent_record, consent_text_keep

SOURCE = "invitation"
# Without letters and digits that are mistaken for each other when a code is read aloud or typed.
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
RESUME_TOKEN_BYTES = 24
# What is set when somebody begins.
BEGUN = ["stage", "invitation", "platform_link", "platform_session", "platform_data", "device"]


def code_make() -> str:
    """A completion code: ten characters out of thirty, 49 bits, in two groups."""
    characters = "".join(secrets.choice(CODE_ALPHABET) for _ in range(10))
    return f"TS-{characters[:5]}-{characters[5:]}"


def stage_next(enrollment: Enrollment, *, now: datetime) -> str:
    """The step after the one at which the person is. A test that they have passed elsewhere is not taken again."""
    return _stage_after(enrollment.study, enrollment.annotator, enrollment.stage, now)


def _stage_after(study: Study, annotator: Annotator, stage: str | None, now: datetime) -> str:
    steps = steps_of(study)
    after = stage_after(stage, steps)
    if after == Stage.QUALIFICATION and attempts_get(annotator, study, now=now).passed:
        return stage_after(after, steps)
    return after


def entry_refusal(
    *, study: Study, device: str = "", annotator: Annotator | None = None, now: datetime | None = None
) -> str | None:
    """Why the study takes nobody new, or not from this browser: `draft`, `paused`, `closed`, `full`, `device`.

    Who declined, was screened out, returned the work or timed out has no place; but a browser from which somebody
    has answered stays theirs.
    """
    now = now or timezone.now()
    if study.state != StudyState.OPEN:
        return study.state
    if study.closes_at is not None and study.closes_at <= now:
        return StudyState.CLOSED
    others = study.enrollments.exclude(stage=Stage.DECLINED).exclude(annotator=annotator)
    if study.one_per_device and device and others.filter(device=device).exists():
        return "device"
    limit = study.max_annotators
    if limit is not None and others.exclude(stage__in=WITHOUT_A_PLACE).count() >= limit:
        return "full"
    return None


def enrollment_start(
    *,
    study: Study,
    annotator: Annotator,
    invitation: Invitation | None = None,
    platform_link: PlatformLink | None = None,
    platform_session: str = "",
    platform_data: Mapping[str, Any] | None = None,
    device: str = "",
    now: datetime | None = None,
) -> Enrollment:
    """Put a person into a study: the one way in, whatever the entry point.

    Who is in it already stays where they are, in the same enrollment; who declined begins again in theirs.
    `device` is the mark of the browser as this study knows it (`views.annotator.device`), empty if there is none.
    Raises `EntryRefusedError` with the reason of `entry_refusal`.
    """
    now = now or timezone.now()
    with transaction.atomic():
        # One at a time for each study: its places and browsers are counted.
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        known = (
            Enrollment.objects.select_related("study", "annotator")
            .filter(study=locked, annotator=annotator)
            .first()
        )
        if known is not None and known.stage != Stage.DECLINED:
            return known
        if reason := entry_refusal(study=locked, device=device, annotator=annotator, now=now):
            raise EntryRefusedError(reason)
        enrollment = known or Enrollment(study=locked, annotator=annotator, resume_token=link_new())
        enrollment.stage = _stage_after(locked, annotator, None, now)
        enrollment.invitation = invitation
        enrollment.platform_link = platform_link
        enrollment.platform_session = platform_session
        enrollment.platform_data = dict(platform_data or {})
        enrollment.device = device
        # Of who is known only this: somebody may be suspending them at this moment.
        enrollment.save(update_fields=BEGUN if known else None)
    return enrollment


def invitation_refusal(invitation: Invitation, *, now: datetime | None = None) -> str | None:
    """Why the link lets nobody in, if so: `revoked`, `expired` or `full`. Who did not take part has no place."""
    now = now or timezone.now()
    if invitation.revoked_at is not None:
        return "revoked"
    if invitation.expires_at is not None and invitation.expires_at <= now:
        return "expired"
    limit = invitation.max_annotators
    if limit is not None and invitation.enrollments.exclude(stage__in=WITHOUT_A_PLACE).count() >= limit:
        return "full"
    return None


def enrollment_join(
    *,
    invitation: Invitation,
    visit: str | None = None,
    annotator: Annotator | None = None,
    device: str = "",
    now: datetime | None = None,
) -> Enrollment:
    """Let a person in by a link. `visit` names the page from which they came: joining twice from it makes one
    person. `annotator` is who they are, where that is known; otherwise they are new.

    Raises `EntryRefusedError`.
    """
    visit = visit or secrets.token_urlsafe(16)
    with transaction.atomic():
        # One at a time for each link: its places are counted, and a double click waits here for the first.
        locked = (
            Invitation.objects.select_for_update(of=("self",), no_key=True)
            .select_related("study")
            .get(pk=invitation.pk)
        )
        known = annotator or Annotator.objects.filter(source=SOURCE, external_id=visit).first()
        inside = Enrollment.objects.filter(study=locked.study, annotator=known).exclude(stage=Stage.DECLINED)
        if (known is None or not inside.exists()) and (reason := invitation_refusal(locked, now=now)):
            raise EntryRefusedError(reason)
        return enrollment_start(
            study=locked.study,
            annotator=known or Annotator.objects.create(source=SOURCE, external_id=visit),
            invitation=locked,
            device=device,
            now=now,
        )


def consent_give(
    *, enrollment: Enrollment, fingerprint: str | None = None, now: datetime | None = None
) -> bool:
    """Record the consent to the text of the study. False, and nothing recorded, when the text has changed
    since
    it was read (`fingerprint` is what the page showed).
    """
    study, now = enrollment.study, now or timezone.now()
    if fingerprint is not None and fingerprint != consent_fingerprint(study):
        return False
    if enrollment.stage == Stage.CONSENT:
        with transaction.atomic():
            text = consent_text_keep(study)
            given = Enrollment.objects.filter(pk=enrollment.pk, stage=Stage.CONSENT).update(
                stage=stage_next(enrollment, now=now), consented_at=now, consent_sha256=text.sha256
            )
            if given:
                consent_record(enrollment=enrollment, event=ConsentEvent.GIVEN, text=text, now=now)
    return True


def enrollment_decline(*, enrollment: Enrollment) -> None:
    """Leave before the test or the work has begun. A test that was begun cannot be undone by leaving and coming
    in again.
    """
    early = [Stage.CONSENT, Stage.ELIGIBILITY, Stage.GUIDELINES, Stage.TRAINING]
    # Who is suspended would come in anew.
    rows = Enrollment.objects.filter(pk=enrollment.pk, stage__in=early, suspended_at=None)
    with transaction.atomic():
        if rows.update(stage=Stage.DECLINED) and enrollment.study.consent:
            text = consent_text_keep(enrollment.study)
            consent_record(enrollment=enrollment, event=ConsentEvent.DECLINED, text=text)


def guidelines_acknowledge(
    *, enrollment: Enrollment, version: int | None = None, now: datetime | None = None
) -> None:
    """Record that the guidelines were read: at their step, and during the work when they have changed.

    `version` is what the page showed (None: the latest): who reads while they are edited has not read the edit.
    """
    study, now = enrollment.study, now or timezone.now()
    latest = study.guidelines_version
    read = min(version or latest, latest)
    fields = {"guidelines_read_at": now, "guidelines_read_version": read}
    rows = Enrollment.objects.filter(pk=enrollment.pk, stage=enrollment.stage)
    if enrollment.stage == Stage.GUIDELINES:
        rows.update(stage=stage_next(enrollment, now=now), **fields)
    elif enrollment.stage == Stage.WORK:
        rows.exclude(guidelines_read_version__gte=read).update(**fields)


def completion_code_give(*, enrollment: Enrollment) -> None:
    """A code for who had finished without one, now that an answer of theirs has come after all.

    The caller has recorded the answer and read `enrollment` under its lock or that of the assignment.
    """
    if enrollment.stage == Stage.DONE and not enrollment.completion_code:
        code = enrollment.study.completion_code or code_make()
        Enrollment.objects.filter(pk=enrollment.pk, completion_code="").update(completion_code=code)


def enrollment_finish(*, enrollment: Enrollment, now: datetime | None = None) -> Enrollment:
    """End the work of a person, give back what they had open, and make their completion code.

    Finishing twice changes nothing, and who is suspended stays where they are. Raises `StageError` before the work.
    Returns the enrollment as it is now.
    """

    def finish() -> Enrollment:
        # Assignment and study item before the enrollment: the order of locks of `services.assignments`.
        mine = Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.OPEN)
        opened = list(
            mine.select_for_update(of=("self", "study_item"), no_key=True)
            .select_related("study_item")
            .order_by("study_item_id", "pk")
        )
        locked = (
            Enrollment.objects.select_for_update(of=("self",), no_key=True)
            .select_related("study", "annotator")
            .get(pk=enrollment.pk)
        )
        if locked.stage == Stage.DONE or locked.suspended_at is not None:
            return locked
        if locked.stage != Stage.WORK:
            raise StageError(locked.stage)
        held = [lease.pk for lease in opened]
        if mine.exclude(pk__in=held).exists():
            raise Overtaken  # another tab was given an item before they were locked
        if opened:
            Assignment.objects.filter(pk__in=held).update(state=AssignmentState.EXPIRED)
            # Hidden checks and repeats take no place.
            places = [lease.study_item_id for lease in opened if lease.role == WorkRole.WORK]
            StudyItem.objects.filter(pk__in=places).update(n_open=F("n_open") - 1)
        locked.stage = Stage.DONE
        locked.finished_at = now or timezone.now()
        # Who answered nothing gets no code: one code may stand for pay in the whole study.
        if locked.assignments.filter(state=AssignmentState.SUBMITTED).exists():
            locked.completion_code = locked.study.completion_code or code_make()
        locked.save(update_fields=["stage", "finished_at", "completion_code"])
        return locked

    return transaction_retried(finish)


def link_new() -> str:
    """The secret of a personal link that nobody has yet."""
    return secrets.token_urlsafe(RESUME_TOKEN_BYTES)


def link_replace(*, pk: int, old: str, new: str) -> Enrollment:
    """Give a person the link `new` in place of `old`; the same again changes nothing.

    Raises
    ------
    Enrollment.DoesNotExist
        Their link is neither.
    """
    Enrollment.objects.filter(pk=pk, resume_token=old).update(resume_token=new)
    return Enrollment.objects.select_related("study", "annotator").get(pk=pk, resume_token=new)
