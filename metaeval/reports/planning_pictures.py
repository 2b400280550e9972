"""The picture of a plan: what designs reach, against what they cost."""

import math

from metaeval.pictures.curves import CurveAxes, CurvePoint, curve_spec
from metaeval.pictures.palette import N_SERIES
from metaeval.pictures.parts import ReferenceLine
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.planning import PlannedRow, PlanPage, design_words, reached

_ROOM = 1.08


def plan_pictures(page: PlanPage) -> tuple[Picture, ...]:
    """Power, or half of the width of the interval, against cost (against items where nothing costs anything).

    A curve for each number of labels per item, with the most annotators of the designs; none with fewer than two
    designs of which anything is known.
    """
    asked = page.asked
    people = max(row.design.n_people for row in page.rows)
    found = [
        (row, value)
        for row in sorted(page.rows, key=lambda row: (row.design.labels_per_item, row.design.n_items))
        if row.design.n_people == people and not math.isnan(value := reached(asked, row.interval, row.power))
    ]
    labels = sorted({row.design.labels_per_item for row, _ in found})
    found = [entry for entry in found if entry[0].design.labels_per_item in labels[:N_SERIES]]
    if len(found) < 2:
        return ()
    by_cost = any(row.cost > 0 for row, _ in found)
    what = "Power" if asked.asks_power else "Half width of the interval, in points"
    across = "Cost" if by_cost else "Items"
    unit = "percent" if asked.asks_power else "half width"
    points = [
        CurvePoint(
            _along(row, by_cost),
            value,
            None,
            None,
            f"{design_words(row.design)}: {_text(value, asks_power=asked.asks_power)}",
            _series(row),
        )
        for row, value in found
    ]
    axes = CurveAxes(
        across,
        what,
        "money" if by_cost else "count",
        unit,
        x_domain=(0.0, _ROOM * max(point.x for point in points)),
        y_domain=(0.0, 1.0 if asked.asks_power else _ROOM * max(asked.target, *(one.y for one in points))),
        currency=asked.currency,
    )
    target = [ReferenceLine(asked.target, "Target")]
    cut = (
        f" The picture shows {N_SERIES} of {len(labels)} numbers of labels." if len(labels) > N_SERIES else ""
    )
    return (
        Picture(
            name="designs",
            title=f"{what.partition(',')[0]} against {across.lower()}",
            description=(
                f"{what}, against {across.lower()}, of {len(points):,} designs with {people:,} annotators: a line for "
                f"each number of labels per item. Dashed line: the target, {asked.target_text}.{cut}"
            ),
            spec=curve_spec(points, axes, across=target),
            narrow=curve_spec(points, axes, across=target, narrow=True),
            columns=(
                PictureColumn("Design"),
                *(PictureColumn(head, "count") for head in ("Items", "Labels per item", "Annotators")),
                PictureColumn(f"Cost ({asked.currency})", "amount"),
                PictureColumn(what.partition(",")[0], "percent" if asked.asks_power else "points"),
            ),
            rows=tuple(
                (
                    design_words(row.design),
                    row.design.n_items,
                    row.design.labels_per_item,
                    row.design.n_people,
                    round(row.cost, 6),
                    value,
                )
                for row, value in found
            ),
        ),
    )


def _along(row: PlannedRow, by_cost: bool) -> float:
    return row.cost if by_cost else float(row.design.n_items)


def _series(row: PlannedRow) -> str:
    n = row.design.labels_per_item
    return "1 label per item" if n == 1 else f"{n} labels per item"


def _text(value: float, *, asks_power: bool) -> str:
    return f"{100 * value:.0f}%" if asks_power else f"± {100 * value:.1f} points"
