"""What every page of an annotator needs: whose it is, how often it may be asked for, and no copies kept."""

from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.kinds import kind_of
from annotation.models import Assignment, Enrollment, PayBasis, Stage, Study
from annotation.selectors.steps import steps_of
from annotation.selectors.work import assignment_get_held, enrollment_get_for
from annotation.views.annotator.browser import session_enrollments as session_enrollments
from annotation.views.annotator.browser import session_hold as session_hold
from web.addresses import address
from web.caching import caches_of
from web.languages import language_chosen, language_use
from web.throttling import address_of, too_often

# A laboratory or a crowd's company shares one address, so its limits are wide; a session is one person.
DOOR_RATE = "60/m"
POST_RATE = "120/m"
DRAFT_RATE = "300/m"
RETRY_AFTER_SECONDS = 60

View = Callable[..., HttpResponse]


def for_enrollment(view: View) -> View:
    """Fetch the enrollment of this browser for the slug in the address; without one, say how to come in.

    That page is the same for a study that does not exist. No cache keeps a page, so that the back button asks
    again. Where checks are hidden among the work, what this process keeps is kept for each person apart.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            enrollment = enrollment_get_for(session_enrollments(request), slug)
        except Enrollment.DoesNotExist:
            return _unknown(request)
        return _viewed(request, enrollment, lambda: view(request, enrollment, *args, **kwargs))

    return never_cache(wrapped)


@for_enrollment
def _not_there(_request: HttpRequest, _enrollment: Enrollment) -> HttpResponse:
    raise Http404


def for_assignment(view: View) -> View:
    """The same, and the assignment of this person for the number in the address; one that isn't theirs isn't there."""

    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, pk: int, *args: Any, **kwargs: Any) -> HttpResponse:
        held = session_enrollments(request)
        try:
            found = assignment_get_held(held, slug, pk)
        except Assignment.DoesNotExist:
            return _not_there(request, slug)
        return _viewed(request, found.enrollment, lambda: view(request, found, *args, **kwargs))

    return never_cache(wrapped)


def _viewed(request: HttpRequest, enrollment: Enrollment, view: Callable[[], HttpResponse]) -> HttpResponse:
    study = enrollment.study
    language_use(request, enrollment.annotator.language, language_chosen(request), study.language)
    has_hidden = study.check_rate or study.repeat_rate
    try:
        with caches_of(enrollment.pk if has_hidden else None):
            return view()
    except (Enrollment.DoesNotExist, Assignment.DoesNotExist):
        # Their data was erased while this was under way.
        return _unknown(request)


def _unknown(request: HttpRequest) -> HttpResponse:
    return render(request, "annotation/annotator/unknown.html", status=404)


def _counted_by(request: HttpRequest, by: str) -> str:
    # Only a browser that holds an enrollment is a person: its cookie is signed, so nobody makes up a fresh count.
    held = session_enrollments(request) if by == "session" else {}
    return f"browser:{next(iter(held.values()))}" if held else address_of(request)


def limited(*, group: str, rate: str, by: str, method: str | None = None) -> Callable[[View], View]:
    """Answer with a 429 page when an address (`by="ip"`) or a session (`by="session"`) asks too often."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if (method is None or request.method == method) and too_often(
                group=group, by=_counted_by(request, by), rate=rate
            ):
                response = render(request, "annotation/annotator/too_many.html", status=429)
                response["Retry-After"] = str(RETRY_AFTER_SECONDS)
                return response
            return view(request, *args, **kwargs)

        return wrapped

    return decorate


def for_step(view: View) -> View:
    """A page inside a study that a person may send so often, as `for_enrollment`."""
    return limited(group="steps", rate=POST_RATE, by="session", method="POST")(for_enrollment(view))


def for_work(view: View) -> View:
    """The same for what gives out or takes an item."""
    return _limited_work(for_enrollment(view))


def for_item(view: View) -> View:
    """The same for one item of the person, as `for_assignment`."""
    return _limited_work(for_assignment(view))


def _limited_work(view: View) -> View:
    limit = limited(group="submit", rate=POST_RATE, by="session", method="POST")
    return require_http_methods(["GET", "HEAD", "POST"])(limit(view))


def study_context(request: HttpRequest, enrollment: Enrollment) -> dict[str, Any]:
    """For every page inside a study: the study, and the personal link for another device."""
    return {
        "study": enrollment.study,
        "enrollment": enrollment,
        "pay": money(enrollment.study.pay_per_item, enrollment.study),
        "pay_line": pay_line(enrollment.study),
        "resume_url": resume_url(request, enrollment),
        "steps": steps_shown(enrollment.study, enrollment.stage),
    }


def resume_url(request: HttpRequest, enrollment: Enrollment) -> str:
    """The personal link, to go on from another device."""
    # As `build_absolute_uri`, which takes addresses apart that others have made.
    path = address("annotation:resume", enrollment.resume_token)
    return f"{request.scheme}://{request.get_host()}{path}"


def pay_line(study: Study) -> str:
    """What the work earns, in words; empty where it is not paid."""
    if study.pay_basis == PayBasis.TIME:
        rate = study.pay_per_hour
        per_hour = gettext("%(money)s for an hour of active time")
        return per_hour % {"money": money(rate, study)} if rate else ""
    per_answer = gettext("%(money)s for each answer")
    return per_answer % {"money": money(study.pay_per_item, study)} if study.pay_per_item else ""


STEP_WORDS: dict[str, str] = {
    Stage.CONSENT: gettext_noop("Consent"),
    Stage.ELIGIBILITY: gettext_noop("About you"),
    Stage.GUIDELINES: gettext_noop("Guidelines"),
    Stage.TRAINING: gettext_noop("Training"),
    Stage.QUALIFICATION: gettext_noop("Short test"),
}


def steps_shown(study: Study, stage: str | None = None) -> list[tuple[str, str]]:
    """The steps of the study before its work, and the work: (words, `done` or `current` or nothing)."""
    present = steps_of(study)
    here = present.index(stage) if stage in present else -1
    return [
        (
            gettext(STEP_WORDS.get(step, kind_of(study.kind).work)),
            "done" if place < here else "current" if place == here else "",
        )
        for place, step in enumerate(present)
    ]


def money(amount: Decimal, study: Study) -> str:
    """With two decimals, or as many more as it has, as the reader's language writes numbers: 0.10 USD, 0,125 USD."""
    text = f"{amount.normalize():f}"
    decimals = len(text.partition(".")[2])
    return f"{number_format(amount, max(2, decimals))} {study.pay_currency}"
