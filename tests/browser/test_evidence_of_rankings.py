"""Passages of answers that are ranked, in a real browser: in cards that move, and that show a part of a long answer."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Assignment, Enrollment, Kind, Label, Response
from tests.annotation.cast import client_of
from tests.annotation.conversations import LONG, responses_become_conversations
from tests.annotation.factories import enrollment_make, user_make
from tests.annotation.kinds import kind_label_make, kind_study_make
from tests.browser.axe import violations
from tests.browser.conftest import assert_no_sideways_scroll, press
from tests.browser.long_items import answer_of, open_long
from tests.browser.test_evidence import BOXES, MIXED, PHONE, bar, drag, marked, select, stored, submit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAINTED = "(reason) => [...(CSS.highlights.get(`mark-${reason}`) ?? [])].map(String)"


def at_work(text: str = MIXED, **rules: object) -> Enrollment:
    study = kind_study_make(Kind.ANSWER_RANKING, items=2, **({"evidence": "optional"} | rules))
    Response.objects.update(text=text)
    return enrollment_make(study=study)


def card(page: Page, shown: int):
    return page.locator(f"[data-rank-card][data-shown='{shown}']")


def is_whole(page: Page, shown: int) -> bool:
    return card(page, shown).locator("[data-rank-body]").evaluate("(body) => body.hasAttribute('data-whole')")


def test_marks_stay_with_answers_that_are_moved(live_server, page: Page):
    open_long(page, live_server, at_work())
    drag(page, 2, "Fold the paper", 2)
    bar(page).get_by_role("button", name="Good").click()
    drag(page, 0, "How to fold")
    bar(page).get_by_role("button", name="Bad").click()
    expect(marked(page)).to_have_count(2)
    card(page, 2).focus()
    page.keyboard.press("1")  # the last one goes up
    expect(page.locator("[data-ranked] [data-rank-card]")).to_have_attribute("data-shown", "2")
    assert page.evaluate(PAINTED, "good") == ["Fold the paper"]
    assert page.evaluate(PAINTED, "bad") == ["How to fold"]
    expect(card(page, 2).locator("[data-marked-list] li")).to_contain_text(["Good"])
    press(page, "r")
    submit(page)
    order = Assignment.objects.exclude(submitted_at=None).get().shown_order
    found = {one["response"]: (one["start"], one["quote"], one["reason"]) for one in stored()}
    assert found == {
        order[2] + 1: (MIXED.index("Fold the paper again"), "Fold the paper", "good"),
        order[0] + 1: (MIXED.index("How"), "How to fold", "bad"),
    }
    assert Label.objects.get().value["ranks"][str(order[2])] == 1
    press(page, "u")
    expect(marked(page)).to_have_count(2)
    assert page.evaluate(PAINTED, "good") == ["Fold the paper"]


def test_by_keyboard_in_the_current_card_which_opens(live_server, page: Page):
    open_long(page, live_server, at_work(LONG))
    said = page.locator("[data-mark-said]")
    press(page, "j")
    press(page, "j")
    expect(card(page, 1)).to_be_focused()
    page.keyboard.press("Shift+E")
    body = page.locator("[data-source][data-response='1']")
    expect(body).to_be_focused()
    expect(said).to_have_text("Part")
    page.keyboard.press("ArrowDown")
    assert not is_whole(page, 1)
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    assert is_whole(page, 1)
    box = page.evaluate("[...CSS.highlights.get('mark-now')][0].getBoundingClientRect().bottom")
    assert 0 < box < page.viewport_size["height"]
    assert not is_whole(page, 0)
    page.keyboard.press("2")  # it marks, and ranks nothing
    expect(said).to_have_text("Marked, Bad: The paper is folded along the dotted line.")
    assert not any(answer_of(page).values())
    assert not violations(page)
    page.keyboard.press("Escape")
    expect(card(page, 1)).to_be_focused()
    page.keyboard.press("2")  # now it ranks
    press(page, "r")
    for name, value in {"rank-0": "1", "rank-1": "2", "rank-2": "3"}.items():
        expect(page.locator(f"[name={name}]")).to_have_value(value)
    remove = page.get_by_role("button", name="Remove: Bad")
    remove.focus()
    page.keyboard.press("Enter")
    expect(card(page, 1)).to_be_focused()
    expect(marked(page)).to_have_count(0)


def test_a_passage_that_is_not_shown_is_opened_from_the_list(live_server, page: Page):
    person = at_work(LONG)
    open_long(page, live_server, person)
    press(page, "e")
    page.evaluate(BOXES, [0, "Part 4", 1])  # scrolls to it
    select(page, 0, "Part 4")
    with page.expect_response(lambda response: response.url.endswith("/draft/")):
        bar(page).get_by_role("button", name="Good").click()
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.reload()
    expect(marked(page)).to_have_count(1)
    assert not is_whole(page, 0)
    page.locator(".marked-quote").click()
    assert is_whole(page, 0)
    box = page.evaluate("[...CSS.highlights.get('mark-now')][0].getBoundingClientRect().top")
    assert 0 < box < page.viewport_size["height"]


def test_a_conversation_in_a_card_is_marked_by_message(live_server, page: Page):
    person = at_work()
    responses_become_conversations()
    open_long(page, live_server, person)
    page.keyboard.press("Shift+E")
    page.keyboard.press("1")
    for _ in range(20):
        if page.locator("[data-message='4'][data-marking]").count():
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("2")
    page.keyboard.press("Escape")
    for _ in range(3):
        press(page, "n")
    submit(page)
    label = Label.objects.get()
    assert [(one["message"], one["reason"]) for one in label.evidence] == [(2, "good"), (4, "bad")]


def test_by_touch_on_a_phone_a_required_mark(live_server, new_context):
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    open_long(page, live_server, at_work(evidence="required"))
    for place in range(3):
        card(page, place).locator("select").select_option(str(place + 1))
    page.get_by_role("button", name="Submit").tap()
    expect(page.get_by_role("alert")).to_contain_text("Mark at least one passage first")
    x, y, *_ = page.evaluate(BOXES, [1, "again", 1])
    page.touchscreen.tap(x + 8, y)
    select(page, 1, "again")  # as the handles of the system do
    box = bar(page).bounding_box()
    assert box["y"] + box["height"] == PHONE["height"]
    assert_no_sideways_scroll(page)
    bar(page).get_by_role("button", name="Good").tap()
    expect(marked(page)).to_have_count(1)
    assert not violations(page)
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    assert [one["quote"] for one in stored()] == ["again"]


def test_an_expert_and_the_page_of_an_item_show_what_was_marked(live_server, page: Page):
    alice = user_make()
    study = kind_study_make(Kind.ANSWER_RANKING, items=1, evidence="optional", owner=alice, overlap=2)
    study.dataset.owner = alice
    study.dataset.save()
    Response.objects.update(text=LONG)
    item = study.study_items.get().item
    start = LONG.index("Part 3")
    mark = {"response": 3, "start": start, "end": start + 6, "quote": "Part 3", "reason": "bad"}
    kind_label_make(study, item, {"ranks": {"0": 1, "1": 2, "2": 3}}, evidence=[mark])
    kind_label_make(study, item, {"ranks": {"0": 3, "1": 2, "2": 1}}, evidence=[mark | {"reason": "good"}])
    staff = client_of(alice)
    page.context.add_cookies(
        [{"name": "sessionid", "value": staff.cookies["sessionid"].value, "url": live_server.url}]
    )
    page.goto(live_server.url + reverse("annotation:study-adjudicate-item", args=[study.slug, item.pk]))
    page.get_by_role("link", name="Show the annotators' answers").click()
    expect(page.get_by_text("Annotator 2", exact=True)).to_be_visible()
    page.wait_for_function("CSS.highlights.has('mark-bad')")  # painted once htmx has settled
    assert [page.evaluate(PAINTED, reason) for reason in ("good", "bad")] == [["Part 3"], ["Part 3"]]
    page.locator("[data-mark-go]").first.click()
    expect(page.locator("[data-rank-body][data-whole]")).to_have_count(1)
    press(page, "1")  # a card moves, and its marks with it
    assert [page.evaluate(PAINTED, reason) for reason in ("good", "bad")] == [["Part 3"], ["Part 3"]]
    assert not violations(page)
    page.goto(live_server.url + reverse("metaeval:dataset-item", args=[study.dataset.name, item.pk]))
    expect(page.locator(".marks-of").first).to_contain_text("Response 3")
    assert page.evaluate(PAINTED, "bad") == ["Part 3"]
    assert not violations(page)
