"""What an answer to an item says, in words."""

from collections.abc import Mapping
from dataclasses import replace

from django import template

from annotation.kinds import kind_of
from annotation.kinds.base import NO_ANSWER
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import spoken

register = template.Library()
register.filter("spoken", spoken)
# What the page of an item does not use for anything else.
_KEYS = "1234567890ertahlzxcvbn"


@register.filter
def category_key(place: int) -> str:
    """The key that chooses the category at a place, counted from 0; empty where there are more than keys."""
    return _KEYS[place : place + 1]


@register.simple_tag(name="answer_words")
def answer_words_tag(item: ShownItem, fields: Mapping[str, str] | None) -> tuple[AnswerPart, ...]:
    """What an answer, given as form fields, says of each part of the item."""
    return kind_of(item.kind).words(item, fields or {})


@register.simple_tag
def compared_words(
    item: ShownItem, given: Mapping[str, str], right: Mapping[str, str]
) -> tuple[tuple[AnswerPart, AnswerPart], ...]:
    """Each part of an item as it was answered, marked where it is wrong, and as it is right; in the order of the
    right answer, so that two rankings can be read side by side.
    """
    answered = {part.name: part for part in kind_of(item.kind).words(item, given)}
    pairs = []
    for expected in kind_of(item.kind).words(item, right):
        said = answered.get(expected.name, AnswerPart(expected.name, NO_ANSWER))
        is_wrong = expected.words not in (said.words, NO_ANSWER)
        pairs.append((replace(said, is_wrong=is_wrong), expected))
    return tuple(pairs)
