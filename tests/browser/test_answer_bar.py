"""The answer bar with the decision sticks to the bottom of the window and never hides the end of the work."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Response, Study
from tests.annotation.kinds import kind_study_make
from tests.browser.conftest import DESKTOP, PHONE, press
from tests.browser.work_page import LONG, open_work, radio

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LANDSCAPE = {"width": 740, "height": 360}
AT_THE_END = """() => {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  const top = (selector) => document.querySelector(selector).getBoundingClientRect();
  return [top("main").bottom, top(".answer-bar").top, top(".answer-bar").bottom, innerHeight];
}"""


def assert_the_end_is_seen(page: Page) -> None:
    main_ends, bar_begins, bar_ends, window = page.evaluate(AT_THE_END)
    assert main_ends <= bar_begins + 1
    assert bar_ends == pytest.approx(window, abs=1)


@pytest.mark.parametrize("window", [DESKTOP, PHONE, LANDSCAPE], ids=["desktop", "phone", "landscape"])
def test_the_bar_hides_nothing_however_high_it_grows(new_context, live_server, study, window):
    Study.objects.update(preference_points=7, ask_comment=True, tie_policy="both_bad")
    page = new_context(viewport=window).new_page()
    open_work(page, live_server, study)
    assert_the_end_is_seen(page)
    press(page, "a")
    assert_the_end_is_seen(page)
    press(page, "m")
    expect(page.get_by_label("Comment (optional)")).to_be_focused()
    assert_the_end_is_seen(page)
    expect(page.get_by_label("Comment (optional)")).to_be_in_viewport()


def test_a_new_item_is_not_framed(page: Page, live_server, study):
    """The focus goes to the top of the part, where there is nothing to act on."""
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    expect(page.locator("main")).to_be_focused()
    assert page.locator("main").evaluate("main => getComputedStyle(main).outlineStyle") == "none"
    expect(radio(page, "a")).not_to_be_checked()


@pytest.mark.parametrize("window", [{"width": 1280, "height": 500}, PHONE], ids=["desktop", "phone"])
def test_what_has_the_focus_is_not_under_the_bar(new_context, live_server, study, window):
    Response.objects.update(text=f"{LONG * 3}\n\n[A source](https://example.org/)")
    page = new_context(viewport=window).new_page()
    open_work(page, live_server, study)
    expect(page.locator(".answer-bar")).to_be_visible()
    page.wait_for_load_state("load")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.response-body a')"):
            break
    link, bar = page.evaluate(
        "[document.activeElement, document.querySelector('.answer-bar')]"
        ".map(one => one.getBoundingClientRect().toJSON())"
    )
    assert link["width"]
    assert link["bottom"] <= bar["top"]


def test_enter_submits_in_the_frame_in_which_a_dialog_closes(live_server, page: Page):
    open_work(page, live_server, kind_study_make("pairwise"))
    press(page, "a")
    page.evaluate("document.activeElement.blur()")  # as after a reload: nothing to give the focus back to
    press(page, "?")
    expect(page.locator("#keys-dialog")).to_be_visible()
    # The button in the dialog still has the focus: the browser takes it away when it draws the next frame.
    held = page.evaluate(
        """() => {
            document.querySelector("#keys-dialog [data-close-dialog]").focus();
            document.getElementById("keys-dialog").close();
            const focused = document.activeElement;
            const enter = { key: "Enter", code: "Enter", bubbles: true, cancelable: true };
            focused.dispatchEvent(new KeyboardEvent("keydown", enter));
            return focused.tagName;
        }"""
    )
    assert held == "BUTTON"
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
