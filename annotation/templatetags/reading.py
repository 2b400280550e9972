"""What a page knows of how its reader likes to read."""

from typing import Any

from django import template
from django.template.context import Context
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from annotation.domain.reading import COOKIE, PREFERENCES, changed, reading_preferences
from annotation.domain.words import words_count
from web.cookies import cookie_read

register = template.Library()


def _reading(context: Context) -> dict[str, str]:
    request = context.get("request")
    return reading_preferences(cookie_read(request, COOKIE) if request else "")


@register.simple_tag(takes_context=True)
def reading_attributes(context: Context) -> SafeString:
    """Attributes of the page's root, which its style sheet reads: one for each preference that isn't the default."""
    return format_html_join("", ' data-reading-{}="{}"', changed(_reading(context)))


@register.simple_tag(takes_context=True)
def as_written(context: Context) -> bool:
    """Whether this person reads answers as they are written, without Markdown."""
    return _reading(context)["text"] == "written"


@register.simple_tag(takes_context=True)
def reading_fields(context: Context) -> list[dict[str, Any]]:
    """The preferences that mean something on this page, each with the choice that holds."""
    given, study = _reading(context), context.get("study")
    is_pair = bool(study and study.kind_info.presented)
    return [
        {"preference": one, "chosen": given[one.name]}
        for one in PREFERENCES
        if (is_pair or not one.of_pairs) and (one.name != "differences" or (study and study.show_differences))
    ]


@register.filter
def word_count(text: str) -> int:
    """How many words a text has (`words_count`)."""
    return words_count(text)
