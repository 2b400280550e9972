"""The pictures of a report have its own figures, in words, rows and drawings."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import altair
import pytest

from metaeval.pictures.rendering import to_csv, to_svg
from metaeval.reports.pictures import report_pictures
from metaeval.reports.report import report_of
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
