"""Pictures by mouse and by keyboard: a mark opens the items behind it, and gets the focus back."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Instruction
from tests.annotation.factories import dataset_make, user_make
from tests.browser.axe import violations
from tests.browser.walks import log_in
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def sweep():
    dataset = dataset_make(pairs=30, owner=user_make(username="alice"))
    for k, one in enumerate(dataset.instructions.order_by("pk")):
        Instruction.objects.filter(pk=one.pk).update(category=("Chat", "Code", "Open QA")[k % 3])
    labels_make(dataset=dataset, choices=[(1, 1, 1 + (k % 5 == 0)) for k in range(30)])
    good, poor = judge_make("Good"), judge_make("Poor", strategy="cot")
    judgments_make(judge=good, dataset=dataset, choices=[(1, 1 + (k % 7 == 0)) for k in range(30)])
    judgments_make(judge=poor, dataset=dataset, choices=[(1 + (k % 2 == 0),) * 2 for k in range(30)])
    return sweep_make(judges=[good, poor], datasets=[dataset])


def drawing(page: Page, name: str):
    card = page.locator(".picture-card", has=page.get_by_role("heading", name=name))
    return card.locator("svg.picture-drawing:visible")


def test_a_mark_opens_its_items_by_mouse_and_by_keyboard(live_server, page: Page, sweep):
    log_in(page, live_server.url, "alice")
    page.goto(live_server.url + reverse("metaeval:comparison", args=[sweep.pk]))
    drawer = page.get_by_role("dialog", name=re.compile(r"\d+ items?"))
    # A screen reader meets links with names, in a drawing that says what it is.
    heat = drawing(page, "by category")
    cell = heat.get_by_role("link", name=re.compile("^Poor, Code: "))
    expect(cell).to_be_visible()
    expect(heat).to_have_attribute("aria-describedby", re.compile("-desc$"))

    for name, mark in (
        ("by category", "Poor, Code: "),
        ("of each judge", "Poor: "),
        ("Correlation of evaluators", "Human annotators and Poor: "),
    ):
        link = drawing(page, name).get_by_role("link", name=re.compile(f"^{mark}")).first
        link.scroll_into_view_if_needed()
        link.click()
        expect(drawer.locator(".item-row").first).to_be_visible()
        page.keyboard.press("Escape")
        expect(drawer).to_have_count(0)
        expect(link).to_be_focused()

    # By keyboard alone: one stop of the Tab key, arrows from there, Enter.
    page.reload()
    links = heat.get_by_role("link")
    expect(links.first).to_be_visible()
    assert [links.nth(k).get_attribute("tabindex") for k in range(links.count())].count("0") == 1
    page.locator(".picture-card", has=page.get_by_role("heading", name="by category")).locator(
        ".picture-frame"
    ).focus()
    page.keyboard.press("Tab")
    expect(heat.get_by_role("link", name=re.compile("^Human annotators, All items"))).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(heat.get_by_role("link", name=re.compile("^Good, Chat: "))).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")  # nothing lies there
    here = page.evaluate("document.activeElement.textContent")
    assert "Open QA" in here
    assert page.evaluate("document.activeElement.getAttribute('tabindex')") == "0"
    page.keyboard.press("Enter")
    expect(drawer.get_by_role("heading", level=2)).to_be_focused()
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    assert page.evaluate("document.activeElement.textContent") == here
    assert not violations(page)
