"""The decision on rubrics in a real browser: from the comparison, the switch between kinds, promotion, a phone."""

import pytest
from playwright.sync_api import expect

from metaeval.models import Decision
from tests.browser.conftest import PHONE, assert_no_sideways_scroll
from tests.browser.test_comparison import log_in
from tests.metaeval.choices import two_kinds

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_from_rubrics_to_a_promotion_of_their_judge(live_server, page):
    """Pairs and rubrics in one sweep: the switch with the keyboard, a constraint, and a decision on rubrics alone."""
    dataset, sweep = two_kinds()
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/comparison/?dataset={dataset.name}")
    page.get_by_role("link", name="Decision by rubric rating").click()
    expect(page.locator("#verdict")).to_contain_text(
        "Near rubric is significantly better than the other judges"
    )
    switch = page.get_by_role("navigation", name="Kind of item")
    switch.get_by_role("link", name="Pairwise comparison").focus()
    page.keyboard.press("Tab")
    expect(switch.get_by_role("link", name="Rubric rating")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text(
        "Right on pairs is significantly better than the other judges"
    )
    switch.get_by_role("link", name="Rubric rating").click()
    expect(page.locator("#decision-judges thead")).to_contain_text("Closeness")
    expect(page.locator("#decision-judges")).to_contain_text("always the median")
    assert_no_sideways_scroll(page)

    page.locator(".asked summary").click()
    expect(page.get_by_label("Positional agreement, at least (%)")).to_have_count(0)
    page.get_by_label("Unparsed answers, at most (%)").fill("1")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_have_text("Near rubric is the only eligible judge")
    page.get_by_text("Promote a judge").click()
    page.locator("label", has_text="Near rubric").get_by_role("radio").check()
    page.get_by_label("Reason").fill("It reads well.")
    page.get_by_role("button", name="Promote this judge").click()
    expect(page.locator(".flash-success")).to_contain_text("Near rubric is now the judge for mixed.")
    expect(page.locator("#verdict")).to_have_text("Near rubric is the only eligible judge")
    assert list(Decision.objects.values_list("kind", flat=True)) == ["rubric"]


def test_rubrics_on_a_phone(live_server, new_context):
    sweep = two_kinds()[1]
    page = new_context(viewport=PHONE, color_scheme="dark").new_page()
    log_in(page, live_server.url, "administrator")
    page.goto(f"{live_server.url}/sweeps/{sweep.pk}/decision/?kind=rubric")
    page.locator(".asked summary").click()
    assert_no_sideways_scroll(page)
