"""Reports and papers as one HTML file, opened from the disk without a network: whole, and nothing in it runs."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from metaeval.inputs import Options
from metaeval.papers import PAPERS
from metaeval.papers.drawing import bar_picture
from metaeval.papers.paper import paper_of
from metaeval.papers.tables import MissingPart, PaperTable, number_cell, word_cell
from metaeval.pictures import rendering
from metaeval.reports.content import build
from metaeval.reports.render import render
from metaeval.services.papers import paper_html
from tests.metaeval.reports.arrays import inputs_make, judge_make

pytestmark = pytest.mark.browser
HOSTILE = "</style></svg><script>ran = 1</script><img src=x onerror='ran = 2'><a href='javascript:ran=3'>[x](//e.org)"


def test_a_report_is_one_file_that_needs_nothing_and_runs_nothing(page: Page, tmp_path):
    if not rendering.available():
        pytest.skip("needs the extra `pictures`")
    rng = np.random.default_rng(0)
    gold = rng.integers(1, 3, 40)

    def judge(name, accuracy):
        right = rng.random((40, 2)) < accuracy
        return judge_make(name, np.where(right, gold[:, None], 3 - gold[:, None]))

    inputs = inputs_make(
        lengths=rng.integers(5, 500, (40, 2)),
        gold=gold,
        category=[f"{HOSTILE}{k % 3}" for k in range(40)],
        labels=[(k, p, gold[k]) for k in range(40) for p in range(3)],
        judges=(judge(HOSTILE, 0.9), judge("=cmd", 0.6)),
        name=HOSTILE,
    )
    file = tmp_path / "report.html"
    file.write_text(render(build(inputs, Options(n_resamples=50)), ".html"), encoding="utf-8")
    assert_is_whole(page, file)


def test_a_paper_is_one_file_that_needs_nothing_and_runs_nothing(page: Page, tmp_path):
    if not rendering.available():
        pytest.skip("needs the extra `pictures`")
    name = f"meta-llama/Llama-3.1-70B-Instruct, with reference {HOSTILE}"
    rows = tuple((word_cell(name), *[number_cell(0.5, best=True)] * 14) for _ in range(3))
    heads = ("Strategy", *("Acc.", "Agr.") * 7)
    table = PaperTable("t2", HOSTILE, HOSTILE, heads, rows, (HOSTILE,), spans=((HOSTILE, 2),) * 7)
    picture = bar_picture(
        "f4", HOSTILE, HOSTILE, [(name, HOSTILE, 0.5), ("b", HOSTILE, 0.1)], heads=("Judge", "What", "Share")
    )
    parts = (table, picture, MissingPart("t3", HOSTILE, HOSTILE, HOSTILE))
    file = tmp_path / "tables.html"
    file.write_text(paper_html(paper_of(PAPERS["llmbar"], HOSTILE, {"pairwise": "0" * 64}, parts)), "utf-8")
    assert_is_whole(page, file)
    # On a phone the table scrolls, and its names are words still, not letters below each other.
    box = page.locator("tbody th").first.bounding_box()
    assert box is not None
    assert box["width"] > 100


def assert_is_whole(page: Page, file: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.goto(file.as_uri())
    assert asked == [file.as_uri()]
    assert page.evaluate("typeof ran") == "undefined"
    assert page.locator("script, iframe, object, embed, a[href^=javascript]").count() == 0
    assert page.locator("img:not([src^='data:'])").count() == 0
    drawn = page.locator("svg").first.bounding_box()
    assert drawn is not None
    assert drawn["width"] > 200
    assert page.get_by_text("<script>ran = 1</script>").count() > 0  # text, as it was written
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
