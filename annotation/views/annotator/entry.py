"""Coming in: by an invitation, or back by the personal link."""

import secrets

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.domain.errors import EntryRefusedError
from annotation.models import Enrollment, Invitation, Stage, StudyState
from annotation.selectors.work import (
    enrollment_get_by_resume_token,
    enrollment_get_for,
    invitation_get_by_token,
)
from annotation.services.enrollment import enrollment_join, invitation_refusal
from annotation.views.annotator.common import (
    DOOR_RATE,
    limited,
    money,
    session_enrollments,
    session_hold,
    steps_shown,
)

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
        return _refuse(request, "unknown")
    study = invitation.study
    known = _known(request, study.slug)
    if known is not None and known.stage != Stage.DECLINED:
        return redirect("annotation:place", study.slug)
    if request.method == "POST":
        try:
            enrollment = enrollment_join(invitation=invitation, visit=_visit(request, token))
        except EntryRefusedError as refused:
            return _refuse(request, refused.reason)
        session_hold(request, enrollment)
        return redirect("annotation:place", study.slug)
    reason = invitation_refusal(invitation)
    if reason is None and study.state != StudyState.OPEN:
        reason = study.state
    if reason is not None:
        return _refuse(request, reason)
    visit = signing.dumps(f"{token}:{secrets.token_urlsafe(12)}", salt=VISIT_SALT)
    context = {
        "study": study,
        "visit": visit,
        "steps": steps_shown(study),
        "pay": money(study.pay_per_item, study),
    }
    return render(request, "annotation/annotator/join.html", context)


def _known(request: HttpRequest, slug: str) -> Enrollment | None:
    try:
        return enrollment_get_for(session_enrollments(request), slug)
    except Enrollment.DoesNotExist:
        return None


def _visit(request: HttpRequest, token: str) -> str | None:
    """The page from which the person joins, if it is one of ours: a double click makes one person."""
    try:
        visit = signing.loads(request.POST.get("visit", ""), salt=VISIT_SALT)
    except signing.BadSignature:
        return None
    return visit if isinstance(visit, str) and visit.startswith(f"{token}:") else None


def _refuse(request: HttpRequest, reason: str) -> HttpResponse:
    status = 404 if reason == "unknown" else 410 if reason in GONE else 403
    return render(request, "annotation/annotator/refused.html", {"reason": reason}, status=status)


@never_cache
@require_safe
@limited(group="resume", rate=DOOR_RATE, by="ip")
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Go on in this browser."""
    try:
        enrollment = enrollment_get_by_resume_token(token)
    except Enrollment.DoesNotExist:
        return _refuse(request, "unknown")
    session_hold(request, enrollment)
    return redirect("annotation:place", enrollment.study.slug)
