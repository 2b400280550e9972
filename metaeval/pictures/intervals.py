"""Pictures of figures with their intervals: a forest plot, and figures by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.pictures.palette import LIGHT, N_SERIES, SERIES, SHAPES
from metaeval.pictures.parts import (
    ReferenceLine,
    distinct,
    inline_values,
    reference_lines,
    specification,
    unit_axis,
)
from metaeval.pictures.picture import Spec


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A line: a name, its figure and interval (None where undefined), its series, and the figure as text."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    series: str
    text: str
    href: str = ""


def series_scales(series: Sequence[str], known: Sequence[str] = ()) -> dict[str, Any]:
    """Color and shape by series: each differs by both, so that print and any color vision tell them apart.

    ``known`` are all series that pictures of this sort may have: each has the same color and shape in all of them.
    """
    names = list(dict.fromkeys(series))
    # The marks that a legend is made from may be faint: bands and bars.
    legend = {"title": None, "symbolOpacity": 1} if len(names) > 1 else None
    order = list(dict.fromkeys((*known, *names)))
    places = [order.index(name) % N_SERIES for name in names]
    if len(set(places)) < len(names):  # two of them would look the same
        places = [place % N_SERIES for place in range(len(names))]
    return {
        "color": {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": names, "range": [SERIES[k] for k in places]},
            "legend": legend,
        },
        "shape": {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": names, "range": [SHAPES[k] for k in places]},
            "legend": legend,
        },
    }


def forest_spec(
    rows: Sequence[IntervalRow],
    *,
    unit: str,
    axis_title: str,
    lines: Sequence[ReferenceLine] = (),
    domain: tuple[float, float] | None = None,
    known: Sequence[str] = (),
    narrow: bool = False,
) -> Spec:
    """A forest plot: a line a name, its figure as a symbol on its interval, and both as text at the end.

    ``known`` are all series that such pictures may have (`series_scales`).
    """
    names = distinct(row.name for row in rows)
    values = [
        {
            "name": name,
            "value": row.value,
            "low": row.low,
            "high": row.high,
            "series": row.series,
            "text": row.text,
            "said": f"{row.name}: {row.text}",
            **({"href": row.href} if row.href else {}),
        }
        for name, row in zip(names, rows, strict=True)
    ]
    scales = series_scales([row.series for row in rows], known)
    axis = {"title": None, "labelLimit": 145 if narrow else 240, "ticks": False, "labelColor": LIGHT["ink"]}
    y = {"field": "name", "type": "nominal", "sort": names, "axis": axis}
    scale: dict[str, Any] = {"zero": False, "nice": True} | ({"domain": list(domain)} if domain else {})
    x = {
        "field": "value",
        "type": "quantitative",
        "scale": scale,
        "axis": unit_axis(unit, axis_title, tickCount=4 if narrow else 6),
    }
    data = inline_values(values)
    href = {"href": {"field": "href", "type": "nominal"}} if any(row.href for row in rows) else {}
    layers: list[dict[str, Any]] = [
        *reference_lines(lines, "x"),
        {
            "data": data,
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "x": {"field": "low", "type": "quantitative"},
                "x2": {"field": "high"},
                "y": y,
                "color": scales["color"],
            },
        },
        {
            "data": data,
            "mark": {"type": "point", "aria": True, "filled": True, "size": 75, "opacity": 1},
            "encoding": {"x": x, "y": y, **scales, "description": {"field": "said"}, **href},
        },
    ]
    if not narrow:
        text = {"type": "text", "align": "left", "dx": 10, "color": LIGHT["ink"]}
        encoding = {"x": {"value": "width"}, "y": y, "text": {"field": "text"}}
        layers.append({"data": data, "mark": text, "encoding": encoding})
    return specification(layers, narrow=narrow, width=165 if narrow else 340, height={"step": 24})


def bars_spec(
    rows: Sequence[tuple[str, IntervalRow]], *, unit: str, axis_title: str, narrow: bool = False
) -> Spec:
    """Bars by group, one a series, with their intervals: each row is (group, figure of a series)."""
    groups = list(dict.fromkeys(group for group, _ in rows))
    series = list(dict.fromkeys(row.series for _, row in rows))
    values = [
        {
            "group": group,
            "value": row.value,
            "low": row.low,
            "high": row.high,
            "series": row.series,
            "said": f"{group}, {row.series}: {row.text}",
        }
        for group, row in rows
        if row.value is not None
    ]
    color = series_scales(series)["color"]
    axis = {"title": None, "labelLimit": 145 if narrow else 240, "ticks": False, "labelColor": LIGHT["ink"]}
    where = {
        "y": {"field": "group", "type": "nominal", "sort": groups, "axis": axis},
        "yOffset": {"field": "series", "sort": series},
    }
    x = {
        "field": "value",
        "type": "quantitative",
        "axis": unit_axis(unit, axis_title, tickCount=4 if narrow else 6),
    }
    data = inline_values(values)
    layers: list[dict[str, Any]] = [
        {
            "data": data,
            "mark": {"type": "bar", "aria": True, "height": {"band": 0.8}},
            "encoding": {**where, "x": x, "color": color, "description": {"field": "said"}},
        },
        {
            "data": data,
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "color": LIGHT["ink"], "strokeWidth": 1.5},
            "encoding": {
                **where,
                "x": {"field": "low", "type": "quantitative"},
                "x2": {"field": "high"},
            },
        },
    ]
    return specification(
        layers, narrow=narrow, width=165 if narrow else 360, height={"step": 16, "for": "offset"}
    )
