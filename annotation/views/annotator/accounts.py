"""Accounts of annotators: sign up, sign in, and the studies that one may join."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.domain.errors import EntryRefusedError
from annotation.forms.entry import SignInForm, SignUpForm
from annotation.models import Account, Enrollment, Stage, Study
from annotation.selectors.entry import (
    enrollments_of,
    studies_to_join,
    study_to_join,
)
from annotation.selectors.pay import earned_by
from annotation.selectors.steps import is_over
from annotation.services.accounts import (
    AccountRefusedError,
    account_create,
    account_join,
    account_sign_in,
    email_normal,
)
from annotation.services.leases import leases_release_of
from annotation.views.annotator.account_session import account_drop, account_hold, account_of
from annotation.views.annotator.browser import MAX_HELD, session_drop, session_hold
from annotation.views.annotator.common import POST_RATE, limited, money, pay_line
from annotation.views.annotator.device import device_keep, device_of, device_read
from annotation.views.annotator.entry import enrollment_held, refuse
from annotation.views.annotator.languages import language_join
from web.languages import language_chosen, language_use
from web.throttling import address_of, client_network, too_often

logger = logging.getLogger("annotation.security")

# A class may sign up together from one address; nobody tries many addresses of other people.
SIGN_UP_RATE = "30/h"
SIGN_IN_RATE_PER_ADDRESS = "60/m"
SIGN_IN_RATE_PER_NAME = "10/5m"
WRONG = gettext_noop("The email address or the password is wrong. Check both and try again.")
REFUSED = gettext_noop(
    "We couldn't create an account with this email and password. If you already have an account, sign in."
)


def signed_in(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Pass the account on; send everybody else to sign in."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        account = account_of(request)
        if account is None:
            return redirect("annotation:account-sign-in")
        language_use(request, account.annotator.language, language_chosen(request))
        return view(request, account, *args, **kwargs)

    return never_cache(wrapped)


def _enter(request: HttpRequest, account: Account) -> HttpResponse:
    account_hold(request, account)
    for enrollment in reversed(list(enrollments_of(account)[:MAX_HELD])):
        session_hold(request, enrollment, cycle=False)
    return redirect("annotation:account")


def _tried_too_often(request: HttpRequest, *, anywhere: bool) -> HttpResponse | None:
    """A page when this email has been tried too often from here, or from anywhere."""
    if request.method != "POST":
        return None
    email = email_normal(request.POST.get("email", ""))[:200]
    by = email if anywhere else f"{address_of(request)} {email}"
    if not too_often(group=f"account-email-{anywhere}", by=by, rate=SIGN_IN_RATE_PER_NAME):
        return None
    response = render(request, "annotation/annotator/too_many.html", status=429)
    response["Retry-After"] = "300"
    return response


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@limited(group="account-sign-up", rate=SIGN_UP_RATE, by="ip", method="POST")
def sign_up(request: HttpRequest) -> HttpResponse:
    if account_of(request) is not None:
        return redirect("annotation:account")
    # Signing up may be guessing a password too, and who is kept from it can still sign in.
    if refused := _tried_too_often(request, anywhere=True):
        return refused
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            account = account_create(**form.cleaned_data)
        except ValidationError as weak:
            form.add_error("password", weak)
        except AccountRefusedError:
            form.add_error(None, gettext(REFUSED))
        else:
            return _enter(request, account)
    status = 422 if form.is_bound else 200
    return render(request, "annotation/annotator/signup.html", {"form": form}, status=status)


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@limited(group="account-sign-in", rate=SIGN_IN_RATE_PER_ADDRESS, by="ip", method="POST")
def sign_in(request: HttpRequest) -> HttpResponse:
    if account_of(request) is not None:
        return redirect("annotation:account")
    # Nobody is kept out by what others try from elsewhere.
    if refused := _tried_too_often(request, anywhere=False):
        return refused
    form = SignInForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        account = account_sign_in(**form.cleaned_data)
        if account is not None:
            return _enter(request, account)
        logger.warning("Failed sign-in to an annotator's account from %s", client_network(request))
        form.add_error(None, gettext(WRONG))
    status = 422 if form.is_bound else 200
    return render(request, "annotation/annotator/signin.html", {"form": form}, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Forget the account here, and the places that are its own: the computer may be shared. What is open goes back."""
    account = account_of(request)
    if account is not None:
        enrollments = list(enrollments_of(account))
        leases_release_of(enrollments=enrollments)
        session_drop(request, [enrollment.study.slug for enrollment in enrollments])
        account_drop(request)
    return redirect("annotation:account-sign-in")


@require_safe
@signed_in
def my_studies(request: HttpRequest, account: Account) -> HttpResponse:
    mine = [_shown(enrollment) for enrollment in enrollments_of(account)]
    open_now = list(studies_to_join(account, now=timezone.now()))
    context = {
        "account": account,
        "mine": mine,
        "studies": [
            {
                "study": study,
                "held": enrollment_held(request, study) is not None,
                "pay_line": pay_line(study),
            }
            for study in open_now
        ],
    }
    return render(request, "annotation/annotator/my_studies.html", context)


def _shown(enrollment: Enrollment) -> dict[str, Any]:
    study, earned = enrollment.study, earned_by(enrollment)
    return {
        "enrollment": enrollment,
        "study": study,
        "answers": earned.answers,
        "earned": money(earned.total, study) if earned.total else "",
        "ended": is_over(study, timezone.now()),
        "over": enrollment.stage in (Stage.DONE, Stage.DECLINED, Stage.SCREENED_OUT, Stage.LEFT),
    }


@require_POST
@limited(group="account-join", rate=POST_RATE, by="ip")
@signed_in
def join(request: HttpRequest, account: Account, slug: str) -> HttpResponse:
    try:
        study = study_to_join(slug)
    except Study.DoesNotExist:
        raise Http404("There is no such study.") from None
    # Somebody who came in here by another entry point is in it already.
    held = enrollment_held(request, study)
    if held is not None and held.stage != Stage.DECLINED and study.one_per_device:
        return redirect("annotation:place", study.slug)
    mark = device_read(request)
    try:
        enrollment = account_join(account=account, study=study, device=device_of(study, mark))
    except EntryRefusedError as refused:
        return refuse(request, refused.reason)
    session_hold(request, enrollment, cycle=False)
    language_join(request, enrollment)
    return device_keep(request, redirect("annotation:place", study.slug), mark)
