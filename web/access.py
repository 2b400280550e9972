"""Who may see the researcher's pages. Which rows they see is decided where rows are fetched."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from django.contrib.auth import get_user
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from web.bodies import FORM_BYTES, accepts_body
from web.second_factor import lacks_second_factor, to_second_factor

if TYPE_CHECKING:
    from django.contrib.auth.models import _User  # the site's own, whichever app has it

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


class ResearcherRequest(HttpRequest):
    """A request of somebody who is signed in as a researcher; `htmx` is set by django-htmx."""

    user: _User
    htmx: Any


def is_researcher(request: HttpRequest) -> bool:
    """Whether the session is that of a researcher, or an administrator."""
    user = get_user(request)
    return user.is_authenticated and user.is_researcher


def researcher_required(
    view: Callable[Concatenate[ResearcherRequest, P], HttpResponseBase],
) -> View[P]:
    """Send who is not signed in to the login page, and refuse who is no researcher."""

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            # A form that was posted after the session ended cannot be repeated by coming back to its address.
            target = request.get_full_path() if request.method == "GET" else "/"
            return redirect_to_login(target)
        if not request.user.is_researcher:
            raise PermissionDenied("This page is for researchers.")
        if lacks_second_factor(request):
            return to_second_factor()
        return view(request, *args, **kwargs)  # type: ignore[arg-type]  # checked just above

    return accepts_body(FORM_BYTES, who=is_researcher)(wrapped)


def researcher_page(view: Callable[Concatenate[ResearcherRequest, P], HttpResponseBase]) -> View[P]:
    """A page that researchers read: GET and HEAD alone."""
    return require_safe(researcher_required(view))


def researcher_action(view: Callable[Concatenate[ResearcherRequest, P], HttpResponseBase]) -> View[P]:
    """What researchers do: POST alone."""
    return require_POST(researcher_required(view))


def researcher_form(view: Callable[Concatenate[ResearcherRequest, P], HttpResponseBase]) -> View[P]:
    """A form that researchers fill in: GET and HEAD show it, POST sends it."""
    return require_http_methods(["GET", "HEAD", "POST"])(researcher_required(view))


def administrator_page(
    view: Callable[Concatenate[ResearcherRequest, P], HttpResponseBase],
) -> View[P]:
    """A page that administrators read: GET and HEAD alone. Researchers and annotators are refused."""

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if not getattr(request.user, "is_administrator", False):
            raise PermissionDenied("This page is for administrators.")
        if lacks_second_factor(request):
            return to_second_factor()
        return view(request, *args, **kwargs)  # type: ignore[arg-type]  # checked just above

    return require_safe(wrapped)
