"""`{% fragment study=study done=progress.done|yesno:"1," places here csrf_token %} … {% endfragment %}`

A part of a page that is rendered once and kept, for pages that are shown again and again: the menus and dialogs around
an item are the same for all who work on a study. It knows the values that it names, and nothing else of the page, so
that it can't keep what is another person's. What it shows of the `places` changes from page to page: these stand in it
as they are now. A model among the values stands for what its own columns say; related rows may not be asked for.

`{% anew %} … {% endanew %}` in a fragment, or in a template that it includes, is rendered each time, by what the page
knows where the fragment stands: variables of a loop, of `with` or of an include around it aren't known to it.
"""

import re
from collections.abc import Hashable, Mapping
from functools import cache
from itertools import count
from secrets import token_hex
from typing import Any, NamedTuple

from django import template
from django.db.models import JSONField, Model
from django.template.base import FilterExpression, NodeList, Parser, Token, token_kwargs
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from web.caching import BoundedCache, caches_of

register = template.Library()
_CHARACTERS = 8_000_000
"""Kept of all fragments together, by each process."""
# Stands for a place while the fragment is rendered. Letters and digits alone, which no filter changes; nobody outside
# the process knows it, so that no text of others can hold it.
_MARK = f"place{token_hex(12)}n"
_SPLIT = re.compile(f"{_MARK}(\\d+)end")
_HOLDERS = "holders"
"""In a fragment, the name of the list of what has a mark: its places, then the nodes that are rendered each time."""
_numbers = count()


class _Rendered(NamedTuple):
    """Every second of the `parts` is the number of a place or, after these, of a node that is rendered each time;
    `characters` are those of the key as well.
    """

    parts: tuple[str, ...]
    nodes: tuple["Anew", ...]
    characters: int


_kept: BoundedCache[Hashable, _Rendered] = BoundedCache(
    limit=_CHARACTERS, weight=lambda rendered: rendered.characters
)


class Anew(template.Node):
    """What a fragment around it renders each time."""

    child_nodelists = ("nodelist",)

    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist

    def render(self, context: Any) -> SafeString:
        holders = context.get(_HOLDERS)
        if holders is None:
            return self.nodelist.render(context)
        holders.append(self)
        return SafeString(f"{_MARK}{len(holders) - 1}end")


class Fragment(template.Node):
    """What is between the tags; `values` are what it depends on, `places` the names of what changes in it."""

    child_nodelists = ("nodelist",)

    def __init__(self, nodelist: NodeList, values: Mapping[str, FilterExpression], places: list[str]) -> None:
        self.nodelist = nodelist
        self._values = values
        self._places = places
        self._number = next(_numbers)

    def render(self, context: Any) -> SafeString:
        values = {name: value.resolve(context, ignore_failures=True) for name, value in self._values.items()}
        values["page_language"] = context.get("page_language")
        now = [context.get(name) or "" for name in self._places]
        key: list[Any] = [self._number, get_language(), *(bool(value) for value in now)]
        for value in values.values():
            # Safe text equals the same text that isn't safe, and 1 equals True; they are rendered differently.
            key += _columns(value) if isinstance(value, Model) else [type(value), value]
        # The same for all people, and the same of a hidden check as of work.
        with caches_of(None):
            parts, nodes, _ = _kept.get(tuple(key), lambda: self._rendered_anew(context, values, now, key))
        shown = [str(conditional_escape(value)) for value in now]
        shown += [node.render(context) for node in nodes]
        return mark_safe(  # noqa: S308  (escaped, or rendered by a template)
            "".join(shown[int(part)] if place % 2 else part for place, part in enumerate(parts))
        )

    def _rendered_anew(
        self, context: Any, values: Mapping[str, Any], now: list[Any], key: list[Any]
    ) -> _Rendered:
        marks = {
            name: SafeString(f"{_MARK}{number}end") if value else ""
            for number, (name, value) in enumerate(zip(self._places, now, strict=True))
        }
        holders: list[Any] = [*self._places]
        html = self.nodelist.render(context.new({**values, **marks, _HOLDERS: holders}))
        characters = len(html) + sum(len(one) for one in key if isinstance(one, str))
        return _Rendered(tuple(_SPLIT.split(html)), tuple(holders[len(marks) :]), characters)


@cache
def _names(model: type[Model]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The names of its columns, and the places of those with lists and objects, which can't be in a key."""
    fields = model._meta.concrete_fields
    places = (place for place, field in enumerate(fields) if isinstance(field, JSONField))
    return tuple(field.attname for field in fields), tuple(places)


def _columns(row: Model) -> list[Hashable]:
    """What the row says, as parts of a key."""
    names, unhashable = _names(type(row))
    known = row.__dict__
    found: list[Hashable] = [known.get(name) for name in names]
    for place in unhashable:
        found[place] = repr(found[place])
    return [type(row), *found]


@register.tag
def fragment(parser: Parser, token: Token) -> Fragment:
    """Parse the tag; raises TemplateSyntaxError where it isn't of the form that the module says."""
    words = token.split_contents()[1:]
    values = token_kwargs(words, parser)  # takes them off `words`
    if words and (words[0] != "places" or not all(name.isidentifier() for name in words)):
        raise template.TemplateSyntaxError(
            f"fragment: expected name=value, and names after “places”; found {' '.join(words)}"
        )
    nodelist = parser.parse(("endfragment",))
    parser.delete_first_token()
    return Fragment(nodelist, values, words[1:])


@register.tag
def anew(parser: Parser, _token: Token) -> Anew:
    nodelist = parser.parse(("endanew",))
    parser.delete_first_token()
    return Anew(nodelist)
