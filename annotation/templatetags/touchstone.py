"""Template filters and tags of the interface: text of others, figures with their intervals, small plots.

An *estimate* is anything with ``value``, ``low``, ``high`` and ``n``, as attributes or as keys; missing or
undefined parts are None or NaN and are shown as "not defined", never as 0.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from django import template
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, RadioSelect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.rendering import render_markdown, render_plain
from annotation.selectors.shown import NO_ANSWER, AnswerPart, ShownItem, answer_words, spoken

register = template.Library()

UNDEFINED = "not defined"
_LEFT, _RIGHT = 4.0, 156.0  # ends of the axis in components/interval.html


@register.filter
def markdown(text: str | None) -> SafeString:
    """Markdown of any origin as safe HTML (for inside ``<div class="prose">``)."""
    return render_markdown(text)


@register.filter
def plain(text: str | None) -> SafeString:
    """Text as it is written, escaped, with its line breaks kept (for inside ``<div class="prose">``)."""
    return render_plain(text)


@register.filter
def lookup(fields: object, name: str) -> str:
    """The field of that name among fields as typed; empty where there is none."""
    return str(fields.get(name, "")) if isinstance(fields, Mapping) else ""


@register.filter(name="spoken")
def spoken_filter(key: str) -> str:
    """The key of a criterion as a heading: "instruction_following" is "Instruction following"."""
    return spoken(str(key))


@register.simple_tag(name="answer_words")
def answer_words_tag(item: ShownItem, fields: Mapping[str, str] | None) -> tuple[AnswerPart, ...]:
    """What an answer, given as form fields, says of each part of the item."""
    return answer_words(item, fields or {})


@register.simple_tag
def compared_words(
    item: ShownItem, given: Mapping[str, str], right: Mapping[str, str]
) -> tuple[tuple[AnswerPart, AnswerPart], ...]:
    """Each part of an item as it was answered, marked where it is wrong, and as it is right; in the order of the
    right answer, so that two rankings can be read side by side.
    """
    answered = {part.name: part for part in answer_words(item, given)}
    pairs = []
    for expected in answer_words(item, right):
        said = answered.get(expected.name, AnswerPart(expected.name, NO_ANSWER))
        is_wrong = expected.words not in (said.words, NO_ANSWER)
        pairs.append((replace(said, is_wrong=is_wrong), expected))
    return tuple(pairs)


def _number(value: object) -> float | None:
    """A finite float, or None for whatever is missing, undefined or no number."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _part(estimate: object, name: str) -> float | None:
    if isinstance(estimate, dict):
        return _number(estimate.get(name))
    return _number(getattr(estimate, name, None))


def _count(number: float) -> str:
    return f"{round(number):,}"


def _figure(number: float, unit: str, *, sign: bool = True) -> str:
    """One number in a unit: "percent" (a share, times 100), "number" (three decimals), "points", "count"."""
    if unit == "number":
        return f"{number:.3f}".replace("-", "−")
    if unit == "count":
        return _count(number)
    if unit == "points":
        return f"{100 * number:.1f}{' points' if sign else ''}".replace("-", "−")
    return f"{100 * number:.1f}{' %' if sign else ''}".replace("-", "−")


@register.filter
def percent(value: object, decimals: int | str = 1) -> str:
    """A share as a percentage: ``0.657|percent`` is "65.7 %"."""
    number = _number(value)
    return UNDEFINED if number is None else f"{100 * number:.{int(decimals)}f} %".replace("-", "−")


@register.filter
def estimate_value(estimate: object, unit: str = "percent") -> str:
    """The value alone: "65.7 %"."""
    value = _part(estimate, "value")
    return UNDEFINED if value is None else _figure(value, unit or "percent")


@register.filter
def estimate_range(estimate: object, unit: str = "percent") -> str:
    """Interval and n: "63.1 to 68.2, n = 648"; the reason where the value is undefined."""
    low, high, n = (_part(estimate, name) for name in ("low", "high", "n"))
    reason = estimate.get("reason") if isinstance(estimate, dict) else getattr(estimate, "reason", None)
    parts = []
    if low is not None and high is not None:
        parts.append(f"{_figure(low, unit, sign=False)} to {_figure(high, unit, sign=False)}")
    if n is not None:
        parts.append(f"n = {_count(n)}")
    if _part(estimate, "value") is None and reason:
        parts.append(str(reason))
    return ", ".join(parts)


@register.filter(name="estimate")
def estimate_filter(estimate: object, unit: str = "percent") -> SafeString:
    """Value with interval and n: "65.7 % (63.1 to 68.2, n = 648)". Units: percent, number, points, count."""
    rest = estimate_range(estimate, unit)
    value = format_html('<span class="estimate-value">{}</span>', estimate_value(estimate, unit))
    if rest:
        value += format_html(' <span class="estimate-range">({})</span>', rest)
    return format_html('<span class="estimate">{}</span>', value)


@register.filter
def duration(seconds: object) -> str:
    """Seconds (or a timedelta) in the two largest units: "2 min 5 s", "340 ms", "1 d 3 h"."""
    total = getattr(seconds, "total_seconds", None)
    number = _number(total() if callable(total) else seconds)
    if number is None:
        return UNDEFINED
    if number < 0:
        return f"−{duration(-number)}"
    if number < 1:
        return f"{round(number * 1000)} ms" if number else "0 s"
    if number < 10:
        return f"{number:.1f} s"
    whole = round(number)
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts = []
    for name, size in units:
        amount, whole = divmod(whole, size)
        if amount:
            parts.append(f"{amount} {name}")
        elif parts:
            break  # "1 d 5 s" would claim a precision that the gap denies
    return " ".join(parts[:2])


@register.filter
def money(amount: object, currency: str = "$") -> str:
    """Money with as many decimals as the amount needs: "$7.90", "$0.0021", "$0"."""
    number = _number(amount)
    if number is None:
        return UNDEFINED
    if number == 0:
        return f"{currency}0"
    sign, size = ("−" if number < 0 else ""), abs(number)
    decimals = 2 if size >= 0.095 else min(6, 1 - math.floor(math.log10(size)))
    return f"{sign}{currency}{size:,.{decimals}f}"


@register.filter
def widget_kind(field: BoundField) -> Literal["checkbox", "group", "input"]:
    """How a form field is laid out by components/field.html."""
    widget = field.field.widget
    if isinstance(widget, RadioSelect | CheckboxSelectMultiple):
        return "group"
    return "checkbox" if isinstance(widget, CheckboxInput) else "input"


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
    value, low, high = (_part(estimate, name) for name in ("value", "low", "high"))
    words = estimate_value(estimate, unit)
    if low is not None and high is not None:
        words += f", {_figure(low, unit, sign=False)} to {_figure(high, unit, sign=False)}"
    else:
        low = high = None
    return {
        "value_x": _position(value, minimum, maximum),
        "low_x": _position(low, minimum, maximum),
        "high_x": _position(high, minimum, maximum),
        "mark_x": _position(_number(mark), minimum, maximum),
        "kind": kind,
        "text": words,
    }


@register.inclusion_tag("components/bar.html")
def bar(share: object) -> dict[str, Any]:
    """A small bar of a share from 0 to 1."""
    number = _number(share)
    width = 0.0 if number is None else 100 * min(1.0, max(0.0, number))
    return {"parts": [{"name": "fill", "x": "0", "width": f"{width:.2f}"}], "text": percent(share)}


@register.inclusion_tag("components/bar.html")
def share_bar(first: object, ties: object, second: object) -> dict[str, Any]:
    """A stacked bar of three amounts, as shares of their sum: first better, tie, second better."""
    amounts = [max(0.0, _number(amount) or 0.0) for amount in (first, ties, second)]
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
