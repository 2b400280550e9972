"""Signing in by the OpenID provider: to it and back, and connecting it to an account."""

import logging
from typing import Any

import requests
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.models import User
from annotation.selectors.factors import is_of_provider_alone
from annotation.services.audit import audit
from annotation.sign_in.provider import CONFIRM, CONNECT, LOGIN, PROVIDER_ID, OpenIDAdapter, sign_on_failed
from annotation.sign_in.recent import is_proof_recent
from web.throttling import address_of, client_network, too_many_requests, too_often

logger = logging.getLogger("annotation.security")

RATE = "60/m"


@never_cache
@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """Lead to the provider, by a page: the policy of forms allows none to end on another site."""
    if not settings.OIDC_ISSUER:
        raise Http404("There is no single sign-on here.")
    if too_often(group="single-sign-on", by=address_of(request), rate=RATE):
        return too_many_requests(request)
    process = request.POST.get("process", LOGIN)
    if process not in (LOGIN, CONNECT, CONFIRM):
        raise PermissionDenied("There is nothing else that the provider is asked for.")
    user = request.user
    if process != LOGIN and not isinstance(user, User):
        raise PermissionDenied("There is nothing to connect or to confirm.")
    if process == CONNECT and not (isinstance(user, User) and is_proof_recent(request, user)):
        return redirect("confirm")
    wanted = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()):
        wanted = ""
    try:
        provider = get_adapter(request).get_provider(request, PROVIDER_ID)
        to = provider.redirect(request, process, next_url=wanted or None)
    except (requests.RequestException, OAuth2Error) as error:
        return _unreachable(request, error)
    return render(request, "registration/leaving.html", {"to": to["Location"], "name": settings.OIDC_NAME})


class Callback(OAuth2CallbackView):
    """The library's, which tells the adapter how this sign-in began."""

    def _get_state(self, request: HttpRequest, provider: Any) -> Any:
        state, response = super()._get_state(request, provider)
        self.adapter.state = state or {}
        return state, response


@never_cache
@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    """Take what the provider says, once."""
    if not settings.OIDC_ISSUER:
        raise Http404("There is no single sign-on here.")
    if too_often(group="single-sign-on", by=address_of(request), rate=RATE):
        return too_many_requests(request)
    if request.GET.get("iss", settings.OIDC_ISSUER) != settings.OIDC_ISSUER:
        return sign_on_failed(request, "the answer is of another issuer")
    try:
        response: HttpResponse = Callback.adapter_view(OpenIDAdapter(request, PROVIDER_ID))(request)
    except (requests.RequestException, OAuth2Error, KeyError, ValueError) as error:
        return sign_on_failed(request, error)
    return response


@never_cache
@require_POST
@login_required
def disconnect(request: HttpRequest) -> HttpResponse:
    """Take single sign-on off an account that has a password."""
    user = request.user
    assert isinstance(user, User), "login_required"
    if not user.has_usable_password() or is_of_provider_alone(user):
        raise PermissionDenied("This account has no other way to sign in.")
    if not is_proof_recent(request, user):
        return redirect("confirm")
    n_gone, _ = SocialAccount.objects.filter(user=user).delete()
    if n_gone:
        audit("user.single sign-on disconnected", user)
        messages.success(request, "Single sign-on is no longer connected to your account.")
    return redirect("me")


def _unreachable(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.error("The OpenID provider can't be asked, for %s: %.300r", client_network(request), str(error))
    context = {
        "title": "The provider can't be reached",
        "text": "Single sign-on doesn't answer right now. Try again in a few minutes.",
    }
    return render(request, "registration/refused.html", context, status=502)
