"""The pictures of a report: its figures drawn, each with the words and the table that say the same."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from annotation.kinds import kind_of
from metaeval.figures import Figure
from metaeval.pictures.curves import CurveAxes, MarkedPoint, scatter_spec
from metaeval.pictures.heat_maps import HeatCell, heat_map_spec
from metaeval.pictures.intervals import IntervalRow, bars_spec, forest_spec
from metaeval.pictures.parts import ReferenceLine
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.evaluator_pictures import capacity_picture, evaluators_picture
from metaeval.reports.figures import full_text, value_text
from metaeval.reports.report import EstimateJson, ReportContent, known
from metaeval.reports.tables import (
    OVERALL,
    FigureRow,
    FigureTable,
    Slice,
    axis_of,
    axis_slices,
    group_tables,
    heat_scale,
    judges_table,
)

Leads = Callable[[str, Slice], str]
"""Where a cell leads: of a judge's fingerprint ("" for all) and a group of items; empty where there is nothing."""

SERIES_OF_STATUS = {
    "people": "Human annotators",
    "leads": "Leader",
    "tied": "Not significantly different",
    "behind": "Significantly different",
    "baseline": "Baseline (no LLM)",
    "incomplete": "Incomplete",
    "gold": "Gold answers",
}
"""In the order of their colors: a forest plot has at most the first six."""
MOST_ROWS = 60
MOST_COLUMNS = 14
MOST_SERIES = 5
_HALF = 0.5


def nowhere(fingerprint: str, place: Slice) -> str:
    """The cells of a file lead nowhere."""
    del fingerprint, place
    return ""


def report_pictures(report: ReportContent, leads: Leads = nowhere) -> tuple[Picture, ...]:
    """All pictures of a report, the forest plot first; none where no judge has a figure."""
    if not any(known(judge.overall(report.primary)) for judge in report.judges):
        return ()
    capacity = report.capacity
    found = [
        forest_picture(report, leads),
        cost_picture(report, leads),
        criteria_picture(report),
        length_picture(report, leads),
        # It is of one figure; a page may show the report by another.
        capacity_picture(capacity, "judges") if capacity and capacity["figure"] == report.primary else None,
        *heat_pictures(report, leads),
        evaluators_picture(report, lambda fingerprint: leads(fingerprint, OVERALL)),
    ]
    return tuple(picture for picture in found if picture is not None)


def forest_picture(report: ReportContent, leads: Leads = nowhere) -> Picture:
    """All judges by the figure that ranks them, beside human annotators and the upper bound."""
    table, figure = judges_table(report), report.primary_figure
    place = table.figures.index(figure)
    rows = [(row, row.cells[place].estimate) for row in table.rows if row.status != "gold"]
    # Human annotators have no accuracy against gold answers: a row without a figure says nothing.
    rows = [(row, estimate) for row, estimate in rows if estimate is not None or row.status != "people"]
    found = [_interval_row(row, estimate, figure, leads) for row, estimate in rows]
    drawn = found[:MOST_ROWS]
    lines = _reference_lines(report)
    ends: list[Any] = [estimate for _, estimate in rows[:MOST_ROWS]]
    ends += [{"low": one.value, "value": one.value, "high": one.value} for one in lines]
    domain = axis_of(ends) if figure.unit == "percent" else None
    asked: dict[str, Any] = {
        "unit": figure.unit,
        "axis_title": figure.label,
        "lines": lines,
        "domain": domain,
        "known": tuple(SERIES_OF_STATUS.values()),
    }
    best = next((row for row in drawn if row.series != SERIES_OF_STATUS["people"]), None)
    words = f"{figure.label} of {_count(len(report.judges), 'judge')}, each with its interval, best first."
    if best is not None:
        words += f" {best.name} has {best.text}."
    words += "".join(f" {line.label}: {value_text({'value': line.value}, figure.unit)}." for line in lines)
    words += cut_words(len(drawn), len(found))
    return Picture(
        name="forest-plot",
        title=f"{figure.label} of each judge",
        description=words,
        spec=forest_spec(drawn, **asked),
        narrow=forest_spec(drawn, narrow=True, **asked),
        columns=_columns("Judge", "Compared with the leader", figure=figure),
        rows=tuple(
            (row.name, one.series, *_ends(estimate)) for (row, estimate), one in zip(rows, found, strict=True)
        ),
        links={(number, 0): one.href for number, one in enumerate(found) if one.href},
    )


@dataclass(frozen=True, slots=True)
class Priced:
    """A judge in the picture of a figure against cost: how it stands, the cost of 1,000 judgments, the figure."""

    name: str
    status: str
    cost: Mapping[str, Any]
    estimate: Mapping[str, Any]
    href: str = ""


def cost_picture(report: ReportContent, leads: Leads = nowhere) -> Picture | None:
    """The figure that ranks judges against what they cost; None where no two known costs differ."""
    figure = report.primary_figure
    found, without = [], []
    for index, judge in report.ranked():
        cost, estimate = judge.overall("cost_per_1000"), judge.overall(report.primary)
        if estimate is None or not known(estimate):
            continue
        if cost is None or cost["value"] is None:
            without.append(judge.name)
        else:
            href = leads(judge.fingerprint, OVERALL) if not judge.baseline else ""
            found.append(Priced(judge.name, report.status(index), cost, estimate, href))
    return against_cost(found, figure.label, figure.unit, without=without)


def against_cost(
    found: Sequence[Priced],
    label: str,
    unit: str,
    front: Sequence[int] | None = None,
    without: Sequence[str] = (),
) -> Picture | None:
    """A picture of a figure of each judge against its cost, with the Pareto front.

    ``front`` are places on the front where it is known; otherwise those that no other beats in both. ``without`` are
    judges whose cost is unknown. Both intervals are drawn as bars, not as an ellipse: they are computed apart, so that
    nothing says how the two move together, and an ellipse is none on a logarithmic axis.
    """
    costs: list[float] = [one.cost["value"] for one in found]
    if len(set(costs)) < 2:
        return None
    values: list[float] = [one.estimate["value"] for one in found]
    if front is None:
        front = [
            one
            for one in range(len(found))
            if found[one].status != "baseline"
            and not any(_beats(costs, values, other, one) for other in range(len(found)))
        ]
    on_front = sorted(front, key=lambda one: costs[one])
    points, rows = [], []
    for place, one in enumerate(found):
        series = (
            "On the Pareto front" if place in on_front else _COST_SERIES.get(one.status, "Not on the front")
        )
        mark = one.name if place in on_front or len(found) <= 8 else str(place + 1)
        said = (
            f"{one.name}: {full_text(one.estimate, unit)}, {full_text(one.cost, 'money')} per 1,000 judgments"
        )
        value, low, high = _ends(one.estimate)
        cost, least, most = _ends(one.cost)
        points.append(
            MarkedPoint(
                costs[place],
                values[place],
                low,
                high,
                series,
                said,
                mark,
                least,
                most,
                one.href,
                short=str(place + 1),
            )
        )
        rows.append((one.name, place + 1, series, cost, least, most, value, low, high))
    axes = CurveAxes(
        "Cost of 1,000 judgments",
        label,
        "money",
        unit,
        y_domain=axis_of([one.estimate for one in found]) if unit == "percent" else None,
    )
    line = [(costs[place], values[place]) for place in on_front]
    names = ", ".join(found[place].name for place in on_front)
    return Picture(
        name="cost",
        title=f"{label} against cost",
        description=(
            f"{label} of {_count(len(found), 'judge')} against the cost of 1,000 judgments, with the interval of each "
            f"as a bar. On the Pareto front, where no judge is both better and cheaper: {names}."
            + (f" Not shown, because their cost is unknown: {', '.join(without)}." if without else "")
        ),
        spec=scatter_spec(points, axes, front=line, by_cost=True),
        narrow=scatter_spec(points, axes, front=line, by_cost=True, narrow=True),
        columns=(
            PictureColumn("Judge"),
            PictureColumn("Number", "count"),
            PictureColumn("In the picture"),
            *(PictureColumn(head, "money") for head in ("$ / 1,000", "$ low", "$ high")),
            *_figure_columns(label, unit),
        ),
        rows=tuple(rows),
        links={(number, 0): one.href for number, one in enumerate(found) if one.href},
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
    places = [cell.place for cell in table.rows[0].cells]  # the first is of all items
    fingerprints = {row.name: row.fingerprint for row in judges_table(report).rows}
    rows, cells, links = table.rows, [], {}
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
    middle, reach = heat_scale(figure)
    groups = "categories" if axis == "category" else "subsets"
    where = value_text({"value": middle}, figure.unit)
    names = [row.name for row in rows[:MOST_ROWS]]
    cells = cells[:MOST_ROWS]
    # A page is as wide as a dozen columns; more groups than judges go down the page.
    is_turned = len(places) > max(MOST_COLUMNS, len(names))
    down, along = _count(len(rows), "row"), f"{len(places)} columns"
    if is_turned:
        down, along = f"{len(places)} rows", _count(len(names), "column")
    drawn = partial(
        heat_map_spec,
        *((table.heads, names, list(zip(*cells, strict=True))) if is_turned else (names, table.heads, cells)),
        middle=middle,
        reach=reach,
    )
    return Picture(
        name=groups,
        title=table.title,
        description=(
            f"{figure.label} in {down} and {along}, by {axis}. Orange is below "
            f"{where}, blue above. Each cell has its figure{' in percent' if figure.unit == 'percent' else ''}."
            f"{cut_words(len(names), len(rows))}"
        ),
        spec=drawn(),
        narrow=drawn(narrow=True),
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
    judges = [judge for _, judge in report.ranked() if not judge.baseline]
    everybody += [(judge.name, judge.measures.get(figure.name)) for judge in judges[:MOST_SERIES]]
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
            + (
                f" These are the best {MOST_SERIES} of {len(judges):,} judges."
                if len(judges) > MOST_SERIES
                else ""
            )
        ),
        spec=bars_spec(drawn, unit=figure.unit, axis_title=figure.label),
        narrow=bars_spec(drawn, unit=figure.unit, axis_title=figure.label, narrow=True),
        columns=_columns("Criterion", "Who", figure=figure),
        rows=tuple((group, name, *_ends(estimate)) for group, name, estimate in found),
    )


def length_picture(report: ReportContent, leads: Leads = nowhere) -> Picture | None:
    """How much longer responses each judge prefers, against the figure that ranks it; None for kinds without it."""
    figure = report.primary_figure
    names = {one.name: one for one in report.figures.judges}
    if "length_bias" not in names:
        return None
    bias = names["length_bias"]
    points: list[MarkedPoint] = []
    rows: list[tuple[object, ...]] = []
    links: dict[tuple[int, int], str] = {}
    for index, judge in report.ranked():
        along, up = judge.overall("length_bias"), judge.overall(report.primary)
        if along is None or up is None or not known(along) or not known(up) or along["value"] is None:
            continue
        status = report.status(index)
        series = SERIES_OF_STATUS["baseline"] if status == "baseline" else "Judge"
        said = f"{judge.name}: {bias.label} {full_text(along, bias.unit)}, {figure.label} {full_text(up, figure.unit)}"
        mark = judge.name if len(report.judges) <= 8 or status == "leads" else ""
        href = leads(judge.fingerprint, OVERALL) if not judge.baseline else ""
        if href:
            links[len(rows), 0] = href
        value, least, most = _ends(along)
        points.append(
            MarkedPoint(
                along["value"],
                up["value"] or 0.0,
                up["low"],
                up["high"],
                series,
                said,
                mark,
                least,
                most,
                href,
            )
        )
        rows.append((judge.name, value, least, most, *_ends(up)))
    if len(points) < 2:
        return None
    axes = CurveAxes(bias.label, figure.label, bias.unit, figure.unit)
    none = [ReferenceLine(0.0, "No bias")]
    return Picture(
        name="length-bias",
        title=f"{figure.label} against length bias",
        description=(
            f"{figure.label} of {_count(len(points), 'judge')} against their {bias.label.lower()}. Right of the "
            "line a judge prefers longer responses, left of it shorter ones."
        ),
        spec=scatter_spec(points, axes, upright=none),
        narrow=scatter_spec(points, axes, upright=none, narrow=True),
        columns=(
            PictureColumn("Judge"),
            *(
                PictureColumn(head, bias.unit)
                for head in (bias.label, f"{bias.label}, low", f"{bias.label}, high")
            ),
            *_figure_columns(figure.label, figure.unit),
        ),
        rows=tuple(rows),
        links=links,
    )


# --- parts ----------------------------------------------------------------------------------------------------------


def _interval_row(row: FigureRow, estimate: EstimateJson | None, figure: Figure, leads: Leads) -> IntervalRow:
    value, low, high = _ends(estimate)
    series = SERIES_OF_STATUS.get(row.status, row.status)
    href = leads(row.fingerprint, OVERALL) if row.fingerprint or row.status == "people" else ""
    return IntervalRow(row.name, value, low, high, series, full_text(estimate, figure.unit), href)


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


def cut_words(drawn: int, found: int) -> str:
    """What a picture that cannot show all says of it."""
    return (
        ""
        if drawn == found
        else f" The picture shows the first {drawn:,} of {found:,} rows; the data behind it has all."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
