"""Filters for figures of reports; they add the units of judges (money, seconds) to those of `touchstone`."""

from typing import Any

from django import template

from metaeval.reports import figures
from metaeval.views import addresses
from web.numbers import UNDEFINED, number_of

register = template.Library()
register.simple_tag(addresses.source_url)


@register.filter
def figure(estimate: dict[str, Any] | None, unit: str = "percent") -> str:
    """The value alone; a dash where it is undefined."""
    return figures.value_text(estimate, unit)


@register.filter
def figure_bare(estimate: dict[str, Any] | None, unit: str = "percent") -> str:
    """The value without its unit, for a column whose head says it."""
    return figures.value_text(estimate, unit, sign=False)


@register.filter
def figure_range(estimate: dict[str, Any] | None, unit: str = "percent") -> str:
    """Ends of the interval; empty where there is none."""
    return figures.range_text(estimate, unit)


@register.filter
def figure_alike(estimate: dict[str, Any] | None, unit: str = "percent") -> str:
    """Ends of the interval for annotators like these; empty where there is none."""
    return figures.range_text(figures.alike_of(estimate), unit)


@register.filter
def figure_full(estimate: dict[str, Any] | None, unit: str = "percent") -> str:
    """Value and interval, or why there is none."""
    return figures.full_text(estimate, unit)


@register.filter
def points(value: object) -> str:
    """A share as points without their unit: "4.5"; a dash where it is not known."""
    number = number_of(value)
    return (
        UNDEFINED if number is None else f"{100 * number + 0.0:.1f}".replace("-0.0", "0.0").replace("-", "−")
    )


@register.filter
def count(number: int) -> str:
    """A whole number with its thousands marked."""
    return f"{number:,}"
