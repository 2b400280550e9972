"""Pictures of figures in a grid: seven steps from orange to blue around a middle, or four that darken; each cell with
its figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.pictures.palette import HEAT, LIGHT, cell_ink, heat_step, rising_step
from metaeval.pictures.parts import distinct, inline_values, specification
from metaeval.pictures.picture import Spec


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A figure in a grid (None where undefined), as text, what it is in words, and where it leads."""

    value: float | None
    text: str
    said: str
    href: str = ""


def heat_map_spec(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[HeatCell]],
    *,
    middle: float = 0.0,
    reach: float = 1.0,
    rising: tuple[float, float] | None = None,
    row_title: str = "",
    column_title: str = "",
    step: int = 0,
    narrow: bool = False,
) -> Spec:
    """A heat map. The outermost steps begin ``reach`` away from the middle.

    Where no value is good or bad, ``rising`` gives the ends between which cells darken.
    """
    names, heads = distinct(rows), distinct(columns)
    values: list[dict[str, Any]] = []
    for name, line in zip(names, cells, strict=True):
        for head, cell in zip(heads, line, strict=True):
            place = None
            if cell.value is not None:
                place = (
                    heat_step(cell.value, middle, reach)
                    if rising is None
                    else rising_step(cell.value, *rising)
                )
            values.append(
                {
                    "row": name,
                    "column": head,
                    "text": cell.text,
                    "said": cell.said,
                    "fill": LIGHT["surface"] if place is None else HEAT[place],
                    "ink": LIGHT["ink-2"] if place is None else cell_ink(place),
                    **({"href": cell.href} if cell.href else {}),
                }
            )
    longest = max(map(len, columns), default=0)
    step = step or (46 if narrow else 58 if longest <= 9 or len(columns) > 6 else 84)
    slanted = longest * 6.5 > step
    head_axis = {
        "orient": "top",
        "title": column_title or None,
        "ticks": False,
        "labelLimit": 150,
        "labelPadding": 6,
        **({"labelAngle": -40, "labelAlign": "left"} if slanted else {"labelAngle": 0}),
    }
    name_axis = {
        # Above the names: beside two rows it would be longer than they are high.
        "title": row_title or None,
        "titleAngle": 0,
        "titleAlign": "right",
        "titleBaseline": "bottom",
        "titleX": -6,
        "titleY": -6,
        "ticks": False,
        "labelLimit": 120 if narrow else 240,
        "labelColor": LIGHT["ink"],
    }
    where = {
        "x": {"field": "column", "type": "nominal", "sort": heads, "axis": head_axis},
        "y": {"field": "row", "type": "nominal", "sort": names, "axis": name_axis},
    }
    href = {"href": {"field": "href", "type": "nominal"}} if any("href" in row for row in values) else {}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rect", "aria": True, "stroke": LIGHT["surface"], "strokeWidth": 2},
            "encoding": {
                **where,
                "color": {"field": "fill", "type": "nominal", "scale": None},
                "description": {"field": "said"},
                **href,
            },
        },
        {
            "mark": {"type": "text", "fontSize": 12},
            "encoding": {
                **where,
                "text": {"field": "text"},
                "color": {"field": "ink", "type": "nominal", "scale": None},
            },
        },
    ]
    return specification(layers, data=inline_values(values), width={"step": step}, height={"step": 26})
