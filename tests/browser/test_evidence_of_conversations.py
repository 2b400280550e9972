"""Passages in responses that are conversations, in a real browser: by mouse, touch and keyboard, with emoji, combining
characters, code and Arabic; what is stored is held against the message as it is stored.
"""

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from annotation.models import Enrollment, Kind, Label
from tests.annotation.cast import client_of, label_make
from tests.annotation.conversations import ARABIC, FIRST, responses_become_conversations
from tests.annotation.factories import enrollment_make, user_make
from tests.annotation.kinds import kind_study_make
from tests.browser.axe import violations
from tests.browser.conftest import assert_no_sideways_scroll, press
from tests.browser.long_items import open_long
from tests.browser.test_evidence import PHONE, bar, marked, submit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# From the beginning of words in one message to the end of others in it or another.
RANGE = """([response, message, words, other, last]) => {
  const [from, to] = [[message, words], [other ?? message, last ?? words]].map(([number, text]) => {
    const body = touchstonePassages.bodyOf(response, number);
    const at = touchstonePassages.text(body).indexOf(text);
    if (at < 0) throw new Error(`${text} isn't in ${touchstonePassages.text(body)}`);
    return touchstonePassages.range(body, at, at + text.length);
  });
  const range = document.createRange();
  range.setStart(from.startContainer, from.startOffset);
  range.setEnd(to.endContainer, to.endOffset);
  return range;
}"""
SELECT = f"(given) => {{ getSelection().removeAllRanges(); getSelection().addRange(({RANGE})(given)); }}"
BOXES = f"""(given) => {{
  const range = ({RANGE})(given);
  range.startContainer.parentElement.scrollIntoView({{ block: "center", behavior: "instant" }});
  const boxes = [...range.getClientRects()].filter((box) => box.width);
  const isRight = getComputedStyle(range.startContainer.parentElement).direction === "rtl";
  const [first, last] = [boxes[0], boxes.at(-1)];
  const y = (box) => box.top + box.height / 2;
  const [from, to] = isRight ? [first.right - 1, last.left + 1] : [first.left + 1, last.right - 1];
  return [from, y(first), to, y(last)];
}}"""


def at_work(kind: str = Kind.PAIRWISE, **rules: object) -> Enrollment:
    study = kind_study_make(kind, items=2, **({"evidence": "optional"} | rules))
    responses_become_conversations()
    return enrollment_make(study=study)


def text(page: Page, response: int, message: int) -> Locator:
    return page.locator(f"[data-response='{response}'][data-message='{message}']")


def drag(page: Page, *given: object) -> None:
    x, y, to_x, to_y = page.evaluate(BOXES, given)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2, (y + to_y) / 2)
    page.mouse.move(to_x, to_y)
    page.mouse.up()
    expect(bar(page)).to_be_visible()


def select(page: Page, *given: object) -> None:
    page.evaluate(SELECT, given)
    expect(bar(page)).to_be_visible()


def stored() -> list[tuple[int, str, str]]:
    """The marks of the one label, each held against its message: message, quote and reason."""
    label = Label.objects.get(superseded_by=None)
    responses = [one.response.messages for one in label.item.item_responses.order_by("position")]
    for one in label.evidence:
        message = responses[one["response"] - 1][one["message"] - 1]["text"]
        assert one["quote"] == message[one["start"] : one["end"]]
    return [(one["message"], one["quote"], one["reason"]) for one in label.evidence]


def test_passages_of_messages_are_marked_with_the_mouse_exactly(live_server, page: Page):
    open_long(page, live_server, at_work())
    wanted = [
        ((0, 2, "paper 👩‍🔬, as"), "Good", "paper** 👩‍🔬, as"),
        ((0, 2, "paper = fold(paper)"), "Bad", "paper = fold(paper)"),
        ((0, 2, "Noe\u0308l says cafe\u0301"), "Good", "Noe\u0308l says cafe\u0301"),
        ((0, 4, "مرة أخرى"), "Bad", "مرة أخرى"),
    ]
    for given, reason, _ in wanted:
        drag(page, *given)
        bar(page).get_by_role("button", name=reason).click()
        expect(bar(page)).to_be_hidden()
    expect(marked(page)).to_have_count(4)
    press(page, "a")
    submit(page)
    assert stored() == [(given[1], source, reason.lower()) for given, reason, source in wanted]


def test_a_selection_ends_with_its_message_and_what_the_user_says_is_none(live_server, page: Page):
    open_long(page, live_server, at_work(Kind.CLASSIFICATION))
    select(page, 0, 2, "café.".replace("é", "e\u0301"), 4, "طوي الورقة ثم")
    bar(page).get_by_role("button", name="Reason for the category").click()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.turn-user'))")
    page.wait_for_timeout(400)  # a selection is looked at once it rests
    expect(bar(page)).to_be_hidden()
    press(page, "2")
    submit(page)
    assert stored() == [(2, "cafe\u0301.", "choice")]


def test_marks_of_messages_survive_a_reload_another_view_and_a_change(live_server, page: Page):
    open_long(page, live_server, at_work())
    select(page, 1, 4, "طوي الورقة")
    with page.expect_response(lambda response: response.url.endswith("/draft/")):
        bar(page).get_by_role("button", name="Bad").click()
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.reload()
    expect(marked(page)).to_have_count(1)
    assert page.evaluate("[...CSS.highlights.get('mark-bad')].map(String)") == ["طوي الورقة"]
    press(page, "Shift+W")
    expect(text(page, 1, 4).locator("pre.plain")).to_be_visible()
    assert page.evaluate("[...CSS.highlights.get('mark-bad')].map(String)") == ["طوي الورقة"]
    select(page, 1, 2, "```python")
    bar(page).get_by_role("button", name="Good").click()
    press(page, "b")
    submit(page)
    assert stored() == [(2, "```python", "good"), (4, "طوي الورقة", "bad")]
    press(page, "u")
    expect(marked(page)).to_have_count(2)
    page.get_by_role("button", name="Remove: Bad").click()
    page.get_by_role("button", name="Change my answer").click()
    expect(page.get_by_text("Your answer was changed")).to_be_visible()
    assert stored() == [(2, "```python", "good")]


def test_by_keyboard_alone_from_message_to_message(live_server, page: Page):
    open_long(page, live_server, at_work(Kind.RUBRIC))
    said = page.locator("[data-mark-said]")
    for key in ("4", "5"):
        press(page, key)
    page.keyboard.press("Shift+E")
    expect(text(page, 0, 2)).to_be_focused()
    expect(said).to_have_text("Fold")
    page.keyboard.press("ArrowLeft")  # before the first there is nothing
    expect(said).to_have_text("Fold")
    for _ in range(30):
        if text(page, 0, 4).evaluate("(one) => one === document.activeElement"):
            break
        page.keyboard.press("ArrowDown")
    expect(text(page, 0, 4)).to_be_focused()
    expect(text(page, 0, 2)).not_to_have_attribute("role", "application")
    expect(said).to_have_text(ARABIC.replace("*", ""))
    page.keyboard.press("Shift+ArrowDown")  # a passage ends with its message
    expect(text(page, 0, 4)).to_be_focused()
    page.keyboard.press("ArrowRight")  # back, in Arabic
    expect(text(page, 0, 2)).to_be_focused()
    expect(said).to_have_text("cafe\u0301")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("1")
    expect(said).to_have_text("Marked, Helpful: says cafe\u0301")
    for _ in range(2):  # to the word after, then into the next message
        page.keyboard.press("ArrowRight")
    expect(text(page, 0, 4)).to_be_focused()
    assert not violations(page)
    page.keyboard.press("2")
    expect(marked(page)).to_have_count(2)
    page.keyboard.press("Escape")
    assert page.locator("[data-marking], [role=application]").count() == 0
    submit(page)
    assert stored() == [(2, "says cafe\u0301", "part"), (4, "طوي", "part")]


def test_the_keyboard_begins_in_the_message_that_is_in_view(live_server, page: Page):
    open_long(page, live_server, at_work(Kind.RUBRIC))
    page.get_by_role("heading", name="Part 2").scroll_into_view_if_needed()
    text(page, 0, 7).evaluate("(body) => body.scrollIntoView({ block: 'start', behavior: 'instant' })")
    page.keyboard.press("Shift+E")
    expect(text(page, 0, 7)).to_be_focused()


def test_by_touch_on_a_phone(live_server, new_context):
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    open_long(page, live_server, at_work())
    x, y, *_ = page.evaluate(BOXES, [0, 4, "أخرى"])
    page.touchscreen.tap(x - 4, y)
    select(page, 0, 4, "مرة أخرى")  # as the handles of the system do
    box = bar(page).bounding_box()
    assert box["y"] + box["height"] == PHONE["height"]
    assert_no_sideways_scroll(page)
    bar(page).get_by_role("button", name="Good").tap()
    expect(marked(page)).to_have_count(1)
    page.locator("label[for=choice-a].choice").tap()
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    assert stored() == [(4, "مرة أخرى", "good")]
    assert not violations(page)


def test_an_expert_and_the_page_of_an_item_show_what_was_marked(live_server, page: Page):
    alice = user_make()
    study = kind_study_make(Kind.PAIRWISE, items=1, evidence="optional", owner=alice, overlap=2)
    study.dataset.owner = alice
    study.dataset.save()
    responses_become_conversations()
    item = study.study_items.get().item
    start = FIRST.index("paper = ")
    code = {"response": 2, "message": 2, "start": start, "end": start + 19, "quote": "paper = fold(paper)"}
    arabic = {"response": 2, "message": 4, "start": 0, "end": 10, "quote": ARABIC[:10]}
    label_make(
        study=study, item=item, choice=1, evidence=[code | {"reason": "bad"}, arabic | {"reason": "bad"}]
    )
    label_make(study=study, item=item, choice=2, evidence=[arabic | {"reason": "good"}])
    staff = client_of(alice)
    page.context.add_cookies(
        [{"name": "sessionid", "value": staff.cookies["sessionid"].value, "url": live_server.url}]
    )
    painted = "['good', 'bad'].map((one) => [...CSS.highlights.get(`mark-${one}`)].map(String))"
    page.goto(live_server.url + reverse("annotation:study-adjudicate-item", args=[study.slug, item.pk]))
    press(page, "p")
    expect(page.get_by_text("Annotator 2", exact=True)).to_be_visible()
    page.wait_for_function("CSS.highlights.has('mark-bad')")  # painted once htmx has settled
    assert page.evaluate(painted) == [[ARABIC[:10]], [code["quote"], ARABIC[:10]]]
    assert not violations(page)
    page.goto(live_server.url + reverse("metaeval:dataset-item", args=[study.dataset.name, item.pk]))
    expect(page.locator(".marks-of").first).to_contain_text("Response 2, message 2")
    assert page.evaluate(painted) == [[ARABIC[:10]], [code["quote"], ARABIC[:10]]]
    page.locator(".marks-of .marked-quote").first.click()
    assert page.evaluate("[...CSS.highlights.get('mark-now')].map(String)") == [code["quote"]]
    assert not violations(page)
