"""Items fetched ahead, for the browser: parts of the page for what a person has leased, and what it says of them.

The page asks when it is quiet, and each answer that it sends asks again. It names the items that it has, so that each
is sent once. Without scripts nobody asks, and nothing is fetched ahead.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.domain.errors import StageError, StudyNotOpenError, SuspendedError
from annotation.models import Assignment, Enrollment
from annotation.selectors.work import (
    WorkStanding,
    assignment_get_for,
    last_submitted,
    standing_get,
)
from annotation.services.ahead import leases_fetch
from annotation.views.annotator.common import POST_RATE, for_enrollment, limited
from annotation.views.annotator.parts import item_context, live_context, part_context, undo_url

PAGE = "annotation/annotator/work.html"
PART = "annotation/annotator/_work.html"
LIVE = "annotation/annotator/_live.html"
MAX_KNOWN = 50
MAX_DIGITS = 19


def _known(request: HttpRequest) -> set[int]:
    """The items that the page has, from the field `known`: ids with commas between them."""
    named = request.POST.get("known", "").split(",")[:MAX_KNOWN]
    return {int(name) for name in named if name.isdecimal() and len(name) < MAX_DIGITS}


def ahead_answer(
    request: HttpRequest,
    enrollment: Enrollment,
    *,
    standing: WorkStanding | None = None,
    last: Assignment | None = None,
    saved: str = "",
) -> HttpResponse:
    """`order`, the ids of what is leased, the item in hand first; `parts`, the HTML of those that the page hasn't;
    `live`, the HTML of what an answer changes around any item; `go`, an address where the person has to be instead.

    `last` is the answer just given and `saved` what is said of it, as for the next item.
    """
    standing = standing or standing_get(enrollment)
    study = enrollment.study
    try:
        order = leases_fetch(enrollment=enrollment)
    except (StageError, SuspendedError):
        return JsonResponse({"go": reverse("annotation:place", args=[study.slug])})
    except StudyNotOpenError:
        order = []
    if not order:
        # Nothing to show now, or never again: the work page says which.
        return JsonResponse({"go": reverse("annotation:work", args=[study.slug])})
    live = live_context(enrollment, standing)
    parts = {pk: _part(request, enrollment, pk, live) for pk in order if pk not in _known(request)}
    if last is None and study.allow_changes:
        last = last_submitted(enrollment)
    said = live | {"saved": saved, "undo_url": undo_url(study, last)}
    return JsonResponse(
        {"order": order, "parts": parts, "live": render_to_string(LIVE, said, request=request), "go": ""}
    )


def _part(request: HttpRequest, enrollment: Enrollment, pk: int, live: dict[str, Any]) -> str:
    found = assignment_get_for(enrollment, pk)
    # Without the context of a request: what it says to this person now is said once, by the part that is shown.
    context = item_context(request, found, live=live) | {
        "is_part": True,
        "request": request,
        "csrf_token": get_token(request),
    }
    html: str = render_to_string(PART, context)
    return html


@require_POST
@limited(group="submit", rate=POST_RATE, by="session")
@for_enrollment
def fetch(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Lease what the study fetches ahead, and give the page what it hasn't of it."""
    return ahead_answer(request, enrollment)


@require_safe
@for_enrollment
def offline(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The work page without an item, which a browser keeps to show without a connection."""
    return render(request, PAGE, part_context(request, enrollment, "offline"))


@require_safe
def worker(_request: HttpRequest) -> HttpResponse:
    """The service worker of the work pages. Its address decides what it may see: the pages of annotators alone."""
    response = HttpResponse(_worker(), content_type="text/javascript; charset=utf-8")
    response["Cache-Control"] = "no-cache"
    return response


@lru_cache(maxsize=1)
def _worker() -> bytes:
    path = finders.find("js/offline-worker.js")
    assert isinstance(path, str)
    return Path(path).read_bytes()
