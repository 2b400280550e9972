"""What every page of an annotator needs: whose it is, how often it may be asked for, and no copies kept."""

from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django_ratelimit.core import is_ratelimited

from annotation.models import Enrollment, Stage, Study
from annotation.selectors.work import enrollment_get_for
from annotation.views.annotator.browser import session_enrollments, session_hold

# A laboratory or a crowd's company shares one address, so the doors are wide; a session is one person.
DOOR_RATE = "60/m"
POST_RATE = "120/m"
DRAFT_RATE = "300/m"
RETRY_AFTER_SECONDS = 60

View = Callable[..., HttpResponse]


def for_enrollment(view: View) -> View:
    """Fetch the enrollment of this browser for the slug in the address; without one, say how to come in.

    That page is the same for a study that does not exist. No cache keeps a page, so that the back button asks
    again.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            enrollment = enrollment_get_for(session_enrollments(request), slug)
        except Enrollment.DoesNotExist:
            return render(request, "annotation/annotator/unknown.html", status=404)
        return view(request, enrollment, *args, **kwargs)

    return never_cache(wrapped)


def _browser_of(_group: str, request: HttpRequest) -> str:
    return "browser:" + next(iter(session_enrollments(request).values()))


def _counted_by(request: HttpRequest, by: str) -> Any:
    # Only a browser that holds an enrollment is a person: its cookie is signed, so nobody makes up a fresh count.
    return _browser_of if by == "session" and session_enrollments(request) else "ip"


def limited(*, group: str, rate: str, by: str, method: str | None = None) -> Callable[[View], View]:
    """Answer with a 429 page when an address (`by="ip"`) or a session (`by="session"`) asks too often."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if (method is None or request.method == method) and is_ratelimited(
                request, group=group, key=_counted_by(request, by), rate=rate, increment=True
            ):
                response = render(request, "annotation/annotator/too_many.html", status=429)
                response["Retry-After"] = str(RETRY_AFTER_SECONDS)
                return response
            return view(request, *args, **kwargs)

        return wrapped

    return decorate


def study_context(request: HttpRequest, enrollment: Enrollment) -> dict[str, Any]:
    """For every page inside a study: the study, and the personal link for another device."""
    link = reverse("annotation:resume", args=[enrollment.resume_token])
    return {
        "study": enrollment.study,
        "enrollment": enrollment,
        "pay": money(enrollment.study.pay_per_item, enrollment.study),
        "resume_url": request.build_absolute_uri(link),
        "steps": steps_shown(enrollment.study, enrollment.stage),
    }


def steps_shown(study: Study, stage: str | None = None) -> list[tuple[str, str]]:
    """The steps of the study before its work, and the work: (words, `done` or `current` or nothing)."""
    names = [
        (Stage.CONSENT, "Consent", bool(study.consent.strip())),
        (Stage.GUIDELINES, "Guidelines", bool(study.guidelines.strip())),
        (Stage.QUALIFICATION, "Short test", study.qualification_size > 0),
        (Stage.WORK, "Compare answers", True),
    ]
    present = [(name, words) for name, words, there in names if there]
    here = next((place for place, (name, _) in enumerate(present) if name == stage), -1)
    return [
        (words, "done" if place < here else "current" if place == here else "")
        for place, (_, words) in enumerate(present)
    ]


def money(amount: Decimal, study: Study) -> str:
    """With two decimals, or as many more as it has: 0.10 USD, 0.125 USD."""
    text = f"{amount.normalize():f}"
    decimals = len(text.partition(".")[2])
    return f"{amount:.{max(2, decimals)}f} {study.pay_currency}"
