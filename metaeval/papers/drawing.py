"""Pictures that the papers share: grouped bars and lines, with the table behind each."""

from collections.abc import Sequence
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
_LETTER = 6.4
"""The width of a letter of a label, in pixels."""
_MARKER = 34
# A few bars would be as wide as the picture.
_FEW, _BAR = 5, 48
# So many characters of labels fit side by side below the axis; more are turned.
_LETTERS, _NARROW_LETTERS = 58, 30
# Labels that are longer than a turned one may be, or more than so many groups, stand beside bars that lie.
_LONGEST, _MOST = 22, 16
_LYING_LABEL, _ABOVE = 330, 18


def bar_picture(
    name: str,
    title: str,
    description: str,
    points: Sequence[Point],
    *,
    heads: tuple[str, str, str],
    percent: bool = False,
    mark: float | None = None,
) -> Picture:
    """Bars in groups, a color a series; what has no value has no bar, and a dash in the table.

    Bars of many groups, or of groups with long names, lie, so that each name can be read in full.

    Parameters
    ----------
    heads : (str, str, str)
        What the groups, the series and the heights are.
    percent : bool
        Heights are shares.
    mark : float, optional
        Where a dashed line stands: what is expected of chance, say.
    """

    def spec(narrow: bool) -> dict[str, Any]:
        return {
            "$schema": SCHEMA_URL,
            "config": config(),
            **bars(points, heads=heads, percent=percent, mark=mark, narrow=narrow),
        }

    units = ("text", "text", "percent" if percent else "number")
    columns = tuple(PictureColumn(head, unit) for head, unit in zip(heads, units, strict=True))
    return Picture(
        name, title, description, spec(False), columns, tuple(map(tuple, points)), narrow=spec(True)
    )


def bars(
    points: Sequence[Point],
    *,
    heads: tuple[str, str, str],
    percent: bool = False,
    mark: float | None = None,
    narrow: bool = False,
    size: tuple[int, int] | None = None,
    ends: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """The layers of `bar_picture` with their data, width and height; ``ends`` are those of the axis of heights."""
    group, series, height = heads
    values = [
        {"group": one, "series": other, "height": value} for one, other, value in points if value is not None
    ]
    groups = list(dict.fromkeys(point[0] for point in points))
    names = list(dict.fromkeys(point[1] for point in points))
    turned = sum(map(len, groups)) > (_NARROW_LETTERS if narrow or size else _LETTERS)
    lies = len(groups) > _MOST or (turned and max(map(len, groups)) > _LONGEST)
    width, tall = size or ((_NARROW, _NARROW_HEIGHT) if narrow else (_WIDTH, _HEIGHT))
    labels: dict[str, Any] = {"labelAngle": -40 if turned else 0, "labelLimit": 150}
    scale: dict[str, Any] = {}
    if lies:
        step = max(18, 12 * len(names) + 8)
        labels = {"labelLimit": _LYING_LABEL}
        if narrow:  # each label above its bars: beside them there is no room
            labels |= {"labelAlign": "left", "labelPadding": -2, "labelOffset": -step // 2 - _ABOVE // 2}
            labels |= {"ticks": False, "title": None}
            step += _ABOVE
            scale = {"scale": {"paddingInner": _ABOVE / step, "paddingOuter": _ABOVE / step}}
        tall = len(groups) * step
    across, along = ("y", "x") if lies else ("x", "y")
    where = {"field": "group", "type": "nominal", "sort": groups, "title": group, "axis": labels, **scale}
    high: dict[str, Any] = {
        "field": "height", "type": "quantitative", "title": height, "axis": _axis(percent), "stack": None,
    }  # fmt: skip
    if ends is not None:
        high["scale"] = {"domain": list(ends)}
    encoding: dict[str, Any] = {across: where, along: high, "color": {"value": SERIES[0]}}
    bar: dict[str, Any] = {"type": "bar"}
    if len(names) > 1:
        encoding |= {f"{across}Offset": {"field": "series", "sort": names}}
        encoding["color"] = _series("color", series, names) | {"legend": _legend(names, width)}
    elif len(groups) < _FEW and not lies:
        bar["size"] = _BAR
    layers: list[dict[str, Any]] = [{"mark": bar, "encoding": encoding}]
    if mark is not None:
        layers.append({"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {along: {"datum": mark}}})
    return {"width": width, "height": tall, "data": {"values": values}, "layer": layers}


def _legend(names: Sequence[str], width: int) -> dict[str, Any]:
    """A legend above the drawing in as many columns as its labels leave room for, each in full."""
    longest = max(map(len, names)) * _LETTER + _MARKER
    return {"columns": max(1, min(len(names), int((width + 40) // longest))), "labelLimit": max(width, 260)}


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
    spec = {
        "$schema": SCHEMA_URL,
        "config": config(),
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": values},
        "layer": layers,
    }
    units = ("text", "number", "percent" if percent else "number")
    columns = tuple(PictureColumn(head, unit) for head, unit in zip(heads, units, strict=True))
    narrow = {**spec, "config": _narrow_config(), "width": _NARROW, "height": _NARROW_HEIGHT}
    return Picture(name, title, description, spec, columns, tuple(map(tuple, places)), narrow=narrow)


def _narrow_config() -> dict[str, Any]:
    common = config()
    common["legend"]["columns"] = 1
    return common


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


def _series(how: str, title: str, names: Sequence[str]) -> dict[str, Any]:
    ranges: dict[str, Sequence[Any]] = {"color": SERIES, "dash": DASHES, "shape": SHAPES}
    marks = [ranges[how][place % len(ranges[how])] for place in range(len(names))]
    return {"field": "series", "title": title, "scale": {"domain": list(names), "range": marks}}


def _axis(percent: bool) -> dict[str, Any]:
    return {"format": ".0%"} if percent else {}
