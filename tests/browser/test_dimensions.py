"""Pairs on several dimensions and reasons in a real browser: by key, touch and mouse, without scripts, under axe."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Label
from tests.annotation.kinds import kind_study_make
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press
from tests.browser.work_page import open_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DIMENSIONS = [
    {"key": "factual", "name": "Factual accuracy", "definition": "Which answer has fewer false statements?"},
    {"key": "style", "name": "Style"},
    {"key": "all", "name": "Overall", "definition": "All in all.", "overall": True},
]
REASONS = [{"key": "true", "words": "More accurate"}, {"key": "short", "words": "Shorter"}]


def study_of(**rules):
    return kind_study_make("pairwise", dimensions=DIMENSIONS, reasons=REASONS, **rules)


def current(page: Page):
    return page.locator("[data-part][aria-current]")


def step(page: Page, name: str):
    return page.get_by_role("button", name=name)


def stored_after(page: Page) -> dict[str, object]:
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    return Label.objects.get().value


def test_by_key_one_each(live_server, page: Page):
    open_work(page, live_server, study_of(preference_points=7))
    expect(current(page)).to_have_id("part-1")
    expect(page.locator("[data-part]:visible")).to_have_count(1)
    expect(page.get_by_text("Which answer has fewer false statements?")).to_be_visible()
    press(page, "7")
    expect(current(page)).to_have_id("part-2")
    expect(step(page, "Factual accuracy")).to_contain_text("B much")
    press(page, "t")
    expect(current(page)).to_have_id("part-3")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    # Back to one that is answered, another answer there, and on.
    press(page, "k")
    press(page, "k")
    expect(current(page)).to_have_id("part-1")
    press(page, "a")
    expect(step(page, "Factual accuracy")).to_contain_text("A slightly")
    expect(current(page)).to_have_id("part-3")
    press(page, "Enter")  # goes to what is missing, which is here
    expect(page.locator("[data-part] input:checked")).to_have_count(2)
    press(page, "6")
    press(page, "Shift+Digit2")
    press(page, "Shift+Digit1")
    press(page, "Shift+Digit1")
    expect(page.get_by_text("3 of 3 answered", exact=True)).to_be_visible()
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.reload()
    expect(page.locator("[data-part] input:checked")).to_have_count(3)
    expect(page.get_by_label("Shorter")).to_be_checked()
    expect(step(page, "Overall")).to_contain_text("B better")
    press(page, "?")
    expect(page.get_by_text("Reason: Shorter")).to_be_visible()
    expect(page.get_by_text("Next dimension")).to_be_visible()
    press(page, "Escape")
    press(page, "Enter")
    value = stored_after(page)
    assert value["reasons"] == ["short"]
    turned = value["choice"] == 1  # B was shown first
    assert value["strength"] == "better"
    assert value["dimensions"] == {
        "factual": {"choice": 2 if turned else 1, "strength": "slightly"},
        "style": {"choice": 0},
    }
    # Undo, and the answers are there to be changed.
    press(page, "u")
    expect(page.locator("[data-part] input:checked")).to_have_count(3)
    step(page, "Style").click()
    expect(current(page)).to_have_id("part-2")
    press(page, "1")
    press(page, "Enter")
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    assert Label.objects.latest("pk").value["dimensions"]["style"]["strength"] == "much"


def test_three_points_by_letter(live_server, page: Page):
    open_work(page, live_server, study_of(tie_policy="both_bad"))
    for key in ("a", "x", "b"):
        press(page, key)
    expect(page.get_by_text("3 of 3 answered", exact=True)).to_be_visible()
    # A and B on the current one alone: the last answer is changed, no other.
    press(page, "t")
    expect(page.locator("input[name=choice][value='0']")).to_be_checked()
    expect(page.locator("input[name=dimension-factual][value='1']")).to_be_checked()


def test_by_touch_on_a_phone_a_tap_each(live_server, new_context: Callable[..., BrowserContext]):
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    open_work(page, live_server, study_of(preference_points=7))
    assert_no_sideways_scroll(page)
    for part in ("part-1", "part-2", "part-3"):
        expect(current(page)).to_have_id(part)
        current(page).locator(".choice").nth(1).tap()
    page.locator(".reason", has_text="Shorter").tap()
    for each in page.locator(".reason:visible, .dimension-step:visible").all():
        shape = each.bounding_box()
        assert shape
        assert min(shape["width"], shape["height"]) >= 24
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Submit").tap()
    value = stored_after(page)
    assert value["reasons"] == ["short"]
    assert {each["strength"] for each in value["dimensions"].values()} == {"better"}


def test_without_scripts(live_server, new_context: Callable[..., BrowserContext]):
    page = new_context(java_script_enabled=False).new_page()
    study = study_of(require_reason=True)
    open_without_scripts(page, live_server, study)
    expect(page.locator("[data-part]:visible")).to_have_count(3)
    for name in ("Factual accuracy", "Style", "Overall"):
        page.get_by_role("group", name=name).get_by_label("Tie").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#reasons-error")).to_have_text("Pick at least one reason.")
    expect(page.locator("[data-part] input:checked")).to_have_count(3)
    page.get_by_label("More accurate").check()
    page.get_by_role("button", name="Submit").click()
    assert Label.objects.get().value == {
        "choice": 0,
        "dimensions": {"factual": {"choice": 0}, "style": {"choice": 0}},
        "reasons": ["true"],
    }


def open_without_scripts(page: Page, live_server, study) -> None:
    from django.urls import reverse

    from tests.annotation.factories import enrollment_make

    person = enrollment_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    if not page.locator("form[data-annotate]").count():
        page.locator("main button[type=submit]").first.click()
    expect(page.locator("form[data-annotate]")).to_be_visible()


def test_a_required_reason_is_asked_for_before_enter_submits(live_server, page: Page):
    open_work(page, live_server, kind_study_make("pairwise", reasons=REASONS, require_reason=True))
    press(page, "a")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    press(page, "Enter")
    expect(page.locator("#reason-1")).to_be_focused()
    expect(page.locator("[data-draft-state]")).to_have_text("Pick at least one reason.")
    assert not Label.objects.exists()
    press(page, "Shift+Digit2")
    expect(page.get_by_role("button", name="Submit")).to_be_enabled()
    press(page, "Enter")
    assert stored_after(page)["reasons"] == ["short"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(live_server, new_context: Callable[..., BrowserContext], scheme: str):
    page = new_context(color_scheme=scheme).new_page()
    open_work(page, live_server, study_of(preference_points=5))
    press(page, "1")
    press(page, "Shift+Digit1")
    assert violations(page) == []
