"""A person's own data: what they agreed to, all of it as a file, and its deletion."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Account, Enrollment, ErasureRequestState
from annotation.selectors.entry import enrollments_of
from annotation.selectors.own_data import (
    account_data,
    consents_of,
    erasure_request_latest,
    own_data,
    own_data_zip,
)
from annotation.services.consent import labels_may_stay
from annotation.services.erasure_requests import account_delete, erasure_ask, erasure_ask_back
from annotation.views.annotator.account_session import account_drop
from annotation.views.annotator.accounts import signed_in
from annotation.views.annotator.browser import session_drop
from annotation.views.annotator.common import for_enrollment, for_step, limited, study_context

# All of it is read and packed: nobody needs that often.
FILE_RATE = "10/m"


@require_safe
@for_enrollment
def own_data_page(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """What was agreed to, what is stored, and what can be done about it."""
    asked = erasure_request_latest(enrollment)
    context: dict[str, Any] = study_context(request, enrollment) | {
        "consents": consents_of(enrollment),
        "asked": asked,
        "is_asked": asked is not None and asked.state == ErasureRequestState.OPEN,
        "labels_stay": labels_may_stay(enrollment),
    }
    return render(request, "annotation/annotator/own_data.html", context)


@require_safe
@limited(group="own-data", rate=FILE_RATE, by="session")
@for_enrollment
def own_data_file(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:  # noqa: ARG001
    """All that the site holds about the person in this study."""
    return _zip(own_data_zip([(enrollment.study.slug, own_data(enrollment))]))


def _zip(content: bytes) -> HttpResponse:
    response = HttpResponse(content, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="my-data-{timezone.now():%Y-%m-%d}.zip"'
    return response


@for_step
def own_data_delete(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Ask for the deletion, or take the request back."""
    slug = enrollment.study.slug
    if request.method != "POST":
        return redirect("annotation:own-data", slug)
    if "keep" in request.POST:
        erasure_ask_back(enrollment=enrollment)
    elif request.POST.get("sure") and erasure_ask(enrollment=enrollment) == "erased":
        session_drop(request, [slug])
        return redirect("annotation:data-deleted")
    return redirect("annotation:own-data", slug)


@never_cache
@require_safe
def deleted(request: HttpRequest) -> HttpResponse:
    """The last page of a person whose data was deleted: the same for all who open it."""
    return render(request, "annotation/annotator/data_deleted.html")


@require_safe
@limited(group="own-data", rate=FILE_RATE, by="ip")
@signed_in
def account_file(request: HttpRequest, account: Account) -> HttpResponse:  # noqa: ARG001
    """All that the site holds about the person of an account, a file a study."""
    files = [(enrollment.study.slug, own_data(enrollment)) for enrollment in enrollments_of(account)]
    return _zip(own_data_zip([("account", account_data(account)), *files]))


@require_POST
@signed_in
def account_end(request: HttpRequest, account: Account) -> HttpResponse:
    """Delete the account, and ask for the deletion in each of its studies."""
    if not request.POST.get("sure"):
        return redirect("annotation:account")
    slugs = [enrollment.study.slug for enrollment in enrollments_of(account)]
    outcome = account_delete(account=account)
    account_drop(request)
    if outcome == "asked":
        return redirect("annotation:account-sign-in")
    session_drop(request, slugs)
    return redirect("annotation:data-deleted")
