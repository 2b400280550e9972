"""`{% translate "…" %}` for a text that stands in the template, as nearly each does: an annotator's page has a hundred.

Django's tag makes an expression of it, and a lazy text that is escaped, localized and put together. And to ask for the
language of the thread, and for English, which no catalog has, takes longer than all else: so an English page, whose
context says that it is one (`page_language`), shows the text as it stands. Whatever else the tag can do is Django's.
"""

import re
from typing import Any

from django import template
from django.template.base import Parser, Token
from django.templatetags.i18n import do_translate
from django.utils.translation import gettext

from web.languages import SOURCE

register = template.Library()
_LITERAL = re.compile(r'"([^"%\\]+)"')


class Literal(template.Node):
    """A text in the reader's language. What stands in a template is trusted, and so is a catalog."""

    def __init__(self, text: str) -> None:
        self.text = text

    def render(self, context: Any) -> str:
        return self.text if context.get("page_language") == SOURCE else gettext(self.text)


@register.tag(name="translate")
def translate_tag(parser: Parser, token: Token) -> template.Node:
    """Django's tag, and a quicker one where it has a text alone."""
    words = token.split_contents()
    literal = _LITERAL.fullmatch(words[1]) if len(words) == 2 else None
    return Literal(literal[1]) if literal else do_translate(parser, token)
