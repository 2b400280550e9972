"""A key that scrolls never changes an answer: in any kind, whichever way it was given, wherever the focus is."""

from collections.abc import Callable, Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Label
from tests.annotation.factories import enrollment_make
from tests.browser.conftest import DESKTOP, press
from tests.browser.long_items import KINDS, answer_of, long_work, open_long, read_as
from tests.browser.work_page import radio

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE = {"width": 390, "height": 844}
# In pairs that undo one another's scrolling, so that there is always room for the next.
SCROLLING = {
    "ArrowDown": 1,
    "ArrowUp": -1,
    "Space": 1,
    "Shift+Space": -1,
    "PageDown": 1,
    "PageUp": -1,
    "End": 1,
    "Home": -1,
    "ArrowRight": 0,
    "ArrowLeft": 0,
}
MIDDLE = 600
# What a page must be longer than the window for a scroll to be waited for: a few pixels come and go as cards change.
ROOM = 100


SETTLED = """() => {
  const same = window.lastTop === scrollY ? (window.framesSame ?? 0) + 1 : 0;
  Object.assign(window, { lastTop: scrollY, framesSame: same });
  return same > 3;
}"""


def scrolls(page: Page, key: str, way: int) -> None:
    """Press the key in the middle of the page, and wait until the page has moved that way, if it is high enough."""
    page.wait_for_function(SETTLED)  # a browser scrolls by and by
    room = page.evaluate("document.documentElement.scrollHeight - innerHeight")
    middle = min(MIDDLE, room // 2)
    page.evaluate("top => scrollTo({ top, behavior: 'instant' })", middle)
    if key.endswith("Space") and page.evaluate("document.activeElement.matches('select')"):
        page.keyboard.press(key)  # opens the list
        page.keyboard.press("Escape")
        return
    page.keyboard.press(key)
    if way and room > ROOM:
        page.wait_for_function("([top, way]) => (scrollY - top) * way > 0", arg=[middle, way])


def ways_to_answer(page: Page, kind: str, tap: bool) -> Iterator[str]:
    """Answer in one way after the other; every way leaves an answer that is complete."""
    point = (lambda one: one.tap()) if tap else (lambda one: one.click())
    if kind == "pairwise":
        press(page, "a")
        yield "by the key of the side"
        press(page, "5")
        yield "by the key of the point"
        point(page.locator("label.choice[for=choice-b]"))
        yield "at the point"
        page.evaluate("scrollTo(0, 0)")
        point(page.locator(".response-a > label.response-head"))
        yield "at the head of the answer"
    elif kind in ("rubric", "checklist"):
        keys = "32451" if kind == "rubric" else "ynyn"
        for key in keys:
            press(page, key)
        yield "by the keys"
        option = page.locator("[data-part]").nth(1).locator("label.choice").nth(1)
        point(option)
        yield "at an option"
        point(page.locator("[data-part-move='1']"))
        yield "at the button to the next"
        press(page, "k")
        yield "by the key to the previous"
    else:
        size = page.locator("[data-rank-card]").count()
        for digit in range(1, size + 1):
            press(page, str(digit))
        yield "by digits"
        page.locator("[data-rank-card]").nth(1).locator("[data-move=up]").scroll_into_view_if_needed()
        point(page.locator("[data-rank-card]").nth(1).locator("[data-move=up]"))
        yield "at the button that moves up"
        point(page.locator("[data-rank-card]").nth(1).locator("[data-move=down]"))
        yield "at the button that moves down"
        page.locator("[data-ranking] select").first.focus()
        page.locator("[data-ranking] select").first.select_option("2")
        yield "in the list of ranks"
        point(page.locator("[data-rank-undo]"))
        yield "at the button that undoes"
        press(page, "z")
        yield "by the key that undoes"
        for index in range(1, size):
            page.locator("[data-ranking] select").nth(index).select_option("")
        point(page.locator("[data-place-rest]"))
        yield "at the button that ranks the rest"


@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_key_that_scrolls_changes_an_answer(
    live_server, new_context: Callable[..., BrowserContext], kind: str, window: dict[str, int]
):
    touch = window == PHONE
    page = new_context(viewport=window, has_touch=touch).new_page()
    rules = {"pairwise": {"preference_points": 5}, "importance": {"tie_policy": "off"}}.get(kind, {})
    read_as(page, live_server, phone="stacked")
    open_long(page, live_server, long_work(kind, **rules))
    faults = []
    for how in ways_to_answer(page, kind, tap=touch):
        if touch and how.startswith("by "):  # keys give the same answer in any window
            continue
        given = answer_of(page)
        expect(page.get_by_role("button", name="Submit")).to_be_enabled()
        for key, way in SCROLLING.items():
            scrolls(page, key, way)
            if answer_of(page) != given:
                faults.append(f"{how}, {key} makes of {given} {answer_of(page)}")
                given = answer_of(page)
    assert not faults, "\n".join(faults)


def test_the_label_of_somebody_who_scrolled_is_what_they_chose(live_server, page: Page):
    person = long_work("pairwise", preference_points=5)
    open_long(page, live_server, person)
    for key in ("a", "a", "ArrowDown", "Space", "End", "Enter"):
        press(page, key)
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    label = Label.objects.get()
    assert label.value == {"choice": label.shown_order[0] + 1, "strength": "much"}


def test_the_keyboard_alone_reaches_and_chooses_every_option(live_server, page: Page):
    """Arrows move the focus in a group that Tab has reached, and choose nothing; Space chooses; then arrows scroll."""
    open_long(page, live_server, long_work("pairwise"))
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name === 'choice'"):
            break
    expect(radio(page, "a")).to_be_focused()
    for choice in ("tie", "b", "a", "tie"):
        page.keyboard.press("ArrowDown")
        expect(radio(page, choice)).to_be_focused()
        assert answer_of(page) == {}
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    expect(radio(page, "b")).to_be_focused()
    page.keyboard.press("Space")
    assert answer_of(page) == {"choice": "2"}
    scrolls(page, "ArrowDown", 1)
    expect(radio(page, "b")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Submit")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(radio(page, "b")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(radio(page, "tie")).to_be_focused()
    assert answer_of(page) == {"choice": "2"}
    page.keyboard.press("Space")
    assert answer_of(page) == {"choice": "0"}
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    assert Label.objects.get().choice == 0


def test_a_window_that_comes_back_does_not_make_arrows_move_in_the_group(live_server, page: Page):
    open_long(page, live_server, long_work("pairwise"))
    press(page, "a")
    page.evaluate("document.activeElement.blur()")
    radio(page, "a").focus()
    scrolls(page, "ArrowDown", 1)
    expect(radio(page, "a")).to_be_focused()


def test_a_rank_is_chosen_in_its_list_by_keyboard(live_server, page: Page):
    open_long(page, live_server, long_work("importance"))
    select = page.locator("[data-ranking] select").first
    select.focus()
    for key in ("ArrowDown", "ArrowDown", "End", "PageDown", "Home"):
        page.keyboard.press(key)
        assert set(answer_of(page).values()) == {""}
    page.keyboard.press("3")
    expect(select).to_have_value("3")
    page.keyboard.press("ArrowUp")
    expect(select).to_have_value("3")


@pytest.mark.parametrize("kind", ["pairwise", "rubric"])
def test_no_option_of_the_next_item_has_the_focus(live_server, page: Page, kind: str):
    open_long(page, live_server, long_work(kind))
    for key in ("a",) if kind == "pairwise" else "32451":
        press(page, key)
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    expect(page.locator("main")).to_be_focused()
    for key in ("Space", "ArrowDown", "Space"):
        page.keyboard.press(key)
    assert answer_of(page) == {}
    if kind == "rubric":
        expect(page.locator("[data-part][aria-current]")).to_have_attribute("id", "part-1")


def test_enter_without_consent_leads_to_what_is_to_be_ticked(live_server, page: Page, study):
    """The browser says what is missing at the box, and nothing takes the focus from there."""
    person = enrollment_make(study=study, stage="consent")
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you start")
    press(page, "Enter")
    expect(page.locator("#agree")).to_be_focused()
