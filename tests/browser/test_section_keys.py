"""The keys that lead from section to section: of a single answer, of one of a pair, of a conversation, of a trace."""

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.domain.conversation import flatten
from annotation.models import Enrollment, Kind, Response
from tests.annotation.conversations import LONG, responses_become_conversations
from tests.annotation.factories import enrollment_make
from tests.annotation.kinds import kind_study_make
from tests.browser.conftest import press
from tests.browser.long_items import answer_of, open_long, read_as

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SINGLE = (Kind.RUBRIC, Kind.CHECKLIST, Kind.CLASSIFICATION)
# How far a place is below the upper edge of what scrolls it.
TOP = """(stop) => {
  const box = stop.closest("[data-judge-text], [data-pane]");
  const scrolls = box && box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== "visible";
  const [above, side] = scrolls ? [box, "top"] : [document.querySelector(".topbar"), "bottom"];
  return stop.getBoundingClientRect().top - above.getBoundingClientRect()[side];
}"""


def at_work(kind: str, **rules: object) -> Enrollment:
    study = kind_study_make(kind, items=2, **rules)
    Response.objects.update(text=LONG)
    return enrollment_make(study=study)


def assert_at_top(stop: Locator, covered: int = 0) -> None:
    """It is where reading begins, below what covers the text."""
    assert 0 <= stop.evaluate(TOP) - covered <= 16


def part(page: Page, number: int) -> Locator:
    return page.get_by_role("heading", name=f"Part {number}", exact=True).first


@pytest.mark.parametrize("kind", SINGLE)
@pytest.mark.parametrize("width", [1280, 390])
def test_beside_questions_they_are_shift_j_and_shift_k(live_server, new_context, kind, width):
    page = new_context(viewport={"width": width, "height": 700}).new_page()
    open_long(page, live_server, at_work(kind))
    part(page, 1).evaluate("(head) => head.scrollIntoView({ block: 'start', behavior: 'instant' })")
    for number in (2, 3):
        page.keyboard.press("Shift+J")
        assert_at_top(part(page, number))
    page.keyboard.press("Shift+K")
    assert_at_top(part(page, 2))
    assert not any(answer_of(page).values())
    if kind != Kind.CLASSIFICATION:
        press(page, "j")  # from question to question, as before
        expect(page.locator("[data-part][aria-current]")).to_be_focused()
    page.get_by_role("button", name="More").click()
    menu = page.locator("#more")
    menu.get_by_role("button", name="Next section").click()
    expect(menu).to_be_hidden()


def test_what_stays_in_view_does_not_cover_the_section(live_server, page: Page):
    read_as(page, live_server, prompt="pinned")
    open_long(page, live_server, at_work(Kind.RUBRIC))
    held = page.locator("[data-instruction]")
    assert held.evaluate("(one) => getComputedStyle(one).position") == "sticky"
    page.keyboard.press("Shift+J")
    page.keyboard.press("Shift+J")
    page.keyboard.press("Shift+J")
    seen = [part(page, number) for number in (2, 3, 4)]
    assert any(0 <= one.evaluate(TOP) - held.evaluate("(one) => one.offsetHeight") <= 16 for one in seen)


def test_of_a_pair_they_are_for_the_answer_that_is_read(live_server, page: Page):
    open_long(page, live_server, at_work(Kind.PAIRWISE))
    page.keyboard.press("j")
    page.keyboard.press("j")
    head = page.locator("[data-pane=a] .response-head").evaluate("(head) => head.offsetHeight")
    assert any(0 <= part(page, number).evaluate(TOP) - head <= 16 for number in (2, 3))


def test_a_conversation_has_its_messages_and_their_headings(live_server, page: Page):
    person = at_work(Kind.RUBRIC)
    responses_become_conversations()
    open_long(page, live_server, person)
    turns = page.locator(".response-body .turn")
    turns.first.evaluate("(turn) => turn.scrollIntoView({ block: 'start', behavior: 'instant' })")
    for number in range(1, 6):
        page.keyboard.press("Shift+J")
        assert_at_top(turns.nth(number))
    page.keyboard.press("Shift+J")
    assert_at_top(part(page, 2))  # the first is where its message is
    page.keyboard.press("Shift+K")
    assert_at_top(turns.nth(5))


def test_a_trace_has_its_steps(live_server, page: Page):
    person = at_work(Kind.RUBRIC)
    steps = [{"role": "assistant", "text": "It is folded. " * 150, "step": number} for number in (1, 2, 3)]
    Response.objects.update(text=flatten(steps), messages=steps)
    open_long(page, live_server, person)
    bar = page.locator(".trace-bar").evaluate("(bar) => bar.offsetHeight")
    for step in ("1", "2"):
        page.keyboard.press("Shift+J")
        assert_at_top(page.locator(f"[data-step='{step}']"), bar)


def test_rankings_keep_the_keys_for_their_cards(live_server, page: Page):
    open_long(page, live_server, at_work(Kind.ANSWER_RANKING))
    assert page.locator("[data-section]").count() == 0
    page.keyboard.press("Shift+J")
    expect(page.locator("[data-rank-card][data-current]")).to_be_focused()
