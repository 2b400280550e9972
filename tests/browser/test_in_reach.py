"""What is asked and what one can do stay in view, or a tap away, wherever a long item is scrolled to."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from annotation.models import Label
from tests.browser.axe import violations
from tests.browser.conftest import DESKTOP, assert_no_sideways_scroll, press
from tests.browser.long_items import KINDS, QUESTION, answer_of, long_work, open_long, read_as

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE = {"width": 390, "height": 844}
SMALL = {"width": 360, "height": 740}


@pytest.fixture
def phone(new_context: Callable[..., BrowserContext]) -> Page:
    return new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()


def top_of(page: Page) -> int:
    return page.evaluate("Math.round(scrollY)")


def is_seen(one: Locator) -> bool:
    """Whether somebody sees it: in the window, under nothing else."""
    return one.evaluate(
        """one => {
          const box = one.getBoundingClientRect();
          const [x, y] = [box.x + Math.min(box.width / 2, 20), box.y + Math.min(box.height / 2, 10)];
          const top = document.elementFromPoint(x, y);
          return box.width > 1 && box.height > 1 && one.contains(top);
        }"""
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_question_is_seen_and_the_instruction_is_a_tap_away(live_server, phone: Page, kind: str):
    read_as(phone, live_server, phone="stacked")
    open_long(phone, live_server, long_work(kind))
    phone.evaluate("scrollTo({ top: 1500, behavior: 'instant' })")
    expect(phone.get_by_role("heading", level=1)).to_have_text(QUESTION)
    assert is_seen(phone.get_by_role("heading", level=1))
    before, heading = top_of(phone), phone.locator("#instruction-label")
    assert not is_seen(heading)
    toggle = phone.get_by_role("button", name="Instruction")
    assert min(toggle.bounding_box()["width"], toggle.bounding_box()["height"]) >= 40
    toggle.tap()
    expect(toggle).to_have_attribute("aria-expanded", "true")
    assert is_seen(heading)
    assert is_seen(phone.locator(".instruction .prose"))
    toggle.tap()
    expect(toggle).to_have_attribute("aria-expanded", "false")
    assert not is_seen(heading)
    assert top_of(phone) == before
    assert_no_sideways_scroll(phone)
    toggle.tap()
    assert not violations(phone)


def test_the_instruction_is_held_by_its_key_and_let_go_by_escape(live_server, page: Page):
    open_long(page, live_server, long_work("pairwise"))
    press(page, "a")
    page.evaluate("scrollTo({ top: 1500, behavior: 'instant' })")
    press(page, "i")
    assert is_seen(page.locator("#instruction-label"))
    press(page, "b")  # answers are given meanwhile
    assert answer_of(page) == {"choice": "2"}
    press(page, "Escape")
    assert not is_seen(page.locator("#instruction-label"))
    assert top_of(page) == 1500


@pytest.mark.parametrize("window", [PHONE, SMALL], ids=["390", "360"])
def test_buttons_say_what_they_choose(live_server, new_context: Callable[..., BrowserContext], window):
    page = new_context(viewport=window, has_touch=True, is_mobile=True).new_page()
    open_long(page, live_server, long_work("pairwise", tie_policy="both_bad"))
    for words in ("A is better", "Tie", "Both bad", "B is better"):
        choice = page.locator(".answer-bar label.choice", has_text=words)
        expect(choice.get_by_text(words, exact=True)).to_be_visible()
        assert choice.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.locator(".answer-bar label.choice", has_text="B is better").tap()
    assert answer_of(page)["choice"] == "2"
    assert_no_sideways_scroll(page)


@pytest.mark.parametrize("right_to_left", [False, True], ids=["ltr", "rtl"])
@pytest.mark.parametrize("window", [PHONE, SMALL], ids=["390", "360"])
def test_seven_points_are_one_row_of_buttons(live_server, new_context, window, right_to_left):
    page = new_context(viewport=window, has_touch=True, is_mobile=True).new_page()
    open_long(page, live_server, long_work("pairwise", tie_policy="both_bad", preference_points=7))
    if right_to_left:
        page.evaluate("document.documentElement.dir = 'rtl'")
    points = page.locator("[data-points] label.choice:not(.choice-bad)").all()
    boxes = [point.bounding_box() for point in points]
    assert len({box["y"] for box in boxes}) == 1
    assert min(min(box["height"], box["width"]) for box in boxes) >= 44
    places = [box["x"] for box in boxes]
    assert places == sorted(places, reverse=right_to_left)
    assert all(point.evaluate("one => one.scrollWidth <= one.clientWidth") for point in points)
    # A better answer A is chosen on the side on which answer A stands; the names have every word.
    named = page.get_by_role("radio", name="A is much better")
    assert named.evaluate("one => one.closest('label').getBoundingClientRect().x") == places[0]
    points[6].tap()
    assert answer_of(page)["choice"] == "2-much"
    page.get_by_role("radio", name="Both bad").tap()
    assert answer_of(page)["choice"] == "bad"
    assert_no_sideways_scroll(page)


@pytest.mark.parametrize("words", ["Report a problem", "Take a break or stop"])
def test_report_and_break_are_two_taps_away(live_server, phone: Page, words: str):
    open_long(phone, live_server, long_work("pairwise"))
    phone.evaluate("scrollTo({ top: 1500, behavior: 'instant' })")
    before = top_of(phone)
    more = phone.get_by_role("button", name="More")
    assert is_seen(more)
    more.tap()
    phone.get_by_role("link", name=words).tap()
    dialog = phone.locator("dialog[open]")
    expect(dialog).to_be_visible()
    phone.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(more).to_be_focused()
    assert top_of(phone) == before


@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("kind", ["pairwise", "rubric"])
def test_tab_in_a_bar_does_not_move_the_page(live_server, new_context, kind: str, window):
    page = new_context(viewport=window).new_page()
    read_as(page, live_server, phone="stacked")
    open_long(
        page, live_server, long_work(kind, ask_comment=True, preference_points=5 if kind == "pairwise" else 3)
    )
    press(page, "a" if kind == "pairwise" else "3")
    page.evaluate("scrollTo({ top: 200, behavior: 'instant' })")
    for bar in (".answer-bar", ".topbar"):
        first = page.locator(
            f"{bar} :is(a[href], button:not(:disabled), summary, input:checked):visible"
        ).first
        first.focus()
        for _ in range(4):
            where = page.evaluate("document.activeElement.outerHTML.slice(0, 80)")
            assert top_of(page) == 200, where
            page.keyboard.press("Tab")
            if not page.evaluate("bar => document.activeElement.closest(bar) !== null", bar):
                break
        page.evaluate("scrollTo({ top: 200, behavior: 'instant' })")


def test_the_arrow_of_the_bar_leads_to_the_first_question_first(live_server, phone: Page):
    open_long(phone, live_server, long_work("rubric"))
    current = phone.locator("[data-part][aria-current]")
    for number in (1, 2):
        phone.get_by_role("button", name="Next question").tap()
        expect(current).to_have_attribute("id", f"part-{number}")
        expect(current).to_be_in_viewport()
    phone.get_by_role("button", name="Previous question").tap()
    expect(current).to_have_attribute("id", "part-1")


def test_the_heading_of_a_part_higher_than_the_window_is_seen(live_server, new_context):
    page = new_context(viewport={"width": 390, "height": 520}).new_page()
    open_long(page, live_server, long_work("rubric"))
    for number in (1, 2, 3):
        press(page, "j")
        part = page.locator(f"#part-{number}")
        expect(part).to_be_focused()
        assert part.evaluate("part => part.offsetHeight") > 300
        page.wait_for_function(
            """id => document.querySelector(`${id} .part-head`).getBoundingClientRect().top
                     >= document.querySelector(".topbar").getBoundingClientRect().bottom - 1""",
            arg=f"#part-{number}",
        )
        assert is_seen(part.locator(".part-name"))


@pytest.mark.parametrize("key", ["Control+Enter", "Meta+Enter"])
def test_a_comment_is_submitted_by_key(live_server, page: Page, key: str):
    open_long(page, live_server, long_work("pairwise", ask_comment=True))
    press(page, "m")
    page.keyboard.type("Both are long.")
    page.keyboard.press(key)
    expect(page.locator("[data-draft-state]")).to_have_text("Your answer isn’t complete yet")
    page.locator("label.choice[for=choice-a]").click()
    page.locator("textarea[name=comment]").focus()
    page.keyboard.press(key)
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    assert Label.objects.get().comment == "Both are long."


@pytest.mark.parametrize("kind", KINDS)
def test_at_200_percent_the_bar_stays_in_view_with_a_comment_open(live_server, new_context, kind: str):
    """1280 by 720 pixels of a screen, twice as large, are 640 by 360 of a page."""
    page = new_context(viewport={"width": 640, "height": 360}, device_scale_factor=2).new_page()
    open_long(page, live_server, long_work(kind, ask_comment=True))
    page.locator("[data-comment] summary").focus()
    page.keyboard.press("Enter")
    page.locator("textarea[name=comment]").focus()
    for top in (0, 900):
        page.evaluate("top => scrollTo({ top, behavior: 'instant' })", top)
        submit = page.locator(".answer-bar button[type=submit]:visible").first
        box = submit.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 360
        assert is_seen(submit)
        assert (
            page.locator(".answer-bar").bounding_box()["height"] < 240
        )  # the item is still there to be read


@pytest.mark.parametrize("kind", KINDS)
def test_a_choice_is_announced_once(live_server, page: Page, kind: str):
    open_long(page, live_server, long_work(kind))
    page.evaluate(
        """() => {
          window.said = [];
          const live = "[role=status], [role=alert], [role=log], [aria-live]:not([aria-live=off]), output";
          new MutationObserver((changes) => {
            const regions = new Set();
            for (const change of changes) {
              const node = change.target.nodeType === 1 ? change.target : change.target.parentElement;
              const region = node?.closest(live);
              if (region && region.textContent.trim()) regions.add(region);
            }
            for (const region of regions) window.said.push(region.textContent.trim());
          }).observe(document.body, { childList: true, characterData: true, subtree: true });
        }"""
    )
    key = {"pairwise": "a", "rubric": "3", "checklist": "y"}.get(kind, "1")
    n_parts = page.locator("[data-part]").count()
    for number in range(
        2, n_parts + 1
    ):  # the focus leads to the next question, which a reader reads: nothing else
        press(page, key)
        expect(page.locator(f"#part-{number}")).to_be_focused()
    assert page.evaluate("window.said") == []
    press(page, key)
    page.wait_for_function("() => window.said.length > 0")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert len(page.evaluate("window.said")) == 1, page.evaluate("window.said")


@pytest.mark.parametrize("kind", ["pairwise", "rubric"])
def test_forced_colors_show_where_one_is(live_server, new_context, kind: str):
    page = new_context(forced_colors="active").new_page()
    open_long(page, live_server, long_work(kind))
    press(page, "a" if kind == "pairwise" else "3")

    def style(selector: str, name: str) -> str:
        return page.locator(selector).first.evaluate("(one, name) => getComputedStyle(one)[name]", name)

    assert style(".answer-bar", "borderTopWidth") == "2px"
    bar = page.locator(".work-bar progress")
    pictures = []
    for value in (0, 2):
        bar.evaluate("(bar, value) => (bar.value = value)", value)
        pictures.append(bar.screenshot())
    assert pictures[0] != pictures[1]
    if kind == "rubric":
        assert style("[data-part][aria-current]", "borderTopWidth") == "3px"
        assert style("[data-part]:not([aria-current])", "borderTopWidth") == "1px"
    else:
        assert style(".response-a", "borderTopWidth") == "3px"
        assert style(".response-b", "borderTopWidth") == "1px"
