"""Whether a session may show the pages of staff, where the site asks for a second factor."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

SECOND_FACTOR_SHOWN = "second_factor_shown"
"""Key of a session: whether a person showed a second factor in it. The part that signs people in sets it."""


def lacks_second_factor(request: HttpRequest) -> bool:
    """Whether this session may show no page of staff yet."""
    return settings.SECOND_FACTOR == "required" and not request.session.get(SECOND_FACTOR_SHOWN)


def to_second_factor() -> HttpResponse:
    """Lead to the page on which a second factor is set up."""
    return redirect("mfa_index")
