"""Estimates as text, the same in Markdown, HTML and on pages."""

from collections.abc import Mapping
from typing import Any

from web.numbers import duration, estimate_range, estimate_value, money

Estimate = Mapping[str, Any]

NONE = "–"


def value_text(estimate: Estimate | None, unit: str = "percent", *, sign: bool = True) -> str:
    """The value alone; a dash where it is undefined."""
    value = None if estimate is None else estimate["value"]
    if estimate is None or value is None:
        return NONE
    if unit == "money":
        return money(value)
    if unit == "seconds":
        return duration(value)
    text = estimate_value(estimate, unit)
    return text if sign else text.removesuffix("%").removesuffix(" points")


def cell_query(figure: str, estimate: Estimate | None, unit: str = "percent") -> dict[str, str]:
    """What the address of the items behind a figure repeats of it; empty where it is undefined."""
    if estimate is None or estimate["value"] is None:
        return {}
    n = estimate.get("n")
    return {"figure": figure, "value": value_text(estimate, unit), "n": "" if n is None else str(n)}


def range_text(estimate: Estimate | None, unit: str = "percent") -> str:
    """Ends of the interval, "[63.1, 68.2]"; empty where there is none."""
    if estimate is None or estimate["low"] is None or estimate["high"] is None:
        return ""
    if unit in ("money", "seconds"):
        if estimate["low"] == estimate["high"]:
            return ""
        words = money if unit == "money" else duration
        return f"[{words(estimate['low'])}, {words(estimate['high'])}]"
    return estimate_range(
        {"value": estimate["value"], "low": estimate["low"], "high": estimate["high"]}, unit
    )


def full_text(estimate: Estimate | None, unit: str = "percent") -> str:
    """Value and interval: "65.7% [63.1, 68.2]"; the reason where it is undefined."""
    if estimate is None:
        return NONE
    if estimate["value"] is None:
        return f"{NONE} ({estimate['reason']})"
    ends = range_text(estimate, unit)
    return value_text(estimate, unit) + (f" {ends}" if ends else "")


THESE = "These annotators, new items"
ALIKE = "Annotators like these, new items"


def alike_of(estimate: Estimate | None) -> Estimate | None:
    """The same figure with its interval for annotators like these; None where it has none of its own."""
    found: Estimate | None = None if estimate is None else estimate.get("alike")
    return found


def both_text(estimate: Estimate | None, unit: str = "percent") -> str:
    """Value and both intervals: "65.7% [63.1, 68.2], annotators like these [60.2, 70.8]"."""
    ends = range_text(alike_of(estimate), unit)
    return full_text(estimate, unit) + (f", annotators like these {ends}" if ends else "")


def alike_text(estimate: Estimate | None, unit: str = "percent") -> str:
    """The interval for annotators like these, or why there is none; a dash for figures that have no second one."""
    found = alike_of(estimate)
    if found is None:
        return NONE
    return range_text(found, unit) or str(found.get("reason", NONE))


def points_text(value: float) -> str:
    """A difference of shares in percentage points."""
    amount = f"{100 * value:.1f}".replace("-", "−")
    return f"{amount} point" if amount in ("1.0", "−1.0") else f"{amount} points"
