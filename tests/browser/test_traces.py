"""Traces in a real browser: steps by key, mouse and touch, folded tools, steps that are fetched, Arabic, axe."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Label, Study
from tests.annotation.traces import BAKERY, messages_of, step_row, trace_study
from tests.browser.axe import violations
from tests.browser.conftest import assert_no_sideways_scroll, press
from tests.browser.work_page import open_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NARROW = {"width": 360, "height": 740}
WORDS = "I read the file and compare what it says with what was asked. " * 8
RESULT = "a line of a file that has many lines\n" * 60


def chosen(study: Study) -> list[str]:
    labels = Label.objects.filter(study=study).order_by("pk")
    return [key for label in labels for key, is_chosen in label.value["categories"].items() if is_chosen]


def step(page: Page, number: int):
    return page.locator(f"[data-step='{number}']")


def test_by_key(live_server, page: Page, tmp_path: Path):
    study = trace_study(tmp_path, step_row(4), step_row(3, id="u"))
    open_work(page, live_server, study)
    expect(page.get_by_role("heading", name="Which step is the first wrong one?")).to_be_visible()
    expect(page.get_by_text("src/1.py").nth(1)).not_to_be_visible()
    press(page, ".")
    expect(step(page, 1)).to_be_focused()
    press(page, "v")
    expect(step(page, 1).get_by_text("It has 1 lines.")).to_be_visible()
    press(page, "j")
    press(page, "j")
    expect(step(page, 3)).to_have_attribute("aria-current", "step")
    expect(page.get_by_text("Step 3 of 4")).to_be_visible()
    press(page, ",")
    press(page, "x")
    expect(step(page, 2).locator("input")).to_be_checked()
    press(page, "Enter")
    expect(page.get_by_text("3 steps")).to_be_visible()
    press(page, "n")
    press(page, "Enter")
    expect(page.locator("form[data-annotate]")).not_to_be_attached()
    assert chosen(study) == ["2", "no wrong step"]


def test_go_to_a_step_and_fetch_all_of_it(live_server, page: Page, tmp_path: Path):
    study = trace_study(tmp_path, step_row(300, trace=messages_of(300, said=WORDS, result=RESULT)))
    open_work(page, live_server, study)
    press(page, "l")
    page.keyboard.type("250")
    page.keyboard.press("Enter")
    expect(step(page, 250)).to_be_focused()
    expect(page).to_have_url(page.url)
    press(page, "x")
    press(page, "v")
    expect(step(page, 250).locator("details")).to_have_attribute("open", "")
    expect(step(page, 250)).to_contain_text("a line of a file that has many lines")
    expect(step(page, 250)).to_be_focused()
    expect(step(page, 250).locator("input")).to_be_checked()
    assert page.url.count("/steps/") == 0
    press(page, "Enter")
    expect(page.locator("form[data-annotate]")).not_to_be_attached()
    assert chosen(study) == ["250"]


def test_by_touch_on_a_narrow_phone(live_server, new_context: Callable[..., BrowserContext], tmp_path: Path):
    study = trace_study(tmp_path, step_row(4), step_row(3, id="u"))
    page = new_context(viewport=NARROW, has_touch=True, is_mobile=True).new_page()
    open_work(page, live_server, study)
    assert_no_sideways_scroll(page)
    for target in (step(page, 2).locator("summary"), step(page, 3).locator(".step-pick")):
        target.scroll_into_view_if_needed()
        assert target.bounding_box()["height"] >= 44  # type: ignore[index]
        target.tap()
    expect(step(page, 2).get_by_text("It has 2 lines.")).to_be_visible()
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Submit").tap()
    expect(page.get_by_text("3 steps")).to_be_visible()
    assert chosen(study) == ["3"]


@pytest.mark.parametrize("kind", ["classification", "checklist"])
@pytest.mark.parametrize("width", [375, 390])
def test_the_first_tap_is_not_lost(
    live_server, new_context: Callable[..., BrowserContext], tmp_path: Path, width: int, kind: str
):
    """The bar says which step one is at as soon as one is at one: nothing below it may move under the finger."""
    row = {"id": "t", "kind": kind, "trace": messages_of(3)}
    row |= {"aspects": "steps"} if kind == "checklist" else {"categories": "steps"}
    context = new_context(viewport={"width": width, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    open_work(page, live_server, trace_study(tmp_path, row))
    page.wait_for_load_state("load")
    step(page, 1).locator("summary").tap(position={"x": 30, "y": 10})
    expect(step(page, 1).get_by_text("It has 1 lines.")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_by_mouse_and_under_axe(
    live_server, new_context: Callable[..., BrowserContext], tmp_path: Path, scheme: str, width: int
):
    rows = [json.loads(line) for line in BAKERY.read_text().splitlines()]
    for row in rows:
        row.pop("labels")
    study = trace_study(tmp_path, *rows[1:])
    page = new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    open_work(page, live_server, study)
    page.locator("summary:has(.tool-name)").first.click()
    page.locator(".step-pick").nth(1).click()
    assert violations(page) == []
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".step-pick input:checked")).to_have_count(0)
    assert len(chosen(study)) == 1


def test_each_step_of_a_checklist_comes_into_view(live_server, page: Page, tmp_path: Path):
    row = {"id": "c", "kind": "checklist", "aspects": "steps", "trace": messages_of(12, said=WORDS)}
    study = trace_study(tmp_path, row)
    open_work(page, live_server, study)
    for _ in range(7):
        press(page, "y")
    expect(step(page, 8)).to_have_attribute("aria-current", "step")
    expect(step(page, 8)).to_be_in_viewport()


def test_arabic_stands_on_the_right(live_server, page: Page, tmp_path: Path):
    rows = [json.loads(line) for line in BAKERY.read_text().splitlines()]
    (row,) = [one | {"labels": []} for one in rows if one["id"] == "arabic"]
    open_work(page, live_server, trace_study(tmp_path, row))
    direction = "(element) => getComputedStyle(element).direction"
    assert step(page, 1).locator(".prose p").first.evaluate(direction) == "rtl"
    assert step(page, 2).locator(".prose p").first.evaluate(direction) == "rtl"
    step(page, 1).locator("summary").click()
    assert step(page, 1).locator("pre").last.evaluate("(e) => getComputedStyle(e).unicodeBidi") == "plaintext"


def test_without_scripts(live_server, new_context: Callable[..., BrowserContext], tmp_path: Path):
    study = trace_study(tmp_path, step_row(300, trace=messages_of(300, said=WORDS, result=RESULT)))
    page = new_context(java_script_enabled=False).new_page()
    from django.urls import reverse

    from tests.annotation.factories import enrollment_make

    person = enrollment_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    page.get_by_role("button").first.click()
    page.get_by_role("link", name="Show all of step 3", exact=True).click()
    expect(page.get_by_role("heading", name="Step 3")).to_be_visible()
    page.locator("summary").first.click()
    expect(page.get_by_text("a line of a file that has many lines").first).to_be_visible()
    page.get_by_role("link", name="Back to the item").click()
    page.locator("[data-step='3'] .step-pick").click()
    page.get_by_role("button", name="Submit").click()
    assert chosen(study) == ["3"]
