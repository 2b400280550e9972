"""Tables that a page has no room for, and drawings whose every name can be read."""

import pytest

from metaeval.papers.drawing import bar_picture
from metaeval.papers.layout import table_parts, width_of
from metaeval.papers.table_pictures import matrix_panels, with_matrix
from metaeval.papers.tables import PaperTable, number_cell, word_cell

SUBSETS = tuple(f"Subset {n}" for n in range(30))


def table_of(n_rows=3, subsets=SUBSETS, upper=()):
    return PaperTable(
        "t2",
        "Table 2",
        "Shares.",
        ("Judge", *("Acc.", "Agr.") * len(subsets)),
        tuple((word_cell(f"judge {k}"), *[number_cell(0.5)] * (2 * len(subsets))) for k in range(n_rows)),
        spans=tuple((name, 2) for name in subsets),
        upper_spans=upper,
    )


def test_a_table_that_fits_is_left_alone():
    table = table_of(subsets=SUBSETS[:3])
    assert table_parts(table, room=width_of(table)) == [table]


def test_a_wide_table_is_cut_between_the_heads_above():
    table = table_of(upper=(("", 2), ("Adversarial", 58)))
    parts = table_parts(table, room=120)
    assert len(parts) > 2
    assert all(width_of(part) <= 120 for part in parts)
    assert [part.name for part in parts] == [f"t2-{n}" for n in range(1, len(parts) + 1)]
    assert parts[1].caption == f"Shares. Part 2 of {len(parts)}."
    # Every column once, its pair beside it, and each part begins with the judges.
    assert tuple(name for part in parts for name, _ in part.spans) == SUBSETS
    assert {width for part in parts for _, width in part.spans} == {2}
    assert parts[0].upper_spans[0] == ("", 2)
    assert all(part.upper_spans[-1][0] == "Adversarial" for part in parts)
    assert all([row[0].text for row in part.rows] == ["judge 0", "judge 1", "judge 2"] for part in parts)
    assert sum(width for part in parts for _, width in part.upper_spans) == 60
    # They are about as wide as each other.
    widths = [len(part.columns) for part in parts]
    assert max(widths) - min(widths) <= 4


def test_a_long_table_is_cut_by_rows():
    parts = table_parts(table_of(100, SUBSETS[:2]), room=200, most_rows=42)
    assert [len(part.rows) for part in parts] == [34, 34, 32]
    assert [row[0].text for part in parts for row in part.rows] == [f"judge {k}" for k in range(100)]


def test_words_are_set_from_the_left_and_numbers_from_the_right():
    rows = (
        (word_cell("a"), word_cell("yes"), number_cell(None)),
        (word_cell("b"), word_cell("no"), number_cell(0.5)),
    )
    assert PaperTable("t", "T", "C", ("", "Shots", "Acc."), rows).words_in == (True, True, False)


LONG = [
    f"meta-llama/Llama-3.1-{size}B-Instruct, {how} reference"
    for size in (8, 70)
    for how in ("with", "without")
]


def axis_of(spec, channel):
    return spec["layer"][0]["encoding"][channel]["axis"]


@pytest.mark.parametrize("names", [LONG, [f"Category {n}" for n in range(70)]])
def test_long_and_many_names_stand_in_full_beside_bars_that_lie(names):
    picture = bar_picture(
        "f", "F", "Bars.", [(name, "All", 0.5) for name in names], heads=("Judge", "What", "Share")
    )
    for spec in (picture.spec, picture.narrow):
        encoding = spec["layer"][0]["encoding"]
        assert encoding["y"]["sort"] == names
        assert encoding["x"]["field"] == "height"
        assert spec["height"] >= 18 * len(names)
        assert encoding["y"]["axis"]["labelLimit"] >= 6 * max(map(len, names))
    # On a phone each name stands above its bars, where it has the whole width.
    assert axis_of(picture.narrow, "y")["labelAlign"] == "left"
    assert picture.narrow["width"] < 300


def test_short_names_stand_below_upright_bars():
    picture = bar_picture(
        "f", "F", "Bars.", [(name, "All", 0.5) for name in "abc"], heads=("J", "W", "S"), mark=0.5
    )
    assert axis_of(picture.spec, "x")["labelAngle"] == 0
    assert picture.spec["layer"][1]["encoding"] == {"y": {"datum": 0.5}}


def test_a_legend_has_room_for_every_name():
    points = [(where, name, 0.5) for where in ("Natural", "Manual") for name in LONG]
    picture = bar_picture("f", "F", "Bars.", points, heads=("Set", "Judge", "Accuracy"))
    for spec in (picture.spec, picture.narrow):
        legend = spec["layer"][0]["encoding"]["color"]["legend"]
        assert legend["columns"] == 1
        assert legend["labelLimit"] >= 260


def matrix(low):
    values = ((1.0, low, 0.6), (low, 1.0, 0.8), (0.6, 0.8, 1.0))
    rows = tuple(
        (word_cell(name), *(number_cell(value, 2, percent=False) for value in line))
        for name, line in zip("abc", values, strict=True)
    )
    return PaperTable("m", "Matrix", "Correlations.", ("", *"abc"), rows)


def fills(spec):
    return {
        (cell["row"], cell["column"]): cell["fill"]
        for cell in spec["data"]["values"]
        if cell["row"] != cell["column"]
    }


def test_cells_of_a_matrix_darken_with_the_correlation():
    """Larger is darker, as in HELM Instruct; the diagonal has no part in the scale."""
    _, picture = with_matrix(matrix(0.5))
    found = fills(picture.spec)
    assert len({found["a", "b"], found["a", "c"], found["b", "c"]}) == 3
    assert found["b", "c"] == next(
        cell["fill"] for cell in picture.spec["data"]["values"] if cell["row"] == cell["column"]
    )


def test_panels_are_on_one_scale():
    (picture,) = matrix_panels(
        "t4-panels", "Table 4", "Correlations.", [("One", matrix(0.5)), ("Two", matrix(0.0))]
    )
    assert [panel["title"] for panel in picture.spec["concat"]] == ["One", "Two"]
    one, two = map(fills, picture.spec["concat"])
    assert one["b", "c"] == two["b", "c"]
    assert one["a", "b"] != two["a", "b"]
    assert picture.narrow["columns"] == 1
    assert not list(matrix_panels("t4-panels", "Table 4", "C.", []))
