"""How a person likes to read, for browsers without scripts: a form, and a cookie that it sets."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.domain.reading import COOKIE, COOKIE_SECONDS, reading_stored
from annotation.models import Enrollment
from annotation.views.annotator.common import for_step, study_context
from web.cookies import cookie_name


@require_http_methods(["GET", "HEAD", "POST"])
@for_step
def reading(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show the preferences; a POST keeps them in this browser, and goes back to the work.

    With scripts the dialog of the page writes the same cookie (`reading.js`), so it isn't closed to them.
    """
    if request.method != "POST":
        return render(request, "annotation/annotator/reading.html", study_context(request, enrollment))
    response = redirect("annotation:place", enrollment.study.slug)
    response.set_cookie(
        cookie_name(COOKIE),
        reading_stored(request.POST.dict()),
        max_age=COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    return response
