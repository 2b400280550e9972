"""A part of a dataset's judges, chosen with the keyboard alone: for the comparison and for the decision."""

import pytest
from playwright.sync_api import Page, expect

from judges.models import Judge
from tests.annotation.factories import dataset_make
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press
from tests.browser.test_comparison import log_in
from tests.metaeval.rows import judge_make, judgments_make, labels_make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def judges() -> list[Judge]:
    dataset = dataset_make(pairs=30, name="pairs")
    labels_make(dataset=dataset, choices=[(1, 1, 2)] * 30)
    made = [judge_make(f"Judge {name}") for name in ("one", "two", "three")]
    for wrong, judge in zip((2, 6, 12), made, strict=True):
        choices = [(2, 2)] * wrong + [(1, 1)] * (30 - wrong)
        judgments_make(judge=judge, dataset=dataset, choices=choices)
    return made


def tab_to(page: Page, wanted: str) -> None:
    """Go on with Tab until what matches has the focus."""
    for _ in range(80):
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} cannot be reached with Tab")


@pytest.mark.parametrize("where", ["comparison", "decision"])
def test_with_the_keyboard(live_server, page: Page, judges: list[Judge], where: str) -> None:
    one, two, three = judges
    log_in(page, live_server.url, "researcher")
    page.goto(f"{live_server.url}/datasets/pairs/{where}/")
    rows = page.locator("tbody th[scope=row]")
    expect(rows.filter(has_text="Judge three").first).to_be_visible()
    # Closed, its boxes are not in the way of the keyboard.
    expect(page.locator(".judge-choice summary")).to_contain_text("all 3")
    press(page, "Tab")
    tab_to(page, ".judge-choice summary")
    page.keyboard.press("Enter")
    tab_to(page, f"input[name=judge][value='{three.pk}']")
    page.keyboard.press("Space")
    expect(page.locator(f"input[name=judge][value='{three.pk}']")).not_to_be_checked()
    tab_to(page, ".judge-choice button")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/datasets/pairs/judges/{one.pk},{two.pk}/{where}/")
    expect(rows.filter(has_text="Judge two").first).to_be_visible()
    expect(rows.filter(has_text="Judge three")).to_have_count(0)
    expect(page.locator(".judge-choice summary")).to_contain_text("2 of 3")
    # What was chosen goes along from the one page to the other, and back to all.
    other = "decision" if where == "comparison" else "comparison"
    press(page, "Tab")
    tab_to(page, f"a[href*='/judges/{one.pk},{two.pk}/{other}/']")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/datasets/pairs/judges/{one.pk},{two.pk}/{other}/")
    expect(rows.filter(has_text="Judge one").first).to_be_visible()
    expect(rows.filter(has_text="Judge three")).to_have_count(0)
    page.set_viewport_size(PHONE)
    assert_no_sideways_scroll(page)
    press(page, "Tab")
    tab_to(page, ".judge-choice summary")
    page.keyboard.press("Space")
    tab_to(page, f"input[name=judge][value='{three.pk}']")
    assert_no_sideways_scroll(page)
    page.keyboard.press("Space")
    tab_to(page, ".judge-choice button")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/datasets/pairs/{other}/")
    expect(rows.filter(has_text="Judge three").first).to_be_visible()
