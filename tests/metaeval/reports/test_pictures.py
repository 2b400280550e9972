"""The pictures of a report have its own figures, in words, rows and drawings."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import altair
import pytest

from metaeval.pictures.rendering import to_csv, to_svg
from metaeval.reports.pdf import pdf_content
from metaeval.reports.pictures import MOST_ROWS, forest_picture, report_pictures
from metaeval.reports.report import report_of
from metaeval.reports.systems import RankedSystem, SourceRanking, SystemsReport
from metaeval.reports.systems_pictures import systems_pictures
from metaeval.reports.tables import Slice

STORED = sorted(Path("tests/metaeval/reports/stored").glob("*.json"))


def leads(fingerprint: str, place: Slice) -> str:
    """As a page has it: each cell leads to its items."""
    return f"/items/?judge={fingerprint}&{place.key}"


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_pictures_of_a_stored_report_are_valid_and_have_its_figures(path):
    report = report_of(json.loads(path.read_text()))
    found = report_pictures(report, leads)
    if not any(judge.overall(report.primary)["value"] is not None for judge in report.judges):
        assert found == ()
        return

    assert found[0].name == "forest-plot"
    values = {judge.name: judge.overall(report.primary)["value"] for judge in report.judges}
    assert {row[0]: row[2] for row in found[0].rows if row[0] in values} == values
    names = [picture.name for picture in found]
    assert len(set(names)) == len(names)
    for picture in found:
        for spec in filter(None, (picture.spec, picture.narrow)):
            altair.Chart.from_dict(spec)
        assert all(len(row) == len(picture.columns) for row in picture.rows)
        assert picture.description.endswith(".")
        assert to_csv(picture).startswith(picture.columns[0].label)
    svg = ET.fromstring(to_svg(found[0], "page"))
    assert svg.find("{http://www.w3.org/2000/svg}desc").text == found[0].description


def stored(name: str):
    return report_of(json.loads(Path(f"tests/metaeval/reports/stored/{name}.json").read_text()))


def test_more_judges_than_a_picture_can_show_are_cut_in_words_and_whole_in_the_data():
    report = stored("pairwise")
    first = report.judges[0]
    many = tuple(replace(first, name=f"Judge {k}", fingerprint=f"{k:064}") for k in range(MOST_ROWS + 15))
    found = {picture.name: picture for picture in report_pictures(replace(report, judges=many))}

    for name in ("forest-plot", "categories"):
        rows = len(found[name].rows)
        assert rows > MOST_ROWS
        words = f"The picture shows the first {MOST_ROWS} of {rows} rows; the data behind it has all."
        assert words in found[name].description
        drawn = to_svg(found[name], "page")
        assert f">Judge {MOST_ROWS - 5}<" in drawn
        assert f">Judge {MOST_ROWS + 10}<" not in drawn
    few = {picture.name: picture for picture in report_pictures(report)}
    assert "The picture shows the first" not in few["forest-plot"].description


def test_agreement_against_cost_has_bars_both_ways_and_every_judge_leads_to_its_items():
    report = stored("pairwise")
    cost = {"value": 0.4, "low": 0.3, "high": 0.6, "n": 10}
    judges = tuple(
        replace(
            judge, measures={**judge.measures, "cost_per_1000": {"overall": {**cost, "value": 0.4 + k / 10}}}
        )
        for k, judge in enumerate(report.judges)
    )
    found = {picture.name: picture for picture in report_pictures(replace(report, judges=judges), leads)}

    picture = found["cost"]
    assert [column.label for column in picture.columns[3:6]] == ["$ / 1,000", "$ low", "$ high"]
    assert picture.rows[0][4:6] == (0.3, 0.6)
    drawn = ET.fromstring(to_svg(picture, "page"))
    flat = [
        line
        for line in drawn.iter("{http://www.w3.org/2000/svg}line")
        if line.get("stroke-width") == "1.5" and float(line.get("y2") or 0) == 0
    ]
    assert len(flat) == len(picture.rows), "a bar across of each judge"
    for name in ("forest-plot", "cost", "length-bias"):
        one = found[name]
        assert to_svg(one, "page").count("<a ") == len(one.links) > 0
        assert all(href.startswith("/items/?judge=") for href in one.links.values())


def grouped(names: list[str]):
    """A stored report of pairs whose figures by category are of these."""
    report = stored("pairwise")
    estimate = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}

    def by_name(breakdown):
        return {**breakdown, "category": dict.fromkeys(names, estimate)}

    primary = report.primary
    judges = tuple(
        replace(judge, measures={**judge.measures, primary: by_name(judge.measures[primary])})
        for judge in report.judges
    )
    items = replace(report.items, categories=[{"name": name, "n": 9} for name in names])
    return replace(report, items=items, judges=judges)


def test_a_category_with_a_slash_keeps_its_name_and_leads_to_its_own_items():
    names = ["Q/A", "Chat/A", "<b>A</b>"]
    found = {picture.name: picture for picture in report_pictures(grouped(names), leads)}
    drawn = to_svg(found["categories"], "page")
    assert all(f">{name}<" in drawn for name in ("Q/A", "Chat/A", "&lt;b&gt;A&lt;/b&gt;"))
    heads = [column.label for column in found["categories"].columns]
    for (_, column), href in found["categories"].links.items():
        assert href.endswith("overall" if column == 1 else f"category:{heads[column]}")


def test_a_heat_map_of_more_categories_than_a_page_is_wide_has_a_row_each():
    report = grouped([f"Category {k}" for k in range(40)])
    (picture,) = (one for one in report_pictures(report, leads) if one.name == "categories")
    width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', to_svg(picture))[0])
    assert width < 900 < height
    rows = len(report.judges) + 1
    assert f"in 41 rows and {rows} columns, by category" in picture.description
    assert len(picture.columns) == 42, "the data has a row a judge"
    few = {one.name: one for one in report_pictures(grouped(["One", "Two"]))}["categories"]
    assert f"in {rows} rows and 3 columns" in few.description


def test_more_systems_than_a_picture_can_show_are_cut_in_words():
    rate = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}
    systems = tuple(RankedSystem(f"System {k}", rate, None) for k in range(MOST_ROWS + 9))
    source = SourceRanking("people", "People", 9, 9, systems)
    names = tuple(one.system for one in systems)
    content = SystemsReport("a" * 64, 0.95, {"name": "d"}, 9, 9, names, (source,), (), (), None)
    (picture,) = systems_pictures(content, source)

    assert f"The picture shows the first {MOST_ROWS} of {MOST_ROWS + 9} rows" in picture.description
    assert len(picture.rows) == MOST_ROWS + 9
    drawn = to_svg(picture)
    assert f"{MOST_ROWS}. System" in drawn
    assert f"{MOST_ROWS + 1}. System" not in drawn


def color_of(picture, series: str) -> str:
    (scale,) = {
        json.dumps(layer["encoding"]["color"]["scale"])
        for layer in picture.spec["layer"]
        if layer.get("encoding", {}).get("color", {}).get("field") == "series"
    }
    found = json.loads(scale)
    return found["range"][found["domain"].index(series)]


def test_by_accuracy_human_annotators_have_no_row_without_a_figure():
    report = stored("pairwise")
    assert any(row[0] == "Human annotators" for row in forest_picture(report).rows)
    alone, both = forest_picture(replace(report, primary="accuracy")), forest_picture(report)
    rows = alone.rows
    assert [row[0] for row in rows if row[2] is None] == []
    assert {row[0] for row in rows} == {judge.name for judge in report.judges}
    # The leader has one color, whoever else is drawn.
    assert color_of(alone, "Leader") == color_of(both, "Leader") != color_of(both, "Human annotators")


def test_a_drawing_that_is_higher_than_a_page_is_narrower_in_the_pdf():
    def shares(report):
        return {one["title"]: one["width"] for one in pdf_content(report)["figures"]}

    wide, high = shares(stored("pairwise")), shares(grouped([f"Category {k}" for k in range(70)]))
    name = f"{stored('pairwise').primary_figure.label} by category"
    assert all(30 < width <= 100 for width in wide.values())
    assert 20 < high[name] < wide[name]
