"""In which language a page is: what a person has chosen, what a study asks for, what the browser asks for.

Only the pages of annotators have several. All others are in English, whatever the browser asks for, so that no page is
half translated.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import parse_accept_lang_header

from web.catalogs import catalog_of, catalog_path
from web.cookies import cookie_name, cookie_read

COOKIE_SECONDS = 365 * 24 * 60 * 60
NAMES: Mapping[str, str] = dict(settings.LANGUAGES)
"""Each language by its code, in its own words."""
SOURCE = settings.LANGUAGE_CODE
"""The language that the messages are written in."""
_OF_ANNOTATORS = re.compile(r"/(?:s|join|resume|enter|account|language)/")


def language_known(code: object) -> str:
    """The code of one of our languages; empty for anything else.

    >>> language_known("ar"), language_known("xx"), language_known(None)
    ('ar', '', '')
    """
    return code if isinstance(code, str) and code in NAMES else ""


def language_chosen(request: HttpRequest) -> str:
    """What the person has chosen in this browser; empty where they haven't."""
    return language_known(cookie_read(request, settings.LANGUAGE_COOKIE_NAME))


def language_use(request: HttpRequest, *wanted: str) -> None:
    """Go on in the first of these languages that is one of ours; in that of the browser if none is."""
    found = next(filter(None, map(language_known, wanted)), "")
    translation.activate(found or _asked_for(request))


def _asked_for(request: HttpRequest) -> str:
    """What the browser's `Accept-Language` prefers of our languages. The cookie is not looked at."""
    for code, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if code == "*":
            break
        try:
            return translation.get_supported_language_variant(code)
        except LookupError:
            continue
    return SOURCE


def language_keep(response: HttpResponse, code: str) -> None:
    """Let the browser remember the choice."""
    response.set_cookie(
        cookie_name(settings.LANGUAGE_COOKIE_NAME),
        code,
        max_age=COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def page_language(request: HttpRequest) -> dict[str, Any]:  # noqa: ARG001  (a context processor)
    """For each template: the language that is spoken while it's rendered."""
    return {"page_language": translation.get_language() or SOURCE}


class LanguageMiddleware:
    """The language of an annotator's page, as far as it's known before the page knows whose it is: the choice of this
    browser, or what it asks for. `language_use` corrects it once the person and the study are known.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not _OF_ANNOTATORS.match(request.path_info):
            # What a page before this one has chosen in this thread must not reach this one.
            with translation.override(SOURCE):
                return self._get_response(request)
        with translation.override(SOURCE):
            language_use(request, language_chosen(request))
            response = self._get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language() or SOURCE)
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


@cache
def script_words(code: str) -> dict[str, Any]:
    """The messages of scripts in a language, by their English; those with plurals have a list of forms.

    Forms are in the order of CLDR's categories: zero, one, two, few, many, other, or those of them that the language
    has.
    """
    if code == SOURCE:
        return {}
    found = catalog_of(catalog_path(settings.LOCALE_PATHS[0], code, "djangojs"))
    return {
        one.source: list(one.forms) if one.plural else one.forms[0] for one in found.messages if one.forms[0]
    }
