"""A picture as SVG, PDF, PNG and CSV: safe in a page, the same in both themes, readable without seeing it."""

import re
import sys
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from metaeval.pictures.palette import DARK, HEAT, LIGHT, SERIES, cell_ink, config, heat_step
from metaeval.pictures.picture import SCHEMA_URL, Picture, PictureColumn
from metaeval.pictures.rendering import MissingPicturesError, available, to_csv, to_pdf, to_png, to_svg

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\x00\x1b ‮ \" onload='x' ]]> &amp; {{7*7}} javascript:alert(1) \ud800"


def picture(name: str = HOSTILE, href: str = "/datasets/d/items/?judge=1") -> Picture:
    """Two points with names and links."""
    values = [
        {"who": name, "at": 0.4, "href": href},
        {"who": "=1+1", "at": 0.6, "href": "javascript:alert(1)"},
    ]
    spec = {
        "$schema": SCHEMA_URL,
        "config": config(),
        "data": {"values": values},
        "mark": {"type": "point", "color": SERIES[0], "clip": True},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "y": {"field": "who", "type": "nominal", "title": name},
            "href": {"field": "href", "type": "nominal"},
            "description": {"field": "who"},
        },
    }
    rows = tuple((value["who"], value["at"]) for value in values)
    return Picture(
        "points", name, f"Two points of {name}.", spec, (PictureColumn("Judge"), PictureColumn("At")), rows
    )


@pytest.mark.parametrize("theme", ["light", "dark", "page"])
def test_svg_holds_no_script_style_or_foreign_link_whatever_a_judge_is_called(theme):
    text = to_svg(picture(), theme)
    root = ET.fromstring(text)

    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "a", "path", "line", "rect", "text", "defs", "clipPath"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in names if name == "style" or name.startswith("on") or "href" in name} - {
        "href"
    }
    hrefs = [element.get("href") for element in root.iter() if element.get("href")]
    assert hrefs == (["/datasets/d/items/?judge=1"] if theme == "page" else [])
    assert "<script>alert(1)</script>" in root.find(f"{SVG}title").text


@pytest.mark.parametrize(
    "href", ["//evil.example/", "/\\evil.example", "https://evil.example/", "data:text/html,x"]
)
def test_page_links_to_this_site_only(href):
    assert "evil.example" not in to_svg(picture(href=href), "page")
    assert "data:" not in to_svg(picture(href=href), "page")


def test_page_drawing_serves_both_themes_and_has_ids_of_its_own():
    first, second = (to_svg(picture(name), "page") for name in ("One", "Two"))

    assert "var(--picture-series-1)" in first
    assert not re.search(r'"#[0-9a-f]{6}"', first)
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (first, second)]
    assert all(ids)
    assert not ids[0] & ids[1]
    referenced = re.findall(r"url\(#([^)]+)\)", first)
    assert referenced
    assert set(referenced) <= ids[0]
    root = ET.fromstring(first)
    assert root.get("role") == "group"  # it has a link, which an image would hide
    assert root.find(f"{SVG}desc").text == "Two points of One."


def test_a_drawing_is_one_stop_of_the_tab_key():
    values = [{"who": name, "at": 0.4, "href": "/datasets/d/items/"} for name in ("One", "Two", "Three")]
    several = replace(picture("One"), spec={**picture("One").spec, "data": {"values": values}})

    assert re.findall(r'tabindex="(-?\d)"', to_svg(several, "page")) == ["0", "-1", "-1"]


def test_dark_file_has_dark_colors():
    text = to_svg(picture("One"), "dark")

    assert DARK["surface"] in text
    assert DARK["series-1"] in text
    assert LIGHT["series-1"] not in text


def test_pdf_png_and_csv_hold_hostile_names():
    assert to_pdf(picture()).startswith(b"%PDF")
    assert to_png(picture()).startswith(b"\x89PNG")
    lines = to_csv(picture("One")).split("\r\n")
    assert lines[:3] == ["Judge,At", "One,0.4", "'=1+1,0.6"]


def test_pages_and_palette_have_the_same_colors():
    css = Path("static/css/pictures.css").read_text()

    found = dict(re.findall(r"--picture-([a-z0-9-]+): (light-dark\([^)]+\))", css))
    assert found == {name: f"light-dark({LIGHT[name]}, {DARK[name]})" for name in LIGHT}
    assert len(set(LIGHT.values())) == len(LIGHT), "each color is replaced by its counterpart"


def test_text_on_cells_has_a_contrast_of_five_and_series_of_four_and_a_half():
    names = {light: name for name, light in LIGHT.items()}
    for colors in (LIGHT, DARK):
        for step, cell in enumerate(HEAT):
            assert contrast(colors[names[cell]], colors[names[cell_ink(step)]]) >= 5
        for series in SERIES:
            assert contrast(colors[names[series]], colors["surface"]) >= 4.5


def test_heat_steps_are_even_around_the_middle():
    values = [0.5 + away for away in (-0.4, -0.2, -0.06, 0, 0.06, 0.21, 0.41)]
    assert [heat_step(value, 0.5, 0.4) for value in values] == [0, 1, 2, 3, 4, 5, 6]


def test_without_the_extra_the_message_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)

    assert not available()
    with pytest.raises(MissingPicturesError, match=r"touchstone-judge\[pictures\]"):
        to_svg(picture("One"))
    assert to_csv(picture("One")), "the table needs nothing"


# What is left of red, green and blue (linear) without cones of one kind: Machado, Oliveira and Fernandes, 2009.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_colors_stay_apart_whatever_cones_a_reader_has(colors, vision):
    """A just noticeable difference is about 2.3; series are thin lines and small marks, and keep 15."""
    seen = {name: lab(color, VISION[vision]) for name, color in colors.items()}
    series = [name for name in colors if name.startswith("series-")]
    heat = [f"heat-{step}" for step in range(len(HEAT))]

    near = {pair: distance(*(seen[name] for name in pair)) for pair in combinations(series, 2)}
    assert min(near.values()) >= 15, min(near, key=near.get)
    assert all(distance(seen[one], seen[next_]) >= 5 for one, next_ in pairwise(heat))
    # Below the middle and above it are never taken for each other.
    assert all(distance(seen[low], seen[high]) >= 20 for low in heat[:3] for high in heat[4:])


def lab(color: str, vision: tuple) -> tuple[float, float, float]:
    """CIE L*a*b* of a color as it is seen."""
    given = linear(color)
    red, green, blue = (
        min(1, max(0, sum(w * part for w, part in zip(row, given, strict=True)))) for row in vision
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    x, y, z = (each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116 for each in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """How different two colors look: CIE76."""
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colors as WCAG defines it."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    """The relative luminance of a color."""
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True))


def linear(color: str) -> list[float]:
    """Red, green and blue as amounts of light."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
