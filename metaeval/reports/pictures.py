"""The pictures of a report: its figures drawn, each with the words and the table that say the same."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from annotation.kinds import kind_of
from metaeval.figures import Figure
from metaeval.pictures.curves import CurveAxes, MarkedPoint, scatter_spec
from metaeval.pictures.heat_maps import HeatCell, heat_map_spec
from metaeval.pictures.intervals import IntervalRow, bars_spec, forest_spec
from metaeval.pictures.parts import ReferenceLine
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.figures import full_text, value_text
from metaeval.reports.report import EstimateJson, ReportContent, known
from metaeval.reports.tables import (
    FigureRow,
    FigureTable,
    Slice,
    axis_of,
    axis_slices,
    group_tables,
    judges_table,
)

Leads = Callable[[str, Slice], str]
"""Where a cell leads: of a judge's fingerprint ("" for all) and a group of items; empty where there is nothing."""

SERIES_OF_STATUS = {
    "people": "Human annotators",
    "gold": "Gold answers",
    "leads": "Leader",
    "tied": "Not significantly different",
    "behind": "Significantly different",
    "incomplete": "Incomplete",
    "baseline": "Baseline (no LLM)",
}
MOST_ROWS = 60
MOST_SERIES = 5
_HALF = 0.5
_REACH = {"percent": 0.4}


def nowhere(fingerprint: str, place: Slice) -> str:
    """The cells of a file lead nowhere."""
    del fingerprint, place
    return ""


def report_pictures(report: ReportContent, leads: Leads = nowhere) -> tuple[Picture, ...]:
    """All pictures of a report, the forest plot first; none where no judge has a figure."""
    if not any(known(judge.overall(report.primary)) for judge in report.judges):
        return ()
    found = [forest_picture(report), cost_picture(report)]
    found += heat_pictures(report, leads)
    found += [criteria_picture(report), length_picture(report)]
    return tuple(picture for picture in found if picture is not None)


def forest_picture(report: ReportContent) -> Picture:
    """All judges by the figure that ranks them, beside human annotators and the upper bound."""
    table, figure = judges_table(report), report.primary_figure
    place = table.figures.index(figure)
    rows = [(row, row.cells[place].estimate) for row in table.rows if row.status != "gold"][:MOST_ROWS]
    drawn = [_interval_row(row, estimate, figure) for row, estimate in rows]
    lines = _reference_lines(report)
    ends: list[Any] = [estimate for _, estimate in rows]
    ends += [{"low": one.value, "value": one.value, "high": one.value} for one in lines]
    domain = axis_of(ends) if figure.unit == "percent" else None
    asked: dict[str, Any] = {
        "unit": figure.unit,
        "axis_title": figure.label,
        "lines": lines,
        "domain": domain,
    }
    best = next((row for row in drawn if row.series != SERIES_OF_STATUS["people"]), None)
    words = f"{figure.label} of {_count(len(report.judges), 'judge')}, each with its interval, best first."
    if best is not None:
        words += f" {best.name} has {best.text}."
    words += "".join(f" {line.label}: {value_text({'value': line.value}, figure.unit)}." for line in lines)
    return Picture(
        name="forest-plot",
        title=f"{figure.label} of each judge",
        description=words,
        spec=forest_spec(drawn, **asked),
        narrow=forest_spec(drawn, narrow=True, **asked),
        columns=_columns("Judge", "Compared with the leader", figure=figure),
        rows=tuple(
            (row.name, one.series, *_ends(estimate)) for (row, estimate), one in zip(rows, drawn, strict=True)
        ),
    )


def cost_picture(report: ReportContent) -> Picture | None:
    """The figure that ranks judges against what they cost; None where no two known costs differ."""
    figure = report.primary_figure
    found: list[tuple[str, str, float, EstimateJson]] = []
    for index, judge in report.ranked():
        cost, estimate = judge.overall("cost_per_1000"), judge.overall(report.primary)
        if cost is not None and cost["value"] is not None and estimate is not None and known(estimate):
            found.append((judge.name, report.status(index), cost["value"], estimate))
    return against_cost(found, figure.label, figure.unit)


def against_cost(
    found: Sequence[tuple[str, str, float, Any]],
    label: str,
    unit: str,
    front: Sequence[int] | None = None,
    without: Sequence[str] = (),
) -> Picture | None:
    """A picture of (name, status, cost of 1,000 judgments, estimate) of each judge, with the Pareto front.

    ``front`` are places on the front where it is known; otherwise those that no other beats in both. ``without`` are
    judges whose cost is unknown.
    """
    costs = [cost for _, _, cost, _ in found]
    if len(set(costs)) < 2:
        return None
    values = [estimate["value"] for *_, estimate in found]
    if front is None:
        front = [
            one
            for one in range(len(found))
            if found[one][1] != "baseline"
            and not any(_beats(costs, values, other, one) for other in range(len(found)))
        ]
    on_front = sorted(front, key=lambda one: costs[one])
    points, rows = [], []
    for place, (name, status, cost, estimate) in enumerate(found):
        series = "On the Pareto front" if place in on_front else _COST_SERIES.get(status, "Not on the front")
        text, price = full_text(estimate, unit), value_text({"value": cost}, "money")
        mark = name if place in on_front or len(found) <= 8 else str(place + 1)
        said = f"{name}: {text}, {price} per 1,000 judgments"
        low, high = estimate["low"], estimate["high"]
        points.append(MarkedPoint(cost, estimate["value"], low, high, series, said, mark))
        rows.append((name, place + 1, series, cost, *_ends(estimate)))
    ends = [estimate for *_, estimate in found]
    axes = CurveAxes(
        "Cost of 1,000 judgments", label, "money", unit, y_domain=axis_of(ends) if unit == "percent" else None
    )
    line = [(costs[place], values[place]) for place in on_front]
    names = ", ".join(found[place][0] for place in on_front)
    return Picture(
        name="cost",
        title=f"{label} against cost",
        description=(
            f"{label} of {_count(len(found), 'judge')} against the cost of 1,000 judgments. "
            f"On the Pareto front, where no judge is both better and cheaper: {names}."
            + (f" Not shown, because their cost is unknown: {', '.join(without)}." if without else "")
        ),
        spec=scatter_spec(points, axes, front=line, by_cost=True),
        narrow=scatter_spec(points, axes, front=line, by_cost=True, narrow=True),
        columns=(
            PictureColumn("Judge"),
            PictureColumn("Number", "count"),
            PictureColumn("In the picture"),
            PictureColumn("$ / 1,000", "money"),
            *_figure_columns(label, unit),
        ),
        rows=tuple(rows),
    )


_COST_SERIES = {"baseline": SERIES_OF_STATUS["baseline"], "violates": "Not eligible"}


def _beats(costs: Sequence[float], values: Sequence[float], one: int, other: int) -> bool:
    """Whether one judge is as good and as cheap as another, and better in one of both."""
    return (
        costs[one] <= costs[other]
        and values[one] >= values[other]
        and (costs[one] < costs[other] or values[one] > values[other])
    )


def heat_pictures(report: ReportContent, leads: Leads = nowhere) -> list[Picture]:
    """The figure that ranks judges by category and by subset: a cell a judge and group, which leads to its items."""
    figure = report.primary_figure
    return [
        _heat_picture(report, table, axis, leads)
        for table in group_tables(report)
        for axis in ("category", "subset")
        if table.figure is figure and table.key.endswith(f"-{axis}")
    ]


def _heat_picture(report: ReportContent, table: FigureTable, axis: str, leads: Leads) -> Picture:
    figure = report.primary_figure
    # The first column is of all items.
    places = [
        Slice("overall", ""),
        *(place for place in axis_slices(report, axis) if place.short in table.heads),
    ]
    places = places[: len(table.heads)]
    fingerprints = {row.name: row.fingerprint for row in judges_table(report).rows}
    rows, cells, links = table.rows[:MOST_ROWS], [], {}
    for number, row in enumerate(rows):
        line = []
        fingerprint = fingerprints.get(row.name, "")
        for column, (cell, place) in enumerate(zip(row.cells, places, strict=True), start=1):
            estimate = cell.estimate
            text = value_text(estimate, figure.unit).removesuffix("%").removesuffix(" points")
            href = leads(fingerprint, place) if fingerprint or row.status == "people" else ""
            if href:
                links[number, column] = href
            said = f"{row.name}, {place.label}: {full_text(estimate, figure.unit)}"
            line.append(HeatCell(None if estimate is None else estimate["value"], text, said, href))
        cells.append(line)
    middle = figure.neutral if figure.neutral is not None else _HALF if figure.unit == "percent" else 0.0
    reach = _REACH.get(figure.unit, 0.8)
    groups = "categories" if axis == "category" else "subsets"
    where = value_text({"value": middle}, figure.unit)
    names = [row.name for row in rows]
    return Picture(
        name=groups,
        title=table.title,
        description=(
            f"{figure.label} in {_count(len(rows), 'row')} and {len(places)} columns, by {axis}. Orange is below "
            f"{where}, blue above. Each cell has its figure{' in percent' if figure.unit == 'percent' else ''}."
        ),
        spec=heat_map_spec(names, table.heads, cells, middle=middle, reach=reach),
        narrow=heat_map_spec(names, table.heads, cells, middle=middle, reach=reach, narrow=True),
        columns=(PictureColumn("Judge"), *(PictureColumn(place.label, figure.unit) for place in places)),
        rows=tuple((row.name, *(_value(cell.estimate) for cell in row.cells)) for row in rows),
        links=links,
    )


def criteria_picture(report: ReportContent) -> Picture | None:
    """The figure that ranks judges by criterion, of human annotators and the best judges; None without criteria."""
    figure = report.primary_figure
    if len(report.criteria) < 2 or "criterion" not in figure.axes:
        return None
    everybody = [("Human annotators", report.beside(figure.name))] if report.beside(figure.name) else []
    everybody += [
        (judge.name, judge.measures.get(figure.name)) for _, judge in report.ranked() if not judge.baseline
    ][:MOST_SERIES]
    found = [
        (place.label, name, estimate)
        for place in axis_slices(report, "criterion")
        for name, breakdown in everybody
        if known(estimate := place.of(breakdown))
    ]
    if not found:
        return None
    drawn = [
        (group, IntervalRow(name, *_ends(estimate), name, full_text(estimate, figure.unit)))
        for group, name, estimate in found
    ]
    return Picture(
        name="criteria",
        title=f"{figure.label} by criterion",
        description=(
            f"{figure.label} on each of {len(report.criteria)} criteria, of "
            f"{', '.join(name for name, _ in everybody)}."
        ),
        spec=bars_spec(drawn, unit=figure.unit, axis_title=figure.label),
        narrow=bars_spec(drawn, unit=figure.unit, axis_title=figure.label, narrow=True),
        columns=_columns("Criterion", "Who", figure=figure),
        rows=tuple((group, name, *_ends(estimate)) for group, name, estimate in found),
    )


def length_picture(report: ReportContent) -> Picture | None:
    """How much longer responses each judge prefers, against the figure that ranks it; None for kinds without it."""
    figure = report.primary_figure
    names = {one.name: one for one in report.figures.judges}
    if "length_bias" not in names:
        return None
    bias = names["length_bias"]
    points, rows = [], []
    for index, judge in report.ranked():
        along, up = judge.overall("length_bias"), judge.overall(report.primary)
        if along is None or up is None or not known(along) or not known(up) or along["value"] is None:
            continue
        status = report.status(index)
        series = SERIES_OF_STATUS["baseline"] if status == "baseline" else "Judge"
        said = f"{judge.name}: {bias.label} {full_text(along, bias.unit)}, {figure.label} {full_text(up, figure.unit)}"
        mark = judge.name if len(report.judges) <= 8 or status == "leads" else ""
        points.append(
            MarkedPoint(along["value"], up["value"] or 0.0, up["low"], up["high"], series, said, mark)
        )
        rows.append((judge.name, along["value"], *_ends(up)))
    if len(points) < 2:
        return None
    axes = CurveAxes(bias.label, figure.label, bias.unit, figure.unit)
    none = [ReferenceLine(0.0, "No bias")]
    return Picture(
        name="length-bias",
        title=f"{figure.label} against length bias",
        description=(
            f"{bias.label} of {_count(len(points), 'judge')} against {figure.label}. Right of the line a judge prefers "
            "longer responses, left of it shorter ones."
        ),
        spec=scatter_spec(points, axes, upright=none),
        narrow=scatter_spec(points, axes, upright=none, narrow=True),
        columns=(
            PictureColumn("Judge"),
            PictureColumn(bias.label, bias.unit),
            *_figure_columns(figure.label, figure.unit),
        ),
        rows=tuple(rows),
    )


# --- parts ----------------------------------------------------------------------------------------------------------


def _interval_row(row: FigureRow, estimate: EstimateJson | None, figure: Figure) -> IntervalRow:
    value, low, high = _ends(estimate)
    series = SERIES_OF_STATUS.get(row.status, row.status)
    return IntervalRow(row.name, value, low, high, series, full_text(estimate, figure.unit))


def _reference_lines(report: ReportContent) -> list[ReferenceLine]:
    """People's own figure and the best that a judge could reach; chance, of accuracy by gold answers."""
    if report.primary_figure.of_gold:
        return [ReferenceLine(_HALF, "Chance")] if kind_of(report.kind).presented else []
    found = []
    people = report.beside(report.primary)
    best = report.people.measures.get("best_reachable") if report.primary == "agreement" else None
    for breakdown, label in ((people, "Human annotators"), (best, "Upper bound")):
        estimate = None if breakdown is None else breakdown["overall"]
        if estimate is not None and estimate["value"] is not None:
            found.append(ReferenceLine(estimate["value"], label))
    return found


def _value(estimate: Any) -> float | None:
    return None if estimate is None else estimate["value"]


def _ends(estimate: Any) -> tuple[float | None, float | None, float | None]:
    if estimate is None:
        return None, None, None
    return estimate["value"], estimate["low"], estimate["high"]


def _columns(*names: str, figure: Figure) -> tuple[PictureColumn, ...]:
    return *(PictureColumn(name) for name in names), *_figure_columns(figure.label, figure.unit)


def _figure_columns(label: str, unit: str) -> Iterable[PictureColumn]:
    return PictureColumn(label, unit), PictureColumn("Low", unit), PictureColumn("High", unit)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
