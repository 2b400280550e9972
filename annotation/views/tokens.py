"""One's own tokens of the API: listed, made, revoked."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.forms.tokens import TokenForm
from annotation.models import ApiToken
from annotation.selectors.users import tokens_valid
from annotation.services.tokens import TokenNameError, token_create, token_revoke
from web.access import ResearcherRequest, researcher_action, researcher_form
from web.throttling import too_many_requests, too_often

RATE = "20/h"


@never_cache
@researcher_form
def tokens(request: ResearcherRequest) -> HttpResponse:
    """Show one's tokens; POST: make one, and show it this one time."""
    if request.method != "POST":
        return _page(request, TokenForm())
    if too_often(group="tokens", by=str(request.user.pk), rate=RATE):
        return too_many_requests(request)
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    data = form.cleaned_data
    try:
        token, secret = token_create(
            user=request.user, name=data["name"], days=form.lifetime, scopes=data["scopes"], once=True
        )
    except TokenNameError:
        form.add_error(
            "name", "You have a valid token with this name. Choose another, or revoke that one first."
        )
        return _page(request, form, status=422)
    return _page(request, TokenForm(), secret=secret, made=token)


@researcher_action
def token_end(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Revoke a token of one's own; once more changes nothing."""
    token = get_object_or_404(ApiToken, pk=pk, user=request.user)
    if token_revoke(token=token):
        messages.success(request, f"The token “{token.name}” no longer works.")
    return redirect("tokens")


def _page(
    request: ResearcherRequest,
    form: TokenForm,
    *,
    secret: str = "",
    made: ApiToken | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "tokens": tokens_valid(request.user),
        "secret": secret,
        "made": made,
        "crumbs": [("Your account", reverse("me")), ("API tokens", None)],
    }
    return render(request, "registration/tokens.html", context, status=status)
