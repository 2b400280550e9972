"""A pair as a person likes to read it: one answer at a time on a phone, columns that scroll by themselves, size and
spacing, find, differences; by key, by touch and by mouse, and nobody loses their place.
"""

import re
from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Label, Response
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.browser.axe import violations
from tests.browser.conftest import DESKTOP, assert_no_sideways_scroll, press
from tests.browser.long_items import answer_of, long_work, open_long, read_as

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE = {"width": 390, "height": 844}
TOPS = "[...document.querySelectorAll('[data-pane]')].map((pane) => Math.round(pane.scrollTop))"
ROOT = "document.documentElement.getAttributeNames().filter((name) => name.startsWith('data-reading'))"


@pytest.fixture
def phone(new_context: Callable[..., BrowserContext]) -> Page:
    return new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()


def tab(page: Page, name: str):
    return page.get_by_role("tab", name=f"Answer {name}")


def swipe(page: Page, *, to_left: bool) -> None:
    """A finger over the middle of the answers, as the browser gets it."""
    session = page.context.new_cdp_session(page)
    session.send(
        "Input.synthesizeScrollGesture",
        {"x": 195, "y": 350, "xDistance": -320 if to_left else 320, "yDistance": 0, "speed": 1200},
    )
    # The browser brings the answer to its place by and by.
    page.wait_for_function(
        """() => {
          const at = document.querySelector("[data-pair]").scrollLeft;
          const same = window.lastLeft === at ? (window.framesSame ?? 0) + 1 : 0;
          Object.assign(window, { lastLeft: at, framesSame: same });
          return same > 8;
        }"""
    )


def scroll_to(page: Page, name: str, top: int) -> None:
    page.locator(f"#pane-{name}").evaluate("(pane, top) => pane.scrollTo({ top, behavior: 'instant' })", top)


def test_a_swipe_and_a_tap_go_to_the_other_answer_and_each_keeps_its_place(live_server, phone: Page):
    open_long(phone, live_server, long_work("pairwise"))
    expect(tab(phone, "A")).to_have_attribute("aria-selected", "true")
    scroll_to(phone, "a", 700)
    swipe(phone, to_left=True)
    expect(tab(phone, "B")).to_have_attribute("aria-selected", "true")
    expect(phone.locator("#pane-a")).to_have_attribute("inert", "")
    scroll_to(phone, "b", 300)
    tab(phone, "A").tap()
    expect(tab(phone, "A")).to_have_attribute("aria-selected", "true")
    expect(phone.locator("[role=tabpanel]:not([inert])")).to_have_count(1)
    assert phone.evaluate(TOPS) == [700, 300]
    phone.reload()
    expect(tab(phone, "A")).to_have_attribute("aria-selected", "true")
    phone.wait_for_function(f"() => JSON.stringify({TOPS}) === '[700,300]'")
    expect(tab(phone, "A")).to_contain_text("% read")
    assert phone.evaluate("scrollY") == 0
    assert_no_sideways_scroll(phone)
    assert not violations(phone)


def test_what_one_needs_is_in_the_lower_half_and_large_enough(live_server, phone: Page):
    open_long(phone, live_server, long_work("pairwise", tie_policy="both_bad"))
    expect(phone.locator(".answer-question")).to_be_visible()
    lower = phone.locator(".answer-bar :is(.answer-tabs a, label.choice, .btn):visible")
    boxes = [one.bounding_box() for one in lower.all()]
    assert len(boxes) == 9
    assert min(box["y"] for box in boxes) > PHONE["height"] / 2
    assert min(box["height"] for box in boxes) >= 44
    fold = phone.get_by_role("button", name="Show all")
    before = phone.locator("#pane-a").bounding_box()["height"]
    fold.tap()
    expect(phone.get_by_role("button", name="Back to the answer")).to_be_visible()
    assert phone.locator("#pane-a").bounding_box()["height"] < before
    phone.reload()  # remembered
    phone.get_by_role("button", name="Back to the answer").tap()
    expect(fold).to_be_visible()
    assert phone.locator("#pane-a").bounding_box()["height"] == before


def test_tabs_by_keyboard_and_the_keys_that_scroll(live_server, new_context):
    page = new_context(viewport=PHONE).new_page()
    open_long(page, live_server, long_work("pairwise"))
    press(page, "a")
    page.keyboard.press("PageDown")
    page.wait_for_function(f"() => {TOPS}[0] > 100")
    assert answer_of(page) == {"choice": "1"}
    tab(page, "A").focus()
    page.keyboard.press("ArrowRight")
    expect(tab(page, "B")).to_be_focused()
    expect(tab(page, "B")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("End")
    expect(tab(page, "B")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("n")
    expect(page.locator("#pane-a")).to_be_focused()
    first = page.evaluate(TOPS)[0]
    page.keyboard.press("j")
    page.wait_for_function(f"() => {TOPS}[0] > {first}")
    assert answer_of(page) == {"choice": "1"}


def test_right_to_left_begins_at_the_right(live_server, phone: Page):
    phone.add_init_script(
        "new MutationObserver(() => { if (document.documentElement) document.documentElement.dir = 'rtl'; })"
        ".observe(document, { childList: true })"
    )
    open_long(phone, live_server, long_work("pairwise"))
    a, b = (phone.locator(f"#pane-{name}").bounding_box()["x"] for name in "ab")
    assert b < a
    swipe(phone, to_left=False)
    expect(tab(phone, "B")).to_have_attribute("aria-selected", "true")
    assert tab(phone, "B").bounding_box()["x"] < tab(phone, "A").bounding_box()["x"]
    tab(phone, "B").focus()
    phone.keyboard.press("ArrowRight")
    expect(tab(phone, "A")).to_have_attribute("aria-selected", "true")
    assert_no_sideways_scroll(phone)


def test_preferences_are_remembered_and_keep_the_place(live_server, new_context):
    context = new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    person = long_work("pairwise")
    open_long(page, live_server, person)
    scroll_to(page, "a", 900)
    words = "document.caretPositionFromPoint(60, 130)?.offsetNode.parentElement.textContent"
    before = page.evaluate(words)
    page.locator(".answer-go").get_by_role("button", name="More").tap()
    page.get_by_role("link", name="Reading").tap()
    page.get_by_label("Largest").tap()
    page.get_by_label("One below the other").tap()
    page.keyboard.press("Escape")
    assert page.evaluate("scrollY") > 500
    assert page.evaluate(words.replace("130", "190")) == before
    assert page.evaluate(ROOT) == ["data-reading-size", "data-reading-phone"]
    page.locator("label[for=choice-a].choice").tap()
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    other = context.new_page()
    other.goto(page.url)
    assert other.evaluate(ROOT) == ["data-reading-size", "data-reading-phone"]


def test_columns_scroll_by_themselves(live_server, page: Page):
    read_as(page, live_server, columns="apart")
    open_long(page, live_server, long_work("pairwise"))
    page.mouse.move(300, 400)
    page.mouse.wheel(0, 500)
    page.wait_for_function(f"() => {TOPS}[0] > 0")
    press(page, "n")
    page.keyboard.press("b")
    page.keyboard.press("PageDown")
    page.wait_for_function(f"() => {TOPS}[1] > 100")
    assert answer_of(page) == {"choice": "2"}
    assert page.evaluate("scrollY") == 0
    assert page.locator(".answer-bar").bounding_box()["y"] < DESKTOP["height"]
    assert not violations(page)


def test_words_are_found_in_both_answers(live_server, phone: Page):
    person = long_work("pairwise")
    Response.objects.filter(text__startswith="Answer 1").update(text="One **cra**ne.\n\nTwo CRANES.")
    open_long(phone, live_server, person)
    press(phone, "/")
    phone.keyboard.type("crane")
    found = phone.locator("[data-find-found]")
    expect(found).to_have_text(re.compile(r"^1 of 2 \([AB] 2\)$"))
    phone.keyboard.press("Enter")
    expect(found).to_have_text(re.compile(r"^2 of 2"))
    assert phone.evaluate("CSS.highlights.get('found').size") == 2
    assert not violations(phone)
    phone.keyboard.press("Escape")
    expect(phone.locator("[data-find]")).to_be_hidden()
    assert answer_of(phone) == {}


def test_what_is_looked_for_may_hold_any_sign(live_server, phone: Page):
    person = long_work("pairwise")
    Response.objects.filter(text__startswith="Answer 1").update(
        text="A well-known a/b (c) [d] {e} x^2 $1 a|b q? *"
    )
    open_long(phone, live_server, person)
    press(phone, "/")
    for words in ("well-known", "a/b (c)", "[d] {e}", "x^2 $1", "a|b q? *"):
        phone.keyboard.press("Control+a")
        phone.keyboard.type(words)
        expect(phone.locator("[data-find-found]")).to_have_text(re.compile(r"^1 of 1"))
        phone.keyboard.press("Control+a")
        phone.keyboard.press("Delete")


def test_answers_are_shown_as_they_are_written_and_the_choice_stays(live_server, page: Page):
    dataset = dataset_make(pairs=1)
    Response.objects.update(text="Some **bold** words.")
    open_long(page, live_server, enrollment_make(study=study_make(dataset=dataset)))
    press(page, "b")
    expect(page.locator(".response strong")).to_have_count(2)
    page.keyboard.press("Shift+W")
    expect(page.locator(".response-a .response-body")).to_contain_text("Some **bold** words.")
    assert answer_of(page) == {"choice": "2"}
    page.reload()
    expect(page.locator(".response-b .response-body")).to_contain_text("Some **bold** words.")
    press(page, "Shift+W")
    expect(page.locator(".response strong")).to_have_count(2)


def test_words_that_differ_are_marked_where_the_study_lets_them(live_server, page: Page):
    person = long_work("pairwise", show_differences=True, show_word_counts=True)
    open_long(page, live_server, person)
    expect(page.locator(".response-words").first).to_have_text(re.compile(r"^1,\d{3} words$"))
    press(page, "Shift+D")
    page.wait_for_function("() => CSS.highlights.get('differs')?.size === 2")  # the number of each answer
    marked = page.evaluate(
        "[...CSS.highlights.get('differs')].map((one) => one.startContainer.data.slice(one.startOffset, one.endOffset))"
    )
    assert sorted(marked) == ["0", "1"]
    page.keyboard.press("Shift+D")
    page.wait_for_function("() => !CSS.highlights.has('differs')")
    open_long(page, live_server, enrollment_make(study=study_make(dataset=dataset_make(pairs=1))))
    expect(page.locator("[data-reading-switch=differences], .response-words")).to_have_count(0)


def test_the_card_that_is_chosen_shows_it_and_still_does_after_a_reload(live_server, page: Page):
    open_long(page, live_server, long_work("pairwise"))
    picked = page.locator(".response-picked:visible")
    expect(picked).to_have_count(0)
    press(page, "a")
    expect(page.locator(".response-a .response-picked")).to_be_visible()
    page.keyboard.press("b")
    expect(page.locator(".response-b .response-picked")).to_be_visible()
    page.reload()
    expect(page.locator(".response-b .response-picked")).to_be_visible()
    press(page, "t")
    expect(picked).to_have_count(0)
    expect(page.locator(".response-b")).to_have_css("border-style", "dashed")


def test_a_window_that_changes_its_height_while_one_scrolls_moves_nothing(live_server, phone: Page):
    """As a phone's does, whose bar of addresses comes and goes with a scroll."""
    read_as(phone, live_server, phone="stacked")
    open_long(phone, live_server, long_work("pairwise"))
    phone.evaluate("scrollTo({ top: 600, behavior: 'instant' })")
    phone.wait_for_function("() => JSON.parse(sessionStorage.getItem('touchstone:place'))?.isScrolled")
    phone.evaluate(
        "() => { scrollTo({ top: 1400, behavior: 'instant' }); dispatchEvent(new Event('resize')); }"
    )
    assert phone.evaluate("scrollY") == 1400


def test_a_phone_that_is_turned_keeps_the_paragraph_that_was_read(live_server, phone: Page):
    open_long(phone, live_server, long_work("pairwise"))
    scroll_to(phone, "a", 3000)
    phone.wait_for_function("() => JSON.parse(sessionStorage.getItem('touchstone:place'))?.places.a.at > 0")
    at = phone.evaluate("JSON.parse(sessionStorage.getItem('touchstone:place')).places.a.at")
    top = "document.querySelectorAll('#pane-a .response-body > *')[{}].getBoundingClientRect().{}"
    phone.set_viewport_size({"width": 844, "height": 390})
    phone.wait_for_function(f"() => {top.format(at, 'bottom')} > 0 && {top.format(at, 'top')} < innerHeight")


def test_a_choice_submits_and_is_undone_over_several_steps(live_server, phone: Page):
    person = enrollment_make(
        study=study_make(dataset=dataset_make(pairs=4), submit_on_choice=True, preference_points=7)
    )
    open_long(phone, live_server, person)
    phone.wait_for_timeout(500)
    phone.locator("[data-points] label.choice").nth(6).tap()
    toast = phone.locator("[data-toast]")
    expect(toast).to_contain_text("Saved: B is much better.")
    expect(phone.locator(".progress-label")).to_have_text("1 of 4")
    phone.keyboard.press("1")  # in the first moment of an item a key chooses, and submits nothing
    expect(phone.locator("[data-choice=a]:checked")).to_have_count(1)
    phone.wait_for_timeout(500)
    phone.keyboard.press("2")
    expect(phone.locator(".progress-label")).to_have_text("2 of 4")
    expect(toast).to_contain_text("Saved: A is better.")
    toast.get_by_role("link", name="Undo").tap()
    expect(phone.locator(".flash")).to_contain_text("A is better")
    press(phone, "u")  # one step further back
    expect(phone.locator(".flash")).to_contain_text("B is much better")
    phone.wait_for_timeout(500)
    press(phone, "4")
    expect(phone.locator("#messages")).to_contain_text("Your answer was changed.")
    first = Label.objects.standing().order_by("assignment_id").first()
    assert first.value == {"choice": 0}
    assert Label.objects.standing().count() == 2


def test_without_scripts_the_tabs_are_links_and_the_preferences_a_form(live_server, new_context):
    page = new_context(viewport=PHONE, java_script_enabled=False).new_page()
    person = long_work("pairwise")
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    page.get_by_role("button", name=re.compile("item|Show|Continue")).first.click()
    page.get_by_role("link", name="Answer B").click()
    expect(page.locator("#pane-b")).to_be_in_viewport(ratio=0.3)
    page.goto(f"{live_server.url}{reverse('annotation:reading', args=[person.study.slug])}")
    page.get_by_label("Large", exact=True).check(force=True)
    page.get_by_label("Always in view").check(force=True)
    page.get_by_role("button", name="Save preferences").click()
    assert page.locator("html").get_attribute("data-reading-size") == "large"
    assert page.locator("html").get_attribute("data-reading-prompt") == "pinned"


def test_twenty_long_items_on_a_phone(live_server, phone: Page):
    """Each is read in both answers, left in the middle, come back to, and answered: its place is where it was."""
    person = enrollment_make(study=study_make(dataset=dataset_make(pairs=20)))
    Response.objects.update(
        text="\n\n".join(
            f"## Part {k}\n\n" + "The paper is folded along the dotted line. " * 8 for k in range(24)
        )
    )
    open_long(phone, live_server, person)
    for number in range(20):
        expect(phone.locator(".progress-label")).to_have_text(f"{number} of 20")
        assert phone.evaluate(TOPS) == [0, 0]
        expect(tab(phone, "A")).to_have_attribute("aria-selected", "true")
        scroll_to(phone, "a", 1200 + 50 * number)
        tab(phone, "B").tap()
        scroll_to(phone, "b", 2000)
        if number % 5 == 0:
            phone.reload()
            expect(tab(phone, "B")).to_have_attribute("aria-selected", "true")
        tab(phone, "A").tap()
        phone.wait_for_function(f"() => JSON.stringify({TOPS}) === '[{1200 + 50 * number},2000]'")
        phone.locator("label[for=choice-b].choice").tap()
        assert phone.evaluate(TOPS) == [1200 + 50 * number, 2000]
        phone.get_by_role("button", name="Submit").tap()
    phone.wait_for_url("**/done/")
    assert Label.objects.count() == 20


# Each paragraph differs in one word; the first text nodes of the highlight's ranges say where they are.
MARKED = """() => [...(CSS.highlights.get("differs") ?? [])].map((one) =>
    one.startContainer.data.slice(one.startOffset, one.endOffset))"""
IN_SIGHT = """() => [...document.querySelectorAll("[data-pane] .plain > span")].filter((block) => {
    const [pane, own] = [block.closest("[data-pane]"), block].map((one) => one.getBoundingClientRect());
    const high = Math.min(own.bottom, pane.bottom, innerHeight) - Math.max(own.top, pane.top, 0);
    const wide = Math.min(own.right, innerWidth) - Math.max(own.left, 0);
    return high > 40 && 2 * wide > own.width;
}).map((block) => block.textContent.match(/[ab]only\\d+/)[0])"""


@pytest.mark.parametrize("width", [390, 1280])
def test_of_a_long_pair_the_words_that_differ_are_marked_where_it_is_read(live_server, page: Page, width):
    """A highlight is painted anew with any change of the page, so of long answers it has only what is in sight."""
    dataset = dataset_make(pairs=1)
    words = " ".join(["the same words in both"] * 20)
    for response, letter in zip(Response.objects.order_by("pk"), "ab", strict=True):
        paragraphs = [f"{letter}only{n} {words} {n}." for n in range(200)]
        Response.objects.filter(pk=response.pk).update(text="\n\n".join(paragraphs))
    page.set_viewport_size({"width": width, "height": 844})
    person = enrollment_make(study=study_make(dataset=dataset, show_differences=True))
    open_long(page, live_server, person)
    press(page, "Shift+D")
    shown_first = page.locator("[data-pane=a] .plain > span").first.inner_text()[0]
    read = {"a", "b"} if width == 1280 else {shown_first}
    for key in ("", "End", "Home", "PageDown", "n", "PageDown"):
        if key:
            page.keyboard.press(key)
        if key == "n" and width == 390:
            read = {"a", "b"} - read
        page.wait_for_function(
            f"() => {{ const [marked, sight] = [({MARKED})(), ({IN_SIGHT})()];"
            " return sight.length && sight.every((one) => marked.includes(one)); }"
        )
        marked = page.evaluate(MARKED)
        assert {one[0] for one in marked} == read, (key, marked)
        assert len(marked) < 24, (key, marked)  # of four hundred
    page.keyboard.press("Shift+D")
    page.wait_for_function("() => !CSS.highlights.has('differs')")
