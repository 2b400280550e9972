"""Passages of answers that are marked as reasons, in a real browser: by mouse, touch and keyboard, in rendered Markdown
with code, a table, mathematics, emoji and Arabic; what is stored is held against the text as it is stored.
"""

import json

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from annotation.models import Assignment, Criterion, Enrollment, Kind, Label, Response
from tests.annotation.cast import client_of, label_make
from tests.annotation.factories import enrollment_make, user_make
from tests.annotation.kinds import kind_study_make
from tests.browser.axe import violations
from tests.browser.conftest import assert_no_sideways_scroll, press
from tests.browser.long_items import open_long

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE = {"width": 390, "height": 844}
MIXED = """# How to fold 🦢

Fold the paper. Fold the paper again, and **fold the paper** a third time.\r
Then [fold](http://fold.example/fold) once more.

| step | how |
|---|---|
| one | fold \\| turn |
| two | fold |

```python
paper = fold(paper)
paper = fold(paper)
```

The area is $a^2 + b$ &lt; 3, says 👩‍🔬 Ana.

طوي الورقة ثم **طوي الورقة** مرة أخرى.
"""
RANGE = """([response, words, nth]) => {
  const body = document.querySelector(`[data-response="${response}"]`);
  const text = touchstonePassages.text(body);
  let at = -1;
  for (let k = 0; k < nth; k += 1) at = text.indexOf(words, at + 1);
  if (at < 0) throw new Error(`${words} isn't in ${text}`);
  return touchstonePassages.range(body, at, at + words.length);
}"""
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
SELECT = f"""(given) => {{
  getSelection().removeAllRanges();
  getSelection().addRange(({RANGE})(given));
}}"""


def bar(page: Page) -> Locator:
    return page.get_by_role("toolbar", name="Mark this passage")


def marked(page: Page) -> Locator:
    return page.locator("[data-marked-list] li")


def drag(page: Page, response: int, words: str, nth: int = 1) -> None:
    """Select words as a hand does, with the mouse."""
    x, y, to_x, to_y = page.evaluate(BOXES, [response, words, nth])
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2, (y + to_y) / 2)
    page.mouse.move(to_x, to_y)
    page.mouse.up()
    expect(bar(page)).to_be_visible()


def select(page: Page, response: int, words: str, nth: int = 1) -> None:
    page.evaluate(SELECT, [response, words, nth])
    expect(bar(page)).to_be_visible()


def at_work(kind: str = Kind.PAIRWISE, text: str = MIXED, **rules: object) -> Enrollment:
    study = kind_study_make(kind, items=2, **({"evidence": "optional"} | rules))
    Response.objects.update(text=text)
    return enrollment_make(study=study)


def submit(page: Page) -> None:
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".progress-label")).to_have_text("1 of 2")


def stored() -> list[dict[str, object]]:
    """The marks of the one label, each held against the text."""
    label = Label.objects.get(superseded_by=None)
    texts = [one.response.text for one in label.item.item_responses.order_by("position")]
    for one in label.evidence:
        assert one["quote"] == texts[one["response"] - 1][one["start"] : one["end"]]
    return label.evidence


def test_passages_are_marked_with_the_mouse_exactly(live_server, page: Page):
    open_long(page, live_server, at_work())
    wanted = [
        # what is selected, which occurrence, reason, what it is in the source
        ("Fold the paper", 2, "Good", "Fold the paper"),
        ("fold the paper", 1, "Bad", "fold the paper"),
        ("Then fold once", 1, "Bad", "Then [fold](http://fold.example/fold) once"),
        ("fold | turn", 1, "Good", "fold \\| turn"),
        ("paper = fold(paper)", 2, "Bad", "paper = fold(paper)"),
        ("< 3, says 👩‍🔬 Ana", 1, "Good", "&lt; 3, says 👩‍🔬 Ana"),
        ("طوي الورقة", 2, "Bad", "طوي الورقة"),
    ]
    for words, nth, reason, _ in wanted:
        drag(page, 0, words, nth)
        bar(page).get_by_role("button", name=reason).click()
        expect(bar(page)).to_be_hidden()
    expect(marked(page)).to_have_count(len(wanted))
    press(page, "a")
    submit(page)
    found = stored()
    assert [(one["quote"], one["reason"].capitalize()) for one in found] == [
        (source, reason) for _, _, reason, source in wanted
    ]
    first = Assignment.objects.exclude(submitted_at=None).get().shown_order[0] + 1
    assert {one["response"] for one in found} == {first}
    starts = [one["start"] for one in found]
    assert starts[0] == MIXED.index("Fold the paper again")
    assert starts[2] == MIXED.index("Then [")
    assert starts[4] == MIXED.rindex("paper = fold")
    assert starts[6] == MIXED.rindex("طوي")


def test_what_has_no_places_of_its_own_is_marked_as_a_whole(live_server, page: Page):
    open_long(page, live_server, at_work())
    select(page, 1, "area is a2")
    assert page.evaluate("[...CSS.highlights.get('mark-now')][0].toString()") == "area is a2+b"
    bar(page).get_by_role("button", name="Good").click()
    press(page, "b")
    submit(page)
    (one,) = stored()
    assert one["quote"] == "area is $a^2 + b$"


def test_the_page_and_the_server_see_the_same_text(live_server, page: Page):
    """Each run of the map, in the browser's own text: what is exact is the same, letter for letter."""
    open_long(page, live_server, at_work())
    runs = page.evaluate(
        """() => {
          const body = document.querySelector("[data-source]");
          const numbers = body.dataset.source.split(",").map(Number);
          const found = [];
          let at = 0, start = 0;
          for (let k = 0; k < numbers.length; k += 4) {
            at += numbers[k]; start += numbers[k + 2];
            const length = numbers[k + 3] === 0 ? numbers[k + 1] : Math.abs(numbers[k + 3]);
            const text = touchstonePassages.text(body).slice(at, at + numbers[k + 1]);
            found.push([text, start, length, numbers[k + 3] <= 0]);
            at += numbers[k + 1]; start += length;
          }
          return found;
        }"""
    )
    assert sum(is_exact for *_, is_exact in runs) > 15
    for text, start, length, is_exact in runs:
        if is_exact:
            assert text == MIXED[start : start + length].replace("\r\n", "\n")


def test_marks_survive_a_reload_another_view_and_a_change(live_server, page: Page):
    person = at_work()
    open_long(page, live_server, person)
    select(page, 0, "fold", 3)
    with page.expect_response(lambda response: response.url.endswith("/draft/")):
        bar(page).get_by_role("button", name="Bad").click()
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.reload()
    expect(marked(page)).to_have_count(1)
    assert page.evaluate("CSS.highlights.get('mark-bad').size") == 1
    press(page, "Shift+W")
    expect(page.locator("[data-response='0'] pre.plain")).to_be_visible()
    expect(marked(page)).to_have_count(1)
    assert page.evaluate("[...CSS.highlights.get('mark-bad')][0].toString()") == "fold"
    select(page, 0, "[fold](http://fold.example/fold)")
    bar(page).get_by_role("button", name="Good").click()
    press(page, "a")
    submit(page)
    assert [one["quote"] for one in stored()] == ["[fold](http://fold.example/fold)", "fold"]
    press(page, "u")
    expect(marked(page)).to_have_count(2)
    page.get_by_role("button", name="Remove: Bad").click()
    expect(marked(page)).to_have_count(1)
    page.get_by_role("button", name="Change my answer").click()
    expect(page.get_by_text("Your answer was changed")).to_be_visible()
    assert [one["reason"] for one in stored()] == ["good"]
    assert Label.objects.count() == 2


def test_overlapping_marks_for_one_reason_are_one(live_server, page: Page):
    open_long(page, live_server, at_work())
    for words in ("the paper. Fold", "Fold the paper again"):
        select(page, 0, words)
        bar(page).get_by_role("button", name="Good").click()
    expect(marked(page)).to_have_count(1)
    select(page, 0, "again")
    bar(page).get_by_role("button", name="Bad").click()
    expect(marked(page)).to_have_count(2)
    press(page, "a")
    submit(page)
    assert [one["quote"] for one in stored()] == ["the paper. Fold the paper again", "again"]


def test_by_keyboard_alone_with_what_is_said(live_server, page: Page):
    open_long(page, live_server, at_work())
    said = page.locator("[data-mark-said]")
    press(page, "b")
    page.keyboard.press("n")  # to answer B
    page.keyboard.press("Shift+E")
    body = page.locator("[data-response='1']")
    expect(body).to_be_focused()
    expect(said).to_have_text("How")
    page.keyboard.press("ArrowDown")
    expect(said).to_have_text("Fold the paper.")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text("Fold")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(said).to_have_text("paper. Words selected: 3")
    assert not violations(page)
    page.keyboard.press("2")
    expect(said).to_have_text("Marked, Bad: Fold the paper")
    expect(body).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(bar(page).get_by_role("button", name="Good")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(bar(page).get_by_role("button", name="Bad")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(marked(page)).to_have_count(2)
    expect(body).to_be_focused()
    page.keyboard.press("a")  # a key that answers means nothing here
    page.keyboard.press("Escape")
    expect(body).not_to_be_focused()
    assert page.evaluate("getSelection().isCollapsed")
    submit(page)
    assert (
        Label.objects.get().choice == Assignment.objects.exclude(submitted_at=None).get().shown_order[1] + 1
    )
    assert [(one["quote"], one["reason"]) for one in stored()] == [
        ("Fold the paper", "bad"),
        ("again", "good"),
    ]


def test_arrows_follow_the_script_in_arabic(live_server, page: Page):
    open_long(page, live_server, at_work(text="طوي الورقة مرة أخرى"))
    press(page, "Shift+E")
    said = page.locator("[data-mark-said]")
    expect(said).to_have_text("طوي")
    page.keyboard.press("ArrowLeft")
    expect(said).to_have_text("الورقة")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text("طوي")


def test_by_touch_the_bar_is_at_the_bottom(live_server, new_context):
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    open_long(page, live_server, at_work())
    x, y, *_ = page.evaluate(BOXES, [0, "again", 1])
    page.touchscreen.tap(x + 8, y)
    select(page, 0, "again")  # as the handles of the system do
    box = bar(page).bounding_box()
    assert box["y"] + box["height"] == PHONE["height"]
    assert min(one.bounding_box()["height"] for one in bar(page).get_by_role("button").all()) >= 44
    assert_no_sideways_scroll(page)
    bar(page).get_by_role("button", name="Good").tap()
    expect(bar(page)).to_be_hidden()
    expect(marked(page)).to_have_count(1)
    page.locator("label[for=choice-a].choice").tap()
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    assert [one["quote"] for one in stored()] == ["again"]
    assert not violations(page)


def test_a_required_mark_is_asked_for_before_it_is_sent(live_server, page: Page):
    open_long(page, live_server, at_work(evidence="required"))
    press(page, "a")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("Mark at least one passage first")
    expect(page.locator(".progress-label")).to_have_text("0 of 2")
    select(page, 0, "again")
    bar(page).get_by_role("button", name="Bad").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    submit(page)
    assert len(stored()) == 1


def test_marks_wait_with_an_answer_that_is_offline(live_server, new_context):
    page = new_context(watched=False).new_page()
    open_long(page, live_server, at_work())
    select(page, 0, "again")
    bar(page).get_by_role("button", name="Bad").click()
    page.context.set_offline(True)
    press(page, "a")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("[data-draft-state]")).to_contain_text("You’re offline")
    assert not Label.objects.exists()
    page.context.set_offline(False)
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    assert [one["quote"] for one in stored()] == ["again"]


@pytest.mark.parametrize(
    ("kind", "reason", "answer"),
    [
        (Kind.RUBRIC, {"reason": "part", "part": "clear"}, ["4", "5"]),
        (Kind.CHECKLIST, {"reason": "part", "part": "length"}, ["y", "n", "y"]),
        (Kind.CLASSIFICATION, {"reason": "choice"}, ["2"]),
    ],
)
def test_other_kinds_have_reasons_of_their_own(live_server, page: Page, kind, reason, answer):
    open_long(page, live_server, at_work(kind))
    for key in answer:
        press(page, key)
    select(page, 0, "again")
    names = {"clear": "Clear", "length": "The length is right.", "": "Reason for the category"}
    bar(page).get_by_role("button", name=names[reason.get("part", "")]).click()
    expect(marked(page)).to_have_count(1)
    submit(page)
    (one,) = stored()
    assert {name: one[name] for name in ("reason", "part") if name in one} == reason


def test_many_criteria_are_a_list_that_begins_with_the_current_one(live_server, page: Page):
    person = at_work(Kind.RUBRIC)
    dataset = person.study.dataset
    for k in range(4):
        Criterion.objects.create(dataset=dataset, key=f"more_{k}", question="?", position=9 + k)
    open_long(page, live_server, person)
    press(page, "4")  # leads to the second
    select(page, 0, "again")
    expect(bar(page).get_by_role("combobox")).to_have_value("part:clear")
    bar(page).get_by_role("button", name="Mark", exact=True).click()
    expect(marked(page)).to_contain_text(["Clear"])


def test_an_expert_and_the_page_of_an_item_show_what_was_marked(live_server, page: Page):
    alice = user_make()
    study = kind_study_make(Kind.PAIRWISE, items=1, evidence="optional", owner=alice, overlap=2)
    study.dataset.owner = alice
    study.dataset.save()
    Response.objects.update(text=MIXED)
    item = study.study_items.get().item
    start = MIXED.index("fold the paper**")
    mark = {"response": 2, "start": start, "end": start + 14, "quote": "fold the paper", "reason": "bad"}
    label_make(study=study, item=item, choice=1, evidence=[mark])
    label_make(study=study, item=item, choice=2, evidence=[mark | {"reason": "good"}])
    staff = client_of(alice)
    page.context.add_cookies(
        [{"name": "sessionid", "value": staff.cookies["sessionid"].value, "url": live_server.url}]
    )
    page.goto(live_server.url + reverse("annotation:study-adjudicate-item", args=[study.slug, item.pk]))
    expect(page.locator("[data-marks]")).to_have_count(0)
    press(page, "p")
    expect(page.get_by_text("Annotator 2", exact=True)).to_be_visible()
    page.wait_for_function("CSS.highlights.has('mark-bad')")  # painted once htmx has settled
    assert page.evaluate(
        "['good', 'bad'].map((one) => [...CSS.highlights.get(`mark-${one}`)].map(String))"
    ) == [
        ["fold the paper"],
        ["fold the paper"],
    ]
    assert not violations(page)
    page.goto(live_server.url + reverse("metaeval:dataset-item", args=[study.dataset.name, item.pk]))
    expect(page.locator(".marks-of li")).to_have_count(2)
    expect(page.locator(".marks-of").first).to_contain_text("Response 2")
    assert page.evaluate("[...CSS.highlights.get('mark-bad')].map(String)") == ["fold the paper"]
    page.locator(".marks-of .marked-quote").first.click()
    assert page.evaluate("CSS.highlights.get('mark-now').size") == 1
    assert json.loads(page.locator("[data-marks]").get_attribute("data-marks"))[0][0] == 1
    assert not violations(page)
