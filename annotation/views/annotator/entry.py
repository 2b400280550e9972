"""Coming in: by an invitation, or back by the personal link, which can be replaced."""

import secrets

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.domain.errors import EntryRefusedError
from annotation.models import Annotator, Enrollment, Invitation, Stage, Study
from annotation.selectors.steps import annotator_sharing_test, is_over
from annotation.selectors.work import (
    enrollment_get_by_resume_token,
    enrollment_get_for,
    invitation_get_by_token,
)
from annotation.services.enrollment import (
    SOURCE,
    enrollment_join,
    entry_refusal,
    invitation_refusal,
    link_new,
    link_replace,
)
from annotation.views.annotator.account_session import account_annotator, account_enrollment
from annotation.views.annotator.browser import session_enrollments, session_hold
from annotation.views.annotator.common import (
    DOOR_RATE,
    POST_RATE,
    for_enrollment,
    limited,
    pay_line,
    steps_shown,
    study_context,
)
from annotation.views.annotator.device import device_keep, device_of, device_read
from annotation.views.annotator.languages import language_join
from web.languages import language_chosen, language_use

VISIT_SALT = "annotation.join"
GONE = {"revoked", "expired", "full", "closed"}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@limited(group="join", rate=DOOR_RATE, by="ip")
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Say what awaits; a POST makes the person. A GET makes nobody: chats and scanners open links too."""
    try:
        invitation = invitation_get_by_token(token)
    except Invitation.DoesNotExist:
        return refuse(request, "unknown")
    study = invitation.study
    language_use(request, language_chosen(request), study.language)
    known = enrollment_held(request, study) or account_enrollment(request, study)
    if known is not None and known.stage != Stage.DECLINED:
        session_hold(request, known)
        return redirect("annotation:place", study.slug)
    mark = device_read(request)
    annotator = _person(request, study, known)
    if request.method == "POST":
        try:
            enrollment = enrollment_join(
                invitation=invitation,
                visit=_visit(request, token),
                annotator=annotator,
                device=device_of(study, mark),
            )
        except EntryRefusedError as refused:
            return refuse(request, refused.reason, study)
        session_hold(request, enrollment)
        language_join(request, enrollment)
        return device_keep(request, redirect("annotation:place", study.slug), mark)
    reason = invitation_refusal(invitation) or entry_refusal(
        study=study, device=device_of(study, mark), annotator=annotator
    )
    if reason is not None:
        return refuse(request, reason, study)
    visit = signing.dumps(f"{token}:{secrets.token_urlsafe(12)}", salt=VISIT_SALT)
    context = {
        "study": study,
        "visit": visit,
        "steps": steps_shown(study),
        "pay_line": pay_line(study),
    }
    # The mark is given before it is needed: a double click must not make two.
    return device_keep(request, render(request, "annotation/annotator/join.html", context), mark)


def _person(request: HttpRequest, study: Study, declined: Enrollment | None) -> Annotator | None:
    """Who is signed in, who had declined and thinks again, or whom this browser holds in a study that shares its test
    with this one: what they passed there counts here. Of a computer that people share, nobody knows who sits before it.
    """
    known = account_annotator(request)
    if known is None and study.one_per_device:
        # Who came from a platform comes in anew from there, with their submission.
        if declined is not None and declined.annotator.source == SOURCE:
            return declined.annotator
        known = annotator_sharing_test(session_enrollments(request).values(), study)
    return known


def enrollment_held(request: HttpRequest, study: Study) -> Enrollment | None:
    """The enrollment of this browser in the study, if it holds one."""
    try:
        return enrollment_get_for(session_enrollments(request), study.slug)
    except Enrollment.DoesNotExist:
        return None


def _visit(request: HttpRequest, token: str) -> str | None:
    """The page from which the person joins, if it is one of ours: a double click makes one person."""
    try:
        visit = signing.loads(request.POST.get("visit", ""), salt=VISIT_SALT)
    except signing.BadSignature:
        return None
    return visit if isinstance(visit, str) and visit.startswith(f"{token}:") else None


def refuse(
    request: HttpRequest, reason: str, study: Study | None = None, *, platform: str = ""
) -> HttpResponse:
    """Say politely why nobody is let in; `reason` is one of `EntryRefusedError`, or `unknown`. Who holds a place in
    the study in this browser is led there; nobody else learns of any place. `platform` is where they came from, and
    where their submission has to be given back.
    """
    status = 404 if reason == "unknown" else 410 if reason in GONE else 403
    own = study.slug if study is not None and enrollment_held(request, study) else ""
    context = {"reason": reason, "own": own, "platform": platform}
    return render(request, "annotation/annotator/refused.html", context, status=status)


@never_cache
@require_safe
@limited(group="resume", rate=DOOR_RATE, by="ip")
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Go on in this browser."""
    try:
        enrollment = enrollment_get_by_resume_token(token)
    except Enrollment.DoesNotExist:
        return refuse(request, "unknown")
    # The link ends with the study; the browser that the person worked in still shows them their code.
    held = enrollment_held(request, enrollment.study)
    if is_over(enrollment.study, timezone.now()) and (held is None or held.pk != enrollment.pk):
        return refuse(request, "closed")
    session_hold(request, enrollment)
    return redirect("annotation:place", enrollment.study.slug)


SALT = "annotation.link"
PAGE_SECONDS = 60 * 60


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@limited(group="steps", rate=POST_RATE, by="session", method="POST")
def link(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the link; a POST replaces it, and signs every other browser out of the study.

    The page carries the link to come, signed: the other half of a double click finds it in place, though its cookie
    has the old one.
    """
    if request.method == "POST":
        try:
            plan = signing.loads(request.POST.get("plan", ""), salt=SALT, max_age=PAGE_SECONDS)
        except signing.BadSignature:
            return _page(request, slug)
        try:
            enrollment = link_replace(pk=plan["pk"], old=plan["old"], new=plan["new"])
        except Enrollment.DoesNotExist:
            return _page(request, slug)
        session_hold(request, enrollment, cycle=False)
        return redirect("annotation:link", enrollment.study.slug)
    return _page(request, slug)


@for_enrollment
def _page(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    plan = {"pk": enrollment.pk, "old": enrollment.resume_token, "new": link_new()}
    context = study_context(request, enrollment) | {"plan": signing.dumps(plan, salt=SALT)}
    return render(request, "annotation/annotator/link.html", context)
