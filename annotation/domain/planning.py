"""What a study will ask of people and cost, as far as it can be told beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

CENT = Decimal("0.01")
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Plan:
    """`labels` of `items`; `hidden` are the checks and repeats beside them, which are answered and paid as well.

    `cost` is None where nothing is paid. `hourly` is what a person earns in an hour at this speed.
    """

    items: int
    overlap: int
    labels: int
    hidden: int
    seconds: float
    hours: float
    cost: Decimal | None
    hourly: Decimal | None
    below_floor: bool


def study_plan(
    *,
    items: int,
    overlap: int,
    seconds: float,
    hidden_share: float = 0.0,
    per_item: Decimal = Decimal(0),
    per_hour: Decimal = Decimal(0),
    by_time: bool = False,
    floor: Decimal | None = None,
) -> Plan:
    """The plan of a study whose labels take `seconds` each.

    `hidden_share` of what people are given are checks and repeats, so that beside L labels they answer
    ``L * share / (1 - share)`` of these.

    Examples
    --------
    >>> plan = study_plan(items=120, overlap=4, seconds=72, per_item=Decimal("0.12"))
    >>> plan.labels, round(plan.hours, 1), str(plan.cost), str(plan.hourly)
    (480, 9.6, '57.60', '6.00')
    """
    labels = items * overlap
    hidden = round(labels * hidden_share / (1 - hidden_share)) if 0 <= hidden_share < 1 else 0
    hours = (labels + hidden) * seconds / HOUR
    if by_time:
        cost, hourly = per_hour * Decimal(str(hours)), per_hour
    else:
        cost, hourly = per_item * (labels + hidden), per_item * Decimal(str(HOUR / seconds))
    paid = bool(per_hour if by_time else per_item)
    hourly = hourly.quantize(CENT)
    return Plan(
        items=items,
        overlap=overlap,
        labels=labels,
        hidden=hidden,
        seconds=seconds,
        hours=hours,
        cost=cost.quantize(CENT) if paid else None,
        hourly=hourly if paid else None,
        below_floor=floor is not None and hourly < floor,
    )
