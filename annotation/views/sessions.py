"""Ending one's own sessions."""

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.models import StaffSession, User
from annotation.services.sessions import session_end, sessions_end


@never_cache
@require_POST
@login_required
def session_end_view(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of one's own sessions; the one of this browser is signed out."""
    user = request.user
    assert isinstance(user, User), "login_required"
    try:
        ended = session_end(user=user, pk=pk)
    except StaffSession.DoesNotExist:
        raise Http404("There is no such session.") from None
    if ended.session_key == request.session.session_key:
        logout(request)
        return redirect("login")
    messages.success(request, f"The session of {ended.device} has ended.")
    return redirect("me")


@never_cache
@require_POST
@login_required
def sessions_end_others(request: HttpRequest) -> HttpResponse:
    """End all of one's own sessions but this one."""
    user = request.user
    assert isinstance(user, User), "login_required"
    sessions_end(user, keep=request)
    messages.success(request, "All your other sessions have ended.")
    return redirect("me")
