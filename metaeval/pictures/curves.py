"""Pictures of one number against another: curves with their intervals, and points."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.pictures.intervals import series_scales
from metaeval.pictures.marks import placed_marks
from metaeval.pictures.palette import DASHES, LIGHT, SERIES
from metaeval.pictures.parts import ReferenceLine, inline_values, reference_lines, specification, unit_axis
from metaeval.pictures.picture import Spec


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a curve, with its interval and what it is in words."""

    x: float
    y: float
    low: float | None
    high: float | None
    said: str
    series: str = ""


@dataclass(frozen=True, slots=True)
class MarkedPoint:
    """A point by itself: its intervals up and across, its series, and the mark beside it (a name, a number, nothing).

    ``short`` stands there where the mark has no room; ``href`` is where it leads.
    """

    x: float
    y: float
    low: float | None
    high: float | None
    series: str
    said: str
    mark: str = ""
    x_low: float | None = None
    x_high: float | None = None
    href: str = ""
    short: str = ""


@dataclass(frozen=True, slots=True)
class CurveAxes:
    """What the axes of a curve are called, their units and ends; ends that are None come from the data.

    ``currency`` is the sign of a unit of money; ``y_log`` and ``x_log`` make an axis logarithmic.
    """

    x_title: str
    y_title: str
    x_unit: str = "percent"
    y_unit: str = "percent"
    x_domain: tuple[float, float] | None = None
    y_domain: tuple[float, float] | None = None
    currency: str = "$"
    x_log: bool = False
    y_log: bool = False

    def encoded(self, narrow: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """The encodings of x and y."""

        def channel(
            field: str, title: str, unit: str, domain: tuple[float, float] | None, ticks: int, log: bool
        ) -> dict[str, Any]:
            scale: dict[str, Any] = (
                {"domain": list(domain), "nice": False} if domain else {"zero": False, "nice": True}
            )
            if log:
                scale = {name: value for name, value in scale.items() if name != "zero"} | {"type": "log"}
            axis = unit_axis(unit, title, tickCount=ticks)
            if unit == "money" and self.currency != "$":
                del axis["format"]
                axis["labelExpr"] = f"{json.dumps(self.currency)} + format(datum.value, ',~r')"
            return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}

        ticks = 4 if narrow else 6
        return (
            channel("x", self.x_title, self.x_unit, self.x_domain, ticks, self.x_log),
            channel("y", self.y_title, self.y_unit, self.y_domain, 5, self.y_log),
        )


def curve_spec(
    points: Sequence[CurvePoint],
    axes: CurveAxes,
    *,
    line: bool = True,
    symbols: bool = True,
    diagonal: bool = False,
    across: Sequence[ReferenceLine] = (),
    upright: Sequence[ReferenceLine] = (),
    narrow: bool = False,
) -> Spec:
    """Curves with a band for the interval, or points with bars where they are not joined."""
    x, y = axes.encoded(narrow)
    names = list(dict.fromkeys(point.series for point in points))
    scales = series_scales(names)
    if symbols and len(names) > 1:  # the dash of a line would be drawn around its symbol
        for channel in scales.values():
            channel["legend"] = {**channel["legend"], "symbolStrokeWidth": 0}
    values = [
        {
            "x": one.x,
            "y": one.y,
            "low": one.low,
            "high": one.high,
            "series": one.series,
            "said": one.said,
        }
        for one in points
    ]
    ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    known = {"transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}]}
    layers: list[dict[str, Any]] = []
    if diagonal:
        low, high = axes.x_domain or (0.0, 1.0)
        layers.append(
            {
                "data": inline_values([{"x": low, "y": low}, {"x": high, "y": high}]),
                "mark": {
                    "type": "line",
                    "color": LIGHT["line-strong"],
                    "strokeDash": [4, 3],
                    "strokeWidth": 1.5,
                },
                "encoding": {"x": x, "y": y},
            }
        )
    layers += [*reference_lines(across, "y"), *reference_lines(upright, "x")]
    color = scales["color"]
    if line:
        band = {"x": x, **ends, "color": color}
        layers.append(
            {**known, "mark": {"type": "area", "opacity": 0.18, "interpolate": "linear"}, "encoding": band}
        )
        dash = {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": names, "range": [DASHES[k % len(DASHES)] for k in range(len(names))]},
            "legend": color["legend"],
        }
        layers.append(
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"x": x, "y": y, "color": color, "strokeDash": dash},
            }
        )
    else:
        layers.append(
            {
                **known,
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": x, **ends, "color": color},
            }
        )
    if symbols:
        layers.append(
            {
                "mark": {"type": "point", "aria": True, "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": x, "y": y, **scales, "description": {"field": "said"}},
            }
        )
    return specification(
        layers, narrow=narrow, data=inline_values(values), width=260 if narrow else 450, height=260
    )


def scatter_spec(
    points: Sequence[MarkedPoint],
    axes: CurveAxes,
    *,
    front: Sequence[tuple[float, float]] = (),
    across: Sequence[ReferenceLine] = (),
    upright: Sequence[ReferenceLine] = (),
    by_cost: bool = False,
    narrow: bool = False,
) -> Spec:
    """Points with their intervals, as bars up and across, and marks.

    ``front`` is a line of steps through points that no other beats in both; ``by_cost`` makes x logarithmic, with room
    for what costs nothing.
    """
    x, y = axes.encoded(narrow)
    if by_cost:
        costs = [one.x for one in points]
        # A bar as far down as zero ends at the edge of a logarithmic axis.
        ends = [end for one in points for end in (one.x_low, one.x_high) if end]
        x = x | cost_axis(costs + ends, axes.x_title, narrow)
    least = x["scale"].get("domain", [-math.inf])[0]
    size, limit = ((260.0, 290.0), 90) if narrow else ((450.0, 290.0), 190)
    marks = placed_marks(
        _pixels(points, x["scale"], y["scale"], size), [(one.mark, one.short) for one in points], size, limit
    )
    values = [
        {
            "x": one.x,
            "y": one.y,
            "low": one.low,
            "high": one.high,
            "x_low": None if one.x_low is None else max(one.x_low, least),
            "x_high": one.x_high,
            "series": one.series,
            "said": one.said,
            "mark": mark.text,
            "dx": mark.dx,
            "dy": mark.dy,
            "align": mark.align,
            **({"href": one.href} if one.href else {}),
        }
        for one, mark in zip(points, marks, strict=True)
    ]
    href = {"href": {"field": "href", "type": "nominal"}} if any(one.href for one in points) else {}
    scales = series_scales([one.series for one in points])
    layers: list[dict[str, Any]] = []
    layers += [*reference_lines(across, "y"), *reference_lines(upright, "x")]
    if len(front) > 1:
        layers.append(
            {
                "data": inline_values({"x": a, "y": b} for a, b in front),
                "mark": {"type": "line", "interpolate": "step-after", "color": SERIES[0], "strokeWidth": 1.5},
                "encoding": {"x": x, "y": y},
            }
        )
    layers += [
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.55},
            "encoding": {
                "x": x,
                "y": {**y, "field": "low"},
                "y2": {"field": "high"},
                "color": scales["color"],
            },
        },
        {
            "transform": [{"filter": "isValid(datum.x_low) && datum.x_low < datum.x_high"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.55},
            "encoding": {
                "x": {**x, "field": "x_low"},
                "x2": {"field": "x_high"},
                "y": y,
                "color": scales["color"],
            },
        },
        {
            "mark": {"type": "point", "aria": True, "filled": True, "size": 80, "opacity": 1},
            "encoding": {"x": x, "y": y, **scales, "description": {"field": "said"}, **href},
        },
        {
            "transform": [{"filter": "datum.mark != ''"}],
            "mark": {
                "type": "text",
                "limit": limit,
                "baseline": "middle",
                **{name: {"expr": f"datum.{name}"} for name in ("align", "dx", "dy")},
            },
            "encoding": {"x": x, "y": y, "text": {"field": "mark"}},
        },
    ]
    return specification(
        layers, narrow=narrow, data=inline_values(values), width=int(size[0]), height=int(size[1])
    )


def _pixels(
    points: Sequence[MarkedPoint], x: Mapping[str, Any], y: Mapping[str, Any], size: tuple[float, float]
) -> list[tuple[float, float]]:
    """About where points are drawn: a scale without a domain ends where its data does."""

    def shares(
        scale: Mapping[str, Any], values: Sequence[float], ends: Sequence[float | None]
    ) -> list[float]:
        def moved(value: float) -> float:
            if scale.get("type") == "log":
                return math.log(value)
            return math.log1p(value / scale["constant"]) if scale.get("type") == "symlog" else value

        known = [end for end in (*values, *ends) if end is not None]
        low, high = (moved(end) for end in scale.get("domain") or (min(known), max(known)))
        return [(moved(value) - low) / ((high - low) or 1.0) for value in values]

    across = shares(x, [one.x for one in points], [end for one in points for end in (one.x_low, one.x_high)])
    up = shares(y, [one.y for one in points], [end for one in points for end in (one.low, one.high)])
    return [(size[0] * a, size[1] * (1 - b)) for a, b in zip(across, up, strict=True)]


def cost_axis(costs: Sequence[float], title: str, narrow: bool = False) -> dict[str, Any]:
    """An axis of money: logarithmic, with zero at its left end where anything costs nothing."""
    paid = [cost for cost in costs if cost > 0]
    least, most = min(paid, default=1.0), max(paid, default=1.0)
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    ticks = [10.0**k for k in range(low, max(high, low + 1) + 1)]
    free = len(paid) < len(costs)
    label = "datum.value == 0 ? '$0' : format(datum.value, '$~r')"
    axis = {"title": title, "values": ([0.0] if free else []) + ticks, "labelExpr": label, "grid": True}
    if narrow:
        axis["labelOverlap"] = True
    if free:
        scale = {"type": "symlog", "constant": ticks[0] / 3, "domain": [0.0, ticks[-1]], "nice": False}
    else:
        scale = {"type": "log", "domain": [ticks[0], ticks[-1]], "nice": False}
    return {"scale": scale, "axis": axis}
