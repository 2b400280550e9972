"""What a page says of its language, and the words of its scripts."""

from datetime import datetime

from django import template
from django.conf import settings
from django.utils.formats import date_format, number_format
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import get_language, get_language_bidi, pgettext

from web.languages import NAMES, SOURCE, script_words

register = template.Library()


@register.filter
def moment(value: datetime | None) -> str:
    """Day and time, as the page's language writes them: "22 Nov, 14:05"."""
    # Translators: the format of a day and a time, in the signs of Django's template filter "date".
    return date_format(localtime(value), pgettext("date format", "j M, H:i")) if value else ""


@register.filter
def grouped(number: int) -> str:
    """A whole number, its thousands marked as the page's language does it."""
    return number_format(number, force_grouping=True)


@register.simple_tag
def language_attributes() -> SafeString:
    """`lang` and `dir` of the page, for its root."""
    code = get_language() or SOURCE
    return format_html('lang="{}"{}', code, SafeString(' dir="rtl"') if get_language_bidi() else "")


@register.simple_tag
def language_words() -> SafeString:
    """The words of the page's scripts, as data; nothing in English, which is in the scripts themselves."""
    words = script_words(get_language() or SOURCE)
    return json_script(words, "words") if words else SafeString()


@register.simple_tag
def languages() -> list[tuple[str, str, bool]]:
    """All languages: code, name in its own words, and whether the page is in it."""
    here = get_language() or SOURCE
    return [(code, name, code == here) for code, name in NAMES.items()]


@register.simple_tag
def language_name() -> str:
    """The name of the page's language, in its own words."""
    return NAMES[get_language() or settings.LANGUAGE_CODE]
