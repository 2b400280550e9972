"""Confirming who one is, before a change that could lock somebody out: by the strongest way that a person has."""

import logging
from typing import Any

from allauth.account.internal.flows.reauthentication import reauthenticate_by_password, resume_request
from allauth.mfa.webauthn.internal import auth
from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.forms.factors import (
    ConfirmCodeForm,
    ConfirmPasskeyForm,
    ConfirmPasswordForm,
    hint_recovery_codes,
)
from annotation.models import User
from annotation.selectors.factors import Factors, factors_of, has_single_sign_on, is_of_provider_alone
from web.throttling import any_too_often, client_network, too_many_requests

logger = logging.getLogger("annotation.security")

RATE, RATE_PER_DAY = "5/5m", "50/d"


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask once more: for a second factor where the person has one, else for the password or the provider."""
    user = request.user
    assert isinstance(user, User), "login_required"
    factors = factors_of(user)
    if request.method != "POST":
        return _page(request, user, factors)
    person = str(user.pk)
    if any_too_often(("confirm", person, RATE), ("confirm-day", person, RATE_PER_DAY)):
        return too_many_requests(request)
    form = _form_sent(request, user, factors)
    if form is None or not form.is_valid():
        logger.warning("Not confirmed as %r from %s", user.get_username(), client_network(request))
        return _page(request, user, factors, form)
    if isinstance(form, ConfirmPasswordForm):
        reauthenticate_by_password(request)
    else:
        form.save()  # type: ignore[attr-defined]  # the library's
    request.session.cycle_key()
    resumed: HttpResponse | None = resume_request(request)
    return resumed or redirect("mfa_index")


def _form_sent(request: HttpRequest, user: User, factors: Factors) -> forms.Form | None:
    """The form that was sent, if this person may use it."""
    if factors.has_any:
        if "credential" in request.POST and factors.passkeys:
            return ConfirmPasskeyForm(user=user, data=request.POST)
        return ConfirmCodeForm(user=user, data=request.POST)
    if user.has_usable_password() and not is_of_provider_alone(user):
        return ConfirmPasswordForm(request.POST, user=user)
    return None


def _page(request: HttpRequest, user: User, factors: Factors, sent: forms.Form | None = None) -> HttpResponse:
    wanted = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure())
    context: dict[str, Any] = {"factors": factors, "next": wanted if is_ours else ""}
    if factors.has_any:
        context["code_form"] = sent if isinstance(sent, ConfirmCodeForm) else ConfirmCodeForm(user=user)
        if not factors.totp:
            hint_recovery_codes(context["code_form"])
        if factors.passkeys:
            is_sent = isinstance(sent, ConfirmPasskeyForm)
            context["passkey_form"] = sent if is_sent else ConfirmPasskeyForm(user=user)
            context["options"] = auth.begin_authentication(user)
    else:
        if user.has_usable_password() and not is_of_provider_alone(user):
            is_sent = isinstance(sent, ConfirmPasswordForm)
            context["password_form"] = sent if is_sent else ConfirmPasswordForm(user=user)
        if has_single_sign_on(user):
            context["single_sign_on"] = settings.OIDC_NAME
    return render(
        request, "registration/confirm.html", context, status=422 if request.method == "POST" else 200
    )
