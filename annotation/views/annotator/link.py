"""The personal link of an annotator, and a new one in its place."""

from __future__ import annotations

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import Enrollment
from annotation.services.enrollment import link_new, link_replace
from annotation.views.annotator.browser import session_hold
from annotation.views.annotator.common import POST_RATE, for_enrollment, limited, study_context

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
