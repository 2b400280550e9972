"""People who come from crowdsourcing platforms: let in, known again, and sent back with the right code.

Who somebody is comes from the address by which they arrive, and an address can be typed. What an unsigned address
may do is written in `docs/entry.md`; the rules are in `_hold_refusal`.
"""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.domain.errors import EntryRefusedError
from annotation.entry import PLATFORMS, platform_find
from annotation.entry.base import LEFT, Arrival, Outcome, Platform, SubmissionStatus
from annotation.models import Annotator, Enrollment, PlatformLink, Stage, Study
from annotation.services.audit import audit
from annotation.services.enrollment import enrollment_start, entry_refusal
from annotation.services.quality import labels_take_back

TOKEN_BYTES = 24
# Parameters that a study keeps are for screeners, not for storage.
MAX_KEPT_CHARACTERS = 2_000
# Ours, beside the kept parameters.
STATUS_AT, LEFT_FROM, SET_ASIDE = "status_at", "left_from", "set_aside"
OUTCOMES = {
    Stage.DONE: Outcome.COMPLETED,
    Stage.SCREENED_OUT: Outcome.SCREENED_OUT,
    Stage.DECLINED: Outcome.NO_CONSENT,
}


def platform_link_save(
    *,
    study: Study,
    platform: str,
    external_study_id: str = "",
    completed_code: str = "",
    screened_out_code: str = "",
    no_consent_code: str = "",
    require_signed_token: bool = False,
) -> PlatformLink:
    """Make the study's entry link for a platform, or change it. Its address stays the same for ever."""
    if platform not in PLATFORMS:
        raise ValueError(f"there is no platform {platform!r}")
    fields: dict[str, Any] = {
        "external_study_id": external_study_id,
        "completed_code": completed_code,
        "screened_out_code": screened_out_code,
        "no_consent_code": no_consent_code,
        "require_signed_token": require_signed_token,
    }
    link, _ = PlatformLink.objects.update_or_create(
        study=study,
        platform=platform,
        defaults=fields,
        create_defaults=fields | {"token": secrets.token_urlsafe(TOKEN_BYTES)},
    )
    return link


def platform_link_close(*, link: PlatformLink, now: datetime | None = None) -> None:
    """Let nobody in by this entry link any more. Who is in stays in, and messages are still heard."""
    with transaction.atomic():
        if PlatformLink.objects.filter(pk=link.pk, closed_at=None).update(closed_at=now or timezone.now()):
            audit("entry link.closed", link, before={"study_id": link.study_id})


def platform_link_reopen(*, link: PlatformLink) -> None:
    with transaction.atomic():
        if PlatformLink.objects.filter(pk=link.pk, closed_at__isnull=False).update(closed_at=None):
            audit("entry link.opened", link, before={"study_id": link.study_id})


def parameters_kept(study: Study, extras: Mapping[str, str]) -> dict[str, str]:
    """The further parameters that the study asks for, as long as they fit."""
    kept: dict[str, str] = {}
    room = MAX_KEPT_CHARACTERS
    for name in study.passthrough:
        value = extras.get(name)
        if value is None or name in (STATUS_AT, LEFT_FROM, SET_ASIDE):
            continue
        room -= len(name) + len(value)
        if room < 0:
            break
        kept[name] = value.replace("\x00", "")
    return kept


def platform_enter(
    *,
    link: PlatformLink,
    arrival: Arrival,
    verified: bool = False,
    device: str = "",
    now: datetime | None = None,
) -> Enrollment:
    """Let a person in from a platform, or back to their place. `verified`: the platform signed who they are.

    Raises `EntryRefusedError`: the reasons of `enrollment_start`, or those of `arrival_refusal`.
    """
    now = now or timezone.now()
    with transaction.atomic():
        # One at a time for each study, as in `enrollment_start`: two people cannot come with one submission at once.
        Study.objects.select_for_update(no_key=True).get(pk=link.study_id)
        if reason := arrival_refusal(link=link, arrival=arrival, verified=verified):
            raise EntryRefusedError(reason)
        annotator, _ = Annotator.objects.get_or_create(source=link.platform, external_id=arrival.external_id)
        known = Enrollment.objects.filter(study=link.study_id, annotator=annotator)
        before = known.values_list("platform_session", flat=True).first()
        enrollment = enrollment_start(
            study=link.study,
            annotator=annotator,
            platform_link=link,
            platform_session=arrival.session,
            platform_data=parameters_kept(link.study, arrival.extras),
            device=device,
            now=now,
        )
        if enrollment.platform_session != arrival.session:
            return _session_change(enrollment, link, arrival, now)
        if before is not None and before != arrival.session:
            # Who had declined begins again: what was heard was about their earlier submission.
            known.update(platform_status="")
    return enrollment


def arrival_refusal(*, link: PlatformLink, arrival: Arrival, verified: bool) -> str | None:
    """Why this arrival cannot be let in: `study` (for another one there), `session` (somebody else's submission),
    `elsewhere` (that person is here, in another browser), `left` (returned or timed out), `finished`.
    """
    if link.external_study_id and arrival.study and arrival.study != link.external_study_id:
        return "study"
    known = Enrollment.objects.select_related("platform_link").filter(study=link.study_id)
    same_session = known.filter(platform_link=link, platform_session=arrival.session)
    if same_session.exclude(annotator__external_id=arrival.external_id).exists():
        return "session"
    mine = known.filter(annotator__source=link.platform, annotator__external_id=arrival.external_id).first()
    return None if mine is None else _hold_refusal(mine, arrival, verified)


def _hold_refusal(mine: Enrollment, arrival: Arrival, verified: bool) -> str | None:
    """Whether who knows this much may act as the person: the submission's id, or the platform's signature.

    The person's id alone opens nothing: other researchers know it. It does after a submission was returned or timed
    out, because the platform lets the person begin a new one, and nothing but their place is to be had.
    """
    if mine.stage == Stage.DECLINED:
        return None
    if mine.platform_session == arrival.session:
        return "left" if mine.stage == Stage.LEFT else None
    if has_left(mine):
        # Returned work that was paid after all is not handed in again.
        return "finished" if _standing(mine) == SubmissionStatus.APPROVED else None
    if not verified:
        return "elsewhere"
    # A second submission cannot be completed with the work of the first.
    return "finished" if mine.stage in (Stage.DONE, Stage.SCREENED_OUT) else None


def has_left(enrollment: Enrollment) -> bool:
    """Whether the platform has said that their submission was returned or ran out of time."""
    return enrollment.stage == Stage.LEFT or _standing(enrollment) in LEFT


def _standing(enrollment: Enrollment) -> SubmissionStatus:
    """What their platform said last."""
    platform = _platform_of(enrollment)
    return platform.standing(enrollment.platform_status) if platform is not None else SubmissionStatus.UNKNOWN


def _platform_of(enrollment: Enrollment) -> Platform | None:
    link = enrollment.platform_link
    return platform_find(link.platform) if link is not None else None


def _session_change(
    enrollment: Enrollment, link: PlatformLink, arrival: Arrival, now: datetime
) -> Enrollment:
    """The person goes on under a new submission."""
    with transaction.atomic():
        if enrollment.stage == Stage.LEFT:
            enrollment_return(enrollment=enrollment, now=now)
        current = Enrollment.objects.select_for_update(no_key=True).get(pk=enrollment.pk)
        data = {key: value for key, value in current.platform_data.items() if key != STATUS_AT}
        Enrollment.objects.filter(pk=current.pk).update(
            platform_link=link,
            platform_session=arrival.session,
            platform_status="",
            platform_data=data | parameters_kept(link.study, arrival.extras),
        )
    return Enrollment.objects.select_related("study", "annotator").get(pk=enrollment.pk)


def enrollment_return(*, enrollment: Enrollment, now: datetime | None = None) -> None:
    """Put a person who had left back where they were; what was set aside when they left counts again where it can.

    Raises `EntryRefusedError` when their place has gone to somebody else.
    """
    with transaction.atomic():
        # One at a time for each study, as for those who come in anew.
        study = Study.objects.select_for_update(no_key=True).get(pk=enrollment.study_id)
        if entry_refusal(study=study, annotator=enrollment.annotator, now=now) == "full":
            raise EntryRefusedError("full")
        # Labels before the person: the order of locks of `services.quality`.
        if enrollment.platform_data.get(SET_ASIDE):
            labels_take_back(enrollment=enrollment, by=None, reason="Returned with a new submission")
        current = Enrollment.objects.select_for_update(no_key=True).get(pk=enrollment.pk)
        if current.stage != Stage.LEFT:
            return
        data = dict(current.platform_data)
        stage = data.pop(LEFT_FROM, Stage.CONSENT)
        data.pop(SET_ASIDE, None)
        Enrollment.objects.filter(pk=current.pk).update(stage=stage, left_at=None, platform_data=data)


def return_code(enrollment: Enrollment) -> str:
    """The code that the platform expects for how the person's way ended; empty when there is none."""
    link, outcome = enrollment.platform_link, OUTCOMES.get(Stage(enrollment.stage))
    if link is None or outcome is None:
        return ""
    if outcome == Outcome.SCREENED_OUT:
        return link.screened_out_code
    if outcome == Outcome.NO_CONSENT:
        return link.no_consent_code
    # Who answered nothing has completed nothing.
    if not enrollment.completion_code:
        return ""
    return link.completed_code or enrollment.completion_code


def return_url(enrollment: Enrollment) -> str | None:
    """The platform's address for how the person's way ended, or None."""
    link, outcome = enrollment.platform_link, OUTCOMES.get(Stage(enrollment.stage))
    platform = _platform_of(enrollment)
    code = return_code(enrollment)
    if link is None or outcome is None or platform is None or not code:
        return None
    return platform.return_url(link, outcome, code)
