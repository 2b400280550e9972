"""Passages of answers that are marked as reasons: what a page needs to mark them and to show them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from django import template
from django.utils.translation import gettext

from annotation.forms.evidence import COPIED, TAKEN_BACK, copied_field, marks_read
from annotation.kinds.base import letter_of
from annotation.kinds.evidence import KEY, MAX_MARKS, MAX_PASSAGE, MarkReason, texts_within
from annotation.kinds.shown import ShownItem
from annotation.selectors.shown import mark_reasons

register = template.Library()
FEW = 4  # parts that have a button each


@dataclass(frozen=True, slots=True)
class MarkShown:
    """A mark that is in the form: where it is taken back without a script, and its words."""

    field: str
    label: str
    quote: str


@dataclass(frozen=True, slots=True)
class CopiedPassages:
    """The field into which passages are copied without a script."""

    field: str
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Marking:
    """What the form of an item needs for marking.

    Attributes
    ----------
    written
        The marks, as the field has them.
    reasons, options
        The reasons, and as JSON for the script: name and label of each.
    with_buttons
        Whether each reason has a button; otherwise they're a list.
    is_possible
        Whether a response can be marked at all.
    head
        What stands before the reasons.
    """

    written: str
    reasons: tuple[MarkReason, ...]
    options: str
    with_buttons: bool
    is_possible: bool
    head: str
    most: int = MAX_MARKS
    longest: int = MAX_PASSAGE


@register.simple_tag
def marking_of(item: ShownItem, fields: Mapping[str, str] | None) -> Marking:
    """What the form of an item needs for marking."""
    reasons = mark_reasons(item)
    return Marking(
        written=(fields or {}).get(KEY, ""),
        reasons=reasons,
        options=json.dumps([[reason.name, reason.label] for reason in reasons], ensure_ascii=False),
        with_buttons=len(reasons) <= FEW,
        is_possible=any(response.markable for response in item.responses),
        head=gettext("Reason for") if any(reason.part for reason in reasons) else gettext("Mark as"),
    )


@dataclass(frozen=True, slots=True)
class MarkedResponse:
    """The marks of one response, for a page without scripts."""

    letter: str
    anchor: str
    marks: tuple[MarkShown, ...]
    copied: tuple[CopiedPassages, ...]

    @property
    def has_text(self) -> bool:
        """Whether something was copied and not taken yet."""
        return any(one.value for one in self.copied)


@register.simple_tag
def marked_response(item: ShownItem, place: int, fields: Mapping[str, str] | None) -> MarkedResponse:
    """The marks of the response that is shown at a place, counted from 0."""
    fields, reasons = fields or {}, mark_reasons(item)
    labels = {reason.name: reason.label for reason in reasons}
    texts = dict(texts_within(item.responses[place].markable))
    return MarkedResponse(
        letter_of(place) if len(item.responses) > 1 else "",
        f"{COPIED}{place}",
        tuple(
            MarkShown(
                f"{TAKEN_BACK}{number}",
                labels.get(mark.reason, ""),
                texts.get(mark.message, "")[mark.start : mark.end],
            )
            for number, mark in enumerate(marks_read(fields.get(KEY, "")))
            if mark.response == place
        ),
        tuple(
            CopiedPassages(name, reason.label, fields.get(name, ""))
            for reason in reasons
            if (name := copied_field(place, reason))
        ),
    )
