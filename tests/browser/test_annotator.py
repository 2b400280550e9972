"""An annotator's way in a real browser: by keyboard alone, with reloads, double clicks, two tabs and a phone."""

import os
import re
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import (
    Assignment,
    Enrollment,
    Item,
    Label,
    QualificationAnswer,
    Response,
    Stage,
    Study,
)
from tests.annotation.factories import dataset_make, enrollment_make, invitation_make, study_make
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = """A cube has **six** equal faces, each with an area equal to the square of the side.

```python
def surface(side: float) -> float:
    return 6 * side ** 2  # six faces, each with the same area, whatever the unit of length happens to be
```

| step | value |
|---|---|
| square | 16 |
| times six | 96 |

So the surface area is $6 \\times 4^2 = 96$ square units."""


@pytest.fixture
def study() -> Study:
    dataset = dataset_make(pairs=5)
    dataset.instructions.update(text="Calculate the surface area of a cube with side length 4.")
    for response in dataset.items.get(position=2).responses.all():
        response.text = f"{response.text}\n\n{LONG}"
        response.save()
    return study_make(
        dataset=dataset,
        qualification=2,
        title="Which answer is better?",
        question="Which answer follows the instruction better?",
        guidelines="# How to choose\n\nPrefer the answer that **follows** the instruction.",
    )


@pytest.fixture
def shot(request: pytest.FixtureRequest):
    """Save a picture when TOUCHSTONE_SHOTS names a folder, to be looked at by people."""
    folder = os.environ.get("TOUCHSTONE_SHOTS")

    def take(page: Page, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/{name}.png")

    return take


def open_work(page: Page, live_server, study: Study) -> Enrollment:
    person = enrollment_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    expect(page).to_have_url(re.compile(r"/work/\d+/$"))
    return person


def radio(page: Page, choice: str):
    return page.locator(f"input[data-choice={choice}]")


def answer_rightly(page: Page) -> None:
    """Press the key of the response that the test knows to be right."""
    person = Enrollment.objects.get()
    number = QualificationAnswer.objects.count()
    question = person.study.qualification_questions.select_related("item").order_by("position")[number]
    wanted = f"Response {question.item.gold['choice'] - 1} to"
    key = "a" if wanted in page.locator(".response-a").inner_text() else "b"
    press(page, key)
    press(page, "Enter")
    page.wait_for_function("n => !document.body.innerText.includes(n)", arg=f"Question {number + 1} of 2")


def test_from_the_invitation_to_the_code_by_keyboard(page: Page, live_server, study, shot):
    invitation = invitation_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:join', args=[invitation.token])}")
    expect(page.get_by_role("heading", level=1)).to_have_text(study.title)
    shot(page, "1-join")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you begin")
    shot(page, "2-consent")
    press(page, "a")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Guidelines")
    shot(page, "3-guidelines")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("Question 1 of 2")
    shot(page, "4-test")
    answer_rightly(page)
    answer_rightly(page)

    expect(page.locator(".progress-label")).to_have_text("0 of 3")
    expect(page.get_by_role("heading", level=1)).to_have_text(study.question)
    press(page, "g")
    expect(page.get_by_role("dialog", name="Guidelines")).to_be_visible()
    press(page, "g")
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys on this page")).to_contain_text("Submit")
    shot(page, "5-keys")
    press(page, "Escape")
    for number, key in enumerate(["a", "b", "t"]):
        expect(page.locator(".progress-label")).to_have_text(f"{number} of 3")
        expect(page.get_by_role("button", name="Submit")).to_be_disabled()
        press(page, key)
        shot(page, f"6-work-{number}")
        press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you!")
    person = Enrollment.objects.get()
    expect(page.locator("#code")).to_have_text(person.completion_code)
    shot(page, "7-done")
    assert person.n_accepted == Label.objects.current().count() == 3
    for label, shown in zip(Label.objects.order_by("pk"), [0, 1, None], strict=True):
        assert label.choice == (0 if shown is None else label.shown_order[shown] + 1)
        assert label.wall_ms is not None


def test_undo_by_key_changes_the_last_answer(page: Page, live_server, study, shot):
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    press(page, "u")
    expect(page.get_by_text("You answered this pair")).to_be_visible()
    expect(radio(page, "a")).to_be_checked()
    shot(page, "8-undo")
    press(page, "b")
    press(page, "Enter")
    expect(page.get_by_text("Your answer was changed")).to_be_visible()
    label = Label.objects.current().get()
    assert label.choice == label.shown_order[1] + 1


def test_a_reload_keeps_the_draft(page: Page, live_server, study, new_context):
    person = open_work(page, live_server, study)
    press(page, "t")
    expect(page.locator("[data-draft-state]")).to_have_text("Draft saved")
    page.reload()
    expect(radio(page, "tie")).to_be_checked()
    press(page, "b")
    page.reload()  # at once: the server may not have heard of it, this browser has
    expect(radio(page, "b")).to_be_checked()
    expect(page.locator("[data-draft-state]")).to_have_text("Draft saved")
    phone = new_context(viewport=PHONE).new_page()
    phone.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    expect(radio(phone, "b")).to_be_checked()
    assert not Label.objects.exists()


def test_a_submit_without_a_network_loses_nothing(chromium, live_server, study):
    context = chromium.new_context()  # not watched for errors: being offline is one
    page = context.new_page()
    open_work(page, live_server, study)
    work = page.url
    context.set_offline(True)
    press(page, "b")
    expect(page.locator("[data-draft-state]")).to_have_text("Draft kept in this browser")
    press(page, "Enter")
    page.wait_for_timeout(300)
    context.set_offline(False)
    page.goto(work)
    expect(radio(page, "b")).to_be_checked()
    expect(page.locator("[data-draft-state]")).to_have_text("Draft saved")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    context.close()
    label = Label.objects.get()
    assert label.choice == label.shown_order[1] + 1


def test_a_slow_draft_does_not_overtake_a_later_one(page: Page, live_server, study):
    open_work(page, live_server, study)
    held = []

    def slow(route):
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page.route("**/draft/", slow)
    press(page, "a")
    page.wait_for_timeout(900)  # the draft is sent after 600 ms, and waits on its way
    press(page, "b")
    page.wait_for_timeout(900)
    held[0].continue_()
    expect(page.locator("[data-draft-state]")).to_have_text("Draft saved")
    lease = Assignment.objects.get()
    assert lease.draft["value"]["choice"] == lease.shown_order[1] + 1


def test_a_double_click_submits_once(page: Page, live_server, study):
    person = open_work(page, live_server, study)
    radio(page, "a").check()
    page.get_by_role("button", name="Submit").dblclick()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    person.refresh_from_db()
    assert Label.objects.count() == person.n_accepted == 1


def test_two_tabs_show_one_item_and_lose_nothing(page: Page, live_server, study):
    open_work(page, live_server, study)
    other = page.context.new_page()
    other.goto(f"{live_server.url}{reverse('annotation:work', args=[study.slug])}")
    assert other.url == page.url
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    press(other, "b")
    press(other, "Enter")
    expect(other.get_by_text("You had answered that pair already")).to_be_visible()
    assert other.url == page.url
    label = Label.objects.get()
    assert label.choice == label.shown_order[0] + 1
    assert Assignment.objects.count() == 2


def test_the_back_button_asks_the_server_again(page: Page, live_server, study):
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    page.go_back()
    expect(page.get_by_text("You answered this pair")).to_be_visible()
    press(page, "n")
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    assert Label.objects.count() == 1


def test_skip_by_key(page: Page, live_server, study, shot):
    open_work(page, live_server, study)
    press(page, "s")
    dialog = page.get_by_role("dialog", name="Leave this one out")
    dialog.get_by_label("Something else").check()
    shot(page, "9-skip")
    dialog.get_by_role("button", name="Leave it out").click()
    expect(page.locator(".progress-label")).to_have_text("0 of 2")
    assert Assignment.objects.filter(release_reason="other").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways_on_a_phone(new_context, live_server, study, shot, scheme):
    page = new_context(viewport=PHONE, color_scheme=scheme, has_touch=True).new_page()
    invitation = invitation_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:join', args=[invitation.token])}")
    assert_no_sideways_scroll(page)
    heading = page.get_by_role("heading", level=1)
    page.get_by_role("button", name="Begin").tap()
    expect(heading).to_have_text("Before you begin")
    assert_no_sideways_scroll(page)
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Continue").tap()
    expect(heading).to_have_text("Guidelines")
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Start the test").tap()
    expect(page.locator(".progress-label")).to_have_text("Question 1 of 2")
    assert_no_sideways_scroll(page)
    shot(page, f"phone-{scheme}-test")
    Enrollment.objects.update(stage=Stage.WORK)
    page.goto(f"{live_server.url}{reverse('annotation:place', args=[study.slug])}")
    assert_no_sideways_scroll(page)
    page.locator("label.choice", has=radio(page, "b")).tap()
    shot(page, f"phone-{scheme}-work")
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    Enrollment.objects.update(stage=Stage.DONE, completion_code="TS-23456-789AB")
    page.goto(f"{live_server.url}{reverse('annotation:place', args=[study.slug])}")
    assert_no_sideways_scroll(page)
    shot(page, f"phone-{scheme}-done")


def test_dark_on_a_desk(new_context, live_server, study, shot):
    page = new_context(color_scheme="dark").new_page()
    open_work(page, live_server, study)
    press(page, "b")
    expect(radio(page, "b")).to_be_checked()
    shot(page, "dark-work")


def test_it_works_without_scripts(new_context, live_server, study):
    page = new_context(java_script_enabled=False).new_page()
    open_work(page, live_server, study)
    page.locator("label.choice", has=radio(page, "a")).click()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    page.get_by_role("link", name="Skip S").click()
    page.get_by_label("Something else").check()
    page.get_by_role("button", name="Leave it out").click()
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    page.get_by_role("link", name="Guidelines").click()
    expect(page.get_by_role("heading", name="Guidelines")).to_be_visible()


def test_text_begins_where_its_script_begins(page: Page, live_server, study):
    texts = ["مرحبا، هذا جواب قصير.", "A short answer.\n\n- שלום, עולם.\n\n短い答えです。"]
    for response, text in zip(Item.objects.get(position=2).responses.order_by("pk"), texts, strict=True):
        Response.objects.filter(pk=response.pk).update(text=text)
    open_work(page, live_server, study)
    starts = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".response-body :is(p, li)")].map((box) => {
            const range = document.createRange(); range.selectNodeContents(box);
            const text = range.getBoundingClientRect(), whole = box.getBoundingClientRect();
            return [box.textContent.trim(), whole.right - text.right < text.left - whole.left ? "right" : "left"];
        }))"""
    )
    assert starts == {
        texts[0]: "right",
        "A short answer.": "left",
        "שלום, עולם.": "right",
        "短い答えです。": "left",
    }
