"""The language that a person reads the pages in: chosen on a page of its own, without a script."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import Enrollment
from annotation.services.languages import language_of_annotator_keep, language_of_browser_keep
from annotation.views.annotator.account_session import account_annotator
from annotation.views.annotator.browser import session_enrollments
from annotation.views.annotator.common import POST_RATE, limited
from web.languages import language_chosen, language_keep, language_known, language_use

NOWHERE = "annotation:account"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@limited(group="language", rate=POST_RATE, by="ip", method="POST")
def language(request: HttpRequest) -> HttpResponse:
    """Show the languages; a POST keeps one, for this browser and for the people whom it holds, and leads back.

    `next` is the page that the person came from. `now` is the language that it was in, so that this page is in it too.
    """
    back = _back(request)
    code = language_known(request.POST.get("language"))
    if request.method == "POST" and code:
        language_of_browser_keep(tokens=session_enrollments(request).values(), code=code)
        if annotator := account_annotator(request):
            language_of_annotator_keep(annotator=annotator, code=code)
        response = redirect(back or NOWHERE)
        language_keep(response, code)
        return response
    language_use(request, request.GET.get("now", ""), language_chosen(request))
    status = 422 if request.method == "POST" else 200
    return render(request, "annotation/annotator/language.html", {"back": back}, status=status)


def _back(request: HttpRequest) -> str:
    """The address to go back to, if it is one of this site; a page elsewhere may not lead anywhere through here."""
    given = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = given.startswith("/") and url_has_allowed_host_and_scheme(given, allowed_hosts=None)
    return given if is_ours else ""


def language_join(request: HttpRequest, enrollment: Enrollment) -> None:
    """Let a person who has just come in keep the language that they chose before there was anybody to keep it for."""
    code = language_chosen(request)
    if code and not enrollment.annotator.language:
        language_of_annotator_keep(annotator=enrollment.annotator, code=code)
