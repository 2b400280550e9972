"""Pictures that the papers share: grouped bars and lines, with the table behind each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from metaeval.inputs import Floats
from metaeval.pictures.palette import DASHES, SERIES, SHAPES, config
from metaeval.pictures.picture import SCHEMA_URL, Picture, PictureColumn

Point = tuple[str, str, float | None]
"""A bar: where it stands, of which series, how high."""
Place = tuple[str, float, float | None]
"""A point of a line: of which series, where, how high."""
# With its axis it fits beside another picture of a page.
_WIDTH, _HEIGHT = 450, 280
_NARROW, _NARROW_HEIGHT = 260, 240
_LEGEND_COLUMNS = 3
_LEGEND_LABEL = 140
# A few bars would be as wide as the picture.
_FEW, _BAR = 5, 48
# So many characters of labels fit below the axis; more are turned.
_LETTERS, _NARROW_LETTERS = 58, 30


def bar_picture(
    name: str,
    title: str,
    description: str,
    points: Sequence[Point],
    *,
    heads: tuple[str, str, str],
    percent: bool = False,
    zero_line: bool = False,
) -> Picture:
    """Bars in groups, a color a series; what has no value has no bar, and a dash in the table.

    ``heads`` names the groups, the series and the height; with `percent` heights are shares.
    """
    group, series, height = heads
    values = [
        {"group": one, "series": other, "height": value} for one, other, value in points if value is not None
    ]
    groups = list(dict.fromkeys(point[0] for point in points))
    names = list(dict.fromkeys(point[1] for point in points))
    color = _series("color", series, names) if len(names) > 1 else {"value": SERIES[0]}
    encoding: dict[str, Any] = {
        "x": {"field": "group", "type": "nominal", "sort": groups, "title": group},
        "y": {
            "field": "height",
            "type": "quantitative",
            "title": height,
            "axis": _axis(percent),
            "stack": None,
        },
        "color": color,
    }
    bar: dict[str, Any] = {"type": "bar"}
    if len(names) > 1:
        encoding["xOffset"] = {"field": "series", "sort": names}
    elif len(groups) < _FEW:
        bar["size"] = _BAR
    layers: list[dict[str, Any]] = [{"mark": bar, "encoding": encoding}]
    if zero_line:
        layers.append({"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"y": {"datum": 0}}})
    return _picture(name, title, description, values, layers, heads, points, percent)


def line_picture(
    name: str,
    title: str,
    description: str,
    places: Sequence[Place],
    *,
    heads: tuple[str, str, str],
    percent: bool = False,
    mark: float | None = None,
    logarithmic: bool = False,
) -> Picture:
    """Lines, a color, a dash and a shape a series; ``heads`` names the series, the axis below and the one beside."""
    series, across, up = heads
    values = [{"series": one, "x": x, "y": y} for one, x, y in places if y is not None]
    names = list(dict.fromkeys(place[0] for place in places))
    scale = {"type": "log"} if logarithmic else {"zero": False}
    encoding: dict[str, Any] = {
        "x": {"field": "x", "type": "quantitative", "title": across, "scale": scale},
        "y": {"field": "y", "type": "quantitative", "title": up, "axis": _axis(percent)},
        "color": _series("color", series, names),
    }
    dashed = {**encoding, "strokeDash": _series("dash", series, names)}
    shaped = {**encoding, "shape": _series("shape", series, names)}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": dashed},
        {"mark": {"type": "point", "filled": True, "size": 45, "opacity": 1}, "encoding": shaped},
    ]
    if mark is not None:
        layers.append({"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"y": {"datum": mark}}})
    return _picture(name, title, description, values, layers, heads, places, percent)


def histogram_picture(
    name: str,
    title: str,
    description: str,
    numbers: Floats,
    *,
    heads: tuple[str, str, str],
    axis: str,
    n_bins: int = 30,
) -> Picture:
    """How many numbers lie where, in bins of one width; ``heads`` names the ends of a bin and how many it has."""
    counts, edges = np.histogram(numbers, bins=n_bins)
    rows = tuple(
        (round(float(low), 6), round(float(high), 6), int(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    encoding = {
        "x": {"field": "low", "type": "quantitative", "bin": {"binned": True}, "title": axis},
        "x2": {"field": "high"},
        "y": {"field": "n", "type": "quantitative", "title": heads[2], "axis": {"tickMinStep": 1}},
    }
    spec = {
        "$schema": SCHEMA_URL,
        "config": config(),
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": [dict(zip(("low", "high", "n"), row, strict=True)) for row in rows]},
        "mark": {"type": "bar", "color": SERIES[0]},
        "encoding": encoding,
    }
    columns = tuple(PictureColumn(head, "number") for head in heads)
    return Picture(
        name,
        title,
        description,
        spec,
        columns,
        rows,
        narrow=spec | {"width": _NARROW, "height": _NARROW_HEIGHT},
    )


def _picture(
    name: str,
    title: str,
    description: str,
    values: Sequence[Mapping[str, Any]],
    layers: Sequence[Mapping[str, Any]],
    heads: tuple[str, str, str],
    rows: Sequence[tuple[object, ...]],
    percent: bool,
) -> Picture:
    spec = {
        "$schema": SCHEMA_URL,
        "config": config(),
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": list(values)},
        "layer": _fitted(layers, _LETTERS, _LEGEND_COLUMNS),
    }
    units = (
        "text",
        "text" if rows and isinstance(rows[0][1], str) else "number",
        "percent" if percent else "number",
    )
    columns = tuple(PictureColumn(head, unit) for head, unit in zip(heads, units, strict=True))
    layer = _fitted(layers, _NARROW_LETTERS, 1)
    narrow = {**spec, "width": _NARROW, "height": _NARROW_HEIGHT, "layer": layer}
    return Picture(name, title, description, spec, columns, tuple(map(tuple, rows)), narrow=narrow)


def _fitted(layers: Sequence[Mapping[str, Any]], letters: int, legend_columns: int) -> list[dict[str, Any]]:
    """The layers with labels turned where they are too long to stand side by side, and legends in few columns."""
    found = []
    for layer in layers:
        encoding = {name: dict(channel) for name, channel in layer["encoding"].items()}
        for name, channel in encoding.items():
            if name == "x" and "sort" in channel:
                long = sum(map(len, channel["sort"])) > letters
                channel["axis"] = {"labelAngle": -40 if long else 0, "labelLimit": 120}
            if len(channel.get("scale", {}).get("domain", ())) > legend_columns:
                channel["legend"] = {"columns": legend_columns, "labelLimit": _LEGEND_LABEL}
        found.append({**layer, "encoding": encoding})
    return found


def _series(how: str, title: str, names: Sequence[str]) -> dict[str, Any]:
    ranges: dict[str, Sequence[Any]] = {"color": SERIES, "dash": DASHES, "shape": SHAPES}
    marks = [ranges[how][place % len(ranges[how])] for place in range(len(names))]
    return {"field": "series", "title": title, "scale": {"domain": list(names), "range": marks}}


def _axis(percent: bool) -> dict[str, Any]:
    return {"format": ".0%"} if percent else {}
