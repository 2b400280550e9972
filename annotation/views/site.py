"""The doors of the site: the first page and the login."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django_ratelimit.core import is_ratelimited

from annotation.forms.login import LoginForm
from annotation.models import User

# Attempts, right or wrong. A person mistypes a few times; a class of students may share an address.
LOGIN_RATE_PER_ADDRESS = "30/m"
LOGIN_RATE_PER_NAME = "10/5m"


def home(request: HttpRequest) -> HttpResponse:
    """Where each person begins."""
    if not isinstance(request.user, User):
        return redirect("login")
    if request.user.is_researcher:
        return redirect("annotation:study-list")
    return render(request, "annotation/researcher/no_role.html")


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """The polite page for who was too fast."""
    response = render(request, "429.html", status=429)
    response.headers["Retry-After"] = "60"
    return response


def _name_key(_group: str, request: HttpRequest) -> str:
    # As Django's username field reads it, so that one name cannot be written in many ways (ａdmin, admin).
    name = unicodedata.normalize("NFKC", request.POST.get("username", ""))
    return name.strip().casefold()[:150]


class Login(LoginView):
    """Django's login, limited by address and by name, whether or not such a name exists."""

    authentication_form = LoginForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        limits = [
            is_ratelimited(request, group=f"login-{name}", key=key, rate=rate, method="POST", increment=True)
            for name, key, rate in (
                ("address", "ip", LOGIN_RATE_PER_ADDRESS),
                ("name", _name_key, LOGIN_RATE_PER_NAME),
            )
        ]
        if any(limits):
            return too_many_requests(request)
        return super().post(request, *args, **kwargs)
