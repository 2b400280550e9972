"""Ratings on other scales than 1 to 5 in a real browser: by key, touch and mouse, without a script, kept as a draft."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import override_settings
from playwright.sync_api import BrowserContext, Page, expect

from annotation.importers import read_generic
from annotation.models import Label
from annotation.services.datasets import dataset_import
from tests.annotation.factories import study_make
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press
from tests.browser.work_page import open_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ALL = "'depth': 85, 'tone': -2, 'safe': 1, 'overall': 10, 'sources': 'not_applicable', 'rank': 10, 'helpfulness': 3"


@pytest.fixture
def address(live_server) -> str:
    with override_settings(ROOT_URLCONF="tests.browser.kinds_urls"):
        yield f"{live_server.url}/kinds/rubric/scales/"


@pytest.fixture
def phone(new_context: Callable[..., BrowserContext]) -> Page:
    return new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()


def current(page: Page):
    return page.locator("[data-part][aria-current]")


def read(page: Page) -> str:
    return page.locator("#read pre").inner_text()


def test_all_scales_by_key(address: str, page: Page):
    page.goto(address)
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    press(page, "8")  # begins the number
    expect(page.locator("#part-1-number")).to_be_focused()
    press(page, "5")
    expect(page.locator("[data-parts-count]")).to_have_text("1 of 7 rated")
    expect(page.locator("#part-1 [data-rating-slider]")).to_have_value("85")
    press(page, "Enter")
    expect(current(page)).to_contain_text("Tone")
    press(page, "2")  # the second of seven points: -2
    expect(current(page)).to_contain_text("Safe")
    press(page, "1")
    press(page, "-")  # the last of eleven
    expect(current(page)).to_contain_text("Sources")
    press(page, "n")
    expect(current(page)).to_contain_text("Rank")
    press(page, "0")  # the last of ten
    press(page, "3")
    expect(page.locator("[data-parts-count]")).to_have_text("7 of 7 rated")
    press(page, "Enter")
    expect(page.locator("#read")).to_be_visible()
    assert ALL in read(page)
    expect(page.locator("#read .answer-words")).to_contain_text("1: Pass")
    expect(page.locator("#read .answer-words")).to_contain_text("−2")
    expect(page.locator("#read .answer-words")).to_contain_text("Not applicable")


def test_a_number_is_changed_by_arrows_and_written_over(address: str, page: Page):
    page.goto(address)
    press(page, "7")
    press(page, "0")
    press(page, "ArrowUp")
    expect(page.locator("#part-1-number")).to_have_value("71")
    press(page, "Escape")
    page.locator("#part-1").focus()
    press(page, "4")
    expect(page.locator("#part-1-number")).to_have_value("4")


def test_a_number_off_the_scale_counts_for_nothing_and_enter_says_so(address: str, page: Page):
    page.goto(address)
    for key in "101":
        press(page, key)
    expect(page.locator("[data-parts-count]")).to_have_text("0 of 7 rated")
    press(page, "Enter")
    expect(page.locator("#part-1-number")).to_be_focused()
    assert page.locator("#part-1-number").evaluate("input => input.validity.rangeOverflow")


def test_not_applicable_takes_the_place_of_a_number_and_back(address: str, page: Page):
    page.goto(address)
    number, none = page.locator("#part-5-number"), page.locator("#part-5-not_applicable")
    number.fill("40")
    page.locator("label[for=part-5-not_applicable]").click()
    expect(number).to_have_value("")
    expect(page.locator("[data-parts-count]")).to_have_text("1 of 7 rated")
    number.fill("3")
    expect(none).not_to_be_checked()
    expect(page.locator("[data-parts-count]")).to_have_text("1 of 7 rated")
    number.fill("")
    expect(page.locator("[data-parts-count]")).to_have_text("0 of 7 rated")


def test_the_slider_leads_the_number_and_shows_nothing_before(address: str, page: Page):
    page.goto(address)
    slider = page.locator("#part-1 [data-rating-slider]")
    expect(page.locator("#part-1 [data-rating]")).to_have_attribute("data-unset", "")
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2)
    expect(page.locator("#part-1 [data-rating]")).not_to_have_attribute("data-unset", "")
    assert 20 <= int(page.locator("#part-1-number").input_value()) <= 30
    expect(page.locator("[data-parts-count]")).to_have_text("1 of 7 rated")


def test_single_keys_switched_off_begin_no_number(address: str, page: Page):
    page.goto(address)
    page.evaluate("localStorage.setItem('touchstone:keys-off', '1')")
    press(page, "8")
    expect(page.locator("#part-1-number")).to_have_value("")


def test_by_touch_on_a_phone(address: str, phone: Page):
    phone.goto(address)
    assert_no_sideways_scroll(phone)
    phone.locator("#part-1-number").tap()
    phone.keyboard.type("85")
    for name in ("2--2", "3-1", "4-10", "5-not_applicable", "6-10", "7-3"):
        option = phone.locator(f"label[for=part-{name}]")
        box = option.bounding_box()
        assert min(box["height"], box["width"]) >= 44, (name, box)
        option.tap()
    phone.get_by_role("button", name="Submit").tap()
    assert ALL in read(phone)


def test_without_a_script(address: str, new_context: Callable[..., BrowserContext]):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(address)
    expect(page.locator("[data-rating-slider]").first).to_be_hidden()
    page.locator("#part-1-number").fill("85")
    for name in ("2--2", "3-1", "4-10", "6-10", "7-3"):
        page.locator(f"label[for=part-{name}]").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_have_text("Rate sources with a whole number, 0 to 100, first.")
    expect(page.locator("#part-1-number")).to_have_value("85")
    page.locator("label[for=part-5-not_applicable]").click()
    page.get_by_role("button", name="Submit").click()
    assert ALL in read(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(address: str, page: Page, scheme: str):
    page.emulate_media(color_scheme=scheme)
    page.goto(address)
    found = violations(page)
    for key in ("8", "5", "Enter", "2", "1"):
        press(page, key)
    assert not (found + violations(page))


def test_right_to_left(address: str, page: Page):
    page.goto(address)
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert_no_sideways_scroll(page)
    box = page.locator("#part-1 [data-rating-slider]").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2)
    assert 70 <= int(page.locator("#part-1-number").input_value()) <= 80


def test_a_draft_and_a_label_of_a_study(live_server, page: Page, tmp_path: Path):
    criteria = [
        {"key": "depth", "question": "How deep?", "scale": {"low": 0, "high": 100, "not_applicable": True}},
        {"key": "tone", "question": "How warm?", "scale": {"low": -3, "high": 3}},
        {"key": "sources", "question": "Sourced?", "scale": {"low": 0, "high": 100, "not_applicable": True}},
    ]
    rows = [
        {"id": f"x{n}", "kind": "rubric", "instruction": "Say.", "responses": [f"It is {n}."]}
        for n in range(2)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [{"criteria": criteria}, *rows]))
    dataset = dataset_import(bundle=read_generic(path), name="d").dataset
    open_work(
        page, live_server, study_make(dataset=dataset, kind="rubric", consent="", guidelines="", overlap=1)
    )
    for key in ("6", "4", "Enter", "1", "n"):
        press(page, key)
    expect(page.locator("[data-parts-count]")).to_have_text("3 of 3 rated")
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.reload()
    expect(page.locator("[data-parts-count]")).to_have_text("3 of 3 rated")
    expect(page.locator("#part-1-number")).to_have_value("64")
    expect(page.locator("#part-3-not_applicable")).to_be_checked()
    page.locator("#part-1").focus()
    press(page, "Enter")
    expect(page.locator("[data-parts-count]")).to_have_text("0 of 3 rated")
    assert Label.objects.get().value == {"ratings": {"depth": 64, "tone": -3, "sources": "not_applicable"}}
