"""The tables and the picture of a choice of a judge. Pure functions of its content."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.reports.figures import value_text
from metaeval.reports.selection_words import NBSP, unbroken, violation_words
from metaeval.reports.tables import axis_of

Content = Mapping[str, Any]
FREE = 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """A judge. ``status`` is "winner", "leads", "in set", "behind", "violates", "not ranked" or "baseline".

    ``scores`` has a dataset and the judge's figure on it for each column of the table.
    """

    judge: Mapping[str, Any]
    standing: Mapping[str, Any]
    status: str
    violations: tuple[str, ...]
    scores: tuple[tuple[Mapping[str, Any], Mapping[str, Any] | None], ...]
    drawn: bool


@dataclass(frozen=True, slots=True)
class Table:
    """All judges, best first, with the axis of their plots.

    Datasets have a column each, but for one that alone decides: its score is the objective, and it is
    ``objective_of``.
    """

    datasets: tuple[Mapping[str, Any], ...]
    rows: tuple[Row, ...]
    low: float
    high: float
    objective_of: Mapping[str, Any] | None


def table_of(content: Content) -> Table:
    """All judges as they stand."""
    judges = {judge["key"]: judge for judge in content["judges"]}
    standings = [row for row in content["standings"] if row["judge"] in judges]
    # Rules far below all judges would stretch the axis until real judges look alike.
    real = [row["objective"] for row in standings if judges[row["judge"]]["backend"] != "heuristic"]
    low, high = axis_of(real or [row["objective"] for row in standings])
    deciding = [row for row in content["datasets"] if row["weight"] > 0]
    datasets = [row for row in content["datasets"] if deciding != [row]]
    rows = []
    for standing in standings:
        judge, value = judges[standing["judge"]], standing["objective"]["value"]
        rows.append(
            Row(
                judge=judge,
                standing=standing,
                status=_status(content, judge, standing),
                violations=unbroken([violation_words(one) for one in standing["violations"]]),
                scores=tuple((row, standing["scores"].get(row["name"])) for row in datasets),
                drawn=value is not None and low <= value <= high,
            )
        )
    return Table(tuple(datasets), tuple(rows), low, high, deciding[0] if len(deciding) == 1 else None)


def _status(content: Content, judge: Mapping[str, Any], standing: Mapping[str, Any]) -> str:
    key = judge["key"]
    if judge["baseline"]:
        return "baseline"
    if standing["violations"]:
        return "violates"
    if key == content["winner"]:
        return "winner"
    if key == content["leader"]:
        return "leads"
    if not standing["is_ranked"]:
        return "not ranked"
    return "in set" if standing["in_confidence_set"] else "behind"


# --- the picture ---------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 640.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 616.0, 16.0, 256.0
_GAP = 48.0  # between what costs nothing and the rest, whose axis is logarithmic


@dataclass(frozen=True, slots=True)
class Point:
    """A judge in the picture; coordinates as text, as SVG takes them. ``mark`` is its number in the table."""

    mark: int
    name: str
    kind: str  # "front", "eligible", "violates", "baseline"
    x: str
    y: str
    low_y: str
    high_y: str
    text_x: str
    text_anchor: str
    text: str
    cost: Mapping[str, Any]
    objective: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: str
    label: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Agreement against cost; ``front`` is a path through the judges that no other beats in both."""

    points: tuple[Point, ...]
    front: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    without_cost: tuple[str, ...]


def picture_of(content: Content) -> Picture | None:
    """Where each judge stands between agreement and cost; None where no two known costs differ."""
    judges = {judge["key"]: judge for judge in content["judges"]}
    placed, without = [], []
    for standing in content["standings"]:
        judge = judges.get(standing["judge"])
        if judge is None or standing["objective"]["value"] is None:
            continue
        if standing["cost_per_1000"]["value"] is None:
            without.append(judge["name"])
        else:
            placed.append((judge, standing))
    if len({standing["cost_per_1000"]["value"] for _, standing in placed}) < 2:
        return None
    x_of, x_ticks = _cost_axis([standing["cost_per_1000"]["value"] for _, standing in placed])
    low, high = axis_of(standing["objective"] for _, standing in placed)

    def y_of(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (min(high, max(low, value)) - low) / (high - low)

    points = [_point(k + 1, *pair, x_of, y_of, content) for k, pair in enumerate(placed)]
    places = {standing["judge"]: point for (_, standing), point in zip(placed, points, strict=True)}
    step = 0.1 if high - low <= 0.6 else 0.2
    ticks = [low + step * k for k in range(round((high - low) / step) + 1)]
    return Picture(
        tuple(points),
        _steps([places[key] for key in content["front"] if key in places]),
        x_ticks,
        tuple(Tick(f"{y_of(value):.1f}", f"{100 * value:.0f}{NBSP}%") for value in ticks),
        tuple(without),
    )


def _point(
    mark: int, judge: Mapping[str, Any], standing: Mapping[str, Any], x_of: Any, y_of: Any, content: Content
) -> Point:
    cost, objective = standing["cost_per_1000"], standing["objective"]
    if judge["baseline"]:
        kind = "baseline"
    elif standing["violations"]:
        kind = "violates"
    else:
        kind = "front" if judge["key"] in content["front"] else "eligible"
    x = x_of(cost["value"])
    ends = [objective["low"], objective["high"]]
    low_y, high_y = ("", "") if None in ends else (f"{y_of(end):.1f}" for end in ends)
    right = x < _RIGHT - 40
    return Point(
        mark=mark,
        name=judge["name"],
        kind=kind,
        x=f"{x:.1f}",
        y=f"{y_of(objective['value']):.1f}",
        low_y=low_y,
        high_y=high_y,
        text_x=f"{x + 8 if right else x - 8:.1f}",
        text_anchor="start" if right else "end",
        text=f"{judge['name']}: {value_text(objective)}, {value_text(cost, 'money')} for 1,000 judgments",
        cost=cost,
        objective=objective,
    )


def _cost_axis(costs: Sequence[float]) -> tuple[Any, tuple[Tick, ...]]:
    """Costs on a logarithmic axis; what costs nothing stands at its left end, apart."""
    paid = [cost for cost in costs if cost > 0]
    start = _LEFT + 16 + (_GAP if len(paid) < len(costs) else 0)
    ticks = [Tick(f"{_LEFT + 16:.1f}", "$0")] if len(paid) < len(costs) else []
    if not paid:
        return (lambda _: _LEFT + 16), tuple(ticks)
    low, high = math.floor(math.log10(min(paid)) * 2) / 2, math.ceil(math.log10(max(paid)) * 2) / 2
    if high - low < 1:
        low, high = math.floor(low), math.ceil(high) + (math.floor(low) == math.ceil(high))
    end = _RIGHT - 16

    def x_of(cost: float) -> float:
        if cost <= 0:
            return _LEFT + 16
        return start + (end - start) * (math.log10(cost) - low) / (high - low)

    whole = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1)]
    ticks += [
        Tick(f"{x_of(cost):.1f}", value_text({"value": cost}, "money").removesuffix(".00")) for cost in whole
    ]
    return x_of, tuple(ticks)


def _steps(points: Sequence[Point]) -> str:
    """A path along the front: to the right at the same height, then up. For what it costs, no judge is better."""
    if len(points) < 2:
        return ""
    path = f"M{points[0].x} {points[0].y}"
    for point in points[1:]:
        path += f"H{point.x}V{point.y}"
    return path
