"""The specifications: valid Vega-Lite, drawn without a warning, with every figure in the drawing."""

import doctest

import altair
import pytest

from metaeval.pictures import marks, palette, parts, picture
from metaeval.pictures.curves import CurveAxes, CurvePoint, MarkedPoint, curve_spec, scatter_spec
from metaeval.pictures.heat_maps import HeatCell, heat_map_spec
from metaeval.pictures.intervals import IntervalRow, bars_spec, forest_spec
from metaeval.pictures.parts import ReferenceLine
from metaeval.pictures.picture import Picture
from metaeval.pictures.rendering import to_pdf, to_svg

ROWS = [
    IntervalRow("Human annotators", 0.71, 0.66, 0.76, "Human annotators", "71.0% [66.0, 76.0]"),
    *(
        IntervalRow(f"Judge {k % 3}", 0.5 + k / 40, 0.45 + k / 40, 0.55 + k / 40, "Judges", f"{k} percent")
        for k in range(8)
    ),
    IntervalRow("Undefined", None, None, None, "Baselines (no LLM)", "–"),
]
LINES = [ReferenceLine(0.71, "Human annotators"), ReferenceLine(0.8, "Upper bound")]
CELLS = [
    [HeatCell(k * j / 9, f"{k * j}", f"{k} by {j}", f"/items/?case={k}{j}") for k in range(4)]
    for j in range(3)
]
POINTS = [CurvePoint(k / 10, 0.1 + k / 30, k / 40, 0.2 + k / 25, f"Keeping {k}") for k in range(11)]
MARKED = [
    MarkedPoint(cost, 0.6 + k / 20, 0.5, 0.9, "On the front" if k % 2 else "Eligible", f"{k}", f"Judge {k}")
    for k, cost in enumerate((0.0, 0.02, 0.4, 3.1, 12.0))
]
AXES = CurveAxes("Share of items", "Errors", x_domain=(0, 1))
SPECS = {
    "forest": forest_spec(ROWS, unit="percent", axis_title="Agreement", lines=LINES, domain=(0.4, 0.9)),
    "forest-narrow": forest_spec(ROWS, unit="points", axis_title="Difference", narrow=True),
    "bars": bars_spec(
        [(f"Criterion {k % 3}", row) for k, row in enumerate(ROWS)], unit="number", axis_title="rho"
    ),
    "heat-map": heat_map_spec(
        ["A", "A", "B"], ["Closed QA", "Brainstorm", "x", "y"], CELLS, middle=0.3, reach=0.3
    ),
    "curve": curve_spec(POINTS, AXES, across=LINES[:1], upright=LINES[1:]),
    "points": curve_spec(POINTS, AXES, line=False, diagonal=True, narrow=True),
    "scatter": scatter_spec(
        MARKED, CurveAxes("Cost of 1,000", "Agreement"), front=[(0.0, 0.6), (3.1, 0.8)], by_cost=True
    ),
    "scatter-paid": scatter_spec(
        MARKED[1:], CurveAxes("Cost of 1,000", "Agreement"), by_cost=True, narrow=True
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_specification_is_valid_and_draws_without_a_warning(name, capfd):
    altair.Chart.from_dict(SPECS[name])  # checks it against Vega-Lite's own schema
    drawn = Picture(name, name, name, SPECS[name], (), ())

    svg = to_svg(drawn, "page")
    assert "NaN" not in svg
    assert "undefined" not in svg
    assert to_pdf(drawn).startswith(b"%PDF")
    assert not capfd.readouterr().err


def test_forest_plot_has_a_place_for_each_of_two_judges_of_one_name():
    svg = to_svg(Picture("forest", "t", "d", SPECS["forest"], (), ()), "page")

    assert svg.count("<title>Judge 1: ") == 3
    assert svg.count("percent</text>") == 8


def test_cells_are_links_with_words():
    svg = to_svg(Picture("heat", "t", "d", SPECS["heat-map"], (), ()), "page")

    assert svg.count('href="/items/?case=') == 12
    assert "<title>3 by 2</title>" in svg


def test_names_of_points_cover_neither_each_other_nor_a_point():
    points = [(100.0, 100.0), (104.0, 104.0), (96.0, 101.0), (100.0, 96.0), (102.0, 108.0), (440.0, 5.0)]
    names = [(f"A judge with a name {k}", str(k)) for k in range(len(points))]
    found = marks.placed_marks(points, names, (450.0, 290.0), 190.0)

    assert found[0].text == "A judge with a name 0"
    assert any(mark.text in ("", str(k)) for k, mark in enumerate(found)), "not all names have room"
    assert found[-1].align == "right", "the end of the plot is near"
    boxes = []
    for (x, y), mark in zip(points, found, strict=True):
        wide = 6.4 * len(mark.text)
        left = x + mark.dx - (0 if mark.align == "left" else wide)
        boxes.append((left, y + mark.dy - 6, left + wide, y + mark.dy + 6))
    for k, one in enumerate(boxes):
        for other in boxes[:k]:
            wide = min(one[2], other[2]) - max(one[0], other[0])
            high = min(one[3], other[3]) - max(one[1], other[1])
            area = (one[2] - one[0]) * (one[3] - one[1])
            assert max(0, wide) * max(0, high) <= 0.1 * area


@pytest.mark.parametrize("module", [picture, palette, parts, marks], ids=lambda module: module.__name__)
def test_examples_hold(module):
    assert doctest.testmod(module).failed == 0
