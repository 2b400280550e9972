"""Numbers as text: shares, estimates with their intervals, durations and money, the same on pages and in reports.

An *estimate* is anything with ``value``, ``low``, ``high`` and ``n``, as attributes or as keys; missing or
undefined parts are None or NaN and are shown as "not defined", never as 0.
"""

import math

UNDEFINED = "not defined"


def number_of(value: object) -> float | None:
    """A finite float, or None for whatever is missing, undefined or no number."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def part_of(estimate: object, name: str) -> float | None:
    """One of the numbers of an estimate; None where it is missing or undefined."""
    if isinstance(estimate, dict):
        return number_of(estimate.get(name))
    return number_of(getattr(estimate, name, None))


def _count(number: float) -> str:
    return f"{round(number):,}"


def figure_text(number: float, unit: str, *, sign: bool = True) -> str:
    """One number in a unit: "percent" (a share, times 100), "number" (three decimals), "points", "count"."""
    if unit == "number":
        return f"{number:.3f}".replace("-", "−")
    if unit == "count":
        return _count(number)
    if unit == "points":
        return f"{100 * number:.1f}{' points' if sign else ''}".replace("-", "−")
    return f"{100 * number:.1f}{'%' if sign else ''}".replace("-", "−")


def percent(value: object, decimals: int | str = 1) -> str:
    """A share as a percentage: ``0.657|percent`` is "65.7%"."""
    number = number_of(value)
    return UNDEFINED if number is None else f"{100 * number:.{int(decimals)}f}%".replace("-", "−")


def estimate_value(estimate: object, unit: str = "percent") -> str:
    """The value alone: "65.7%"."""
    value = part_of(estimate, "value")
    return UNDEFINED if value is None else figure_text(value, unit or "percent")


def interval_text(low: float, high: float, unit: str = "percent") -> str:
    """The ends of an interval, without the unit that stands beside the value: "[63.1, 68.2]"."""
    return f"[{figure_text(low, unit, sign=False)}, {figure_text(high, unit, sign=False)}]"


def estimate_interval(estimate: object, unit: str = "percent") -> str:
    """The interval alone: "[63.1, 68.2]"; empty where there is none."""
    low, high = part_of(estimate, "low"), part_of(estimate, "high")
    return "" if low is None or high is None else interval_text(low, high, unit)


def estimate_range(estimate: object, unit: str = "percent") -> str:
    """Interval and n: "[63.1, 68.2], n = 648"; the reason where the value is undefined."""
    interval, n = estimate_interval(estimate, unit), part_of(estimate, "n")
    reason = estimate.get("reason") if isinstance(estimate, dict) else getattr(estimate, "reason", None)
    parts = [interval] if interval else []
    if n is not None:
        parts.append(f"n = {_count(n)}")
    if part_of(estimate, "value") is None and reason:
        parts.append(str(reason))
    return ", ".join(parts)


def duration(seconds: object) -> str:
    """Seconds (or a timedelta) in the two largest units: "2 min 5 s", "340 ms", "1 d 3 h"."""
    total = getattr(seconds, "total_seconds", None)
    number = number_of(total() if callable(total) else seconds)
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


def money(amount: object, currency: str = "$") -> str:
    """Money with as many decimals as the amount needs: "$7.90", "$0.0021", "$0"."""
    number = number_of(amount)
    if number is None:
        return UNDEFINED
    if number == 0:
        return f"{currency}0"
    sign, size = ("−" if number < 0 else ""), abs(number)
    decimals = 2 if size >= 0.095 else min(6, 1 - math.floor(math.log10(size)))
    return f"{sign}{currency}{size:,.{decimals}f}"
