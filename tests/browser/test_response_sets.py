"""Marking every reasonable answer in a real browser: by key, touch and mouse, without scripts, offline, under axe."""

from collections.abc import Callable

import pytest
from django.test import override_settings
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Label
from tests.annotation.kinds import kind_study_make
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press
from tests.browser.work_page import open_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def kinds(live_server) -> str:
    with override_settings(ROOT_URLCONF="tests.browser.kinds_urls"):
        yield f"{live_server.url}/kinds"


def box(page: Page, name: str):
    return page.locator(f"[name='reasonable-{name}']")


def test_a_pair_by_key(live_server, page: Page):
    study = kind_study_make("pairwise", response_sets=True)
    open_work(page, live_server, study)
    group = page.get_by_role("group", name="Also reasonable")
    expect(group).to_be_hidden()
    press(page, "Shift+T")  # there is nothing to be reasonable beside yet
    press(page, "a")
    expect(group).to_be_visible()
    expect(box(page, "1")).to_be_hidden()  # the choice
    expect(box(page, "0")).not_to_be_checked()
    press(page, "Shift+T")
    press(page, "Shift+B")
    press(page, "Shift+B")
    expect(box(page, "0")).to_be_checked()
    expect(box(page, "2")).not_to_be_checked()
    expect(page.locator("[name=choice][value='1']")).to_be_checked()
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.reload()
    expect(box(page, "0")).to_be_checked()
    press(page, "?")
    expect(page.get_by_text("Also reasonable: Tie")).to_be_visible()
    press(page, "Escape")
    expect(page.get_by_text("Also reasonable: Tie")).to_be_hidden()
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    expect(box(page, "0")).not_to_be_checked()
    label = Label.objects.get()
    assert label.value["reasonable"] == sorted([str(label.choice), "0"], key=["1", "0", "2"].index)
    # Undo: the set is there to be changed.
    press(page, "u")
    expect(box(page, "0")).to_be_checked()
    press(page, "Shift+T")
    press(page, "Enter")
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    assert Label.objects.latest("pk").value == {"choice": label.choice, "reasonable": [str(label.choice)]}


def test_what_is_unticked_offline_stays_so(new_context, live_server):
    study = kind_study_make("pairwise", response_sets=True)
    page = new_context(watched=False).new_page()
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Shift+T")
    press(page, "Shift+B")
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.context.set_offline(True)
    press(page, "Shift+B")
    expect(page.locator("[data-draft-state]")).to_have_text("Draft kept in this browser")
    press(page, "Enter")
    expect(page.locator("[data-draft-state]")).to_contain_text("You’re offline")
    page.context.set_offline(False)
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    label = Label.objects.get()
    assert set(label.value["reasonable"]) == {str(label.choice), "0"}


def test_a_draft_of_this_browser_unticks_what_the_server_has(new_context, live_server):
    study = kind_study_make("pairwise", response_sets=True)
    page = new_context(watched=False).new_page()
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Shift+T")
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.route("**/draft/", lambda route: route.abort())
    press(page, "Shift+T")
    expect(page.locator("[data-draft-state]")).to_have_text("Draft kept in this browser")
    page.reload()
    expect(page.locator("[data-draft-state][data-state=local]")).to_be_visible()
    expect(box(page, "0")).not_to_be_checked()


def test_a_rubric_by_key_stays_at_the_criterion(kinds: str, page: Page):
    page.goto(f"{kinds}/rubric/sets/")
    current = page.locator("[data-part][aria-current]")
    press(page, "4")
    expect(current).to_have_id("part-1")
    press(page, "Shift+Digit5")
    press(page, "Shift+Digit3")
    expect(page.locator("[data-parts-count]")).to_have_text("1 of 3 rated")
    expect(current).to_have_id("part-1")
    press(page, "Enter")
    expect(current).to_have_id("part-2")
    press(page, "2")
    press(page, "j")
    press(page, "1")
    press(page, "Enter")
    assert (
        "'helpfulness': [3, 4, 5], 'completeness': [2], 'conciseness': [1]"
        in page.locator("#read pre").inner_text()
    )
    expect(page.get_by_text("also reasonable: 3: It helps in part, 5: It helps fully")).to_be_visible()


@pytest.mark.parametrize("kind", ["pairwise", "rubric", "classification"])
def test_by_touch_on_a_phone(kinds: str, new_context: Callable[..., BrowserContext], kind: str):
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    page.goto(f"{kinds}/{kind}/sets/")
    before = page.evaluate("document.documentElement.scrollHeight")
    page.locator("form[data-annotate] input[type=radio]").first.tap()
    assert_no_sideways_scroll(page)
    # One line or two, of categories three.
    more = page.evaluate("document.documentElement.scrollHeight") - before
    assert more < (140 if kind == "classification" else 90)
    boxes = page.locator("[data-also]:visible")
    boxes.last.tap()
    expect(boxes.last).to_be_checked()
    for each in boxes.all():
        shape = each.bounding_box()
        assert shape
        assert min(shape["width"], shape["height"]) >= 24


def test_without_scripts(kinds: str, new_context: Callable[..., BrowserContext]):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{kinds}/classification/sets/")
    page.get_by_label("algebra").first.check()
    page.get_by_role("group", name="Also reasonable").get_by_label("geometry").check()
    page.get_by_role("button", name="Submit").click()
    assert "'reasonable': ['geometry', 'algebra']" in page.locator("#read pre").inner_text()


@pytest.mark.parametrize("kind", ["pairwise", "rubric", "classification"])
def test_axe_finds_nothing(kinds: str, page: Page, kind: str):
    page.goto(f"{kinds}/{kind}/sets/")
    page.locator("form[data-annotate] input[type=radio]").first.check()
    page.locator("[data-also]:visible").first.check()
    assert violations(page) == []
