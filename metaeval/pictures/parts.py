"""What the specifications of pictures share: axes by unit, names that differ, the whole around the layers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.pictures.palette import LIGHT, config
from metaeval.pictures.picture import SCHEMA_URL


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A value that others are compared with, and what it is called."""

    value: float
    label: str


_FORMATS = {"percent": ".0%", "number": ",~r", "money": "$,~r", "seconds": ",~r", "count": ",d"}
# Units whose labels a format alone cannot write.
_LABELS = {
    "points": "replace(format(100 * datum.value, '+.0f'), '+0', '0')",
    "half width": "format(100 * datum.value, '~r')",
    "e-value": "format(datum.value, datum.value < 0.001 || datum.value > 1000 ? '.0e' : ',~r')",
}
_WORD_JOINER = "\u2060"


def distinct(names: Iterable[str]) -> list[str]:
    """The same names, made different where two are equal by a character without width: each has a place on an axis.

    Examples
    --------
    >>> found = distinct(["A", "B", "A"])
    >>> len(set(found)), [name.rstrip(chr(0x2060)) for name in found]
    (3, ['A', 'B', 'A'])
    """
    found: list[str] = []
    for name in names:
        while name in found:
            name += _WORD_JOINER
        found.append(name)
    return found


def unit_axis(unit: str, title: str | None = None, **more: Any) -> dict[str, Any]:
    """An axis whose labels are in a figure's unit."""
    axis: dict[str, Any] = {
        "title": title,
        "tickCount": 6,
        "labelOverlap": True,
        "labelSeparation": 6,
        **more,
    }
    if unit == "count":
        axis["tickMinStep"] = 1
    if unit in _LABELS:
        return axis | {"labelExpr": _LABELS[unit]}
    return axis | {"format": _FORMATS.get(unit, ",~r")}


def specification(
    layers: Sequence[Mapping[str, Any]], *, narrow: bool = False, **more: Any
) -> dict[str, Any]:
    """The whole around layers. A narrow one has the entries of its legend below each other."""
    common = config()
    if narrow:
        common["legend"]["columns"] = 1
    return {"$schema": SCHEMA_URL, "config": common, "layer": list(layers), **more}


def panels_spec(panels: Sequence[tuple[str, Mapping[str, Any]]], *, columns: int) -> dict[str, Any]:
    """Specifications side by side, so many in a line, each below its title."""
    whole = ("$schema", "config")
    parts = [
        {"title": title} | {name: part for name, part in spec.items() if name not in whole}
        for title, spec in panels
    ]
    return {
        "$schema": SCHEMA_URL,
        "config": config(),
        "concat": parts,
        "columns": columns,
        "spacing": 24,
        "resolve": {"scale": {"x": "independent", "y": "independent", "color": "independent"}},
    }


def inline_values(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows as the data of a layer."""
    return {"values": [dict(row) for row in rows]}


def reference_lines(lines: Sequence[ReferenceLine], channel: str) -> list[dict[str, Any]]:
    """Lines across the plot at values, with labels: above vertical ones, over horizontal ones, away from each other."""
    ordered = sorted(lines, key=lambda line: line.value)
    layers = []
    for position, line in enumerate(ordered):
        side = "center" if len(ordered) == 1 else "right" if position == 0 else "left"
        layers += _reference_line(line, channel, side, 13 * max(0, position - 1))
    return layers


def _reference_line(line: ReferenceLine, channel: str, side: str, lift: int) -> list[dict[str, Any]]:
    color, dash = LIGHT["ink-2"], [4, 3]
    data = inline_values([{"at": line.value, "label": line.label}])
    where = {channel: {"field": "at", "type": "quantitative"}}
    vertical = channel == "x"
    placed: dict[str, Any] = (
        {"align": side, "baseline": "bottom", "dy": -4 - lift}
        if vertical
        else {"align": "left", "dx": 4, "dy": -7}
    )
    other: dict[str, Any] = {"y": {"value": 0}} if vertical else {"x": {"value": 0}}
    return [
        {"data": data, "mark": {"type": "rule", "color": color, "strokeDash": dash}, "encoding": where},
        {
            "data": data,
            "mark": {"type": "text", "color": color, "fontSize": 11, **placed},
            "encoding": {**where, **other, "text": {"field": "label"}},
        },
    ]
