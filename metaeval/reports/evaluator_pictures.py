"""Pictures of how alike evaluators are: their correlations, and how many instructions tell judges or systems apart."""

from collections.abc import Callable, Mapping
from typing import Any

from metaeval.figures.evaluators import ALPHA, QUANTILE
from metaeval.inputs import GOLD, PEOPLE
from metaeval.pictures.curves import CurveAxes, CurvePoint, curve_spec
from metaeval.pictures.heat_maps import HeatCell, heat_map_spec
from metaeval.pictures.parts import ReferenceLine
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.figures import value_text
from metaeval.reports.report import ReportContent

_NAMES = {PEOPLE: "Human annotators", GOLD: "Gold answers"}
_METHODS = {"pearson": "Pearson's r", "spearman": "Spearman's rho, mean over items"}
# Of more evaluators the columns have numbers: names would be longer than the table.
_MOST_NAMED = 8
_REACH = 0.8


def evaluators_picture(
    report: ReportContent, leads: Callable[[str], str] = lambda _fingerprint: ""
) -> Picture | None:
    """The correlation of every evaluator with every other; None in reports stored before it was computed.

    ``leads`` says where a cell of human annotators and a judge leads, by the judge's fingerprint.
    """
    section = report.evaluators
    if section is None:
        return None
    correlations: Mapping[str, Mapping[str, Any]] = section["correlations"]
    there = {*correlations, *(key for row in correlations.values() for key in row)}
    keys = [key for key in (PEOPLE, GOLD, *section["judges"]) if key in there]
    names = _NAMES | {judge.fingerprint: judge.name for judge in report.judges}
    many = len(keys) > _MOST_NAMED
    rows = [f"{place}. {names[key]}" if many else names[key] for place, key in enumerate(keys, start=1)]
    heads = [str(place) for place in range(1, len(keys) + 1)] if many else rows
    cells, data, links = [], [], {}
    apart: list[tuple[float, str]] = []
    for line, one in enumerate(keys):
        drawn: list[HeatCell] = []
        values: list[float | None] = []
        for column, other in enumerate(keys):
            if one == other:
                drawn.append(HeatCell(None, "", f"{names[one]}, itself"))
                values.append(None)
                continue
            found = correlations.get(one, {}).get(other) or correlations[other][one]
            value = found["value"]
            text = value_text(found, "number")
            why = f" ({found['reason']})" if "reason" in found else f", {found['n']:,} rated by both"
            judge = other if one == PEOPLE else one if other == PEOPLE else ""
            href = leads(judge) if judge and judge != GOLD else ""
            if href:
                links[line, column + 1] = href
            drawn.append(HeatCell(value, text, f"{names[one]} and {names[other]}: {text}{why}", href))
            values.append(value)
            if value is not None and line < column:
                apart.append((value, f"{names[one]} and {names[other]} ({text})"))
        cells.append(drawn)
        data.append((names[one], *values))
    apart.sort()
    ends = f" Highest: {apart[-1][1]}; lowest: {apart[0][1]}." if apart else ""
    left = section["n_judges"] - len(section["judges"])
    cut = (
        f" The best {len(section['judges'])} of {section['n_judges']:,} judges are compared." if left else ""
    )
    asked: dict[str, Any] = {"middle": 0.0, "reach": _REACH}
    return Picture(
        name="evaluators",
        title="Correlation of evaluators",
        description=(
            f"Correlation ({_METHODS[section['method']]}) of every two evaluators, over what both rated. Orange is "
            f"below 0, blue above.{ends}{cut}"
        ),
        spec=heat_map_spec(rows, heads, cells, step=48 if many else 0, **asked),
        narrow=heat_map_spec(rows, heads, cells, narrow=True, **asked),
        columns=(PictureColumn("Evaluator"), *(PictureColumn(names[key], "number") for key in keys)),
        rows=tuple(data),
        links=links,
    )


def capacity_picture(section: Mapping[str, Any] | None, noun: str) -> Picture | None:
    """How many pairs of judges (or systems, as ``noun`` says) are significantly different, by how many instructions."""
    if section is None:
        return None
    found = list(zip(section["sizes"], section["share_significant"], section["p_values"], strict=True))
    level = f"{100 * ALPHA:g}%"
    points = [
        CurvePoint(
            float(size),
            share,
            None,
            None,
            f"{size:,} instructions: {value_text({'value': share})} of the pairs",
        )
        for size, share, _ in found
    ]
    axes = CurveAxes("Instructions", "Significantly different pairs", "count", y_domain=(0.0, 1.0))
    goal = [ReferenceLine(QUANTILE, "Four of five pairs")]
    size, share, _ = found[-1]
    capacity = section["capacity"]
    reached = (
        f"From {capacity:,} instructions on, four of five pairs are."
        if capacity is not None
        else "At none of these sizes are four of five pairs: that takes more instructions."
    )
    return Picture(
        name="capacity",
        title=f"How many instructions it takes to distinguish {noun}",
        description=(
            f"Share of the {section['n_pairs']:,} pairs of {noun} that are significantly different (paired t-test, "
            f"{level}, each pair by itself), on {section['n_draws']} random samples of instructions of each size. With "
            f"all {size:,}, {value_text({'value': share})} of the pairs are. {reached}"
        ),
        spec=curve_spec(points, axes, across=goal),
        narrow=curve_spec(points, axes, across=goal, narrow=True),
        columns=(
            PictureColumn("Instructions", "count"),
            PictureColumn("Significantly different pairs", "percent"),
            PictureColumn(f"p-value, {100 * QUANTILE:g}th percentile over pairs", "number"),
        ),
        rows=tuple(found),
    )
