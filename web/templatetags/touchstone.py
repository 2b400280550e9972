"""Template filters and tags of the interface: text of others, figures with their intervals, small plots."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from django import template
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, RadioSelect, Textarea
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from web.numbers import (
    UNDEFINED,
    duration,
    estimate_interval,
    estimate_range,
    estimate_value,
    interval_text,
    money,
    number_of,
    part_of,
    percent,
)
from web.rendering import render_markdown, render_plain
from web.source_map import source_map

register = template.Library()
for each in (percent, estimate_value, estimate_interval, estimate_range, duration, money):
    register.filter(each)


_BREAKS = re.compile(r"(?<=[^\W_])(?:[_:@/-]|\.(?!\d))(?=\w)")


@register.filter
def breakable(name: str) -> SafeString:
    """A name that may end a line after its punctuation, so that none of its words has to be broken.

    Examples
    --------
    >>> breakable("gpt-4_turbo.v2 & 3.5")
    'gpt-<wbr>4_<wbr>turbo.<wbr>v2 &amp; 3.5'
    >>> breakable(SafeString("isn&#x27;t a_b"))
    'isn&#x27;t a_<wbr>b'
    """
    return mark_safe(_BREAKS.sub(r"\g<0><wbr>", conditional_escape(name))) if name else SafeString()  # noqa: S308


@register.filter
def count(number: int) -> str:
    """A whole number with its thousands marked."""
    return f"{number:,}"


TYPED = ("text", "search")
_LEFT, _RIGHT = 4.0, 156.0  # ends of the axis in components/interval.html


# For inside ``<div class="prose">``.
register.filter("markdown", render_markdown)
register.filter("plain", render_plain)


@register.filter
def source_runs(text: str) -> str:
    """How what `markdown` shows of a text maps to the text, for `static/js/passages.js`."""
    return source_map(text).encoded()


@register.filter
def plain_source_runs(text: str) -> str:
    """The same of what `plain` shows."""
    return source_map(text, plain=True).encoded()


@register.filter
def lookup(fields: object, name: str) -> str:
    """The field of that name among fields as typed; empty where there is none."""
    return str(fields.get(name, "")) if isinstance(fields, Mapping) else ""


@register.filter(name="estimate")
def estimate_filter(estimate: object, unit: str = "percent") -> SafeString:
    """Value with interval and n: "65.7% [63.1, 68.2], n = 648". Units: percent, number, points, count."""
    rest = estimate_range(estimate, unit)
    value = format_html('<span class="estimate-value">{}</span>', estimate_value(estimate, unit))
    if rest:
        value += format_html(' <span class="estimate-range">{}</span>', rest)
    return format_html('<span class="estimate">{}</span>', value)


@register.filter
def widget_kind(field: BoundField) -> Literal["checkbox", "group", "input"]:
    """How a form field is laid out by components/field.html."""
    widget = field.field.widget
    if isinstance(widget, RadioSelect | CheckboxSelectMultiple):
        return "group"
    return "checkbox" if isinstance(widget, CheckboxInput) else "input"


@register.filter
def control(field: BoundField) -> SafeString:
    """A form field's control; what people type in it runs in the direction of its script."""
    typed = isinstance(field.field.widget, Textarea) or getattr(field.field.widget, "input_type", "") in TYPED
    return field.as_widget(attrs={"dir": "auto"} if typed else None)


def _position(value: float | None, minimum: float, maximum: float) -> str:
    """Place of a value on the axis, held within its ends, as an SVG coordinate; empty for None."""
    if value is None:
        return ""
    share = (value - minimum) / (maximum - minimum)
    return f"{_LEFT + (_RIGHT - _LEFT) * min(1.0, max(0.0, share)):.2f}"


@register.inclusion_tag("components/interval.html")
def interval_plot(
    estimate: object,
    minimum: float = 0.0,
    maximum: float = 1.0,
    *,
    mark: object = None,
    kind: str = "",
    unit: str = "percent",
) -> dict[str, Any]:
    """Dot and whisker of an estimate on an axis from `minimum` to `maximum`, `mark` as a dashed line.

    Raises ValueError for an empty axis. ``kind="people"`` draws it in the colour of people's own figure.
    """
    minimum, maximum = float(minimum), float(maximum)
    if not maximum > minimum:
        raise ValueError(f"the axis of an interval plot needs minimum < maximum, got {minimum} and {maximum}")
    value, low, high = (part_of(estimate, name) for name in ("value", "low", "high"))
    words = estimate_value(estimate, unit)
    if low is not None and high is not None:
        words += f" {interval_text(low, high, unit)}"
    else:
        low = high = None
    return {
        "value_x": _position(value, minimum, maximum),
        "low_x": _position(low, minimum, maximum),
        "high_x": _position(high, minimum, maximum),
        "mark_x": _position(number_of(mark), minimum, maximum),
        "kind": kind,
        "text": words,
    }


@register.inclusion_tag("components/bar.html")
def bar(share: object) -> dict[str, Any]:
    """A small bar of a share from 0 to 1."""
    number = number_of(share)
    width = 0.0 if number is None else 100 * min(1.0, max(0.0, number))
    return {"parts": [{"name": "fill", "x": "0", "width": f"{width:.2f}"}], "text": percent(share)}


@register.inclusion_tag("components/bar.html")
def share_bar(first: object, ties: object, second: object) -> dict[str, Any]:
    """A stacked bar of three amounts, as shares of their sum: first better, tie, second better."""
    amounts = [max(0.0, number_of(amount) or 0.0) for amount in (first, ties, second)]
    total = sum(amounts)
    shares = [amount / total if total else 0.0 for amount in amounts]
    parts, start = [], 0.0
    for name, share in zip(("1", "0", "2"), shares, strict=True):
        parts.append({"name": name, "x": f"{100 * start:.2f}", "width": f"{100 * share:.2f}"})
        start += share
    words = [percent(share) for share in shares]
    return {
        "parts": parts,
        "text": f"first {words[0]}, tie {words[1]}, second {words[2]}" if total else UNDEFINED,
    }
