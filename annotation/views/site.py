"""What the site shows to everybody: the first page and the login."""

import logging
import unicodedata
from typing import Any

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login as SignIn
from django.conf import settings
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation.forms.passwords import LoginForm
from annotation.models import User
from web.throttling import address_of, any_too_often, client_network, too_many_requests

logger = logging.getLogger("annotation.security")

# Attempts, right or wrong. A person mistypes a few times; a class of students may share an address. By name and address
# together, so that nobody is kept out by what somebody else tries from elsewhere.
LOGIN_RATE_PER_ADDRESS = "60/m"
LOGIN_RATE_PER_NAME = "10/5m"


def home(request: HttpRequest) -> HttpResponse:
    """Where people begin who are no researchers."""
    if not isinstance(request.user, User):
        return redirect("login")
    return render(request, "annotation/researcher/no_role.html")


def _name_of(request: HttpRequest) -> str:
    # As Django's username field reads it, so that one name cannot be written in many ways (ａdmin, admin).
    name = unicodedata.normalize("NFKC", request.POST.get("username", ""))
    return name.strip().casefold()[:150]


class Login(LoginView):
    """Django's login, limited by address and by name from there, whether or not such a name exists.

    Who has a second factor is asked for it next (`annotation.views.second_step`); nobody is signed in before.
    """

    authentication_form = LoginForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Say which ways to sign in there are."""
        context = super().get_context_data(**kwargs)
        return context | {"single_sign_on": settings.OIDC_NAME if settings.OIDC_ISSUER else ""}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        address = address_of(request)
        if any_too_often(
            ("login-address", address, LOGIN_RATE_PER_ADDRESS),
            ("login-name", f"{address} {_name_of(request)}", LOGIN_RATE_PER_NAME),
        ):
            logger.warning("Too many logins as %r from %s", _name_of(request), client_network(request))
            return too_many_requests(request)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Go on to the second factor, or in."""
        user = form.get_user()
        sign_in = SignIn(user=user, redirect_url=self.get_success_url())
        return perform_password_login(self.request, {"username": user.get_username()}, sign_in)

    def form_invalid(self, form: Any) -> HttpResponse:
        """Log who tried, without the password."""
        logger.warning("Failed login as %r from %s", _name_of(self.request), client_network(self.request))
        return super().form_invalid(form)


class Logout(LogoutView):
    """Django's logout; the browser forgets pages that it keeps. Unsent answers of annotators stay in its storage."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().post(request, *args, **kwargs)
        response["Clear-Site-Data"] = '"cache"'
        return response
